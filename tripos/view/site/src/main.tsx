import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import "./style.css";
import type { Index, ListedRun, RunAbout } from "./contract";
import { alone, json, onlyRun } from "./data";
import { Boards, HistoryPage } from "./pages/boards";
import { ComparePage } from "./pages/compare";
import { GradePage } from "./pages/grade";
import { GridPage } from "./pages/grid";
import { ItemsPage } from "./pages/items";
import { JudgesPage } from "./pages/judges";
import { ReportPage } from "./pages/report";
import { Runs } from "./pages/runs";
import { SamplePage } from "./pages/sample";
import { Samples } from "./pages/samples";
import { SpecPage } from "./pages/spec";
import { TablesPage } from "./pages/tables";
import { aboutOf } from "./run";
import { at, Heading, useLoaded, visible, Waiting } from "./ui";
import { t, titled } from "./words";

const EVERY = 3000;

interface Place {
  parts: string[];
  query: URLSearchParams;
}

function place(): Place {
  if (!location.hash && onlyRun !== null) return { parts: ["run", onlyRun], query: new URLSearchParams() };
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

function App() {
  const [here, set] = useState(place);
  useEffect(() => {
    const move = () => set(place());
    window.addEventListener("hashchange", move);
    window.addEventListener("popstate", move);
    return () => {
      window.removeEventListener("hashchange", move);
      window.removeEventListener("popstate", move);
    };
  }, []);
  useEffect(() => {
    document.getElementById("content")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [here.parts.join("/")]);
  // Who grades sees nothing of models and results, and no way to them.
  const grading = here.parts[0] === "grade";
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>{t("skip")}</a>
      {grading ? null : <Top here={here} />}
      <main id="content" tabIndex={-1}>{grading ? <GradePage /> : <Site here={here} />}</main>
    </>
  );
}

function Site({ here }: { here: Place }) {
  const [round, next] = useState(0);
  const index = useLoaded(() => json<Index>("index.json"), [round], true);
  const under = index.value?.runs.some((run) => run.status === "unfinished") ?? false;
  useEffect(() => {
    // A run that is under way is followed; a page in the background asks for nothing.
    if (!under || alone || location.protocol === "file:") return;
    const timer = setInterval(() => document.visibilityState === "visible" && next((old) => old + 1), EVERY);
    return () => clearInterval(timer);
  }, [under]);
  return <Waiting of={index}>{(found) => <Page here={here} index={found} />}</Waiting>;
}

function Top({ here }: { here: Place }) {
  const [first = ""] = here.parts;
  const link = (path: string, name: string) => (
    <a href={at(path)} aria-current={first === path ? "page" : undefined}>{name}</a>
  );
  return (
    <header class="top">
      <a class="mark" href={at("")}>Tripos</a>
      <nav aria-label="Tripos">
        {link("", t("runs"))}
        {link("boards", t("leaderboards"))}
        {!alone && link("compare", t("compare"))}
        {link("history", t("history"))}
      </nav>
    </header>
  );
}

function Page({ here, index }: { here: Place; index: Index }) {
  const [what = "", run] = here.parts;
  const name = what === "run" ? (run ?? "") : what;
  useEffect(() => {
    document.title = name ? `${name} · Tripos` : "Tripos";
  }, [name]);
  const left = index.left_out?.length ? <p class="caution">{t("leftOut")}{t("colon")}{index.left_out.map(visible).join("; ")}</p> : null;
  if (what === "boards") return <><Heading>{t("leaderboards")}</Heading>{left}<Boards index={index} /></>;
  if (what === "history") return <><Heading>{t("history")}</Heading>{left}<HistoryPage index={index} /></>;
  if (what === "compare") return <><Heading>{t("compare")}</Heading><ComparePage index={index} query={here.query} /></>;
  if (what === "run" && run) return <>{left}<RunPage key={run} here={here} index={index} run={run} /></>;
  return <><Heading>Tripos</Heading>{left}<Runs index={index} /></>;
}

function RunPage({ here, index, run }: { here: Place; index: Index; run: string }) {
  const report = useLoaded(() => aboutOf(run, index.state), [run, index.state], true);
  const listed = index.runs.find((each) => each.run_id === run);
  const [, , tab = "", row] = here.parts;
  const tables: [string, string][] = report.value?.about.tables?.length ? [["tables", t("tables")]] : [];
  const tabs: [string, string][] = [["", t("report")], ...tables, ["grid", t("gridTab")], ["samples", t("samples")], ["judges", t("judges")], ["items", t("items")], ["spec", t("spec")]];
  return (
    <>
      <nav class="tabs" aria-label={run}>
        {tabs.map(([path, name]) => (
          <a key={path} href={at(path ? `run/${run}/${path}` : `run/${run}`)} aria-current={tab === path || (path === "samples" && tab === "sample") ? "page" : undefined}>{name}</a>
        ))}
      </nav>
      <Waiting of={report}>{(found) => <Tab tab={tab} row={row} report={found} listed={listed} query={here.query} />}</Waiting>
    </>
  );
}

function Tab({ tab, row, report, listed, query }: { tab: string; row: string | undefined; report: RunAbout; listed: ListedRun | undefined; query: URLSearchParams }) {
  if (tab === "samples") return <><Heading>{t("samples")}</Heading><Samples report={report} query={query} /></>;
  if (tab === "grid") return <><Heading>{t("gridTab")}</Heading><GridPage report={report} query={query} /></>;
  if (tab === "sample") return <SamplePage report={report} row={Number(row ?? 0)} query={query} />;
  if (tab === "tables") return <><Heading>{t("tables")}</Heading><TablesPage report={report} /></>;
  if (tab === "judges") return <><Heading>{t("judges")}</Heading><JudgesPage report={report} /></>;
  if (tab === "items") return <><Heading>{t("items")}</Heading><ItemsPage report={report} /></>;
  if (tab === "spec") return <><Heading>{visible(titled(report.about, "benchmark", report.about.name, report.about.title || report.about.name))}</Heading><SpecPage report={report} query={query} /></>;
  return <ReportPage of={report} listed={listed} />;
}

render(<App />, document.getElementById("app")!);
