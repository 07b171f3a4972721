import { diffWordsWithSpace } from "diff";
import { useState } from "preact/hooks";
import type { Columns } from "../columns";
import type { ComparedRow, Comparison, Index, ListedRun, RunAbout } from "../contract";
import { json } from "../data";
import { openRun, type OpenRun, aboutOf } from "../run";
import { type Column, List } from "../table";
import { at, go, Panel, Text, useLoaded, visible, Waiting } from "../ui";
import { between, compared, count, figure, heading, sentence, t, within } from "../words";
import { called } from "./report";

interface Side {
  run: ListedRun;
  model: number;
}

/** Two runs, or two models, item by item: the largest differences first. */
export function ComparePage({ index, query }: { index: Index; query: URLSearchParams }) {
  const a = sideOf(index, query.get("a")) ?? firstSide(index);
  const b = sideOf(index, query.get("b")) ?? secondSide(index, a);
  const choose = (name: string, value: string) => {
    const next = { a: keyOf(a), b: keyOf(b), [name]: value };
    go(at("compare", next), true);
  };
  if (!a) return <p>{t("noRuns")}</p>;
  return (
    <>
      <div class="bar">
        <Choice label="A" index={index} chosen={a} choose={(value) => choose("a", value)} />
        <Choice label="B" index={index} chosen={b} choose={(value) => choose("b", value)} of={a.run.benchmark} />
      </div>
      {b ? <Compared key={`${keyOf(a)} ${keyOf(b)}`} a={a} b={b} state={index.state} /> : <p>{t("chooseTwo")}</p>}
    </>
  );
}

function keyOf(side: Side | undefined): string | undefined {
  return side && `${side.run.run_id}.${side.model}`;
}

function sideOf(index: Index, key: string | null): Side | undefined {
  const [, run, model] = /^(.+)\.(\d+)$/.exec(key ?? "") ?? [];
  const found = index.runs.find((each) => each.run_id === run);
  return found && Number(model) < found.models.length ? { run: found, model: Number(model) } : undefined;
}

function firstSide(index: Index): Side | undefined {
  return index.runs[0] && { run: index.runs[0], model: 0 };
}

function secondSide(index: Index, a: Side | undefined): Side | undefined {
  if (!a) return undefined;
  if (a.run.models.length > 1) return { run: a.run, model: a.model === 0 ? 1 : 0 };
  const other = index.runs.find((each) => each.benchmark === a.run.benchmark && each.run_id !== a.run.run_id);
  return other && { run: other, model: 0 };
}

function Choice({ label, index, chosen, choose, of }: { label: string; index: Index; chosen: Side | undefined; choose: (key: string) => void; of?: string }) {
  return (
    <label>
      {label}{" "}
      <select value={keyOf(chosen) ?? ""} onChange={(event) => choose((event.target as HTMLSelectElement).value)}>
        {index.runs.filter((run) => !of || run.benchmark === of).flatMap((run) =>
          run.models.map((model, place) => (
            <option key={`${run.run_id}.${place}`} value={`${run.run_id}.${place}`}>{visible(`${model} · ${run.run_id} · ${run.benchmark}`)}</option>
          )),
        )}
      </select>
    </label>
  );
}

function Compared({ a, b, state }: { a: Side; b: Side; state: string }) {
  const path = `compare/${keyOf(a)}~${keyOf(b)}.json`;
  const figures = useLoaded(() => json<Comparison>(path), [path, state], true);
  return (
    <>
      <Waiting of={figures}>{(found) => <Figures found={found} />}</Waiting>
      <Items a={a} b={b} state={state} />
    </>
  );
}

function Figures({ found }: { found: Comparison }) {
  if (found.error)
    return <div class="problem" role="alert"><p>{found.error.code}: {visible(sentence(found.error.message))}</p>{found.error.hint && <p class="small">{visible(sentence(found.error.hint))}</p>}</div>;
  return (
    <Panel title={t("paired")}>
      <p class="small">{count(found.pairs)} {within("pairs")} · {count(found.items)} {t("ofItems")} · {count(found.only_a + found.only_b)} {t("onlyOne")}</p>
      {found.changes.length > 0 && <details class="small"><summary>{t("changedBetween")} ({count(found.changes.length)})</summary><ul>{found.changes.map((each) => <li key={each}>{visible(sentence(each))}</li>)}</ul></details>}
      {found.cautions.map((each) => <p class="caution" key={each}>{visible(sentence(each))}</p>)}
      {found.sections.map((section) => <Section key={section.kind} section={section} />)}
    </Panel>
  );
}

const MOST_ROWS = 6;

/** The rows of one kind, those that tell the sides apart first; more than a few are shown when they are asked for. */
function Section({ section }: { section: Comparison["sections"][number] }) {
  const [whole, show] = useState(false);
  const rows = [...section.rows].sort((x, y) => (x.p ?? 2) - (y.p ?? 2));
  const columns: Column<ComparedRow>[] = [
    { title: heading(section.kind), kind: "head", cell: (row) => <>{visible(compared(row)[0])} <span class="small">{visible(compared(row)[1])}</span></> },
    { title: "A", kind: "number", cell: (row) => figure(row.a, false) },
    { title: "B", kind: "number", cell: (row) => figure(row.b, false) },
    { title: "B − A", kind: "number", cell: (row) => <strong>{figure(row.difference, false)}</strong> },
    { title: t("interval"), cell: (row) => between(row.low, row.high, false) },
    { title: t("pValue"), kind: "number", cell: (row) => figure(row.p, true) },
    { title: t("qValue"), kind: "number", cell: (row) => figure(row.q, true) },
    { title: t("verdict"), cell: (row) => <span class="small">{visible(sentence(row.verdict))}</span> },
  ];
  return (
    <>
      <List label={heading(section.kind)} name="paired" rows={whole ? rows : rows.slice(0, MOST_ROWS)} columns={columns} />
      {!whole && rows.length > MOST_ROWS && <button type="button" class="more" onClick={() => show(true)}>{t("showMore")} ({count(rows.length)})</button>}
    </>
  );
}

interface Pair {
  a: number;
  b: number;
  apart: number;
}

const KEYS = ["scenario", "item_id", "step", "sample_number", "model", "compared", "score", "metric"];
const SHOWN = 20;

/** Return the replies that both sides have to the same items, the largest difference of scores first. */
async function pairsOf(one: OpenRun, two: OpenRun, a: string, b: string): Promise<Pair[]> {
  const arms = one.dimensions.filter((each) => two.dimensions.includes(each));
  await Promise.all([one.samples.load([...KEYS, ...arms]), two.samples.load([...KEYS, ...arms])]);
  const key = (samples: Columns, row: number) =>
    ["item_id", "step", ...arms].map((name) => {
      const column = samples.texts(name);
      return column.values[column.codes[row]!]!;
    }).join("\n") + `\n${samples.numbers("sample_number")[row]}`;
  const mine = (samples: Columns, model: string) => {
    const column = samples.texts("model");
    const code = column.values.indexOf(model);
    const compared = samples.numbers("compared");
    const rows: number[] = [];
    for (let row = 0; row < samples.rows; row++) if (column.codes[row] === code && compared[row]) rows.push(row);
    return rows;
  };
  const other = new Map(mine(two.samples, b).map((row) => [key(two.samples, row), row]));
  const [left, right] = [one.samples.numbers("score"), two.samples.numbers("score")];
  // Scores of two metrics have no difference.
  const metric = (samples: Columns, row: number) => samples.texts("metric").values[samples.texts("metric").codes[row]!];
  const found: Pair[] = [];
  for (const row of mine(one.samples, a)) {
    const beside = other.get(key(one.samples, row));
    if (beside !== undefined) found.push({ a: row, b: beside, apart: metric(one.samples, row) === metric(two.samples, beside) ? right[beside]! - left[row]! : NaN });
  }
  const size = (pair: Pair) => (Number.isNaN(pair.apart) ? -1 : Math.abs(pair.apart));
  return found.sort((x, y) => size(y) - size(x) || x.a - y.a);
}

function Items({ a, b, state }: { a: Side; b: Side; state: string }) {
  const [many, more] = useState(SHOWN);
  const found = useLoaded(async () => {
    const [one, two, report] = await Promise.all([openRun(a.run.run_id, state), openRun(b.run.run_id, state), aboutOf(a.run.run_id, state)]);
    return { one, two, report, pairs: await pairsOf(one, two, a.run.models[a.model]!, b.run.models[b.model]!) };
  }, [keyOf(a), keyOf(b), state], true);
  return (
    <Panel title={t("differences")}>
      <Waiting of={found}>
        {({ one, two, report, pairs }) => (
          <>
            <p class="small">{count(pairs.length)} {t("ofItems")}</p>
            {pairs.slice(0, many).map((pair) => <PairLine key={pair.a} pair={pair} one={one} two={two} report={report} sides={[a, b]} />)}
            {many < pairs.length && <button type="button" class="more" onClick={() => more(many + SHOWN)}>{t("showMore")} ({count(pairs.length)})</button>}
          </>
        )}
      </Waiting>
    </Panel>
  );
}

function PairLine({ pair, one, two, report, sides }: { pair: Pair; one: OpenRun; two: OpenRun; report: RunAbout; sides: [Side, Side] }) {
  const [open, set] = useState(false);
  const of = (name: string) => {
    const column = one.samples.texts(name);
    return column.values[column.codes[pair.a]!]!;
  };
  const score = (run: OpenRun, row: number) => figure(run.samples.numbers("score")[row], true);
  const metric = of("metric");
  return (
    <details open={open} onToggle={(event) => set((event.target as HTMLDetailsElement).open)}>
      <summary>
        <strong class={pair.apart > 0 ? "good" : pair.apart < 0 ? "bad" : ""}>{Number.isNaN(pair.apart) ? "—" : `${pair.apart > 0 ? "+" : ""}${figure(pair.apart, true)}`}</strong>{" "}
        A {score(one, pair.a)} · B {score(two, pair.b)} · {metric && <span class="tag">{visible(called(report.about, "metric", metric))}</span>} {one.dimensions.map((name) => of(name)).map((value, place) => (value ? <span class="tag" key={place}>{visible(called(report.about, one.dimensions[place]!, value))}</span> : null))}
      </summary>
      {open && <Replies pair={pair} one={one} two={two} sides={sides} />}
    </details>
  );
}

const LONGEST_DIFF = 20000;

function Replies({ pair, one, two, sides }: { pair: Pair; one: OpenRun; two: OpenRun; sides: [Side, Side] }) {
  const found = useLoaded(async () => {
    const [a, b] = await Promise.all([one.table("texts").rows(pair.a, pair.a + 1, ["reply", "error"]), two.table("texts").rows(pair.b, pair.b + 1, ["reply", "error"])]);
    return [a, b].map((rows) => String(rows[0]?.["reply"] ?? rows[0]?.["error"] ?? "")) as [string, string];
  }, [pair]);
  return (
    <Waiting of={found}>
      {([a, b]) => {
        const parts = a.length + b.length <= LONGEST_DIFF ? diffWordsWithSpace(a, b, { timeout: 200 }) : undefined;
        const column = (side: 0 | 1) => (
          <div>
            <p class="small">
              {side ? "B" : "A"}: <bdi>{visible(sides[side].run.models[sides[side].model]!)}</bdi> ·{" "}
              <a href={at(`run/${sides[side].run.run_id}/sample/${side ? pair.b : pair.a}`)}>{t("openSample")}</a>
            </p>
            <div class="reply">
              {parts ? (
                <bdi class="text">
                  {parts.filter((part) => (side ? !part.removed : !part.added)).map((part, place) =>
                    part.added ? <ins key={place}>{visible(part.value)}</ins> : part.removed ? <del key={place}>{visible(part.value)}</del> : visible(part.value),
                  )}
                </bdi>
              ) : <Text value={side ? b : a} />}
            </div>
          </div>
        );
        return <div class="sides">{column(0)}{column(1)}</div>;
      }}
    </Waiting>
  );
}
