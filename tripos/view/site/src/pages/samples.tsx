import { useEffect, useMemo, useState } from "preact/hooks";
import type { First, RunAbout } from "../contract";
import { questionsOf, textsOf } from "../excerpts";
import { type Noted, type RunNotes, useNotes } from "../notes";
import { firstOf, type OpenRun, openRun } from "../run";
import { BASE, selection, SORTS } from "../selection";
import { at, go, parameters, Status, useFrame, useLoaded, visible, Waiting } from "../ui";
import { count, figure, money, t, within } from "../words";
import { NoteState, NoteTags } from "./notes";
import { called, headingOf, inOrder } from "./report";

const LINE = 98;

/** The replies of a run: those that come first at once, and all as soon as their table is read. */
export function Samples({ report, query }: { report: RunAbout; query: URLSearchParams }) {
  const run = report.run.run_id;
  const keys = [run, stateOf(report)];
  const first = useLoaded(() => firstOf(run, stateOf(report)), keys, true);
  const opened = useLoaded(async () => {
    // Not before the first are there: a server does one after the other.
    await firstOf(run, stateOf(report)).catch(() => undefined);
    const open = await openRun(run, stateOf(report));
    await open.samples.load([...open.dimensions, ...BASE, "item_at"]);
    return open;
  }, keys, true);
  const asked = query.toString();
  const notes = useNotes(run, opened.value, stateOf(report));
  const found = useLoaded(async () => opened.value && { open: opened.value, ...(await selection(opened.value, query, notes)) }, [asked, opened.value, !notes], true);
  const all = found.value;
  if (all) return <List listed={listedIn(all.open)} open={all.open} rows={all.rows} values={all.values} metric={all.metric} report={report} query={query} excerpts={excerptsOf(first.value)} notes={notes} />;
  if (!first.value || opened.error || found.error) return <Waiting of={{ error: opened.error ?? found.error }}>{() => null}</Waiting>;
  const plain = [...query.keys()].every((name) => name === "sort" && query.get(name) === "order");
  const rows = first.value.samples.flatMap((each, place) => (each["compared"] ? [place] : []));
  const values = Float64Array.from(first.value.samples, (each) => Number(each["score"] ?? NaN));
  return <List listed={listedFirst(first.value)} rows={Uint32Array.from(plain ? rows : [])} values={values} metric={null} report={report} query={query} excerpts={excerptsOf(first.value)} coming={plain ? first.value.compared : null} />;
}

/** A run as its list of replies shows it. */
interface Listed {
  dimensions: string[];
  rows: number;
  present: (name: string) => string[];
  /** What is in a column of a reply: empty where there is nothing. */
  text: (row: number, name: string) => string;
  number: (row: number, name: string) => number;
}

export function listedIn({ samples, dimensions }: OpenRun): Listed {
  return {
    dimensions,
    rows: samples.rows,
    present: (name) => samples.texts(name).values.slice(1),
    text: (row, name) => {
      const column = samples.texts(name);
      return column.values[column.codes[row]!]!;
    },
    number: (row, name) => samples.numbers(name)[row]!,
  };
}

function listedFirst({ dimensions, rows, samples, values }: First): Listed {
  return {
    dimensions,
    rows,
    present: (name) => values[name] ?? [],
    text: (row, name) => String(samples[row]![name] ?? ""),
    number: (row, name) => Number(samples[row]![name] ?? NaN),
  };
}

function excerptsOf(first: First | undefined): Map<number, string> {
  return new Map(first?.samples.map((each, row) => [row, String(each["excerpt"] ?? "")]));
}

export function stateOf(report: RunAbout): string {
  return report.state;
}

function List({ listed, open, rows: chosen, values, metric, report, query, excerpts, coming, notes }: {
  listed: Listed;
  /** The tables, once they are read. */
  open?: OpenRun;
  rows: Uint32Array;
  values: Float64Array;
  /** The metric of the scores; null where each is of its reply's own. */
  metric: string | null;
  report: RunAbout;
  query: URLSearchParams;
  excerpts: Map<number, string>;
  /** How many replies there will be, while only the first are there; null where nobody knows yet. */
  coming?: number | null;
  notes?: RunNotes | undefined;
}) {
  const run = report.run.run_id;
  const [hits, search] = useSearch(open, chosen);
  const rows = hits ?? chosen;
  useEffect(() => {
    // What a filter by a metric and the page of a reply read next; a server makes it now.
    if (open) void (async () => { for (const name of ["marks", "scores", "judgements"] as const) await open.table(name).prepare(); })().catch(() => undefined);
  }, [open]);
  const change = (name: string, values: string[]) => {
    go(at(`run/${run}/samples`, { ...parameters(query), [name]: values }), true);
  };
  return (
    <div class="samples">
      <Filters listed={listed} report={report} query={query} metric={metric} noted={notes?.noted ?? []} change={change} clear={() => go(at(`run/${run}/samples`), true)} />
      <section aria-busy={coming !== undefined}>
        <div class="bar">
          <p role="status">
            {coming === null ? t("loading") : <><strong>{count(coming ?? rows.length)}</strong> {t("of")} {count(listed.rows)} {within("samples")}</>}
          </p>
          <label>
            {t("sort")}{" "}
            <select value={query.get("sort") ?? "order"} onChange={(event) => change("sort", [(event.target as HTMLSelectElement).value])}>
              {SORTS.map((each) => <option key={each} value={each}>{t(each)}</option>)}
            </select>
          </label>
          <Search search={search} />
        </div>
        <p class="small">{t("scoreMeans")}</p>
        <NoteState notes={notes} run={run} />
        <Window rows={rows} values={values} metric={metric} listed={listed} open={open} report={report} query={query} excerpts={excerpts} notes={notes} />
      </section>
    </div>
  );
}

export function Filters({ listed, report, query, metric, noted, change, clear }: {
  listed: Listed; report: RunAbout; query: URLSearchParams; metric: string | null; noted: Noted[]; change: (name: string, values: string[]) => void; clear: () => void;
}) {
  const { about } = report;
  const known = (name: string) =>
    name === "scenario"
      ? about.scenarios.map((each) => each.name)
      : ([...about.axes, ...about.arms].find((each) => each.name === name)?.values.map((each) => each.name) ?? []);
  const names = [...listed.dimensions, "model", "status", "step"];
  const { metrics } = report;
  const evaluators = [...new Set(report.evaluators)];
  return (
    <aside class="filters" aria-label={t("filters")}>
      <details open={isWide()}>
      <summary><h2>{t("filters")}</h2></summary>
      {names.map((name) => {
        const present = listed.present(name);
        if (present.length < 2 && !query.has(name)) return null;
        return <Choice key={name} name={name} title={visible(headingOf(about, name))} values={inOrder(present, known(name))} chosen={query.getAll(name)} change={change} called={(value) => visible(called(about, name, value))} />;
      })}
      {metrics.length > 1 && <Choice name="metric" title={t("metric")} values={metrics} chosen={metric === null ? [] : [metric]} change={change} called={(value) => visible(called(about, "metric", value))} single />}
      {evaluators.length > 1 && <Choice name="evaluator" title={t("evaluator")} values={evaluators} chosen={query.getAll("evaluator")} change={change} called={visible} single />}
      {noted.length > 0 && <Choice name="noted" title={t("notes")} values={noted} chosen={query.getAll("noted")} change={change} called={(value) => t(value as Noted)} />}
      <p>
        <label class="check">
          <input type="checkbox" checked={query.get("role") !== "all"} onChange={(event) => change("role", (event.target as HTMLInputElement).checked ? [] : ["all"])} /> <span>{t("onlyCompared")}</span>
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

function Choice({ name, title, values, chosen, change, called, single = false }: {
  name: string; title: string; values: string[]; chosen: string[]; change: (name: string, values: string[]) => void; called: (value: string) => string; single?: boolean;
}) {
  if (single || values.length > MOST_BOXES) {
    return (
      <p>
        <label>
          <span class="name">{title}</span>
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
      <legend>{title}</legend>
      {values.map((each) => (
        <label key={each} class="check">
          <input type="checkbox" checked={chosen.includes(each)} onChange={(event) =>
            change(name, (event.target as HTMLInputElement).checked ? [...chosen, each] : chosen.filter((other) => other !== each))
          } /> <span>{called(each)}</span>
        </label>
      ))}
    </fieldset>
  );
}

export function Search({ search }: { search: (text: string) => void }) {
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
export function useSearch(open: OpenRun | undefined, rows: Uint32Array): [Uint32Array | undefined, (text: string) => void] {
  const [text, search] = useState("");
  const [hits, set] = useState<Uint32Array | undefined>();
  useEffect(() => {
    if (!text || !open) {
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
function Window({ rows, values, metric, listed, open, report, query, excerpts, notes }: {
  rows: Uint32Array; values: Float64Array; metric: string | null; listed: Listed; open: OpenRun | undefined; report: RunAbout; query: URLSearchParams; excerpts: Map<number, string>; notes: RunNotes | undefined;
}) {
  const { frame, top, height, onScroll } = useFrame();
  useEffect(() => {
    if (frame.current) frame.current.scrollTop = 0;
  }, [query.toString()]);
  const from = Math.max(0, Math.floor(top / LINE) - 4);
  const to = Math.min(rows.length, Math.ceil((top + height) / LINE) + 4);
  const shown = useMemo(() => [...rows.subarray(from, to)], [rows, from, to]);
  const texts = useLoaded(() => textsOf(open, shown), [shown.join(), open], true);
  const item = (row: number) => listed.number(row, "item_at");
  const items = shown.map(item).filter((each) => !Number.isNaN(each));
  const questions = useLoaded(() => questionsOf(open, items), [items.join(), open], true);
  return (
    <div class="window" ref={frame} tabIndex={0} role="region" aria-label={t("samples")} onScroll={onScroll}>
      <ol class="lines" style={{ height: `${rows.length * LINE}px` }}>
        {shown.map((row, place) => (
          <li key={row} style={{ top: `${(from + place) * LINE}px` }}>
            <Line row={row} place={from + place} score={values[row]!} metric={metric ?? listed.text(row, "metric")} listed={listed} report={report} query={query} text={texts.value?.get(row) ?? excerpts.get(row)} question={questions.value?.get(item(row))} notes={notes} />
          </li>
        ))}
      </ol>
    </div>
  );
}

function Line({ row, place, score, metric, listed, report, query, text, question, notes }: {
  row: number; place: number; score: number; metric: string; listed: Listed; report: RunAbout; query: URLSearchParams; text: string | undefined; question: string | undefined; notes: RunNotes | undefined;
}) {
  const { dimensions } = listed;
  const of = (name: string) => listed.text(row, name);
  const number = (name: string) => listed.number(row, name);
  const spread = number("spread");
  const cost = number("cost_usd");
  return (
    <a class="line" href={at(`run/${report.run.run_id}/sample/${row}`, { ...parameters(query), at: String(place) })}>
      <span class="score">{figure(score, true)}</span>
      <span class="what">
        <span class="where">
          <bdi class="model">{visible(of("model"))}</bdi>
          {notes && <NoteTags notes={notes.of(row)} />}
          {report.metrics.length > 1 && metric && <span class="tag">{visible(called(report.about, "metric", metric))}</span>}
          {dimensions.map((name) => (of(name) ? <span class="tag" key={name}>{visible(called(report.about, name, of(name)))}</span> : null))}
          {of("status") !== "ok" && <Status of={of("status")} />}
          {spread > 0 && <span class="tag apart">{t("apartBy")} {figure(spread, true)}</span>}
          {cost > 0 && <span class="tag">{money(cost)}</span>}
        </span>
        <bdi class="question">{visible(question ?? "")}</bdi>
        <bdi class="excerpt">{visible(text ?? "").replace(/\s+/g, " ")}</bdi>
      </span>
    </a>
  );
}
