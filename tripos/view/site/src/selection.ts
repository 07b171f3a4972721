/** The replies that a query selects, in its order. */
import { select, sortBy } from "./columns";
import type { RunNotes } from "./notes";
import type { OpenRun } from "./run";

export const SORTS = ["order", "lowest", "highest", "apart", "costliest", "slowest"] as const;
type Sort = (typeof SORTS)[number];
const SORTED: Record<Exclude<Sort, "order">, [string, boolean]> = {
  lowest: ["score", false],
  highest: ["score", true],
  apart: ["spread", true],
  costliest: ["cost_usd", true],
  slowest: ["latency_s", true],
};
/** The columns of replies that every list needs. */
export const BASE = ["model", "status", "step", "role", "compared", "score", "metric", "spread", "cost_usd", "latency_s"];

/** The replies of a run that the query selects, in its order. */
export interface Selection {
  rows: Uint32Array;
  /** The score of each reply: that of its own metric, or of the metric and evaluator that are chosen. */
  values: Float64Array;
  /** The metric of all scores; null where each is of its reply's own. */
  metric: string | null;
}

/** Select replies. Those with notes are found among `notes` as they are now: one that loses its flag stays in the list. */
export async function selection(open: OpenRun, query: URLSearchParams, notes?: RunNotes): Promise<Selection> {
  const { samples, dimensions } = open;
  await samples.load([...dimensions, ...BASE]);
  const wanted = new Map<string, Set<string>>();
  for (const name of [...dimensions, "model", "status", "step"]) {
    const values = query.getAll(name);
    if (values.length) wanted.set(name, new Set(values));
  }
  const all = query.get("role") === "all";
  const compared = samples.numbers("compared");
  const also = all ? undefined : Uint8Array.from(compared);
  let values = samples.numbers("score");
  let given: Uint8Array | undefined;
  let metric = query.get("metric");
  const evaluator = query.get("evaluator");
  if (metric !== null || evaluator !== null) {
    ({ values, given, metric } = await marksOf(open, metric, evaluator));
  }
  const noted = new Set(query.getAll("noted"));
  const marked = noted.size ? Uint8Array.from({ length: samples.rows }, (_, row) => Number(notes?.has(row, noted) ?? false)) : undefined;
  const rows = select(samples, wanted, both(both(also, given), marked));
  const sort = (query.get("sort") ?? "order") as Sort;
  if (sort === "order" || !(sort in SORTED)) return { rows, values, metric };
  const [name, down] = SORTED[sort];
  return { rows: sortBy(rows, name === "score" ? values : samples.numbers(name), down), values, metric };
}

function both(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
  return a && b ? a.map((each, place) => each & b[place]!) : (a ?? b);
}

/** Return for every reply the mean of its scores in a metric, by all evaluators that count in one figure or by one, and
 * which replies have one. Of an evaluator alone, the metric is the first that it gave. */
async function marksOf(open: OpenRun, metric: string | null, evaluator: string | null): Promise<{ values: Float64Array; given: Uint8Array; metric: string | null }> {
  const values = new Float64Array(open.samples.rows).fill(NaN);
  const given = new Uint8Array(open.samples.rows);
  const marks = open.table("marks");
  const pair = (await marks.pairs()).find((each) => (metric === null || each.metric === metric) && each.evaluator === evaluator);
  if (!pair) return { values, given, metric };
  const { from, to } = pair;
  const held: Record<string, Float64Array> = { n: new Float64Array(to - from), score: new Float64Array(to - from) };
  await marks.columns(["n", "score"], (name, some, begin) => {
    for (let row = Math.max(begin, from); row < Math.min(begin + some.length, to); row++) held[name]![row - from] = Number(some[row - begin] ?? NaN);
  }, from, to);
  held["n"]!.forEach((row, at) => {
    values[row] = held["score"]![at]!;
    given[row] = 1;
  });
  return { values, given, metric: pair.metric };
}
