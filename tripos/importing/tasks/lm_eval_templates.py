"""Translation of lm-eval's templates, in Jinja or Python, to templates and expressions of the language.

A question, target, description or list of options is the name of a column, a template, a constant, or a Python
function. A function has no translation, unless lm-eval itself wrote the rows: then they have a column with its values.

Jinja's own parser parses the text, and nothing of it is executed. Every value has a code and a shape; a node without
counterpart raises `NotTranslatable`. The types of columns come from the data, or from how templates use them: the first
pass learns them, so a task is translated more than once.

An entry of the tables of methods and filters has the kind that it applies to, the maximum number of arguments, the
code, and the kind of the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NotRequired

from pydantic import BeforeValidator, TypeAdapter
from typing_extensions import TypedDict

from tripos.importing.spec_text import Code, NotTranslatable, Pieces, joined, listed, name_of, quoted
from tripos.importing.tasks.shapes import AS_LIST, kind, validate_shape
from tripos.settings.options import ImportTaskParameters

if TYPE_CHECKING:
    from jinja2 import nodes


RESERVED = ("language",)
"""Names of axes, which a field cannot have."""


@dataclass
class ColumnShape:
    """The known facts about the values of a column: a kind, the shape of a list's items, the fields of a record."""

    kind: str = ""
    """`text`, `integer`, `number`, `bool`, `list`, `record`, or empty if unknown."""
    item: ColumnShape | None = None
    fields: dict[str, ColumnShape] = field(default_factory=dict)
    missing: bool = False
    certain: bool = False
    """Inferred from data, so that its use in a template does not change it."""
    digits: bool = True
    """Some texts may be digits, which a templated target reads as positions."""
    brackets: bool = False
    """Some texts are in square brackets, which a templated target reads as lists."""
    least: int | None = None
    """The smallest of its integers, or None if unknown."""
    blank: bool = False
    """Some text is empty or blank."""

    def present(self) -> ColumnShape:
        """Return the same shape as not missing, for a result computed from the value."""
        return replace(self, missing=False) if self.missing else self

    def want(self, kind: str) -> ColumnShape:
        """Assume a kind for the values, unless the kind is known."""
        if not self.kind:
            self.kind = kind
            if kind == "list":
                self.item = self.item or ColumnShape()
        return self

    def member(self, name: str) -> ColumnShape:
        """Return the shape of a field of a record."""
        self.want("record")
        if name not in self.fields:
            if self.certain:
                raise NotTranslatable(f"there is no field `{name}` in the data")
            self.fields[name] = ColumnShape()
        return self.fields[name]

    def items(self) -> ColumnShape:
        """Return the shape of the items of a list; the items of a text are texts."""
        if self.kind == "text":
            return ColumnShape("text")
        self.want("list")
        if self.kind != "list":
            raise NotTranslatable(f"an item of a {self.kind}")
        if self.item is None:
            self.item = ColumnShape()
        return self.item

    def type_text(self) -> str:
        """Return the type in the language. An unknown kind is text."""
        if self.kind == "list":
            inner = self.item.type_text() if self.item else "text"
            return f"list<{inner}>" + ("?" if self.missing else "")
        if self.kind == "record":
            if not self.fields:
                return "json"
            fields = ", ".join(f"{name_of(name)} {shape.type_text()}" for name, shape in self.fields.items())
            return f"{{ {fields} }}"
        return (self.kind or "text") + ("?" if self.missing else "")


@dataclass
class TaskColumns:
    """The columns of a data set that a task uses, with their names as fields."""

    shapes: dict[str, ColumnShape] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    shown_columns: set[str] = field(default_factory=set)
    """Columns that a prompt prints."""
    closed: bool = False
    """All columns are known from the data: any other name is undefined."""

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> TaskColumns:
        """Return the columns of rows, with the shapes of their values."""
        found = list(rows)
        names = dict.fromkeys(name for row in found for name in row)
        shapes = {name: shape_of([row.get(name) for row in found]) for name in names}
        return cls({name: shape for name, shape in shapes.items() if shape is not None}, closed=True)

    def __contains__(self, name: str) -> bool:
        return name in self.shapes or not self.closed

    def shape(self, name: str) -> ColumnShape:
        """Return the shape of a column. Raises `NotTranslatable` if the data has no column of this name."""
        if name not in self.shapes:
            if self.closed:
                raise NotTranslatable(f"there is no column `{name}` in the data")
            self.shapes[name] = ColumnShape()
        quoted(name)  # raises if the name cannot be written in a spec
        self.names.setdefault(name, name_of(name, (*self.names.values(), *RESERVED)))
        return self.shapes[name]

    def used(self) -> list[str]:
        """Return the columns that the spec names."""
        return list(self.names)

    def blank_in(self, code: str, row: str) -> str | None:
        """Return a column that an expression over a row uses and that is empty in some rows, or None if there is none
        known."""
        looked_up = set(re.findall(rf"\b{row}\.(\w+)", code))
        return next((each for each, name in self.names.items() if name in looked_up and self.shapes[each].blank), None)

    def declared(self, secret: bool = True) -> list[str]:
        """Return the declaration of each used column as a line of a data set."""
        wide = max((len(self.names[name]) for name in self.names), default=0)
        lines = []
        for name, fieldname in self.names.items():
            shape = self.shapes[name]
            text, words = shape.type_text(), ["secret"] if secret and name not in self.shown_columns else []
            words += [f"from {quoted(name)}"] if fieldname != name else []
            words.insert(len(words) if text.startswith("{") else 0, text)  # a type in braces comes last
            lines.append(" ".join([fieldname.ljust(wide), *words]))
        return lines


def is_digits(text: str) -> bool:
    """Return true if a text consists of ASCII digits, unlike `²` or digits of other scripts."""
    return text.isascii() and text.isdigit()


def shape_of(values: list[Any]) -> ColumnShape | None:
    """Return the shape of values, or None if no single type holds them.

    >>> shape_of(["a", None]).type_text(), shape_of([[1], []]).type_text(), shape_of([{"a": [True]}]).type_text()
    ('text?', 'list<integer>', '{ a list<bool> }')
    """
    held = [value for value in values if value is not None]
    shape = _held_shape(held) if held else ColumnShape("text")
    if shape is not None:
        shape.missing = len(held) < len(values)
        shape.certain = True
        texts = [each for each in held if isinstance(each, str)]
        shape.digits = any(is_digits(text) for text in texts)
        shape.least = min(held, default=None) if shape.kind == "integer" else None
        shape.blank = any(not text.strip() for text in texts)
        shape.brackets = any(text[:1] == "[" and text[-1:] == "]" for text in texts)
    return shape


def _held_shape(held: list[Any]) -> ColumnShape | None:
    for name, types in (("text", str), ("bool", bool), ("integer", int), ("number", (int, float))):
        if all(isinstance(each, types) and (name == "bool" or not isinstance(each, bool)) for each in held):
            return ColumnShape(name)
    if all(isinstance(each, list | tuple) for each in held):
        items = [item for each in held for item in each]
        inner = shape_of(items) if items else ColumnShape("text", certain=True)
        return ColumnShape("list", item=inner) if inner is not None else None
    if all(isinstance(each, Mapping) for each in held):
        names = dict.fromkeys(name for each in held for name in each)
        fields = {name: shape_of([each.get(name) for each in held]) for name in names}
        shapes = {name: shape for name, shape in fields.items() if shape is not None}
        return ColumnShape("record", fields=shapes)
    return None


@dataclass
class TemplateValue:
    """An expression of the language, and the shape of its value."""

    code: str
    shape: ColumnShape
    constant: Any = None
    """The value of a literal in the template."""
    members: tuple[TemplateValue, ...] | None = None
    """The values of a list literal in the template."""
    printed: str = ""
    """An expression for the printed text, if it differs from the value: `None` for a missing value."""
    parts: Pieces | None = None
    """The texts that are concatenated in it."""
    sought: bool = False
    """The position of a text that was searched for among options; negative if it is not there."""

    @property
    def kind(self) -> str:
        """The kind of the value; an unknown kind is text."""
        return self.shape.kind or "text"

    def as_text(self) -> str:
        """Return an expression for the text that Jinja prints. Raises `NotTranslatable`."""
        if self.kind == "text" and self.printed:
            return self.printed
        if self.shape.missing:
            raise NotTranslatable(f"a {self.kind} that is printed and may be missing")
        match self.kind:
            case "text":
                return self.code
            case "integer":
                return f"json({self.code})"
            case "bool":
                return f'choose({self.code}, "True", "False")'
        raise NotTranslatable(f"a {self.kind} that is printed")

    def hole(self) -> Code:
        """Return the value as an expression in a hole."""
        text = self.as_text()
        return Code(self.code, text) if self.kind == "integer" else Code(text)

    def pieces(self) -> Pieces:
        """Return the value as pieces of a template."""
        if isinstance(self.constant, str):
            return [self.constant]
        return [self.hole()] if self.parts is None else self.parts


def item_at(of: TemplateValue, index: TemplateValue, known: bool) -> str:
    """Return the code for an item of a list at an index from the row. A negative index counts from the end, as in
    Python. It is assumed not to occur if no row is `known`."""
    least = index.shape.least
    if index.constant is not None or index.sought or not known or (least is not None and least >= 0):
        return f"nth({of.code}, {index.code})"
    count = f"length({of.code})" if of.members is None else str(len(of.members))
    return f"nth({of.code}, choose({index.code} < 0, {index.code} + {count}, {index.code}))"


def constant(value: Any) -> TemplateValue:
    """Return the value of a literal. Raises `NotTranslatable` for a type without counterpart."""
    match value:
        case bool():
            return TemplateValue("true" if value else "false", ColumnShape("bool"), value)
        case int():
            return TemplateValue(str(value), ColumnShape("integer", least=value), value)
        case float():
            return TemplateValue(repr(value), ColumnShape("number"), value)
        case str():
            return TemplateValue(quoted(value), ColumnShape("text"), value)
    raise NotTranslatable(f"the constant `{value}`")


def concatenated(values: Sequence[TemplateValue]) -> TemplateValue:
    """Return the concatenation of texts."""
    if all(isinstance(value.constant, str) for value in values):
        return constant("".join(value.constant for value in values))
    parts = [piece for value in values for piece in value.pieces()]
    return TemplateValue(joined(parts), ColumnShape("text"), parts=parts)


def result_shape(kind: str) -> ColumnShape:
    """Return the shape of a function's result. `texts` is a list of texts; an integer is a count or a position."""
    if kind == "texts":
        return ColumnShape("list", item=ColumnShape("text"))
    return ColumnShape(kind, least=0 if kind == "integer" else None)


def fallback(shape: ColumnShape) -> str:
    """Return the code of the value that replaces a missing one."""
    return {"integer": "-1", "number": "-1", "bool": "false", "list": '[""]'}.get(shape.kind, '""')


# Conditions
class Conditions:
    """Translation of conditions. Subclasses translate values."""

    columns: TaskColumns
    assumed: dict[str, None]

    def value(self, node: Any) -> TemplateValue:
        """Return the value of an expression."""
        raise NotImplementedError

    def column(self, name: str) -> TemplateValue:
        """Return the value of a column."""
        raise NotImplementedError

    def decided(self, test: Any) -> bool | None:
        """Return the result of a test whether a column is defined, or None for any other test."""
        kind = type(test).__name__
        if kind == "Not":
            found = self.decided(test.node)
            return None if found is None else not found
        if kind != "Test" or test.name not in ("defined", "undefined") or type(test.node).__name__ != "Name":
            return None
        name = test.node.name
        if not self.columns.closed:
            self.assumed[f"the column `{name}` is there"] = None
        return bool((name in self.columns) == (test.name == "defined"))

    def condition(self, node: Any) -> str:
        """Return the code of a condition. Raises `NotTranslatable` if the value has no truth."""
        decided = self.decided(node)
        if decided is not None:
            return "true" if decided else "false"
        match type(node).__name__:
            case "Not":
                return f"not {self.condition(node.node)}"
            case "And" | "Or" as word:
                return f"({self.condition(node.left)} {word.lower()} {self.condition(node.right)})"
            case "Test" if node.name == "none":
                return self._is_none(node.node)
            case "Test":
                raise NotTranslatable(f"the test `is {node.name}`")
            case "Compare":
                return self._compared(node)
        template_value = self.value(node)
        match template_value.kind:
            case "bool":
                return template_value.code
            case "text":
                return f'({template_value.code} != "")'
            case "list":
                return f"(length({template_value.code}) > 0)"
        return f"({template_value.code} != 0)"

    def _is_none(self, node: Any) -> str:
        if type(node).__name__ != "Name":
            raise NotTranslatable("`is none` of what is no column")
        shape = self.columns.shape(node.name)
        if not shape.certain:
            shape.missing = True
        if not shape.missing:
            return "false"
        template_value = self.column(node.name)
        if template_value.kind not in ("text", "integer", "number"):
            raise NotTranslatable(f"`is none` of a {template_value.kind}")
        if template_value.kind == "text":
            self.assumed[f"an empty text in `{node.name}` is none"] = None
        return f"({template_value.code} == {fallback(shape)})"

    def _compared(self, node: Any) -> str:
        if len(node.ops) != 1:
            raise NotTranslatable("a chain of comparisons")
        template_value, operand = self.value(node.expr), node.ops[0]
        right = self.value(operand.expr)
        words = {
            "eq": "==",
            "ne": "!=",
            "lt": "<",
            "lteq": "<=",
            "gt": ">",
            "gteq": ">=",
            "in": "in",
            "notin": "not in",
        }
        if operand.op in ("in", "notin"):
            right.shape.want("list")
            if right.kind == "text":
                raise NotTranslatable("`in` of a text")
            template_value.shape.want(right.shape.items().kind or "text")
        else:
            template_value.shape.want(right.shape.kind or "text")
            right.shape.want(template_value.shape.kind)
            if template_value.kind != right.kind and {template_value.kind, right.kind} != {"integer", "number"}:
                raise NotTranslatable(f"a {template_value.kind} that is compared with a {right.kind}")
        return f"({template_value.code} {words[operand.op]} {right.code})"


def strip_parentheses(condition: str) -> str:
    """Return a condition without the parentheses around all of it.

    >>> strip_parentheses("(a == b)"), strip_parentheses("(a) or (b)")
    ('a == b', '(a) or (b)')
    """
    inner = condition[1:-1]
    if condition.startswith("(") and condition.endswith(")") and not re.search(r"[()\"]", inner.replace("()", "")):
        return inner
    return condition


# Methods of Python and filters of Jinja
EMPTY_TEXT = '""'


class Method(NamedTuple):
    """The counterpart of a method or filter: the kind it applies to, the maximum number of arguments, the code, and the
    kind of the result."""

    needs: str
    most: int
    code: Callable[..., str]
    gives: str


def _strip(of: Any, *characters: Any) -> str:
    if characters:
        raise NotTranslatable("`.strip()` of characters")
    return f"trim({of.code})"


def _index(of: Any, item: Any) -> str:
    of.shape.items().want("text")
    item.shape.want("text")
    if item.kind != "text" or of.shape.items().kind != "text":
        raise NotTranslatable("`.index()` in a list of what is no text")
    return f"rank({item.code}, {of.code})"


def _split(of: Any, *separator: Any) -> str:
    if not separator:
        return f'regex_all({of.code}, "\\\\S+")'
    return f"split({of.code}, {separator[0].code})"


def _join(of: Any, *separator: Any) -> str:
    of.shape.items().want("text")
    if of.shape.items().kind != "text":
        raise NotTranslatable("`join` of what is no text")
    return f"join({of.code}, {separator[0].code if separator else EMPTY_TEXT})"


def _joined_by(of: Any, items: Any) -> str:
    items.shape.items().want("text")
    return f"join({items.code}, {of.code})"


def _replace(of: Any, *texts: Any) -> str:
    if len(texts) != 2:
        raise NotTranslatable("`replace` with a count")
    return f"replace({of.code}, {texts[0].code}, {texts[1].code})"


def _capitalize(of: Any) -> str:
    return f'join((upper(slice({of.code}, 0, 1)), lower(slice({of.code}, 1))), "")'


def _integer(of: Any) -> str:
    if of.kind == "integer":
        return str(of.code)
    raise NotTranslatable("`int` of a text")


STRIP = Method("text", 1, _strip, "text")
LOWER = Method("text", 0, lambda of: f"lower({of.code})", "text")
UPPER = Method("text", 0, lambda of: f"upper({of.code})", "text")
LSTRIP = Method("text", 0, lambda of: f'regex_replace({of.code}, "^\\\\s+", "")', "text")
RSTRIP = Method("text", 0, lambda of: f'regex_replace({of.code}, "\\\\s+$", "")', "text")
REPLACE = Method("text", 2, _replace, "text")
CAPITALIZE = Method("text", 0, _capitalize, "text")
LENGTH = Method("", 0, lambda of: f"length({of.code})", "integer")

METHODS: dict[str, Method] = {
    "strip": STRIP,
    "lstrip": LSTRIP,
    "rstrip": RSTRIP,
    "lower": LOWER,
    "upper": UPPER,
    "replace": REPLACE,
    "capitalize": CAPITALIZE,
    "split": Method("text", 1, _split, "texts"),
    "index": Method("list", 1, _index, "integer"),
    "join": Method("text", 1, _joined_by, "text"),
}
FILTERS: dict[str, Method] = {
    "trim": STRIP,
    "lower": LOWER,
    "upper": UPPER,
    "replace": REPLACE,
    "capitalize": CAPITALIZE,
    "length": LENGTH,
    "count": LENGTH,
    "join": Method("list", 1, _join, "text"),
    "first": Method("list", 0, lambda of: f"first({of.code})", "item"),
    "last": Method("list", 0, lambda of: f"last({of.code})", "item"),
    "list": Method("list", 0, lambda of: str(of.code), "same"),
    "int": Method("", 0, _integer, "integer"),
}


# Templates
LONGEST_LOOP = 26
"""Maximum elements of a loop with an index. The index is missing for later elements of a longer list, which a run
reports."""


@dataclass
class Translator(Conditions):
    """Translator of templates over the columns of a data set; `row` is the name of its rows."""

    columns: TaskColumns
    row: str = "doc"
    shows: bool = True
    """Whether the texts appear in prompts, so that their columns are not secret."""
    assumed: dict[str, None] = field(default_factory=dict)
    """Assumptions made because the data is not available."""
    names: dict[str, TemplateValue] = field(default_factory=dict)
    fresh: int = 0

    def column(self, name: str) -> TemplateValue:
        """Return the value of a column."""
        shape = self.columns.shape(name)
        if self.shows:
            self.columns.shown_columns.add(name)
        code = f"{self.row}.{self.columns.names[name]}"
        if not shape.missing:
            return TemplateValue(code, shape)
        return TemplateValue(f"default({code}, {fallback(shape)})", shape, printed=f'default({code}, "None")')

    def template(self, text: str) -> Pieces:
        """Return a template as pieces. Raises `NotTranslatable`."""
        return list(self._body(parse_template(text).body))

    def single(self, text: str) -> TemplateValue | None:
        """Return the value of a template that is a single expression, or None for any other template."""
        body = list(parse_template(text).body)
        if len(body) == 1 and type(body[0]).__name__ == "Output":
            parts = body[0].nodes
            if len(parts) == 1 and type(parts[0]).__name__ != "TemplateData":
                return self.value(parts[0])
        return None

    def _body(self, body: Sequence[nodes.Node]) -> Iterator[str | Code]:
        for node in body:
            match type(node).__name__:
                case "Output":
                    for each in node.nodes:  # type: ignore[attr-defined]
                        if type(each).__name__ == "TemplateData":
                            yield each.data
                        else:
                            yield from self.value(each).pieces()
                case "If":
                    yield from self._branches(node)
                case "For":
                    yield Code(self._loop(node))
                case "Assign":
                    self.names[node.target.name] = self.value(node.node)  # type: ignore[attr-defined]
                case other:
                    raise NotTranslatable(f"`{{% {other.lower()} %}}`")

    def _branches(self, node: Any) -> Iterator[str | Code]:
        decided = self.decided(node.test)
        rest = [*node.elif_] or None
        if decided is not None:
            if decided:
                yield from self._body(node.body)
            elif rest:
                raise NotTranslatable("`{% elif %}` behind a test of whether a column is there")
            else:
                yield from self._body(node.else_)
            return
        condition = strip_parentheses(self.condition(node.test))
        this = joined(list(self._body(node.body)))
        other = joined(list(self._body(node.else_)))
        for each in reversed(node.elif_):
            test, body = strip_parentheses(self.condition(each.test)), joined(list(self._body(each.body)))
            other = f"choose({test}, {body}, {other})"
        yield Code(f"choose({condition}, {this}, {other})")

    def _loop(self, node: Any) -> str:
        if node.test is not None or node.else_ or type(node.target).__name__ != "Name":
            raise NotTranslatable("a loop with a condition, or over pairs")
        self.fresh += 1
        alias = f"x{self.fresh}" if self.fresh > 1 else "x"
        numbers = listed([str(each) for each in range(LONGEST_LOOP)])
        call = node.iter
        if type(call).__name__ == "Call" and getattr(call.node, "name", "") == "range":
            count = [self.value(argument) for argument in call.args]
            if len(count) != 1:
                raise NotTranslatable("`range` with a beginning")
            within = {node.target.name: TemplateValue(alias, ColumnShape("integer", least=0))}
            over = f"slice({numbers}, 0, {count[0].code})"
        else:
            items = self.value(call)
            inner = items.shape.items()
            within = {node.target.name: TemplateValue(alias, inner)}
            over = items.code
            if any(True for _ in _loop_indices(node)):
                over = f"zip(slice({numbers}, 0, length({items.code})), {items.code})"
                index = TemplateValue(f"{alias}.first", ColumnShape("integer", least=0))
                within = {node.target.name: TemplateValue(f"{alias}.second", inner), "loop.index0": index}
                within["loop.index"] = TemplateValue(f"{alias}.first + 1", ColumnShape("integer", least=1))
        with self.naming(within):
            body = joined(list(self._body(node.body)))
        return f'join([{body} each {alias} in {over}], "")'

    @contextmanager
    def naming(self, names: dict[str, TemplateValue]) -> Iterator[None]:
        """Bind names within a context."""
        before = dict(self.names)
        self.names.update(names)
        try:
            yield
        finally:
            self.names = before

    def value(self, node: Any) -> TemplateValue:
        """Return the value of an expression. Raises `NotTranslatable`."""
        made: Callable[[Any], TemplateValue] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if made is None:
            raise NotTranslatable(f"`{type(node).__name__}` in an expression")
        return made(node)

    def text_of(self, node: Any) -> str:
        """Return the code of a value that must be a text."""
        template_value = self.value(node)
        template_value.shape.want("text")
        return template_value.as_text()

    def _name(self, node: Any) -> TemplateValue:
        return self.names[node.name] if node.name in self.names else self.column(node.name)

    def _const(self, node: Any) -> TemplateValue:
        return constant(node.value)

    def _templatedata(self, node: Any) -> TemplateValue:
        return constant(node.data)

    def _list(self, node: Any) -> TemplateValue:
        members = tuple(self.value(item) for item in node.items)
        if not members:
            raise NotTranslatable("an empty list")
        kinds = {template_value.kind for template_value in members}
        for member in members:
            member.shape.want("text")
        codes = (
            [template_value.code for template_value in members]
            if len(kinds) == 1
            else [template_value.as_text() for template_value in members]
        )
        return TemplateValue(listed(codes), ColumnShape("list", item=members[0].shape), members=members)

    _tuple = _list

    def _getattr(self, node: Any) -> TemplateValue:
        if getattr(node.node, "name", "") == "loop" and f"loop.{node.attr}" in self.names:
            return self.names[f"loop.{node.attr}"]
        return self._field(self.value(node.node), node.attr)

    def _field(self, record: TemplateValue, name: str) -> TemplateValue:
        return TemplateValue(f"{record.code}.{name_of(name)}", record.shape.member(name))

    def _getitem(self, node: Any) -> TemplateValue:
        of, key = self.value(node.node), node.arg
        if type(key).__name__ == "Slice":
            return self._slice_of(of, key)
        index = self.value(key)
        if isinstance(index.constant, str):
            return self._field(of, index.constant)
        index.shape.want("integer")
        if index.kind != "integer":
            raise NotTranslatable(f"an index that is a {index.kind}")
        if of.kind == "text" and of.shape.kind:
            return TemplateValue(f"slice({of.code}, {index.code}, 1)", ColumnShape("text"))
        inner = of.shape.items()
        if isinstance(index.constant, int) and index.constant < 0:
            if index.constant != -1:
                raise NotTranslatable("an index from the end")
            return TemplateValue(f"last({of.code})", inner)
        if index.constant is None and not self.columns.closed and index.shape.least is None:
            self.assumed["an index that a row says is not below 0"] = None
        return TemplateValue(item_at(of, index, self.columns.closed), inner)

    def _slice_of(self, of: TemplateValue, part: Any) -> TemplateValue:
        start = self.value(part.start).constant if part.start is not None else 0
        stop = self.value(part.stop).constant if part.stop is not None else None
        if part.step is not None or not isinstance(start, int) or not isinstance(stop, int | None):
            raise NotTranslatable("a slice with a step, or whose ends are computed")
        if of.kind != "text":
            of.shape.items()
        if stop is None:
            return TemplateValue(f"slice({of.code}, {start})", of.shape.present())
        if stop == -1 and start == 0 and of.kind == "list":
            return TemplateValue(f"without_last({of.code})", of.shape.present())
        if start < 0 or stop < start:
            raise NotTranslatable("a slice that ends before the end")
        return TemplateValue(f"slice({of.code}, {start}, {stop - start})", of.shape.present())

    def _call(self, node: Any) -> TemplateValue:
        method = getattr(node.node, "attr", None)
        if method not in METHODS or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise NotTranslatable(f"a call of `{method or getattr(node.node, 'name', 'a value')}`")
        return self._applied(METHODS[method], self.value(node.node.node), node.args, f".{method}()")

    def _filter(self, node: Any) -> TemplateValue:
        if node.name == "map" and node.kwargs and node.kwargs[0].key == "attribute":
            items, name = self.value(node.node), node.kwargs[0].value.value
            inner = self._field(TemplateValue("x", items.shape.items()), name)
            return TemplateValue(f"[{inner.code} each x in {items.code}]", ColumnShape("list", item=inner.shape))
        if node.name == "string":
            template_value = self.value(node.node)
            return TemplateValue(
                template_value.as_text(),
                ColumnShape("text"),
                template_value.constant if isinstance(template_value.constant, str) else None,
            )
        if node.name not in FILTERS or node.kwargs:
            raise NotTranslatable(f"the filter `{node.name}`")
        return self._applied(FILTERS[node.name], self.value(node.node), node.args, f"|{node.name}")

    def _applied(self, method: Any, of: TemplateValue, args: Sequence[Any], name: str) -> TemplateValue:
        needs, most, code, gives = method
        if len(args) > most:
            raise NotTranslatable(f"`{name}` with {len(args)} arguments")
        if needs:
            of.shape.want(needs)
            if of.kind != needs:
                raise NotTranslatable(f"`{name}` of a {of.kind}")
        template_values = [self.value(argument) for argument in args]
        made = code(of, *template_values)
        shape = {"same": of.shape.present(), "item": of.shape.item or ColumnShape()}.get(gives) or result_shape(gives)
        return TemplateValue(made, shape)

    def _add(self, node: Any) -> TemplateValue:
        template_value, right = self.value(node.left), self.value(node.right)
        if template_value.shape.kind == right.shape.kind == "integer":
            one, two = template_value.shape.least, right.shape.least
            least = None if one is None or two is None else one + two
            return TemplateValue(f"({template_value.code} + {right.code})", ColumnShape("integer", least=least))
        template_value.shape.want("text")
        right.shape.want("text")
        if "list" in (template_value.kind, right.kind):
            raise NotTranslatable("lists that are added")
        return concatenated([template_value, right])

    def _concat(self, node: Any) -> TemplateValue:
        return concatenated([self.value(each) for each in node.nodes])

    def _sub(self, node: Any) -> TemplateValue:
        template_value, right = self.value(node.left), self.value(node.right)
        for each in (template_value, right):
            each.shape.want("integer")
            if each.kind not in ("integer", "number"):
                raise NotTranslatable(f"a {each.kind} that is subtracted")
        known = template_value.shape.least is not None and isinstance(right.constant, int)
        least = template_value.shape.least - right.constant if known else None
        return TemplateValue(f"({template_value.code} - {right.code})", ColumnShape("integer", least=least))

    def _neg(self, node: Any) -> TemplateValue:
        template_value = self.value(node.node)
        if not isinstance(template_value.constant, int | float):
            raise NotTranslatable("a negative value")
        return constant(-template_value.constant)

    def _condexpr(self, node: Any) -> TemplateValue:
        decided = self.decided(node.test)
        if decided is not None:
            return self.value(node.expr1 if decided else node.expr2)
        condition, this = strip_parentheses(self.condition(node.test)), self.value(node.expr1)
        other = self.value(node.expr2) if node.expr2 is not None else constant("")
        if this.kind != other.kind:
            return TemplateValue(f"choose({condition}, {this.as_text()}, {other.as_text()})", ColumnShape("text"))
        return TemplateValue(f"choose({condition}, {this.code}, {other.code})", this.shape.present())

    def _test(self, node: Any) -> TemplateValue:
        return TemplateValue(self.condition(node), ColumnShape("bool"))

    _not = _and = _or = _compare = _test


def _loop_indices(node: Any) -> Iterator[Any]:
    from jinja2 import nodes

    for each in node.find_all(nodes.Getattr):
        if getattr(each.node, "name", "") == "loop":
            yield each


def parse_template(text: str) -> Any:
    """Parse a template with Jinja's parser. Raises `NotTranslatable` if Jinja refuses it."""
    from jinja2 import Environment, TemplateError

    environment = Environment(keep_trailing_newline=True, autoescape=False)
    environment.filters["regex_replace"] = str
    try:
        return environment.parse(text)
    except (TemplateError, RecursionError) as error:
        raise NotTranslatable(f"Jinja refuses it: {error}") from error


# The form of a task
class PythonName(str):
    """The name of a Python function that a task refers to, such as `utils.process_docs`."""

    __slots__ = ()


NULL = type(None)
A_TEXT = kind("a text", str)
A_TEXT_OR_NULL = kind("a text", str, NULL)
A_NAME = kind("a text or a number", str, int, float)
A_SCALAR = kind("a text, a number, true or false", str, int, float, bool, NULL)
A_NUMBER = kind("a number", int, float, NULL)
A_WHOLE = kind("a whole number", int, NULL)
A_MAPPING = kind("a mapping", dict)
A_MAPPING_OR_NULL = kind("a mapping", dict, NULL)
A_LIST_OR_NULL = kind("a list", list, NULL)

OptionalText = Annotated[Any, A_TEXT_OR_NULL]
OptionalName = Annotated[Any, kind("a text or a number", str, int, float, NULL)]
Whole = Annotated[Any, A_WHOLE]
Number = Annotated[Any, A_NUMBER]
Texts = Annotated[list[Annotated[Any, A_NAME]], AS_LIST]


class FilterStep(TypedDict):
    """One function of a filter."""

    function: Annotated[Any, A_TEXT]
    regex_pattern: NotRequired[OptionalText]
    group_select: NotRequired[Whole]
    fallback: NotRequired[Annotated[Any, A_SCALAR]]
    mapping_dict: NotRequired[Annotated[dict[str, Annotated[Any, A_SCALAR]] | None, A_MAPPING_OR_NULL]]
    default_value: NotRequired[Annotated[Any, A_SCALAR]]
    regexes_to_ignore: NotRequired[Annotated[list[Annotated[Any, A_TEXT]] | None, A_LIST_OR_NULL]]


class Filter(TypedDict):
    """A filter of replies."""

    name: Annotated[Any, A_NAME]
    filter: Annotated[list[Annotated[FilterStep, A_MAPPING]], kind("a list", list)]


class Metric(TypedDict):
    """A metric of a task or a group."""

    metric: Annotated[Any, A_TEXT]
    aggregation: NotRequired[OptionalText]
    regexes_to_ignore: NotRequired[Annotated[list[Annotated[Any, A_TEXT]] | None, A_LIST_OR_NULL]]
    filter_list: NotRequired[Texts]


class Settings(TypedDict, total=False):
    """Settings of the generation of a reply."""

    until: Annotated[list[Annotated[Any, A_SCALAR]], AS_LIST]
    max_gen_toks: Whole
    max_new_tokens: Whole
    max_tokens: Whole
    temperature: Number
    top_p: Number
    top_k: Number


class DataSettings(TypedDict, total=False):
    """Options for loading the rows."""

    data_files: Annotated[Any, kind("a text, a list or a mapping", str, list, dict, NULL)]


def _rows(value: Any) -> Any:
    if isinstance(value, list) and not all(isinstance(each, dict) for each in value):
        raise ValueError("its entries should be mappings")
    return value


class Shots(TypedDict, total=False):
    """How worked examples are sampled and written."""

    split: OptionalText
    sampler: OptionalText
    samples: Annotated[Any, BeforeValidator(_rows), kind("a list or a function", list, PythonName, NULL)]
    fewshot_delimiter: OptionalText
    target_delimiter: OptionalText
    gen_prefix: OptionalText


Field = Annotated[Any, kind("a text, a number, a list or a mapping", str, int, float, bool, list, dict, NULL)]


class TaskConfig(TypedDict, total=False):
    """The configuration of a task or a group, with its includes."""

    group: Annotated[Any, A_NAME]
    task: Annotated[list[Annotated[Any, kind("a text or a mapping", str, int, float, dict)]], AS_LIST]
    tag: Texts
    task_alias: OptionalName
    group_alias: OptionalName
    aggregate_metric_list: Annotated[list[Annotated[Metric, A_MAPPING]], AS_LIST]
    dataset_path: OptionalText
    dataset_name: OptionalName
    dataset_kwargs: Annotated[DataSettings | None, A_MAPPING_OR_NULL]
    test_split: OptionalText
    validation_split: OptionalText
    training_split: OptionalText
    fewshot_split: OptionalText
    output_type: OptionalText
    doc_to_text: Field
    doc_to_choice: Field
    doc_to_target: Field
    description: OptionalText
    gen_prefix: OptionalText
    fewshot_delimiter: OptionalText
    target_delimiter: OptionalText
    num_fewshot: Whole
    fewshot_config: Annotated[Any, kind("a mapping or a function", dict, PythonName, NULL)]
    generation_kwargs: Annotated[Settings | None, A_MAPPING_OR_NULL]
    filter_list: Annotated[list[Annotated[Filter, A_MAPPING]] | None, A_LIST_OR_NULL]
    metric_list: Annotated[list[Annotated[Metric, A_MAPPING]] | None, A_LIST_OR_NULL]


class TaskWithShots(TypedDict, total=False):
    """A task with its own configuration of worked examples."""

    fewshot_config: Shots


FORM = TypeAdapter(TaskConfig)
SHOTS_FORM = TypeAdapter(TaskWithShots)


def check_config(config: Mapping[str, Any], path: Path) -> None:
    """Raise `TriposError` R0246 if a task, or a task among the members of a group, has another form."""
    validate_shape(FORM, config, path)
    if isinstance(config.get("fewshot_config"), dict):
        validate_shape(SHOTS_FORM, config, path)
    for each in config["task"] if isinstance(config.get("task"), list) else ():
        if isinstance(each, dict):
            check_config(each, path)


# Fields of a task
_COLUMN = re.compile(r"[^\W\d]\w*(?: \w+)?")
"""A text that is taken as the name of a column if the columns are unknown."""


DIGITS = listed([quoted(str(each)) for each in range(10)])
"""The digits that a target may print."""


@dataclass
class TaskFields:
    """Translation of a task's fields for the rows of one data set."""

    config: Mapping[str, Any]
    columns: TaskColumns
    row: str
    explicit: bool = False
    """Whether lm-eval wrote the rows, with the results of each function."""
    assumed: dict[str, None] = field(default_factory=dict)

    def translator(self, shows: bool) -> Translator:
        """Return a translator for these rows."""
        return Translator(self.columns, self.row, shows, self.assumed)

    def text(self, key: str, given: Any, shows: bool = True, literal: bool = False) -> Pieces:
        """Return a field that is a text. With `literal`, it is a template even if it could be a column's name."""
        is_template = isinstance(given, str) and not isinstance(given, PythonName)
        if is_template and not (self._is_known_column(given) if literal else self._is_column(given, key)):
            try:
                return self.translator(shows).template(given)
            except NotTranslatable:
                if not self.explicit:
                    raise
        template_value = self.value(key, given, shows)
        template_value.shape.want("text")
        if isinstance(template_value.constant, str):
            return [template_value.constant]
        return [template_value.hole()]

    def value(self, key: str, given: Any, shows: bool = True) -> TemplateValue:
        """Return the value of a field of any type. If it has no translation, return the column that lm-eval wrote."""
        try:
            return self._value(key, given, shows)
        except NotTranslatable:
            if not self.explicit or isinstance(given, PythonName):
                raise
            return self.translator(shows).column(f"_{key}")

    def _value(self, key: str, given: Any, shows: bool) -> TemplateValue:
        if isinstance(given, PythonName):
            return self.python_column(key, given, shows)
        if isinstance(given, str):
            if self._is_column(given, key):
                return self.translator(shows).column(given)
            single = self.translator(shows).single(given)
            if single is not None:
                return single
            pieces = self.translator(shows).template(given)
            if all(isinstance(piece, str) for piece in pieces):
                return constant("".join(piece for piece in pieces if isinstance(piece, str)))
            return TemplateValue(joined(pieces), ColumnShape("text"))
        if isinstance(given, list | tuple):
            return list_literal([constant(each) for each in given])
        if isinstance(given, dict):
            return list_literal([constant(each) for each in given.values()])
        return constant(given)

    def python_column(self, key: str, given: PythonName, shows: bool) -> TemplateValue:
        """Return the column with the results of a Python function. Raises `NotTranslatable` if lm-eval did not write
        the rows."""
        if not self.explicit:
            raise NotTranslatable(
                f"`{key}` is a function in Python, `{given}`: {ImportTaskParameters.run_python} writes what it gives"
            )
        return self.translator(shows).column(f"_{key}")

    def options(self, given: Any = None) -> TemplateValue:
        """Return the options of a question. `given` overrides them for worked examples."""
        template_value = self.value("doc_to_choice", self.config.get("doc_to_choice") if given is None else given)
        template_value.shape.items().want("text")
        if template_value.kind != "list" or template_value.shape.items().kind != "text":
            raise NotTranslatable("options that are no list of texts")
        return template_value

    def place(self, key: str, given: Any, options: TemplateValue) -> TemplateValue:
        """Return the position of the right option, or a list of positions: the target itself, or the position of its
        text among the options."""
        template_value = self.target(key, given)
        match template_value.kind:
            case "integer":
                return template_value
            case "bool":
                return TemplateValue(f"choose({template_value.code}, 1, 0)", ColumnShape("integer", least=0))
            case "list" if template_value.shape.items().kind in ("integer", ""):
                template_value.shape.items().want("integer")
                return template_value
            case "text":
                return self._among(template_value, given, options)
        raise NotTranslatable(f"a target that is a {template_value.kind}")

    def _among(self, found: TemplateValue, given: Any, options: TemplateValue) -> TemplateValue:
        """Return the position of a text among the options, or −1 if it is none of them. A number that a template prints
        is a position."""
        code = f"default(rank({found.code}, {options.code}), -1)"
        if found.constant is None and isinstance(given, str) and "{" in given and found.shape.digits:
            if self.columns.closed:
                code = f"default(rank({found.code}, {DIGITS}), {code})"
            else:
                self.assumed[f"the target `{given}` prints no number"] = None
        return TemplateValue(code, ColumnShape("integer"), sought=True)

    def target(self, key: str, given: Any) -> TemplateValue:
        """Return the target of a question with options: a text, a position, or positions. A condition that chooses
        between numbers is a number, and so is a text of digits."""
        template_value = self._chosen_number(given) or self.value(key, given, shows=False)
        if not template_value.shape.kind:
            self.assumed[f"the target `{given}` is a position, not a text"] = None
            template_value.shape.want("integer")
        if (
            isinstance(template_value.constant, str)
            and is_digits(template_value.constant)
            and len(template_value.constant) < 10
        ):
            return constant(int(template_value.constant))
        return template_value

    def _chosen_number(self, given: Any) -> TemplateValue | None:
        if isinstance(given, str) and not isinstance(given, PythonName) and "{%" in given:
            body = parse_template(given).body
            if len(body) == 1 and type(body[0]).__name__ == "If" and not body[0].elif_:
                texts = [_text_of(each) for each in (body[0].body, body[0].else_)]
                if all(is_digits(text) for text in texts):
                    condition = self.translator(False).condition(body[0].test)
                    return TemplateValue(
                        f"choose({condition}, {texts[0]}, {texts[1]})", ColumnShape("integer", least=0)
                    )
        return None

    def _is_known_column(self, given: str) -> bool:
        return self.columns.closed and given in self.columns

    def _is_column(self, given: str, key: str) -> bool:
        if self.columns.closed:
            return given in self.columns
        if not _COLUMN.fullmatch(given):
            return False
        self.assumed[f"`{given}`, the whole of `{key}`, is a column"] = None
        return True


def list_literal(values: list[TemplateValue]) -> TemplateValue:
    """Return a list literal of a task."""
    if not values:
        raise NotTranslatable("an empty list of options")
    if {value.kind for value in values} != {"text"}:
        raise NotTranslatable("options that are no texts")
    return TemplateValue(
        listed([value.code for value in values]), ColumnShape("list", item=ColumnShape("text")), members=tuple(values)
    )


def _text_of(body: Any) -> str:
    if len(body) == 1 and type(body[0]).__name__ == "Output":
        return "".join(getattr(node, "data", "?") for node in body[0].nodes)
    return "?"


def edge(pieces: Pieces, last: bool) -> str | None:
    """Return the first or last character of a template: empty if the template is empty, None if it depends on the
    row.
    """
    held = [piece for piece in pieces if piece != ""]
    if not held:
        return ""
    part = held[-1 if last else 0]
    return None if isinstance(part, Code) else part[-1 if last else 0]
