import { HeatMap } from "../charts";
import type { Judges, Report } from "../contract";
import { json } from "../data";
import { Panel, Scroll, useLoaded, visible, Waiting } from "../ui";
import { count, figure, percent, t } from "../words";
import { called, inOrder } from "./report";

/** Agreement, severity, and preferences of the evaluators. */
export function JudgesPage({ report }: { report: Report }) {
  const run = report.run.run_id;
  const found = useLoaded(() => json<Judges>(`runs/${run}/judges.json`), [run, report.state], true);
  const metric = (name: string) => called(report.about, "metric", name);
  return (
    <Waiting of={found}>
      {(judges) => {
        if (judges.severity.length === 0 && judges.position.length === 0) return <p>{t("noJudges")}</p>;
        const evaluators = [...new Set(judges.severity.map((each) => each.evaluator))];
        const metrics = inOrder(judges.severity.map((each) => each.metric), report.about.metrics.map((each) => each.name));
        const models = [...new Set(judges.preference.map((each) => each.model))];
        return (
          <>
            {judges.agreement.length > 0 && (
              <Panel title={t("agreement")}>
                <Scroll label={t("agreement")}>
                  <table class="list">
                    <thead>
                      <tr>
                        <th scope="col">{t("metric")}</th>
                        <th scope="col">{t("evaluator")}</th>
                        <th scope="col" class="number">{t("pairs")}</th>
                        <th scope="col" class="number">{t("exact")}</th>
                        <th scope="col" class="number">{t("within")}</th>
                        <th scope="col" class="number">{t("difference")}</th>
                        <th scope="col" class="number">{t("correlation")}</th>
                      </tr>
                    </thead>
                    <tbody>
                      {judges.agreement.map((each, place) => (
                        <tr key={place}>
                          <th scope="row">{visible(metric(String(each["part"])))}</th>
                          <td><bdi>{visible(String(each["evaluator_a"]))}</bdi> · <bdi>{visible(String(each["evaluator_b"]))}</bdi></td>
                          <td class="number">{count(Number(each["n"]))}</td>
                          <td class="number">{share(each["exact"])}</td>
                          <td class="number">{share(each["within_1"])}</td>
                          <td class="number">{figure(each["mean_difference"] as number | null, false)}</td>
                          <td class="number">{figure(each["correlation"] as number | null, true)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </Scroll>
              </Panel>
            )}
            {evaluators.length > 0 && (
              <Panel title={t("severity")}>
                <Scroll label={t("severity")}>
                  <HeatMap rows={metrics} columns={evaluators} row={metric} column={visible} label={t("severity")}
                    value={(row, column) => judges.severity.find((each) => each.metric === row && each.evaluator === column)} />
                </Scroll>
              </Panel>
            )}
            {models.length > 0 && (
              <Panel title={t("preference")}>
                <Scroll label={t("preference")}>
                  <HeatMap rows={models} columns={evaluators} row={visible} column={visible} label={t("preference")}
                    value={(row, column) => judges.preference.find((each) => each.model === row && each.evaluator === column)} />
                </Scroll>
              </Panel>
            )}
            {judges.position.length > 0 && (
              <Panel title={t("position")}>
                <ul class="notes">
                  {judges.position.map((each) => (
                    <li key={each.evaluator + each.step}>
                      <bdi>{visible(each.evaluator)}</bdi> · {each.step}: {each.share === null ? "—" : percent(each.share)} (n = {count(each.n)})
                    </li>
                  ))}
                </ul>
              </Panel>
            )}
          </>
        );
      }}
    </Waiting>
  );
}

function share(value: unknown): string {
  return value === null || value === undefined ? "—" : percent(Number(value));
}
