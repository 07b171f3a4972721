"""Lowering of scorers (judges, rewards, similarities, formulas, Python functions, programs), user's functions, and
allocation tables.

A formula scorer or top-level `let` is an expression, which replaces its calls. Scorers that ask a judge or read data
are lowered after the data sets (`DeferredScorers`); the others before, because data sets and judges may use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import field
from functools import partial
from typing import Literal, NamedTuple

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label, nearest, suggest
from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.language.intervals import INTERVAL_ENDS
from tripos_compiler.language.references import names_in, template_expressions
from tripos_compiler.library.calls import call
from tripos_compiler.library.functions import texts
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.library.types import fits, type_notation
from tripos_compiler.lowering.declarations import in_order, lower_title
from tripos_compiler.lowering.reply_forms import warn_of_two_forms
from tripos_compiler.lowering.requests import fields_read_alike, lower_request, lower_samples
from tripos_compiler.plan import (
    VERDICTS,
    Counted,
    DeclaredSettings,
    DialogueType,
    Expr,
    Hole,
    IntegerType,
    Loop,
    MetricsType,
    NumberType,
    Plugin,
    RecordType,
    Ref,
    Scorer,
    Settings,
    Template,
    TextType,
    Type,
    probability_fields,
)
from tripos_compiler.replies.stated_forms import mistake_in
from tripos_compiler.resolve.files import scorer_name
from tripos_compiler.resolve.program import (
    ERROR,
    KINDS,
    Binding,
    FormulaScorer,
    Program,
    Scope,
    Typed,
    expr_of,
    numbers_of,
)
from tripos_compiler.resolve.python_functions import SHIPPED, PythonFunction, ShippedProgram, read_program, read_python
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import (
    Argument,
    CallExpr,
    Entry,
    Member,
    Name,
    Node,
    Number,
    RangeExpr,
    SymbolExpr,
    Syntax,
    TableRow,
    Text,
    free_names,
    transform,
    walk,
)
from tripos_compiler.typecheck.calls import DEEPEST_FORMULA, is_score
from tripos_compiler.typecheck.expressions import Elaborator, check, holds_texts, join_call
from tripos_compiler.typecheck.templates import CheckedHole, LocalizedTemplate
from tripos_compiler.typecheck.types import named_choice, read_type

# Parameters, functions and aggregates in Python


@dataclass(frozen=True)
class Parameters:
    """Parameters with the places of their names and types."""

    types: dict[str, Type]
    names: dict[str, Name]
    places: dict[str, Span]

    @property
    def scope(self) -> Scope:
        """The scope of expressions in the scorer."""
        return {name: Binding((name,), of, span=self.names[name].span) for name, of in self.types.items()}

    def shown(self, name: str) -> str:
        """Return the signature for messages, without the result: `near(a: text, b: number)`."""
        return f"{name}({', '.join(f'{key}: {type_notation(of)}' for key, of in self.types.items())})"


def lower_parameters(program: Program, owner: str, arguments: tuple[Argument, ...]) -> Parameters | None:
    """Return the parameters; None if one is wrong."""
    types: dict[str, Type] = {}
    names: dict[str, Name] = {}
    places: dict[str, Span] = {}
    attempt = program.diagnostics.attempt()
    for argument in arguments:
        if argument.name is None or len(argument.elements) != 1:
            help_ = "it is written `name: type`"
            program.diagnostics.error("E0106", "a parameter needs a name and a type", argument.span, help=help_)
            continue
        name, node = argument.name, argument.elements[0]
        type_ = read_type(program, node)
        earlier = names.setdefault(name.text, name)
        if earlier is not name:
            message = f"parameter `{name.text}` is declared twice"
            label = Label(earlier.span, "first declared here")
            program.diagnostics.error("E0202", message, name.span, label, help="rename one", recovered=True)
            continue
        if type_ is not None:
            types[name.text] = type_
            places[name.text] = node.span
            program.index.define("parameter", name.text, name.span, owner, type_notation(type_))
            program.value_spans.setdefault((owner, name.text), name.span)
    return None if attempt.failed else Parameters(types, names, places)


def lower_functions(program: Program) -> None:
    """Lower every `function`."""
    for statement in program.of("function"):
        name = statement.name()
        if program.declared["function"][name.text] is not name:
            continue  # reported as declared twice
        free = is_name_available(program, "function", name)
        read = read_python(program, statement)
        if read is None or not free:
            continue
        plugin = read[0].model_copy(update={"name": name.text})
        program.index.define("function", name.text, name.span, detail=plugin_shown(plugin))
        program.plugins[name.text] = plugin


OF_VALUES = ("number", "integer", "bool", "text", "choice")
"""The kinds of values in the lists that an aggregate in Python takes."""


def lower_aggregates(program: Program) -> None:
    """Lower every `aggregate NAME(params) -> number from "file.py:function"`."""
    for statement in program.of("aggregate"):
        call = statement.syntax("call")
        name = scorer_name(call)
        if not isinstance(call, CallExpr) or name is None:
            help_ = 'it is written `aggregate NAME(a: list<number>) -> number from "file.py:function"`'
            program.diagnostics.error("E0106", "an aggregate needs a name and parameters", call.span, help=help_)
            continue
        free = program.declared["aggregate"].get(name.text) is name and is_name_available(program, "aggregate", name)
        parameters = lower_parameters(program, f"aggregate {name.text}", call.arguments)
        node = statement.syntax("type")
        returns = read_type(program, node)
        if returns is not None and returns.kind != "number":
            program.diagnostics.error("E0301", "this is not a figure", node.span, help="a figure is a `number`")
            returns = None
        read = read_python(program, statement, alone=True)
        if (
            not free
            or read is None
            or parameters is None
            or returns is None
            or not _takes_lists(program, call, parameters)
        ):
            continue
        own = {"name": name.text, "parameters": parameters.types, "optional": (), "returns": returns, "purity": None}
        plugin = read[0].model_copy(update={**own, "aggregate": True})
        if _agrees(program, name, plugin, parameters, node.span, read[1]):
            program.index.define("aggregate", name.text, name.span, detail=plugin_shown(plugin))
            program.aggregates[name.text] = plugin


def _takes_lists(program: Program, call: CallExpr, parameters: Parameters) -> bool:
    """Return true if all parameters are lists of values; reports the first that is not."""
    if not parameters.types:
        message = "an aggregate takes a list of values, and this takes nothing"
        program.diagnostics.error("E0301", message, call.span, help="write `(values: list<number>)`")
        return False
    for name, type_ in parameters.types.items():
        if type_.kind != "list" or type_.of.kind not in OF_VALUES:
            message = f"`{name}` is `{type_notation(type_)}`, and an aggregate takes lists of values"
            help_ = "write `list<number>`, or a list of texts, choices, or true and false"
            program.diagnostics.error("E0301", message, parameters.places[name], help=help_)
            return False
    return True


def plugin_shown(plugin: Plugin) -> str:
    """Return the signature for messages, for example `near(a: text, b: number (optional)) -> bool`."""
    parameters = ", ".join(
        f"{key}: {type_notation(of)}{' (optional)' if key in plugin.optional else ''}"
        for key, of in plugin.parameters.items()
    )
    return f"{plugin.name}({parameters}) -> {type_notation(plugin.returns)}"


def is_name_available(program: Program, kind: str, name: Name) -> bool:
    """Return true if nothing else that can be called has this name; otherwise report it."""
    if name.text in FUNCTIONS:
        message = f"`{name.text}` is a function of the library"
        program.diagnostics.error("E0202", message, name.span, help=f"rename this {kind}")
        return False
    if kind == "aggregate" and name.text in AGGREGATES:
        message = f"`{name.text}` is an aggregate of the library"
        program.diagnostics.error("E0202", message, name.span, help=f"rename this {kind}")
        return False
    if kind == "aggregate" and name.text in INTERVAL_ENDS:
        message = f"`{name.text}` is an end of an interval"
        program.diagnostics.error("E0202", message, name.span, help=f"rename this {kind}")
        return False
    before = {"function": ("scorer",), "aggregate": ("scorer", "function")}.get(kind, ())
    for noun in before:
        other = program.declared[noun].get(name.text)
        if other is None:
            continue
        label = Label(other.span, f"the {noun}")
        message = f"`{name.text}` is a scorer already" if noun == "scorer" else f"`{name.text}` is a function already"
        program.diagnostics.error("E0202", message, name.span, label, help="rename one of them")
        return False
    return True


def lower_python_scorer(program: Program, statement: Statement, name: Name, parameters: Parameters | None) -> None:
    """Lower `scorer NAME(params) -> TYPE from "file.py:function"`. The declaration and the function must agree."""
    returns = score_type(program, statement)
    read = read_python(program, statement)
    if read is None or parameters is None or returns is None:
        return
    plugin, python = read
    plugin = plugin.model_copy(
        update={"name": name.text, "parameters": parameters.types, "optional": (), "returns": returns}
    )
    if _agrees(program, name, plugin, parameters, statement.syntax("type").span, python):
        program.index.define("scorer", name.text, name.span, detail=plugin_shown(plugin))
        program.plugins.setdefault(name.text, plugin)


def score_type(program: Program, statement: Statement) -> Type | None:
    """Return the declared type of a scorer. Reports a type that is not a score and returns None."""
    node = statement.syntax("type")
    returns = read_type(program, node)
    if returns is not None and returns.kind not in ("bool", "integer", "number"):
        help_ = "a score is a bool, an integer, a number or a range"
        program.diagnostics.error("E0301", "this is not a score", node.span, help=help_)
        return None
    return returns


def _agrees(
    program: Program, name: Name, plugin: Plugin, parameters: Parameters, returns: Span, python: PythonFunction
) -> bool:
    """Return true if the function can be called as declared. Reports every difference with both signatures.

    `returns` is the place of the declared type.
    """
    attempt = program.diagnostics.attempt()

    def differs(message: str, where: Span, help_: str) -> None:
        notes = [f"declared: `{plugin_shown(plugin)}`", f"in Python: `{python.notation}`"]
        label = Label(python.span, "the function")
        program.diagnostics.error("E0313", message, where, label, help=help_, notes=notes)

    for key, declared in plugin.parameters.items():
        of = python.parameters.get(key)
        if of is None:
            help_ = suggest(
                key, set(python.parameters) - set(plugin.parameters), "remove it, or add it to the function"
            )
            differs(f"`{plugin.function}` has no parameter `{key}`", parameters.names[key].span, help_)
        elif not fits(declared, of):
            message = f"`{key}` is `{type_notation(declared)}` here, and the function takes `{type_notation(of)}`"
            differs(message, parameters.places[key], f"write `{key}: {type_notation(of)}`, or change the function")
    misnamed = any(key not in python.parameters for key in plugin.parameters)
    for key, of in python.parameters.items():
        if key not in plugin.parameters and key not in python.optional and not misnamed:
            message = f"`{plugin.function}` needs `{key}`, which `{plugin.name}` does not take"
            differs(message, name.span, f"add `{key}: {type_notation(of)}`")
    if not fits(python.returns, plugin.returns):
        notation = type_notation(python.returns)
        message = f"`{plugin.name}` gives `{type_notation(plugin.returns)}`, and the function returns `{notation}`"
        help_ = f"write `-> {notation}`, or change the function"
        if python.returns.kind == "optional":
            help_ = "let the function raise an error where there is no score"
        differs(message, returns, help_)
    return not attempt.failed


# Rewards and similarities

REASONS = ("text", "text?", "list<text>")
"""Types of the fields beside the verdict in the record of a judge."""
SYSTEM = "Cosine similarity of the embeddings of two texts."
"""The system text of a similarity, for the record only: an embedding model is not sent it."""


@dataclass(frozen=True)
class ScorerOutput:
    """The output of a scorer. `type` None means the allocated metrics."""

    type: Type | None
    source: Literal["reply", "reward", "similarity"] = "reply"
    weighted: bool = False
    record: RecordType | None = None
    form: dict[str, str] = field(default_factory=dict)
    counts: Counted = "every"
    stated: bool = False
    maximum: Expr | None = None
    """Upper end of the scale, if it depends on the arguments."""
    scale: str = ""
    """Notation of such a scale."""

    @property
    def shown(self) -> str:
        """The output in the notation of a spec."""
        if self.type is None:
            return "allocated metrics"
        if self.scale:
            return self.scale
        return type_notation(self.type) if self.source == "reply" else self.source


def check_fair(program: Program, statement: Statement, role: Name, gives: ScorerOutput) -> None:
    """Check that this role can give this output. Warns of a judge that is itself under test."""
    declared = program.roles.get(role.text)
    compared = declared is not None and declared.kind == "compared"
    if gives.source == "reply":
        if compared:
            message = f"`{role.text}` is under test and judges itself"
            help_ = "let a role of its own judge: `role judge`"
            program.diagnostics.warning("W0703", message, role.span, help=help_)
        return
    if compared:
        message = f"`{role.text}` is compared, and a reward is given by a model that is not"
        help_ = "declare a role for the reward model: `role critic`"
        program.diagnostics.error("E0705", message, role.span, help=help_)
        return
    for setting in statement.body:
        if setting.construct in (*Settings.model_fields, "repeats", "unsure"):
            message = f"a reward model writes no text, so `{_written(setting)}` changes nothing"
            program.diagnostics.error("E0705", message, setting.head, help="remove it")


def lower_chat(program: Program, scope: Scope, statement: Statement, gives: ScorerOutput | None) -> Typed | None:
    """Return the dialogue that a reward model judges; None without one."""
    written = statement.one_of("chat")
    if written is None:
        return None
    if gives is not None and gives.source != "reward":
        help_ = "put it into the prompt: `{{ transcript(…) }}`"
        message = "a judge that writes is sent no dialogue as messages: it would go on with it"
        program.diagnostics.error("E0705", message, written.head, help=help_)
        return None
    return check(program, written.syntax("value"), scope, DialogueType(), "what is chatted")


def gives_similarity(statement: Statement) -> bool:
    """Return true if a scorer gives the similarity of two texts by an embedding model."""
    gives = statement.one_of("gives")
    node = gives.find("type") if gives is not None and not gives.has("metrics") else None
    return isinstance(node, Name) and node.text == "similarity"


def lower_similarity(program: Program, statement: Statement, name: Name, parameters: Parameters | None) -> None:
    """Declare a scorer that gives the cosine of the embeddings of its two texts."""
    role = statement.name("role")
    if not program.is_declared("role", role) or parameters is None:
        return
    if program.roles[role.text].kind == "compared":
        message = f"`{role.text}` is compared, and a similarity is given by a model that is not"
        program.diagnostics.error("E0705", message, role.span, help="declare a role for it: `role encoder`")
        return
    for clause in statement.body:
        if clause.construct != "gives":
            message = f"an embedding model is sent the two texts alone, so `{_written(clause)}` changes nothing"
            program.diagnostics.error("E0705", message, clause.head, help="remove it")
    gives = statement.one_of("gives")
    if gives is not None and (gives.labels() or gives.has("stated") or gives.block is not None):
        message = "an embedding model writes no text, so its reply has no form"
        program.diagnostics.error("E0705", message, gives.head, help="write `gives similarity`")
    if isinstance(statement.find("stronger"), Name):
        message = "a similarity is never unsure, so no stronger role is asked"
        program.diagnostics.error("E0705", message, statement.head, help="remove `then … when unsure`")
    if [type_.kind for type_ in parameters.types.values()] != ["text", "text"]:
        message = f"a similarity is that of two texts, and `{parameters.shown(name.text)}` takes others"
        help_ = f"write `scorer {name.text}(one: text, other: text) by {role.text} {{ gives similarity }}`"
        program.diagnostics.error("E0705", message, name.span, help=help_)
        return
    one, other = (
        Hole(expr=call(texts.json, Ref(path=(parameter,))), type=TextType()) for parameter in parameters.types
    )
    program.index.define("scorer", name.text, name.span, detail=f"{parameters.shown(name.text)} -> similarity")
    scorer = Scorer(
        name=name.text,
        role=role.text,
        params=parameters.types,
        system={language: Template(parts=(SYSTEM,)) for language in program.languages},
        prompt={language: Template(parts=("[", one, ", ", other, "]")) for language in program.languages},
        gives=NumberType(),
        source="similarity",
    )
    program.scorers.setdefault(name.text, scorer)


def _written(statement: Statement) -> str:
    return {"repeats": "samples", "input_title": "title"}.get(statement.construct, statement.construct)


# Programs


def lower_program_scorer(program: Program, statement: Statement, name: Name, parameters: Parameters | None) -> None:
    """Lower a scorer whose values come from a program, which is started only during a run."""
    returns = score_type(program, statement)
    shipped = read_program(program, statement)
    if shipped is None or parameters is None or returns is None:
        return
    called = name.text if shipped.external != "shipped" else shipped.version.partition(" ")[0]
    plugin = shipped.model_copy(
        update={"name": name.text, "function": called, "parameters": parameters.types, "returns": returns}
    )
    if plugin.external == "shipped":
        places = (parameters, name.span, statement.syntax("type").span)
        if not _program_agrees(program, plugin, SHIPPED[called], *places):
            return
    program.index.define("scorer", name.text, name.span, detail=plugin_shown(plugin))
    program.plugins.setdefault(name.text, plugin)


def _program_agrees(
    program: Program, plugin: Plugin, shipped: ShippedProgram, parameters: Parameters, name: Span, returns: Span
) -> bool:
    """Return true if a program of Tripos takes the parameters of a scorer and returns its type; reports every
    difference.
    """
    attempt = program.diagnostics.attempt()
    listed = ", ".join(f"{key}: {type_notation(of)}" for key, of in shipped.parameters.items())
    notes = [f"`{plugin.function}` takes: {listed}"]
    report = program.diagnostics.error
    for key, of in plugin.parameters.items():
        type_ = shipped.parameters.get(key)
        where = parameters.names[key].span
        if type_ is None:
            report("E0313", f"`{plugin.function}` has no parameter `{key}`", where, help="remove it", notes=notes)
        elif not fits(of, type_):
            message = f"`{key}` is `{type_notation(of)}` here, and the program takes `{type_notation(type_)}`"
            report("E0313", message, where, help=f"write `{key}: {type_notation(type_)}`", notes=notes)
    for key, of in shipped.parameters.items():
        if key not in plugin.parameters and key not in shipped.optional:
            message = f"`{plugin.function}` needs `{key}`, which `{plugin.name}` does not take"
            report("E0313", message, name, help=f"add `{key}: {type_notation(of)}`", notes=notes)
    if type_notation(plugin.returns) not in shipped.returns:
        declared = " or ".join(f"`{type_}`" for type_ in shipped.returns)
        message = f"`{plugin.name}` gives `{type_notation(plugin.returns)}`, and the program gives {declared}"
        report("E0313", message, returns, help=f"write `-> {shipped.returns[0]}`", notes=notes)
    return not attempt.failed


# Formulas and `let`


def expand_text_holes(program: Program, value: Syntax) -> tuple[Syntax, tuple[Syntax, ...]] | None:
    """Return the value of a `let` with every text with holes replaced by the equivalent call of `join`, and the
    expressions in the holes; None if a hole is malformed.
    """
    attempt = program.diagnostics.attempt()
    holes: list[Syntax] = []
    node = transform(value, partial(_joined_text, program, holes))
    return None if attempt.failed else (node, tuple(holes))


def _joined_text(program: Program, holes: list[Syntax], node: Node) -> Node | None:
    if not isinstance(node, Text):
        return None
    return join_call(node, holes, program.diagnostics) if "{{" in node.value else node


def lower_formula(
    program: Program, statement: Statement, name: Name, parameters: Parameters | None
) -> tuple[FormulaScorer, Parameters] | None:
    """Return a formula, not yet checked. Returns None if its parameters are wrong or another scorer has its name."""
    if parameters is None or program.declared["scorer"][name.text] is not name:
        return None
    value = statement.syntax("value")
    if statement.construct == "formula":
        return FormulaScorer(name, parameters.types, value), parameters
    expanded = expand_text_holes(program, value)
    return (
        None
        if expanded is None
        else (FormulaScorer(name, parameters.types, expanded[0], False, expanded[1]), parameters)
    )


def formulas_using_judges_or_data(
    formulas: Sequence[FormulaScorer], judges: Set[str], data: Set[str]
) -> dict[str, str]:
    """Return the formulas that ask a judge or read a data set, directly or by another formula, each with the reason."""
    uses = {formula.name.text: set(_called(formula.value)) for formula in formulas}
    late = dict.fromkeys(judges, "asks a judge")
    late |= {
        formula.name.text: "looks into a data set"
        for formula in formulas
        if not data.isdisjoint({name.text for name in free_names(formula.value)} - formula.params.keys())
    }
    while newly_late := {
        name: min(late[used_name] for used_name in used & late.keys())
        for name, used in uses.items()
        if name not in late and used & late.keys()
    }:
        late |= newly_late
    return {name: why for name, why in late.items() if name in uses}


def lower_formulas(program: Program, formulas: list[tuple[FormulaScorer, Parameters]]) -> None:
    """Check every formula once, in order of dependency. Reports circles."""
    waiting = {formula.name.text: (formula, parameters) for formula, parameters in formulas}
    uses = {
        name: [used for used in _called(formula.value) if used in waiting] for name, (formula, _) in waiting.items()
    }
    order, cycles = in_order(uses)
    for cycle in cycles:
        message = f"these use each other in a circle: {' → '.join([*cycle, cycle[0]])}"
        help_ = "let one of them use its parameters only"
        program.diagnostics.error("E0203", message, waiting[cycle[0]][0].name.span, help=help_)
    depths = {name: 0 for cycle in cycles for name in cycle}  # reported, so their uses are not
    for name in order:
        if name not in depths:
            depths[name] = 1 + max((depths[used] for used in uses[name]), default=0)
            _check(program, *waiting[name], depths[name])


def _check(program: Program, formula: FormulaScorer, parameters: Parameters, depth: int) -> None:
    name = formula.name
    judge = _JudgePlaceholder(program) if formula.scores else None  # only a score can ask a judge
    if not holds_texts(Elaborator(program, parameters.scope, judge), formula.holes):
        return
    typed = check(program, formula.value, parameters.scope, judge=judge)
    if typed.is_error:
        return
    if formula.scores and typed.type.kind == "optional" and is_score(typed.type.of):
        help_ = "give a default: `default(…, 0)`"
        program.diagnostics.error("E0306", "this score may be missing", formula.value.span, help=help_)
        return
    if formula.scores and not is_score(typed.type):
        message = f"this is `{type_notation(typed.type)}`, not a score"
        program.diagnostics.error("E0301", message, formula.value.span, help="a score is a bool or a number")
        return
    if depth > DEEPEST_FORMULA:
        message = f"`{name.text}` uses scorers that use scorers, more than {DEEPEST_FORMULA} deep"
        program.diagnostics.error("E0203", message, name.span, help="write some of them out")
        return
    detail = f"{parameters.shown(name.text)} -> {type_notation(typed.type)}"
    program.index.define("scorer", name.text, name.span, detail=detail)
    program.formulas[name.text] = formula


class _JudgePlaceholder:
    """Placeholder for the verdicts of judges while a formula is checked, when there is no reply yet."""

    programs = True

    def __init__(self, program: Program) -> None:
        self.program = program

    def for_elements(self, loop: Loop) -> _JudgePlaceholder:
        """Return the placeholder itself."""
        return self

    def __call__(self, call: CallExpr, scorer: Scorer, arguments: dict[str, Typed]) -> Typed:
        if scorer.gives is not None:
            return Typed(Ref(path=(scorer.name,)), named_choice(scorer.value_type or scorer.gives))
        message = f"`{scorer.name}` gives several metrics, which is no value"
        self.program.diagnostics.error("E0301", message, call.span, help="use a scorer that gives one value")
        return ERROR


def _called(syntax: Syntax) -> Iterator[str]:
    """Yield the names of the functions that an expression calls."""
    for node in walk(syntax):
        if isinstance(node, CallExpr) and isinstance(node.function, Name):
            yield node.function.text


# Scorers

SCORER_SYNTAX = {
    "scorer": "scorer NAME(response: text) by ROLE { … }",
    "formula": "scorer NAME(response: text) = VALUE",
    "named": "let NAME(stem: text) = VALUE",
    "python_scorer": 'scorer NAME(response: text) -> TYPE from "file.py:function"',
    "program_scorer": 'scorer NAME(response: text) -> TYPE from program "file.py"',
}


@dataclass(frozen=True)
class DeferredScorers:
    """Scorers that are lowered after the data sets: judges, and formulas that ask them or read data."""

    judges: tuple[tuple[Statement, Name, Parameters | None], ...]
    formulas: tuple[tuple[FormulaScorer, Parameters], ...]


def lower_early_scorers(program: Program) -> DeferredScorers:
    """Lower the scorers that data sets and judges may use: those in Python, programs, and formulas that ask no judge
    and read no data.

    Returns the rest.
    """
    formulas: list[tuple[FormulaScorer, Parameters]] = []
    judges: list[tuple[Statement, Name, Parameters | None]] = []
    for statement in program.of(*KINDS["scorer"]):
        call = statement.syntax("call")
        name = scorer_name(call)
        if not isinstance(call, CallExpr) or name is None:
            help_ = f"it is written `{SCORER_SYNTAX[statement.construct]}`"
            what = "a `let` at the top of a file" if statement.construct == "named" else "a scorer"
            program.diagnostics.error("E0106", f"{what} needs a name and parameters", call.span, help=help_)
            continue
        if program.declared["scorer"][name.text] is name:
            is_name_available(program, "scorer", name)
        parameters = lower_parameters(program, f"scorer {name.text}", call.arguments)
        match statement.construct:
            case "scorer":
                judges.append((statement, name, parameters))
            case "python_scorer":
                lower_python_scorer(program, statement, name, parameters)
            case "program_scorer":
                lower_program_scorer(program, statement, name, parameters)
            case _:
                formula = lower_formula(program, statement, name, parameters)
                formulas.extend([formula] if formula is not None else [])
    data = frozenset(program.declared.get("dataset", {}))
    late = formulas_using_judges_or_data(
        [formula for formula, _ in formulas], {name.text for _, name, _ in judges}, data
    )
    program.late = {**{name.text: "asks a judge" for _, name, _ in judges}, **late}
    lower_formulas(program, [formula for formula in formulas if formula[0].name.text not in late])
    return DeferredScorers(tuple(judges), tuple(formula for formula in formulas if formula[0].name.text in late))


def lower_scorers(program: Program, waiting: DeferredScorers) -> None:
    """Lower the judges, then the formulas that ask them or read data."""
    for statement, name, parameters in waiting.judges:
        lower = lower_similarity if gives_similarity(statement) else _judge
        lower(program, statement, name, parameters)
    program.late = {}
    lower_formulas(program, list(waiting.formulas))


def _lower_input_titles(program: Program, statement: Statement, name: Name, parameters: Parameters) -> None:
    """Lower the titles of a judge's parameters. Reports one of no parameter, and a second one of a parameter."""
    titled: dict[str, Name] = {}
    for title in statement.of("input_title"):
        parameter = title.name("parameter")
        earlier = titled.setdefault(parameter.text, parameter)
        if parameter.text not in parameters.names:
            message = f"scorer `{name.text}` has no parameter `{parameter.text}`"
            named = list(parameters.names)
            help_ = suggest(parameter.text, named, f"it has {', '.join(f'`{each}`' for each in named)}")
            program.diagnostics.error("E0201", message, parameter.span, help=help_, unknown=parameter.text)
        elif earlier is not parameter:
            label = Label(earlier.span, "first written here")
            message = f"`{parameter.text}` has a title already"
            program.diagnostics.error("E0202", message, parameter.span, label, help="remove one")
        else:
            program.index.use(parameter.span, parameters.names[parameter.text].span)
            lower_title(program, "input", f"{name.text}.{parameter.text}", f"the title of `{parameter.text}`", title)


def _judge(program: Program, statement: Statement, name: Name, parameters: Parameters | None) -> None:
    """Lower a judge or reward model."""
    attempt, role = program.diagnostics.attempt(), statement.name("role")
    role_known = program.is_declared("role", role)
    gives, prompts = statement.one_of("gives"), statement.of("prompt")
    if gives is None or not prompts:
        what = "`gives`" if gives is None else "`prompt`"
        help_ = "write `gives allocated metrics`" if gives is None else 'write `prompt "…"`'
        lacking = statement.block.span if statement.block is not None else None
        message = f"scorer `{name.text}` has no {what}"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return
    output = _gives(program, gives, None if parameters is None else parameters.scope)
    if output is not None:
        check_fair(program, statement, role, output)
    if parameters is None or not role_known:
        return
    _lower_input_titles(program, statement, name, parameters)
    scope = dict(parameters.scope)
    if output is not None and output.type is None:
        if "metrics" in scope:
            message = "`metrics` are the allocated ones here"
            program.diagnostics.error("E0202", message, scope["metrics"].span or name.span, help="rename the parameter")
        scope["metrics"] = Binding(("metrics",), MetricsType())
    if output is None:
        scope.setdefault("metrics", Binding(("metrics",)))  # what it gives was reported
    request = lower_request(program, scope, statement)
    prompt, system, settings = request.prompt, request.system, request.settings
    _check_repeats(program, statement, name, settings)
    weighs = settings.top_logprobs is not None
    if not _may_weigh(program, gives, name, output, weighs):
        return
    agreement = Agreement(lower_samples(statement), weighs, output.type if output is not None else None)
    cascade = lower_cascade(program, statement, role, agreement) if is_cascade(statement) else None
    chat = lower_chat(program, scope, statement, output)
    if attempt.failed or prompt is None or output is None:
        return
    if output.type is None and not _mentions_metrics(prompt.holes, system.holes if system else {}):
        help_ = "put `{{ metrics }}` into the prompt"
        message = f"scorer `{name.text}` gives metrics, and no text tells the judge which"
        program.diagnostics.error("E0701", message, prompts[0].head, help=help_)
        return
    exprs = [*request.lowered.expressions, *([] if chat is None else [chat.expr])]
    if output.maximum is not None and not output.stated:
        exprs.append(output.maximum)  # the form that is appended shows it
    _check_arguments_shown(program, name, parameters, prompt, system, exprs)
    if output.source == "reply" and not output.stated:
        texts = [text for written in (*statement.of("system"), *prompts) for _, text in written.labels()]
        appended = output.record or output.type
        warn_of_two_forms(program, texts, request.revealed_holes, name.text, appended, output.shown)
    program.index.define("scorer", name.text, name.span, detail=f"{parameters.shown(name.text)} -> {output.shown}")
    scorer = Scorer(
        name=name.text,
        role=role.text,
        params=parameters.types,
        system=system.texts if system else None,
        prompt=prompt.texts,
        chat=expr_of(chat),
        gives=output.type,
        maximum=output.maximum,
        record=output.record,
        form=output.form,
        counts=output.counts,
        stated=output.stated,
        weighted=output.weighted,
        source=output.source,
        settings=settings,
        samples=lower_samples(statement),
        then=cascade.role if cascade is not None else None,
        unsure_below=cascade.unsure_below if cascade is not None else 0.0,
        blind=statement.one_of("blind") is not None,
        numbers=numbers_of(program, output.type or NumberType()) if output.source == "reply" else {},
    )
    program.scorers.setdefault(name.text, scorer)


def _may_weigh(program: Program, gives: Statement, name: Name, output: ScorerOutput | None, weighs: bool) -> bool:
    """Return true unless a judge weighs token probabilities without requesting them, which is reported."""
    if output is None or not output.weighted or weighs:
        return True
    help_ = "write `top_logprobs 20` in its block"
    message = f"scorer `{name.text}` weighs probabilities that it does not ask for"
    program.diagnostics.error("E0206", message, gives.head, help=help_)
    return False


def _check_repeats(program: Program, statement: Statement, name: Name, settings: DeclaredSettings) -> None:
    """Warn of a judge that is asked several times although its reply is not random."""
    written, samples = statement.one_of("repeats"), lower_samples(statement)
    if written is not None and samples > 1 and settings.copies:
        message = f"`{name.text}` is sampled {samples} times at temperature 0: the replies are copies"
        help_ = "raise the temperature, or ask once: copies of a reply make no figure more certain"
        program.diagnostics.warning("W1007", message, written.head, help=help_)


def _check_arguments_shown(
    program: Program,
    name: Name,
    parameters: Parameters,
    prompt: LocalizedTemplate,
    system: LocalizedTemplate | None,
    others: Sequence[Expr],
) -> None:
    """Warn of parameters that a judge's texts do not show: it would grade something else, such as a question without
    its reply.
    """
    texts = [prompt.texts, *([system.texts] if system is not None else [])]
    for parameter, binding in parameters.scope.items():
        if any(parameter in names_in(other) for other in others):
            continue
        silent = [
            language
            for language in program.languages
            if not any(parameter in names_in(expr) for text in texts for expr in template_expressions(text[language]))
        ]
        if not silent:
            continue
        where = "" if len(silent) == len(program.languages) else f" in {' and '.join(silent)}"
        message = f"no text of scorer `{name.text}` shows `{parameter}`{where}"
        help_ = f"put `{{{{ {parameter} }}}}` in its prompt, or remove the parameter"
        program.diagnostics.warning("W1010", message, binding.span or name.span, help=help_)


def _mentions_metrics(*groups: dict[str, tuple[CheckedHole, ...]]) -> bool:
    languages = {language for group in groups for language in group}
    return all(
        any(hole.typed.type.kind == "metrics" for group in groups for hole in group.get(language, ()))
        for language in languages
    )


def _gives(program: Program, statement: Statement, scope: Scope | None) -> ScorerOutput | None:
    """Return the output of a scorer. Reports a type that is not a score and returns None. `scope` has its parameters;
    None if one is wrong.
    """
    if statement.block is not None:
        return _checked_weights(program, statement, _reply_record(program, statement, scope))
    node = statement.find("type")
    if node is None:
        help_ = "write `gives TYPE`, or `gives { reasons text, verdict TYPE }`"
        program.diagnostics.error("E0106", "`gives` takes a type or a block", statement.head, help=help_)
        return None
    form = _stated_form(program, statement)
    if form is None:
        return None
    stated = bool(form) or statement.has("stated")
    if statement.has("metrics"):
        if isinstance(node, Name) and node.text == "allocated" and not form:
            return ScorerOutput(None, stated=stated)
        message = "metrics are given as `allocated metrics`, in JSON"
        program.diagnostics.error("E0106", message, node.span, help="write `gives allocated metrics`")
        return None
    if isinstance(node, Name) and node.text == "reward":
        if stated:
            message = "a reward model writes no text, so its reply has no form"
            program.diagnostics.error("E0705", message, statement.head, help="write `gives reward`")
            return None
        return ScorerOutput(NumberType(), "reward")
    scale = _verdict_type(program, node, scope)
    if scale is None:
        return None
    type_ = scale.type
    if type_.kind not in VERDICTS:
        help_ = "a score is a bool, an integer, a number, a range, a choice, `reward` or `similarity`"
        program.diagnostics.error("E0301", "this is not a score", node.span, help=help_)
        return None
    counts: Counted = "first" if statement.has("first") else "last" if statement.has("last") else "every"
    weighted = statement.has("weighted")
    output = ScorerOutput(type_, "reply", weighted, None, form, counts, stated, scale.maximum, scale.notation)
    return _checked_weights(program, statement, output)


class _VerdictType(NamedTuple):
    """Type of a field of a judge's reply. If its arguments give the upper end of its scale, that is `maximum`, and the
    type ends at the largest known value.
    """

    type: Type
    maximum: Expr | None = None
    notation: str = ""


def _verdict_type(program: Program, node: Syntax, scope: Scope | None) -> _VerdictType | None:
    """Return the type that a judge gives; None if it is wrong, which is reported."""
    match node:
        case RangeExpr(low=Number(value=int() as low), high=Name() | Member() as high):
            pass
        case _:
            type_ = read_type(program, node, valued=True)
            return None if type_ is None else _VerdictType(type_)
    if scope is None:
        program.diagnostics.follows()
        return None
    outer = next(free_names(high), None)
    if outer is not None and outer.text not in scope:
        known = ", ".join(f"`{name}`" for name in scope)
        help_ = "add a parameter for it, such as `points: integer`, and write `gives 0..points`"
        message = f"the scale ends at `{outer.text}`, and the parameters of this scorer are {known}"
        program.diagnostics.error("E0201", message, outer.span, help=help_, unknown=outer.text)
        return None
    typed = check(program, high, scope, IntegerType(), "the end of this scale")
    if typed.is_error:
        return None
    most = typed.type.high if isinstance(typed.type, IntegerType) else None
    if most is not None and most <= low:
        message = f"this scale begins at {low}, and `{high.span.excerpt}` is at most {most}"
        program.diagnostics.error("E0302", message, node.span, help="write it from low to high: `0..points`")
        return None
    return _VerdictType(IntegerType(low=low, high=most), typed.expr, f"{low}..{high.span.excerpt}")


def _checked_weights(program: Program, statement: Statement, output: ScorerOutput | None) -> ScorerOutput | None:
    """Return an output, or None if it weighs values that are not those of a scale, which is reported."""
    if output is None or not output.weighted or has_probabilities(output.type, "integer"):
        return output
    help_ = "give a scale, such as `gives 1..5 weighted`"
    message = "the probabilities of tokens weigh the numbers of a scale"
    node = statement.find("type")
    program.diagnostics.error("E0301", message, statement.head if node is None else node.span, help=help_)
    return None


def _stated_form(program: Program, statement: Statement) -> dict[str, str] | None:
    """Return the form of the verdict by language; empty without one. Reports a form that cannot be read and returns
    None.
    """
    labels = statement.labels()
    if not labels:
        return {}
    if statement.has("stated"):
        message = "the form after `in` is the stated one"
        program.diagnostics.error("E0107", message, statement.head, help="remove `as stated`")
        return None
    attempt = program.diagnostics.attempt()
    for _, text in labels:
        mistake = mistake_in(text.value)
        if mistake is not None:
            help_ = 'write the words around the verdict, and `{}` in its place: `in "Rating: [[{}]]"`'
            program.diagnostics.error("E0317", mistake, text.span, help=help_)
    texts = program.localised(labels, statement.head, "the form of the verdict")
    if attempt.failed or texts is None:
        return None
    return {language: text.value for language, text in texts.items()}


def _reply_record(program: Program, statement: Statement, scope: Scope | None) -> ScorerOutput | None:
    """Return the output of a judge that replies in a record: one field is the verdict, and the others are reasons."""
    assert statement.block is not None
    node = statement.find("type")
    weighted = statement.has("weighted") or (isinstance(node, Name) and node.text == "weighted")  # without a type
    if (node is not None and not weighted) or statement.labels() or statement.has("metrics"):
        message = "`gives` takes a type or a block"
        help_ = "write `gives TYPE`, or `gives { reasons text, verdict TYPE }`"
        program.diagnostics.error("E0106", message, statement.head, help=help_)
        return None
    attempt = program.diagnostics.attempt()
    fields: dict[str, Type] = {}
    verdicts: list[tuple[str, Span]] = []
    ends: list[_VerdictType] = []
    for entry in statement.body:
        key, node = entry.syntax("field"), entry.find("type")
        name = key.value if isinstance(key, Text) else key.text if isinstance(key, Name) else ""
        if node is None:
            help_ = f"write its type: `{name} text`"
            program.diagnostics.error("E0302", f"field `{name}` has no type", key.span, help=help_)
            continue
        read = _verdict_type(program, node, scope)
        if not name.strip():
            message = "a field needs a name"
            program.diagnostics.error("E0106", message, key.span, help='write a text: `"analysis of A" text`')
        if name in fields:
            message = f"field `{name}` is declared twice"
            program.diagnostics.error("E0202", message, key.span, help="rename one", recovered=True)
            continue
        if read is None:
            continue
        type_ = fields[name] = read.type
        if type_.kind in VERDICTS:
            verdicts.append((name, key.span))
            ends.append(read)
        elif type_notation(type_) not in REASONS:
            message = f"`{name}` is `{type_notation(type_)}`, which is no verdict and no reason"
            help_ = "a reason is `text`, `text?` or `list<text>`; a verdict is a bool, a number, a range or a choice"
            program.diagnostics.error("E0301", message, node.span, help=help_)
    if attempt.failed:
        return None
    record = RecordType(fields=fields)
    if not _has_one_verdict(program, statement, verdicts):
        return None
    alike = next(fields_read_alike(record), None)
    if alike is not None:
        message = f"`{alike[0]}` and `{alike[1]}` are one field to the reader of a reply"
        help_ = "rename one: case, spaces and punctuation tell no fields apart"
        program.diagnostics.error("E0202", message, statement.head, help=help_)
        return None
    type_, maximum, notation = ends[0]
    stated = statement.has("stated")
    return ScorerOutput(type_, "reply", weighted, record, stated=stated, maximum=maximum, scale=notation)


def _has_one_verdict(program: Program, statement: Statement, verdicts: Sequence[tuple[str, Span]]) -> bool:
    """Return true if a judge's record has one verdict; otherwise report it."""
    if len(verdicts) == 1:
        return True
    message, place = "this record has no verdict", statement.head
    help_ = "give one field a bool, a number, a range or a choice"
    if verdicts:
        message, place = f"this record has {len(verdicts)} verdicts", verdicts[1][1]
        listed = " and ".join(f"`{name}`" for name, _ in verdicts)
        help_ = f"a judge gives one value: keep one of {listed}, or write a scorer for each"
    program.diagnostics.error("E0317", message, place, help=help_)
    return False


# Cascades

WRITTEN_AGREEMENT = "write `samples 5` or `top_logprobs 20`, or declare the role `panel`"
WRITTEN_CASCADE = "scorer NAME(reply: text) by ROLE then STRONGER when unsure { …, samples 5, unsure below 0.8 }"


@dataclass(frozen=True)
class Cascade:
    """The stronger role of a scorer, and the share of agreement below which it is asked."""

    role: str
    unsure_below: float


@dataclass(frozen=True)
class Agreement:
    """The evidence of how certain judges are: several verdicts of each, or the probability of one verdict."""

    samples: int
    probable: bool
    gives: Type | None


def has_probabilities(type_: Type | None, *kinds: str) -> bool:
    """Return true if the type is of one of these kinds and token probabilities give the probability of each of its
    values.
    """
    return type_ is not None and type_.kind in kinds and "probabilities" in probability_fields(type_)


def is_cascade(statement: Statement) -> bool:
    """Return true if a scorer has a stronger role, or a condition for one."""
    return isinstance(statement.find("stronger"), Name) or statement.one_of("unsure") is not None


def lower_cascade(program: Program, statement: Statement, role: Name, agreement: Agreement) -> Cascade | None:
    """Return the cascade of a scorer for which `is_cascade` holds. Reports a mistake and returns None."""
    stronger, unsure = statement.find("stronger"), statement.one_of("unsure")
    if not isinstance(stronger, Name):
        assert unsure is not None
        message = "`unsure` says when a stronger role is asked, and there is none"
        program.diagnostics.error("E0206", message, unsure.head, help=f"write `{WRITTEN_CASCADE}`")
        return None
    if not program.is_declared("role", stronger):
        return None
    first, second = program.roles.get(role.text), program.roles.get(stronger.text)
    if second is not None and (second.kind == "compared" or stronger.text == role.text):
        message = f"`{stronger.text}` is no stronger judge: it is under test, or judges already"
        program.diagnostics.error("E0208", message, stronger.span, help="declare a role for the stronger judge")
        return None
    if unsure is None:
        message = "nothing says when the judges are unsure"
        program.diagnostics.error("E0206", message, statement.head, help="write `unsure below 0.8`")
        return None
    several = agreement.samples > 1 or (first is not None and first.kind == "panel")
    if agreement.probable and several:
        message = "several verdicts show how far they agree, and `top_logprobs` how likely one is"
        help_ = "remove one of the two: a cascade goes by one of them"
        program.diagnostics.error("E0107", message, statement.of("top_logprobs")[0].head, help=help_)
        return None
    if agreement.probable and not has_probabilities(agreement.gives, "bool", "choice", "integer"):
        message = "the probability of such a verdict is not known"
        help_ = "give a bool, a choice or a scale such as `1..5`, or ask several times"
        program.diagnostics.error("E0301", message, statement.of("gives")[0].head, help=help_)
        return None
    if not agreement.probable and not several:
        message = "one verdict shows no agreement: a single judge that is asked once is never unsure"
        program.diagnostics.error("E0206", message, unsure.head, help=WRITTEN_AGREEMENT)
        return None
    number = unsure.syntax("number")
    if not isinstance(number, Number) or not 0 < number.value <= 1:
        help_ = "write a share of verdicts, such as `unsure below 0.8`"
        program.diagnostics.error("E0301", "`unsure` must be above 0 and at most 1", number.span, help=help_)
        return None
    return Cascade(stronger.text, float(number.value))


# Allocation tables

MARKS: dict[str, float | None] = {"x": 1.0, "✓": 1.0, ".": None, "-": None}
"""The marks of a cell, with the weight of the metric; None if it does not apply."""
NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")
MEANT_AS_NUMBER = re.compile(r"[-+]?[.,]?\d")

Weights = dict[str, float]
"""The weight of each metric of a row, in the order of the columns."""


def lower_allocation(program: Program) -> None:
    """Lower every `allocate` table. It must cover the scenarios that use the scorer."""
    owners: dict[str, Statement] = {}
    used: set[str] = set()
    for statement in program.of("allocate"):
        name = statement.name("scorer")
        earlier = owners.setdefault(name.text, statement)
        more = earlier is not statement and _extends_release_table(program, earlier, statement)
        if earlier is not statement and not more:
            label = Label(earlier.head, "the first table")
            message = f"`{name.text}` is allocated twice"
            program.diagnostics.error("E0202", message, statement.head, label, help="merge the two tables")
            continue
        if program.is_declared("scorer", name) and _gives_metrics(program, name):
            table = _table(program, statement)
            if table is not None and more:
                _report_repeated_rows(program, (earlier, statement), table)
            if table is not None:
                program.allocation.setdefault(name.text, {}).update(
                    {scenario: tuple(row) for scenario, row in table.items()}
                )
                program.weights.setdefault(name.text, {}).update(
                    {scenario: _weights_of(row) for scenario, row in table.items()}
                )
                used.update(metric for row in table.values() for metric in row)
    whole = bool(owners) and set(owners) == set(program.allocation)
    for metric, declared in program.declared.get("metric", {}).items():
        if whole and metric in program.metrics and metric not in used:
            help_ = "add a column for it with an `x`, or remove the metric"
            message = f"metric `{metric}` is never allocated"
            program.diagnostics.error("E0606", message, declared.span, help=help_)


def _extends_release_table(program: Program, earlier: Statement, statement: Statement) -> bool:
    """Return true if a second table extends the table of a release with further scenarios."""
    return program.release_of(earlier.span) is not program.release_of(statement.span)


def _report_repeated_rows(program: Program, tables: tuple[Statement, Statement], table: dict[str, Weights]) -> None:
    """Report the scenarios that both tables allocate."""
    scorer = tables[1].name("scorer").text
    statement = next((table for table in tables if program.release_of(table.span) is None), tables[1])
    for scenario in table:
        if scenario in program.allocation.get(scorer, {}):
            message = f"`{scorer}` has rows for `{scenario}` here and in a release"
            help_ = "write rows only for scenarios of your own"
            program.diagnostics.error("E0917", message, statement.head, help=help_)


def _weights_of(row: Weights) -> tuple[float, ...]:
    """Return the weights of a row; empty if each is 1."""
    return () if set(row.values()) <= {1.0} else tuple(row.values())


def _gives_metrics(program: Program, name: Name) -> bool:
    """Return true if a scorer gives allocated metrics, or was reported; otherwise report it."""
    scorer = program.scorers.get(name.text)
    computed = name.text in program.formulas or name.text in program.plugins
    if not computed and (scorer is None or scorer.gives is None):
        return True
    message = f"`{name.text}` gives one value, and no metrics to allocate"
    label = Label(program.declared["scorer"][name.text].span, "the scorer")
    help_ = "remove the table, or let the scorer give `allocated metrics`"
    program.diagnostics.error("E0602", message, name.span, label, help=help_)
    return False


def _table(program: Program, statement: Statement) -> dict[str, Weights] | None:
    """Return the weights of an allocation table by scenario; None if it is wrong."""
    attempt = program.diagnostics.attempt()
    assert statement.block is not None
    rows: list[TableRow] = []
    whole = True
    for entry in statement.block.entries():
        table_rows = _row(program, entry)
        rows.extend(table_rows)
        whole = whole and bool(table_rows)
    if not rows and whole:
        help_ = "write `| | METRIC |` and a row a scenario"
        program.diagnostics.error("E0602", "this table has no rows", statement.head, help=help_)
        return None
    if not rows or not whole or any(entry.broken for line in statement.block.lines for entry in line.entries):
        return None
    header, *body = rows
    scenarios = program.declared["scenario"]
    meant = {row.cells[0].text for row in body}
    for name in meant - set(scenarios):  # a name that is like no other may mean any of them
        meant |= {close} if (close := nearest(name, scenarios)) is not None else set(scenarios)
    program.table_rows.setdefault(statement.name("scorer").text, set()).update(meant)
    columns = header.cells[1:]
    names: dict[str, Name] = {}
    for column in columns:
        program.is_declared("metric", column)
        if names.setdefault(column.text, column) is not column:
            message = f"metric `{column.text}` has two columns"
            program.diagnostics.error("E0202", message, column.span, help="remove one")
    table: dict[str, Weights] = {}
    for row in body:
        metrics = _weights(program, columns, row)
        scenario = row.cells[0]
        if scenario.text in table:
            message = f"scenario `{scenario.text}` has two rows"
            program.diagnostics.error("E0202", message, scenario.span, help="remove one")
        if program.is_declared("scenario", scenario) and not metrics and metrics is not None:
            help_ = "mark a metric with `x`, or remove the row and the scorer from the scenario"
            message = f"scenario `{scenario.text}` is given no metric"
            program.diagnostics.error("E0602", message, scenario.span, help=help_)
        table[scenario.text] = metrics or {}
    return None if attempt.failed else table


def _row(program: Program, entry: Entry) -> list[TableRow]:
    rows = [element for element in entry.elements if isinstance(element, TableRow)]
    for element in entry.elements:
        if not isinstance(element, TableRow):
            text = f"`{element.text}`" if isinstance(element, Name | SymbolExpr) else "this"
            help_ = "every line is `| scenario | x | . |`"
            program.diagnostics.error("E0106", f"{text} is not a table row", element.span, help=help_)
            break
    return rows


def _weights(program: Program, columns: tuple[Name, ...], row: TableRow) -> Weights | None:
    """Return the weights of a row; None if it is wrong."""
    attempt = program.diagnostics.attempt()
    cells = row.cells[1:]
    if len(cells) != len(columns):
        message = f"this row has {len(cells)} cells for {len(columns)} metrics"
        program.diagnostics.error("E0602", message, row.span, help="give every metric an `x` or a `.`")
        return None
    weights = [_cell(program, cell) for cell in cells]
    if attempt.failed:
        return None
    return {column.text: weight for column, weight in zip(columns, weights, strict=True) if weight}


def _cell(program: Program, cell: Name) -> float | None:
    """Return the weight in a cell; None if the metric does not apply. Reports other text."""
    if cell.text in MARKS:
        return MARKS[cell.text]
    if NUMBER.fullmatch(cell.text):
        weight = float(cell.text)
        if weight > 0 and in_bounds(weight):
            return weight
        help_ = "write `.` where the metric does not apply" if weight == 0 else "write a smaller number"
        program.diagnostics.error("E0708", f"a metric cannot count {cell.text}", cell.span, help=help_)
        return None
    if MEANT_AS_NUMBER.match(cell.text):
        help_ = "write what the metric counts as a number above 0, such as `2` or `0.5`"
        program.diagnostics.error("E0708", f"`{cell.text}` is no weight", cell.span, help=help_)
        return None
    message = f"`{cell.text}` is not a mark" if cell.text else "this cell is empty"
    help_ = "write `x` or a weight where the metric applies, `.` where it does not"
    program.diagnostics.error("E0602", message, cell.span, help=suggest(cell.text, MARKS, help_))
    return None
