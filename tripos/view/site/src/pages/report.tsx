import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Ends, HeatMap, Interval } from "../charts";
import type { About, Behind, Board, Boards, Headline, ListedRun, Measure, MeasureRow, Report, RunAbout, Titled } from "../contract";
import { json } from "../data";
import { named } from "../names";
import { type Scale, scaleOf } from "../quantities";
import { type Column, List } from "../table";
import { at, Panel, Scroll, Status, useLoaded, visible, Waiting } from "../ui";
import { between, count, figure, heading, money, percent, sentence, t, title, titled, when, within } from "../words";
import { BehindMeasure } from "./behind";

const GROUP = ".group";

/** Return what a value of a dimension is called: in the reader's language, else the benchmark's. */
export function called(about: About, dimension: string, value: string): string {
  if (dimension === "metric") return title(about.metrics.find((each) => each.name === value)?.title, value, about.languages);
  if (dimension === "scenario") return titled(about, "scenario", value, about.scenarios.find((each) => each.name === value)?.title || value);
  if (dimension === "dimension") return titled(about, "dimension", value, value);
  if (dimension.endsWith(GROUP)) return titled(about, "group", `${dimension.slice(0, -GROUP.length)}.${value}`, value);
  const found = [...about.axes, ...about.arms].find((each) => each.name === dimension);
  return title(found?.values.find((each) => each.name === value)?.labels, value, about.languages);
}

/** Return what a dimension is called above its values. */
export function headingOf(about: About, dimension: string): string {
  const axis = dimension.slice(0, -GROUP.length);
  const ofAxis = dimension.endsWith(GROUP) ? titled(about, "axis", axis, "") : "";
  if (ofAxis) return `${ofAxis} (${within("group")})`;
  return titled(about, "axis", dimension, titled(about, "arm", dimension, heading(dimension)));
}

/** Return the title of a measure, with its name, or its name alone. */
export function measured(about: Titled | undefined, name: string): string {
  const found = about ? titled(about, "measure", name, "") : "";
  return found ? `${found} (${name})` : name;
}

/** The report of a run: the headline first, as the run kept it, and the ranks and the rest as they come. */
export function ReportPage({ of, listed }: { of: RunAbout; listed: ListedRun | undefined }) {
  const { about, run } = of;
  const report = useLoaded(() => json<Report>(`runs/${run.run_id}/report.json`), [run.run_id, of.state], true);
  const boards = useLoaded(() => json<Boards>(`runs/${run.run_id}/boards.json`), [run.run_id, of.state], true);
  const behind = useLoaded(() => json<Behind>(`runs/${run.run_id}/confusion.json`), [run.run_id, of.state], true);
  const headline = boards.value?.boards ?? (listed ? keptBoards(listed, about) : []);
  return (
    <>
      <header class="title">
        <h1>{visible(titled(about, "benchmark", about.name, about.title || about.name))}</h1>
        {listed && (
          <p class="facts">
            <span>{about.name} {listed.version}</span>
            <Status of={listed.status} />
            <span>{when(listed.started_at)}</span>
            <span>{count(listed.items)} {t("ofItems")}</span>
            <span>{t("cost")} {money(listed.cost_usd)}</span>
          </p>
        )}
      </header>
      {listed && listed.status !== "finished" && <p class="caution">{t("notAll")} {named(listed.status)}{t("stop")}</p>}
      {report.value?.only_proves_the_pipeline && <p class="caution">{t("proves")}</p>}
      <Opening of={of} boards={headline} />
      {headline.map((board) => <BoardPanel key={board.measure} board={board} run={run.run_id} about={about} />)}
      {boards.error && <Waiting of={boards}>{() => null}</Waiting>}
      <Waiting of={report}>
        {(found) => (
          <>
            <Notes report={found} about={about} />
            <Grid report={found} about={about} />
            <Axes report={found} about={about} metrics={of.metrics} />
            {found.measures.map((measure) => <MeasurePanel key={measure.name} measure={measure} about={about} run={run.run_id} people={found.people_apart ?? []} behind={behind.value} />)}
            {behind.error && <Waiting of={behind}>{() => null}</Waiting>}
          </>
        )}
      </Waiting>
    </>
  );
}

/** What was asked of whom, who graded, and what the headline shows, in words. */
function Opening({ of: { about, opening }, boards }: { of: RunAbout; boards: Board[] }) {
  const verdicts = boards.filter((board) => board.verdict?.length);
  return (
    <Panel title={t("inWords")}>
      <p>{opening.map((each) => visible(sentence(each))).join(" ")}</p>
      {verdicts.map((board) => (
        <p key={board.measure}>
          <strong>{visible(measured(about, board.measure))}</strong>{t("colon")}
          {board.verdict!.map((each) => visible(sentence(each))).join("; ")}{t("stop")}
        </p>
      ))}
    </Panel>
  );
}

/** The figures of a measure that a run kept, the best first. */
function keptFigures(listed: ListedRun, measure: string, lower: boolean): Headline[] {
  const found = listed.headline.filter((each) => each.measure === measure && each.value !== null);
  return lower ? found.reverse() : found;
}

/** The headline as the run kept it at its end: without ranks, which take longer. */
function keptBoards(listed: ListedRun, about: About): Board[] {
  return [...new Set(listed.headline.map((each) => each.measure))].map((measure) => ({
    benchmark: listed.benchmark,
    version: listed.version,
    measure,
    lower_is_better: about.lower_is_better.includes(measure),
    same_items: true,
    left_out: {},
    partial: {},
    notes: [],
    models: keptFigures(listed, measure, about.lower_is_better.includes(measure)).map((each) => ({
      model: each.model, rank: null, tied: false, letters: "", value: each.value!, low: each.low, high: each.high,
      items: null, n: each.n, total: each.total, coverage: each.total && listed.status === "finished" && !listed.stopped_early ? each.n / each.total : null, runs: [listed.run_id],
    })),
  }));
}

type Plotted = { value: number | null; low: number | null; high: number | null };

/** The axis of all rows of a card. */
function axisOf(rows: Plotted[]): Scale {
  return scaleOf(rows.flatMap((row) => [row.value, row.low, row.high]).filter((each): each is number => each !== null));
}

export function isNarrow(rows: { value: number | null }[]): boolean {
  return rows.every((row) => row.value === null || Math.abs(row.value) <= 1);
}

/** The column of values with their intervals, all on one axis. */
function plot<T extends Plotted>(scale: Scale, narrow: boolean, reason: (row: T) => string = () => "—"): Column<T> {
  return {
    title: t("interval"),
    kind: "picture",
    below: <Ends scale={scale} />,
    cell: (row) => <>
      <Interval value={row.value} low={row.low} high={row.high} scale={scale} narrow={narrow} />
      <span class="small">{row.low !== null ? between(row.low, row.high, narrow) : reason(row)}</span>
    </>,
  };
}

export function BoardPanel({ board, run, about }: { board: Board; run?: string; about: Titled }) {
  const plotted = [...board.models, ...(board.people?.models ?? [])];
  const [scale, narrow] = [axisOf(plotted), isNarrow(plotted)];
  const lower = board.lower_is_better ? t("lower") : "";
  const name = (run ? t("headline") + t("colon") : `${board.benchmark} ${board.version}: `) + visible(measured(about, board.measure)) + lower;
  return (
    <Panel title={name}>
      <List label={name} rows={board.models} name="board" columns={[
        { title: t("rank"), kind: "number", cell: (each) => (each.rank === null ? "…" : `${each.rank}${each.tied ? "=" : ""}`) },
        { title: t("model"), kind: "head", cell: (each) => <bdi>{visible(each.model)}</bdi> },
        { title: t("value"), kind: "number", cell: (each) => <strong>{figure(each.value, narrow)}</strong> },
        plot(scale, narrow),
        { title: t("items"), kind: "number", cell: (each) => (each.items === null ? "…" : count(each.items)) },
        { title: t("coverage"), kind: "number", cell: (each) => (each.coverage === null ? "—" : percent(each.coverage)) },
        { title: t("group"), cell: (each) => each.letters },
      ]} />
      {board.people && (
        <>
          <h3>{t("ofPeople")}{t("colon")}<bdi>{visible(board.people.evaluators.join(", "))}</bdi></h3>
          <List label={`${name}: ${t("ofPeople")}`} rows={board.people.models} columns={[
            { title: t("model"), kind: "head", cell: (each) => <bdi>{visible(each.model)}</bdi> },
            { title: t("value"), kind: "number", cell: (each) => <strong>{figure(each.value, narrow)}</strong> },
            plot(scale, narrow),
            { title: t("items"), kind: "number", cell: (each) => (each.items === null ? "—" : count(each.items)) },
            { title: "n", kind: "number", cell: (each) => (each.n === null ? "—" : count(each.n)) },
          ]} />
        </>
      )}
      {board.notes.length > 0 && <ul class="notes">{board.notes.map((each) => <li key={each}>{visible(sentence(each))}</li>)}</ul>}
    </Panel>
  );
}

function Notes({ report, about }: { report: Report; about: About }) {
  const below = report.no_better_than_a_baseline;
  return (
    <>
      {below.length > 0 && (
        <Panel title={t("below")}>
          <ul class="notes warn">
            {below.map((each, place) => (
              <li key={place}>
                {String(each["measure"])}: <bdi>{visible(String(each["model"]))}</bdi> ({figure(each["value"] as number, false)}) {t("noBaseline")}{" "}
                {String(each["baseline"])} ({figure(each["baseline_value"] as number, false)})
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {report.remarks.length > 0 && (
        <Panel title={t("remarks")}>
          <ul class="notes">{report.remarks.map((each, place) => <li key={place}>{visible(sentence(String(each["text"])))}</li>)}</ul>
        </Panel>
      )}
      {report.gaps.length > 0 && (
        <Panel title={t("gaps")}>
          <ul class="notes">
            {report.gaps.map((each, place) => (
              <li key={place}>{count(Number(each["count"]))} × {String(each["name"])}: {visible(sentence(String(each["reason"])))}</li>
            ))}
          </ul>
        </Panel>
      )}
      {report.expectations.length > 0 && (
        <Panel title={t("expectations")}>
          <ul class="notes">
            {report.expectations.map((each, place) => (
              <li key={place} class={each.held ? "good" : "bad"}>
                {visible(each.expect)}: {each.held ? t("held") : t("notHeld")}
                <ul class="notes">
                  {each.outcomes.map((outcome, row) => (
                    <li key={row} class={outcome.held ? "good" : "bad"}>
                      {[...each.by.map((name) => called(about, name, String(outcome[name]))), outcome.model].join(", ")}: {figure(outcome.value, true)}, {t("interval")} {between(outcome.low, outcome.high, true)}
                      {outcome.reason && ` (${visible(sentence(outcome.reason))})`}
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function Grid({ report, about }: { report: Report; about: About }) {
  const [model, choose] = useState("");
  const cells = report.grid.filter((each) => each.score !== null && (!model || each.model === model));
  if (cells.length === 0) return null;
  const { run } = report;
  const scenarios = inOrder(cells.map((each) => each.scenario ?? ""), about.scenarios.map((each) => each.name));
  const metrics = inOrder(cells.map((each) => each.metric), about.metrics.map((each) => each.name));
  const found = new Map<string, { sum: number; n: number }>();
  for (const each of cells) {
    const key = `${each.scenario}\n${each.metric}`;
    const held = found.get(key) ?? { sum: 0, n: 0 };
    found.set(key, { sum: held.sum + each.score! * each.n, n: held.n + each.n });
  }
  return (
    <Panel title={t("grid")}>
      <ModelChoice models={run.models} chosen={model} choose={choose} />
      <Scroll label={t("grid")}>
        <HeatMap
          rows={scenarios}
          columns={metrics}
          row={(name) => called(about, "scenario", name)}
          column={(name) => called(about, "metric", name)}
          label={t("grid")}
          value={(row, column) => {
            const held = found.get(`${row}\n${column}`);
            return held && { score: held.sum / held.n, n: held.n };
          }}
          onPick={(row, metric) => at(`run/${run.run_id}/samples`, { scenario: row, metric, model: model || undefined, sort: "lowest" })}
        />
      </Scroll>
    </Panel>
  );
}

export function ModelChoice({ models, chosen, choose }: { models: string[]; chosen: string; choose: (model: string) => void }) {
  if (models.length < 2) return null;
  return (
    <p class="choice">
      <label>
        {t("model")}{" "}
        <select value={chosen} onChange={(event) => choose((event.target as HTMLSelectElement).value)}>
          <option value="">{t("all")}</option>
          {models.map((each) => <option key={each} value={each}>{visible(each)}</option>)}
        </select>
      </label>
    </p>
  );
}

/** Return the metric that is chosen among some, and the control that chooses one: no figure is of several. */
export function useMetric(about: About, metrics: string[]): [string, ComponentChildren] {
  const [chosen, choose] = useState("");
  const metric = metrics.includes(chosen) ? chosen : (metrics[0] ?? "");
  const control = metrics.length > 1 && (
    <p class="choice">
      <label>
        {t("metric")}{" "}
        <select value={metric} onChange={(event) => choose((event.target as HTMLSelectElement).value)}>
          {metrics.map((each) => <option key={each} value={each}>{visible(called(about, "metric", each))}</option>)}
        </select>
      </label>
    </p>
  );
  return [metric, control];
}

function Axes({ report, about, metrics }: { report: Report; about: About; metrics: string[] }) {
  const { run } = report;
  const placed = report.axes.filter((each) => each.score !== null);
  const [metric, choice] = useMetric(about, inOrder(placed.map((each) => each.metric), metrics));
  const cells = placed.filter((each) => each.metric === metric);
  const axes = [...new Set(cells.map((each) => each.axis))];
  if (axes.length === 0) return null;
  return (
    <Panel title={t("byAxis")}>
      <p class="small">{t("byAxisMeans")}</p>
      {choice}
      <div class="multiples">
        {axes.map((axis) => {
          const mine = cells.filter((each) => each.axis === axis);
          const known = [...about.axes, ...about.arms].find((each) => each.name === axis)?.values.map((each) => each.name) ?? [];
          const values = inOrder(mine.map((each) => each.value), known);
          return (
            <figure key={axis}>
              <figcaption>{visible(headingOf(about, axis))}</figcaption>
              <Scroll label={axis}>
                <HeatMap
                  rows={values}
                  columns={run.models.filter((model) => mine.some((each) => each.model === model))}
                  row={(value) => called(about, axis, value)}
                  column={(model) => visible(model)}
                  label={axis}
                  value={(value, model) => mine.find((each) => each.value === value && each.model === model)}
                  onPick={(value, model) => at(`run/${run.run_id}/samples`, { [axis]: value, metric, model, sort: "lowest" })}
                />
              </Scroll>
            </figure>
          );
        })}
      </div>
    </Panel>
  );
}

export function inOrder(found: string[], known: string[]): string[] {
  const place = new Map(known.map((each, index) => [each, index]));
  return [...new Set(found)].sort((a, b) => (place.get(a) ?? known.length) - (place.get(b) ?? known.length) || a.localeCompare(b));
}

const MOST_ROWS = 60;

function MeasurePanel({ measure, about, run, people, behind }: { measure: Measure; about: About; run: string; people: string[]; behind: Behind | undefined }) {
  const plotted = [...(measure.rows ?? []), ...(measure.judge ?? []), ...(measure.people ?? [])];
  const [scale, narrow] = [axisOf(plotted), isNarrow(plotted)];
  const values = (rows: MeasureRow[], label: string) => <Values measure={measure} about={about} rows={rows} label={label} scale={scale} narrow={narrow} />;
  return (
    <Panel title={visible(measured(about, measure.name)) + (measure.corrected ? t("corrected") : "") + (measure.lower_is_better ? t("lower") : "")}>
      {measure.error && <p class="problem">{visible(measure.error)}</p>}
      {measure.reason && <p class="small">{visible(sentence(measure.reason))}</p>}
      {values(measure.rows ?? [], measure.name)}
      {measure.judge && measure.judge.length > 0 && (
        <>
          <h3>{t("ofJudge")}</h3>
          {values(measure.judge, `${measure.name}: ${t("ofJudge")}`)}
        </>
      )}
      {measure.people && (
        <>
          <h3>{t("ofPeople")}{t("colon")}<bdi>{visible(people.join(", "))}</bdi></h3>
          {values(measure.people, `${measure.name}: ${t("ofPeople")}`)}
        </>
      )}
      {behind && <BehindMeasure behind={behind} measure={measure.name} />}
      <p class="small on-screen"><a href={at(`run/${run}/spec`, { measure: measure.name })}>{t("whatItMeans")}</a></p>
      <details>
        <summary>{t("meaning")}</summary>
        <pre tabIndex={0}>{measure.sql}</pre>
      </details>
    </Panel>
  );
}

function Values({ measure, about, rows, label, scale, narrow }: { measure: Measure; about: About; rows: MeasureRow[]; label: string; scale: Scale; narrow: boolean }) {
  const [whole, show] = useState(false);
  const shown = whole ? rows : rows.slice(0, MOST_ROWS);
  return (
    <>
      {rows.length > 0 && (
        <List label={label} rows={shown} columns={[
          { title: t("model"), kind: "head", cell: (row) => <bdi>{visible(row.model ?? "—")}</bdi> },
          ...measure.by.map((by): Column<MeasureRow> => ({
            title: visible(headingOf(about, by)),
            cell: (row) => (row[by] === null || row[by] === undefined ? "—" : visible(called(about, by, String(row[by])))),
          })),
          { title: t("value"), kind: "number", cell: (row) => (row.value === null ? <span title={sentence(row.reason ?? "")}>—</span> : <strong>{figure(row.value, narrow)}</strong>) },
          plot<MeasureRow>(scale, narrow, (row) => visible(sentence(row.reason ?? "—"))),
          { title: t("items"), kind: "number", cell: (row) => count(row.items) },
          { title: t("scored"), kind: "number", cell: (row) => `${count(row.n)} / ${count(row.total)}` },
        ]} />
      )}
      {shown.length < rows.length && (
        <button type="button" class="more" onClick={() => show(true)}>{t("showMore")} ({count(rows.length)})</button>
      )}
    </>
  );
}
