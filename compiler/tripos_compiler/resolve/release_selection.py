"""The parts of a release that a spec takes: all that it declares, or what is named with all that this needs; and what
it adds to the axes of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import nearest
from tripos_compiler.resolve.program import Program
from tripos_compiler.source import (
    Block,
    Entry,
    FoundRelease,
    Line,
    Name,
    Segment,
    Source,
    Span,
    Syntax,
    TableRow,
    Text,
    dataclass,
)

WORDS: Mapping[str, tuple[str, ...]] = {
    "scenarios": ("scenario",),
    "measures": ("measure",),
    "axes": ("axis",),
    "arms": ("arm",),
    "metrics": ("metric",),
    "scorers": ("scorer", "formula", "python_scorer", "program_scorer"),
    "datasets": ("dataset", "like", "made"),
    "trees": ("tree",),
    "functions": ("function", "named", "aggregate"),
    "subsets": ("subset",),
    "exports": ("export",),
}
"""What each word of `take` names: constructs of statements, or metrics, which stand in those of dimensions."""
NEEDED_BY_ANYTHING = frozenset(
    {"role", "axis", "arm", "tree", "tool", *WORDS["functions"], *WORDS["datasets"], *WORDS["scorers"]}
)
NEEDED_BY_FIGURES = frozenset({"scenario", "measure", "subset"})
FIGURES = frozenset({"measure", "expect", "subset", "export"})
"""What names scenarios and measures. Elsewhere a name that a scenario has too means something else."""
PRINTED = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)


def take(program: Program, use: Statement, release: FoundRelease, whole: list[Statement]) -> list[Statement]:
    """Return the statements of a release that a `use release` brings in; what it names and the release has not is
    reported."""
    found = list(_taken(program, use, release, whole)) if use.of("taken") else list(whole)
    for added in use.of("added"):
        found = _with_added(program, added, release, found)
    return found


def _taken(program: Program, use: Statement, release: FoundRelease, whole: list[Statement]) -> Iterator[Statement]:
    taking = _Taking(whole)
    for line in use.of("taken"):
        word = next(each for each in WORDS if line.has(each))
        for name in line.many("names"):
            assert isinstance(name, Name)
            known = taking.add_metric(name.text) if word == "metrics" else taking.add(WORDS[word], name.text)
            if known:
                _unknown(program, release, word, name, known)
    yield from taking.statements()


def _unknown(program: Program, release: FoundRelease, word: str, name: Name, known: Iterable[str]) -> None:
    there = sorted(each for each in known if each)
    close = nearest(name.text, there)
    help_ = f"it has no {word}"
    if there:
        help_ = f"did you mean `{close}`?" if close else f"it has {', '.join(f'`{each}`' for each in there[:8])}"
    program.diagnostics.error("E0918", f"{release.title} has no {_one(word)} `{name.text}`", name.span, help=help_)
    program.diagnostics.lost_names.add(name.text)


def _one(word: str) -> str:
    return {"axes": "axis", "datasets": "data set"}.get(word, word.removesuffix("s"))


@dataclass
class _Taking:
    """Statements of a release that are taken: those that were named, and what they name."""

    whole: list[Statement]

    def __post_init__(self) -> None:
        self.taken: dict[int, Statement] = {}
        self.metrics: set[str] = set()
        """Those that were named; others come with the tables that allocate them."""

    def add(self, constructs: tuple[str, ...], name: str) -> list[str]:
        """Take what is called so; where nothing is, what there is instead."""
        those = [each for each in self.whole if each.construct in constructs]
        found = [each for each in those if declared_name(each) == name]
        for each in found:
            self._take(each)
        return [] if found else [declared_name(each) or "" for each in those] or [""]

    def add_metric(self, name: str) -> list[str]:
        """Take a metric; where there is none of that name, those that there are."""
        names = {metric.name().text for dimension in self._of("dimension") for metric in dimension.of("metric")}
        if name not in names:
            return sorted(names) or [""]
        self.metrics.add(name)
        return []

    def statements(self) -> Iterator[Statement]:
        """Yield all that is taken, in the order of the release: with the tables and metrics of its scorers, what is
        kept from publication, and nothing of scenarios that are not taken."""
        axes = {each.name().text for each in self._of("axis")}
        known = {each.name().text for each in self.taken.values() if each.construct == "axis"}
        for subset in self._of("subset"):
            # What is held back stays so, whatever else is taken.
            if subset.one_of("withheld") is not None and not set(_names(subset)) & axes - known:
                self.taken[id(subset)] = subset
        scenarios = {each.name().text for each in self.taken.values() if each.construct == "scenario"}
        scorers = {declared_name(each) for each in self.taken.values() if each.construct in WORDS["scorers"]}
        tables = {}
        for table in self._of("allocate"):
            if table.name("scorer").text in scorers:
                narrowed, metrics = _narrowed(table, scenarios)
                if narrowed is not None:
                    tables[id(table)] = narrowed
                self.metrics |= metrics
        for statement in self.whole:
            if id(statement) in self.taken:
                yield statement
            elif id(statement) in tables:
                yield tables[id(statement)]
            elif statement.construct == "dimension":
                body = tuple(each for each in statement.body if each.name().text in self.metrics)
                if body:
                    yield replace(statement, body=body)
            elif statement.construct == "role" and statement.has("compared"):
                yield statement

    def _of(self, construct: str) -> list[Statement]:
        return [each for each in self.whole if each.construct == construct]

    def _take(self, statement: Statement) -> None:
        if id(statement) in self.taken:
            return
        self.taken[id(statement)] = statement
        names = set(_names(statement))
        wanted = NEEDED_BY_ANYTHING | (NEEDED_BY_FIGURES if statement.construct in FIGURES else frozenset())
        for each in self.whole:
            if each.construct in wanted and declared_name(each) in names:
                self._take(each)


def declared_name(statement: Statement) -> str | None:
    """Return what a statement declares."""
    name = statement.values.get("name") or statement.values.get("call")
    name = getattr(name, "function", name)
    return name.text if isinstance(name, Name) else None


def _names(part: object) -> Iterator[str]:
    """Yield every name in a statement, and in what its texts print."""
    match part:
        case Name(text=text):
            yield text
        case Text(value=value):
            for printed in PRINTED.findall(value):
                yield from re.findall(r"[^\W\d]\w*", printed)
        case Span() | Source() | Segment() | str() | bool() | None:
            return
        case Mapping():
            for each in part.values():
                yield from _names(each)
        case tuple() | list():
            for each in part:
                yield from _names(each)
        case _ if is_dataclass(part):
            for field in fields(part):
                yield from _names(getattr(part, field.name))


def _narrowed(table: Statement, scenarios: set[str]) -> tuple[Statement | None, set[str]]:
    """Return an allocation table with the rows of some scenarios and the metrics that these have; None without any."""
    assert table.block is not None
    rows = [row for entry in table.block.entries() for row in entry.elements if isinstance(row, TableRow)]
    kept = [row for row in rows[1:] if row.cells and row.cells[0].text in scenarios]
    if not rows or not kept:
        return None, set()
    columns = [
        index
        for index in range(1, len(rows[0].cells))
        if any(index < len(row.cells) and row.cells[index].text not in (".", "-") for row in kept)
    ]
    lines = tuple(_line(row, columns) for row in (rows[0], *kept))
    metrics = {rows[0].cells[index].text for index in columns}
    return replace(table, block=Block(table.block.span, lines)), metrics


def _line(row: TableRow, columns: list[int]) -> Line:
    cells = (row.cells[0], *(row.cells[index] for index in columns if index < len(row.cells)))
    elements: tuple[Syntax, ...] = (replace(row, cells=cells),)
    return Line(row.span, (Entry(row.span, elements),))


def _with_added(
    program: Program, added: Statement, release: FoundRelease, statements: list[Statement]
) -> list[Statement]:
    """Return the statements, with further values for one of the axes."""
    name = added.name("axis")
    axes = [each for each in statements if each.construct == "axis"]
    axis = next((each for each in axes if each.name().text == name.text), None)
    if axis is None:
        _unknown(program, release, "axes", name, [each.name().text for each in axes])
        return statements
    program.index.use(name.span, axis.name().span)
    groups = {each.name().text for each in axis.of("group")}
    longer = {each.name().text: each.body for each in added.of("group") if each.name().text in groups}
    body = [
        replace(each, body=(*each.body, *longer[each.name().text]))
        if each.construct == "group" and each.name().text in longer
        else each
        for each in axis.body
    ]
    body += [each for each in added.body if each.construct != "group" or each.name().text not in groups]
    return [replace(axis, body=tuple(body)) if each is axis else each for each in statements]
