"""What names mean where an expression stands, and what is known of an expression once it is checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tripos_compiler.diagnostics import Label
from tripos_compiler.plan import Expr, Type
from tripos_compiler.semantics.totality import Lack, unguarded
from tripos_compiler.source import Span


@dataclass(frozen=True)
class May:
    """A part of an expression that may have no value, and where it stands."""

    lack: Lack
    span: Span


Way = tuple[Label, ...]
"""The way that a secret took, step by step from the field that is secret; empty where there is none."""


@dataclass(frozen=True)
class Binding:
    """A name in scope. `fields` are what stands behind its dot; `path` is what the name means, and `value` the
    expression that stands for it instead, where it was named by a `let`. `span` is where it was declared.
    """

    path: tuple[str, ...]
    type: Type | None = None
    secret: Way = ()
    fields: Mapping[str, Binding] = field(default_factory=dict)
    value: Expr | None = None
    span: Span | None = None
    may: tuple[May, ...] = ()
    """What may be lacking for it to have a value, where it stands for an expression."""


Scope = Mapping[str, Binding]


@dataclass(frozen=True)
class Typed:
    """A checked expression. `may` says what may be lacking for it to have a value."""

    expr: Expr
    type: Type
    secret: Way = ()
    may: tuple[May, ...] = ()

    def under(self, condition: Expr, held: bool = True) -> tuple[May, ...]:
        """What may still be lacking where a condition holds, or does not."""
        return tuple(replace(each, lack=left) for each in self.may for left in unguarded([each.lack], condition, held))


def secret_name(way: Way) -> str:
    """What the secret is called that a way starts from, which must not be empty."""
    named = re.match(r"`(.+?)`", way[0].text)
    return named[1] if named is not None else way[0].text


def lacking(known: Iterable[Typed]) -> tuple[May, ...]:
    """What may be lacking for all of these expressions to have a value."""
    return tuple(may for each in known for may in each.may)


def joined(*ways: Way) -> Way:
    """The first way that there is."""
    return next((way for way in ways if way), ())
