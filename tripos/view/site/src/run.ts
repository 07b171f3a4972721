/** The tables of a run, opened once. */
import { Columns } from "./columns";
import type { First, RunAbout, Tables } from "./contract";
import { json, Table } from "./data";

const NUMERIC = new Set([
  ...["score", "spread", "without", "sample_number", "tokens_out", "cost_usd", "latency_s", "compared"],
  ...["scores", "scores_at", "judgements", "judgements_at", "turns", "turns_at", "item_at"],
]);

export interface OpenRun {
  dimensions: string[];
  table: (name: keyof Tables["tables"]) => Table;
  samples: Columns;
}

const opened = new Map<string, Promise<OpenRun>>();
const firsts = new Map<string, Promise<First>>();
const abouts = new Map<string, Promise<RunAbout>>();

/** Return what a run is about, as it was in a state of the store; read once for each. */
export function aboutOf(run: string, state: string): Promise<RunAbout> {
  return once(abouts, `${run} ${state}`, () => json<RunAbout>(`runs/${run}/about.json`));
}

/** Return the replies that a list shows first; read once for each state. */
export function firstOf(run: string, state: string): Promise<First> {
  return once(firsts, `${run} ${state}`, () => json<First>(`runs/${run}/first.json`));
}

export function openRun(run: string, state: string): Promise<OpenRun> {
  return once(opened, `${run} ${state}`, async () => {
    const { tables, dimensions } = await json<Tables>(`runs/${run}/tables.json`);
    const found = Object.fromEntries(Object.entries(tables).map(([name, file]) => [name, new Table(file)]));
    return {
      dimensions,
      table: (name) => found[name]!,
      samples: new Columns(found["samples"]!, NUMERIC),
    };
  });
}

function once<T>(held: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  let found = held.get(key);
  if (!found) {
    found = make();
    found.catch(() => held.delete(key));
    held.set(key, found);
  }
  return found;
}
