import { Lines } from "../charts";
import type { BenchmarkFile, Index } from "../contract";
import { json } from "../data";
import { List } from "../table";
import { at, Panel, Scroll, useLoaded, visible, Waiting } from "../ui";
import { between, figure, t, when } from "../words";
import { BoardPanel, isNarrow } from "./report";

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
      {(file) => (what === "boards" ? file.boards.map((board) => <BoardPanel key={board.measure} board={board} />) : file.history.map((each) => <Figure key={each.measure} name={name} of={each} lower={file.boards.some((board) => board.measure === each.measure && board.lower_is_better)} />))}
    </Waiting>
  );
}

function Figure({ name, of, lower }: { name: string; of: BenchmarkFile["history"][number]; lower: boolean }) {
  const runs = [...new Set(of.points.map((each) => each.run_id))];
  const points = of.points
    .filter((each) => each.value !== null)
    .map((each) => ({ x: runs.indexOf(each.run_id), series: each.model, value: each.value!, low: each.low, high: each.high, title: `${each.run_id}, ${each.version}`, day: each.started_at.slice(5, 10) }));
  if (points.length === 0) return null;
  const narrow = isNarrow(points);
  const heading = `${name}: ${of.measure}${lower ? t("lower") : ""}`;
  const broken = new Map(of.points.filter((each) => each.broken).map((each) => [each.run_id, each]));
  return (
    <Panel title={heading}>
      <Scroll label={heading}><Lines points={points} breaks={[...broken.keys()].map((run) => runs.indexOf(run))} label={heading} narrow={narrow} /></Scroll>
      {[...broken.values()].map((each) => <p class="small" key={each.run_id}><span class="break-mark" aria-hidden="true">┊</span> {each.run_id} ({t("version")} {each.version}){t("colon")}{t("changed")}</p>)}
      <details>
        <summary>{t("table")}</summary>
        <List label={heading} rows={of.points} columns={[
          { title: t("run"), kind: "head", cell: (each) => <><a href={at(`run/${each.run_id}`)}>{each.run_id}</a><div class="small">{when(each.started_at)}</div></> },
          { title: t("version"), cell: (each) => each.version },
          { title: t("model"), cell: (each) => <bdi>{visible(each.model)}</bdi> },
          { title: t("value"), kind: "number", cell: (each) => figure(each.value, narrow) },
          { title: t("interval"), cell: (each) => between(each.low, each.high, narrow) },
        ]} />
      </details>
    </Panel>
  );
}
