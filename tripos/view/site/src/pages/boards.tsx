import { Lines } from "../charts";
import type { BenchmarkFile, Index } from "../contract";
import { json } from "../data";
import { at, Panel, Scroll, useLoaded, Waiting } from "../ui";
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
    .map((each) => ({ x: runs.indexOf(each.run_id), series: each.model, value: each.value!, low: each.low, high: each.high, broken: each.broken, title: `${each.run_id}, ${each.version}` }));
  if (points.length === 0) return null;
  const narrow = isNarrow(points);
  const heading = `${name}: ${of.measure}`;
  const breaks = [...new Set(of.points.filter((each) => each.broken).map((each) => each.version))];
  return (
    <Panel title={heading}>
      <Scroll label={heading}><Lines points={points} label={heading} narrow={narrow} /></Scroll>
      {breaks.map((version) => <p class="small" key={version}>{t("version")} {version}: {t("changed")}</p>)}
      <details>
        <summary>{t("table")}</summary>
        <table class="list">
          <thead><tr><th scope="col">{t("run")}</th><th scope="col">{t("version")}</th><th scope="col">{t("model")}</th><th scope="col" class="number">{t("value")}</th><th scope="col">{t("interval")}</th></tr></thead>
          <tbody>
            {of.points.map((each) => (
              <tr key={each.run_id + each.model}>
                <th scope="row"><a href={at(`run/${each.run_id}`)}>{each.run_id}</a><div class="small">{when(each.started_at)}</div></th>
                <td>{each.version}</td>
                <td>{each.model}</td>
                <td class="number">{figure(each.value, narrow)}</td>
                <td>{between(each.low, each.high, narrow)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </Panel>
  );
}
