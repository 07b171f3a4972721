/** Notes of people on replies: those that the view has, and those that are written on this page. */
import { useEffect, useReducer, useState } from "preact/hooks";
import type { Index } from "./contract";
import { json, Missing } from "./data";
import type { OpenRun } from "./run";
import { count, filled, learn, sentence, t } from "./words";

export type Flag = "again" | "good" | "bad";
/** What a list of replies is filtered by: replies with one of the flags, or with a comment. */
export type Noted = Flag | "comment";
const LETTER = /^[\p{L}\p{N}]/u;
const KEPT_NAME = "tripos name";

export interface Content {
  flag: Flag | null;
  text: string | null;
}

export interface Note extends Content {
  note_id: string;
  sample_id: string;
  rows: number[];
  name: string;
  outdated: boolean;
  at: string | null;
  /** Only in this browser. */
  local?: boolean;
}

/** What a note may be: the flags, the most characters of a text, and the names that the commands take too. */
interface Rules {
  flags: Flag[];
  text: number;
  name: { signs: string; characters: number; bytes: number };
}

interface NotesFile {
  state: string;
  rules: Rules;
  /** Where new notes go; null where none can be written. */
  kept: "store" | "browser" | null;
  name: string | null;
  notes: Note[];
}

/** A note as it is sent to the server, and as a line of a file. */
interface Line extends Content {
  note_id: string;
  sample_id: string;
  run: string;
  replied_at: string;
  at: string;
}

/** What was written and is not saved yet: `problem` says why not, null while it is on its way. */
export interface Unsaved extends Content {
  before: string | null;
  problem: string | null;
}

const NOTHING: Content = { flag: null, text: null };

function kept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a text in this browser; false where the browser keeps nothing. */
function keep(key: string, text: string): boolean {
  try {
    localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

export class RunNotes {
  private file: NotesFile | undefined;
  private byRow = new Map<number, Note[]>();
  private lines = new Map<string, Line>();
  private unsaved = new Map<number, Unsaved>();
  /** The replies whose note was written, or withdrawn, on this page. */
  readonly written = new Set<number>();
  private listeners = new Set<() => void>();
  private hold = (event: BeforeUnloadEvent) => event.preventDefault();
  private sending = Promise.resolve();
  /** The note that this page wrote in place of another, by its row and the other's id. */
  private followed = new Map<string, string>();
  private typed = kept(KEPT_NAME) ?? "";
  /** False once this browser refused to keep a note: it is gone when the page is closed. */
  lasts = true;

  constructor(readonly run: string, public open: OpenRun, public state: string) {}

  get where() {
    return this.file?.kept ?? null;
  }

  /** Whether there is anything to show or to write. */
  get present(): boolean {
    return this.file !== undefined && (this.where !== null || this.file.notes.length > 0);
  }

  get isNamed(): boolean {
    return this.file?.name !== null;
  }

  get rules(): Rules {
    return this.file!.rules;
  }

  get noted(): Noted[] {
    return [...this.rules.flags, "comment"];
  }

  /** What is wrong with the name of the writer; null where nothing is. */
  private get nameProblem(): string | null {
    const { name, rules: { name: { signs, characters, bytes } } } = this;
    if (!name) return t("nameFirst");
    const isShort = [...name].length <= characters && new TextEncoder().encode(name).length <= bytes;
    if (isShort && LETTER.test(name) && [...name].every((each) => LETTER.test(each) || signs.includes(each))) return null;
    return filled("nameRule", { signs: [...signs].join(" "), characters: count(characters), bytes: count(bytes) });
  }

  get name(): string {
    return this.file?.name ?? this.typed;
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private tell() {
    // Only while something is on its way: a page that listens always is slower to leave.
    window.removeEventListener("beforeunload", this.hold);
    if (this.unsaved.size) window.addEventListener("beforeunload", this.hold);
    for (const each of this.listeners) each();
  }

  /** Take a name; what waited for it is saved. */
  setName(name: string) {
    this.typed = name.trim();
    keep(KEPT_NAME, this.typed);
    for (const [row, each] of [...this.unsaved]) if (each.problem !== null) void this.write(row, each, each.before);
    this.tell();
  }

  /** Read the notes anew: those of others too. */
  async load(): Promise<void> {
    try {
      if (!(await json<Index>("index.json")).notes) return; // a request for a file that is missing would be logged
      this.file = await json<NotesFile>(`runs/${this.run}/notes.json`);
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      return;
    }
    if (this.where === "browser") this.readLines();
    await this.place();
    this.tell();
  }

  private readLines() {
    const stored = new Set(this.file!.notes.map((each) => each.note_id));
    try {
      const lines = JSON.parse(kept(this.key) ?? "[]") as Line[];
      if (this.lasts) this.lines = new Map(lines.filter((each) => !stored.has(each.note_id)).map((each) => [each.sample_id, each]));
    } catch {
      // Something else is kept under this name: it is written over.
    }
  }

  private get key() {
    return `tripos notes ${this.run}`;
  }

  /** Give each note its rows: the server's are of its state of the store, which may be a later one than the page's. */
  private async place() {
    const file = this.file!;
    const notes = file.notes.filter((each) => !(this.where === "browser" && each.name === this.name && this.lines.has(each.sample_id)));
    const unplaced = file.state === this.state ? [] : notes;
    const wanted = new Set([...unplaced.map((each) => each.sample_id), ...this.lines.keys()]);
    const places = wanted.size ? await this.placesOf(wanted) : new Map<string, number[]>();
    const local = [...this.lines.values()].filter((each) => each.flag || each.text).map((each): Note =>
      ({ ...each, name: this.name, rows: places.get(each.sample_id) ?? [], outdated: false, local: true }));
    const placed = unplaced.length ? notes.map((each) => ({ ...each, rows: places.get(each.sample_id) ?? [] })) : notes;
    const byRow = new Map<number, Note[]>();
    for (const note of [...placed, ...local]) for (const row of note.rows) byRow.set(row, [...(byRow.get(row) ?? []), note]);
    this.byRow = byRow;
  }

  private async placesOf(ids: Set<string>): Promise<Map<string, number[]>> {
    const found = new Map<string, number[]>();
    await this.open.table("samples").columns(["sample_id"], (_, values, from) => {
      for (let at = 0; at < values.length; at++) {
        const id = String(values[at]);
        if (ids.has(id)) found.set(id, [...(found.get(id) ?? []), from + at]);
      }
    });
    return found;
  }

  of(row: number): Note[] {
    return this.byRow.get(row) ?? [];
  }

  mine(row: number): Note | undefined {
    return this.of(row).find((each) => each.name === this.name);
  }

  /** What the writer sees of a reply: what is being saved, or could not be, or else the note that stands. */
  current(row: number): Content {
    return this.unsaved.get(row) ?? this.mine(row) ?? NOTHING;
  }

  unsavedOf(row: number): Unsaved | undefined {
    return this.unsaved.get(row);
  }

  /** The replies with a note that could not be saved. */
  get troubled(): number[] {
    return [...this.unsaved].filter(([, each]) => each.problem !== null).map(([row]) => row);
  }

  /** Whether a reply has one of these flags, or a comment; notes on an earlier reply say nothing of this one. */
  has(row: number, wanted: ReadonlySet<string>): boolean {
    return this.of(row).some((each) => !each.outdated && ((each.flag !== null && wanted.has(each.flag)) || (each.text !== null && wanted.has("comment"))));
  }

  /** Set a flag, or take it away where it is set. */
  toggle(row: number, flag: Flag) {
    const { flag: now, text } = this.current(row);
    void this.write(row, { flag: now === flag ? null : flag, text }, this.before(row));
  }

  /** The id of the writer's note that is shown now. */
  before(row: number): string | null {
    return this.unsaved.get(row)?.before ?? this.mine(row)?.note_id ?? null;
  }

  /** Save a note; one without flag and text withdraws the writer's note. `before` is the id of the one it replaces. */
  write(row: number, { flag, text }: Content, before: string | null): Promise<void> {
    const one: Unsaved = { flag, text: text?.trim() || null, before, problem: null };
    this.unsaved.set(row, one);
    this.tell();
    this.sending = this.sending.then(async () => {
      if (this.unsaved.get(row) !== one) return; // a later one is waiting
      try {
        if (this.nameProblem !== null) throw new Error(this.nameProblem);
        await this.save(row, one);
        this.written.add(row);
        if (this.unsaved.get(row) === one) this.unsaved.delete(row);
      } catch (error) {
        one.problem = error instanceof TypeError ? t("noAnswer") : (error as Error).message;
        one.before = this.mine(row)?.note_id ?? null; // saved again, it replaces what is shown by then
      }
      this.tell();
    });
    return this.sending;
  }

  private async save(row: number, one: Unsaved) {
    const [[head], [texts]] = await Promise.all([
      this.open.table("samples").rows(row, row + 1, ["sample_id"]),
      this.open.table("texts").rows(row, row + 1, ["created_at"]),
    ]);
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const line: Line = {
      note_id: [...bytes].map((each) => each.toString(16).padStart(2, "0")).join(""),
      sample_id: String(head!["sample_id"]),
      run: this.run,
      flag: one.flag,
      text: one.text,
      replied_at: String(texts!["created_at"]),
      at: new Date().toISOString(),
    };
    if (this.where === "browser") {
      this.readLines(); // another window may have written some
      const stored = this.file!.notes.some((each) => each.sample_id === line.sample_id && each.name === this.name);
      if (line.flag || line.text || stored) this.lines.set(line.sample_id, line);
      else this.lines.delete(line.sample_id);
      this.lasts = keep(this.key, JSON.stringify([...this.lines.values()]));
      await this.place();
      return;
    }
    const answer = await fetch("notes", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...line, name: this.name, before: this.followedBy(row, one.before) }),
    });
    if (answer.status === 422) {
      const text = await answer.text();
      await this.load();
      throw new Error(reasonOf(text));
    }
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    this.followed.set(`${row} ${this.followedBy(row, one.before)}`, line.note_id);
    await this.load();
  }

  /** The last note that this page wrote after the one that was shown when the writing began. */
  private followedBy(row: number, before: string | null): string | null {
    let last = before;
    for (let next; (next = this.followed.get(`${row} ${last}`)) !== undefined; ) last = next;
    return last;
  }

  /** How many notes are only in this browser. */
  get localCount(): number {
    return this.lines.size;
  }

  /** The notes of this browser as a file that `tripos annotate --take` imports. */
  get localFile(): Blob {
    const lines = [{ format: "tripos.notes/1", name: this.name }, ...this.lines.values()];
    return new Blob(lines.map((each) => `${JSON.stringify(each)}\n`), { type: "application/jsonl" });
  }
}

/** The reason of a refusal, in the reader's language. */
function reasonOf(text: string): string {
  try {
    const { texts, said } = JSON.parse(text) as { texts: string[]; said: Record<string, Record<string, string>> };
    learn(said);
    return texts.map(sentence).join(t("colon"));
  } catch {
    return text;
  }
}

const held = new Map<string, RunNotes>();

/** The notes of a run, once they are read; the caller is drawn again when they change. */
export function useNotes(run: string, open: OpenRun | undefined, state: string): RunNotes | undefined {
  const [notes, set] = useState<RunNotes | undefined>();
  const [, redraw] = useReducer((round: number) => round + 1, 0);
  useEffect(() => {
    if (!open) return;
    let current = true;
    const mine = held.get(run) ?? new RunNotes(run, open, state);
    held.set(run, mine);
    Object.assign(mine, { open, state });
    const stop = mine.listen(() => current && redraw(0));
    const load = () => document.visibilityState === "visible" && mine.load().then(() => current && set(mine), () => undefined);
    load();
    document.addEventListener("visibilitychange", load);
    return () => {
      current = false;
      stop();
      document.removeEventListener("visibilitychange", load);
    };
  }, [run, open, state]);
  return notes?.present ? notes : undefined;
}
