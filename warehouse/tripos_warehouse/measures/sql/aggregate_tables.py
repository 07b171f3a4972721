"""The tables that every aggregate is made of: rows of scores, cells with their values, and the pulls of items."""

from __future__ import annotations

import json
from dataclasses import replace

from tripos_compiler.language.figures import ScoredStep, conversations_before, judged_steps
from tripos_compiler.plan import Aggregate, Missing, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.influences import Leaf, leaf_tables
from tripos_warehouse.measures.sql.labels import labelled_rows
from tripos_warehouse.measures.sql.means import PlainMean, Sums, no_sums
from tripos_warehouse.measures.sql.parts import (
    OF_TALK,
    PLACE,
    Cut,
    Parts,
    columns,
    condition,
    given_column,
    given_value,
    indented,
    ordered,
    rows_sql,
    same,
    weight_sql,
    weights_of,
    with_talks,
)
from tripos_warehouse.measures.sql.scales import leaf_scale
from tripos_warehouse.measures.sql.tables import FigureTables
from tripos_warehouse.measures.sql.unread import COMPARED, OF_TRIES, UNREAD, End, is_unread, worst_value
from tripos_warehouse.sql import name as named, text as quoted
from tripos_warehouse.views import Graders, arm_columns


def arms_of(scored: ScoredStep) -> dict[str, int]:
    """Under how many combinations of arms each scenario has what is scored."""
    own = {step.fingerprint for step in scored.steps}
    return {
        scenario.name: sum(any(step.fingerprint in own for step in each.steps) for each in scenario.treatments)
        for scenario in scored.scenarios
    }


def keys_of(scored: ScoredStep) -> list[str]:
    """Return the columns that tell items apart, beside the model: where judges grade, each on each metric by itself."""
    return ["scenario", "item_id", *(("metric", "evaluator") if scored.judges else ())]


def paired_rows(plan: Plan, parts: Parts, rows: str, scored: ScoredStep, least: int, graders: Graders) -> str:
    """Return the table of rows, which has the columns `keys_of`, without the values of items that lack one under some
    combination of arms; `least` is how many replies to one question must have a value."""
    judged = ["evaluator"] if scored.judges else []
    every = parts.add("rows", rows_sql(plan, scored, Cut(graders=graders), [*judged, *map(named, arm_columns(plan))]))
    talks = [OF_TALK] if conversations_before(scored) else []
    every = with_talks(plan, parts, every, scored)
    item = ", ".join(["model", *keys_of(scored)])
    # Arms that a scenario has not are NULL in all its rows: they part nothing.
    arms = ", ".join([item, *map(named, arm_columns(plan))])
    wanted = " ".join(f"when {quoted(name)} then {count}" for name, count in arms_of(scored).items())
    whole = parts.add(
        "whole",
        f"""select {item}
from (
  select distinct {arms}
  from (
    select {arms}
    from {every}
    where value is not null or given is not null
    group by {", ".join([arms, *talks])}
    having count(distinct sample_id) >= {least}
  )
)
group by {item}
having count(*) = case scenario {wanted} end""",
    )
    return parts.add(
        "rows",
        f"""select * replace (
  "has value" and whole.item_id is not null as "has value",
  case when whole.item_id is not null then value end as value
)
from {rows} left join {whole} as whole using ({item})""",
    )


JUDGED = (
    "kendall_w",
    "krippendorff_alpha",
    "kendall_tau",
    "spearman",
    "cohen_kappa",
    "quadratic_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "mean_tau_agreement",
)
OF_CATEGORIES = ("gwet_ac1", "gwet_ac2")
"""Agreements that depend on the categories that a rater may choose, also those that nobody did."""
OF_TEXTS = ("corpus_bleu", "corpus_chrf", "corpus_ter")
OF_NUMBERS = ("brier", "log_loss", "ece", "auroc", "length_controlled")
PYTHON = "python"
"""What the statistic of a function of the user's is called."""
SUMMED = (*OF_TEXTS, "mcc", *OF_NUMBERS)
"""Metrics of a whole set that are functions of sums over its items."""
RATED = ("scorer", "round")
"""What tells scores of a reply apart, beside its rater."""


@dataclass(frozen=True)
class AggregateTables:
    """Write the tables that the aggregates of what is scored have in common."""

    plan: Plan
    parts: Parts
    figure: Aggregate
    scored: tuple[ScoredStep, ...]
    cut: Cut
    missing: Missing
    sums: Sums = no_sums
    """Finds a table of sums of the scores, which plain means are taken from."""

    @property
    def _by(self) -> str:
        return columns(self.cut.dims)

    def _rows(self, scored: ScoredStep, *further: str) -> str:
        if scored.kind == "column":
            more = [] if "evaluator" in self.cut.dims else ["NULL::varchar as evaluator"]
            more += [name for name in further if name == PLACE]
        else:
            more = [name for name in ("evaluator", *further) if name not in self.cut.dims]
        axes = [name for name in arm_columns(self.plan) if name not in self.cut.dims]
        hidden = [name for name in ("scenario", "metric") if name in self.cut.dims]
        if self._worst_end is not None and self.figure.function in COMPARED | OF_TRIES and scored is self.scored[0]:
            more.append(f'{is_unread(given_column(scored))} as "{UNREAD}"')
        rows = rows_sql(self.plan, scored, self.cut, [*more, *map(named, axes)], self._worst(scored))
        for name in hidden:  # it stands among the dimensions already
            rows = rows.replace(f", {name},", ",", 1)
        return self._chosen(rows) if scored is self.scored[0] else rows

    @property
    def _worst_end(self) -> End | None:
        """The end of its range that a score counts as if its reply could not be read; None if it is left out."""
        return dict(self.cut.unread).get(self.figure.values[0])

    def _worst(self, scored: ScoredStep) -> str | None:
        if self._worst_end is None or scored is not self.scored[0]:
            return None
        return worst_value(self.plan, self.figure, scored, self._worst_end)

    def _chosen(self, rows: str) -> str:
        """Return the rows whose choice counts, and with true and false as the values of a condition on it."""
        true, among = self.figure.true_of, self.figure.among
        if not true and not among:
            return rows
        kept = "select *"
        if true:
            value = f"case when given is not null then given in ({_names(true)}) end::double"
            if self._worst_end is not None:
                value = f"coalesce({value}, value)"  # the worst value, of what could not be read
            kept += f"\n  replace ({value} as value, NULL::varchar as given)"
        only = f"\nwhere given is null or given in ({_names(among)})" if among else ""
        return f"{kept}\nfrom (\n{indented(rows)}\n){only}"

    def _single(self, *beside: str) -> str:
        """Return a row a value: `value` as it counts, and whether it was there; `beside` names further columns."""
        scored = self.scored[0]
        weights = {} if "metric" in self.cut.dims else weights_of(scored)
        weight = weight_sql(weights) if self.figure.function == "mean" else "1"
        if self.cut.labels != "none":
            placed = [PLACE] if scored.scores_elements else []
            rated = (name for name in beside if name in RATED)
            own = self._rows(scored, *dict.fromkeys(["scorer", "fingerprint", *placed, *rated]))
            arms = arm_columns(self.plan)
            return labelled_rows(self.plan, self.parts, scored, self.cut, own, weight, arms, beside)
        if self.missing == "paired":
            keys = [name for name in keys_of(scored) if name != "item_id" and name not in self.cut.dims]
            beside = tuple(dict.fromkeys([*beside, *keys]))
        rows = self.parts.add(
            "rows",
            f"""select {self._by}, item_id, cluster_id, sample_id,
  value is not null or given is not null as "has value",
  {given_value(self.missing)} as value, {weight} as "its weight"{"".join(f", {named(name)}" for name in beside)}
from (
{indented(self._rows(scored, *(name for name in beside if name in RATED)))}
)""",
        )
        if self.missing != "paired":
            return rows
        least = self.figure.named.get("k", 1)
        least = least if isinstance(least, int) else 1
        return paired_rows(self.plan, self.parts, rows, scored, least, self.cut.graders)

    def pairs(self) -> str:
        """Return a row a reply, or a verdict on it: what it has and what it should have, as texts and as numbers."""
        one, other = self.scored
        raters = ", ".join(f"{of}.evaluator" for of, scored in (("one", one), ("other", other)) if scored.judges)
        rater = f"concat_ws(' ', {raters})" if raters else "''"
        taken = "any_value(coalesce(given, value::varchar)) as key, any_value(value) as value"
        placed = [PLACE] if one.scores_elements else []
        own_key = "coalesce(one.given, one.value::varchar)"  # an alias `key` would lose against the column of `other`
        wrong = self._worst_end is not None and self.figure.function in COMPARED
        there = f'({own_key} is not null or one."{UNREAD}")' if wrong else f"{own_key} is not null"
        return self.parts.add(
            "rows",
            f"""select {columns(self.cut.dims, "one")}, one.item_id, one.cluster_id, one.sample_id, {own_key} as key,
  other.key as gold, one.value, other.value as "gold value", {rater} as "of rater",
  {there} and other.key is not null as "has value"{"".join(f", one.{name}" for name in placed)}
from (
{indented(self._rows(one, *placed))}
) as one {self._beside(other, "other", taken)}""",
        )

    def _beside(self, other: ScoredStep, alias: str, taken: str) -> str:
        """Return the join of what is scored beside the rows of `one`: a row a reply, or where it stands beside no reply
        a row an item. Of what judges give it is a row a verdict, beside those of the same judge where one is there."""
        arms = arm_columns(self.plan)
        if self.scored[0].of == other.of:
            also = ", sample_id"
            met = f"one.sample_id = {alias}.sample_id"
        else:  # what stands beside no reply is the same for every reply to the item
            also, met = "", "true"
        if other.scores_elements:  # both are of the elements of one list
            also, met = f"{also}, {PLACE}", f"{met} and one.{PLACE} is not distinct from {alias}.{PLACE}"
        shared = [f"one.{named(arm)} is not distinct from {alias}.{named(arm)}" for arm in arms]
        conditions = " and ".join([f"one.model = {alias}.model", f"one.item_id = {alias}.item_id", met, *shared])
        named_arms = "".join(f", {named(arm)}" for arm in arms)
        judged = ["evaluator"] if other.judges else []
        named_arms += ", evaluator" if judged else ""
        if set(other.judges) & set(self.scored[0].judges):
            conditions += f" and one.evaluator = {alias}.evaluator"
        placed = [PLACE] if other.scores_elements else []
        rows = rows_sql(self.plan, other, replace(self.cut, dims=()), [*judged, *placed, *map(named, arms)])
        return f"""left join (
  select model, item_id{also}{named_arms}, {taken}
  from (
{indented(indented(rows))}
  ) group by all
) as {alias} on {conditions}"""

    def _agreeing(self) -> str:
        """Return pairs as a score: whether both are the same."""
        pairs = self.pairs()
        equal = 'case when "has value" then (key = gold)::double end'
        if self._worst_end is not None:  # a value that could not be read is equal to none
            equal = 'case when "has value" then coalesce((key = gold)::double, 0) end'
        value = f"case when gold is not null then coalesce({equal}, 0) end" if self.missing == "zero" else equal
        return self.parts.add(
            "rows",
            f"""select {self._by}, item_id, cluster_id, sample_id, "has value", {value} as value, 1 as "its weight"
from {pairs}""",
        )

    def _plain_mean(self) -> FigureTables:
        """The mean of scores that columns of `scores` choose."""
        scored, cut = self.scored[0], self.cut
        weights = {} if "metric" in cut.dims else weights_of(scored)
        fixed = "".join(f" and {named(name)} = {quoted(value)}" for name, value in cut.fixed)
        mean = PlainMean(self.parts, self.plan.benchmark.name, f"{condition(self.plan, scored, cut)}{fixed}", cut.dims)
        sums = self.sums([*cut.dims, *(name for name, _ in cut.fixed)])
        cells, units = mean.tables(weights, self.missing, sums)
        return self._leaf(cells, units, weighted=True)

    def _mean(self, rows: str, reason: str = "NULL::varchar") -> FigureTables:
        """The mean of rows; `reason` is the SQL of why there is none."""
        means = self.parts.add(
            "cells",
            f"""select {self._by},
  {ordered("sum", '"its weight" * value')} / {ordered("sum", '"its weight"')} filter (value is not null) as value,
  {ordered("sum", '"its weight"')} filter (value is not null) as "weight of cell",
  coalesce(bool_and(value in (0, 1)), false) and count(value) = count(distinct cluster_id) filter (value is not null)
    and count(distinct "its weight") = 1 as "is share",
  count(*) filter ("has value") as n, count(*) as total, {reason} as reason
from {rows}
group by {self._by}""",
        )
        own = ordered("sum", '"its weight" * (rows.value - cells.value)')
        influence = f'{own} / any_value("weight of cell")'
        weight = f"""{ordered("sum", '"its weight"')} / any_value("weight of cell")"""
        return self._leaf(means, self._units(rows, means, influence, weight), weighted=True)

    def _in_role(self, scored: ScoredStep) -> str:
        """Return a condition that leaves scores by the raters of the role that the aggregate is taken across, where
        those of other roles have scores of the same name."""
        found = {step.scorer for step in judged_steps(scored)}
        own = sorted(scorer for scorer in found if self.plan.scorer(scorer).role == self.figure.across)
        return f"\n    and scorer in ({', '.join(map(quoted, own))})" if len(own) < len(found) else ""

    def _called(self, function: str, rows: str, subject: str, rater: str, level: str = "''") -> str:
        """Return a row a cell, with what a statistic of lists came to."""
        key = "key" if function in (*JUDGED, *SUMMED, PYTHON) else "NULL::varchar"
        row = f"{{'item': cluster_id, 'subject': {subject}, 'rater': {rater}, 'key': {key}, 'value': value}}"
        # What two columns say of a reply is two rows here, and one pair that counts.
        pair = "rater = 'gold'" if function in JUDGED and len(self.scored) == 2 else ""
        counted = f'"has value" and {pair}' if pair else '"has value"'
        every = f"count(*) filter ({pair})" if pair else "count(*)"
        by = columns(sorted(self.cut.dims))  # in one order, so that measures of the same cells have the same words
        return self.parts.add(
            "cells",
            f"""select {by}, count(*) filter ({counted}) as n, {every} as total,
  tripos_statistic({quoted(function)}, {level}, list({row} order by {row})) as found
from {rows}
group by {by}""",
        )

    def _opened(self, found: str) -> FigureTables:
        """Return the tables of cells whose values were found by a function."""
        cells = self.parts.add(
            "cells",
            f"""select {self._by}, found.value as value, n, total, false as "is share", found.reason as reason
from {found}""",
        )
        units = self.parts.add(
            "units",
            f"""select {self._by}, unnest(found.items) as cluster_id, unnest(found.pulls) as influence
from {found}""",
        )
        return self._leaf(cells, units)

    def _units(self, rows: str, cells: str, influence: str, weight: str | None = None, every: bool = False) -> str:
        """Return the plain influence of each unit, and its weight where units differ in it."""
        only = "" if every else "\nwhere rows.value is not null"
        weighed = "" if weight is None else f", {weight} as weight"
        return self.parts.add(
            "units",
            f"""select {columns(self.cut.dims, "rows")}, rows.cluster_id, {influence} as influence{weighed}
from {rows} as rows join {cells} as cells on {same("rows", "cells", self.cut.dims)}{only}
group by {columns(self.cut.dims, "rows")}, rows.cluster_id""",
        )

    def _leaf(self, cells: str, units: str, weighted: bool = False) -> FigureTables:
        """Return the two tables of the figure, from its cells and the plain influences of the units."""
        cut, figure = self.cut, self.figure
        told = [figure.model_copy(update={"by": ()}).model_dump_json(), self.missing, cut.graders, cut.labels]
        scale = leaf_scale(self.plan, figure, self.scored[0], self.missing, cut)
        leaf = Leaf(" ".join([*told, *map(str, cut.unread)]), cut.fixed, scale, figure.function == "count")
        failing = self.missing == "fail"
        return leaf_tables(self.parts, cut.dims, leaf, cells, units, weighted=weighted, failing=failing)


def _names(names: tuple[str, ...]) -> str:
    """Return names as rows have them: each the JSON of a text."""
    return ", ".join(quoted(json.dumps(name, ensure_ascii=False)) for name in names)
