"""Lowers `tool`: functions that a model may call."""

from __future__ import annotations

import re

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import SAID_WITH_CALLS, JsonType, Tool, ToolParameter, Type, tool_function_name
from tripos_compiler.resolve import Program
from tripos_compiler.resolve.plugins import read_tool_function
from tripos_compiler.source import Span
from tripos_compiler.typing import field_type, type_parts

LONGEST = 64
SENT = re.compile(r"[A-Za-z0-9_]+")
"""The names that all providers take."""
GIVEN = frozenset({"text", "integer", "number", "bool", "choice", "list", "set", "record", "optional", "json"})
"""The kinds of values that a model can give as an argument."""


def lower_tools(program: Program) -> None:
    """Every `tool`, with its parameters."""
    for statement in program.of("tool"):
        name = statement.name()
        about = program.labels(statement, f"tool `{name.text}`")
        parameters = _parameters(program, statement)
        if not _is_name(program, statement) or about is None or parameters is None:
            continue
        tool = Tool(name=name.text, about=about, parameters=parameters)
        program.tools.setdefault(name.text, tool)
        if statement.find("path") is not None:
            _lower_function(program, statement, tool)


def _lower_function(program: Program, statement: Statement, tool: Tool) -> None:
    """Lower the function that a run calls for a model."""
    read = read_tool_function(program, statement)
    name = tool_function_name(tool.name)
    if read is None:
        program.diagnostics.lost_names.add(name)
        return
    plugin, python = read
    (_, *taken), of = python.parameters, tool.arguments.fields

    def differs(message: str, where: Span, help_: str) -> None:
        notes = [f"declared: `{tool.name}({', '.join(of)})`", f"in Python: `{python.written}`"]
        program.diagnostics.error("E0313", message, where, Label(python.span, "the function"), help=help_, notes=notes)
        program.diagnostics.lost_names.add(name)

    for parameter in statement.of("tool_parameter"):
        own = parameter.name()
        if own.text not in taken:
            differs(f"`{plugin.function}` has no parameter `{own.text}`", own.span, "remove it, or add it there")
        elif of[own.text].kind == "optional" and own.text not in python.optional:
            help_ = f"write `{own.text}=None` there, or a type without `?` here"
            differs(f"`{plugin.function}` must be given `{own.text}`, which may be left out", own.span, help_)
    for missing in [each for each in taken if each not in of and each not in python.optional]:
        message = f"`{plugin.function}` needs `{missing}`, which `{tool.name}` does not take"
        differs(message, statement.name().span, f"add `{missing}` to the tool")
    own_ = {"name": name, "parameters": of, "returns": JsonType(), "external": "tool"}
    optional = tuple(each for each, type_ in of.items() if type_.kind == "optional")
    program.plugins[name] = plugin.model_copy(update={**own_, "optional": optional})


def _is_name(program: Program, statement: Statement) -> bool:
    """Return true if a tool can be called so; reports it where it cannot."""
    name = statement.name()
    message = help_ = ""
    if name.text in SAID_WITH_CALLS:
        message = f"no tool can be called `{name.text}`"
        help_ = "a reply with calls has a value of that name already; take another"
    elif len(name.text) > LONGEST or not SENT.fullmatch(name.text):
        message = f"no tool can be called `{name.text}`"
        help_ = f"providers take at most {LONGEST} letters, digits and `_`"
    if not message:
        return True
    program.diagnostics.error("E0207", message, name.span, help=help_)
    return False


def _parameters(program: Program, tool: Statement) -> tuple[ToolParameter, ...] | None:
    found: dict[str, ToolParameter] = {}
    spans: dict[str, Label] = {}
    good = True
    for statement in tool.of("tool_parameter"):
        name = statement.name()
        earlier = spans.setdefault(name.text, Label(name.span, "first declared here"))
        type_ = field_type(program, statement)
        about = program.labels(statement, f"parameter `{name.text}`") if statement.labels() else {}
        if earlier.span is not name.span:
            message = f"parameter `{name.text}` is declared twice"
            program.diagnostics.error("E0202", message, name.span, earlier, help="rename one")
            good = False
        elif type_ is None or about is None:
            good = False
        elif wrong := next((each for each in type_parts(type_) if each.kind not in GIVEN or _is_form(each)), None):
            message = f"an argument cannot be `{type_notation(wrong)}`"
            help_ = "write text, integer, number, bool, 1..5, choice(A, B), list<…>, { … } or json"
            program.diagnostics.error("E0302", message, statement.head, help=help_)
            good = False
        else:
            program.index.define("parameter", name.text, name.span, f"tool {tool.name().text}", type_notation(type_))
            found[name.text] = ToolParameter(name=name.text, type=type_, about=about)
    return tuple(found.values()) if good else None


def _is_form(type_: Type) -> bool:
    return type_.kind == "json" and type_.form != "json"
