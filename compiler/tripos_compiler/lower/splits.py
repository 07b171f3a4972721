"""Which data sets share rows: whose secrets may stand in shots, and what is secret under another name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.lower.loaded import LoadedDataset
from tripos_compiler.lower.lookups import looked_up, looked_up_in
from tripos_compiler.plan import Data
from tripos_compiler.program import KINDS, Program, beside
from tripos_compiler.scope import Way
from tripos_compiler.semantics.names import parts_of
from tripos_compiler.syntax.tree import Name

WILD = re.compile(r"\{\w+\}|\*")
TEXTS = ("prompt", "system")


@dataclass(frozen=True)
class Origin:
    """Where rows come from: what the spec names, as a path beside it or the name of a data set that is made, the files
    that were found for it, and hashes of what they hold."""

    written: str
    paths: frozenset[str] = frozenset()
    hashes: frozenset[str] = frozenset()

    def shares(self, other: Origin) -> bool:
        """Whether rows of one may be rows of the other.

        >>> Origin("data/*.json").shares(Origin("data/physics.json")), Origin("a.json").shares(Origin("b.json"))
        (True, False)
        """
        if self.hashes & other.hashes:
            return True
        own, others = {self.written, *self.paths}, {other.written, *other.paths}
        return _any_means(self.written, others) or _any_means(other.written, own)


def _of_files(near: str, path: str, loaded: LoadedDataset | None) -> Origin:
    """The origin of rows that a spec at `near` reads from `path`, with the files where they were found."""
    files = loaded.dataset.files if loaded is not None else ()
    paths = frozenset(beside(near, file.path) for file in files)
    return Origin(beside(near, path), paths, frozenset(file.sha256 for file in files))


def _any_means(written: str, paths: Iterable[str]) -> bool:
    """Whether one of the paths is what is written, in which `*` and `{field}` stand for a part of a name."""
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
        """Where the rows come from that some scenario runs over."""
        return frozenset(origin for each in self.program.of("scenario") for origin in self._run_over(each))

    def asked_about(self, name: str) -> bool:
        """Whether some scenario may run over rows of a data set, or over what they are made from, or is from them."""
        return any(self._is_asked(origin) for origin in self.origins(name, self.statements[name]))

    def shows(self, name: str, field: str) -> bool:
        """Whether a secret field of a data set's rows may stand in shots: nobody is asked about what it says."""
        statement, loaded = self.statements[name], self.program.rowsets[name]
        if self._is_asked(self.own(name, statement)):
            return False
        if statement.construct != "made":
            return True
        source = statement.find("source")
        if isinstance(source, Name):
            rows = self.program.rowsets.get(source.text)
            if rows is not None and any(each.name == field for each in rows.dataset.fields):
                return self.shows(source.text, field)
        written = {inner.name().text for returns in statement.of("returns") for inner in returns.body}
        if field in written and len(loaded.ways.get(field, ())) == 1:
            return True  # a secret of its own, of a row that is new
        return not self.asked_about(name)

    def own(self, name: str, statement: Statement) -> Origin:
        """Where the rows of a data set come from, not looking at what they are made from."""
        if statement.construct == "made":
            return Origin(f"dataset {name}")
        path = statement.text("path").value
        return _of_files(statement.span.source.path, path, self.program.rowsets.get(name))

    def seen_beside(self, run_over: LoadedDataset | None) -> dict[str, LoadedDataset]:
        """The data sets at the top of a file as a scenario sees them that runs over these rows: what is secret in the
        rows is secret too where another data set reads it from the same file."""
        secrets = list(self._secrets(run_over)) if run_over is not None else []
        seen: dict[str, LoadedDataset] = {}
        for name in self.program.rowsets if secrets else ():
            self._see(name, secrets, seen)
        return {**self.program.rowsets, **seen}

    def _secrets(self, loaded: LoadedDataset) -> Iterator[tuple[Origin, dict[str, Way]]]:
        """The secret columns of the files that rows come from, with the way of each secret."""
        if loaded.made is None:
            fields = [each for each in loaded.dataset.fields if each.name in loaded.ways]
            columns = {column: loaded.ways[each.name] for each in fields for column in each.columns}
            place = loaded.span.source.path if loaded.span is not None else ""
            yield _of_files(place, loaded.dataset.source, loaded), columns
            return
        for part in parts_of(loaded.made.source) if loaded.made.source is not None else ():
            if isinstance(part, Data) and part.dataset in self.program.rowsets:
                yield from self._secrets(self.program.rowsets[part.dataset])

    def _see(
        self, name: str, secrets: list[tuple[Origin, dict[str, Way]]], seen: dict[str, LoadedDataset]
    ) -> LoadedDataset:
        if name in seen:
            return seen[name]
        loaded, statement = self.program.rowsets[name], self.statements[name]
        source = statement.find("source") if statement.construct == "made" else None
        found: dict[str, Way] = {}
        if isinstance(source, Name) and source.text in self.program.rowsets:
            rows = self._see(source.text, secrets, seen)
            found = {key: (*way, Label(source.span, f"`{name}` takes it over")) for key, way in rows.ways.items()}
        elif statement.construct != "made":
            own = self.own(name, statement)
            same = {column: way for origin, columns in secrets if origin.shares(own) for column, way in columns.items()}
            for each in loaded.dataset.fields:
                read = Label(loaded.spans[each.name], f"`{name}.{each.name}` is read from the same column")
                ways = [same[column] for column in each.columns if column in same]
                if ways:
                    found[each.name] = (*ways[0], read)
        fields = {each.name for each in loaded.dataset.fields} - set(loaded.ways)
        more = {key: way for key, way in found.items() if key in fields}
        seen[name] = replace(loaded, ways={**loaded.ways, **more}) if more else loaded
        return seen[name]

    def origins(self, name: str, statement: Statement, seen: frozenset[str] = frozenset()) -> Iterator[Origin]:
        """Where the rows of a data set come from, and all that goes into them."""
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
    """The names of what goes into the rows that a statement makes: its source, computed fields, and what is told to who
    writes. What only chooses among rows does not go into them."""
    if statement.construct != "made":
        return set()
    alias = statement.find_name("alias")
    texts = [inner for inner in statement.body if inner.construct in ("let", *TEXTS)]
    texts += [inner for walk in statement.of("walk") for inner in walk.body if inner.construct in TEXTS]
    inside = {name.text for text in texts for name in looked_up_in(text)}
    own = {statement.name().text, *([alias.text] if alias is not None else [])}
    return {name.text for name in looked_up(statement.find("source"))} | (inside - own)
