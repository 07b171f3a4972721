/** What people wrote about a reply, and the form to write it. */
import { useEffect, useRef } from "preact/hooks";
import type { Flag, Note, Noted, RunNotes } from "../notes";
import { at, Text, typing, visible } from "../ui";
import { count, t, when, within } from "../words";

export const SIGNS: Record<Noted, string> = { again: "⚑", good: "✓", bad: "✗", comment: "✎" };
/** The key of each flag; `c` is for the comment. */
const KEYS: Record<string, Flag> = { f: "again", g: "good", b: "bad" };

/** The flags and comments of a reply in short, with the names of their authors. */
export function NoteTags({ notes }: { notes: Note[] }) {
  const present = notes.filter((each) => !each.outdated);
  const of = (kind: Noted) => present.filter((each) => (kind === "comment" ? each.text !== null : each.flag === kind));
  return (
    <>
      {(Object.keys(SIGNS) as Noted[]).map((kind) => {
        const those = of(kind);
        if (!those.length) return null;
        const names = those.map((each) => visible(each.name)).join(", ");
        return <span class={`tag noted ${kind}`} key={kind} title={names}>{SIGNS[kind]} {t(kind)}<span class="unseen">{t("colon")}{names}</span></span>;
      })}
    </>
  );
}

/** Flag a reply by key, or go to its comment. `row` is null where no reply is chosen. */
export function useNoteKeys(notes: RunNotes | undefined, row: number | null) {
  useEffect(() => {
    if (!notes?.where || row === null) return;
    const press = (event: KeyboardEvent) => {
      if (typing(event)) return;
      const flag = KEYS[event.key];
      if (flag) notes.toggle(row, flag);
      else if (event.key === "c") document.getElementById(`note-${row}`)?.focus();
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
}

/** All notes on a reply. */
export function NoteList({ notes, but }: { notes: Note[]; but?: string | undefined }) {
  const shown = notes.filter((each) => each.note_id !== but);
  if (!shown.length) return null;
  return (
    <ul class="notes-of">
      {shown.map((each) => (
        <li key={each.note_id}>
          <p class="where">
            <bdi class="model">{visible(each.name)}</bdi>
            {each.flag && <span class={`tag noted ${each.outdated ? "" : each.flag}`}>{SIGNS[each.flag]} {t(each.flag)}</span>}
            <span class="small">{when(each.at)}</span>
            {each.outdated && <span class="tag">{t("noteOutdated")}</span>}
          </p>
          {each.text !== null && <Text value={each.text} long={2000} />}
        </li>
      ))}
    </ul>
  );
}

/** The note of the reader on a reply: flags are saved when they are pressed, a comment when it is left. */
export function NoteForm({ notes, row }: { notes: RunNotes; row: number }) {
  const text = useRef<HTMLTextAreaElement>(null);
  const begun = useRef<string | null | undefined>(undefined);
  const begin = useRef(() => {});
  const end = useRef(() => {});
  const { flag, text: written } = notes.current(row);
  const unsaved = notes.unsavedOf(row);
  useEffect(() => {
    // What is being written stays until it is left.
    if (text.current && begun.current === undefined) text.current.value = written ?? "";
  }, [written, row]);
  const leave = () => {
    const before = begun.current;
    begun.current = undefined;
    end.current();
    const value = text.current?.value.trim() || null;
    if (before !== undefined && value !== (notes.current(row).text ?? null)) void notes.write(row, { flag: notes.current(row).flag, text: value }, before);
  };
  useEffect(() => {
    const hold = (event: BeforeUnloadEvent) => {
      leave();
      event.preventDefault();
    };
    // Only while something is written: a page that listens always is slower to leave.
    begin.current = () => {
      if (begun.current !== undefined) return;
      begun.current = notes.before(row);
      window.addEventListener("beforeunload", hold);
    };
    end.current = () => window.removeEventListener("beforeunload", hold);
    return leave;
  }, [notes, row]);
  if (!notes.where) return null;
  const mine = notes.mine(row);
  return (
    <form class="note-form" autocomplete="off" onSubmit={(event) => { event.preventDefault(); leave(); if (unsaved?.problem) void notes.write(row, notes.current(row), unsaved.before); }}>
      <div class="flags" role="group" aria-label={t("flag")}>
        {notes.rules.flags.map((each) => (
          <button type="button" key={each} class={each} aria-pressed={flag === each} onClick={() => notes.toggle(row, each)}>{SIGNS[each]} {t(each)}</button>
        ))}
      </div>
      <textarea
        id={`note-${row}`} ref={text} rows={2} maxLength={notes.rules.text} aria-label={t("comment")} placeholder={t("comment")} defaultValue={written ?? ""}
        onInput={() => begin.current()}
        onBlur={leave}
        onKeyDown={(event) => { if (event.key === "Escape") { event.stopPropagation(); event.currentTarget.blur(); } }}
      />
      <div class="row">
        {notes.isNamed ? <span class="small">{t("asName")} <bdi>{visible(notes.name)}</bdi></span> : (
          <label>{t("yourName")} <input type="text" key={notes.name} defaultValue={notes.name} maxLength={notes.rules.name.characters} onChange={(event) => notes.setName(event.currentTarget.value)} /></label>
        )}
        <button type="submit">{t("save")}</button>
        <span role="status" class="small">{unsaved ? (unsaved.problem === null ? t("saving") : "") : mine?.local ? t("savedHere") : mine || notes.written.has(row) ? t("saved") : ""}</span>
      </div>
      {unsaved?.problem && <p class="problem" role="alert">{t("notSaved")}{t("colon")}{visible(unsaved.problem)}</p>}
      {mine?.outdated && <p class="small">{t("noteOutdated")}</p>}
    </form>
  );
}

/** What a reader of a list must know of notes: those that could not be saved, and those that only this browser has. */
export function NoteState({ notes, run }: { notes: RunNotes | undefined; run: string }) {
  if (!notes) return null;
  const { troubled } = notes;
  const download = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(notes.localFile);
    link.download = `notes-${notes.name}.jsonl`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return (
    <>
      {troubled.length > 0 && (
        <p class="problem" role="alert">
          {t("notSaved")}{t("colon")}{troubled.map((row) => <a key={row} href={at(`run/${run}/sample/${row}`)}>{t("openSample")} {count(row + 1)}</a>)}
        </p>
      )}
      {notes.localCount > 0 && (
        <p class="caution local">
          <span>{count(notes.localCount)} {within("notes")}{t("colon")}{t(notes.lasts ? "onlyHere" : "notKept")}</span> <button type="button" onClick={download}>{t("downloadNotes")}</button>
        </p>
      )}
    </>
  );
}
