"""The forecast of a run: reuse, calls, their reasons, and their cost.

The cases are gone through once, in batches, as a run does; memory does not grow with them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tripos_compiler.language import Unavailable
from tripos_compiler.language.library import with_functions
from tripos_compiler.plan import (
    Ask,
    Compare,
    Converse,
    Grade,
    Judging,
    Plan,
    Retrieve,
    Scenario,
    Settings,
)
from tripos_runtime.asking import (
    FAILED,
    NO_OTHERS,
    NOT_APPLICABLE,
    NOT_ASKED,
    PENDING,
    Ledger,
    OtherReplies,
    PreparedQuestion,
    Row,
)
from tripos_runtime.datasets import Case, CaseSource, Selection
from tripos_runtime.drivers import Lookup, bound_treatments
from tripos_runtime.forecast.call_outcomes import OPEN, Fate, Foreseen, Where
from tripos_runtime.forecast.driver import Foresight
from tripos_runtime.forecast.estimates import estimates
from tripos_runtime.forecast.generation import foresee_making
from tripos_runtime.forecast.lines import Forecast, ForecastLine
from tripos_runtime.forecast.prior_results import Kept, is_read
from tripos_runtime.forecast.reasons import NO_HISTORY, Cause, History, Reasons
from tripos_runtime.forecast.sizes import NO_SIZE, Size, is_waiting
from tripos_runtime.forecast.tables import alike, arms_of, times
from tripos_runtime.forecast.vectors import ForeseenVectors
from tripos_runtime.models import Price
from tripos_runtime.program import (
    Adoptable,
    Adoption,
    BoundTreatment,
    Names,
    Own,
    Pair,
    StepCall,
    Unit,
    World,
    calls_of,
    lasting,
    most_turns,
    pairs_of,
    parts,
    split,
)
from tripos_runtime.roles import RoleBinding

TABLES = ("samples", "turns", "judgements", "scores", "comparisons", "conditions")


def forecast(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding,
    ledger: Kept,
    prices: Mapping[str, Price | None],
    history: History = NO_HISTORY,
    others: OtherReplies = NO_OTHERS,
) -> Forecast:
    """Return what a run of this plan by these models over these cases would do. `prices` are by model, `None` or absent
    where nobody knows one; `others` are stores whose replies are taken over. The Python functions of a plan are not
    called: what needs one is left open.

    Raises `DataError` where a data file has changed since the plan was made.
    """
    watcher = _Watcher(plan, source, selection, binding, ledger, history, others)
    with with_functions({plugin.name: not_called(plugin.name) for plugin in plan.plugins}):
        watcher.watch()
    lines = watcher.lines
    taken = estimates({where: line.load for where, line in lines.items()}, prices, history)
    models = dict.fromkeys(where.model for where, line in lines.items() if line.most)
    return Forecast(
        lines=lines,
        estimates=taken,
        reasons=watcher.reasons.told(watcher.items),
        items=watcher.items,
        scores=watcher.scores,
        unpriced=tuple(model for model in models if prices.get(model) is None),
        unmade=watcher.unmade,
        taken=watcher.adoption.taken,
    )


class _Watcher:
    """Goes over the cases and counts."""

    def __init__(
        self,
        plan: Plan,
        source: CaseSource,
        selection: Selection,
        binding: RoleBinding,
        ledger: Kept,
        history: History,
        others: OtherReplies,
    ) -> None:
        self.plan, self.source, self.selection, self.ledger = plan, source, selection, ledger
        chosen = selection.chosen(plan)
        # Of the lookup only its units are wanted: nothing is claimed.
        self.lookup = Lookup(cast("Ledger", ledger), bound_treatments(chosen, plan, binding), binding)
        own = Own(
            plan, binding.answering, chosen, lambda some: source.cases_of(some, selection.whole), self.lookup.units
        )
        self.adoption = Adoption(cast("Ledger", ledger), own, claims=False, others=others)
        held = ledger.held()
        self.alike = {each.name: alike(self.lookup.bound_treatments[each.name], held) for each in chosen}
        self.unmade_alike = {each.name: alike(self.lookup.bound_treatments[each.name], ()) for each in chosen}
        """What was never made is not kept."""
        self.vectors = ForeseenVectors(ledger, binding.identities, others, self.adoption.taken)
        self.foresight = Foresight(World(plan, source.sources), vectors=self.vectors)
        self.reasons = Reasons(plan, history)
        self.arms = {scenario.name: arms_of(scenario) for scenario in chosen}
        self.lines: dict[Where, ForecastLine] = {}
        self._places: dict[tuple[str, int, str, str], ForecastLine] = {}
        """The lines of steps, by what their id names as long as there is the plan."""
        self.embedded: dict[str, tuple[ForecastLine, Fate, Size]] = {}
        """The texts that are embedded, by the names of their vectors, and how sure that is so far."""
        self.items: Counter[str] = Counter({scenario.name: 0 for scenario in chosen})
        self.scores = 0
        self.unmade: dict[str, int] = {}
        self.making = foresee_making(plan, source, selection, binding, ledger, self.adoption)
        self._open_making()
        self.foresight.made_by = self.making.made_by
        for scenario in chosen:  # in the order of the plan, whatever the order of the cases
            self._open_lines(scenario, binding)

    def _open_lines(self, scenario: Scenario, binding: RoleBinding) -> None:
        for bound in self.lookup.bound_treatments[scenario.name]:
            for step in bound.treatment.steps:
                if isinstance(step, Compare) and len(binding.of(binding.compared)) < 2:
                    continue
                if isinstance(step, Converse):
                    for role, _ in most_turns(step):
                        for model in binding.of(role) if role == binding.compared else binding.of(role)[:1]:
                            line = self.lines.setdefault(self._where(scenario.name, step, role, model), ForecastLine())
                            longest = self.foresight.world.questions.longest_turn(step, role)
                            line.load.open_turns(step, longest, scenario.name)
                if isinstance(step, Retrieve) and step.using is not None:
                    (model,) = binding.of(step.using)
                    line = self.lines.setdefault(self._where(scenario.name, step, step.using, model), ForecastLine())
                    line.load.place, line.load.settings = ("vectors", scenario.name, step.name), Settings(max_tokens=0)
                if isinstance(step, Ask | Judging):
                    several = not isinstance(step, Ask) or step.role == binding.compared
                    judge = None if isinstance(step, Ask) else self.plan.scorer(step.scorer)
                    for role in [bound.role_of(step)] if judge is None else judge.roles:
                        for model in binding.of(role) if several else binding.of(role)[:1]:
                            line = self.lines.setdefault(self._where(scenario.name, step, role, model), ForecastLine())
                            writes = judge is None or judge.writes
                            line.load.open(step, self._question(step), scenario.name, writes)

    def _question(self, step: Ask | Judging) -> PreparedQuestion:
        """Return what is sent, which is asked in the same form in every language."""
        return self.foresight.world.questions.at_most(step, self.plan.benchmark.languages[0])

    def _where(self, scenario: str, step: Ask | Converse | Retrieve | Judging, role: str, model: str) -> Where:
        return Where(scenario, self.arms[scenario][step.name, step.fingerprint], step.name, role, model)

    def _open_making(self) -> None:
        """The calls that make data sets come first."""
        for made in self.making.calls:
            line = self.lines[Where(made.place, "", made.title, made.ask.role, made.model)] = ForecastLine(made.reused)
            line.load.open(made.ask, self._question(made.ask), made.place)
            line.load.place = ("samples", made.place, made.title)
            for fate, size, calls in made.open:
                line.load.add(fate, size, self.making.made_by, calls)
                if fate is not Fate.SPARE:
                    self.reasons.note(Cause("rows", made.dataset), made.place, made.title, calls)

    def _count_unmade(self, scenario: Scenario) -> None:
        """Count the calls about rows that are yet to be made: they are made unless a row is not."""
        for cell, rows in self.making.unmade(scenario):
            self.unmade[scenario.name] = self.unmade.get(scenario.name, 0) + rows
            case = self.making.case(scenario, cell)
            alike = self.unmade_alike[scenario.name]
            self.foresight.known = self.making.known(scenario)
            found = self.foresight.of(case, self.lookup.units(case, alike), {}, {})
            for unit, step, names, fate in self.foresight.embedding.values():
                self._count_vectors(scenario.name, unit, step, names, min(fate, Fate.LIKELY), rows)
            self.foresight.known = {}
            for seen in found:
                if seen.fate not in OPEN:
                    continue
                line = self.lines[self._where(scenario.name, seen.call.step, seen.call.role, seen.call.model)]
                calls = rows * _times(seen, alike)
                line.load.add(min(seen.fate, Fate.LIKELY), seen.size, seen.said_by, calls, seen.settings)
                self.reasons.note(Cause("on_rows", case.dataset or ""), scenario.name, seen.call.step.name, calls)

    def watch(self) -> None:
        for scenario in self.selection.chosen(self.plan):
            self._count_unmade(scenario)
        self.foresight.adoption = self.adoption  # of a row that is yet to be made nobody knows what will be sent
        cases = self.source.cases(self.selection)
        while batch := list(itertools.islice(cases, self.lookup.at_once())):
            units_of = [(case, self.lookup.units(case, self.alike[case.scenario.name])) for case in batch]
            found = [(case, units, pairs_of(units)) for case, units in units_of]
            every = [part for _, units, pairs in found for part in parts(units, pairs)]
            known = self._known(every)
            kept = lasting(every, known, self.ledger.rows)
            left = [split(units, pairs, kept).open for _, units, pairs in found]
            todo = [part for each in left for part in each]
            rows = self._rows("samples", {c.name for u in todo for c in u.calls if c.table == "samples"} & kept.keys())
            verdicts = {c.name for u in todo for c in u.calls if is_read(self.plan, c.step)} & kept.keys()
            rows = {**rows, **self._rows("judgements", verdicts)}
            talks = list({talk.name: talk for u in todo for talk in u.talks.values()}.values())
            rows |= self._rows("samples", {talk.name for talk in talks} & kept.keys())
            rows |= self._rows("turns", {name for talk in talks for name in talk.turns} & kept.keys())
            calls = {c.name: c for u in todo for c in u.calls} | {c.name: c for talk in talks for c in calls_of(talk)}
            codes = self._codes({name: call for name, call in calls.items() if known.get(name) == FAILED})
            for (case, units, pairs), open_ in zip(found, left, strict=True):
                if open_:
                    self._count(case, units, pairs, kept, rows, codes)
                else:
                    self._count_kept(case, units, pairs, kept)

    def _count_kept(self, case: Case, units: Sequence[Unit], pairs: Sequence[Pair], kept: Mapping[str, str]) -> None:
        """Count the calls of a case of which everything is kept, as `_count` does."""
        scenario = case.scenario.name
        self.items[scenario] += 1
        counted: set[str] = set()
        for part in parts(units, pairs):
            for call in itertools.chain(part.calls, *map(calls_of, part.talks.values())):
                if call.name in counted:
                    continue
                counted.add(call.name)
                place = (scenario, id(call.step), call.role, call.model)
                if place not in self._places:
                    self._places[place] = self.lines[self._where(scenario, call.step, call.role, call.model)]
                if kept.get(call.name, NOT_APPLICABLE) in NOT_ASKED:
                    self._places[place].ruled_out += 1
                else:
                    self._places[place].reused += 1

    def _known(self, every: Sequence[Unit | Pair]) -> dict[str, str]:
        """Return the status of everything that the ledger has of these units and pairs, by name."""
        wanted: dict[str, dict[str, None]] = {table: {} for table in TABLES}
        seen: set[str] = set()
        for part in every:
            for table, name in part.results:
                wanted[table][name] = None
            for talk in part.talks.values():
                if talk.name not in seen:
                    seen.add(talk.name)
                    wanted["turns"].update(dict.fromkeys(talk.turns))
        known: dict[str, str] = {}
        for table, asked in wanted.items():
            ids = list(asked)
            pairs = zip(ids, self.ledger.statuses(table, ids), strict=True)
            known |= {name: status for name, status in pairs if status is not None}
        return known

    def _rows(self, table: str, names: set[str]) -> Mapping[str, Row]:
        return self.ledger.rows(table, names) if names else {}

    def _codes(self, calls: Mapping[str, StepCall]) -> dict[str, str]:
        """Return the code of the error of every call that failed."""
        codes: dict[str, str] = {}
        for table in ("samples", "turns", "judgements"):
            rows = self._rows(table, {name for name, call in calls.items() if call.table == table})
            codes |= {name: str(row["error"] or "?").split(" ", 1)[0] for name, row in rows.items()}
        return codes

    def _count(
        self,
        case: Case,
        units: Sequence[Unit],
        pairs: Sequence[Pair],
        kept: Mapping[str, str],
        rows: Mapping[str, Row],
        codes: Mapping[str, str],
    ) -> None:
        scenario = case.scenario.name
        self.items[scenario] += 1
        found, units, alike = self._foreseen(case, units, kept, rows)
        if not self.making.is_sure(case):
            found = [replace(seen, fate=Fate.LIKELY) if seen.fate is Fate.CERTAIN else seen for seen in found]
        open_ = {seen.call.part_of or seen.call.name for seen in found if seen.fate in OPEN}
        open_ |= {seen.call.name for seen in found if seen.fate is Fate.RULED_OUT}
        self._count_scores(units, open_, kept)
        judged: dict[str, set[str]] = {}
        for pair in pairs:
            for call in pair.calls:
                judged.setdefault(pair.comparisons[call.model], set()).add(call.name)
        self.scores += sum(name not in kept and open_.isdisjoint(calls) for name, calls in judged.items())
        surest = Fate.CERTAIN if self.making.is_sure(case) else Fate.LIKELY
        for unit, step, names, fate in self.foresight.embedding.values():
            self._count_vectors(scenario, unit, step, names, min(fate, surest))
        for seen in found:
            call = seen.call
            number = _times(seen, alike)
            line = self.lines[self._where(scenario, call.step, call.role, call.model)]
            match seen.fate:
                case Fate.REUSED:
                    line.reused += number
                case Fate.RULED_OUT:
                    line.ruled_out += number
                case _:
                    self._take(seen, line, codes, number)

    def _foreseen(
        self, case: Case, units: Sequence[Unit], kept: Mapping[str, str], rows: Mapping[str, Row]
    ) -> tuple[list[Foreseen], Sequence[Unit], Collection[BoundTreatment]]:
        """Return what is foreseen of a case, its units, and of which treatments the first sample stands for all. Where
        a reply may be adopted they differ: there may be some, and not as many as are wanted."""
        alike = self.alike[case.scenario.name]
        try:
            self.adoption.probing = bool(alike)
            return self.foresight.of(case, units, kept, rows), units, alike
        except Adoptable:
            self.adoption.probing = False
            units = self.lookup.units(case)
            return self.foresight.of(case, units, kept, rows), units, ()
        finally:
            self.adoption.probing = False

    def _count_vectors(
        self, scenario: str, unit: Unit, step: Retrieve, names: Names, fate: Fate, rows: int = 1
    ) -> None:
        """Count the texts that a row, or so many, needs the vectors of."""
        assert step.using is not None
        (model,) = unit.bound.retrieved[step.name]
        line = self.lines[self._where(scenario, step, step.using, model)]
        texts = self.vectors.of(step, model, names, self.foresight.world.chooser, fate)
        line.reused += texts.there
        for name, text in texts.asked.items():
            self.embedded[name] = (line, fate, Size.of(text))
            line.load.add(fate, Size.of(text), {})
            self.reasons.note(Cause("never"), scenario, step.name)
        for name in texts.again:
            before, lesser, size = self.embedded.get(name, (line, fate, NO_SIZE))
            if lesser < fate:
                before.load.add(lesser, size, {}, -1)
                before.load.add(fate, size, {})
                self.embedded[name] = (before, fate, size)
        if texts.waiting:
            line.load.add(Fate.LIKELY, is_waiting(step.name, f"what `{step.name}` looks for"), {}, texts.waiting * rows)
            self.reasons.note(Cause("never"), scenario, step.name, texts.waiting * rows)

    def _take(self, seen: Foreseen, line: ForecastLine, codes: Mapping[str, str], number: int) -> None:
        code = codes.get(seen.call.name)
        if code is not None:
            line.failed[code] += number
        line.load.add(seen.fate, seen.size, seen.said_by, number, seen.settings)
        self.reasons.add(seen, code, number)

    def _count_scores(self, units: Sequence[Unit], open_: set[str], kept: Mapping[str, str]) -> None:
        """Count the scores that nothing but the replies kept is needed for, and that are not kept."""
        missing: set[str] = set()
        for unit in units:
            if all(name in kept for names in unit.scores.values() for name in names.values()):
                continue
            calls: dict[tuple[str, str], set[str]] = {}
            for call in unit.calls:
                calls.setdefault((call.step.fingerprint, call.model), set()).add(call.name)
                if isinstance(call.step, Grade) and unit.stronger(call.step):  # all under one name
                    calls.setdefault((call.step.fingerprint, unit.evaluators(call.step)[0]), set()).add(call.name)
            steps = {step.fingerprint: step for step in unit.bound.treatment.steps}
            for (step, evaluator), names in unit.scores.items():
                if evaluator is not None:
                    needed = calls[step, evaluator]
                else:
                    needed = set(unit.upstream(getattr(steps[step], "needs", ())))
                if open_.isdisjoint(needed):
                    missing |= {name for name in names.values() if name not in kept}
        self.scores += len(missing)


def _times(seen: Foreseen, alike: Collection[BoundTreatment]) -> int:
    """Return how many calls one stands for."""
    return times(seen.unit.bound, seen.call.step) if seen.unit.bound in alike else 1


def not_called(name: str) -> Callable[..., Any]:
    """Return what stands for a Python function of a plan: what needs it is left open."""

    def function(*_: Any, **__: Any) -> Any:
        raise Unavailable(f"the function `{name}`", PENDING)

    return function
