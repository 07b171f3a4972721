/** Replies to one item under one condition, grouped for the grid. */
import type { OpenRun } from "./run";

export const ORDERS = ["order", "apart", "lowest", "highest"] as const;

export interface ReplyGroup {
  /** The first reply, which stands for the item and its condition. */
  first: number;
  /** The replies of each model. */
  replies: number[][];
  /** How far the scores of the models are from each other; -1 with fewer than two. */
  spread: number;
  mean: number;
}

/** Return the models that have replies, and the groups in an order. `rows` are in the order of the table, in which
 * replies to an item under one condition stand beside each other. */
export function grouped(open: OpenRun, rows: Uint32Array, values: Float64Array, order: string): { models: string[]; groups: ReplyGroup[] } {
  const { samples, dimensions } = open;
  const keys = [...dimensions, "item_id", "step"].map((name) => samples.texts(name).codes);
  const numbers = samples.numbers("sample_number");
  const model = samples.texts("model");
  const codes = [...new Set(Array.from(rows, (row) => model.codes[row]!))].sort((a, b) => a - b);
  const column = new Map(codes.map((code, place) => [code, place]));
  const groups: ReplyGroup[] = [];
  let last = -1;
  for (const row of rows) {
    if (last < 0 || numbers[row] !== numbers[last] || keys.some((each) => each[row] !== each[last]))
      groups.push({ first: row, replies: codes.map(() => []), spread: -1, mean: NaN });
    groups.at(-1)!.replies[column.get(model.codes[row]!)!]!.push(row);
    last = row;
  }
  for (const group of groups) {
    const scores = group.replies.flat().map((row) => values[row]!).filter((each) => !Number.isNaN(each));
    if (scores.length > 0) group.mean = scores.reduce((sum, each) => sum + each, 0) / scores.length;
    if (scores.length > 1) group.spread = Math.max(...scores) - Math.min(...scores);
  }
  return { models: codes.map((code) => model.values[code]!), groups: sorted(groups, order) };
}

function sorted(groups: ReplyGroup[], order: string): ReplyGroup[] {
  if (order === "apart") return [...groups].sort((a, b) => b.spread - a.spread || a.first - b.first);
  if (order !== "lowest" && order !== "highest") return groups;
  const sign = order === "lowest" ? 1 : -1;
  const key = (each: ReplyGroup) => (Number.isNaN(each.mean) ? Infinity : sign * each.mean);
  return [...groups].sort((a, b) => (key(a) === key(b) ? 0 : key(a) - key(b)) || a.first - b.first);
}
