"""What names mean where an expression stands, and what is known of an expression once it is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tripos_compiler.plan import Expr, Type
from tripos_compiler.semantics.totality import Lack, unguarded
from tripos_compiler.source import Span


@dataclass(frozen=True)
class May:
    """A part of an expression that may have no value, and where it stands."""

    lack: Lack
    span: Span


@dataclass(frozen=True)
class Binding:
    """A name in scope. `fields` are what stands behind its dot; `path` is what the name means, and `value` the
    expression that stands for it instead, where it was named by a `let`. `span` is where it was declared.
    """

    path: tuple[str, ...]
    type: Type | None = None
    fields: Mapping[str, Binding] = field(default_factory=dict)
    value: Expr | None = None
    span: Span | None = None
    may: tuple[May, ...] = ()
    """What may be lacking for it to have a value, where it stands for an expression."""
    secret: bool = False
    """Whether it is a field that is declared as secret, for editors."""


Scope = Mapping[str, Binding]


@dataclass(frozen=True)
class Typed:
    """A checked expression. `may` says what may be lacking for it to have a value."""

    expr: Expr
    type: Type
    may: tuple[May, ...] = ()

    def under(self, condition: Expr, held: bool = True) -> tuple[May, ...]:
        """What may still be lacking where a condition holds, or does not."""
        return tuple(replace(each, lack=left) for each in self.may for left in unguarded([each.lack], condition, held))


def lacking(known: Iterable[Typed]) -> tuple[May, ...]:
    """What may be lacking for all of these expressions to have a value."""
    return tuple(may for each in known for may in each.may)


def record_fields(path: tuple[str, ...], type_: Type, span: Span | None) -> dict[str, Binding]:
    """The bindings behind the dot of a record, at any depth."""
    if type_.kind != "record":
        return {}
    return {
        name: Binding((*path, name), of, record_fields((*path, name), of, span), span=span)
        for name, of in type_.fields.items()
    }
