import type { Index } from "../contract";
import { at, Panel, Scroll, Status, visible } from "../ui";
import { count, figure, money, percent, t, title, when } from "../words";

/** The runs of the store, newest first. */
export function Runs({ index }: { index: Index }) {
  if (index.runs.length === 0) return <p>{t("noRuns")}</p>;
  return (
    <Panel title={t("runs")}>
      <Scroll label={t("runs")}>
        <table class="list">
          <thead>
            <tr>
              <th scope="col">{t("run")}</th>
              <th scope="col">{t("benchmark")}</th>
              <th scope="col">{t("headline")}</th>
              <th scope="col">{t("status")}</th>
              <th scope="col" class="number">{t("samples")}</th>
              <th scope="col" class="number">{t("coverage")}</th>
              <th scope="col" class="number">{t("cost")}</th>
            </tr>
          </thead>
          <tbody>
            {index.runs.map((run) => (
              <tr key={run.run_id}>
                <th scope="row">
                  <a href={at(`run/${run.run_id}`)}>{run.run_id}</a>
                  <div class="small">{when(run.started_at)}</div>
                </th>
                <td>
                  {visible(title(run.titles, run.title || run.benchmark))}
                  <div class="small">{run.benchmark} {run.version}</div>
                </td>
                <td>
                  {run.headline.slice(0, 6).map((each) => (
                    <div key={each.measure + each.model}>
                      <span class="model">{visible(each.model ?? "")}</span>{" "}
                      <strong>{figure(each.value, true)}</strong>{" "}
                      <span class="small">{each.measure}</span>
                    </div>
                  ))}
                  {run.headline.length === 0 && run.models.map((model) => <div key={model} class="model">{visible(model)}</div>)}
                </td>
                <td><Status of={run.status} /></td>
                <td class="number">{count(run.samples)}</td>
                <td class="number">{run.scored_share === null ? "—" : percent(run.scored_share)}</td>
                <td class="number">{money(run.cost_usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}
