/** Parts that several pages share. */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Missing } from "./data";
import { named } from "./names";
import { count, t } from "./words";

/** Return an address within the page. */
export function at(path: string, query: Record<string, string | string[] | undefined> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : value === undefined ? [] : [value]) parameters.append(name, each);
  const text = parameters.toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

export function go(address: string, replace = false) {
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Return the parameters of a query, as `at` takes them. */
export function parameters(query: URLSearchParams): Record<string, string[]> {
  return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]));
}

/** Whether a key is for a field, or for the browser, and not for the page. */
export function typing(event: KeyboardEvent): boolean {
  const field = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
  return field || event.ctrlKey || event.metaKey || event.altKey || event.isComposing;
}

/** A frame that scrolls, its height, and how far it is scrolled: of long lists only what is in sight is made. */
export function useFrame(): { frame: RefObject<HTMLDivElement | null>; top: number; height: number; onScroll: (event: Event) => void } {
  const frame = useRef<HTMLDivElement>(null);
  const [top, scroll] = useState(0);
  const [height, size] = useState(600);
  useEffect(() => {
    const measure = () => size(frame.current?.clientHeight ?? 600);
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, []);
  return { frame, top, height, onScroll: (event) => scroll((event.target as HTMLElement).scrollTop) };
}

export type Loaded<T> = { value?: T; error?: Error };

/** Load something once for every key. The last value stays until the next is there where `keep` says so. */
export function useLoaded<T>(load: () => Promise<T>, keys: unknown[], keep = false): Loaded<T> {
  const [state, set] = useState<Loaded<T>>({});
  useEffect(() => {
    let current = true;
    if (!keep) set({});
    load().then(
      (value) => current && set({ value }),
      (error: Error) => current && set({ error }),
    );
    return () => {
      current = false;
    };
  }, keys);
  return state;
}

export function Waiting<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChildren }) {
  if (of.error)
    return (
      <div class="problem" role="alert">
        <p>{of.error instanceof Missing ? t("noData") : `${t("failed")}${t("colon")}${of.error.message}`}</p>
      </div>
    );
  if (of.value === undefined) return <p class="waiting" role="status">{t("loading")}</p>;
  return <>{children(of.value)}</>;
}

const LONGEST = 4000;

/** A text out of data, whatever it holds: characters that turn or hide text are shown by their code. */
export function Text({ value, long = LONGEST }: { value: string | null | undefined; long?: number }) {
  const [whole, set] = useState(false);
  if (value === null || value === undefined) return <span class="nothing">—</span>;
  const shown = whole || value.length <= long ? value : value.slice(0, long);
  return (
    <>
      <bdi class="text">{pieces(shown)}</bdi>
      {shown.length < value.length && (
        <button type="button" class="more" onClick={() => set(true)}>
          {t("showMore")} ({count(value.length)} {t("characters")})
        </button>
      )}
    </>
  );
}

const MARK = /(⟦[a-z]+\/[a-z0-9.+-]+(?: \d+x\d+)?(?: [\d.]+ s)? \d+ bytes sha256:[0-9a-f]{64}⟧)/;

/** A text with the images that its marks name, each where it stands; of recordings and files the mark. */
function pieces(text: string): ComponentChildren {
  const parts = text.split(MARK);
  return parts.length === 1 ? visible(text) : parts.map((part, place) => (place % 2 === 0 ? visible(part) : <Medium mark={part} key={place} />));
}

/** An image in small, which opens whole; the mark where there is none to show. */
function Medium({ mark }: { mark: string }) {
  const [lost, set] = useState(false);
  const address = `media/${/sha256:([0-9a-f]{64})/.exec(mark)?.[1]}`;
  if (lost || !mark.startsWith("⟦image/")) return <>{mark}</>;
  return (
    <a href={address} target="_blank" rel="noreferrer">
      <img class="medium" src={address} alt={mark} title={mark} loading="lazy" onError={() => set(true)} />
    </a>
  );
}

// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

export function visible(text: string): string {
  return text.replace(HIDDEN, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function Panel({ title, children }: { title: string; children: ComponentChildren }) {
  const name = useId();
  return (
    <section class="panel" aria-labelledby={name}>
      <h2 id={name}>{title}</h2>
      {children}
    </section>
  );
}

/** A table that scrolls sideways on a narrow screen, by keyboard too. */
export function Scroll({ children, label }: { children: ComponentChildren; label: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${label}: ${t("table")}`}>
      {children}
    </div>
  );
}

export function Status({ of }: { of: string }) {
  const good = of === "finished" || of === "ok" || of === "scored";
  return <span class={`status ${good ? "good" : of === "unfinished" ? "under" : "bad"}`}>{named(of)}</span>;
}

/** The heading of a page that has no other: read, not seen. */
export function Heading({ children }: { children: ComponentChildren }) {
  return <h1 class="unseen">{children}</h1>;
}
