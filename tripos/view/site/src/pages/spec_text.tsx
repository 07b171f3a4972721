import { useEffect, useRef } from "preact/hooks";
import type { About, PlannedMeasure, SpecFile } from "../contract";
import { explained, facts, madeOf } from "../explain";
import { at, Panel, visible } from "../ui";
import { count, t } from "../words";
import { measured } from "./report";

type Place = SpecFile["places"][number];

/** What each measure means, with its lines, and the whole text of the spec as it was run. */
export function SpecText({ spec, run, chosen, about }: { spec: SpecFile; run: string; chosen: string | null; about: About }) {
  const place = (name: string) => spec.places.find((each) => each.kind === "measure" && each.name === name);
  const lit = chosen === null ? undefined : place(chosen);
  const measures = [...spec.measures].sort((a, b) => Number(about.headline.includes(b.name)) - Number(about.headline.includes(a.name)));
  return (
    <>
      <Panel title={t("measures")}>
        {measures.map((each) => <Meaning key={each.name} measure={each} run={run} open={each.name === chosen} place={place(each.name)} spec={spec} about={about} />)}
      </Panel>
      <Panel title={t("specText")}>
        {spec.files.length === 0 && <p class="small">{t("noSpecText")}</p>}
        {spec.files.map((each) => <File key={each.path} path={each.path} text={each.text} lit={lit?.path === each.path ? lit : undefined} />)}
        {spec.missing.length > 0 && <p class="small">{t("leftOut")}{t("colon")}{spec.missing.map(visible).join(", ")}</p>}
      </Panel>
    </>
  );
}

function Meaning({ measure, run, open, place, spec, about }: { measure: PlannedMeasure; run: string; open: boolean; place: Place | undefined; spec: SpecFile; about: About }) {
  const here = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (open) here.current?.scrollIntoView({ block: "start" });
  }, [open]);
  const file = spec.files.find((each) => each.path === place?.path);
  return (
    <details ref={here} open={open}>
      <summary><strong>{visible(measured(about, measure.name))}</strong> <span class="small">{visible(explained(measure.figure, spec.labels ?? {}))}</span></summary>
      <ul class="notes">{facts(measure).map((each) => <li key={each}>{each}</li>)}</ul>
      {place && file && (
        <>
          <p class="small">{visible(place.path)}, {t("line")} {place.from}</p>
          <Lines text={file.text} from={place.from} to={place.to} />
        </>
      )}
      {madeOf(measure.figure).length > 0 && (
        <p class="small">{t("madeOf")}{t("colon")}{madeOf(measure.figure).map((each) => <a key={each} class="tag" href={at(`run/${run}/spec`, { measure: each })}>{visible(each)}</a>)}</p>
      )}
    </details>
  );
}

const BEFORE = 3;

/** The lines of a declaration, with the comments above it. */
function Lines({ text, from, to }: { text: string; from: number; to: number }) {
  const lines = text.split("\n");
  let first = from;
  while (first > 1 && first > from - BEFORE && /^\s*#/.test(lines[first - 2] ?? "")) first--;
  return (
    <pre class="code" tabIndex={0}>
      {lines.slice(first - 1, to).map((each, place) => <code key={place} class={first + place >= from ? "lit" : ""}><span class="line-number">{first + place}</span>{visible(each)}{"\n"}</code>)}
    </pre>
  );
}

function File({ path, text, lit }: { path: string; text: string; lit: Place | undefined }) {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <details open={lit !== undefined}>
      <summary><strong>{visible(path)}</strong> <span class="small">{count(lines.length)} {t("lines")}</span></summary>
      <pre class="code" tabIndex={0}>
        {lines.map((each, place) => (
          <code key={place} class={lit && place + 1 >= lit.from && place + 1 <= lit.to ? "lit" : ""}><span class="line-number">{place + 1}</span>{visible(each)}{"\n"}</code>
        ))}
      </pre>
    </details>
  );
}
