"""The proof that no secret of an item reaches the compared role, and the report of what cannot be proved."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.language.references import subexpressions
from tripos_compiler.library.calls import arguments_of
from tripos_compiler.plan import Call, Data, Expr, Literal_, Reveal, Scenario
from tripos_compiler.resolve.program import Program
from tripos_compiler.secrecy.copies import (
    copies_by_field,
    copies_by_key,
    datasets_sharing_files,
    identifies_rows,
    unmarked_copies,
)
from tripos_compiler.secrecy.datasets import FOUND_BY, IN_FILES, MAY_READ, Copies, DatasetSecrets
from tripos_compiler.secrecy.exchanges import Exchanges
from tripos_compiler.secrecy.flows import Flows, Revealed, SourceMap
from tripos_compiler.secrecy.labels import (
    NONE,
    Leak,
    Secret,
    Secrets,
    TaintTrail,
    shortest_trail,
    split_by_source,
    union,
)
from tripos_compiler.secrecy.layouts import Layouts
from tripos_compiler.secrecy.row_matching import comparable_text
from tripos_compiler.secrecy.scenarios import SHOWN, ScenarioTaintAnalysis, SplitScenarios
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span

CONSEQUENT_WARNINGS = ("W1001", "W1008")
"""Protocol warnings that are consequences of a leak, and so are dropped with it."""


@dataclass
class Declassification:
    """A `reveal` call in a step, and the secrets it declassifies."""

    scenario: str
    step: str
    call: Call
    secrets: Secrets = field(default_factory=lambda: NONE)
    is_invariant: bool = True
    """Whether its value is invariant if rows exchange their secrets."""


@dataclass
class Proof:
    """The proof of one program."""

    program: Program
    copies: Copies
    keys: Mapping[tuple[str, str], tuple[tuple[str, str], ...]] = field(default_factory=dict)
    declassifications: dict[tuple[str, str, int], Declassification] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = SourceMap(self.program)
        self.tables = DatasetSecrets(
            self.program.datasets,
            self.program.generated,
            self.copies,
            self.keys,
            datasets_sharing_files(self.program.loaded),
            Layouts(self.program.loaded),
            self._identifies_rows,
            self.places,
            self._pure,
            self._revealed,
        )

    def run(self) -> None:
        """Report every leak, record what is revealed, and mark the secret fields of generated data sets."""
        leaks: dict[tuple[Span, str], Leak] = {}
        for scenario in self.program.scenarios.values():
            for leak in self._leaks(scenario):
                key = (leak.disclosure.span, leak.role)
                known = leaks.get(key)
                if known is None or len(shortest_trail(leak.disclosure.secrets)) < len(
                    shortest_trail(known.disclosure.secrets)
                ):
                    leaks[key] = leak
        split_scenarios = SplitScenarios(self.program, self.tables, self._new_analysis)
        for leak in split_scenarios.leaks():
            leaks.setdefault((leak.disclosure.span, leak.role), leak)
        for scenario in self.program.scenarios.values():
            self._analyse_row_filter(scenario)
        for leak in leaks.values():
            self._report(leak)
        self._drop_consequent_warnings(leaks.values())
        for name, dataset in self.program.generated.items():
            self.program.generated[name] = self.tables.labelled(dataset)
        self._record_declassifications()

    def _drop_consequent_warnings(self, leaks: Iterable[Leak]) -> None:
        """Drop the protocol warnings of scenarios with a leak: if the answer is shown, the question answers itself."""
        places = [leak.disclosure.span for leak in leaks]
        bodies = [statement.span for statement in self.program.of("scenario")]
        leaking = [body for body in bodies if any(_is_inside(place, body) for place in places)]
        items = self.program.diagnostics.items
        items[:] = [
            item
            for item in items
            if item.code not in CONSEQUENT_WARNINGS
            or not any(_is_inside(item.labels[0].span, body) for body in leaking)
        ]

    # --- scenarios ---

    def _new_analysis(
        self, scenario: Scenario, revealed: Callable[[str], Revealed] = lambda step: _ignore_reveal
    ) -> ScenarioTaintAnalysis:
        roles = self.program.roles.values()
        return ScenarioTaintAnalysis(
            self.tables,
            self.places,
            scenario,
            self.program.scorers,
            frozenset(role.name for role in roles if role.kind == "compared"),
            len(self.program.languages),
            revealed,
        )

    def _leaks(self, scenario: Scenario) -> Iterable[Leak]:
        for treatment in scenario.treatments:
            yield from self._analysis_of(scenario).run(treatment.steps)

    def _analysis_of(self, scenario: Scenario) -> ScenarioTaintAnalysis:
        return self._new_analysis(scenario, lambda step: self._revealed(scenario.name, step))

    def _analyse_row_filter(self, scenario: Scenario) -> None:
        """Analyse the condition that selects the rows of a scenario, for the `reveal` calls in it."""
        where = None if scenario.rows is None else scenario.rows.where
        if where is None or not any(isinstance(part, Call) and part.is_reveal for part in subexpressions(where)):
            return
        following = self._analysis_of(scenario)
        following.names = following.rows.bind()
        following.flows("where").all(where)

    def _report(self, leak: Leak) -> None:
        trail = shortest_trail(leak.disclosure.secrets)
        steps = [Label(label.span, f"{number}. {label.text}") for number, label in enumerate(trail, 1)]
        if leak.judged is not None:
            last = Label(leak.disclosure.span, f"{len(steps) + 1}. {leak.disclosure.into} the judge")
            message = f"`{leak.role}` is blind to the model, and is shown more of it than `{leak.judged}`"
            help_ = "leave it out, or take `blind to model` out of the scorer"
            self.program.diagnostics.error("E0506", message, last, *steps, help=help_)
            return
        last = Label(leak.disclosure.span, f"{len(steps) + 1}. {leak.disclosure.into} `{leak.role}`")
        message = f"the secret `{secret_name(trail)}` reaches the compared role `{leak.role}`"
        help_ = "leave it to the graders, or say `reveal(…)` where the protocol wants it shown"
        others = sum(len(trails) for trails in leak.disclosure.secrets.values()) - 1
        others_rows = leak.disclosure.into == SHOWN and not any(
            secret.rows.current for secret in leak.disclosure.secrets
        )
        notes = ["rows that are asked about are no shots: part them by a public column"] if others_rows else []
        if any(label.text.endswith(MAY_READ) for label in trail):
            notes.append("write `pure` after its path if it reads nothing but what it is given")
        if any(label.text == IN_FILES for label in trail):
            notes.append("rows in an order of their own tell nothing of it: `sorted(…)` of a column")
        if any(f"` {FOUND_BY} " in label.text for label in trail):
            notes.append("what is joined by a secret column is as secret: join by a public one")
        notes += [f"{others} other way{'s' * (others > 1)} lead{'s' * (others == 1)} here too"] if others else []
        self.program.diagnostics.error("E0501", message, last, *steps, help=help_, notes=notes)

    # --- declassification ---

    def _identifies_rows(self, name: str, fields: frozenset[str]) -> bool:
        loaded = self.program.loaded.get(name)
        return loaded is not None and identifies_rows(loaded, fields)

    def _pure(self, function: str) -> bool:
        plugin = self.program.plugins.get(function)
        return plugin is not None and plugin.pure

    def _revealed(self, scenario: str, step: str) -> Revealed:
        def revealed(call: Call, flows: Flows) -> None:
            declassification = self.declassifications.setdefault(
                (scenario, step, id(call)), Declassification(scenario, step, call)
            )
            arguments = arguments_of(call)
            declassification.secrets = union(
                declassification.secrets, split_by_source(flows.of(arguments["value"]).all)[0]
            )
            if "rows" in arguments:
                exchanges = Exchanges(flows, self.program.generated, self._has_all, self._tied)
                declassification.is_invariant = declassification.is_invariant and exchanges.is_invariant(
                    arguments["value"]
                )

        return revealed

    def _record_declassifications(self) -> None:
        """Record each declassification, and warn of `reveal` calls without a secret."""
        head = next(iter(self.program.of("benchmark"))).head
        used = {
            self.places.of(declassification.call, head)
            for declassification in self.declassifications.values()
            if declassification.secrets
        }
        for declassification in self.declassifications.values():
            span = self.places.of(declassification.call, head)
            inner = arguments_of(declassification.call)["value"]
            text = self.places.text(inner, span)
            if span not in used:
                message = "there is nothing secret to reveal here"
                self.program.diagnostics.warning("W0503", message, span, help=f"write `{text}` alone")
                used.add(span)
            if not declassification.secrets:
                continue
            self._check_aggregate(declassification, span)
            named = sorted({secret_name(trails[0]) for trails in declassification.secrets.values()})
            reveal = Reveal(
                scenario=declassification.scenario, step=declassification.step, text=text, secret=", ".join(named)
            )
            if reveal not in self.program.reveals:
                self.program.reveals.append(reveal)

    def _check_aggregate(self, declassification: Declassification, span: Span) -> None:
        """Check `reveal(…, rows: N)`, which declassifies only values of whole columns with at least N rows."""
        least = arguments_of(declassification.call).get("rows")
        if least is None:
            return
        needed = _positive_integer(least)
        if needed is None:
            message = "`rows` takes a whole number of 1 or more, written out"
            help_ = "say how many rows the column has at least, such as `rows: 20`"
            self.program.diagnostics.error("E0502", message, self.places.of(least, span), help=help_)
            return
        for secret, trails in declassification.secrets.items():
            name, rows = secret_name(trails[0]), self._row_count(secret)
            if not secret.rows.is_everything:
                message = f"this follows from some rows' `{name}`, and not from the whole column"
                help_ = "aggregate whole columns, such as `distinct(item.topic)`, or leave out `rows`"
            elif rows is None or rows < needed:
                known = "only a run will know how many" if rows is None else f"there are {rows}"
                message = f"`{name}` is to be shown for {needed} rows at least, and {known}"
                help_ = "ask for fewer rows, or do not show it"
            else:
                continue
            self.program.diagnostics.error("E0502", message, span, help=help_)
            return
        if not declassification.is_invariant:
            name = secret_name(next(iter(declassification.secrets.values()))[0])
            message = f"this depends on which row has which `{name}`, and not on the whole column alone"
            help_ = "show what stays if rows exchange their values, such as `distinct(…)` or `sorted(…)` of the column"
            self.program.diagnostics.error("E0502", message, span, help=help_)

    def _has_all(self, column: Data, secret: Secret) -> bool:
        """Return true if a column has everything that a secret column of another data set has in any row.

        It does if it is secret itself and read from all files of the other, or if it has all its values.
        """
        one, other = (self.program.loaded.get(name) for name in (column.dataset, secret.dataset))
        if one is None or other is None or column.field is None:
            return False
        files = self.tables.layouts.files
        marked = any(data_field.secret for data_field in one.dataset.fields if data_field.name == column.field)
        if marked and files(secret.dataset) <= files(column.dataset):
            return True
        mine = Counter(comparable_text(row.values.get(column.field)) for row in one.rows)
        return Counter(comparable_text(row.values.get(secret.column)) for row in other.rows) <= mine

    def _tied(self, dataset: str, column: str) -> bool:
        return column in self.tables.of(dataset).tied

    def _row_count(self, secret: Secret) -> int | None:
        """Return the number of rows of a data set; None if it is not known before a run."""
        dataset = self.program.datasets.get(secret.dataset)
        return sum(file.rows - len(file.repeats) for file in dataset.files) if dataset is not None else None


def _ignore_reveal(call: Call, flows: Flows) -> None:
    """Ignore a `reveal` call that is recorded elsewhere."""


def _positive_integer(expr: Expr) -> int | None:
    """Return the value of a positive integer literal; None for other expressions."""
    match expr:
        case Literal_(value=int() as value) if value >= 1 and not isinstance(value, bool):
            return value
    return None


def _is_inside(place: Span, body: Span) -> bool:
    return place.source is body.source and body.start <= place.start < body.end


def secret_name(trail: TaintTrail) -> str:
    """Return the name of the secret at the start of a trail."""
    named = re.match(r"`(.+?)`", trail[0].text)
    return named[1] if named is not None else trail[0].text


def prove(program: Program) -> None:
    """Prove that no secret of an item reaches the compared role. Reports what cannot be proved."""
    if program.of("benchmark"):
        keys = copies_by_key(program.loaded, program.copies)
        Proof(program, copies_by_field(program.loaded, program.copies), keys).run()


def check_marks(program: Program) -> None:
    """Warn of public fields that state what a secret field of the same rows states, in every file data set.

    Either a `secret` mark is missing, or one is superfluous.
    """
    for copy in unmarked_copies(program.loaded, program.copies):
        spans = program.loaded[copy.field[0]].spans
        if copy.of[1] not in spans or copy.field[1] not in spans:
            continue
        help_ = f"mark it too: `{copy.field[1]} … secret`; or allow this where nothing is given away"
        label = Label(spans[copy.of[1]], "the secret field")
        program.diagnostics.warning("W0505", copy.why, spans[copy.field[1]], label, help=help_)
