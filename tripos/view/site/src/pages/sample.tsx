import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RunAbout } from "../contract";
import type { Row } from "../data";
import { type RunNotes, useNotes } from "../notes";
import { fixed } from "../quantities";
import { type OpenRun, openRun } from "../run";
import { selection } from "../selection";
import { type Column, List } from "../table";
import { at, go, Panel, parameters, Status, Text, typing, useLoaded, visible, Waiting } from "../ui";
import { count, figure, money, t } from "../words";
import { NoteForm, NoteList, NoteState, useNoteKeys } from "./notes";
import { called } from "./report";
import { stateOf } from "./samples";

/** One reply with all that belongs to it: the reply first, and its judgements as soon as they are there. */
export function SamplePage({ report, row, query }: { report: RunAbout; row: number; query: URLSearchParams }) {
  const run = report.run.run_id;
  const keys = [run, row, stateOf(report)];
  const first = useLoaded(async () => {
    const open = await openRun(run, stateOf(report));
    return { open, row, sample: await beginningOf(open, row) };
  }, keys, true);
  const notes = useNotes(run, first.value?.open, stateOf(report));
  useNoteKeys(notes, first.value?.row ?? null);
  const whole = useLoaded(async () => ({ row, sample: await sampleOf(await openRun(run, stateOf(report)), row) }), keys, true);
  return (
    <Waiting of={first}>
      {(found) => {
        const all = whole.value?.row === found.row ? whole.value.sample : undefined;
        return (
          <>
            <Steps report={report} open={found.open} row={row} query={query} notes={notes} />
            <NoteState notes={notes} run={run} />
            <Sample report={report} sample={all ?? found.sample} notes={notes && <Notes notes={notes} row={found.row} />} />
            {!all && <Waiting of={{ error: whole.error }}>{() => null}</Waiting>}
          </>
        );
      }}
    </Waiting>
  );
}

export interface SampleRows {
  head: Row;
  texts: Row;
  scores: Row[];
  judgements: Row[];
  turns: Row[];
  item: Row | undefined;
  others: { n: number; row: Row; texts: Row }[];
}

const MOST_OTHERS = 200;

async function headOf(open: OpenRun, row: number): Promise<Row> {
  const [head] = await open.table("samples").rows(row, row + 1);
  if (!head) throw new Error(`no sample ${row}`);
  return head;
}

/** Return what was asked and replied: all that one looks at first. */
async function beginningOf(open: OpenRun, row: number): Promise<SampleRows> {
  const [head, texts] = await Promise.all([headOf(open, row), open.table("texts").rows(row, row + 1)]);
  return { head, texts: texts[0] ?? {}, scores: [], judgements: [], turns: await some(open, head, "turns"), item: undefined, others: [] };
}

function some(open: OpenRun, head: Row, name: "scores" | "judgements" | "turns"): Promise<Row[]> {
  const from = head[`${name}_at`];
  return from === null || from === undefined ? Promise.resolve([]) : open.table(name).rows(Number(from), Number(from) + Number(head[name]));
}

async function sampleOf(open: OpenRun, row: number): Promise<SampleRows> {
  const head = await headOf(open, row);
  const [texts, scores, judgements, turns, item, others] = await Promise.all([
    open.table("texts").rows(row, row + 1),
    some(open, head, "scores"),
    some(open, head, "judgements"),
    some(open, head, "turns"),
    itemOf(open, head),
    othersOf(open, head, row),
  ]);
  return { head, texts: texts[0] ?? {}, scores, judgements, turns, item, others };
}

async function itemOf(open: OpenRun, head: Row): Promise<Row | undefined> {
  const place = head["item_at"];
  return place === null || place === undefined ? undefined : (await open.table("items").rows(Number(place), Number(place) + 1))[0];
}

/** Other replies about the same item, by the same or another model: those that stand beside it. */
async function othersOf(open: OpenRun, head: Row, row: number): Promise<{ n: number; row: Row; texts: Row }[]> {
  const from = Math.max(0, row - MOST_OTHERS);
  const to = Math.min(await open.table("samples").count(), row + MOST_OTHERS);
  const near = await open.table("samples").rows(from, to, ["scenario", "item_id", "model", "step", "role", "sample_number", "status", "score", "sample_id"]);
  const mine = near
    .map((each, place) => ({ n: from + place, row: each }))
    .filter((each) => each.n !== row && each.row["item_id"] === head["item_id"] && each.row["scenario"] === head["scenario"])
    .slice(0, 24);
  if (mine.length === 0) return [];
  // They stand beside each other, so one piece of the table has them all.
  const start = mine[0]!.n;
  const texts = await open.table("texts").rows(start, mine.at(-1)!.n + 1, ["reply", "error"]);
  return mine.map((each) => ({ ...each, texts: texts[each.n - start] ?? {} }));
}

/** Steps through the selection that the sample was opened from: by keys j and k too. */
function Steps({ report, open, row, query, notes }: { report: RunAbout; open: OpenRun; row: number; query: URLSearchParams; notes: RunNotes | undefined }) {
  const asked = new URLSearchParams(query);
  asked.delete("at");
  const found = useLoaded(() => selection(open, asked, notes), [asked.toString(), open, !notes], true);
  const rows = found.value?.rows;
  const place = rows ? rows.indexOf(row) : -1;
  const target = (step: number) => {
    const next = rows && place >= 0 ? rows[place + step] : undefined;
    return next === undefined ? undefined : at(`run/${report.run.run_id}/sample/${next}`, parameters(asked));
  };
  const [previous, next] = [target(-1), target(1)];
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (typing(event)) return;
      const wanted = event.key === "j" ? next : event.key === "k" ? previous : undefined;
      if (wanted) go(wanted, true);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [previous, next]);
  const [copied, set] = useState(false);
  return (
    <nav class="steps" aria-label={`${t("previous")} / ${t("next")}`}>
      {previous ? <a href={previous} rel="prev">← {t("previous")} (k)</a> : <span class="nothing">← {t("previous")}</span>}
      <span>{place >= 0 && rows ? `${count(place + 1)} ${t("of")} ${count(rows.length)}` : ""}</span>
      {next ? <a href={next} rel="next">{t("next")} (j) →</a> : <span class="nothing">{t("next")} →</span>}
      <button type="button" onClick={() => navigator.clipboard.writeText(location.href).then(() => set(true))}>
        {copied ? t("copied") : t("copyLink")}
      </button>
    </nav>
  );
}

/** What people wrote about the reply, and what the reader writes. */
function Notes({ notes, row }: { notes: RunNotes; row: number }) {
  const mine = notes.where ? notes.mine(row)?.note_id : undefined;
  return (
    <Panel title={t("notes")}>
      <NoteList notes={notes.of(row)} but={mine} />
      <NoteForm key={row} notes={notes} row={row} />
      <p class="small">{t(notes.where ? "noteKeys" : "noteReadOnly")}</p>
    </Panel>
  );
}

function Sample({ report, sample, notes }: { report: RunAbout; sample: SampleRows; notes: ComponentChildren }) {
  const { head, texts, scores, judgements, turns, item, others } = sample;
  const { about } = report;
  const language = head["language"] as string | null;
  const names = ["scenario", "language", ...about.axes.map((each) => each.name), ...about.arms.map((each) => each.name)];
  return (
    <article lang={language ?? undefined}>
      <header class="title">
        <h1><bdi>{visible(String(head["model"]))}</bdi></h1>
        <p class="facts">
          {[...new Set(names)].filter((name) => head[name]).map((name) => <span class="tag" key={name}>{visible(called(about, name, String(head[name])))}</span>)}
          <Status of={String(head["status"])} />
          <span>{head["metric"] ? visible(called(about, "metric", String(head["metric"]))) : t("score")} <strong>{figure(head["score"] as number | null, true)}</strong></span>
          <span>{money(head["cost_usd"] as number | null)}</span>
          <span>{figure(head["latency_s"] as number | null, false)} {t("seconds")}</span>
          <span>{count(Number(head["tokens_out"] ?? 0))} {t("tokens")}</span>
        </p>
        <p class="small ids">
          {t("item")} <code title={String(head["item_id"])}>{visible(String(head["given_id"] ?? head["item_id"]))}</code> · {t("reply")} <code>{String(head["sample_id"])}</code> · <code>tripos why {String(head["sample_id"]).slice(0, 12)}</code>
        </p>
      </header>
      {texts["error"] ? <p class="problem"><Text value={String(texts["error"])} /></p> : null}
      <div class="sides">
        <Panel title={t("prompt")}><Messages value={texts["messages"] as string | null} /></Panel>
        {turns.length > 0 ? <Conversation turns={turns} compared={report.run.models} /> : (
          <Panel title={t("reply")}>
            <div class="reply"><Text value={shownReply(texts["reply"] as string | null, texts["messages"] as string | null)} /></div>
            {texts["parsed"] ? <details><summary>{t("parsed")}</summary><pre tabIndex={0}>{pretty(String(texts["parsed"]))}</pre></details> : null}
          </Panel>
        )}
      </div>
      {notes}
      {scores.length > 0 && <Scores scores={scores} judgements={judgements} report={report} />}
      {judgements.length > 0 && (
        <Panel title={t("judgements")}>
          <div class="beside">
            {judgements.map((each, place) => (
              <section key={place} class="judgement" aria-label={String(each["evaluator"])}>
                <h3><bdi>{visible(String(each["evaluator"]))}</bdi> <span class="small">{String(each["scorer"])}</span></h3>
                {each["status"] !== "ok" && <Status of={String(each["status"])} />}
                {each["error"] ? <p class="problem"><Text value={String(each["error"])} /></p> : null}
                <Text value={typeof each["reply"] === "string" ? indented(each["reply"]) : null} />
                {each["messages"] ? <details><summary>{t("prompt")}</summary><Messages value={String(each["messages"])} /></details> : null}
              </section>
            ))}
          </div>
        </Panel>
      )}
      {item && <Panel title={t("fields")}><Fields value={item["fields"] as string | null} /></Panel>}
      {others.length > 0 && (
        <Panel title={t("otherSteps")}>
          {others.map(({ n, row, texts: said }) => (
            <details key={n}>
              <summary>
                <bdi class="model">{visible(String(row["model"]))}</bdi> · {String(row["step"])} · {row["metric"] ? `${visible(called(about, "metric", String(row["metric"])))} ` : ""}{figure(row["score"] as number | null, true)}
              </summary>
              <p><a href={at(`run/${report.run.run_id}/sample/${n}`)}>{t("openSample")}</a></p>
              <Text value={(said["reply"] ?? said["error"]) as string | null} />
            </details>
          ))}
        </Panel>
      )}
    </article>
  );
}

function pretty(text: string): string {
  return visible(indented(text));
}

/** Return JSON with a line for each of its parts, and any other text as it is. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** A message as people read it: a line for each call of a tool, and of a tool its name and parameters. */
function shown(role: unknown, content: string): string {
  try {
    const told = JSON.parse(content);
    if (role === "calls") return withCalls(told) ?? content;
    if (role !== "tool") return content;
    const needed: string[] = told.parameters.required ?? [];
    const names = Object.keys(told.parameters.properties).map((name) => (needed.includes(name) ? name : `${name}?`));
    return `${told.name}(${names.join(", ")}): ${told.description}`;
  } catch {
    return content;
  }
}

function withCalls(told: { text?: unknown; calls?: unknown } | null): string | null {
  if (!told || !Array.isArray(told.calls)) return null;
  const calls = told.calls.map((each: { name?: unknown; arguments?: unknown }) =>
    each.arguments && typeof each.arguments === "object"
      ? `→ ${each.name}(${Object.entries(each.arguments).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")})`
      : `→ ${each.name || "?"}, ${JSON.stringify(each.arguments)}`);
  return [...(told.text || !calls.length ? [String(told.text ?? "")] : []), ...calls].join("\n");
}

/** The reply of a step with tools as people read it; any other as it is. */
export function shownReply(reply: string | null, messages: string | null): string | null {
  if (reply === null || !messages?.includes('"role":"tool"')) return reply;
  return shown("calls", reply);
}

export function Messages({ value }: { value: string | null | undefined }) {
  if (!value) return <Text value={null} />;
  let messages: unknown;
  try {
    messages = JSON.parse(value);
  } catch {
    return <Text value={value} />;
  }
  if (!Array.isArray(messages)) return <Text value={value} />;
  return (
    <>
      {messages.map((each: { role?: unknown; content?: unknown }, place) => (
        <div class={`message ${each.role === "assistant" || each.role === "calls" ? "assistant" : "user"}`} key={place}>
          <span class="who">{visible(String(each.role ?? ""))}</span>
          <Text value={typeof each.content === "string" ? shown(each.role, each.content) : JSON.stringify(each.content)} />
        </div>
      ))}
    </>
  );
}

function Conversation({ turns, compared }: { turns: Row[]; compared: string[] }) {
  return (
    <Panel title={t("dialogue")}>
      <ol class="dialogue">
        {turns.map((turn, place) => (
          <li key={place} class={`message ${compared.includes(String(turn["model"])) ? "assistant" : "user"}`}>
            <span class="who">{String(turn["role"])} · <bdi>{visible(String(turn["model"]))}</bdi></span>
            {turn["error"] ? <p class="problem"><Text value={String(turn["error"])} /></p> : null}
            <Text value={turn["text"] as string | null} />
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Every metric a row, every evaluator a column, with reasons. */
function Scores({ scores, judgements, report }: { scores: Row[]; judgements: Row[]; report: RunAbout }) {
  const evaluators = [...new Set(scores.map((each) => String(each["evaluator"] ?? "")))];
  const metrics = [...new Set(scores.map((each) => String(each["metric"])))];
  const elements = new Map<string, string>();
  for (const each of scores) if (each["element_value"]) elements.set(String(each["metric"]), String(each["element_value"]));
  const reasons = new Map<string, string>();
  for (const each of judgements) {
    try {
      const parsed = JSON.parse(String(each["parsed"])) as Record<string, { reason?: unknown }>;
      for (const [metric, said] of Object.entries(parsed)) if (typeof said?.reason === "string") reasons.set(`${each["judgement_id"]} ${metric}`, said.reason);
    } catch {
      // A judgement that could not be read gives no reason.
    }
  }
  return (
    <Panel title={t("scores")}>
      <List label={t("scores")} rows={metrics} columns={[
        { title: t("metric"), kind: "head", cell: (metric) => (
          <>
            {visible(called(report.about, "metric", metric))}
            {elements.has(metric) && <div class="small reason"><Text value={elements.get(metric)} long={300} /></div>}
          </>
        ) },
        ...evaluators.map((evaluator): Column<string> => ({
          title: evaluator ? visible(evaluator) : t("value"),
          cell: (metric) => (
            <div>
              {scores.filter((each) => each["metric"] === metric && String(each["evaluator"] ?? "") === evaluator).map((each, place) => (
                <div key={place}>
                  {each["choice"] ? <strong><bdi>{visible(String(each["choice"]))}</bdi></strong> : null}
                  {each["value"] !== null && each["value"] !== undefined ? <>{each["choice"] ? " · " : ""}<strong>{plainNumber(each["value"])}</strong></> : each["choice"] ? null : <Status of={String(each["status"])} />}
                  {each["high"] !== null && each["high"] !== undefined && <span class="small"> / {String(each["high"])}</span>}
                  {each["error"] ? <div class="small"><Text value={String(each["error"])} long={300} /></div> : null}
                  {reasons.has(`${each["judgement_id"]} ${metric}`) && <div class="small reason"><Text value={reasons.get(`${each["judgement_id"]} ${metric}`)} long={400} /></div>}
                </div>
              ))}
            </div>
          ),
        })),
      ]} />
    </Panel>
  );
}

function plainNumber(value: unknown): string {
  const number = Number(value);
  return Number.isInteger(number) ? String(number) : fixed(number, 3);
}

function Fields({ value }: { value: string | null }) {
  let fields: unknown;
  try {
    fields = JSON.parse(value ?? "null");
  } catch {
    return <Text value={value} />;
  }
  if (fields === null || typeof fields !== "object") return <Text value={value} />;
  return (
    <dl class="fields">
      {Object.entries(fields).map(([name, held]) => (
        <div key={name}>
          <dt>{visible(name)}</dt>
          <dd><Text value={typeof held === "string" ? held : JSON.stringify(held, null, 1)} long={1200} /></dd>
        </div>
      ))}
    </dl>
  );
}
