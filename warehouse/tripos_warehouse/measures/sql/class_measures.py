"""SQL of precision, recall and F1 over classes."""

from __future__ import annotations

import json
from dataclasses import replace

from tripos_compiler.language.figures import ScoredStep
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.aggregate_tables import AggregateTables
from tripos_warehouse.measures.sql.parts import (
    columns,
    ordered,
    same,
)
from tripos_warehouse.measures.sql.tables import (
    FigureTables,
)
from tripos_warehouse.sql import text as quoted
from tripos_warehouse.statistics.intervals import FEW_OF_A_CLASS

CLASSED = {"precision": ("tp", "tp + fp"), "recall": ("tp", "tp + fn"), "f1": ("2 * tp", "2 * tp + fp + fn")}
"""Measures of classes, as one sum over another."""


@dataclass(frozen=True)
class ClassMeasures(AggregateTables):
    """Write the tables of measures of classes."""

    def _classed(self, function: str) -> FigureTables:
        over, under = CLASSED[function]
        average = str(self.figure.named.get("average", "macro"))
        pairs = self.pairs()
        used = "gold is not null" if self.missing == "zero" else '"has value"'
        said = self.parts.add(
            "rows",
            f"""select {self._by}, item_id, cluster_id, sample_id, "has value", {used} as used,
  {_classes("key", self.scored[0])} as said,
  {_classes("gold", self.scored[1])} as truth
from {pairs}""",
        )
        counted = self.parts.add(
            "cells",
            f"""select {self._by}, count(*) filter ("has value") as n, count(*) as total
from {said}
group by {self._by}""",
        )
        if average == "samples":
            return self._mean(self._of_sets(said, over, under))
        only = f"\nwhere class = {quoted(self._positive())}" if average == "binary" else ""
        group = ["class"] if average == "macro" else []
        classes = self.parts.add(
            "rows",
            f"""select {self._by}, cluster_id{", class" if group else ""},
  sum({over}) as "over", sum({under}) as "under"
from (
  select *, (list_contains(said, class) and list_contains(truth, class))::integer as tp,
    (list_contains(said, class) and not list_contains(truth, class))::integer as fp,
    (not list_contains(said, class) and list_contains(truth, class))::integer as fn
  from (select *, unnest(list_distinct(said || truth)) as class from {said} where used)
){only}
group by {self._by}, cluster_id{", class" if group else ""}""",
        )
        ratios = self.parts.add(
            "cells",
            f"""select {self._by}{", class" if group else ""}, sum("over") as "over", sum("under") as "under",
  count(*) filter ("under" > 0) as "items of class"
from {classes}
group by {self._by}{", class" if group else ""}""",
        )
        of_class = 'r."over" / nullif(r."under", 0)'
        # Where nothing can be counted there is no class, and a mean over none is no 0.
        none = f'case when r."under" is not null then coalesce({of_class}, 0) end' if group else of_class
        lacking = "there is no class" if group else "there is nothing of the class"
        cells = self.parts.add(
            "cells",
            f"""select {columns(self.cut.dims, "c")}, {ordered("avg", none)} as value,
  count(r."under") as "classes of cell",
  any_value(c.n) as n, any_value(c.total) as total, false as "is share",
  case when {ordered("avg", none)} is null then '{lacking}' end as reason, min(r."items of class") < {FEW_OF_A_CLASS}
    or min(r."items of class" * {none}) < {FEW_OF_A_CLASS / 2} as few,
  list({{'share': {none}, 'items': r."items of class"}}) filter (r."under" is not null) as classes
from {counted} as c left join {ratios} as r on {same("c", "r", self.cut.dims)}
group by {columns(self.cut.dims, "c")}""",
        )
        met = f"{same('rows', 'r', self.cut.dims)}{' and rows.class = r.class' if group else ''}"
        ratio = 'coalesce(r."over" / nullif(r."under", 0), 0)'
        own = f'coalesce((rows."over" - {ratio} * rows."under") / nullif(r."under", 0), 0) / cells."classes of cell"'
        weight = "" if group else ', sum(rows."under") / nullif(any_value(r."under"), 0) as weight'
        units = self.parts.add(
            "units",
            f"""select {columns(self.cut.dims, "rows")}, rows.cluster_id,
  {ordered("sum", own)} as influence{weight}
from {classes} as rows join {ratios} as r on {met}
  join {cells} as cells on {same("rows", "cells", self.cut.dims)}
group by {columns(self.cut.dims, "rows")}, rows.cluster_id
having sum(rows."under") > 0""",
        )
        node = self._leaf(cells, units, weighted=not group)
        return self._of_few(node, cells) if average == "macro" else node

    def _of_few(self, node: FigureTables, ratios: str) -> FigureTables:
        """The mean over classes, some of which may have so few items that their pulls do not show its error: then its
        cells have the classes instead."""
        told = f"'a class has fewer than {FEW_OF_A_CLASS} items, or is right in fewer than {FEW_OF_A_CLASS // 2}'"
        cells = self.parts.add(
            "cells",
            f"""select c.* replace (c.known and not r.few as known,
  coalesce(c.reason, case when r.few then {told} end) as reason), case when r.few then r.classes end as classes
from {node.cells} as c join {ratios} as r on {same("c", "r", self.cut.dims)}""",
        )
        return replace(node, cells=cells, classes=True)

    def _of_sets(self, said: str, over: str, under: str) -> str:
        """Return a row a reply: the measure of its set; two empty sets are the same, which is 1."""
        return self.parts.add(
            "rows",
            f"""select {self._by}, item_id, cluster_id, sample_id, "has value", 1 as "its weight",
  case when used then case when len(said) + len(truth) = 0 then 1 else coalesce({over} / nullif({under}, 0), 0) end end
    as value
from (
  select *, len(list_intersect(said, truth)) as tp, len(said) - tp as fp, len(truth) - tp as fn
  from {said}
)""",
        )

    def _positive(self) -> str:
        """Return the class that a binary measure looks at, as a column has it."""
        positive = self.figure.named.get("positive", True)
        if isinstance(positive, str):
            return json.dumps(positive, ensure_ascii=False)
        return str(float(positive))


def _classes(key: str, scored: ScoredStep) -> str:
    """Return the classes that a value names: its elements where it is a set, and itself where it is not."""
    type_ = scored.type.of if scored.type.kind == "optional" else scored.type
    if type_.kind == "set":
        return f"coalesce([class::varchar for class in from_json({key}, '[\"JSON\"]')], [])"
    return f"case when {key} is null then []::varchar[] else [{key}] end"
