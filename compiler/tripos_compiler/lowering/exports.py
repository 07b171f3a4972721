"""Lowering of `export` (replies of the best model, better and worse replies, pairs or examples from a data set) and of
`subset`.

Rows that a scenario asks about must not be exported for training: models would be graded on what they learned. A data
set overlaps another if they share files, also as the source of a generated data set.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Literal

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.table import SETTINGS
from tripos_compiler.diagnostics.diagnostic import Label, suggest
from tripos_compiler.language.contexts import count_cells
from tripos_compiler.language.evaluation import evaluate
from tripos_compiler.language.rendering import media_printed
from tripos_compiler.library.types import TURN, fits, type_notation, without_optional
from tripos_compiler.lowering.measures.aggregates import find_measure, find_operand
from tripos_compiler.lowering.measures.dimensions import (
    Groupable,
    check_own_line,
    read_dimension,
    read_dimensions,
)
from tripos_compiler.lowering.measures.measures import read_measures
from tripos_compiler.lowering.measures.typed_figures import FigureContext, LoweredMeasure, Operand
from tripos_compiler.lowering.requests import lower_returns
from tripos_compiler.plan import (
    Ask,
    Axis,
    BoolType,
    ChoiceType,
    Export,
    ListType,
    Literal_,
    NumberType,
    PairedReply,
    Pairing,
    Partner,
    Retrieve,
    Scenario,
    ScenarioRequest,
    Subset,
    Template,
    TextType,
    Treatment,
    Type,
)
from tripos_compiler.resolve.program import (
    KINDS,
    Binding,
    LoadedDataset,
    Program,
    Scope,
    Typed,
    expr_of,
    path_beside,
    record_fields,
    row_binding,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.tree import Name, Number, Syntax, dimension_text, free_names
from tripos_compiler.typecheck.expressions import check, check_condition
from tripos_compiler.typecheck.templates import free_variables_of, lower_texts
from tripos_compiler.typecheck.types import axis_type

# Overlap of training data and evaluated rows

WILDCARD = re.compile(r"\{\w+\}|\*")
TEXTS = ("prompt", "system", *SETTINGS)


@dataclass(frozen=True)
class RowSource:
    """The source of rows: the path or generated data set in the spec, its files, and their hashes."""

    declared: str
    paths: frozenset[str] = frozenset()
    hashes: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()
    """Hashes of the joined files. Two data sets can join the same files without a common row."""

    def shares(self, other: RowSource) -> bool:
        """Return true if rows of one may be rows of the other.

        >>> (RowSource("data/*.json").shares(RowSource("data/physics.json")),
        ... RowSource("a.json").shares(RowSource("b.json")))
        (True, False)
        """
        if self.hashes & (other.hashes | other.joined) or self.joined & other.hashes:
            return True
        own, others = {self.declared, *self.paths}, {other.declared, *other.paths}
        return _any_means(self.declared, others) or _any_means(other.declared, own)


def _of_files(near: str, path: str, loaded: LoadedDataset | None) -> RowSource:
    """Return the origin of rows that a spec at `near` reads from `path`, with the files found for it."""
    files = loaded.dataset.files if loaded is not None else ()
    data_files = loaded.dataset.every_file if loaded is not None else ()
    paths = frozenset(path_beside(near, file.path) for file in files)
    joined = frozenset(file.sha256 for file in data_files[len(files) :])
    return RowSource(path_beside(near, path), paths, frozenset(file.sha256 for file in files), joined)


def _any_means(written: str, paths: Iterable[str]) -> bool:
    """Return true if a path matches what is written, in which `*` and `{field}` match a part of a name."""
    pattern = "[^/]*".join(map(re.escape, WILDCARD.split(written)))
    return any(re.fullmatch(pattern, path) for path in paths)


@dataclass
class TrainingOverlap:
    """Overlap queries for the top-level data sets of a program, all of which must be lowered."""

    program: Program

    @cached_property
    def statements(self) -> dict[str, Statement]:
        """The top-level data sets by name."""
        return {statement.name().text: statement for statement in reversed(self.program.of(*KINDS["dataset"]))}

    @cached_property
    def evaluated(self) -> frozenset[RowSource]:
        """The origins of the rows that scenarios run over."""
        return frozenset(origin for statement in self.program.of("scenario") for origin in self._run_over(statement))

    def asked_about(self, name: str) -> bool:
        """Return true if a scenario may run over rows of a data set, or over their sources, or over rows made from
        them.
        """
        return any(self._is_asked(origin) for origin in self.origins(name, self.statements[name]))

    def origin_of(self, name: str, statement: Statement) -> RowSource:
        """Return the origin of a data set without its sources."""
        if statement.construct == "made":
            return RowSource(f"dataset {name}")
        path = statement.text("path").value
        return _of_files(statement.span.source.path, path, self.program.loaded.get(name))

    def origins(self, name: str, statement: Statement, seen: frozenset[str] = frozenset()) -> Iterator[RowSource]:
        """Yield the origin of a data set and, recursively, of its sources."""
        yield self.origin_of(name, statement)
        for source in sorted(_taken_from(statement) & set(self.statements) - seen):
            yield from self.origins(source, self.statements[source], seen | {name})

    def _run_over(self, scenario: Statement) -> Iterator[RowSource]:
        local = [inner for inner in scenario.body if inner.construct in KINDS["dataset"]]
        over = scenario.one_of("over")
        name = over.name("dataset").text if over is not None else ""
        for statement in local:
            if over is None or statement.name().text == name:
                yield from self.origins(f"{scenario.name().text}.{statement.name().text}", statement)
                return
        if name in self.statements:
            yield from self.origins(name, self.statements[name])

    def _is_asked(self, origin: RowSource) -> bool:
        return any(origin.shares(other) for other in self.evaluated)


def _taken_from(statement: Statement) -> set[str]:
    """Return the names that contribute to the rows of a generated data set: its source, computed fields and the texts
    of requests.

    A condition that only selects rows does not contribute.
    """
    if statement.construct != "made":
        return set()
    alias = statement.find_name("alias")
    texts = [inner for inner in statement.body if inner.construct in ("let", *TEXTS)]
    texts += [inner for walk in statement.of("walk") for inner in walk.body if inner.construct in TEXTS]
    inside = {name.text for text in texts for name in free_variables_of(text)}
    own = {statement.name().text, *([alias.text] if alias is not None else [])}
    return {name.text for name in free_names(statement.find("source"))} | (inside - own)


# Requests of a scenario about other rows: `asks` and `beside`


def rows_of_file(program: Program, dataset: Name, reason: str) -> LoadedDataset | None:
    """Return the data set of a file. Reports a generated one with the reason, and returns None for it or for an
    undeclared name.
    """
    if not program.is_declared("dataset", dataset):
        return None
    loaded = program.top_level_datasets.get(dataset.text)
    if loaded is None or not loaded.sound:
        program.diagnostics.follows()
        return None
    if not loaded.rows_known:
        message = f"`{dataset.text}` is made by a run, and {reason}"
        program.diagnostics.error("E0301", message, dataset.span, help="name a data set that is read from a file")
        return None
    return loaded


def lower_partner(
    program: Program, statement: Statement, scope: Scope
) -> tuple[Partner, LoadedDataset, Binding] | None:
    """Return the partner row of each row, its data set, and its binding. Reports a mistake and returns None."""
    dataset = statement.name("dataset")
    loaded = rows_of_file(program, dataset, "what stands beside a row is a row of a file")
    if loaded is None:
        return None
    alias = statement.find_name("alias") or dataset
    if alias.text in scope:
        message = f"`{alias.text}` is the row already"
        program.diagnostics.error("E0202", message, alias.span, help="give the other row another name: `as x`")
        return None
    binding = row_binding(loaded, alias.text, alias.span)
    where = None
    if (node := statement.find("filter")) is not None:
        bindings = {**scope, alias.text: binding}
        typed = check_condition(program, node, bindings)
        if typed.is_error:
            return None
        where = typed.expr
    return Partner(dataset=loaded.dataset.name, alias=alias.text, where=where), loaded, binding


def lower_scenario_request(
    program: Program, statement: Statement, rows: Mapping[str, LoadedDataset]
) -> ScenarioRequest | None:
    """Return the request of a scenario's step about one of `rows`, by default the first. Reports a mistake and returns
    None.

    `rows` are data sets by alias.
    """
    named, step = statement.name("scenario"), statement.name("step")
    if not program.is_declared("scenario", named):
        return None
    scenario = program.scenarios.get(named.text)
    if scenario is None:
        program.diagnostics.follows()
        return None
    about = statement.find_name("alias")
    if about is not None and about.text not in rows:
        help_ = f"there is {' and '.join(f'`{row}`' for row in rows)}"
        program.diagnostics.error("E0201", f"no row is known as `{about.text}`", about.span, help=help_)
        return None
    alias = about.text if about is not None else next(iter(rows))
    treatment = _treatment(program, statement, scenario, step)
    if treatment is None or not _fits(program, scenario, rows[alias], named):
        return None
    return ScenarioRequest(scenario=scenario.name, step=step.text, about=alias, arms=treatment.arms)


def _treatment(program: Program, statement: Statement, scenario: Scenario, step: Name) -> Treatment | None:
    """Return the treatment whose request is exported."""
    condition = statement.find("cond")
    treatments = scenario.treatments
    if condition is not None:
        arms = {
            name: ChoiceType(values=tuple(arm_value.name for arm_value in program.arms[name].values), axis=name)
            for name in scenario.arms
        }
        scope = {name: Binding((name,), type_) for name, type_ in arms.items()}
        typed = check_condition(program, condition, scope)
        if typed.is_error:
            return None
        treatments = tuple(treatment for treatment in treatments if evaluate(typed.expr, treatment.arms))
    asking = [
        treatment
        for treatment in treatments
        if any(isinstance(one, Ask) and one.name == step.text for one in treatment.steps)
    ]
    if not asking:
        asks = sorted({step.name for step in scenario.steps if isinstance(step, Ask)})
        help_ = f"it asks {', '.join(f'`{ask}`' for ask in asks)}" if step.text not in asks else "look at its `when`"
        program.diagnostics.error("E0201", f"`{scenario.name}` does not ask `{step.text}`", step.span, help=help_)
        return None
    if len({treatment.ask(step.text).fingerprint for treatment in asking}) > 1:
        value = " and ".join(f"{name} == {arm}" for name, arm in asking[0].arms.items())
        message = f"`{scenario.name}` asks `{step.text}` otherwise under each arm"
        program.diagnostics.error("E0206", message, statement.head, help=f"say under which: `when {value}`")
        return None
    return asking[0] if _follows_from_row(program, asking[0], step) else None


def _follows_from_row(program: Program, treatment: Treatment, step: Name) -> bool:
    """Return true if the compared role is asked, so that no secret is revealed, and the request follows from the row
    alone.

    Reports other steps.
    """
    ask = treatment.ask(step.text)
    if program.roles[ask.role].kind != "compared":
        message = f"`{step.text}` is asked of `{ask.role}`, which may see secrets"
        program.diagnostics.error("E0208", message, step.span, help="name a step that asks the compared role")
        return False
    if ask.options is not None or ask.calls_tools:
        what = "calls of tools" if ask.calls_tools else "likelihoods"
        message = f"`{step.text}` is answered by {what}, and training data are texts"
        program.diagnostics.error("E0301", message, step.span, help="name a step that is answered by a text")
        return False
    free = {step.name for step in treatment.steps if isinstance(step, Retrieve) and step.using is None}
    if waits := [need for need in ask.needs if need not in free]:
        message = f"`{step.text}` is asked about what `{waits[0]}` yields, and an export asks nobody"
        program.diagnostics.error("E0301", message, step.span, help="name a step that needs only the row")
        return False
    return True


def _fits(program: Program, scenario: Scenario, loaded: LoadedDataset, named: Name) -> bool:
    """Return true if the scenario could run over these rows: they have all its fields with the same types. Otherwise
    report it.
    """
    if scenario.rows is None or (dataset := program.loaded.get(scenario.rows.dataset)) is None:
        message = f"`{scenario.name}` does not run over the rows of a file"
        program.diagnostics.error("E0301", message, named.span, help='write the prompt: `prompt "…"`')
        return False
    has = {field.name: field.type for field in loaded.dataset.fields}
    lacking = [field.name for field in dataset.dataset.fields if has.get(field.name) != field.type]
    if not lacking:
        return True
    label = Label(program.declared["dataset"][loaded.dataset.name].span, "these rows")
    message = f"`{scenario.name}` runs over rows with a `{lacking[0]}`, which `{loaded.dataset.name}` has not"
    help_ = f"read them with the same fields: `like {dataset.dataset.name}`"
    program.diagnostics.error("E0308", message, named.span, label, help=help_)
    return False


# Exports from a data set

ONLY_PAIRED = ("pair_group", "pair_prompt", "pair_reply", "pair_use", "asked_as", "partner", "returns")
"""Constructs of exports from a data set only."""
NOT_PAIRED = ("best", "pairs", "rows", "only", "format")
"""Constructs of exports of replies only."""


def report_misplaced(program: Program, statement: Statement) -> None:
    """Report constructs of the other kind of export."""
    paired = statement.one_of("pairs_from") is not None or statement.one_of("examples_from") is not None
    for inner in statement.body:
        if inner.construct not in (NOT_PAIRED if paired else ONLY_PAIRED):
            continue
        if paired:
            message = "this export is of the rows of a data set, and this is said of replies of models"
            help_ = "make two exports"
        else:
            message = "this is said of the rows of a data set, and the export is of replies of models"
            help_ = "write `pairs from DATASET`, or make two exports"
        program.diagnostics.error("E0202", message, inner.head, help=help_)


def lower_pairing(program: Program, statement: Statement, pairs: Statement) -> Pairing | None:
    """Return an export of pairs or examples from a data set; None if it is wrong."""
    attempt = program.diagnostics.attempt()
    name, dataset = statement.name(), pairs.name("dataset")
    loaded = rows_of_file(program, dataset, "pairs are of the rows of a file")
    if loaded is None:
        return None
    examples = pairs.construct == "examples_from"
    if examples and not _check_not_evaluated(program, loaded.dataset.name, dataset):
        return None
    alias = pairs.find_name("alias") or dataset
    scope = {alias.text: row_binding(loaded, alias.text, alias.span)}
    asked = _request_and_partner(program, statement, scope, {alias.text: loaded}, examples)
    if asked is None:
        return None
    asks, partner = asked
    where = None if (node := pairs.find("filter")) is None else check_condition(program, node, scope)
    values = [clause.syntax("value") for clause in statement.of("pair_group")]
    groups = [check(program, value, scope, TextType(), "a group") for value in values]
    prompt = _prompt(program, scope, statement)
    returns = _example_form(program, statement, asks, examples)
    replies = [_reply(program, scope, clause) for clause in statement.of("pair_reply")]
    held = _held_out_datasets(program, statement)
    margin = pairs.find("number")
    use = statement.one_of("pair_use")
    if not replies:
        message = f"export `{name.text}` does not say what is paired"
        help_ = "write two at least: `reply d.good worth 1` and `reply d.bad worth 0`"
        help_ = "say what is answered: `reply d.answer`" if examples else help_
        lacking = statement.block.span if statement.block is not None else None
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
    elif examples and not statement.of("pair_prompt") and asks is None:
        lacking = statement.block.span if statement.block is not None else None
        message = f"export `{name.text}` does not say what is answered"
        help_ = 'write `prompt "…"`, or `asks STEP of SCENARIO`'
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
    elif not examples and len(replies) == 1 and statement.of("pair_reply")[0].find("list") is None:
        head = statement.of("pair_reply")[0].head
        help_ = "write another `reply`, or take one `from` a list"
        program.diagnostics.error("E0206", "one reply makes no pair", head, help=help_)
    if attempt.failed:
        return None
    return Pairing(
        name=name.text,
        kind="examples" if examples else "paired",
        dataset=loaded.dataset.name,
        alias=alias.text,
        where=expr_of(where),
        margin=float(margin.value) if isinstance(margin, Number) else 0.0,
        groups=tuple(group.expr for group in groups),
        prompt=prompt,
        asks=asks,
        beside=partner,
        returns=returns,
        replies=tuple(reply for reply in replies if reply is not None),
        holds_out=held,
        use=None if use is None else "test" if use.has("test") else "training",
    )


def _request_and_partner(
    program: Program, statement: Statement, scope: dict[str, Binding], rows: dict[str, LoadedDataset], examples: bool
) -> tuple[ScenarioRequest | None, Partner | None] | None:
    """Return the request of a scenario that replaces the prompt, and the partner row, which is added to `scope` and
    `rows`; None if one is wrong.
    """
    asked_as, partner = statement.one_of("asked_as"), statement.one_of("partner")
    for clause in (asked_as, partner):
        if clause is not None and not examples:
            message = "pairs are of the texts of a row, and this is said of examples"
            program.diagnostics.error("E0202", message, clause.head, help="write `examples from DATASET`")
            return None
    partner_row = None
    if partner is not None:
        lowered = lower_partner(program, partner, scope)
        if lowered is None or not _check_not_evaluated(program, lowered[0].dataset, partner.name("dataset")):
            return None
        partner_row, rows[lowered[0].alias], scope[lowered[0].alias] = lowered
    if asked_as is None:
        return None, partner_row
    if statements := statement.of("pair_prompt"):
        message = f"export `{statement.name().text}` has a prompt of its own, or asks what a scenario does, not both"
        program.diagnostics.error(
            "E0202", message, asked_as.head, Label(statements[0].head, "the first"), help="remove one of them"
        )
        return None
    asks = lower_scenario_request(program, asked_as, rows)
    return None if asks is None else (asks, partner_row)


def _example_form(program: Program, statement: Statement, asks: ScenarioRequest | None, examples: bool) -> Type | None:
    """Return the type of the replies that an export of examples declares; None without one. Reports a mistake."""
    written = statement.one_of("returns")
    if written is None:
        return None
    if not examples:
        message = "pairs are of the texts of a row, and this is said of examples"
        program.diagnostics.error("E0202", message, written.head, help="write `examples from DATASET`")
        return None
    if asks is not None and _request(program, asks).shots:
        message = f"the worked examples of `{asks.step}` are answered in its own form"
        help_ = "name an arm without worked examples, or leave `returns` out"
        program.diagnostics.error("E0208", message, written.head, help=help_)
        return None
    return lower_returns(program, statement)


def _request(program: Program, asks: ScenarioRequest) -> Ask:
    """Return the step that an export asks."""
    treatments = program.scenarios[asks.scenario].treatments
    return next(treatment for treatment in treatments if treatment.arms == asks.arms).ask(asks.step)


def _held_out_datasets(program: Program, statement: Statement) -> tuple[str, ...]:
    """Return the data sets whose texts are held out. Reports one that is not read from a file."""
    holds = statement.one_of("holds")
    if holds is None:
        return ()
    names = holds.many("subsets")
    if not check_own_line(program, names, ("pairs", "examples", "for", "group", "prompt", "reply", "returns")):
        return ()
    datasets = []
    for name in names:
        if not isinstance(name, Name):
            program.diagnostics.error("E0106", "name a data set", name.span, help="`holds out DATASET`")
            break
        if rows_of_file(program, name, "its texts are not known yet") is None:
            break
        datasets.append(name.text)
    return tuple(datasets)


def _check_not_evaluated(program: Program, dataset: str, written: Name) -> bool:
    """Return true if no scenario asks about the rows of a data set; otherwise report it."""
    if not TrainingOverlap(program).asked_about(dataset):
        return True
    message = f"the rows of `{dataset}` are asked themselves, and who learned them would be graded on them"
    program.diagnostics.error("E0504", message, written.span, help="take a split that no scenario runs over")
    return False


def _prompt(program: Program, scope: Scope, statement: Statement) -> Template | None:
    """Return the template of the prompt; None without one, or if it is wrong."""
    statements = statement.of("pair_prompt")
    if not statements:
        return None
    texts = lower_texts(program, scope, statements, f"the prompt of export `{statement.name().text}`").texts
    template = texts.get(program.languages[0])
    if template is not None and media_printed(template):
        message = f"the prompt of export `{statement.name().text}` shows images or files, and training data are texts"
        program.diagnostics.error("E0301", message, statements[0].head, help="print texts alone")
    return template


def _reply(program: Program, scope: Scope, statement: Statement) -> PairedReply | None:
    """Lower `reply VALUE [from LIST as ALIAS] [by WHO] [worth WORTH] [when COND]`; None if it is wrong."""
    attempt = program.diagnostics.attempt()
    elements, alias, listed = None, statement.find_name("alias"), statement.find("list")
    if listed is not None and alias is not None:
        elements = check(program, listed, scope)
        element = _element(elements.type)
        if alias.text in scope:
            message = f"`{alias.text}` is the row already"
            program.diagnostics.error("E0202", message, alias.span, help="give it another name: `as x`")
        elif element is None and not elements.is_error:
            message = f"`{type_notation(elements.type)}` holds nothing to reply with"
            program.diagnostics.error("E0301", message, listed.span, help="name a list or a dialogue")
        if element is None or attempt.failed:
            return None
        fields = record_fields((alias.text,), element, alias.span)
        scope = {**scope, alias.text: Binding((alias.text,), element, fields, span=alias.span)}
    text = _text(program, scope, statement.syntax("value"))
    worth = None if (node := statement.find("worth")) is None else _worth(program, scope, node)
    by = (
        None
        if (node := statement.find("who")) is None
        else check(program, node, scope, TextType(), "who wrote a reply")
    )
    when = None if (node := statement.find("cond")) is None else check_condition(program, node, scope)
    if attempt.failed:
        return None
    return PairedReply(
        text=text.expr,
        each=expr_of(elements),
        alias=alias.text if alias is not None else None,
        worth=Literal_(value=0) if worth is None else worth.expr,
        by=expr_of(by),
        when=expr_of(when),
    )


def _worth(program: Program, scope: Scope, syntax: Syntax) -> Typed:
    """Return a number, or a list of criteria, whose value is the number of those met."""
    typed = check(program, syntax, scope)
    is_criteria = isinstance(typed.type, ListType) and fits(typed.type.of, BoolType())
    if not typed.is_error and not is_criteria and not fits(typed.type, NumberType()):
        message = f"the worth of a reply must be `number`, or a list of criteria, this is `{type_notation(typed.type)}`"
        program.diagnostics.error("E0301", message, syntax.span)
    return typed


def _text(program: Program, scope: Scope, syntax: Syntax) -> Typed:
    """Return a text. If it may be missing, such a row has no reply."""
    typed = check(program, syntax, scope)
    if not typed.is_error and not fits(without_optional(typed.type), TextType()):
        help_ = "take one of each: `reply t from LIST as t`" if typed.type.kind in ("list", "dialogue") else None
        message = f"a reply must be `text`, this is `{type_notation(typed.type)}`"
        program.diagnostics.error("E0301", message, syntax.span, help=help_)
    return typed


def _element(type_: Type) -> Type | None:
    if isinstance(type_, ListType):
        return type_.of
    return TURN if type_.kind == "dialogue" else None


# Exports of replies

CLAUSES = ("best", "every", "pairs", "rows", "where", "format", "holds")
"""Words that begin a line of an export, and so are no dimension or subset continued from the line before."""


def lower_exports(program: Program) -> None:
    """Lower every `export`."""
    statements = program.of("export")
    base = replace(read_measures(program, silent=True), program=program) if statements else None
    for statement in statements:
        assert base is not None
        export = _export(program, replace(base, terms=[]), statement)
        if export is not None and export.name not in program.exports:
            program.exports[export.name] = export


def _export(program: Program, reading: FigureContext, statement: Statement) -> Export | Pairing | None:
    """Lower one export; None if it is wrong."""
    attempt = program.diagnostics.attempt()
    name = statement.name()
    report_misplaced(program, statement)
    if attempt.failed:
        return None
    paired, examples = statement.one_of("pairs_from"), statement.one_of("examples_from")
    if paired is not None and examples is not None:
        label = Label(paired.head, "the first")
        message = f"export `{name.text}` is of pairs or of examples, not both"
        program.diagnostics.error("E0202", message, examples.head, label, help="make two exports")
        return None
    paired = paired or examples
    if paired is not None:
        return lower_pairing(program, statement, paired)
    best, pairs, rows = (statement.one_of(word) for word in ("best", "pairs", "rows"))
    if best is not None and not check_own_line(program, best.many("dims"), CLAUSES):
        return None
    holds = statement.one_of("holds")
    if holds is not None and not check_own_line(program, holds.many("subsets"), CLAUSES):
        return None
    _check_kind(program, statement, best, pairs, rows)
    if attempt.failed:
        return None
    every = statement.one_of("every")
    if every is not None and best is None:
        message = "`every reply` is of the models that are best, and this export is of pairs"
        program.diagnostics.error("E0202", message, every.head, help="leave it out")
        return None
    chosen = best or pairs
    assert chosen is not None and rows is not None
    role = _role(program, chosen.name("role"))
    step = _step(program, rows.name("step"), chosen.name("role") if role else None)
    where = _where(program, statement.one_of("only"))
    measure = (
        _best(reading, chosen) if best is not None else _pairs(reading, chosen, rows.name("step") if step else None)
    )
    margin = _margin(program, chosen)
    held = _held_out_subsets(program, holds)
    if attempt.failed or measure is None:
        return None
    format_: Literal["chat", "completion"] = "chat"
    written = statement.one_of("format")
    if written is not None and written.has("completion"):
        format_ = "completion"
    return Export(
        name=name.text,
        kind="best" if best is not None else "pairs",
        role=chosen.name("role").text,
        measure=measure[0],
        per=measure[1],
        every=every is not None,
        margin=margin,
        rows=rows.name("step").text,
        format=format_,
        where=expr_of(where),
        holds_out=held,
    )


def _check_kind(
    program: Program, statement: Statement, best: Statement | None, pairs: Statement | None, rows: Statement | None
) -> None:
    """Check that an export says what it exports, and whose replies."""
    name = statement.name().text
    lacking = statement.block.span if statement.block is not None else None
    if best is not None and pairs is not None:
        label = Label(best.head, "the first")
        message = f"export `{name}` is of the best replies or of pairs, not both"
        program.diagnostics.error("E0202", message, pairs.head, label, help="make two exports")
    if best is None and pairs is None:
        message = f"export `{name}` does not say what it exports"
        help_ = "write `best of ROLE by MEASURE`, `pairs of ROLE by SCORE`, or `pairs` or `examples from DATASET`"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
    if rows is None:
        message = f"export `{name}` does not say whose replies it exports"
        program.diagnostics.error("E0206", message, statement.head, help="write `rows STEP`", lacking=lacking)


def _role(program: Program, role: Name) -> bool:
    if not program.is_declared("role", role):
        return False
    if program.roles[role.text].kind == "compared":
        return True
    compared = [role.name for role in program.roles.values() if role.kind == "compared"]
    help_ = f"write `of {compared[0]}`" if compared else "mark the role under test: `role candidate compared`"
    message = f"`{role.text}` is not compared, so none of its models is better than another"
    program.diagnostics.error("E0208", message, role.span, help=help_)
    return False


def _step(program: Program, step: Name, role: Name | None) -> bool:
    """Return true if a scenario asks the role in a step of that name; otherwise report it, if no scenario is wrong."""
    asks = [ask for scenario in program.scenarios.values() for ask in scenario.steps if isinstance(ask, Ask)]
    same = [ask for ask in asks if step.text in (ask.name, ask.script)]
    if not same:
        if len(program.scenarios) == len(program.declared.get("scenario", {})):
            names = list(dict.fromkeys(ask.name for ask in asks if role is None or ask.role == role.text))
            some = ", ".join(f"`{name}`" for name in names[:8]) or "no such step"
            help_ = suggest(step.text, names, f"there is {some}")
            message = f"no scenario asks `{step.text}`"
            program.diagnostics.error("E0201", message, step.span, help=help_, unknown=step.text)
        program.diagnostics.follows()
        return False
    for statement in program.of("scenario"):
        for inner in statement.of("ask"):
            if inner.name().text == step.text:
                program.index.use(step.span, inner.name().span)
    if any(_shows_media(ask, scenario) for scenario in program.scenarios.values() for ask in same):
        message = f"`{step.text}` is asked with images or files, and training data are texts"
        help_ = "export a step whose prompt is text"
        program.diagnostics.error("E0301", message, step.span, help=help_)
        return False
    if role is None or any(ask.role == role.text for ask in same):
        return role is not None
    message = f"`{step.text}` is asked of `{same[0].role}`, not of `{role.text}`"
    program.diagnostics.error("E0208", message, step.span, help=f"name an ask of `{role.text}`")
    return False


def _shows_media(ask: Ask, scenario: Scenario) -> bool:
    """Return true if a request has an image or file in its texts or in those of the ask it continues."""
    if ask not in scenario.steps:
        return False
    texts = (ask.system, ask.prompt, *(text for shots in ask.shots for text in (shots.prompt, shots.reply)))
    if any(media_printed(template) for text in texts if text is not None for template in text.values()):
        return True
    before = (step for step in scenario.steps if isinstance(step, Ask) and step.name == ask.continues)
    return any(_shows_media(earlier, scenario) for earlier in before)


def _best(reading: FigureContext, statement: Statement) -> tuple[str, tuple[str, ...]] | None:
    """Return the measure by which a model is best, and the dimensions for each cell of which it is chosen."""
    measure = find_measure(reading, statement.syntax("measure"))
    if measure is None:
        return None
    per: list[str] = []
    for syntax in statement.many("dims"):
        text = dimension_text(syntax)
        if text in measure.measure.by:
            _note_use(reading.program, syntax)
            per.append(text)
            continue
        if (
            read_dimension(reading.program, syntax, [leaf.groupable for leaf in measure.typed_figure.leaves])
            is not None
        ):
            goes = ", ".join(f"`{dim}`" for dim in measure.measure.by)
            help_ = f"it goes by {goes}" if goes else f"leave out `per`, or take the measure by `{text}`"
            reading.error("E0621", f"`{measure.measure.name}` does not go by `{text}`", syntax.span, help_)
        return None
    return measure.measure.name, tuple(dict.fromkeys(per))


def _note_use(program: Program, syntax: Syntax) -> None:
    for kind in ("axis", "arm"):
        if isinstance(syntax, Name) and syntax.text in program.declared.get(kind, {}):
            program.index.use(syntax.span, program.declared[kind][syntax.text].span)


def _pairs(reading: FigureContext, statement: Statement, rows: Name | None) -> tuple[str, tuple[str, ...]] | None:
    """Return the score by which one reply is better than another."""
    syntax = statement.syntax("measure")
    operand = find_operand(reading, syntax)
    if operand is None:
        return None
    if isinstance(operand, LoweredMeasure):
        message = f"`{operand.measure.name}` is a measure: it says which model is better, and of no reply"
        reading.error("E0301", message, syntax.span, "name a scorer or a score")
        return None
    if operand.kind == "compare" or not operand.stored:
        reading.error(
            "E0301", f"`{operand.name}` is no score of a single reply", syntax.span, "name a scorer or a score"
        )
        return None
    if operand.type.kind == "choice" and not operand.type.worth:
        message = f"`{operand.name}` is a choice among names, of which none is better than another"
        reading.error("E0301", message, syntax.span, "give each name a number: `choice(A: 1, B: 0)`")
        return None
    if rows is not None and rows.text not in operand.of and operand.complete:
        message = f"`{operand.name}` says nothing of `{rows.text}`: it scores {_listed(operand)}"
        reading.error("E0301", message, syntax.span, f"name a score of `{rows.text}`")
        return None
    name = f"{operand.within}.{operand.name}" if operand.within is not None else operand.name
    return name, ()


def _listed(operand: Operand) -> str:
    return " and ".join(f"`{name}`" for name in sorted(operand.of))


def _margin(program: Program, statement: Statement) -> float:
    node = statement.find("number")
    if not isinstance(node, Number):
        return 0.0
    if node.value < 0:
        message = "the better reply of a pair is better by 0 at least"
        program.diagnostics.error("E0301", message, node.span, help="write a margin above 0, or none")
    return float(node.value)


def _held_out_subsets(program: Program, statement: Statement | None) -> tuple[str, ...]:
    """Return the subsets that are held out."""
    if statement is None:
        return ()
    names = [node for node in statement.many("subsets") if isinstance(node, Name)]
    return tuple(dict.fromkeys(name.text for name in names if program.is_declared("subset", name)))


def _where(program: Program, statement: Statement | None) -> Typed | None:
    """Return the condition over `scenario` and the axes; None without one."""
    if statement is None:
        return None
    names = tuple(program.declared.get("scenario", {}))
    scope = {axis.name: Binding((axis.name,), axis_type(axis)) for axis in program.axes.values()}
    for name, declared in program.declared.get("axis", {}).items():
        scope[name] = replace(scope.get(name, Binding((name,))), span=declared.span)
    scope["scenario"] = Binding(("scenario",), ChoiceType(values=names, axis="scenario"))
    return check_condition(program, statement.syntax("filter"), scope)


# Subsets

MOST_STRATA = 10_000
"""The most strata of a scenario that are counted one by one."""


def lower_subsets(program: Program) -> None:
    """Lower every `subset`."""
    for statement in program.of("subset"):
        subset = _subset(program, statement)
        if subset is not None and subset.name not in program.subsets:
            program.subsets[subset.name] = subset


def _subset(program: Program, statement: Statement) -> Subset | None:
    """Lower one subset. Reports mistakes and returns None."""
    name = statement.name().text
    take, spread, seed = (statement.one_of(word) for word in ("take", "spread", "subset_seed"))
    if take is None:
        lacking = statement.block.span if statement.block is not None else None
        message = f"subset `{name}` does not say how many items it takes"
        help_ = "write `take 10 per scenario`"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return None
    count = take.syntax("count")
    assert isinstance(count, Number)
    if count.value < 1:
        program.diagnostics.error("E0301", "a subset takes one item at least", count.span, help="write `take 10`")
        return None
    per = _dimensions(program, take)
    over = _dimensions(program, spread) if spread is not None else ()
    if per is None or over is None:
        return None
    both = [dim for dim in over if dim in per]
    if both and spread is not None:
        message = f"`{both[0]}` parts the strata already, so nothing in one can be spread over it"
        place = spread.many("dims")[over.index(both[0])].span
        program.diagnostics.error("E0202", message, place, help="leave it out here")
        return None
    node = seed.syntax("count") if seed is not None else None
    number = int(node.value) if isinstance(node, Number) else 0
    _warn_of_small_strata(program, take, int(count.value), per)
    held = statement.one_of("withheld") is not None
    release = program.release_of(statement.span)
    scenarios = program.scenarios_in.get(release.name, ()) if release is not None else ()
    return Subset(
        name=name, take=int(count.value), per=per, spread=over, seed=number, withheld=held, scenarios=scenarios
    )


def _dimensions(program: Program, statement: Statement) -> tuple[str, ...] | None:
    if not check_own_line(program, statement.many("dims"), ("take", "spread", "seed", "withheld")):
        return None
    if len(program.scenarios) < len(program.declared.get("scenario", {})):
        return None  # a scenario with a reported mistake may have the dimension
    groupable = Groupable("this benchmark", tuple(program.scenarios.values()), frozenset({"scenario"}), arms=False)
    return read_dimensions(program, statement.many("dims"), [groupable])


def _warn_of_small_strata(program: Program, statement: Statement, take: int, per: tuple[str, ...]) -> None:
    """Warn once, of the smallest stratum that holds fewer items than are taken."""
    if "scenario" not in per:
        return  # items are counted by scenario, and these strata are not
    small = [
        (most, scenario, cell)
        for scenario in program.scenarios.values()
        for cell, most in _strata(program, scenario, per)
        if 0 < most < take
    ]
    if not small:
        return
    most, scenario, cell = min(small, key=lambda stratum: stratum[0])
    where = "".join(f", {axis} {value}," for axis, value in cell.items()).replace(",,", ",")
    items = "1 item" if most == 1 else f"{most} items"
    message = f"scenario `{scenario.name}`{where} has {items} at most, fewer than {take}"
    others = len(small) - 1
    notes = [f"{others} more {'strata are' if others > 1 else 'stratum is'} too small"] if others else []
    help_ = "take fewer, or go by fewer dimensions"
    program.diagnostics.warning("W0620", message, statement.head, help=help_, notes=notes)


def _strata(program: Program, scenario: Scenario, per: tuple[str, ...]) -> Iterator[tuple[Mapping[str, str], int]]:
    """Yield the strata of a scenario with an upper bound of their items.

    Only the total of a file's rows is known here, so every stratum may hold all of them.
    """
    axes = [program.axes[name] for name in scenario.axes]
    parting = [axis for axis in axes if axis.name in per]
    items_of_cell = _items_of_a_cell(program, scenario)
    if math.prod(len(axis.values) for axis in parting) > MOST_STRATA:
        return
    for values in product(*(axis.values for axis in parting)):
        cell = {axis.name: value.name for axis, value in zip(parting, values, strict=True)}
        cells = count_cells([_only(axis, cell) for axis in axes])
        if cells:
            yield cell, scenario.row_count if items_of_cell is None else cells * items_of_cell


def _only(axis: Axis, cell: Mapping[str, str]) -> Axis:
    """Return the axis reduced to its value in the cell."""
    axis_values = tuple(value for value in axis.values if cell.get(axis.name, value.name) == value.name)
    return axis.model_copy(update={"values": axis_values})


def _items_of_a_cell(program: Program, scenario: Scenario) -> int | None:
    """Return the number of items in every cell of a scenario; None if it is unknown."""
    if scenario.rows is None:
        return 1
    dataset = program.generated.get(scenario.rows.dataset)
    if dataset is None or dataset.source is not None or dataset.axes != scenario.axes:
        return None
    return dataset.count
