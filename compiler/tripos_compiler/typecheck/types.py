"""Types in the syntax: reading them, and the types of record fields."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.statements import read_statements
from tripos_compiler.diagnostics.habits import suggest_notation
from tripos_compiler.library.types import type_notation
from tripos_compiler.plan import (
    AudioType,
    Axis,
    BoolType,
    ChoiceType,
    DialogueType,
    FileType,
    ImageType,
    IntegerType,
    JsonType,
    ListType,
    NumberType,
    OptionalType,
    PathType,
    RecordType,
    SetType,
    TextType,
    Type,
)
from tripos_compiler.resolve.program import Program
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import (
    Argument,
    BinaryExpr,
    CallExpr,
    Generic,
    Name,
    Number,
    OptionalExpr,
    RangeExpr,
    Record,
    Syntax,
    Text,
    describe_syntax,
)

SIMPLE: dict[str, Type] = {
    "text": TextType(),
    "integer": IntegerType(),
    "number": NumberType(),
    "bool": BoolType(),
    "dialogue": DialogueType(),
    "image": ImageType(),
    "audio": AudioType(),
    "file": FileType(),
    "path": PathType(),
    "json": JsonType(),
    "tools": JsonType(form="tools"),
    "calls": JsonType(form="calls"),
}
GENERIC = ("list", "set")
HASHABLE = ("text", "integer", "number", "bool", "choice", "path")
"""The kinds of types that a set can hold."""


def axis_type(axis: Axis) -> Type:
    """Return the choice type of the values of an axis."""
    return ChoiceType(values=tuple(value.name for value in axis.values), axis=axis.name)


def read_type(program: Program, syntax: Syntax, *, valued: bool = False) -> Type | None:
    """Return the type written in the source; None if it is wrong.

    With `valued`, the names of a choice can have numbers, as in what a judge `gives`.
    """
    match syntax:
        case Name(text=text):
            return _named(program, syntax, text)
        case OptionalExpr(of=of):
            inner = read_type(program, of)
            if inner is not None and inner.kind == "optional":
                help_ = f"write `{type_notation(inner)}`"
                program.diagnostics.error("E0302", "this type ends in two question marks", syntax.span, help=help_)
                return None
            return None if inner is None else OptionalType(of=inner)
        case Generic(name=name, of=of):
            inner = read_type(program, of)
            if inner is None:
                return None
            if name.text == "set" and inner.kind not in HASHABLE:
                help_ = f"write `list<{type_notation(inner)}>`"
                program.diagnostics.error(
                    "E0302", f"a set cannot hold `{type_notation(inner)}`", syntax.span, help=help_
                )
                return None
            return SetType(of=inner) if name.text == "set" else ListType(of=inner)
        case RangeExpr(low=low_end, high=OptionalExpr(of=high_end)):
            return read_type(program, OptionalExpr(syntax.span, RangeExpr(syntax.span, low_end, high_end)))
        case RangeExpr(low=Number(value=int() as low), high=Number(value=int() as high)):
            if low < high:
                return IntegerType(low=low, high=high)
            what = f"the range {low}..{high} is empty" if low > high else f"the range {low}..{high} holds one number"
            program.diagnostics.error("E0302", what, syntax.span, help="write it from low to high: `1..5`")
            return None
        case RangeExpr():
            help_ = "write numbers, `1..5`; only what a judge `gives` may end at a value, one of its parameters"
            program.diagnostics.error("E0302", "the ends of a range are whole numbers", syntax.span, help=help_)
            return None
        case CallExpr(function=Name(text="choice"), arguments=arguments):
            return _choice(program, syntax, arguments, valued)
        case Record(block=block):
            return record_type(program, read_statements(block, program.diagnostics, "record"), block.span, nested=True)
    help_ = "types are text, integer, number, bool, 1..5, choice(A, B), list<text>, set<text>, { a text }, dialogue"
    if isinstance(syntax, BinaryExpr) and syntax.operator == "-":
        help_ = f"a range is written `{syntax.left.span.excerpt}..{syntax.right.span.excerpt}`"
    program.diagnostics.error("E0302", f"{describe_syntax(syntax)} is not a type", syntax.span, help=help_)
    return None


def type_parts(type_: Type) -> Iterator[Type]:
    """Yield a type and, recursively, the types it contains."""
    yield type_
    match type_.kind:
        case "list" | "set" | "optional":
            yield from type_parts(type_.of)
        case "record":
            for field in type_.fields.values():
                yield from type_parts(field)


def named_choice(type_: Type) -> Type:
    """Return the type of a verdict inside an expression: a choice there is its name, without the number."""
    return type_.model_copy(update={"worth": ()}) if type_.kind == "choice" else type_


def record_type(
    program: Program, fields: tuple[Statement, ...], block: Span, *, nested: bool = False
) -> RecordType | None:
    """Return the record type of the fields in a block; None if one is wrong. In a `nested` record no single field can
    be secret.
    """
    attempt = program.diagnostics.attempt()
    if not fields:
        help_ = "write a field and its type: `value integer`"
        program.diagnostics.error("E0206", "this record has no fields", block, help=help_, lacking=block)
    types: dict[str, Type] = {}
    for field in fields:
        name = field.name()
        if nested and is_secret(field):
            help_ = "mark the whole field that the record is in"
            program.diagnostics.error("E0106", "a part of a record has no secrets", field.head, help=help_)
        inner = field_type(program, field)
        if name.text in types:
            message = f"field `{name.text}` is declared twice"
            program.diagnostics.error("E0202", message, name.span, help="rename one", recovered=True)
        if inner is not None:
            types[name.text] = inner
    return None if attempt.failed else RecordType(fields=types)


def is_secret(field: Statement) -> bool:
    """Return true if a field is marked `secret`. Without a type, the word is in the type's position."""
    node = field.find("type")
    return field.has("secret") or (isinstance(node, Name) and node.text == "secret")


def field_type(program: Program, field: Statement) -> Type | None:
    """Return the type of a field, from its notation or its block; None if it is wrong."""
    name, node = field.name(), field.find("type")
    if is_secret(field) and not field.has("secret"):
        node = None
    if field.block is None and node is not None:
        return read_type(program, node)
    if field.block is not None and node is None:
        return record_type(program, field.body, field.block.span, nested=True)
    if isinstance(node, Name) and name.text == "secret":
        rest = field.head.source.text[node.span.end : field.head.end]
        message, help_ = "`secret` stands in the wrong place", f"write `{node.text} secret{rest} {{ … }}`"
        program.diagnostics.error("E0106", message, name.span, help=help_)
    elif node is not None:
        help_ = "write a type, or the fields of a record in a block"
        program.diagnostics.error("E0106", f"field `{name.text}` has two types", node.span, help=help_)
    else:
        help_ = f"write its type: `{name.text} text`"
        program.diagnostics.error("E0302", f"field `{name.text}` has no type", name.span, help=help_)
    return None


def _named(program: Program, syntax: Name, text: str) -> Type | None:
    if text in SIMPLE:
        return SIMPLE[text]
    declared = program.declared.get("axis", {}).get(text)
    program.index.use(syntax.span, declared.span if declared is not None else None)
    if text in program.axes:
        return axis_type(program.axes[text])
    if text in program.declared.get("axis", {}):
        program.diagnostics.follows()
        return None
    if text in GENERIC:
        help_ = f"write what it holds: `{text}<text>`"
    else:
        known = [*SIMPLE, *GENERIC, "choice", *program.declared.get("axis", {})]
        help_ = suggest_notation("type", text, known, "types are text, integer, number, bool, dialogue, list<…>, …")
    program.diagnostics.error("E0302", f"there is no type `{text}`", syntax.span, help=help_, unknown=text)
    return None


def _choice(program: Program, syntax: Syntax, arguments: tuple[Argument, ...], valued: bool) -> Type | None:
    """Read a choice with its names and, if `valued`, their numbers."""
    values: list[str] = []
    worth: list[float] = []
    for argument in arguments:
        element = argument.elements[0]
        if argument.name is not None and len(argument.elements) == 1 and isinstance(element, Number):
            values.append(argument.name.text)
            worth.append(float(element.value))
        elif argument.name is None and len(argument.elements) == 1 and isinstance(element, Name | Text):
            values.append(element.text if isinstance(element, Name) else element.value)
        else:
            help_ = "write `choice(A, B, C)`, or `choice(A: 1, B: 0.5)`"
            program.diagnostics.error("E0302", "a choice lists names", argument.span, help=help_)
            return None
    if len(values) < 2 or len(set(values)) < len(values):
        message = "a choice needs at least two different names"
        program.diagnostics.error("E0302", message, syntax.span, help="write `choice(A, B)`")
        return None
    if not all(value.strip() == value != "" for value in values):
        message = "a name of this choice is empty, or has space around it"
        program.diagnostics.error("E0302", message, syntax.span, help='write `choice("A>B", "B>A")`')
        return None
    if worth and not valued:
        message = "names stand for numbers only in what a judge `gives`"
        program.diagnostics.error("E0302", message, syntax.span, help="write `choice(A, B)`")
        return None
    if worth and len(worth) < len(values):
        message = "some names of this choice have a value, and others have none"
        program.diagnostics.error("E0302", message, syntax.span, help="give each a value, or none")
        return None
    return ChoiceType(values=tuple(values), worth=tuple(worth))
