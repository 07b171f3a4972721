import { useState } from "preact/hooks";
import type { ResultCell, ResultTable, ResultTables, RunAbout } from "../contract";
import { json } from "../data";
import { Panel, Scroll, useLoaded, visible, Waiting } from "../ui";
import { sentence, t, titleLanguage } from "../words";

/** The tables that a benchmark declares, with the results of a run, and each to copy into a paper. */
export function TablesPage({ report }: { report: RunAbout }) {
  const path = `runs/${report.run.run_id}/result_tables.json`;
  const tables = useLoaded(() => json<ResultTables>(path), [path, report.state], true);
  return <Waiting of={tables}>{(found) => <>{(found.titled[titleLanguage] ?? found.tables).map((table) => <Declared key={table.name} of={table} />)}</>}</Waiting>;
}

function Declared({ of }: { of: ResultTable }) {
  const copies = Object.entries({ LaTeX: of.copies.latex, CSV: of.copies.csv, Markdown: of.copies.md });
  return (
    <Panel title={visible(of.caption)}>
      <Scroll label={visible(of.caption)}><Rows of={of} /></Scroll>
      {of.notes.length > 0 && <ul class="notes small">{of.notes.map((each) => <li key={each}>{visible(sentence(each))}</li>)}</ul>}
      <p class="copies">{copies.map(([name, text]) => text !== undefined && <Copy key={name} name={name} text={text} />)}</p>
    </Panel>
  );
}

/** Columns that stand together under the heading of their group. */
function groupsOf(columns: ResultTable["columns"]): { name: string | null; count: number }[] {
  const groups: { name: string | null; count: number }[] = [];
  for (const { group } of columns) {
    const last = groups[groups.length - 1];
    if (last && group !== null && last.name === group) last.count++;
    else groups.push({ name: group, count: 1 });
  }
  return groups.some((each) => each.name !== null) ? groups : [];
}

function Rows({ of }: { of: ResultTable }) {
  const groups = groupsOf(of.columns);
  const before = new Map(of.separators);
  const rule = (row: number) => (before.get(row) ?? []).map((text) => (
    <tr key={`${row} ${text}`}><td class="rule" colSpan={of.columns.length}>{visible(sentence(text))}</td></tr>
  ));
  return (
    <table class="declared">
      <thead>
        {groups.length > 0 && (
          <tr>{groups.map((each, place) => each.name === null ? <td key={place} /> : <th key={place} class="group" scope="colgroup" colSpan={each.count}>{visible(each.name)}</th>)}</tr>
        )}
        <tr>{of.columns.map((each, place) => <th key={place} scope="col" class={each.is_text ? "" : "number"}>{visible(each.heading)}</th>)}</tr>
      </thead>
      <tbody>
        {of.rows.map((row, place) => [
          ...rule(place),
          <tr key={place}>
            {row.map((cell, column) => of.columns[column]!.is_text && cell.shown
              ? <th key={column} scope="row"><bdi>{visible(cell.shown)}</bdi></th>
              : <td key={column} class="number" title={cell.reason && visible(sentence(cell.reason))}><Figure of={cell} /></td>)}
          </tr>,
        ])}
        {rule(of.rows.length)}
      </tbody>
    </table>
  );
}

function Figure({ of }: { of: ResultCell }) {
  const shown = of.rank === 1 ? <strong>{of.shown}</strong> : of.rank === 2 ? <u>{of.shown}</u> : of.shown;
  return <>{shown}{of.differs && <sup>†</sup>}{of.interval && <span class="small"> {of.interval}</span>}</>;
}

function Copy({ name, text }: { name: string; text: string }) {
  const [copied, set] = useState(false);
  return (
    <button type="button" onClick={() => copy(text).then(() => set(true))}>
      {copied ? t("copied") : `${t("copyTable")} ${name}`}
    </button>
  );
}

/** Put a text on the clipboard, also of a page that was opened from disk. */
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
