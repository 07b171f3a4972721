"""Taint analysis of scenarios: follows secrets through the steps to everything that reaches the compared role.

Every part of a step that asks the compared role reaches it, including parts that are not understood. Another role may
repeat whatever it was given, by its replies and by their absence. Scenarios that select rows by a secret reveal it by
which of them asks about a row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.language.references import expressions_of, paths_in, roles_called, subexpressions, uses
from tripos_compiler.library.calls import search_index_of
from tripos_compiler.library.function import SearchIndex
from tripos_compiler.plan import (
    REPLY_PARTS,
    Ask,
    Column,
    Compare,
    Converse,
    Data,
    Expr,
    GeneratedDataset,
    Grade,
    JudgedStep,
    Passage,
    Ref,
    Retrieve,
    Rows,
    SampleList,
    Scenario,
    Score,
    Scorer,
    Shots,
    Speaker,
    Step,
    Verdict,
)
from tripos_compiler.plan.steps import fields_with
from tripos_compiler.resolve.program import Program
from tripos_compiler.secrecy.datasets import BoundRows, DatasetSecrets, TableSecrets
from tripos_compiler.secrecy.flows import Flows, Revealed, SourceMap
from tripos_compiler.secrecy.labels import (
    CURRENT_ROW,
    NONE,
    PUBLIC,
    Condition,
    Disclosure,
    Flow,
    ItemReference,
    Leak,
    Secret,
    Secrets,
    TaintTrail,
    are_disjoint,
    conditions,
    extend_trail,
    narrow_regions,
    rename_source,
    split_by_source,
    union,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span

# The rows of a scenario


@dataclass
class RowsAtHand:
    """The rows of a scenario, and the secrets of them and of other data that must not reach the compared role."""

    tables: DatasetSecrets
    scenario: Scenario
    about: Mapping[str, list[ItemReference]] = field(default_factory=dict)
    """The subjects of the rows, by data set; guarded from the compared role."""
    guarded: dict[str, set[ItemReference]] = field(default_factory=dict)
    """Further data guarded from it."""

    @property
    def alias(self) -> str:
        """The name of the rows."""
        return self.scenario.rows.alias if self.scenario.rows is not None else ""

    @property
    def table(self) -> TableSecrets | None:
        """The data set of the rows."""
        return self.tables.of(self.scenario.rows.dataset) if self.scenario.rows is not None else None

    def bind(self) -> dict[str, Flow]:
        """Return the flows of the names of the current row, and guard what the row is about."""
        if self.scenario.name not in self.tables.at_hand:
            self.tables.at_hand[self.scenario.name] = self._bound()
        bound = self.tables.at_hand[self.scenario.name]
        self.about = bound.about
        return dict(bound.names)

    def guard(self, about: ItemReference) -> None:
        """Guard these rows from the compared role."""
        self.guarded.setdefault(about.dataset, set()).add(about)

    def _bound(self) -> BoundRows:
        names = dict.fromkeys((*self.scenario.axes, *self.scenario.arms, "language", "metrics"), PUBLIC)
        rows, table = self.scenario.rows, self.table
        if rows is None or table is None:
            return BoundRows(names)
        fields = {
            name: flow.map_secrets(self._assign_to_current(name)) for name, flow in table.rows.element.fields.items()
        }
        names[rows.alias] = Flow(fields=fields)
        names |= {axis: fields[axis] for axis in self.scenario.axes if axis in fields}
        where = self.conditions(rows.where, {rows.alias: table})
        about: dict[str, list[ItemReference]] = {}
        for reference in table.about:
            about.setdefault(reference.dataset, []).append(replace(reference, conditions=reference.conditions | where))
        return BoundRows(names, about)

    def _assign_to_current(self, column: str) -> Callable[[Secrets], Secrets]:
        """Return a function that assigns secrets to the current row under their local names. The presence of the row is
        no secret.
        """
        rows, table = self.scenario.rows, self.table
        assert rows is not None and table is not None

        def own(secrets: Secrets) -> Secrets:
            assigned: dict[Secret, tuple[TaintTrail, ...]] = {}
            for secret, trails in secrets.items():
                is_same_dataset = secret.dataset == rows.dataset
                named = rename_source({secret: trails}, f"{self.alias}.{column}")[secret] if is_same_dataset else trails
                its = not secret.rows.other and table.is_about(secret)
                own = Secret(secret.dataset, secret.column, CURRENT_ROW if its else secret.rows.elsewhere)
                assigned[own] = tuple(dict.fromkeys((*assigned.get(own, ()), *named)))
            return assigned

        return own

    def conditions(self, where: Expr | None, tables: Mapping[str, TableSecrets]) -> frozenset[Condition]:
        """Return the conditions on public columns of the rows that these names refer to, including comparisons with the
        current row.
        """
        if where is None:
            return frozenset()
        table = self.table
        current_tables = {self.alias: table} if table is not None and self.alias not in tables else {}

        def column(expr: Expr) -> tuple[str, bool] | None:
            if not isinstance(expr, Ref) or len(expr.path) != 2:
                return None
            name, inner = expr.path
            of = tables.get(name) or current_tables.get(name)
            known = of.columns.get(inner) if of is not None else None
            return (known, name in current_tables) if known is not None else None

        return conditions(where, column)

    def is_guarded(self, secret: Secret) -> bool:
        """Return true if a secret must not reach the compared role."""
        if secret.rows.current:
            return True
        return any(
            guard.has(secret) and not are_disjoint(secret.rows.conditions, guard.conditions, guard.at_hand)
            for guard in (*self.about.get(secret.dataset, ()), *self.guarded.get(secret.dataset, ()))
        )


SHOWN = "these shots tell"


# The steps of a scenario


@dataclass
class ScenarioTaintAnalysis:
    """Taint analysis of the steps of one treatment of a scenario."""

    tables: DatasetSecrets
    places: SourceMap
    scenario: Scenario
    scorers: Mapping[str, Scorer]
    compared: frozenset[str]
    languages: int
    revealed: Callable[[str], Revealed]
    """Given a step, returns the callback for the uses of `reveal` in it."""
    names: dict[str, Flow] = field(default_factory=dict)
    leaks: list[Leak] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = RowsAtHand(self.tables, self.scenario)

    def run(self, steps: tuple[Step, ...]) -> list[Leak]:
        """Return the leaks of the steps in order."""
        self.names = self.rows.bind()
        rows = dict(self.names)
        for step in steps:
            self._step(step)
        for step in steps:
            self._guard_score_secrets(step)
        self.names, self.leaks = rows, []
        for step in steps:
            self._step(step)
        return self.leaks

    # --- guarded secrets ---

    def _guard_score_secrets(self, step: Step) -> None:
        """Guard a secret that a reply is scored by, in whatever rows it is.

        It belongs to the item if the score itself reads it, or if the row has it from single rows.
        """
        if not isinstance(step, JudgedStep | Score | Column):
            return
        scored = self.flows(step.name).all(*(use.expr for use in uses(step) if use.use != "condition"))
        for secret in scored:
            rows = secret.rows
            if not secret.of_model and not rows.current and (rows.part or not rows.other):
                self.rows.guard(ItemReference(secret.dataset, secret.column, rows.conditions, at_hand=False))

    # --- steps ---

    def flows(self, step: str, names: Mapping[str, Flow] | None = None) -> Flows:
        """Return the flows of expressions in a step."""
        return Flows({**self.names, **(names or {})}, self.tables, self.revealed(step), self.places)

    def _step(self, step: Step) -> None:
        statement = self.places.step(self.scenario.name, step.name, step.fingerprint)
        match step:
            case Ask():
                self._ask(step, statement)
            case Converse():
                self._converse(step, statement)
            case Retrieve():
                self._retrieve(step, statement)
            case SampleList(of=of):
                secrets = self.names[of].all
                self.names[step.name] = Flow(secrets, elements=Flow(secrets))
            case Verdict() | Grade() | Compare():
                self._judge(step, statement)
            case Score() | Column():
                self.flows(step.name).all(*expressions_of(step))  # for the `reveal` calls in it

    def _reaches(self, role: str, disclosures: list[Disclosure]) -> bool:
        """Record the guarded secrets in this information if the role is compared. Returns true if there are any."""
        if role not in self.compared:
            return False
        leaks: list[Leak] = []
        for disclosure in disclosures:
            guarded = {secret: trails for secret, trails in disclosure.secrets.items() if self.rows.is_guarded(secret)}
            if guarded:
                leaks.append(Leak(role, Disclosure(guarded, disclosure.span, disclosure.into)))
        self.leaks += leaks
        return bool(leaks)

    def _ask(self, step: Ask, statement: Statement) -> None:
        disclosures = list(self._disclosures(step, statement))
        asked = self._condition_disclosures(step, statement)
        leaks = self._reaches(step.role, [*disclosures, *asked])
        name = statement.name().span if statement.find_name("name") is not None else statement.head
        secrets = union(*(disclosure.secrets for disclosure in disclosures))
        decision = extend_trail(
            union(*(disclosure.secrets for disclosure in asked)), Label(name, f"`{step.name}` is asked or not by it")
        )
        reply = union(extend_trail(secrets, Label(name, f"`{step.name}` has seen it, and may repeat it")), decision)
        if step.role in self.compared:  # it was given public data, or a secret, which is reported
            secrets, decision = split_by_source(secrets)[1], split_by_source(decision)[1]
            reply = self._reply_secrets(step.name, name)
        fields = dict.fromkeys((*REPLY_PARTS, "value", "turns"), Flow(reply))
        if (type_ := step.read_as) is not None and type_.kind == "record":
            fields |= dict.fromkeys(type_.fields, Flow(reply))
        fields["prompt"] = Flow(union(secrets, decision))
        if step.acts:
            action_secrets = self.flows(step.name).all(*step.acts)
            action_secrets = extend_trail(
                split_by_source(action_secrets)[1] if leaks else action_secrets, Label(name, "it comes of the calls")
            )
            fields |= dict.fromkeys(("so_far", "came"), Flow(union(reply, action_secrets)))
        self.names[step.name] = Flow(fields=fields)

    def _reply_secrets(self, step: str, span: Span) -> Secrets:
        """Return the secret that a reply of the compared role reveals: which model wrote it."""
        return {Secret("", step): ((Label(span, f"`{step}` is written by the model"),),)}

    def _disclosures(self, step: Ask, statement: Statement) -> Iterator[Disclosure]:
        """Yield all information that an ask gives, except whether it is asked."""
        yield from self._part_disclosures(step, self.flows(step.name), statement, statement.head, "this step tells")
        for shots in step.shots:
            yield from self._shots(shots, step.name, statement)
        yield from self._language_disclosure(statement.head)

    def _part_disclosures(
        self, part: Step | Speaker | Scorer, flows: Flows, statement: Statement, span: Span, into: str
    ) -> Iterator[Disclosure]:
        """Yield the information in every expression of a part itself, except its condition. `span` and `into` are the
        place and the message for fields without their own."""
        for use in uses(part):
            if use.owner is not part or use.use == "condition":
                continue
            construct, operand = use.mark.written
            written = statement.one_of(construct)
            place = span if written is None else written.syntax(operand).span if operand else written.head
            if use.use in ("text", "settings"):
                place = self.places.of(use.node, statement.head)
            own = "its condition tells" if isinstance(use.node, Passage) else use.mark.discloses
            yield Disclosure(flows.all(use.expr), place, own or into)

    def _condition_disclosures(self, step: Ask | Converse, statement: Statement) -> list[Disclosure]:
        """Return the information that a step runs at all."""
        if step.when is None:
            return []
        condition = statement.find("cond")
        span = condition.span if condition is not None and isinstance(step, Ask) else statement.head
        into = "its condition tells" if isinstance(step, Ask) else "whether it takes place tells"
        return [Disclosure(self.flows(step.name).all(step.when), span, into)]

    def _language_disclosure(self, span: Span) -> Iterator[Disclosure]:
        """Yield the language in which the role is asked."""
        if self.languages > 1 and "language" in self.names:
            yield Disclosure(self.names["language"].all, span, "the language of this tells")

    def _shots(self, shots: Shots, step: str, statement: Statement) -> Iterator[Disclosure]:
        """Yield the information in shots: their texts, their selection, and whether there are any."""
        own = shots.dataset.rpartition(".")[2]
        written = next((clause for clause in statement.of("shots") if clause.name("dataset").text == own), statement)
        table = self.tables.of(shots.dataset)
        where = self.rows.conditions(shots.where, {shots.alias: table})
        row = table.rows.element.map_secrets(lambda secrets: narrow_regions(secrets, lambda rows: rows.where(where)))
        flows = self.flows(step, {shots.alias: Flow(fields=row.fields)})
        existence = union(table.rows.structure, table.rows.order)
        if shots.drawn is None:  # a draw uses the positions among all rows, whatever the condition
            existence = narrow_regions(existence, lambda rows: rows.where(where))
        chosen = [flows.all(use.expr) for use in uses(shots) if use.use != "text"]
        yield Disclosure(union(*chosen, existence, *self._keys(table, row)), written.head, SHOWN)
        for use in uses(shots):
            if use.use == "text":
                yield Disclosure(flows.all(use.expr), self.places.of(use.node, written.head), SHOWN)

    def _keys(self, table: TableSecrets, row: Flow) -> Iterator[Secrets]:
        """Yield the keys of rows and shots, because rows with the same key are no shots for each other."""
        flow = self.names.get(self.rows.alias, PUBLIC)
        for of, fields in ((table, row.fields), (self.rows.table, flow.fields)):
            if of is not None and of.key is not None:
                key = self.flows("key", fields).all(of.key)
                span = self.places.of(of.key, self.places.dataset(of.name).head)
                yield extend_trail(key, Label(span, "rows of one key are never shots for each other"))

    def _converse(self, step: Converse, statement: Statement) -> None:
        """Follow secrets through a conversation: what one speaker is given, it may say to the other."""
        flows = self.flows(step.name)
        from_condition = self._condition_disclosures(step, statement)
        name = statement.name().span
        secrets: list[Secrets] = []
        leaks = False
        for speaker in step.speakers:
            written = next(
                (clause for clause in statement.of("speaker") if clause.name().text == speaker.role), statement
            )
            disclosures = [*self._part_disclosures(speaker, flows, written, written.head, "this tells")]
            disclosures += self._language_disclosure(written.head)
            disclosures += self._part_disclosures(step, flows, statement, statement.head, "this tells")
            leaks = self._reaches(speaker.role, [*disclosures, *from_condition]) or leaks
            if speaker.role in self.compared:
                secrets.append(self._reply_secrets(step.name, name))
                continue
            secrets.append(union(*(disclosure.secrets for disclosure in disclosures)))
            for listener in step.speakers:
                overheard = [
                    extend_trail(disclosure.secrets, Label(disclosure.span, f"`{speaker.role}` is shown it"))
                    for disclosure in disclosures
                ]
                into = f"`{speaker.role}` may say it in this conversation to"
                if listener is not speaker and self._reaches(
                    listener.role, [Disclosure(union(*overheard), name, into)]
                ):
                    leaks = True
        decision = union(*(disclosure.secrets for disclosure in from_condition))
        reply = union(
            extend_trail(union(*secrets), Label(name, f"`{step.name}` may say it")),
            extend_trail(decision, Label(name, f"`{step.name}` takes place or not by it")),
        )
        self.names[step.name] = Flow(split_by_source(reply)[1] if leaks else reply)

    def _retrieve(self, step: Retrieve, statement: Statement) -> None:
        """Follow secrets through a retrieval: its selection, its order, and the texts that are embedded."""
        outer = self.flows(step.name)
        source = outer.of(step.source)
        unfiltered = element = source.elements if source.elements is not None else Flow(source.all)
        where: frozenset[Condition] = frozenset()
        if step.source.op == "data" and step.source.field is None:
            where = self.rows.conditions(step.where, {step.alias: self.tables.of(step.source.dataset)})
            element = element.map_secrets(lambda secrets: narrow_regions(secrets, lambda rows: rows.where(where)))
        # Of two equal elements, the first is taken.
        existence = narrow_regions(union(source.structure, source.order), lambda rows: rows.where(where))
        flows = self.flows(step.name, {step.alias: element})
        name, top = statement.name().span, statement.one_of("top")
        by = self.flows(step.name, {step.alias: unfiltered}).all(step.by)
        if any(search_index_of(part) is SearchIndex.TERMS for part in subexpressions(step.by)):
            by = union(by, source.structure)  # the rarity of a word depends on all rows
        if step.using is not None:
            disclosures = [Disclosure(by, self.places.of(step.by, statement.head), "what is embedded tells")]
            by = NONE if self._reaches(step.using, disclosures) else by
        followed = ("source", "ranking", "included", "condition")
        chosen = [use.expr for use in uses(step) if use.use not in followed]
        what = union(
            extend_trail(existence, Label(name, f"`{step.name}` holds it")),
            extend_trail(by, Label(top.head if top is not None else name, "`top` chooses by it")),
            *(extend_trail(flows.all(expr), Label(name, f"`{step.name}` chooses by it")) for expr in chosen),
            extend_trail(outer.all(step.when), Label(name, f"`{step.name}` is there by it")),
        )
        included_flows = [outer.of(expr) for expr in step.include]
        if included_flows:  # their positions depend on all elements
            statements = statement.of("include")
            for included, flow in zip(step.include, included_flows, strict=True):
                place = self.places.of(included, statement.head)
                span = next((one.head for one in statements if one.head.start <= place.start), place)
                what = union(what, extend_trail(flow.all, Label(span, "is put among them")))
            what = union(what, extend_trail(element.all, Label(name, f"`{step.name}` puts them in order by it")))
        labelled = element.extend_trail(Label(name, f"`{step.name}` holds it"))
        self.names[step.name] = Flow(
            what, elements=labelled.map_secrets(lambda secrets: narrow_regions(secrets, lambda rows: rows.subset))
        )

    def _judge(self, step: Verdict | Grade | Compare, statement: Statement) -> None:
        """Follow secrets to a judge and into its verdict."""
        scorer = self.scorers.get(step.scorer)
        if scorer is None:
            return
        sides = {"first": Flow(fields=self.names), "second": Flow(fields=self.names)}
        flows = self.flows(step.name, sides if isinstance(step, Compare) else {})
        place = self.places.index.judged.get((self.scenario.name, step.name), statement.head)
        disclosures: list[Disclosure] = []
        for loop in step.loops if isinstance(step, Verdict) else ():
            disclosures.append(
                Disclosure(flows.of(loop.of).structure, place, f"whether `{step.scorer}` is asked tells")
            )
            flows = flows.of_elements(loop)
            disclosures.append(Disclosure(flows.all(loop.where), place, f"whether `{step.scorer}` is asked tells"))
        element = step.model_copy(update={"loops": ()}) if isinstance(step, Verdict) else step
        disclosures += self._part_disclosures(element, flows, statement, place, f"`{step.scorer}` tells")
        shown = dict.fromkeys((*scorer.params, "metrics", *self.scenario.axes, "language"), PUBLIC)
        own = Flows(shown, self.tables, self.revealed(step.scorer), self.places)
        disclosures += self._part_disclosures(scorer, own, statement, place, f"`{step.scorer}` tells")
        earlier = step.earlier or ()
        if step.when is not None or earlier:
            into = f"whether `{step.scorer}` is asked tells"
            disclosures.append(Disclosure(flows.all(step.when, *earlier), place, into))
        if scorer.blind:
            self._blind(step, disclosures)
        leaks = self._reaches(scorer.role, disclosures)
        self.names[step.name] = PUBLIC if leaks else Flow(union(*(disclosure.secrets for disclosure in disclosures)))

    def _blind(self, step: Verdict | Grade | Compare, disclosures: list[Disclosure]) -> None:
        """Record what reveals the model to a blind judge, apart from the reply that it judges."""
        models = [(disclosure, split_by_source(disclosure.secrets)[1]) for disclosure in disclosures]
        replies = {secret.column for _, of_model in models for secret in of_model}
        order = [name for name in self.names if name in replies]
        judged = step.of if not isinstance(step, Verdict) else order[-1] if order else ""
        for disclosure, of_model in models:
            further = {secret: trails for secret, trails in of_model.items() if secret.column != judged}
            if further:
                self.leaks.append(Leak(step.scorer, Disclosure(further, disclosure.span, disclosure.into), judged))


# Scenarios split by a secret


@dataclass(eq=False)
class FilteredScenario:
    """A scenario that may be one of several about the same rows. Its properties are computed once."""

    place: int
    scenario: Scenario
    rows: Rows
    scenarios: SplitScenarios

    @cached_property
    def asks(self) -> Hashable:
        """The requests to the compared role by its steps and the steps they depend on, independent of the rows'
        name.
        """
        return tuple(self.scenarios.asks(self.scenario, self.rows))

    @cached_property
    def public(self) -> frozenset[Condition]:
        """The conditions in its `where` that concern public columns."""
        at_hand = RowsAtHand(self.scenarios.tables, self.scenario)
        assert at_hand.table is not None
        return at_hand.conditions(self.rows.where, {self.rows.alias: at_hand.table})

    @cached_property
    def filter_secrets(self) -> Secrets:
        """The secrets in its `where`."""
        return self.scenarios.selecting_secrets(self.scenario, self.rows, NONE)

    @cached_property
    def selection_secrets(self) -> Secrets:
        """The secrets in its `where`, and those that decide which rows its data set has."""
        return self.scenarios.selecting_secrets(
            self.scenario, self.rows, self.scenarios.tables.of(self.rows.dataset).rows.structure
        )

    @cached_property
    def marks(self) -> frozenset[Hashable]:
        """The data sets its rows may be about, and the secret columns that select them. Split scenarios share one of
        these.
        """
        return frozenset((*self.scenarios.sources(self.rows.dataset), *columns_of(self.selection_secrets)))


@dataclass
class SplitScenarios:
    """All scenarios of a program that run over rows."""

    program: Program
    tables: DatasetSecrets
    analysis: Callable[[Scenario], ScenarioTaintAnalysis]

    def __post_init__(self) -> None:
        self.compared = {role.name for role in self.program.roles.values() if role.kind == "compared"}
        self.all = [
            FilteredScenario(place, scenario, scenario.rows, self)
            for place, scenario in enumerate(self.program.scenarios.values())
            if scenario.rows is not None
        ]

    def leaks(self) -> Iterator[Leak]:
        """Yield the leak of each split scenario, with the first other one that asks differently about such rows."""
        marked: dict[Hashable, list[FilteredScenario]] = defaultdict(list)
        chosen = [filtered_scenario for filtered_scenario in self.all if filtered_scenario.selection_secrets]
        for scenario in chosen:
            for mark in scenario.marks:
                marked[mark].append(scenario)
        for split in chosen:
            scenarios = (self._first(split, marked[mark]) for mark in split.marks)
            first = min(
                (other for other in scenarios if other is not None),
                key=lambda filtered_scenario: filtered_scenario.place,
                default=None,
            )
            if first is not None:
                yield from self._leaks_of(split, first)

    def _first(self, split: FilteredScenario, others: list[FilteredScenario]) -> FilteredScenario | None:
        """Return the first scenario that asks differently about the same rows."""
        asks = split.asks
        return next((other for other in others if other.asks != asks and self._reveals_selection(split, other)), None)

    def _reveals_selection(self, one: FilteredScenario, two: FilteredScenario) -> bool:
        """Return true if the choice between two scenarios that ask about a row depends on a secret of the row."""
        if not self.ask_differently(one, two):
            return False
        chosen = [
            scenario.filter_secrets if one.rows.dataset == two.rows.dataset else scenario.selection_secrets
            for scenario in (one, two)
        ]
        if not all(chosen):
            return False
        sources = [self.sources(scenario.rows.dataset) for scenario in (one, two)]
        by = [columns_of(key) for key in chosen]
        return bool(sources[0] & sources[1]) or bool(by[0] & by[1])

    def ask_differently(self, one: FilteredScenario, two: FilteredScenario) -> bool:
        """Return true if two scenarios ask differently about rows that may be the same."""
        if one is two or one.rows == two.rows or one.asks == two.asks:
            return False
        return one.rows.dataset != two.rows.dataset or not are_disjoint(one.public, two.public)

    def selecting_secrets(self, scenario: Scenario, rows: Rows, existence: Secrets) -> Secrets:
        """Return the secrets that select a scenario's rows, with those that decide which rows exist (`existence`)."""
        analysis = self.analysis(scenario)
        analysis.names = analysis.rows.bind()
        head = analysis.places.scenario(scenario.name).head
        span = analysis.places.of(rows.where, head) if rows.where is not None else head
        chosen = union(analysis.flows("where").all(rows.where), existence)
        own = {secret: trails for secret, trails in chosen.items() if secret.dataset not in self.program.generated}
        return extend_trail(own, Label(span, f"`{scenario.name}` runs over rows by it"))

    def _leaks_of(self, split: FilteredScenario, other: FilteredScenario) -> Iterator[Leak]:
        """Yield the leaks of a scenario that is split from another."""
        chosen = split.filter_secrets if split.rows.dataset == other.rows.dataset else split.selection_secrets
        for step in self._addressed_steps(split.scenario.steps):
            place = self.tables.places.step(split.scenario.name, step.name, step.fingerprint).head
            into = f"`{other.scenario.name}` asks otherwise about such rows, so this tells"
            yield Leak(
                next(role for role in self._roles(step) if role in self.compared), Disclosure(chosen, place, into)
            )

    def sources(self, name: str) -> frozenset[str]:
        """Return the data sets whose rows a data set has or is about."""
        if name not in self._sources:
            dataset = self.program.generated.get(name)
            others = self._sources_of(dataset) if dataset is not None else self.tables.related(name)
            self._sources[name] = frozenset({name, *others})
        return self._sources[name]

    def _sources_of(self, made: GeneratedDataset) -> Iterator[str]:
        for part in subexpressions(made.source) if made.source else ():
            if isinstance(part, Data) and part.dataset != made.name:
                yield from self.sources(part.dataset)

    @cached_property
    def _sources(self) -> dict[str, frozenset[str]]:
        return {}

    def asks(self, scenario: Scenario, rows: Rows) -> Iterator[Hashable]:
        """Yield the requests of a scenario's steps to the compared role, and the columns that they read."""
        alias, own = rows.alias, f'"{rows.alias}"'
        columns = self.tables.of(rows.dataset).columns
        yield scenario.axes
        for treatment in scenario.treatments:
            steps = self._relevant_steps(treatment.steps)
            yield tuple(_request(step).replace(own, '"@row"') for step in steps)
            read_columns = {path[1] if len(path) > 1 else "" for path in self._paths(steps) if path[0] == alias}
            yield frozenset((name, columns.get(name, (rows.dataset, name))) for name in read_columns)

    def _relevant_steps(self, steps: tuple[Step, ...]) -> list[Step]:
        """Return the steps that inform the compared role, and the steps they depend on, in order."""
        addressed = self._addressed_steps(steps)
        names = {part for path in self._paths(addressed) for part in path}
        relevant: list[Step] = []
        for step in reversed(steps):
            if step in addressed or step.name in names:
                relevant.insert(0, step)
                names |= {part for path in self._paths([step]) for part in path}
        return relevant

    def _paths(self, steps: Iterable[Step]) -> set[tuple[str, ...]]:
        """Return the paths that steps read."""
        return {path for step in steps for use in uses(step) for path in paths_in(use.expr)}

    def _addressed_steps(self, steps: Iterable[Step]) -> list[Step]:
        """Return the steps in which the compared role is asked, talks or judges."""
        return [step for step in steps if self.compared & set(self._roles(step))]

    def _roles(self, step: Step) -> tuple[str, ...]:
        """Return the roles that a step asks."""
        if not isinstance(step, JudgedStep):
            return roles_called(step)
        scorer = self.program.scorers.get(step.scorer)
        return () if scorer is None else scorer.roles


def _request(step: Step) -> str:
    """Return the JSON of the fields of a step that change its request or whether it is sent."""
    return step.model_dump_json(exclude={*fields_with(type(step), "derived", "draw")} - {"step", "name"})


def columns_of(secrets: Secrets) -> set[tuple[str, str]]:
    """Return the columns of secrets."""
    return {(secret.dataset, secret.column) for secret in secrets}
