"""Pairs of texts out of the rows of a data set: training data that no model wrote."""

from __future__ import annotations

from typing import Literal

from tripos_compiler.plan.base import Part
from tripos_compiler.plan.expressions import Expr, Template


class PairedReply(Part):
    """A text of a row, or one for every element of the list `each`, known as `alias`, for which `when` holds. `worth`
    says how good it is, as a number or as a list of criteria of which the number of those that are met counts, and `by`
    who wrote it."""

    text: Expr
    each: Expr | None = None
    alias: str | None = None
    worth: Expr
    by: Expr | None = None
    when: Expr | None = None


class AskedAs(Part):
    """What the step of a scenario asks, under these arms, about the row known as `about`, in the place of a row of the
    scenario's own."""

    scenario: str
    step: str
    about: str
    arms: dict[str, str] = {}


class Partner(Part):
    """Another row of a data set, known as `alias`: one of those for which `where` holds, drawn by the row at hand."""

    dataset: str
    alias: str
    where: Expr | None = None


class Pairing(Part):
    """Training data out: of every two replies of a row, known as `alias`, of which one is worth more by more than
    `margin`, or as much where that is above 0, the better and the worse. Rows that share a value of `groups` belong
    together. Of the kind `examples` every reply to a row's prompt is one, and nothing is compared; the prompt may be
    what a scenario `asks`, and a row that finds none `beside` it gives no example."""

    name: str
    kind: Literal["paired", "examples"] = "paired"
    dataset: str
    alias: str
    where: Expr | None = None
    margin: float = 0.0
    groups: tuple[Expr, ...] = ()
    prompt: Template | None = None
    asks: AskedAs | None = None
    beside: Partner | None = None
    replies: tuple[PairedReply, ...]
    holds_out: tuple[str, ...] = ()
    """The data sets whose texts are kept out: a row that has one of them, nearly word for word, is left out."""
    use: Literal["training", "test"] | None = None
    """What a training does with the pairs where nothing else is said: it learns all that are for training, or where
    none is, all that are not for a test."""
