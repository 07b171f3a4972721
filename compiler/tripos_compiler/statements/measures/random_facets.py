"""Random facets of a measure: `across judge * wording as sample`, judges and prompts that stand for many like them."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.language.figures import aggregates_of
from tripos_compiler.plan import Aggregate, Measured
from tripos_compiler.resolve import product_of
from tripos_compiler.source import Name, Syntax
from tripos_compiler.statements.measures.figure_syntax import measures_in
from tripos_compiler.statements.measures.typed_figures import FigureContext, Leaf, TypedFigure

CODE = "E0628"
MEANS = frozenset(("mean", "share"))
OF_JUDGES = frozenset(("evaluator", "pair"))
"""Dimensions that set judges side by side."""


def random_facets(reading: FigureContext, statement: Statement, figured: TypedFigure) -> tuple[str, ...] | None:
    """Return the roles and arms that a measure takes as a sample; those of the measure that it is another name of, if
    it says none. None if it cannot take them so, which is reported."""
    written = statement.find("facets")
    if written is None:
        return inherited_facets(reading, statement.syntax("value"), figured)
    names = product_of(reading.program, written, "facets")
    if names is None:
        return None
    if statement.has("corrected"):
        help_ = "leave out one of them: people correct the judges, whoever these are"
        reading.error(CODE, "people correct this, so it speaks of no judges", written.span, help_)
        return None
    if not _is_mean(reading, figured):
        message = f"judges and prompts are a sample for means alone, and `{figured.named}` is none"
        reading.error(CODE, message, written.span, "take the `mean` of scores, or the mean of the cells of such")
        return None
    good = True
    for place, name in enumerate(names):
        if name.text in [each.text for each in names[:place]]:
            reading.error("E0202", f"`{name.text}` is named twice", name.span, "remove one")
            good = False
        else:
            good = _is_facet(reading, name, figured) and good
    return tuple(name.text for name in names) if good else None


def inherited_facets(reading: FigureContext, value: Syntax, figured: TypedFigure) -> tuple[str, ...] | None:
    """Return the random facets of a measure that a figure is another name of. None if a figure is made of such a
    measure in another way, which is reported: its interval would speak of these judges alone."""
    named = dict.fromkeys(name for name in measures_in(reading, value) if name in reading.known)
    random = [reading.known[name].measure for name in named if reading.known[name].measure.random]
    if not random:
        return ()
    if figured.figure == Measured(measure=random[0].name) and set(reading.by) <= set(random[0].by):
        return random[0].random
    message = f"`{random[0].name}` takes {_listed(random[0].random)} as a sample, and what builds on it cannot"
    help_ = "declare the same mean without `as sample`, and build on that"
    reading.error(CODE, message, value.span, help_)
    return None


def _is_mean(reading: FigureContext, figured: TypedFigure) -> bool:
    """Return true if a figure is a mean of scores, or the mean of the cells of one."""
    match figured.figure:
        case Aggregate(function=function, of=None):
            return function in MEANS
        case Aggregate(function="mean", of=Aggregate(function=function, of=None)):
            return function in MEANS
    return False


def _is_facet(reading: FigureContext, name: Name, figured: TypedFigure) -> bool:
    """Return true if a name is a role that gives what the figure looks at, or an arm under which all of it is asked."""
    program = reading.program
    roles, arms = (program.declared.get(kind, {}) for kind in ("role", "arm"))
    if name.text in program.declared.get("axis", {}):
        message = f"`{name.text}` is an axis: each item lies in one of its values, and none is a sample of prompts"
        reading.error(CODE, message, name.span, "name an arm, under whose values each item is asked")
        return False
    if name.text not in roles and name.text not in arms:
        help_ = "name a role that judges, or an arm"
        reading.error("E0201", f"there is no role or arm `{name.text}`", name.span, help_, name.text)
        return False
    kind = "role" if name.text in roles else "arm"
    program.is_declared(kind, name)
    dims = {*reading.by, *figured.cells, *(dim for each in _aggregates(reading, figured) for dim in each.by)}
    apart = sorted(dims & (OF_JUDGES if kind == "role" else {name.text}))
    if apart:
        message = f"it goes by `{apart[0]}`, so no cell has a sample of {_listed((name.text,))}"
        reading.error(CODE, message, name.span, f"leave out `{apart[0]}`, or `as sample`")
        return False
    told = next((why for leaf in figured.leaves if (why := _why_not(reading, name.text, kind, leaf)) is not None), None)
    if told is not None:
        reading.error(CODE, told[0], name.span, told[1])
    return told is None


def _why_not(reading: FigureContext, name: str, kind: str, leaf: Leaf) -> tuple[str, str] | None:
    """Return why the judges of a role or the values of an arm are no sample for an aggregate, and how to mend it."""
    program = reading.program
    for operand in leaf.scored:
        if kind == "arm":
            lacking = [each.name for each in operand.scenarios if name not in each.arms]
            if lacking:
                told = f"scenario `{lacking[0]}` does not try the arm `{name}`"
                return told, f"write `arms {name}` in it, or take the mean of other scenarios"
            continue
        if not operand.judges:
            return f"nobody judges {operand.shown}: it is computed", "name what a judge gives"
        others = [judge for judge in operand.judges if judge != name]
        if others:
            return f"{operand.shown} is given by `{others[0]}`, not by `{name}`", "take the mean of what one role gives"
        if program.roles[name].kind != "panel":
            told = f"`{name}` is a single role, and one judge shows nothing of others"
            return told, f"let several grade: `role {name} panel`"
    return None


def _aggregates(reading: FigureContext, figured: TypedFigure) -> list[Aggregate]:
    return list(aggregates_of(figured.figure, {name: known.measure for name, known in reading.known.items()}))


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(f"`{name}`" for name in names)
