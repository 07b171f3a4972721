import type { AnalysedItem, AnalysedItems, RunAbout } from "../contract";
import { json } from "../data";
import { List } from "../table";
import { Panel, useLoaded, visible, Waiting } from "../ui";
import { between, count, figure, percent, t } from "../words";
import { called, inOrder, useMetric } from "./report";

/** How hard each item is, whether it tells models apart, and what is to be looked at. */
export function ItemsPage({ report }: { report: RunAbout }) {
  const run = report.run.run_id;
  const found = useLoaded(() => json<AnalysedItems>(`runs/${run}/items.json`), [run, report.state], true);
  return <Waiting of={found}>{(items) => <OfItems analysed={items} report={report} />}</Waiting>;
}

function OfItems({ analysed, report }: { analysed: AnalysedItems; report: RunAbout }) {
  const metrics = inOrder(analysed.item_counts.map((each) => each.metric), report.about.metrics.map((each) => each.name));
  const [metric, choice] = useMetric(report.about, metrics);
  if (metrics.length === 0) return <p>{t("noItems")}</p>;
  const rows = analysed.items.filter((each) => each.metric === metric);
  const counts = analysed.item_counts.find((each) => each.metric === metric);
  const several = new Set(rows.map((each) => each.scenario)).size > 1;
  return (
    <>
      <Panel title={t("itemCounts")}>
        <List label={t("itemCounts")} rows={analysed.item_counts} columns={[
          { title: t("metric"), kind: "head", cell: (each) => visible(called(report.about, "metric", each.metric)) },
          { title: t("items"), kind: "number", cell: (each) => count(each.items) },
          { title: t("solvedByAll"), kind: "number", cell: (each) => count(each.every_model) },
          { title: t("solvedByNone"), kind: "number", cell: (each) => count(each.no_model) },
          { title: t("judgesSplit"), kind: "number", cell: (each) => count(each.split) },
          { title: t("wrongKey"), kind: "number", cell: (each) => count(each.wrong_key) },
          { title: t("nearly"), kind: "number", cell: (each) => count(each.near) },
        ]} />
      </Panel>
      <Panel title={t("itemsOneByOne")}>
        {choice}
        <p class="small">{t("itemsMean")}</p>
        <List label={t("itemsOneByOne")} rows={rows} columns={[
          { title: t("item"), kind: "head", cell: (each) => <bdi title={visible(each.item_id)}>{visible(each.given_id ?? shortId(each.item_id))}</bdi> },
          { title: t("itemText"), cell: (each) => <bdi>{visible(each.text ?? "—")}</bdi> },
          ...(several ? [{ title: t("scenario"), cell: (each: AnalysedItem) => visible(called(report.about, "scenario", each.scenario)) }] : []),
          { title: t("placeOnScale"), kind: "number", cell: (each) => (each.share === null ? "—" : percent(each.share)) },
          { title: t("discrimination"), kind: "number", cell: (each) => figure(each.discrimination, true) },
          { title: t("interval"), kind: "number", cell: (each) => between(each.low, each.high, true) },
          { title: t("judgesApart"), kind: "number", cell: (each) => (each.apart === null ? "—" : percent(each.apart)) },
          { title: t("lookAt"), cell: (each) => visible(remarks(each).join(", ")) || "—" },
        ]} />
        {counts !== undefined && counts.items > rows.length && <p class="small">{count(rows.length)} / {count(counts.items)}</p>}
      </Panel>
    </>
  );
}

/** Of fewer models it is no wonder that all or none solve an item. */
const LEAST_MODELS = 3;

/** An id as far as it is needed to tell it from others: those that are made of a row are long. */
function shortId(item: string): string {
  return item.length <= 12 ? item : `${item.slice(0, 10)}…`;
}

function remarks(item: AnalysedItem): string[] {
  const found = [];
  if (item.wrong_key) found.push(t("wrongKey"));
  if (item.split) found.push(t("judgesSplit"));
  if (item.near !== null) found.push(`${t("nearly")}: ${shortId(item.near)}`);
  if (item.models >= LEAST_MODELS && item.solved_by === "every model") found.push(t("solvedByAll"));
  if (item.models >= LEAST_MODELS && item.solved_by === "no model") found.push(t("solvedByNone"));
  return found;
}
