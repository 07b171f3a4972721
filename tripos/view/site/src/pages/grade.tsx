/** The page on which a person grades replies, one at a time, by keyboard alone if they like. */
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { isDone, loadItems, Sender, type Item, type Scale } from "../grading";
import { Text, useLoaded, visible, Waiting } from "../ui";
import { count, t } from "../words";

const WHOLE = Number.POSITIVE_INFINITY;
const LONGEST_RATIONALE = 20_000;
const PAUSE = 400;

export function GradePage() {
  const items = useLoaded(loadItems, []);
  return <Waiting of={items}>{(found) => <Desk items={found} />}</Waiting>;
}

/** The fields of the metrics, in their order. */
const fields = () => [...document.querySelectorAll<HTMLFieldSetElement>("fieldset[data-metric]")];

function Desk({ items }: { items: Item[] }) {
  const [place, setPlace] = useState(() => Math.max(0, items.findIndex((item) => !isDone(item))));
  const [state, tell] = useState<"" | "saved" | "unsaved">("");
  const [, redraw] = useReducer((round: number) => round + 1, 0);
  const sender = useMemo(() => new Sender(tell), []);
  const texts = useRef<HTMLElement>(null);
  const item = items[place]!;

  const grade = (scale: Scale, value: number | null) => {
    if (value === null) delete item.grades[scale.metric];
    else item.grades[scale.metric] = value;
    sender.send({ row: item.row, metric: scale.metric, value });
    redraw(0);
  };
  const clear = (scale: Scale) => {
    const number = fields()[item.scales.indexOf(scale)]?.querySelector<HTMLInputElement>("input[type=number]");
    if (number) number.value = "";
    if (scale.metric in item.grades) grade(scale, null);
  };
  const show = (next: number) => {
    // What is being written is kept before it is out of sight.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    if (sender.idle) tell("");
    setPlace(Math.max(0, Math.min(items.length - 1, next)));
  };
  const showOpen = () => {
    const order = items.map((_, step) => (place + 1 + step) % items.length);
    const next = order.find((at) => !isDone(items[at]!));
    if (next !== undefined) show(next);
  };
  /** The metric that a key is for: the one in focus, or else the first without a grade, or the first. */
  const current = () => {
    const focused = fields().findIndex((each) => each.contains(document.activeElement));
    if (focused >= 0) return focused;
    return Math.max(0, item.scales.findIndex((scale) => !(scale.metric in item.grades)));
  };
  const digit = (key: string) => {
    const at = current();
    const scale = item.scales[at];
    const value = [Number(key), Number(key) || 10].find((each) => scale?.values.includes(each));
    if (!scale || value === undefined) return false;
    grade(scale, value);
    const after = fields()[at + 1]?.querySelector<HTMLElement>("input:checked, input");
    (after ?? fields()[at]!.querySelector<HTMLElement>(`input[value="${value}"]`))?.focus();
    return true;
  };

  // Before the next key: what it does depends on the place and on what was graded.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      const target = event.target instanceof HTMLElement ? event.target : document.body;
      const typing = target.matches("textarea, input[type=number]");
      if (event.key === "Escape" && typing) return target.blur();
      if (typing) return;
      const does: Record<string, () => void> = {
        n: () => show(place + 1),
        p: () => show(place - 1),
        u: showOpen,
        r: () => document.getElementById("rationale")?.focus(),
        Backspace: () => item.scales.length && clear(item.scales[current()]!),
      };
      const act = does[event.key];
      if (act) act();
      else if (!/^[0-9]$/.test(event.key) || !digit(event.key)) return;
      event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  });
  useEffect(() => {
    const leave = () => document.activeElement instanceof HTMLElement && document.activeElement.blur();
    const hold = (event: BeforeUnloadEvent) => !sender.idle && event.preventDefault();
    window.addEventListener("pagehide", leave);
    window.addEventListener("beforeunload", hold);
    return () => {
      window.removeEventListener("pagehide", leave);
      window.removeEventListener("beforeunload", hold);
      sender.stop();
    };
  }, []);
  const first = useRef(true);
  useLayoutEffect(() => {
    if (texts.current) texts.current.scrollTop = 0;
    window.scrollTo(0, 0);
    if (!first.current) texts.current?.focus({ preventScroll: true });
    first.current = false;
  }, [place]);

  const done = items.filter(isDone).length;
  return (
    <div class="grading">
      <h1 class="unseen">{t("grading")}</h1>
      <div class="standing">
        <p>
          <strong>{count(place + 1)} {t("of")} {count(items.length)}</strong> <bdi lang={item.headings}>{visible(item.title)}</bdi>
        </p>
        <p>
          <progress max={items.length} value={done} aria-label={t("graded")} /> {count(done)} {t("of")} {count(items.length)} {t("graded")}
        </p>
        <p class={`state ${state}`} role="status">{state && t(state)}</p>
      </div>
      <div class="desk">
        <section class="texts" ref={texts} tabIndex={-1} aria-label={visible(item.title)} lang={item.language}>
          {item.texts.map(([label, text]) => (
            <article key={label} class="panel">
              <h2 lang={item.headings}>{visible(label)}</h2>
              <Text value={text} long={WHOLE} />
            </article>
          ))}
        </section>
        <form key={item.row} autocomplete="off" onSubmit={(event) => event.preventDefault()}>
          {item.scales.map((scale, index) => (
            <Criterion key={scale.metric} item={item} scale={scale} index={index} grade={grade} clear={clear} />
          ))}
          <Rationale item={item} sender={sender} />
        </form>
      </div>
      <div class="steps">
        <p class="small">{done === items.length ? t("allGraded") : t("keys")}</p>
        <button type="button" disabled={place === 0} onClick={() => show(place - 1)}>{t("previous")}</button>
        <button type="button" disabled={done === items.length} onClick={showOpen}>{t("nextOpen")}</button>
        <button type="button" class="main" disabled={place === items.length - 1} onClick={() => show(place + 1)}>{t("next")}</button>
      </div>
    </div>
  );
}

interface Given {
  item: Item;
  scale: Scale;
  index: number;
  grade: (scale: Scale, value: number | null) => void;
  clear: (scale: Scale) => void;
}

function Criterion(given: Given) {
  const { item, scale } = given;
  const value = item.grades[scale.metric];
  const title = scale.title === scale.metric ? scale.title : `${scale.title} (${scale.metric})`;
  return (
    <fieldset data-metric={scale.metric} class={`panel ${value === undefined ? "" : "given"}`} lang={item.headings}>
      <legend>{visible(title)}</legend>
      {scale.asks && <p class="small">{visible(scale.asks)}</p>}
      {scale.values.length ? <Choices {...given} /> : <NumberField {...given} />}
      {scale.levels.length > 0 && (
        <ul class="levels">
          {scale.levels.map(([low, high, text]) => (
            <li key={low} class={value !== undefined && low <= value && value <= high ? "here" : ""}>
              <b>{low === high ? low : `${low}–${high}`}</b> <span>{visible(text)}</span>
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}

function Choices({ item, scale, index, grade, clear }: Given) {
  const given = item.grades[scale.metric];
  return (
    <div class={`values ${scale.names.length ? "named" : ""}`}>
      {scale.values.map((value) => (
        <label key={value}>
          <input
            type="radio"
            name={`m${index}`}
            value={value}
            checked={given === value}
            onClick={() => item.grades[scale.metric] === value && clear(scale)}
            onChange={() => grade(scale, value)}
          />
          <span>
            {value}
            {scale.names.length > 0 && <b>{visible(scale.names[value - 1]!)}</b>}
          </span>
        </label>
      ))}
    </div>
  );
}

function NumberField({ item, scale, grade }: Given) {
  return (
    <input
      type="number"
      aria-label={visible(scale.title)}
      min={scale.low ?? undefined}
      max={scale.high ?? undefined}
      step={scale.whole ? 1 : "any"}
      defaultValue={item.grades[scale.metric]?.toString() ?? ""}
      onChange={(event) => {
        const input = event.currentTarget;
        if (input.reportValidity()) grade(scale, input.value === "" ? null : Number(input.value));
      }}
    />
  );
}

function Rationale({ item, sender }: { item: Item; sender: Sender }) {
  const kept = useRef(item.rationale);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const keep = () => {
    clearTimeout(timer.current);
    if (kept.current === item.rationale) return;
    kept.current = item.rationale;
    sender.send({ row: item.row, rationale: item.rationale });
  };
  return (
    <fieldset class="panel">
      <legend><label for="rationale">{t("rationale")}</label></legend>
      <textarea
        id="rationale"
        rows={4}
        maxLength={LONGEST_RATIONALE}
        defaultValue={item.rationale}
        onInput={(event) => {
          item.rationale = event.currentTarget.value;
          clearTimeout(timer.current);
          timer.current = setTimeout(keep, PAUSE);
        }}
        onBlur={keep}
      />
    </fieldset>
  );
}
