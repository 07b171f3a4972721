"""Scenarios that are halves of a question: each is chosen by a secret, and which of them asks about a row tells it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property

from tripos_compiler.diagnostics import Label
from tripos_compiler.language import expressions_of, paths_in, subexpressions
from tripos_compiler.plan import Ask, Compare, Converse, Data, Grade, Made, Rows, Scenario, Step, Verdict
from tripos_compiler.resolve import Program
from tripos_compiler.secrecy.labels import NONE, Leak, Secrets, Told, onward, union
from tripos_compiler.secrecy.regions import Condition, are_disjoint
from tripos_compiler.secrecy.scenario_rows import RowsAtHand
from tripos_compiler.secrecy.scenarios import Following
from tripos_compiler.secrecy.tables import DatasetSecrets
from tripos_compiler.source import dataclass

LEFT_OUT = {"fingerprint", "judgement", "needs", "inputs", "draw"}
"""Of a step, what says nothing of what is asked."""


@dataclass(eq=False)
class ChosenRows:
    """A scenario that may be one of several about the same rows. All that is asked of it is found once."""

    place: int
    scenario: Scenario
    rows: Rows
    halves: Halves

    @cached_property
    def asks(self) -> Hashable:
        """What the compared role is told by its steps, and by the steps that these look at, however the rows are
        called."""
        return tuple(self.halves.asks(self.scenario, self.rows))

    @cached_property
    def public(self) -> frozenset[Condition]:
        """The conditions of its `where` on public columns."""
        at_hand = RowsAtHand(self.halves.tables, self.scenario)
        assert at_hand.table is not None
        return at_hand.conditions(self.rows.where, {self.rows.alias: at_hand.table})

    @cached_property
    def by_where(self) -> Secrets:
        """The secrets by which its rows are chosen."""
        return self.halves.chosen(self.scenario, self.rows, NONE)

    @cached_property
    def by_rows(self) -> Secrets:
        """The same, and those by which its data set has its rows."""
        return self.halves.chosen(self.scenario, self.rows, self.halves.tables.of(self.rows.dataset).rows.what)

    @cached_property
    def marks(self) -> frozenset[Hashable]:
        """The data sets whose rows it may be about, and the columns by which these are chosen: halves have one of them
        in common."""
        return frozenset((*self.halves.sources(self.rows.dataset), *columns_of(self.by_rows)))


@dataclass
class Halves:
    """All scenarios of a program that run over rows."""

    program: Program
    tables: DatasetSecrets
    following: Callable[[Scenario], Following]

    def __post_init__(self) -> None:
        self.compared = {role.name for role in self.program.roles.values() if role.kind == "compared"}
        self.all = [
            ChosenRows(place, scenario, scenario.rows, self)
            for place, scenario in enumerate(self.program.scenarios.values())
            if scenario.rows is not None
        ]

    def leaks(self) -> Iterator[Leak]:
        """Yield what halves tell: of each, beside the first one that asks otherwise about such rows."""
        marked: dict[Hashable, list[ChosenRows]] = defaultdict(list)
        chosen = [each for each in self.all if each.by_rows]
        for each in chosen:
            for mark in each.marks:
                marked[mark].append(each)
        for half in chosen:
            others = (self._first(half, marked[mark]) for mark in half.marks)
            first = min((each for each in others if each is not None), key=lambda each: each.place, default=None)
            if first is not None:
                yield from self._half(half, first)

    def _first(self, half: ChosenRows, others: list[ChosenRows]) -> ChosenRows | None:
        """Return the first of some scenarios that asks otherwise about the rows that one asks about."""
        asks = half.asks
        return next((each for each in others if each.asks != asks and self._tell(half, each)), None)

    def _tell(self, one: ChosenRows, two: ChosenRows) -> bool:
        """Return true if it says something of a row which of two scenarios asks about it."""
        if not self.ask_otherwise(one, two):
            return False
        chosen = [each.by_where if one.rows.dataset == two.rows.dataset else each.by_rows for each in (one, two)]
        if not all(chosen):
            return False
        sources = [self.sources(each.rows.dataset) for each in (one, two)]
        by = [columns_of(each) for each in chosen]
        return bool(sources[0] & sources[1]) or bool(by[0] & by[1])

    def ask_otherwise(self, one: ChosenRows, two: ChosenRows) -> bool:
        """Return true if two scenarios ask otherwise about rows that may be the same."""
        if one is two or one.rows == two.rows or one.asks == two.asks:
            return False
        return one.rows.dataset != two.rows.dataset or not are_disjoint(one.public, two.public)

    def chosen(self, scenario: Scenario, rows: Rows, there: Secrets) -> Secrets:
        """Return the secrets by which a scenario's rows are chosen, with those by which they are `there`."""
        following = self.following(scenario)
        following.names = following.rows.bind()
        head = following.places.scenario(scenario.name).head
        span = following.places.of(rows.where, head) if rows.where is not None else head
        chosen = union(following.flows("where").all(rows.where), there)
        own = {secret: ways for secret, ways in chosen.items() if secret.dataset not in self.program.made}
        return onward(own, Label(span, f"`{scenario.name}` runs over rows by it"))

    def _half(self, half: ChosenRows, other: ChosenRows) -> Iterator[Leak]:
        """Yield the leaks of a scenario beside another one."""
        chosen = half.by_where if half.rows.dataset == other.rows.dataset else half.by_rows
        for step in self._heard(half.scenario.steps):
            place = self.tables.places.step(half.scenario.name, step.name).head
            into = f"`{other.scenario.name}` asks otherwise about such rows, so this tells"
            yield Leak(next(role for role in self._roles(step) if role in self.compared), Told(chosen, place, into))

    def sources(self, name: str) -> frozenset[str]:
        """Return the data sets whose rows a data set has, or has rows about."""
        if name not in self._sources:
            made = self.program.made.get(name)
            beside = self._made_of(made) if made is not None else self.tables.beside(name)
            self._sources[name] = frozenset({name, *beside})
        return self._sources[name]

    def _made_of(self, made: Made) -> Iterator[str]:
        for part in subexpressions(made.source) if made.source else ():
            if isinstance(part, Data) and part.dataset != made.name:
                yield from self.sources(part.dataset)

    @cached_property
    def _sources(self) -> dict[str, frozenset[str]]:
        return {}

    def asks(self, scenario: Scenario, rows: Rows) -> Iterator[Hashable]:
        """Yield what the compared role is told by a scenario's steps."""
        alias, own = rows.alias, f'"{rows.alias}"'
        columns = self.tables.of(rows.dataset).columns
        yield scenario.axes
        for treatment in scenario.treatments:
            told = self._behind(treatment.steps)
            yield tuple(step.model_dump_json(exclude=LEFT_OUT).replace(own, '"@row"') for step in told)
            looked_at = {path[1] if len(path) > 1 else "" for path in self._paths(told) if path[0] == alias}
            yield frozenset((name, columns.get(name, (rows.dataset, name))) for name in looked_at)

    def _behind(self, steps: tuple[Step, ...]) -> list[Step]:
        """Return the steps that the compared role is told something by, and all that they look at, in their order."""
        heard = self._heard(steps)
        names = {part for path in self._paths(heard) for part in path}
        found: list[Step] = []
        for step in reversed(steps):
            if step in heard or step.name in names:
                found.insert(0, step)
                names |= {part for path in self._paths([step]) for part in path}
        return found

    def _paths(self, steps: Iterable[Step]) -> set[tuple[str, ...]]:
        """Return what steps look up."""
        paths = {path for expr in expressions_of(tuple(steps)) for path in paths_in(expr)}
        return paths | {(step.continues,) for step in steps if isinstance(step, Ask) and step.continues is not None}

    def _heard(self, steps: Iterable[Step]) -> list[Step]:
        """Return the steps that the compared role is asked by, talks in, or judges by."""
        return [step for step in steps if self.compared & set(self._roles(step))]

    def _roles(self, step: Step) -> tuple[str, ...]:
        """Return the roles that are asked by a step, talk in it, or judge by it."""
        match step:
            case Ask(role=role):
                return (role,)
            case Converse(speakers=speakers):
                return tuple(speaker.role for speaker in speakers)
            case Grade(scorer=name) | Verdict(scorer=name) | Compare(scorer=name):
                scorer = self.program.scorers.get(name)
                return () if scorer is None else scorer.roles
        return ()


def columns_of(secrets: Secrets) -> set[tuple[str, str]]:
    """Return the columns that secrets are of."""
    return {(secret.dataset, secret.column) for secret in secrets}
