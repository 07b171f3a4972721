import { HeatMap } from "../charts";
import type { Judges, RunAbout } from "../contract";
import { json } from "../data";
import { List } from "../table";
import { Panel, useLoaded, visible, Waiting } from "../ui";
import { count, figure, percent, t } from "../words";
import { called, inOrder, useMetric } from "./report";

/** Agreement, severity, and preferences of the evaluators. */
export function JudgesPage({ report }: { report: RunAbout }) {
  const run = report.run.run_id;
  const found = useLoaded(() => json<Judges>(`runs/${run}/judges.json`), [run, report.state], true);
  return <Waiting of={found}>{(judges) => <OfJudges judges={judges} report={report} />}</Waiting>;
}

function OfJudges({ judges, report }: { judges: Judges; report: RunAbout }) {
  if (judges.severity.length === 0 && judges.position.length === 0) return <p>{t("noJudges")}</p>;
  const metric = (name: string) => visible(called(report.about, "metric", name));
  const evaluators = [...new Set(judges.severity.map((each) => each.evaluator))];
  const metrics = inOrder(judges.severity.map((each) => each.metric), report.about.metrics.map((each) => each.name));
  return (
    <>
      {judges.agreement.length > 0 && (
        <Panel title={t("agreement")}>
          <List label={t("agreement")} rows={judges.agreement} columns={[
            { title: t("metric"), kind: "head", cell: (each) => metric(String(each["part"])) },
            { title: t("evaluator"), cell: (each) => <span><bdi>{visible(String(each["evaluator_a"]))}</bdi> · <bdi>{visible(String(each["evaluator_b"]))}</bdi></span> },
            { title: t("pairs"), kind: "number", cell: (each) => count(Number(each["n"])) },
            { title: t("exact"), kind: "number", cell: (each) => share(each["exact"]) },
            { title: t("within"), kind: "number", cell: (each) => share(each["within_1"]) },
            { title: t("difference"), kind: "number", cell: (each) => figure(each["mean_difference"] as number | null, false) },
            { title: t("correlation"), kind: "number", cell: (each) => figure(each["correlation"] as number | null, true) },
          ]} />
        </Panel>
      )}
      {evaluators.length > 0 && (
        <Panel title={t("severity")}>
          <HeatMap rows={metrics} columns={evaluators} row={metric} column={visible} label={t("severity")}
            value={(row, column) => judges.severity.find((each) => each.metric === row && each.evaluator === column)} />
        </Panel>
      )}
      <Preference judges={judges} evaluators={evaluators} metrics={metrics} report={report} />
      {judges.position.length > 0 && (
        <Panel title={t("position")}>
          <p class="small">{t("positionMeans")}</p>
          <List label={t("position")} rows={judges.position} columns={[
            { title: t("evaluator"), kind: "head", cell: (each) => <bdi>{visible(each.evaluator)}</bdi> },
            { title: t("scenario"), cell: (each) => visible(called(report.about, "scenario", each.scenario)) },
            { title: t("step"), cell: (each) => visible(each.step) },
            { title: t("firstWon"), kind: "number", cell: (each) => (each.share === null ? "—" : percent(each.share)) },
            { title: "n", kind: "number", cell: (each) => count(each.n) },
          ]} />
        </Panel>
      )}
    </>
  );
}

/** What each evaluator gives each model, in one metric; what one gives its own replies is marked. */
function Preference({ judges, evaluators, metrics, report }: { judges: Judges; evaluators: string[]; metrics: string[]; report: RunAbout }) {
  const [metric, choice] = useMetric(report.about, metrics);
  const models = [...new Set(judges.preference.map((each) => each.model))];
  if (models.length === 0) return null;
  const mean = (evaluator: string, model: string, of: string) =>
    judges.preference.find((each) => each.evaluator === evaluator && each.model === model && each.metric === of && each.score !== null);
  const own = evaluators.filter((each) => models.includes(each));
  const rows = metrics.flatMap((of) => own.map((evaluator) => ({ of, evaluator, lead: ownLead(evaluator, models, evaluators, (e, m) => mean(e, m, of)?.score ?? null) })))
    .filter((each) => each.lead !== null);
  return (
    <>
      <Panel title={t("preference")}>
        {choice}
        <HeatMap rows={models} columns={evaluators} row={visible} column={visible} label={t("preference")}
          value={(row, column) => mean(column, row, metric)} mark={(row, column) => row === column} />
      </Panel>
      {rows.length > 0 && (
        <Panel title={t("selfPreference")}>
          <p class="small">{t("selfPreferenceMeans")}</p>
          <List label={t("selfPreference")} rows={rows} columns={[
            { title: t("metric"), kind: "head", cell: (each) => visible(called(report.about, "metric", each.of)) },
            { title: t("evaluator"), cell: (each) => <bdi>{visible(each.evaluator)}</bdi> },
            { title: t("ownLead"), kind: "number", cell: (each) => <strong>{figure(each.lead, true)}</strong> },
          ]} />
        </Panel>
      )}
    </>
  );
}

/** Return by how much more an evaluator favours its own replies over those of others than the other evaluators do; null
 * where nobody else graded the same models. */
function ownLead(evaluator: string, models: string[], evaluators: string[], mean: (evaluator: string, model: string) => number | null): number | null {
  const lead = (who: string) => {
    const mine = mean(who, evaluator);
    const rest = models.filter((each) => each !== evaluator).map((each) => mean(who, each)).filter((each): each is number => each !== null);
    return mine === null || rest.length === 0 ? null : mine - average(rest);
  };
  const own = lead(evaluator);
  const others = evaluators.filter((each) => each !== evaluator).map(lead).filter((each): each is number => each !== null);
  return own === null || others.length === 0 ? null : own - average(others);
}

function average(values: number[]): number {
  return values.reduce((sum, each) => sum + each, 0) / values.length;
}

function share(value: unknown): string {
  return value === null || value === undefined ? "—" : percent(Number(value));
}
