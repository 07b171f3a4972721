"""Which data sets share rows with what is asked: what is learned from them would be graded on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from tripos_compiler.constructs import SETTINGS, Statement
from tripos_compiler.resolve import KINDS, LoadedDataset, Program, path_beside
from tripos_compiler.source import dataclass
from tripos_compiler.typing import free_variables, free_variables_of

WILD = re.compile(r"\{\w+\}|\*")
TEXTS = ("prompt", "system", *SETTINGS)


@dataclass(frozen=True)
class Origin:
    """Where rows come from: what the spec names, as a path beside it or the name of a data set that is made, the files
    that were found for it, and hashes of what they hold."""

    written: str
    paths: frozenset[str] = frozenset()
    hashes: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()
    """The files that are joined to its rows: two data sets may join the same, and have no row in common."""

    def shares(self, other: Origin) -> bool:
        """Return true if rows of one may be rows of the other.

        >>> Origin("data/*.json").shares(Origin("data/physics.json")), Origin("a.json").shares(Origin("b.json"))
        (True, False)
        """
        if self.hashes & (other.hashes | other.joined) or self.joined & other.hashes:
            return True
        own, others = {self.written, *self.paths}, {other.written, *other.paths}
        return _any_means(self.written, others) or _any_means(other.written, own)


def _of_files(near: str, path: str, loaded: LoadedDataset | None) -> Origin:
    """Return the origin of rows that a spec at `near` reads from `path`, with the files where they were found."""
    files = loaded.dataset.files if loaded is not None else ()
    every = loaded.dataset.every_file if loaded is not None else ()
    paths = frozenset(path_beside(near, file.path) for file in files)
    joined = frozenset(file.sha256 for file in every[len(files) :])
    return Origin(path_beside(near, path), paths, frozenset(file.sha256 for file in files), joined)


def _any_means(written: str, paths: Iterable[str]) -> bool:
    """Return true if one of the paths is what is written, in which `*` and `{field}` stand for a part of a name."""
    pattern = "[^/]*".join(map(re.escape, WILD.split(written)))
    return any(re.fullmatch(pattern, path) for path in paths)


@dataclass
class Splits:
    """Answers for the data sets at the top of a program's files, all of which must be lowered."""

    program: Program

    @cached_property
    def statements(self) -> dict[str, Statement]:
        """The data sets at the top of a file, by name."""
        return {each.name().text: each for each in reversed(self.program.of(*KINDS["dataset"]))}

    @cached_property
    def asked(self) -> frozenset[Origin]:
        """Return where the rows come from that some scenario runs over."""
        return frozenset(origin for each in self.program.of("scenario") for origin in self._run_over(each))

    def asked_about(self, name: str) -> bool:
        """Return true if some scenario may run over rows of a data set, or over what they are made from, or is from
        them."""
        return any(self._is_asked(origin) for origin in self.origins(name, self.statements[name]))

    def own(self, name: str, statement: Statement) -> Origin:
        """Return where the rows of a data set come from, not looking at what they are made from."""
        if statement.construct == "made":
            return Origin(f"dataset {name}")
        path = statement.text("path").value
        return _of_files(statement.span.source.path, path, self.program.rowsets.get(name))

    def origins(self, name: str, statement: Statement, seen: frozenset[str] = frozenset()) -> Iterator[Origin]:
        """Yield where the rows of a data set come from, and all that goes into them."""
        yield self.own(name, statement)
        for source in sorted(_taken_from(statement) & set(self.statements) - seen):
            yield from self.origins(source, self.statements[source], seen | {name})

    def _run_over(self, scenario: Statement) -> Iterator[Origin]:
        local = [inner for inner in scenario.body if inner.construct in KINDS["dataset"]]
        over = scenario.one_of("over")
        name = over.name("dataset").text if over is not None else ""
        for statement in local:
            if over is None or statement.name().text == name:
                yield from self.origins(f"{scenario.name().text}.{statement.name().text}", statement)
                return
        if name in self.statements:
            yield from self.origins(name, self.statements[name])

    def _is_asked(self, origin: Origin) -> bool:
        return any(origin.shares(other) for other in self.asked)


def _taken_from(statement: Statement) -> set[str]:
    """Return the names of what goes into the rows that a statement makes: its source, computed fields, and what is told
    to who writes. What only chooses among rows does not go into them."""
    if statement.construct != "made":
        return set()
    alias = statement.find_name("alias")
    texts = [inner for inner in statement.body if inner.construct in ("let", *TEXTS)]
    texts += [inner for walk in statement.of("walk") for inner in walk.body if inner.construct in TEXTS]
    inside = {name.text for text in texts for name in free_variables_of(text)}
    own = {statement.name().text, *([alias.text] if alias is not None else [])}
    return {name.text for name in free_variables(statement.find("source"))} | (inside - own)
