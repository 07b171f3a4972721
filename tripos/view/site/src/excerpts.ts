/** The beginnings of replies and of the texts of items, for lists. */
import type { Row } from "./data";
import type { OpenRun } from "./run";

const LONGEST = 400;
/** Rows that are read together: a table on a server is read by blocks. */
const TOGETHER = 64;
export const TEXT_COLUMNS = ["reply", "error"];

async function rowsOf(open: OpenRun, table: "texts" | "items", rows: number[], columns: string[]): Promise<Map<number, Row>> {
  const found = new Map<number, Row>();
  const groups = new Map<number, number[]>();
  for (const row of rows) {
    const group = Math.floor(row / TOGETHER);
    groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  await Promise.all([...groups.values()].map(async (mine) => {
    const [from, to] = [Math.min(...mine), Math.max(...mine) + 1];
    const read = await open.table(table).rows(from, to, columns);
    for (const row of mine) found.set(row, read[row - from] ?? {});
  }));
  return found;
}

/** Return the beginning of the text of each reply, or of its error. */
export async function textsOf(open: OpenRun | undefined, rows: number[]): Promise<Map<number, string>> {
  const found = open ? await rowsOf(open, "texts", rows, TEXT_COLUMNS) : [];
  return new Map([...found].map(([row, text]) => [row, String(text["reply"] ?? text["error"] ?? "").slice(0, LONGEST)]));
}

/** Return the beginning of what each item asks, as `tripos report --items` shows it. */
export async function questionsOf(open: OpenRun | undefined, items: number[]): Promise<Map<number, string>> {
  const found = open ? await rowsOf(open, "items", [...new Set(items)], ["excerpt"]) : [];
  return new Map([...found].map(([row, item]) => [row, String(item["excerpt"] ?? "").slice(0, LONGEST)]));
}
