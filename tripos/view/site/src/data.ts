/** Reads the files of a view: over HTTP, from scripts beside a page that was opened from disk, or from the page itself. */
import { parquetMetadataAsync, parquetReadObjects, parquetRead, type AsyncBuffer, type FileMetaData } from "hyparquet";

import type { Index } from "./contract";
import { learn } from "./words";

type Inline = Record<string, unknown>;

declare global {
  interface Window {
    /** Called by the scripts that stand in for files where a page was opened from disk. */
    tripos_file?: (path: string, base64: string) => void;
  }
}

export class Missing extends Error {}

const inline: Inline | null = readInline();
const fromDisk = location.protocol === "file:";
const loaded = new Map<string, Promise<ArrayBuffer>>();
const waiting = new Map<string, (bytes: ArrayBuffer) => void>();

/** True where everything that the page knows is in the page. */
export const alone = inline !== null;

/** The run of a page that holds one alone: it begins there. */
export const onlyRun: string | null = (() => {
  const runs = (inline?.["index.json"] as Index | undefined)?.runs ?? [];
  return runs.length === 1 ? runs[0]!.run_id : null;
})();

function readInline(): Inline | null {
  const found = document.getElementById("tripos-data");
  return found?.textContent ? (JSON.parse(found.textContent) as Inline) : null;
}

window.tripos_file = (path, base64) => {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  waiting.get(path)?.(bytes.buffer);
};

function fromScript(path: string): Promise<ArrayBuffer> {
  let found = loaded.get(path);
  if (!found) {
    found = new Promise((resolve, reject) => {
      waiting.set(path, resolve);
      const script = document.createElement("script");
      script.src = `${path}.js`;
      script.onerror = () => reject(new Missing(path));
      document.head.append(script);
    });
    loaded.set(path, found);
  }
  return found;
}

/** Return a JSON file of the view. Raises `Missing` where there is none. */
export async function json<T>(path: string): Promise<T> {
  const found = await valueOf(path);
  learn((found as { said?: Record<string, Record<string, string>> }).said);
  return found as T;
}

async function valueOf(path: string): Promise<unknown> {
  if (inline) {
    if (!(path in inline)) throw new Missing(path);
    return inline[path];
  }
  if (fromDisk) return JSON.parse(new TextDecoder().decode(await fromScript(path)));
  const answer = await fetch(path, { cache: "no-cache" });
  if (answer.status === 404) throw new Missing(path);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

export interface TableFile {
  path: string;
  /** Null of a table that the server makes when it is asked for. */
  rows: number | null;
  bytes: number | null;
}

export type Row = Record<string, unknown>;

/** Where the marks by a metric and an evaluator lie; null stands for every one. */
export interface Pair {
  metric: string | null;
  evaluator: string | null;
  from: number;
  to: number;
}

async function sizeOf(url: string): Promise<number> {
  const answer = await fetch(url, { method: "HEAD" });
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return Number(answer.headers.get("Content-Length"));
}

/** Bytes of a block of a file, and blocks that are held of one. */
const [BLOCK, MOST_BLOCKS] = [2 ** 16, 64];

/** A Parquet file of which rows and columns are read as they are needed. */
export class Table {
  private opened?: Promise<{ file: AsyncBuffer; metadata: FileMetaData }>;
  constructor(readonly of: TableFile) {}

  private open() {
    this.opened ??= (async () => {
      const file = await this.buffer();
      return { file, metadata: await parquetMetadataAsync(file) };
    })();
    return this.opened;
  }

  private async buffer(): Promise<AsyncBuffer> {
    if (fromDisk) {
      const bytes = await fromScript(this.of.path);
      return { byteLength: bytes.byteLength, slice: (from, to) => bytes.slice(from, to) };
    }
    const url = this.of.path;
    const length = this.of.bytes ?? (await sizeOf(url));
    const read = async (from: number, to: number): Promise<ArrayBuffer> => {
      const answer = await fetch(url, { headers: { Range: `bytes=${from}-${to - 1}` } });
      if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
      const bytes = await answer.arrayBuffer();
      // A host that knows no ranges sends the whole file.
      return answer.status === 206 ? bytes : bytes.slice(from, to);
    };
    // Many small pieces lie side by side: a block is read once for all of them.
    const blocks = new Map<number, Promise<ArrayBuffer>>();
    const block = (place: number): Promise<ArrayBuffer> => {
      let found = blocks.get(place);
      if (!found) {
        found = read(place * BLOCK, Math.min((place + 1) * BLOCK, length));
        found.catch(() => blocks.delete(place));
        if (blocks.size >= MOST_BLOCKS) blocks.delete(blocks.keys().next().value!);
        blocks.set(place, found);
      }
      return found;
    };
    return {
      byteLength: length,
      slice: async (from, to = length) => {
        const place = Math.floor(from / BLOCK);
        const start = place * BLOCK;
        return to <= start + BLOCK ? (await block(place)).slice(from - start, to - start) : read(from, to);
      },
    };
  }

  /** Return how many rows there are. */
  async count(): Promise<number> {
    if (inline) return ((inline[this.of.path] as Row[] | undefined) ?? []).length;
    return this.of.rows ?? Number((await this.open()).metadata.num_rows);
  }

  async rows(from: number, to: number, columns?: string[]): Promise<Row[]> {
    if (inline) return ((inline[this.of.path] as Row[] | undefined) ?? []).slice(from, to);
    if (to <= from) return [];
    const { file, metadata } = await this.open();
    return (await parquetReadObjects({ file, metadata, columns, rowStart: from, rowEnd: to, useOffsetIndex: true })) as Row[];
  }

  /** Read columns, whole or the rows of a range. `take` is given each piece of a column with the row that it begins at;
   * pieces may reach over the ends of the range. */
  async columns(names: string[], take: (name: string, values: ArrayLike<unknown>, from: number) => void, from = 0, to?: number) {
    if (inline) {
      const rows = (inline[this.of.path] as Row[] | undefined) ?? [];
      for (const name of names) take(name, rows.map((row) => row[name]), 0);
      return;
    }
    if (this.of.rows === 0) return;
    const { file, metadata } = await this.open();
    if (metadata.num_rows === 0n) return;
    await parquetRead({
      file,
      metadata,
      columns: names,
      rowStart: from,
      rowEnd: to,
      onChunk: ({ columnName, columnData, rowStart }) => take(columnName, columnData as ArrayLike<unknown>, rowStart),
    });
  }

  /** Return the pairs of metric and evaluator of the table of marks, each with its first row and the row after its last. */
  async pairs(): Promise<Pair[]> {
    let begin: [string | null, string | null, number][] = [];
    if (inline) {
      ((inline[this.of.path] as Row[] | undefined) ?? []).forEach(({ metric, evaluator }, at) => {
        const last = begin.at(-1);
        if (!last || last[0] !== (metric ?? null) || last[1] !== (evaluator ?? null)) begin.push([(metric ?? null) as string | null, (evaluator ?? null) as string | null, at]);
      });
    } else {
      const { metadata } = await this.open();
      begin = JSON.parse(metadata.key_value_metadata?.find((each) => each.key === "pairs")?.value ?? "[]");
    }
    const rows = await this.count();
    return begin.map(([metric, evaluator, from], at) => ({ metric, evaluator, from, to: begin[at + 1]?.[2] ?? rows }));
  }

  /** Have a table made that will be asked for: a server makes each when it is asked for the first time. */
  async prepare(): Promise<void> {
    if (!inline && !fromDisk && this.of.bytes === null) await this.open();
  }

  async columnNames(): Promise<string[]> {
    if (inline) return Object.keys((inline[this.of.path] as Row[])[0] ?? {});
    const { metadata } = await this.open();
    return metadata.schema.slice(1).map((each) => each.name);
  }
}
