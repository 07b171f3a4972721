import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Columns, select, sortBy } from "../columns";
import type { RunAbout } from "../contract";
import type { Row } from "../data";
import { type OpenRun, openRun } from "../run";
import { at, go, Status, useLoaded, visible, Waiting } from "../ui";
import { count, figure, money, t } from "../words";
import { called, inOrder } from "./report";

export const SORTS = ["order", "lowest", "highest", "apart", "costliest", "slowest"] as const;
type Sort = (typeof SORTS)[number];
const LINE = 76;
const SORTED: Record<Exclude<Sort, "order">, [string, boolean]> = {
  lowest: ["score", false],
  highest: ["score", true],
  apart: ["spread", true],
  costliest: ["cost_usd", true],
  slowest: ["latency_s", true],
};
const BASE = ["model", "status", "step", "role", "compared", "score", "spread", "cost_usd", "latency_s"];

/** The replies of a run that the query selects, in its order. */
export interface Selection {
  rows: Uint32Array;
  /** The score of each reply: the mean, or the score of the metric and evaluator that are chosen. */
  values: Float64Array;
}

export async function selection(open: OpenRun, query: URLSearchParams): Promise<Selection> {
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
  const metric = query.get("metric");
  const evaluator = query.get("evaluator");
  if (metric !== null || evaluator !== null) {
    [values, given] = await scoresOf(open.scores, samples.rows, metric, evaluator);
  }
  const rows = select(samples, wanted, both(also, given));
  const sort = (query.get("sort") ?? "order") as Sort;
  if (sort === "order" || !(sort in SORTED)) return { rows, values };
  const [name, down] = SORTED[sort];
  return { rows: sortBy(rows, name === "score" ? values : samples.numbers(name), down), values };
}

function both(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
  return a && b ? a.map((each, place) => each & b[place]!) : (a ?? b);
}

/** Return the mean of the scores of one metric, one evaluator, or both, for every reply, and which replies have one. */
async function scoresOf(scores: Columns, rows: number, metric: string | null, evaluator: string | null): Promise<[Float64Array, Uint8Array]> {
  await scores.load(["n", "metric", "evaluator", "value", "low", "high"]);
  const wanted = new Map<string, Set<string>>();
  if (metric !== null) wanted.set("metric", new Set([metric]));
  if (evaluator !== null) wanted.set("evaluator", new Set([evaluator]));
  const [n, value, low, high] = ["n", "value", "low", "high"].map((name) => scores.numbers(name)) as [Float64Array, Float64Array, Float64Array, Float64Array];
  const sums = new Float64Array(rows);
  const counts = new Uint32Array(rows);
  const given = new Uint8Array(rows);
  for (const each of select(scores, wanted)) {
    const row = n[each]!;
    given[row] = 1;
    if (Number.isNaN(value[each]!)) continue;
    const span = high[each]! - low[each]!;
    sums[row]! += span > 0 ? (value[each]! - low[each]!) / span : value[each]!;
    counts[row]!++;
  }
  return [sums.map((sum, row) => (counts[row] ? sum / counts[row]! : NaN)), given];
}

export function Samples({ report, query }: { report: RunAbout; query: URLSearchParams }) {
  const run = report.run.run_id;
  const opened = useLoaded(async () => {
    const open = await openRun(run, stateOf(report));
    await open.samples.load([...open.dimensions, ...BASE]);
    return open;
  }, [run, stateOf(report)], true);
  return <Waiting of={opened}>{(open) => <List open={open} report={report} query={query} />}</Waiting>;
}

export function stateOf(report: RunAbout): string {
  return report.state;
}

function List({ open, report, query }: { open: OpenRun; report: RunAbout; query: URLSearchParams }) {
  const run = report.run.run_id;
  const asked = query.toString();
  const found = useLoaded(() => selection(open, query), [asked, open], true);
  const [hits, search] = useSearch(open, found.value?.rows);
  const rows = hits ?? found.value?.rows;
  const change = (name: string, values: string[]) => {
    const next: Record<string, string[]> = {};
    for (const key of new Set(query.keys())) next[key] = query.getAll(key);
    next[name] = values;
    go(at(`run/${run}/samples`, next), true);
  };
  return (
    <div class="samples">
      <Filters open={open} report={report} query={query} change={change} clear={() => go(at(`run/${run}/samples`), true)} />
      <section>
        <div class="bar">
          <p role="status">
            <strong>{count(rows?.length ?? 0)}</strong> {t("of")} {count(open.samples.rows)} {t("samples")}
          </p>
          <label>
            {t("sort")}{" "}
            <select value={query.get("sort") ?? "order"} onChange={(event) => change("sort", [(event.target as HTMLSelectElement).value])}>
              {SORTS.map((each) => <option key={each} value={each}>{t(each)}</option>)}
            </select>
          </label>
          <Search search={search} />
        </div>
        {rows && found.value && <Window rows={rows} values={found.value.values} open={open} report={report} query={query} />}
      </section>
    </div>
  );
}

function Filters({ open, report, query, change, clear }: {
  open: OpenRun; report: RunAbout; query: URLSearchParams; change: (name: string, values: string[]) => void; clear: () => void;
}) {
  const { about } = report;
  const { samples } = open;
  const known = (name: string) =>
    name === "scenario"
      ? about.scenarios.map((each) => each.name)
      : ([...about.axes, ...about.arms].find((each) => each.name === name)?.values.map((each) => each.name) ?? []);
  const names = [...open.dimensions, "model", "status", "step"];
  const metrics = inOrder(report.metrics, about.metrics.map((each) => each.name));
  const evaluators = [...new Set(report.evaluators)];
  return (
    <aside class="filters" aria-label={t("filters")}>
      <details open={isWide()}>
      <summary><h2>{t("filters")}</h2></summary>
      {names.map((name) => {
        const column = samples.texts(name);
        const present = column.values.slice(1);
        if (present.length < 2 && !query.has(name)) return null;
        return <Choice key={name} name={name} values={inOrder(present, known(name))} chosen={query.getAll(name)} change={change} called={(value) => visible(called(about, name, value))} />;
      })}
      {metrics.length > 1 && <Choice name="metric" values={metrics} chosen={query.getAll("metric")} change={change} called={(value) => visible(called(about, "metric", value))} single />}
      {evaluators.length > 1 && <Choice name="evaluator" values={evaluators} chosen={query.getAll("evaluator")} change={change} called={visible} single />}
      <p>
        <label>
          <input type="checkbox" checked={query.get("role") !== "all"} onChange={(event) => change("role", (event.target as HTMLInputElement).checked ? [] : ["all"])} /> {t("onlyCompared")}
        </label>
      </p>
      <button type="button" onClick={clear}>{t("clear")}</button>
      </details>
    </aside>
  );
}

/** On a phone the replies come first, and the filters when they are asked for. */
function isWide(): boolean {
  return window.matchMedia("(min-width: 761px)").matches;
}

const MOST_BOXES = 8;

function Choice({ name, values, chosen, change, called, single = false }: {
  name: string; values: string[]; chosen: string[]; change: (name: string, values: string[]) => void; called: (value: string) => string; single?: boolean;
}) {
  if (single || values.length > MOST_BOXES) {
    return (
      <p>
        <label>
          <span class="name">{name}</span>
          <select value={chosen[0] ?? ""} onChange={(event) => {
            const value = (event.target as HTMLSelectElement).value;
            change(name, value ? [value] : []);
          }}>
            <option value="">{t("all")}</option>
            {values.map((each) => <option key={each} value={each}>{called(each)}</option>)}
          </select>
        </label>
      </p>
    );
  }
  return (
    <fieldset>
      <legend>{name}</legend>
      {values.map((each) => (
        <label key={each}>
          <input type="checkbox" checked={chosen.includes(each)} onChange={(event) =>
            change(name, (event.target as HTMLInputElement).checked ? [...chosen, each] : chosen.filter((other) => other !== each))
          } /> {called(each)}
        </label>
      ))}
    </fieldset>
  );
}

function Search({ search }: { search: (text: string) => void }) {
  const [text, set] = useState("");
  return (
    <form role="search" onSubmit={(event) => { event.preventDefault(); search(text); }}>
      <input type="search" aria-label={t("search")} placeholder={t("search")} value={text} onInput={(event) => {
        const value = (event.target as HTMLInputElement).value;
        set(value);
        if (!value) search("");
      }} />
    </form>
  );
}

const PIECE = 4096;

/** Replies with a text in them, found piece by piece: the wide table is not held in memory. */
function useSearch(open: OpenRun, rows: Uint32Array | undefined): [Uint32Array | undefined, (text: string) => void] {
  const [text, search] = useState("");
  const [hits, set] = useState<Uint32Array | undefined>();
  useEffect(() => {
    if (!text || !rows) {
      set(undefined);
      return;
    }
    let current = true;
    const wanted = text.toLowerCase();
    const among = new Uint8Array(open.samples.rows);
    for (const row of rows) among[row] = 1;
    (async () => {
      const good = new Set<number>();
      for (let from = 0; from < open.samples.rows && current; from += PIECE) {
        const to = Math.min(from + PIECE, open.samples.rows);
        if (!among.subarray(from, to).some((each) => each)) continue;
        const found = await open.table("texts").rows(from, to, ["reply"]);
        found.forEach((each, place) => {
          if (among[from + place] && String(each["reply"] ?? "").toLowerCase().includes(wanted)) good.add(from + place);
        });
        if (current) set(rows.filter((row) => good.has(row)));
      }
      if (current) set(rows.filter((row) => good.has(row)));
    })().catch(() => current && set(new Uint32Array()));
    return () => {
      current = false;
    };
  }, [text, rows, open]);
  return [hits, search];
}

/** Lines of samples, of which only those in sight are made. */
function Window({ rows, values, open, report, query }: {
  rows: Uint32Array; values: Float64Array; open: OpenRun; report: RunAbout; query: URLSearchParams;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const [top, scroll] = useState(0);
  const [height, size] = useState(600);
  useEffect(() => {
    const measure = () => size(frame.current?.clientHeight ?? 600);
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, []);
  useEffect(() => {
    if (frame.current) frame.current.scrollTop = 0;
  }, [rows]);
  const from = Math.max(0, Math.floor(top / LINE) - 4);
  const to = Math.min(rows.length, Math.ceil((top + height) / LINE) + 4);
  const shown = useMemo(() => [...rows.subarray(from, to)], [rows, from, to]);
  const texts = useLoaded(() => textsOf(open, shown), [shown.join()], true);
  return (
    <div class="window" ref={frame} tabIndex={0} role="region" aria-label={t("samples")} onScroll={(event) => scroll((event.target as HTMLElement).scrollTop)}>
      <ol class="lines" style={{ height: `${rows.length * LINE}px` }}>
        {shown.map((row, place) => (
          <li key={row} style={{ top: `${(from + place) * LINE}px` }}>
            <Line row={row} place={from + place} score={values[row]!} open={open} report={report} query={query} text={texts.value?.get(row)} />
          </li>
        ))}
      </ol>
    </div>
  );
}

async function textsOf(open: OpenRun, rows: number[]): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const groups = new Map<number, number[]>();
  for (const row of rows) groups.set(Math.floor(row / 64), [...(groups.get(Math.floor(row / 64)) ?? []), row]);
  await Promise.all([...groups.values()].map(async (mine) => {
    const [from, to] = [Math.min(...mine), Math.max(...mine) + 1];
    const texts = await open.table("texts").rows(from, to, ["reply", "error"]);
    for (const row of mine) {
      const text: Row = texts[row - from] ?? {};
      found.set(row, String(text["reply"] ?? text["error"] ?? "").slice(0, 400));
    }
  }));
  return found;
}

function Line({ row, place, score, open, report, query, text }: {
  row: number; place: number; score: number; open: OpenRun; report: RunAbout; query: URLSearchParams; text: string | undefined;
}) {
  const { samples, dimensions } = open;
  const of = (name: string) => {
    const column = samples.texts(name);
    return column.values[column.codes[row]!]!;
  };
  const number = (name: string) => samples.numbers(name)[row]!;
  const asked = Object.fromEntries([...new Set(query.keys())].map((key) => [key, query.getAll(key)]));
  const spread = number("spread");
  const cost = number("cost_usd");
  return (
    <a class="line" href={at(`run/${report.run.run_id}/sample/${row}`, { ...asked, at: String(place) })}>
      <span class="score">{figure(score, true)}</span>
      <span class="what">
        <span class="where">
          <bdi class="model">{visible(of("model"))}</bdi>
          {dimensions.map((name) => (of(name) ? <span class="tag" key={name}>{visible(called(report.about, name, of(name)))}</span> : null))}
          {of("status") !== "ok" && <Status of={of("status")} />}
          {spread > 0 && <span class="tag apart">± {figure(spread, true)}</span>}
          {cost > 0 && <span class="tag">{money(cost)}</span>}
        </span>
        <bdi class="excerpt">{visible(text ?? "").replace(/\s+/g, " ")}</bdi>
      </span>
    </a>
  );
}
