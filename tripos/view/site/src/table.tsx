/** Tables: rows beside each other where there is room, a card for each row on a phone. */
import type { ComponentChildren } from "preact";

export interface Column<T> {
  title: string;
  kind?: "number" | "picture" | "head";
  /** What stands below the title, such as the ends of the axis of pictures. */
  below?: ComponentChildren;
  cell: (row: T, place: number) => ComponentChildren;
}

/** A table. Its roles are written out, since browsers take a card for no row of a table. */
export function List<T>({ label, columns, rows, name = "" }: { label: string; columns: Column<T>[]; rows: T[]; name?: string }) {
  return (
    <table class={`list ${name}`} role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((each) => <th role="columnheader" scope="col" class={each.kind} key={each.title}>{each.title}{each.below}</th>)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row, place) => (
          <tr role="row" key={place}>
            {columns.map((each) =>
              each.kind === "head"
                ? <th role="rowheader" scope="row" class="head" key={each.title}>{each.cell(row, place)}</th>
                : <td role="cell" class={each.kind} data-label={each.title} key={each.title}>{each.cell(row, place)}</td>,
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
