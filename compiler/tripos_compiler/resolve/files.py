"""Resolution of a spec's files: follows `use` and `use release`, reads every file once, and collects the declared
names.

The declarations of a release become part of the spec and keep their origin. Its data must have the digests that it was
released with, and warnings about it are dropped, because only its authors can fix them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, fields, is_dataclass, replace

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.statements import read_statements
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Edit, Label, nearest
from tripos_compiler.diagnostics.text_format import not_utf8
from tripos_compiler.plan import Dataset, Tree
from tripos_compiler.resolve.expansion import declared_name, expand
from tripos_compiler.resolve.incremental import Memory
from tripos_compiler.resolve.program import KINDS, Program, ReadText, ReleaseImport, locale_of, path_beside
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DIGEST, ReleaseRequest, ResolvedRelease, UnfitRelease, parse_release_request
from tripos_compiler.source.text import CopiedText, Segment, Source, Span
from tripos_compiler.source.tree import Block, Entry, Line, Name, Syntax, TableRow, Text
from tripos_compiler.syntax.lexer import warn_of_deception
from tripos_compiler.syntax.parser import parse

# The `take` clause: which declarations of a release are imported

TAKE_WORDS: Mapping[str, tuple[str, ...]] = {
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
    "tables": ("table",),
}
"""The constructs that each word of a `take` clause selects. Metrics are statements inside dimensions."""
NEEDED_BY_ANYTHING = frozenset(
    {"role", "axis", "arm", "tree", "tool", *TAKE_WORDS["functions"], *TAKE_WORDS["datasets"], *TAKE_WORDS["scorers"]}
)
NEEDED_BY_FIGURES = frozenset({"scenario", "measure", "subset"})
FIGURES = frozenset({"measure", "expect", "subset", "export", "table"})
"""Constructs that name scenarios and measures. Elsewhere the name of a scenario means something else."""
HOLE = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)


def select_statements(
    program: Program, use: Statement, release: ResolvedRelease, whole: list[Statement]
) -> list[Statement]:
    """Return the statements that a `use release` imports. Reports names that the release does not have."""
    statements = list(_selected(program, use, release, whole)) if use.of("taken") else list(whole)
    for added in use.of("added"):
        statements = _with_added(program, added, release, statements)
    return statements


def _selected(
    program: Program, use: Statement, release: ResolvedRelease, whole: list[Statement]
) -> Iterator[Statement]:
    selection = _Selection(whole)
    for line in use.of("taken"):
        word = next(candidate for candidate in TAKE_WORDS if line.has(candidate))
        for name in line.many("names"):
            assert isinstance(name, Name)
            known = selection.add_metric(name.text) if word == "metrics" else selection.add(TAKE_WORDS[word], name.text)
            if known:
                _unknown(program, release, word, name, known)
    yield from selection.statements()


def _unknown(program: Program, release: ResolvedRelease, word: str, name: Name, known: Iterable[str]) -> None:
    there = sorted(known_name for known_name in known if known_name)
    close = nearest(name.text, there)
    help_ = f"it has no {word}"
    if there:
        help_ = (
            f"did you mean `{close}`?"
            if close
            else f"it has {', '.join(f'`{known_name}`' for known_name in there[:8])}"
        )
    program.diagnostics.error("E0918", f"{release.title} has no {_noun(word)} `{name.text}`", name.span, help=help_)
    program.diagnostics.skipped_names.add(name.text)


def _noun(word: str) -> str:
    return {"axes": "axis", "datasets": "data set"}.get(word, word.removesuffix("s"))


@dataclass
class _Selection:
    """The selected statements of a release and everything they depend on."""

    release_statements: list[Statement]

    def __post_init__(self) -> None:
        self.taken: dict[int, Statement] = {}
        self.metrics: set[str] = set()
        """The metrics named explicitly; more are added with the tables that allocate them."""

    def add(self, constructs: tuple[str, ...], name: str) -> list[str]:
        """Select the declarations of this name. Returns [], or the names that exist if there is none."""
        those = [
            release_statement
            for release_statement in self.release_statements
            if release_statement.construct in constructs
        ]
        statements = [statement for statement in those if declared_name(statement) == name]
        for statement in statements:
            self._take(statement)
        return [] if statements else [declared_name(statement) or "" for statement in those] or [""]

    def add_metric(self, name: str) -> list[str]:
        """Select a metric. Returns [], or the names that exist if there is none."""
        names = {metric.name().text for dimension in self._of("dimension") for metric in dimension.of("metric")}
        if name not in names:
            return sorted(names) or [""]
        self.metrics.add(name)
        return []

    def statements(self) -> Iterator[Statement]:
        """Yield the selected statements in the order of the release.

        Adds the allocation tables and metrics of the selected scorers and the withheld subsets, and drops everything
        about scenarios that are not selected.
        """
        axes = {declared.name().text for declared in self._of("axis")}
        known = {declared.name().text for declared in self.taken.values() if declared.construct == "axis"}
        for subset in self._of("subset"):
            # Withheld rows stay withheld, whatever else is taken. Of an axis that is not taken, they have no value.
            if subset.one_of("withheld") is not None:
                self.taken[id(subset)] = _without_dimensions(subset, axes - known)
        scenarios = {declared.name().text for declared in self.taken.values() if declared.construct == "scenario"}
        scorers = {
            declared_name(declared) for declared in self.taken.values() if declared.construct in TAKE_WORDS["scorers"]
        }
        tables = {}
        for table in self._of("allocate"):
            if table.name("scorer").text in scorers:
                narrowed, metrics = _narrowed(table, scenarios)
                if narrowed is not None:
                    tables[id(table)] = narrowed
                self.metrics |= metrics
        for statement in self.release_statements:
            if id(statement) in self.taken:
                yield self.taken[id(statement)]
            elif id(statement) in tables:
                yield tables[id(statement)]
            elif statement.construct == "dimension":
                body = tuple(declared for declared in statement.body if declared.name().text in self.metrics)
                if body:
                    yield replace(statement, body=body)
            elif statement.construct == "role" and statement.has("compared"):
                yield statement

    def _of(self, construct: str) -> list[Statement]:
        return [
            release_statement
            for release_statement in self.release_statements
            if release_statement.construct == construct
        ]

    def _take(self, statement: Statement) -> None:
        if id(statement) in self.taken:
            return
        self.taken[id(statement)] = statement
        names = set(_names(statement))
        wanted = NEEDED_BY_ANYTHING | (NEEDED_BY_FIGURES if statement.construct in FIGURES else frozenset())
        for release_statement in self.release_statements:
            if release_statement.construct in wanted and declared_name(release_statement) in names:
                self._take(release_statement)


def _names(part: object) -> Iterator[str]:
    """Yield every name in a statement, including those in the holes of its texts."""
    match part:
        case Name(text=text):
            yield text
        case Text(value=value):
            for printed in HOLE.findall(value):
                yield from re.findall(r"[^\W\d]\w*", printed)
        case Span() | Source() | Segment() | CopiedText() | str() | bool() | None:
            return
        case Mapping():
            for inner in part.values():
                yield from _names(inner)
        case tuple() | list():
            for inner in part:
                yield from _names(inner)
        case _ if is_dataclass(part):
            for field in fields(part):
                yield from _names(getattr(part, field.name))


def _without_dimensions(subset: Statement, names: set[str]) -> Statement:
    """Return a subset that does not go by the dimensions of these names."""
    body: list[Statement] = []
    for inner in subset.body:
        dims = [dim for dim in inner.many("dims") if names.isdisjoint(_names(dim))]
        if dims or inner.construct != "spread":
            body.append(replace(inner, values={**inner.values, "dims": dims}) if "dims" in inner.values else inner)
    return replace(subset, body=tuple(body))


def _narrowed(table: Statement, scenarios: set[str]) -> tuple[Statement | None, set[str]]:
    """Return an allocation table reduced to these scenarios, and the metrics left in it; None if no row is left."""
    assert table.block is not None
    rows = [row for entry in table.block.entries() for row in entry.elements if isinstance(row, TableRow)]
    table_rows = [row for row in rows[1:] if row.cells and row.cells[0].text in scenarios]
    if not rows or not table_rows:
        return None, set()
    columns = [
        index
        for index in range(1, len(rows[0].cells))
        if any(index < len(row.cells) and row.cells[index].text not in (".", "-") for row in table_rows)
    ]
    lines = tuple(_line(row, columns) for row in (rows[0], *table_rows))
    metrics = {rows[0].cells[index].text for index in columns}
    return replace(table, block=Block(table.block.span, lines)), metrics


def _line(row: TableRow, columns: list[int]) -> Line:
    cells = (row.cells[0], *(row.cells[index] for index in columns if index < len(row.cells)))
    elements: tuple[Syntax, ...] = (replace(row, cells=cells),)
    return Line(row.span, (Entry(row.span, elements),))


def _with_added(
    program: Program, added: Statement, release: ResolvedRelease, statements: list[Statement]
) -> list[Statement]:
    """Return the statements with the values of an `add to AXIS` clause in the axis, and in its groups of the same
    name."""
    name = added.name("axis")
    axes = [statement for statement in statements if statement.construct == "axis"]
    axis = next((statement for statement in axes if statement.name().text == name.text), None)
    if axis is None:
        _unknown(program, release, "axes", name, [statement.name().text for statement in axes])
        return statements
    program.index.use(name.span, axis.name().span)
    groups = {statement.name().text for statement in axis.of("group")}
    longer: dict[str, tuple[Statement, ...]] = {}
    for group in added.of("group"):
        own = group.name()
        if own.text in groups:
            longer[own.text] = (*longer.get(own.text, ()), *group.body)
        if own.text in groups and (group.labels() or group.find("cond") is not None):
            message = f"the group `{own.text}` of {release.title} has a condition and labels of its own"
            help_ = f"write `group {own.text} {{ … }}` with the values alone, or call yours something else"
            program.diagnostics.error("E0202", message, group.head, help=help_)
    body = [
        replace(statement, body=(*statement.body, *longer[statement.name().text]))
        if statement.construct == "group" and statement.name().text in longer
        else statement
        for statement in axis.body
    ]
    body += [
        statement for statement in added.body if statement.construct != "group" or statement.name().text not in groups
    ]
    return [replace(axis, body=tuple(body)) if statement is axis else statement for statement in statements]


# Files and `use`


@dataclass(frozen=True)
class SpecFiles:
    """Reader of spec files into a program's sources."""

    program: Program
    read_text: ReadText
    memory: Memory | None

    def load(self, source: Source) -> tuple[list[Statement], list[Statement]]:
        """Return the statements of a file and of the files it uses, and the `use release` statements among them."""
        statements: list[Statement] = []
        self._load(source, (source.path,), set(), statements)
        return statements, [statement for statement in statements if statement.construct == "use_release"]

    def _load(self, source: Source, chain: tuple[str, ...], loaded: set[str], into: list[Statement]) -> None:
        """Append the statements of a file and of the files it uses to `into`. `chain` are the files that led to it."""
        program, memory = self.program, self.memory
        loaded.add(source.path)
        program.sources.append(source)
        block = parse(source, program.diagnostics, memory.parses if memory is not None else None)
        known = memory.statements if memory is not None else None
        warn_of_deception(source, program.diagnostics)
        statements = read_statements(block, program.diagnostics, known=known)
        into.extend(statements)
        for statement in statements:
            if statement.construct != "use":
                continue
            text = statement.text("path")
            path = path_beside(source.path, text.value)
            if path in chain:
                circle = " → ".join([*chain[chain.index(path) :], path])
                message = f"`use` goes in a circle: {circle}"
                program.diagnostics.error("E0203", message, text.span, help="remove one of these `use` lines")
                continue
            if path in loaded:
                continue
            try:
                used = Source(path, self.read_text(path))
            except (OSError, ValueError) as error:  # a name with a null character is a `ValueError`
                program.diagnostics.skipped_files = True
                reason, help_ = _why_unreadable(error), f"looked for `{path}`"
                if isinstance(error, UnicodeDecodeError):
                    reason, help_ = not_utf8(error.object, path)
                message = f"cannot use `{text.value}`: {reason}"
                program.diagnostics.error("E0108", message, text.span, help=help_)
                continue
            self._load(used, (*chain, path), loaded, into)


def _why_unreadable(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else "that is no name of a file"


# Data and warnings of releases


def check_released(program: Program) -> None:
    """Report data that differs from the release, and remove the warnings about a release's own declarations."""
    if not program.releases:
        return
    by_name = program.releases
    for dataset in program.datasets.values():
        home = by_name.get(program.home("dataset", dataset.name))
        if home is not None:
            _check(program, home, dataset)
    trees = {statement.name().text: program.release_of(statement.span) for statement in program.of("tree")}
    for tree in program.trees.values():
        home = trees.get(tree.name)
        if home is not None:
            _check(program, home, tree)
    items = program.diagnostics.items
    # A release compiled when it was made, so an error in it is a consequence of one in the spec.
    follows = any(item.severity == "error" and not _is_of_release(program, item) for item in items)
    program.diagnostics.items = [
        item for item in items if not _is_of_release(program, item) or (item.severity == "error" and not follows)
    ]


def _check(program: Program, release: ResolvedRelease, declared: Dataset | Tree) -> None:
    files = declared.files or ()
    other = [file for file in files if (file.path, file.sha256) not in release.data]
    if not other:
        return
    uses = [use for use in program.of("use_release") if program.release_of(use.span) is None]
    where = next((use for use in uses if use.text("string").value.startswith(f"{release.name}@")), uses[0])
    named = dict(release.data)
    wanted = f", and was released with {named[other[0].path][:12]}…" if other[0].path in named else ""
    message = f"`{other[0].path}` is not the file of {release.title}: its digest is {other[0].sha256[:12]}…{wanted}"
    help_ = "give the folder that has the one that was released with --data DIR"
    program.diagnostics.error("E0916", message, where.text("string").span, help=help_)


def _is_of_release(program: Program, item: Diagnostic) -> bool:
    return bool(item.labels) and program.release_of(item.labels[0].span) is not None


# Releases and `use release`

NOT_IMPORTED = frozenset({"benchmark", "use", "use_release", "row_table"})
"""Constructs that are not imported from a release."""


@dataclass
class ReleaseImporter:
    """Importer of the releases of one compilation. Each release is read once."""

    program: Program
    files: SpecFiles
    languages: frozenset[str] | None
    """The languages of the spec's own benchmark; None if they are unknown."""
    brought: dict[str, list[Statement]] = field(default_factory=dict)
    """All declarations of each release, including those that it imports, by digest."""

    def extend(self, uses: list[Statement], chain: tuple[ResolvedRelease, ...] = ()) -> list[Statement]:
        """Return the statements that the used releases declare. Reports releases that cannot be imported."""
        statements: list[Statement] = []
        for use in uses:
            there = {id(statement) for statement in statements}
            statements += [statement for statement in self._import_one(use, chain) if id(statement) not in there]
        return statements

    def _import_one(self, use: Statement, chain: tuple[ResolvedRelease, ...]) -> list[Statement]:
        release = self._resolve(use)
        if release is None or not self._fits(use, release, chain):
            self.program.diagnostics.skipped_files = True
            return []
        if not chain:
            self.program.extended.append(ReleaseImport(release, use.find("digest") is not None))
            if use.find("digest") is None:
                self._warn(use, release)
        if release.digest not in self.brought:
            statements = self._read(use, release, chain)
            if statements is None:
                return []
            self.brought[release.digest] = statements
            names = (statement.name().text for statement in statements if statement.construct == "scenario")
            self.program.scenarios_in[release.name] = tuple(sorted(names))
        return select_statements(self.program, use, release, self.brought[release.digest])

    def _resolve(self, use: Statement) -> ResolvedRelease | None:
        request = self._request(use)
        if request is None:
            return None
        try:
            release = self.program.finder.find(request, use.span.source.path)
        except UnfitRelease as error:
            where = use.syntax("digest") if error.code == "E0913" and use.find("digest") else use.text("string")
            self.program.diagnostics.error(error.code, error.message, where.span, help=error.hint)
            return None
        earlier = self.program.releases.setdefault(release.name, release)
        if earlier.digest == release.digest:
            return earlier
        message = f"two releases of `{release.name}` are used: {earlier.version} and {release.version}"
        if earlier.version == release.version:
            message = f"two releases are called {release.title}: {earlier.digest[:12]}… and {release.digest[:12]}…"
        self.program.diagnostics.error("E0919", message, use.text("string").span, help="use one of them")
        return None

    def _request(self, use: Statement) -> ReleaseRequest | None:
        text = use.text("string")
        request = parse_release_request(text.value)
        if request is None:
            message = f'"{text.value}" names no release'
            help_ = 'write the benchmark and its version, or the first numbers of it: "edubench@1.2"'
            self.program.diagnostics.error("E0910", message, text.span, help=help_)
            return None
        digest, place = use.find("digest"), use.find("place")
        if isinstance(digest, Text):
            if DIGEST.fullmatch(digest.value.lower()) is None:
                help_ = "it has 64 hexadecimal digits: `tripos release` and `tripos verify` print it"
                self.program.diagnostics.error("E0910", "this is no SHA-256", digest.span, help=help_)
                return None
            request = replace(request, sha256=digest.value.lower())
        return replace(request, place=place.value) if isinstance(place, Text) else request

    def _fits(self, use: Statement, release: ResolvedRelease, chain: tuple[ResolvedRelease, ...]) -> bool:
        """Return true if the release can be imported; otherwise report why not."""
        where = use.text("string").span
        if release.digest in {resolved_release.digest for resolved_release in chain}:
            circle = " → ".join(link.title for link in (*chain, release))
            message = f"`use release` goes in a circle: {circle}"
            self.program.diagnostics.error("E0203", message, where, help="get releases that do not use each other")
            return False
        if self.languages is not None and self.languages != set(release.languages):
            theirs = ", ".join(release.languages)
            message = f"{release.title} is in other languages than this benchmark: {theirs}"
            self.program.diagnostics.error("E0915", message, where, help=f"write `languages {theirs}`")
            return False
        return True

    def _warn(self, use: Statement, release: ResolvedRelease) -> None:
        """Warn of a missing digest, with the edit that pins it."""
        text = use.text("string")
        last = use.find("place") or text
        pin = f' sha256 "{release.digest}"'
        message = f"`{text.value}` is used without its digest: here it is {release.title}"
        end = replace(last.span, low=last.span.high)
        edits = (Edit(end, pin),)
        self.program.diagnostics.warning("W0911", message, text.span, help=f"pin it:{pin}", edits=edits)

    def _read(
        self, use: Statement, release: ResolvedRelease, chain: tuple[ResolvedRelease, ...]
    ) -> list[Statement] | None:
        first = len(self.program.sources)
        try:
            source = Source(release.main, self.files.read_text(release.main))
        except (OSError, ValueError) as error:
            self.program.diagnostics.skipped_files = True
            message = f"cannot read {release.title}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
            where = use.text("string").span
            self.program.diagnostics.error("E0914", message, where, help=f"see: tripos verify {release.folder}")
            return None
        statements, uses = self.files.load(source)
        for source_file in self.program.sources[first:]:
            self.program.released[source_file.path] = release
        for statement in statements:
            if statement.construct == "benchmark" and (locale := locale_of(self.program, statement)) is not None:
                self.program.numbers_in[release.name] = locale
        statements = [
            statement
            for statement in expand(self.program, statements, self.files.memory)
            if statement.construct not in NOT_IMPORTED
        ]
        return statements + self.extend(uses, (*chain, release))


def import_releases(program: Program, files: SpecFiles, uses: list[Statement]) -> None:
    """Add the declarations of the used releases to a program."""
    if not uses:
        return
    program.state([*program.statements, *ReleaseImporter(program, files, _languages(program)).extend(uses)])
    program.state(_without_repeated_roles(program))


def _languages(program: Program) -> frozenset[str] | None:
    for benchmark in program.of("benchmark"):
        languages = benchmark.one_of("languages")
        if languages is not None:
            return frozenset(node.text for node in languages.many("languages") if isinstance(node, Name))
    return None


def _without_repeated_roles(program: Program) -> Iterator[Statement]:
    """Yield the statements without repeated roles: a role of the same name is the same role.

    A spec has one compared role, so a release's compared role must have the name of the spec's own.
    """
    first: dict[str, Statement] = {}
    for statement in program.statements:
        release = program.released.get(statement.span.source.path)
        if statement.construct != "role":
            yield statement
            continue
        name = statement.name()
        if release is None or not (first.keys() & {name.text} or statement.has("compared")):
            first.setdefault(name.text, statement)
            yield statement
            continue
        compared = next((role for role in first.values() if role.has("compared")), None)
        earlier = first.get(name.text)
        if earlier is None and compared is None:
            first[name.text] = statement
            yield statement
        elif earlier is None:
            assert compared is not None
            own = compared.name()
            message = f"{release.title} compares the role `{name.text}`, and this benchmark `{own.text}`"
            label = Label(name.span, f"the role of {release.title}")
            program.diagnostics.error("E0917", message, own.span, label, help=f"call yours `{name.text}`")
            program.diagnostics.skipped_names.add(name.text)
        else:
            program.index.use(name.span, earlier.name().span)
            if _role_kind(earlier) != _role_kind(statement):
                message = f"`{name.text}` is {_role_kind(earlier)} here, and {_role_kind(statement)} in {release.title}"
                label = Label(statement.head, f"in {release.title}")
                help_ = "declare it alike, or take another name for yours"
                program.diagnostics.error("E0917", message, earlier.head, label, help=help_)


def _role_kind(role: Statement) -> str:
    return "the compared role" if role.has("compared") else "a panel" if role.has("panel") else "a single model"


# Declared names


def resolve(program: Program, path: str, read: ReadText, memory: Memory | None = None) -> None:
    """Fill the program's statements and declared names from the file at `path` and the files it uses.

    Raises `OSError` or `UnicodeDecodeError` if the file at `path` itself cannot be read.
    """
    source = Source(path, read(path))
    program.read_text = read
    files = SpecFiles(program, read, memory)
    statements, uses = files.load(source)
    program.state(statements)
    import_releases(program, files, uses)
    program.state(expand(program, program.statements, memory))
    if memory is not None:
        memory.keep_only(program.statements)
    for statement in program.of("benchmark"):
        program.index.define("benchmark", statement.name().text, statement.name().span)
    for kind, constructs in KINDS.items():
        names = program.declared.setdefault(kind, {})
        for statement in program.of(*constructs):
            called = "call" in statement.values
            name = scorer_name(statement.syntax("call")) if called else statement.name("name")
            if name is not None:
                program.index.define(kind, name.text, name.span, changes=statement.changes)
                if kind in ("scenario", "dimension"):  # can be named as values; no axis has such a name
                    program.value_spans.setdefault((kind, name.text), name.span)
                _declare(program, kind, names, name)
                if kind in ("scenario", "dataset") and (release := program.release_of(name.span)) is not None:
                    program.origin_benchmarks.setdefault((kind, name.text), release.name)
    program.unread_datasets = set(program.declared["dataset"])
    _one_benchmark(program, source)


def scorer_name(call: object) -> Name | None:
    """Return the name in `NAME(params)`, or of a scorer without parameters; None if there is no name."""
    function = call if isinstance(call, Name) else getattr(call, "function", None)
    return function if isinstance(function, Name) else None


def _declare(program: Program, kind: str, names: dict[str, Name], name: Name) -> None:
    earlier = names.get(name.text)
    if earlier is None:
        names[name.text] = name
        return
    if program.release_of(name.span) is not None or program.release_of(earlier.span) is not None:
        _declare_again(program, kind, earlier, name)
        return
    label = Label(earlier.span, "first declared here")
    program.diagnostics.error("E0202", f"{kind} `{name.text}` is declared twice", name.span, label, help="rename one")


def _declare_again(program: Program, kind: str, earlier: Name, name: Name) -> None:
    """Report a name that a release declares too, at the spec's own declaration if it has one."""
    first, second = program.release_of(earlier.span), program.release_of(name.span)
    if first is not None and second is not None:
        message = f"{kind} `{name.text}` is declared in {first.title} and in {second.title}"
        help_ = "take of one of them only what you need: `{ take … }`"
        program.diagnostics.error("E0917", message, name.span, Label(earlier.span, "the first"), help=help_)
        return
    own, theirs, release = (earlier, name, second) if first is None else (name, earlier, first)
    assert release is not None
    message = f"{kind} `{name.text}` is declared here and in {release.title}"
    label = Label(theirs.span, f"in {release.title}")
    help_ = "rename yours, or take of the release only what you need: `{ take … }`"
    program.diagnostics.error("E0917", message, own.span, label, help=help_)


def _one_benchmark(program: Program, source: Source) -> None:
    statements = program.of("benchmark")
    if not statements:
        where = Span(source, 0, 0)
        help_ = 'write `benchmark NAME "1.0.0" { languages en }` at the top, or name the file that uses this one'
        program.diagnostics.error("E0206", "this spec declares no benchmark", where, help=help_, lacking=program.lost)
    for extra in statements[1:]:
        label = Label(statements[0].head, "the first")
        help_ = "a compiled spec has exactly one"
        program.diagnostics.error("E0202", "a second benchmark is declared", extra.head, label, help=help_)
