"""Lowers functions of the user's in Python, scorers that are such functions, and the parameters of scorers."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label, nearest
from tripos_compiler.language.figures import AGGREGATES, INTERVAL_ENDS
from tripos_compiler.language.library import FUNCTIONS, fits, type_notation
from tripos_compiler.plan import Plugin, Type
from tripos_compiler.resolve import Binding, Program, Scope, scorer_name
from tripos_compiler.resolve.plugins import PythonFunction, read_python
from tripos_compiler.source import Argument, CallExpr, Name, Span, dataclass
from tripos_compiler.typing import read_type


@dataclass(frozen=True)
class Parameters:
    """Parameters with the places of their names and types."""

    types: dict[str, Type]
    names: dict[str, Name]
    places: dict[str, Span]

    @property
    def scope(self) -> Scope:
        """Return what expressions in the scorer see."""
        return {name: Binding((name,), of, span=self.names[name].span) for name, of in self.types.items()}

    def shown(self, name: str) -> str:
        """Return the signature as people read it, without what is returned: `near(a: text, b: number)`."""
        return f"{name}({', '.join(f'{key}: {type_notation(of)}' for key, of in self.types.items())})"


def lower_parameters(program: Program, owner: str, arguments: tuple[Argument, ...]) -> Parameters | None:
    """Return the parameters; None, reported, where one is wrong."""
    types: dict[str, Type] = {}
    names: dict[str, Name] = {}
    places: dict[str, Span] = {}
    good = True
    for argument in arguments:
        if argument.name is None or len(argument.elements) != 1:
            help_ = "it is written `name: type`"
            program.diagnostics.error("E0106", "a parameter needs a name and a type", argument.span, help=help_)
            good = False
            continue
        name, written = argument.name, argument.elements[0]
        type_ = read_type(program, written)
        earlier = names.setdefault(name.text, name)
        if earlier is not name:
            message = f"parameter `{name.text}` is declared twice"
            label = Label(earlier.span, "first declared here")
            program.diagnostics.error("E0202", message, name.span, label, help="rename one")
            continue
        good = good and type_ is not None
        if type_ is not None:
            types[name.text] = type_
            places[name.text] = written.span
            program.index.define("parameter", name.text, name.span, owner, type_notation(type_))
            program.value_spans.setdefault((owner, name.text), name.span)
    return Parameters(types, names, places) if good else None


def lower_functions(program: Program) -> None:
    """Every `function`."""
    for statement in program.of("function"):
        name = statement.name()
        if program.declared["function"][name.text] is not name:
            continue  # reported as declared twice
        free = free_name(program, "function", name)
        found = read_python(program, statement)
        if found is None or not free:
            continue
        plugin = found[0].model_copy(update={"name": name.text})
        program.index.define("function", name.text, name.span, detail=plugin_shown(plugin))
        program.plugins[name.text] = plugin


OF_VALUES = ("number", "integer", "bool", "text", "choice")
"""The kinds of values of which an aggregate in Python takes lists."""


def lower_aggregates(program: Program) -> None:
    """Every `aggregate NAME(params) -> number from "file.py:function"`."""
    for statement in program.of("aggregate"):
        call = statement.syntax("call")
        name = scorer_name(call)
        if not isinstance(call, CallExpr) or name is None:
            help_ = 'it is written `aggregate NAME(a: list<number>) -> number from "file.py:function"`'
            program.diagnostics.error("E0106", "an aggregate needs a name and parameters", call.span, help=help_)
            continue
        free = program.declared["aggregate"].get(name.text) is name and free_name(program, "aggregate", name)
        parameters = lower_parameters(program, f"aggregate {name.text}", call.arguments)
        written = statement.syntax("type")
        returns = read_type(program, written)
        if returns is not None and returns.kind != "number":
            program.diagnostics.error("E0301", "this is not a figure", written.span, help="a figure is a `number`")
            returns = None
        found = read_python(program, statement, alone=True)
        if not free or found is None or parameters is None or returns is None or not _lists(program, call, parameters):
            continue
        own = {"name": name.text, "parameters": parameters.types, "optional": (), "returns": returns, "purity": None}
        plugin = found[0].model_copy(update={**own, "aggregate": True})
        if _agrees(program, name, plugin, parameters, written.span, found[1]):
            program.index.define("aggregate", name.text, name.span, detail=plugin_shown(plugin))
            program.aggregates[name.text] = plugin


def _lists(program: Program, call: CallExpr, parameters: Parameters) -> bool:
    """Return true if all parameters are lists of values; reports the first that is none."""
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
    """Return the signature as people read it, for example `near(a: text, b: number (optional)) -> bool`."""
    parameters = ", ".join(
        f"{key}: {type_notation(of)}{' (optional)' if key in plugin.optional else ''}"
        for key, of in plugin.parameters.items()
    )
    return f"{plugin.name}({parameters}) -> {type_notation(plugin.returns)}"


def free_name(program: Program, kind: str, name: Name) -> bool:
    """Return true if nothing else that can be called has this name; reports what has."""
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
    """`scorer NAME(params) -> TYPE from "file.py:function"`: what is declared here and what stands there must agree."""
    returns = score_type(program, statement)
    found = read_python(program, statement)
    if found is None or parameters is None or returns is None:
        return
    plugin, python = found
    plugin = plugin.model_copy(
        update={"name": name.text, "parameters": parameters.types, "optional": (), "returns": returns}
    )
    if _agrees(program, name, plugin, parameters, statement.syntax("type").span, python):
        program.index.define("scorer", name.text, name.span, detail=plugin_shown(plugin))
        program.plugins.setdefault(name.text, plugin)


def score_type(program: Program, statement: Statement) -> Type | None:
    """Return the type that a scorer is declared to give. None, reported, where it is no score."""
    written = statement.syntax("type")
    returns = read_type(program, written)
    if returns is not None and returns.kind not in ("bool", "integer", "number"):
        help_ = "a score is a bool, an integer, a number or a range"
        program.diagnostics.error("E0301", "this is not a score", written.span, help=help_)
        return None
    return returns


def _agrees(
    program: Program, name: Name, plugin: Plugin, parameters: Parameters, returns: Span, python: PythonFunction
) -> bool:
    """Return true if a function can be called as the scorer is; reports every difference with both signatures.
    `returns` is the place of the declared type."""
    mark = len(program.diagnostics.items)

    def differs(message: str, where: Span, help_: str) -> None:
        notes = [f"declared: `{plugin_shown(plugin)}`", f"in Python: `{python.written}`"]
        label = Label(python.span, "the function")
        program.diagnostics.error("E0313", message, where, label, help=help_, notes=notes)

    for key, declared in plugin.parameters.items():
        of = python.parameters.get(key)
        if of is None:
            close = nearest(key, set(python.parameters) - set(plugin.parameters))
            help_ = f"did you mean `{close}`?" if close else "remove it, or add it to the function"
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
        given = type_notation(python.returns)
        message = f"`{plugin.name}` gives `{type_notation(plugin.returns)}`, and the function returns `{given}`"
        help_ = f"write `-> {given}`, or change the function"
        if python.returns.kind == "optional":
            help_ = "let the function raise an error where there is no score"
        differs(message, returns, help_)
    return len(program.diagnostics.items) == mark
