import { useEffect, useMemo } from "preact/hooks";
import { shadeOf } from "../charts";
import type { RunAbout } from "../contract";
import type { Row } from "../data";
import { questionsOf, textsOf, TEXT_COLUMNS } from "../excerpts";
import { grouped, ORDERS, type ReplyGroup } from "../groups";
import { type RunNotes, useNotes } from "../notes";
import { type OpenRun, openRun } from "../run";
import { BASE, selection } from "../selection";
import { at, go, parameters, Status, Text, typing, useFrame, useLoaded, visible, Waiting } from "../ui";
import { count, figure, t, within } from "../words";
import { NoteForm, NoteList, NoteState, NoteTags, useNoteKeys } from "./notes";
import { called } from "./report";
import { Messages, shownReply } from "./sample";
import { Filters, listedIn, Search, stateOf, useSearch } from "./samples";

const [LINE, OPEN] = [148, 460];
/** What is asked of the grid alone, and not of the replies that it shows. */
const OWN = ["sort", "row"];

/** Items by models: the replies to an item beside each other, each with its score. */
export function GridPage({ report, query }: { report: RunAbout; query: URLSearchParams }) {
  const run = report.run.run_id;
  const opened = useLoaded(async () => {
    const open = await openRun(run, stateOf(report));
    await open.samples.load([...open.dimensions, ...BASE, "item_id", "given_id", "sample_number", "item_at"]);
    return open;
  }, [run, stateOf(report)], true);
  const asked = new URLSearchParams(query);
  for (const name of OWN) asked.delete(name);
  const notes = useNotes(run, opened.value, stateOf(report));
  const found = useLoaded(async () => opened.value && { open: opened.value, ...(await selection(opened.value, asked, notes)) }, [asked.toString(), opened.value, !notes], true);
  if (!found.value) return <Waiting of={{ error: opened.error ?? found.error }}>{() => null}</Waiting>;
  return <Grid {...found.value} report={report} query={query} notes={notes} />;
}

function Grid({ open, rows: chosen, values, metric, report, query, notes }: {
  open: OpenRun; rows: Uint32Array; values: Float64Array; metric: string | null; report: RunAbout; query: URLSearchParams; notes: RunNotes | undefined;
}) {
  const run = report.run.run_id;
  const [hits, search] = useSearch(open, chosen);
  const rows = hits ?? chosen;
  const { models, groups } = useMemo(() => grouped(open, rows, values, query.get("sort") ?? "order"), [open, rows, values, query.get("sort")]);
  const change = (name: string, next: string[]) => go(at(`run/${run}/grid`, { ...parameters(query), [name]: next }), true);
  const row = query.get("row");
  const place = row === null ? -1 : groups.findIndex((each) => each.replies.some((reply) => reply.includes(Number(row))));
  return (
    <div class="samples">
      <Filters listed={listedIn(open)} report={report} query={query} metric={metric} noted={notes?.noted ?? []} change={change} clear={() => go(at(`run/${run}/grid`), true)} />
      <section>
        <div class="bar">
          <p role="status"><strong>{count(groups.length)}</strong> {t("gridRows")}, {count(rows.length)} {within("samples")}</p>
          <label>
            {t("sort")}{" "}
            <select value={query.get("sort") ?? "order"} onChange={(event) => change("sort", [(event.target as HTMLSelectElement).value])}>
              {ORDERS.map((each) => <option key={each} value={each}>{t(each)}</option>)}
            </select>
          </label>
          <Search search={search} />
        </div>
        <p class="small">{t("scoreMeans")} {t("gridKeys")} {notes?.where && t("noteKeys")}</p>
        <NoteState notes={notes} run={run} />
        <Lines open={open} models={models} groups={groups} place={place} focused={row === null ? null : Number(row)} values={values} metric={metric} report={report} query={query} notes={notes} />
      </section>
    </div>
  );
}

/** Rows of items, of which only those in sight are made. One may be open: it shows its prompt and its replies whole. */
function Lines({ open, models, groups, place, focused, values, metric, report, query, notes }: {
  open: OpenRun; models: string[]; groups: ReplyGroup[]; place: number; focused: number | null; values: Float64Array; metric: string | null; report: RunAbout; query: URLSearchParams; notes: RunNotes | undefined;
}) {
  const { frame, top, height, onScroll } = useFrame();
  useEffect(() => {
    // A row that was opened by a link or by a key is brought into sight.
    const held = frame.current;
    if (!held || place < 0) return;
    const start = place * LINE;
    if (start < held.scrollTop || start + OPEN > held.scrollTop + held.clientHeight) held.scrollTop = Math.max(0, start - 8);
  }, [place, groups]);
  const run = report.run.run_id;
  const extra = (each: number) => (place >= 0 && each > place ? OPEN - LINE : 0);
  const from = Math.max(0, Math.floor((top - (OPEN - LINE)) / LINE) - 3);
  const to = Math.min(groups.length, Math.ceil((top + height) / LINE) + 3);
  const shown = groups.slice(from, to);
  const replies = shown.flatMap((each) => each.replies.flat());
  const texts = useLoaded(() => textsOf(open, replies), [replies.join(), open], true);
  const items = shown.map((each) => open.samples.numbers("item_at")[each.first]!).filter((each) => !Number.isNaN(each));
  const questions = useLoaded(() => questionsOf(open, items), [items.join(), open], true);
  const opened = groups[place];
  const whole = useLoaded(async () => opened && wholeOf(open, opened), [opened?.first, open], true);
  const show = (group: ReplyGroup | undefined, model: number) => {
    const target = group?.replies[model]?.[0] ?? group?.first;
    go(at(`run/${run}/grid`, { ...parameters(query), row: target === undefined ? [] : [String(target)] }), true);
  };
  const press = (event: KeyboardEvent) => {
    if (typing(event)) return;
    const model = focused === null ? 0 : Math.max(0, opened?.replies.findIndex((each) => each.includes(focused)) ?? 0);
    if (event.key === "j" || event.key === "k") {
      const next = groups[place < 0 ? 0 : place + (event.key === "j" ? 1 : -1)];
      if (next) show(next, model);
    } else if (event.key === "h" || event.key === "l") {
      const next = model + (event.key === "l" ? 1 : -1);
      if (opened && next >= 0 && next < models.length) show(opened, next);
    } else if (event.key === "Escape") show(undefined, 0);
    else if (event.key === "Enter" && focused !== null && !(event.target instanceof HTMLAnchorElement || event.target instanceof HTMLButtonElement)) go(at(`run/${run}/sample/${focused}`, parametersOfSamples(query)));
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
  useNoteKeys(notes, focused);
  const columns = `minmax(13rem, 1fr) repeat(${models.length}, minmax(15rem, 1fr))`;
  return (
    <div class="window grid" ref={frame} tabIndex={0} role="region" aria-label={t("gridTab")} onScroll={onScroll}>
      <div class="grid-table" role="table" aria-label={t("gridTab")} aria-rowcount={groups.length + 1} style={{ minWidth: `${13 + 15 * models.length}rem` }}>
        <div role="rowgroup" class="grid-head">
          <div role="row" style={{ gridTemplateColumns: columns }}>
            <span role="columnheader">{t("item")}</span>
            {models.map((each) => <span role="columnheader" class="model" key={each}><bdi>{visible(each)}</bdi></span>)}
          </div>
        </div>
        <div role="rowgroup" class="grid-body" style={{ height: `${groups.length * LINE + (place < 0 ? 0 : OPEN - LINE)}px` }}>
          {shown.map((group, index) => {
            const line = from + index;
            const isOpen = line === place;
            return (
              <div role="row" key={group.first} aria-rowindex={line + 2} class={isOpen ? "open" : ""} style={{ gridTemplateColumns: columns, top: `${line * LINE + extra(line)}px`, height: `${isOpen ? OPEN : LINE}px` }}>
                <ItemCell open={open} group={group} report={report} isOpen={isOpen} question={questions.value?.get(open.samples.numbers("item_at")[group.first]!)} messages={isOpen ? whole.value?.get(group.first)?.["messages"] : undefined} toggle={() => show(isOpen ? undefined : group, 0)} />
                {models.map((model, column) => (
                  <div role="cell" class="grid-cell" key={model} tabIndex={isOpen ? 0 : undefined}>
                    {group.replies[column]!.map((reply) => (
                      <ReplyCell key={reply} reply={reply} open={open} score={values[reply]!} metric={metric} report={report} isFocused={reply === focused} isOpen={isOpen} notes={notes} whole={isOpen ? whole.value?.get(reply) : undefined} text={texts.value?.get(reply)} to={at(`run/${run}/sample/${reply}`, parametersOfSamples(query))} />
                    ))}
                    {group.replies[column]!.length === 0 && <span class="nothing">—</span>}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** The same selection in the list of replies: it has no rows to open. */
function parametersOfSamples(query: URLSearchParams): Record<string, string[]> {
  const { row: _, ...rest } = parameters(query);
  return rest;
}

/** The prompt and the whole replies of a row. */
async function wholeOf(open: OpenRun, group: ReplyGroup): Promise<Map<number, Row>> {
  const replies = group.replies.flat();
  const [from, to] = [Math.min(...replies), Math.max(...replies) + 1];
  const texts = await open.table("texts").rows(from, to, [...TEXT_COLUMNS, "messages"]);
  return new Map(replies.map((each) => [each, texts[each - from] ?? {}]));
}

function ItemCell({ open, group, report, isOpen, question, messages, toggle }: {
  open: OpenRun; group: ReplyGroup; report: RunAbout; isOpen: boolean; question: string | undefined; messages: unknown; toggle: () => void;
}) {
  const of = (name: string) => {
    const column = open.samples.texts(name);
    return column.values[column.codes[group.first]!]!;
  };
  const several = (name: string) => open.samples.texts(name).values.length > 2;
  return (
    <div role="rowheader" class="grid-item" tabIndex={isOpen ? 0 : undefined}>
      <button type="button" aria-expanded={isOpen} onClick={toggle} title={visible(of("item_id"))}>{isOpen ? "▾" : "▸"} {visible(of("given_id") || short(of("item_id")))}</button>
      <span class="where">
        {open.dimensions.filter((name) => of(name) && several(name)).map((name) => <span class="tag" key={name}>{visible(called(report.about, name, of(name)))}</span>)}
        {several("step") && <span class="tag">{visible(of("step"))}</span>}
        {group.spread > 0 && <span class="tag apart">{t("apartBy")} {figure(group.spread, true)}</span>}
      </span>
      {isOpen && typeof messages === "string" ? <Messages value={messages} /> : <bdi class="excerpt">{visible(question ?? "")}</bdi>}
    </div>
  );
}

/** Ids that were made of a row are long: their beginning tells them apart. */
function short(id: string): string {
  return id.length <= 24 ? id : `${id.slice(0, 12)}…`;
}

function ReplyCell({ reply, open, score, metric, report, isFocused, isOpen, notes, whole, text, to }: {
  reply: number; open: OpenRun; score: number; metric: string | null; report: RunAbout; isFocused: boolean; isOpen: boolean; notes: RunNotes | undefined; whole: Row | undefined; text: string | undefined; to: string;
}) {
  const of = (name: string) => {
    const column = open.samples.texts(name);
    return column.values[column.codes[reply]!]!;
  };
  const named = metric ?? of("metric");
  const spread = open.samples.numbers("spread")[reply]!;
  return (
    <article class={isFocused ? "focused" : undefined}>
      <p class="where">
        <a href={to} class={`score ${Number.isNaN(score) ? "" : `shade ${shadeOf(score)}`}`} aria-label={`${t("openSample")}: ${visible(of("model"))}, ${t("score")} ${figure(score, true)}`}>{figure(score, true)}</a>
        {!isOpen && notes && <NoteTags notes={notes.of(reply)} />}
        {report.metrics.length > 1 && named && <span class="tag">{visible(called(report.about, "metric", named))}</span>}
        {of("status") !== "ok" && <Status of={of("status")} />}
        {spread > 0 && <span class="tag">{t("judges")} {t("apartBy")} {figure(spread, true)}</span>}
      </p>
      {isOpen && notes && <NoteList notes={notes.of(reply)} but={isFocused && notes.where ? notes.mine(reply)?.note_id : undefined} />}
      {isOpen && isFocused && notes && <NoteForm key={reply} notes={notes} row={reply} />}
      {whole
        ? <Text value={(shownReply((whole["reply"] ?? null) as string | null, (whole["messages"] ?? null) as string | null) ?? (whole["error"] as string | null))} />
        : <bdi class="excerpt">{visible(text ?? "").replace(/\s+/g, " ")}</bdi>}
    </article>
  );
}
