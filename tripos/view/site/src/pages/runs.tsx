import type { Index, ListedRun } from "../contract";
import { List } from "../table";
import { at, Panel, Status, visible } from "../ui";
import { count, figure, money, percent, t, title, when } from "../words";
import { isNarrow } from "./report";

/** The runs of the store, newest first. */
export function Runs({ index }: { index: Index }) {
  if (index.runs.length === 0) return <p>{t("noRuns")}</p>;
  return (
    <Panel title={t("runs")}>
      <List label={t("runs")} rows={index.runs} columns={[
        { title: t("run"), kind: "head", cell: (run) => <><a href={at(`run/${run.run_id}`)}>{run.run_id}</a><div class="small">{when(run.started_at)}</div></> },
        { title: t("benchmark"), cell: (run) => <>{visible(title(run.titles, run.title || run.benchmark, run.languages ?? []))}<div class="small">{run.benchmark} {run.version}</div></> },
        { title: t("headlineKept"), cell: headline },
        { title: t("status"), cell: (run) => <Status of={run.status} /> },
        { title: t("samples"), kind: "number", cell: (run) => count(run.samples) },
        { title: t("coverage"), kind: "number", cell: (run) => (run.scored_share === null || run.status !== "finished" || run.stopped_early ? "—" : percent(run.scored_share)) },
        { title: t("cost"), kind: "number", cell: (run) => money(run.cost_usd) },
      ]} />
    </Panel>
  );
}

const MOST_FIGURES = 6;

function headline(run: ListedRun) {
  if (run.headline.length === 0) return run.models.map((model) => <div key={model} class="model">{visible(model)}</div>);
  const left = run.headline.length - MOST_FIGURES;
  return (
    <>
      {run.headline.slice(0, MOST_FIGURES).map((each) => (
        <div key={each.measure + each.model} class="figure-line">
          <strong>{figure(each.value, isNarrow(run.headline))}</strong> <bdi>{visible(each.model ?? "")}</bdi> <span class="small">{each.measure}</span>
        </div>
      ))}
      {left > 0 && <div class="small">+ {count(left)} {t("furtherFigures")}</div>}
    </>
  );
}
