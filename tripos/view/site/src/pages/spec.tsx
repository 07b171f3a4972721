import type { About, Labelled, RunAbout, SpecFile } from "../contract";
import { json } from "../data";
import { named } from "../names";
import { List } from "../table";
import { Panel, Text, useLoaded, visible, Waiting } from "../ui";
import { count, t, title, titled } from "../words";
import { headingOf } from "./report";
import { SpecText } from "./spec_text";

/** The benchmark as it was run: its scenarios, axes, arms, metrics and roles. */
export function SpecPage({ report, query }: { report: RunAbout; query: URLSearchParams }) {
  const { about, run } = report;
  const spec = useLoaded(() => json<SpecFile>(`runs/${run.run_id}/spec.json`), [run.run_id, report.state], true);
  const name = (titles: Record<string, string>, fallback: string) => visible(title(titles, fallback, about.languages));
  return (
    <>
      <Panel title={t("roles")}>
        <dl class="fields">
          {about.roles.map((role) => (
            <div key={role.name}>
              <dt>{role.name} <span class="small">{named(role.kind)}</span></dt>
              <dd>{(run.roles[role.name] ?? []).map((model) => <div key={model}><bdi>{visible(model)}</bdi></div>)}</dd>
            </div>
          ))}
        </dl>
      </Panel>
      <Panel title={t("scenarios")}>
        <List label={t("scenarios")} rows={about.scenarios} columns={[
          { title: t("scenario"), kind: "head", cell: (each) => <>{visible(titled(about, "scenario", each.name, each.title || each.name))}<div class="small">{each.name}</div></> },
          { title: t("axes"), cell: (each) => [...each.axes, ...each.arms].map((name) => visible(headingOf(about, name))).join(", ") },
          { title: t("steps"), cell: (each) => <div>{each.steps.map((step) => <div key={step.name + step.kind}><span class="small">{named(step.kind)}</span> {step.name}</div>)}</div> },
          { title: t("rows"), kind: "number", cell: (each) => count(each.rows) },
        ]} />
      </Panel>
      <Dimensions heading={t("axes")} of={about.axes} about={about} />
      <Dimensions heading={t("arms")} of={about.arms} about={about} />
      {about.metrics.length > 0 && (
        <Panel title={t("metrics")}>
          {about.metrics.map((metric) => (
            <details key={metric.name}>
              <summary>
                <strong>{name(metric.title, metric.name)}</strong> <span class="small">{metric.name} · {visible(titled(about, "dimension", metric.dimension, metric.dimension))} · {metric.low}–{metric.high}</span>
              </summary>
              <p><Text value={title(metric.asks, "", about.languages)} /></p>
              <ul class="notes">
                {metric.levels.map((level) => (
                  <li key={level.low}>{level.low === level.high ? level.low : `${level.low}–${level.high}`}: {name(level.text, "")}</li>
                ))}
              </ul>
            </details>
          ))}
        </Panel>
      )}
      <Waiting of={spec}>{(found) => <SpecText spec={found} run={run.run_id} chosen={query.get("measure")} about={about} />}</Waiting>
      {about.cites.length > 0 && <Panel title={t("references")}><ul class="notes">{about.cites.map((each) => <li key={each}>{visible(each)}</li>)}</ul></Panel>}
    </>
  );
}

function Dimensions({ heading, of, about }: { heading: string; of: { name: string; values: Labelled[] }[]; about: About }) {
  if (of.length === 0) return null;
  return (
    <Panel title={heading}>
      <dl class="fields">
        {of.map((axis) => (
          <div key={axis.name}>
            <dt>{visible(headingOf(about, axis.name))}</dt>
            <dd>{axis.values.map((each) => visible(title(each.labels, each.name, about.languages))).join(" · ")}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
