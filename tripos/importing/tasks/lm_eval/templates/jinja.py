"""Templates in Jinja, as lm-eval's tasks have them, as templates and expressions of the language.

The text is parsed by Jinja's own parser and nothing of it is executed. Every value has a code and a shape; a node that
has no counterpart raises `Untranslated`. A first pass learns the types of columns, so translate a task twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tripos.importing.tasks.lm_eval.templates.columns import ColumnShape, TaskColumns
from tripos.importing.tasks.lm_eval.templates.conditions import Conditions, bare
from tripos.importing.tasks.lm_eval.templates.methods import FILTERS, METHODS
from tripos.importing.tasks.lm_eval.templates.values import (
    TemplateValue,
    concatenated,
    constant,
    fallback,
    item_at,
    shape_called,
)
from tripos.importing.tasks.spec_text import Code, Pieces, Untranslated, joined, listed

if TYPE_CHECKING:
    from jinja2 import nodes

LONGEST_LOOP = 26
"""Elements of a loop that counts: a longer list has no value, which a run says."""


@dataclass
class Translator(Conditions):
    """Translates templates over the columns of a data set, whose row has a name."""

    columns: TaskColumns
    row: str = "doc"
    shows: bool = True
    """The texts are printed in prompts, so that no column in them is secret."""
    assumed: dict[str, None] = field(default_factory=dict)
    """What was taken to be so, as the data is not at hand."""
    names: dict[str, TemplateValue] = field(default_factory=dict)
    fresh: int = 0

    def column(self, name: str) -> TemplateValue:
        """Return a column of the row."""
        shape = self.columns.shape(name)
        if self.shows:
            self.columns.shown.add(name)
        code = f"{self.row}.{self.columns.names[name]}"
        if not shape.missing:
            return TemplateValue(code, shape)
        return TemplateValue(f"default({code}, {fallback(shape)})", shape, printed=f'default({code}, "None")')

    def template(self, text: str) -> Pieces:
        """Return a template as pieces. Raises `Untranslated`."""
        return list(self._body(parsed(text).body))

    def single(self, text: str) -> TemplateValue | None:
        """Return the value of a template that is one hole and nothing else, unprinted; None for any other."""
        body = list(parsed(text).body)
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
                    raise Untranslated(f"`{{% {other.lower()} %}}`")

    def _branches(self, node: Any) -> Iterator[str | Code]:
        decided = self.decided(node.test)
        rest = [*node.elif_] or None
        if decided is not None:
            if decided:
                yield from self._body(node.body)
            elif rest:
                raise Untranslated("`{% elif %}` behind a test of whether a column is there")
            else:
                yield from self._body(node.else_)
            return
        condition = bare(self.condition(node.test))
        this = joined(list(self._body(node.body)))
        other = joined(list(self._body(node.else_)))
        for each in reversed(node.elif_):
            other = f"choose({bare(self.condition(each.test))}, {joined(list(self._body(each.body)))}, {other})"
        yield Code(f"choose({condition}, {this}, {other})")

    def _loop(self, node: Any) -> str:
        if node.test is not None or node.else_ or type(node.target).__name__ != "Name":
            raise Untranslated("a loop with a condition, or over pairs")
        self.fresh += 1
        alias = f"x{self.fresh}" if self.fresh > 1 else "x"
        numbers = listed([str(each) for each in range(LONGEST_LOOP)])
        call = node.iter
        if type(call).__name__ == "Call" and getattr(call.node, "name", "") == "range":
            count = [self.value(each) for each in call.args]
            if len(count) != 1:
                raise Untranslated("`range` with a beginning")
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
        """Give names a meaning for a while."""
        before = dict(self.names)
        self.names.update(names)
        try:
            yield
        finally:
            self.names = before

    def value(self, node: Any) -> TemplateValue:
        """Return the value of an expression. Raises `Untranslated`."""
        made: Callable[[Any], TemplateValue] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if made is None:
            raise Untranslated(f"`{type(node).__name__}` in an expression")
        return made(node)

    def text_of(self, node: Any) -> str:
        """Return a value that has to be a text."""
        found = self.value(node)
        found.shape.want("text")
        return found.as_text()

    def _name(self, node: Any) -> TemplateValue:
        return self.names[node.name] if node.name in self.names else self.column(node.name)

    def _const(self, node: Any) -> TemplateValue:
        return constant(node.value)

    def _templatedata(self, node: Any) -> TemplateValue:
        return constant(node.data)

    def _list(self, node: Any) -> TemplateValue:
        members = tuple(self.value(each) for each in node.items)
        if not members:
            raise Untranslated("an empty list")
        kinds = {each.kind for each in members}
        for each in members:
            each.shape.want("text")
        codes = [each.code for each in members] if len(kinds) == 1 else [each.as_text() for each in members]
        return TemplateValue(listed(codes), ColumnShape("list", item=members[0].shape), members=members)

    _tuple = _list

    def _getattr(self, node: Any) -> TemplateValue:
        if getattr(node.node, "name", "") == "loop" and f"loop.{node.attr}" in self.names:
            return self.names[f"loop.{node.attr}"]
        return self._field(self.value(node.node), node.attr)

    def _field(self, record: TemplateValue, name: str) -> TemplateValue:
        from tripos.importing.tasks.spec_text import name_of

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
            raise Untranslated(f"an index that is a {index.kind}")
        if of.kind == "text" and of.shape.kind:
            return TemplateValue(f"slice({of.code}, {index.code}, 1)", ColumnShape("text"))
        inner = of.shape.items()
        if isinstance(index.constant, int) and index.constant < 0:
            if index.constant != -1:
                raise Untranslated("an index from the end")
            return TemplateValue(f"last({of.code})", inner)
        if index.constant is None and not self.columns.closed and index.shape.least is None:
            self.assumed["an index that a row says is not below 0"] = None
        return TemplateValue(item_at(of, index, self.columns.closed), inner)

    def _slice_of(self, of: TemplateValue, part: Any) -> TemplateValue:
        start = self.value(part.start).constant if part.start is not None else 0
        stop = self.value(part.stop).constant if part.stop is not None else None
        if part.step is not None or not isinstance(start, int) or not isinstance(stop, int | None):
            raise Untranslated("a slice with a step, or whose ends are computed")
        if of.kind != "text":
            of.shape.items()
        if stop is None:
            return TemplateValue(f"slice({of.code}, {start})", of.shape.present())
        if stop == -1 and start == 0 and of.kind == "list":
            return TemplateValue(f"without_last({of.code})", of.shape.present())
        if start < 0 or stop < start:
            raise Untranslated("a slice that ends before the end")
        return TemplateValue(f"slice({of.code}, {start}, {stop - start})", of.shape.present())

    def _call(self, node: Any) -> TemplateValue:
        method = getattr(node.node, "attr", None)
        if method not in METHODS or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise Untranslated(f"a call of `{method or getattr(node.node, 'name', 'a value')}`")
        return self._applied(METHODS[method], self.value(node.node.node), node.args, f".{method}()")

    def _filter(self, node: Any) -> TemplateValue:
        if node.name == "map" and node.kwargs and node.kwargs[0].key == "attribute":
            items, name = self.value(node.node), node.kwargs[0].value.value
            inner = self._field(TemplateValue("x", items.shape.items()), name)
            return TemplateValue(f"[{inner.code} each x in {items.code}]", ColumnShape("list", item=inner.shape))
        if node.name == "string":
            found = self.value(node.node)
            return TemplateValue(
                found.as_text(), ColumnShape("text"), found.constant if isinstance(found.constant, str) else None
            )
        if node.name not in FILTERS or node.kwargs:
            raise Untranslated(f"the filter `{node.name}`")
        return self._applied(FILTERS[node.name], self.value(node.node), node.args, f"|{node.name}")

    def _applied(self, method: Any, of: TemplateValue, args: Sequence[Any], name: str) -> TemplateValue:
        needs, most, code, gives = method
        if len(args) > most:
            raise Untranslated(f"`{name}` with {len(args)} arguments")
        if needs:
            of.shape.want(needs)
            if of.kind != needs:
                raise Untranslated(f"`{name}` of a {of.kind}")
        given = [self.value(each) for each in args]
        made = code(of, *given)
        shape = {"same": of.shape.present(), "item": of.shape.item or ColumnShape()}.get(gives) or shape_called(gives)
        return TemplateValue(made, shape)

    def _add(self, node: Any) -> TemplateValue:
        left, right = self.value(node.left), self.value(node.right)
        if left.shape.kind == right.shape.kind == "integer":
            one, two = left.shape.least, right.shape.least
            least = None if one is None or two is None else one + two
            return TemplateValue(f"({left.code} + {right.code})", ColumnShape("integer", least=least))
        left.shape.want("text")
        right.shape.want("text")
        if "list" in (left.kind, right.kind):
            raise Untranslated("lists that are added")
        return concatenated([left, right])

    def _concat(self, node: Any) -> TemplateValue:
        return concatenated([self.value(each) for each in node.nodes])

    def _sub(self, node: Any) -> TemplateValue:
        left, right = self.value(node.left), self.value(node.right)
        for each in (left, right):
            each.shape.want("integer")
            if each.kind not in ("integer", "number"):
                raise Untranslated(f"a {each.kind} that is subtracted")
        known = left.shape.least is not None and isinstance(right.constant, int)
        least = left.shape.least - right.constant if known else None
        return TemplateValue(f"({left.code} - {right.code})", ColumnShape("integer", least=least))

    def _neg(self, node: Any) -> TemplateValue:
        found = self.value(node.node)
        if not isinstance(found.constant, int | float):
            raise Untranslated("a negative value")
        return constant(-found.constant)

    def _condexpr(self, node: Any) -> TemplateValue:
        decided = self.decided(node.test)
        if decided is not None:
            return self.value(node.expr1 if decided else node.expr2)
        condition, this = bare(self.condition(node.test)), self.value(node.expr1)
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


def parsed(text: str) -> Any:
    """Return the syntax tree of a template, by Jinja's parser. Raises `Untranslated` for one that it refuses."""
    from jinja2 import Environment, TemplateError

    environment = Environment(keep_trailing_newline=True, autoescape=False)
    environment.filters["regex_replace"] = str
    try:
        return environment.parse(text)
    except (TemplateError, RecursionError) as error:
        raise Untranslated(f"Jinja refuses it: {error}") from error
