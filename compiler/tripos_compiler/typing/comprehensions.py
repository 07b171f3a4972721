"""The value of an expression for each element of a list: `[c.points each c in item.rubric where c.points > 0]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from tripos_compiler.constructs import Statement
from tripos_compiler.language import names_in
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import Each, ListType, Loop, RecordType, TextType, Type
from tripos_compiler.resolve import Binding, PossibleLack, Typed, record_fields
from tripos_compiler.source import Argument, BinaryExpr, CallExpr, Member, Name, Node, Number, Syntax, dataclass

if TYPE_CHECKING:
    from tripos_compiler.typing.checker import Checker

SHAPE = "it is `VALUE each NAME in LIST [where COND] [at most COUNT]`"
TURN = RecordType(fields={"speaker": TextType(), "text": TextType()})


def is_comprehension(arguments: Sequence[Argument], named: bool = False) -> bool:
    """Return true if what stands in brackets is a value for each element of a list."""
    if len(arguments) != 1 or (arguments[0].name is not None and not named):
        return False
    elements = arguments[0].elements
    return len(elements) > 1 and isinstance(elements[1], Name) and elements[1].text == "each"


@dataclass(frozen=True)
class LoopSyntax:
    """The parts of a loop as they are written."""

    name: Name
    of: Syntax
    where: Syntax | None = None
    most: Number | None = None


@dataclass(frozen=True)
class CheckedLoop:
    """A loop in a plan; `inside` checks what is said of each element, and `may` is what may be lacking for there to be
    any."""

    loop: Loop
    inside: Checker
    may: tuple[PossibleLack, ...]
    element: Type
    listed: Type
    """The type of what it goes through."""


def comprehension(elaborator: Checker, argument: Argument) -> Typed | None:
    """Return the checked list; None where it is wrong, which is reported."""
    written = read_loop(elaborator, argument.elements[1:], argument)
    found = element_values(elaborator, argument.elements[0], written) if written is not None else None
    return None if found is None else found.all


@dataclass(frozen=True)
class ElementValues:
    """The value for each element of a list: of `one`, and of `all`, which is a list. `element` is the type of one."""

    one: Typed
    all: Typed
    element: Type


def free_names(syntax: object) -> Iterator[Name]:
    """Yield the names that an expression looks up: no fields, no functions, and no elements of lists in it."""
    match syntax:
        case Name():
            yield syntax
        case Member(of=of):
            yield from free_names(of)
        case CallExpr(arguments=arguments):
            yield from free_names(arguments)
        case Argument(elements=(value, Name(text="each"), BinaryExpr(left=Name() as own, right=over), *rest)):
            yield from free_names(over)
            yield from (name for each in (value, *rest) for name in free_names(each) if name.text != own.text)
        case Argument(elements=elements):
            yield from free_names(elements)
        case tuple():
            yield from (name for each in syntax for name in free_names(each))
        case Node():
            yield from (name for part in fields(syntax) for name in free_names(getattr(syntax, part.name)))


def scored_loop(elaborator: Checker, statement: Statement) -> LoopSyntax | None:
    """Return the loop of a statement with `each NAME in LIST …`; None where it is wrong, which is reported."""
    over, most = statement.syntax("elements"), statement.find("count")
    bad = over if not isinstance(over, BinaryExpr) or over.operator != "in" else None
    bad = bad or (most if most is not None and not _is_count(most) else None)
    if bad is not None or not isinstance(over, BinaryExpr) or not isinstance(over.left, Name):
        elaborator.error("E0106", "this does not say what each element is", (bad or over).span, SHAPE)
        return None
    return LoopSyntax(over.left, over.right, statement.find("condition"), most if isinstance(most, Number) else None)


def element_values(elaborator: Checker, syntax: Syntax, written: LoopSyntax) -> ElementValues | None:
    """Return the value for each element of a list; None where it is wrong, which is reported."""
    found = check_loop(elaborator, written)
    if found is None:
        return None
    elaborator.program.index.scopes.append((syntax.span, found.inside.scope))
    value = found.inside.infer(syntax)
    if value is None:
        return None
    where = found.loop.where
    may = value.may if where is None else value.under(where)
    of = tuple(replace(each, lack=replace(each.lack, of=(*each.lack.of, found.loop.of))) for each in may)
    whole = Typed(Each(loop=found.loop, value=value.expr), ListType(of=value.type), (*found.may, *of))
    return ElementValues(value, whole, found.element)


def read_loop(elaborator: Checker, elements: Sequence[Syntax], whole: Argument | Syntax) -> LoopSyntax | None:
    """Return the parts of `each NAME in LIST [where COND] [at most COUNT]`; None where it is not that."""
    rest = list(elements[1:])
    over = rest.pop(0) if rest else None
    found: LoopSyntax | None = None
    if isinstance(over, BinaryExpr) and over.operator == "in" and isinstance(over.left, Name):
        found = LoopSyntax(over.left, over.right)
        if _word(rest, "where") and len(rest) > 1:
            found, rest = replace(found, where=rest[1]), rest[2:]
        if _word(rest, "at") and _word(rest[1:], "most") and len(rest) > 2 and _is_count(rest[2]):
            assert isinstance(rest[2], Number)
            found, rest = replace(found, most=rest[2]), rest[3:]
    if found is None or rest:
        place = rest[0] if rest else elements[0]
        elaborator.error("E0106", "this does not say what each element is", place.span, SHAPE)
        return None
    return found


def _word(elements: Sequence[Syntax], text: str) -> bool:
    return bool(elements) and isinstance(elements[0], Name) and elements[0].text == text


def _is_count(syntax: Syntax) -> bool:
    return isinstance(syntax, Number) and isinstance(syntax.value, int) and syntax.value > 0


def check_loop(elaborator: Checker, written: LoopSyntax) -> CheckedLoop | None:
    """Return the checked loop; None where it is wrong, which is reported."""
    name, program = written.name, elaborator.program
    program.index.scopes.append((written.of.span, elaborator.scope))
    listed = elaborator.infer(written.of)
    if listed is None:
        return None
    element = element_type(listed.type)
    if element is None:
        if listed.type.kind == "optional" and element_type(listed.type.of) is not None:
            help_ = "give a default: `default(value, …)`"
            elaborator.error("E0306", "the list that `each` goes through may be missing", written.of.span, help_)
        else:
            message = f"`each` goes through a list, and this is `{type_notation(listed.type)}`"
            elaborator.error("E0301", message, written.of.span)
        return None
    if name.text in elaborator.scope:
        elaborator.error("E0202", f"`{name.text}` is a name here already", name.span, "take another name")
        return None
    alias = _unused(elaborator, name.text)
    program.index.define("each", name.text, name.span, detail=type_notation(element))
    binding = Binding((alias,), element, record_fields((alias,), element, name.span), span=name.span, early=True)
    scope = {**elaborator.scope, name.text: binding}
    known = elaborator.binding(written.of)
    most = int(written.most.value) if written.most is not None else None if known is None else known.most
    loop = Loop(alias=alias, of=listed.expr, most=most)
    may = listed.may
    if written.where is not None:
        program.index.scopes.append((written.where.span, scope))
        judge = elaborator.judge
        where = elaborator.inside(scope, None if judge is None else judge.each(loop)).condition(written.where)
        if where is None:
            return None
        loop = loop.model_copy(update={"where": where.expr})
        may = (*may, *where.may)
    judge = elaborator.judge
    inside = elaborator.inside(scope, None if judge is None else judge.each(loop))
    return CheckedLoop(loop, inside, may, element, listed.type)


def element_type(type_: Type) -> Type | None:
    """Return the type of the elements of a list; None of what is no list."""
    match type_.kind:
        case "list" | "set":
            return type_.of
        case "dialogue":
            return TURN
    return None


def _unused(elaborator: Checker, name: str) -> str:
    """Return the name under which a plan knows an element. No value in scope mentions it, so that what stands in the
    place of a name cannot mean the element."""
    taken = {each.path[0] for each in elaborator.scope.values()}
    for each in elaborator.scope.values():
        taken |= names_in(each.value) if each.value is not None else set()
    while name in taken:
        name += "'"
    return name
