import { Lines } from "../charts";
import type { BenchmarkFile, Index, MeasureHistory } from "../contract";
import { json } from "../data";
import { List } from "../table";
import { at, Panel, Scroll, useLoaded, visible, Waiting } from "../ui";
import { between, figure, sentence, t, when } from "../words";
import { BoardPanel, isNarrow, measured } from "./report";

/** The leaderboards of every benchmark of the store. */
export function Boards({ index }: { index: Index }) {
  return <>{index.benchmarks.map((each) => <OfBenchmark key={each} name={each} state={index.state} what="boards" />)}</>;
}

export function HistoryPage({ index }: { index: Index }) {
  return <>{index.benchmarks.map((each) => <OfBenchmark key={each} name={each} state={index.state} what="history" />)}</>;
}

function OfBenchmark({ name, state, what }: { name: string; state: string; what: "boards" | "history" }) {
  const found = useLoaded(() => json<BenchmarkFile>(`benchmarks/${name}.json`), [name, state], true);
  return (
    <Waiting of={found}>
      {(file) => (what === "boards" ? file.boards.map((board) => <BoardPanel key={board.measure} board={board} about={file} />) : file.history.map((each) => <Figure key={each.measure} name={name} of={each} about={file} />))}
    </Waiting>
  );
}

function Figure({ name, of, about }: { name: string; of: MeasureHistory; about: BenchmarkFile }) {
  const rows = of.lines
    .flatMap((line) => line.points.map((point) => ({ ...point, model: line.model })))
    .sort((a, b) => (a.started_at < b.started_at ? -1 : a.started_at > b.started_at ? 1 : 0));
  const runs = [...new Set(rows.map((each) => each.run_id))];
  const points = rows
    .filter((each) => each.value !== null)
    .map((each) => ({ x: runs.indexOf(each.run_id), series: each.model, segment: each.segment, value: each.value!, low: each.low, high: each.high, title: `${each.run_id}, ${each.version}`, day: each.started_at.slice(5, 10) }));
  if (points.length === 0) return null;
  const narrow = isNarrow(points);
  const heading = `${name}: ${visible(measured(about, of.measure))}${of.lower_is_better ? t("lower") : ""}`;
  const broken = rows.filter((each) => each.broken_by.length > 0);
  return (
    <Panel title={heading}>
      <Scroll label={heading}><Lines points={points} breaks={[...new Set(broken.map((each) => runs.indexOf(each.run_id)))]} label={heading} narrow={narrow} /></Scroll>
      {runs.filter((run) => broken.some((each) => each.run_id === run)).map((run) => <Break key={run} run={run} of={broken.filter((each) => each.run_id === run)} every={new Set(of.lines.map((line) => line.model)).size} />)}
      {points.some((each) => each.segment === null) && <p class="small">{t("unfinishedPoint")}</p>}
      <details>
        <summary>{t("table")}</summary>
        <List label={heading} rows={rows} columns={[
          { title: t("run"), kind: "head", cell: (each) => <><a href={at(`run/${each.run_id}`)}>{each.run_id}</a><div class="small">{when(each.started_at)}</div></> },
          { title: t("version"), cell: (each) => (each.release === null ? each.version : `${each.version} (${each.release.slice(0, 8)})`) },
          { title: t("model"), cell: (each) => <bdi>{visible(each.model)}</bdi> },
          { title: t("value"), kind: "number", cell: (each) => figure(each.value, narrow) },
          { title: t("interval"), cell: (each) => between(each.low, each.high, narrow) },
        ]} />
      </details>
    </Panel>
  );
}

type Broken = MeasureHistory["lines"][number]["points"][number] & { model: string };

/** Why lines break at a run: once for all models that say the same. */
function Break({ run, of, every }: { run: string; of: Broken[]; every: number }) {
  const told = new Map<string, Broken[]>();
  for (const each of of) {
    const why = each.broken_by.map((cause) => sentence(cause.text)).join("; ");
    told.set(why, [...(told.get(why) ?? []), each]);
  }
  return (
    <>
      {[...told].map(([why, some]) => (
        <p class="small" key={why}>
          <span class="break-mark" aria-hidden="true">┊</span> {run} ({t("version")} {some[0]!.version}
          {some.length < every && <>, <bdi>{some.map((each) => visible(each.model)).join(", ")}</bdi></>}){t("colon")}{t("changed")}{t("colon")}{visible(why)}
        </p>
      ))}
    </>
  );
}
