/** The narrow columns of all samples: texts as numbers of a list, so that a million rows are filtered at once. */
import type { Table } from "./data";

export interface Texts {
  kind: "texts";
  values: string[];
  codes: Uint32Array;
}

export interface Numbers {
  kind: "numbers";
  values: Float64Array;
}

export type Column = Texts | Numbers;

/** The code of a text that is not there. */
export const NOTHING = 0;

export class Columns {
  private held = new Map<string, Column>();
  private asked = new Map<string, Promise<void>>();
  constructor(readonly table: Table, readonly numeric: ReadonlySet<string>) {}

  private counted = 0;

  /** How many rows there are, once a column was loaded. */
  get rows(): number {
    return this.table.of.rows ?? this.counted;
  }

  get(name: string): Column {
    const found = this.held.get(name);
    if (!found) throw new Error(`column ${name} was not loaded`);
    return found;
  }

  texts(name: string): Texts {
    return this.get(name) as Texts;
  }

  numbers(name: string): Float64Array {
    return (this.get(name) as Numbers).values;
  }

  async load(names: string[]): Promise<void> {
    const missing = names.filter((name) => !this.asked.has(name));
    if (missing.length) {
      const loading = this.read(missing);
      for (const name of missing) this.asked.set(name, loading);
    }
    await Promise.all(names.map((name) => this.asked.get(name)));
  }

  private async read(names: string[]) {
    this.counted = await this.table.count();
    const codes = new Map<string, Map<string, number>>();
    for (const name of names) {
      if (this.numeric.has(name)) {
        this.held.set(name, { kind: "numbers", values: new Float64Array(this.rows).fill(NaN) });
      } else {
        codes.set(name, new Map());
        this.held.set(name, { kind: "texts", values: [""], codes: new Uint32Array(this.rows) });
      }
    }
    await this.table.columns(names, (name, values, from) => {
      const column = this.get(name);
      if (column.kind === "numbers") {
        for (let at = 0; at < values.length; at++) {
          const value = values[at];
          if (value !== null && value !== undefined) column.values[from + at] = Number(value);
        }
        return;
      }
      const known = codes.get(name)!;
      for (let at = 0; at < values.length; at++) {
        const value = values[at];
        if (value === null || value === undefined) continue;
        const text = value as string;
        let code = known.get(text);
        if (code === undefined) {
          code = column.values.push(text) - 1;
          known.set(text, code);
        }
        column.codes[from + at] = code;
      }
    });
  }
}

/** Return the numbers of the rows that have one of the wanted texts in every column. */
export function select(columns: Columns, wanted: ReadonlyMap<string, ReadonlySet<string>>, also?: Uint8Array): Uint32Array {
  const tests = [...wanted].map(([name, texts]) => {
    const { values, codes } = columns.texts(name);
    return { codes, good: Uint8Array.from(values, (text, code) => (texts.has(code === NOTHING ? "" : text) ? 1 : 0)) };
  });
  const found = new Uint32Array(columns.rows);
  let count = 0;
  next: for (let row = 0; row < columns.rows; row++) {
    if (also && !also[row]) continue;
    for (const { codes, good } of tests) if (!good[codes[row]!]) continue next;
    found[count++] = row;
  }
  return found.subarray(0, count);
}

/** Sort rows by a number, those without one last. */
export function sortBy(rows: Uint32Array, values: Float64Array, down: boolean): Uint32Array {
  const sign = down ? -1 : 1;
  return Uint32Array.from(rows).sort((one, two) => {
    const a = values[one]!;
    const b = values[two]!;
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) ? (Number.isNaN(b) ? one - two : 1) : -1;
    return a === b ? one - two : (a - b) * sign;
  });
}
