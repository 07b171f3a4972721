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
      {(file) => (what === "boards" ? file.boards.map((board) => <BoardPanel key={board.measure} board={board} />) : file.history.map((each) => <Figure key={each.measure} name={name} of={each} />))}
    </Waiting>
  );
}

function Figure({ name, of }: { name: string; of: BenchmarkFile["history"][number] }) {
  const runs = [...new Set(of.points.map((each) => each.run_id))];
  const points = of.points
    .filter((each) => each.value !== null)
    .map((each) => ({ x: runs.indexOf(each.run_id), series: each.model, value: each.value!, low: each.low, high: each.high, broken: each.broken, title: `${each.run_id}, ${each.version}`, day: each.started_at.slice(5, 10) }));
  if (points.length === 0) return null;
  const narrow = isNarrow(points);
  const heading = `${name}: ${of.measure}`;
  const breaks = [...new Set(of.points.filter((each) => each.broken).map((each) => each.version))];
  return (
    <Panel title={heading}>
      <Scroll label={heading}><Lines points={points} label={heading} narrow={narrow} /></Scroll>
      {breaks.map((version) => <p class="small" key={version}><span class="break-mark" aria-hidden="true">┊</span> {t("version")} {version}: {t("changed")}</p>)}
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
