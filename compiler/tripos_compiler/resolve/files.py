"""The files and releases of a spec: follows `use` and `use release`, and reads every file once.

What a release declares becomes part of the spec and keeps its home. Its data is held to what it was released with, and
its warnings are left to those who released it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from tripos_compiler.constructs import Statement, read_statements
from tripos_compiler.diagnostics import Diagnostic, Edit, Label, not_utf8
from tripos_compiler.plan import Dataset, Tree
from tripos_compiler.resolve.memory import Memory
from tripos_compiler.resolve.program import Program, ReadText, ReleaseImport, locale_of, path_beside
from tripos_compiler.resolve.release_selection import take
from tripos_compiler.source import (
    DIGEST,
    FoundRelease,
    Name,
    ReleaseRequest,
    Source,
    Text,
    UnfitRelease,
    dataclass,
    read_asked,
)
from tripos_compiler.syntax import parse, warn_of_deception


@dataclass(frozen=True)
class SpecFiles:
    """Reads files into a program's sources."""

    program: Program
    read: ReadText
    memory: Memory | None

    def load(self, source: Source) -> tuple[list[Statement], list[Statement]]:
        """Return the statements of a file and of those that it uses, and among them each `use release`."""
        statements: list[Statement] = []
        self._load(source, (source.path,), set(), statements)
        return statements, [each for each in statements if each.construct == "use_release"]

    def _load(self, source: Source, chain: tuple[str, ...], loaded: set[str], into: list[Statement]) -> None:
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
                used = Source(path, self.read(path))
            except (OSError, ValueError) as error:  # a name with a null character is a `ValueError`
                program.diagnostics.lost_files = True
                reason, help_ = _reason(error), f"looked for `{path}`"
                if isinstance(error, UnicodeDecodeError):
                    reason, help_ = not_utf8(error.object, path)
                message = f"cannot use `{text.value}`: {reason}"
                program.diagnostics.error("E0108", message, text.span, help=help_)
                continue
            self._load(used, (*chain, path), loaded, into)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else "that is no name of a file"


def check_released(program: Program) -> None:
    """Report data that is not that of the release, and takes back the warnings about what a release declares."""
    if not program.releases:
        return
    by_name = program.releases
    for dataset in program.datasets.values():
        home = by_name.get(program.home("dataset", dataset.name))
        if home is not None:
            _check(program, home, dataset)
    trees = {each.name().text: program.release_of(each.span) for each in program.of("tree")}
    for tree in program.trees.values():
        home = trees.get(tree.name)
        if home is not None:
            _check(program, home, tree)
    items = program.diagnostics.items
    # A release compiled when it was made, so that what is wrong in it follows from what is wrong in the spec.
    follows = any(item.severity == "error" and not _is_theirs(program, item) for item in items)
    program.diagnostics.items = [
        item for item in items if not _is_theirs(program, item) or (item.severity == "error" and not follows)
    ]


def _check(program: Program, release: FoundRelease, found: Dataset | Tree) -> None:
    files = found.files or ()
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


def _is_theirs(program: Program, item: Diagnostic) -> bool:
    return bool(item.labels) and program.release_of(item.labels[0].span) is not None


NOT_BROUGHT = frozenset({"benchmark", "use", "use_release"})
"""What a release does not hand on."""


@dataclass
class Extending:
    """The releases that one compilation extends; each is read once, whoever extends it."""

    program: Program
    files: SpecFiles
    languages: frozenset[str] | None
    """Those of the spec's own benchmark; None where they cannot be told."""
    brought: dict[str, list[Statement]] = field(default_factory=dict)
    """By digest, all that a release declares, with what it brings in itself."""

    def extend(self, uses: list[Statement], chain: tuple[FoundRelease, ...] = ()) -> list[Statement]:
        """Return what the releases that are used declare. What cannot be had is reported."""
        found: list[Statement] = []
        for use in uses:
            there = {id(statement) for statement in found}
            found += [statement for statement in self._one(use, chain) if id(statement) not in there]
        return found

    def _one(self, use: Statement, chain: tuple[FoundRelease, ...]) -> list[Statement]:
        release = self._found(use)
        if release is None or not self._fits(use, release, chain):
            self.program.diagnostics.lost_files = True
            return []
        if not chain:
            self.program.extended.append(ReleaseImport(release, use.find("digest") is not None))
            if use.find("digest") is None:
                self._warn(use, release)
        if release.digest not in self.brought:
            whole = self._read(use, release, chain)
            if whole is None:
                return []
            self.brought[release.digest] = whole
            names = (each.name().text for each in whole if each.construct == "scenario")
            self.program.scenarios_in[release.name] = tuple(sorted(names))
        return take(self.program, use, release, self.brought[release.digest])

    def _found(self, use: Statement) -> FoundRelease | None:
        asked = self._asked(use)
        if asked is None:
            return None
        try:
            release = self.program.finder.find(asked, use.span.source.path)
        except UnfitRelease as error:
            where = use.syntax("digest") if error.code == "E0913" and use.find("digest") else use.text("string")
            self.program.diagnostics.error(error.code, error.message, where.span, help=error.help)
            return None
        earlier = self.program.releases.setdefault(release.name, release)
        if earlier.digest == release.digest:
            return earlier
        message = f"two releases of `{release.name}` are used: {earlier.version} and {release.version}"
        if earlier.version == release.version:
            message = f"two releases are called {release.title}: {earlier.digest[:12]}… and {release.digest[:12]}…"
        self.program.diagnostics.error("E0919", message, use.text("string").span, help="use one of them")
        return None

    def _asked(self, use: Statement) -> ReleaseRequest | None:
        text = use.text("string")
        asked = read_asked(text.value)
        if asked is None:
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
            asked = replace(asked, sha256=digest.value.lower())
        return replace(asked, place=place.value) if isinstance(place, Text) else asked

    def _fits(self, use: Statement, release: FoundRelease, chain: tuple[FoundRelease, ...]) -> bool:
        """Return true if a release can be part of the spec; reports why it cannot."""
        where = use.text("string").span
        if release.digest in {each.digest for each in chain}:
            circle = " → ".join(each.title for each in (*chain, release))
            message = f"`use release` goes in a circle: {circle}"
            self.program.diagnostics.error("E0203", message, where, help="get releases that do not use each other")
            return False
        if self.languages is not None and self.languages != set(release.languages):
            theirs = ", ".join(release.languages)
            message = f"{release.title} is in other languages than this benchmark: {theirs}"
            self.program.diagnostics.error("E0915", message, where, help=f"write `languages {theirs}`")
            return False
        return True

    def _warn(self, use: Statement, release: FoundRelease) -> None:
        """Say what to paste, so that a stranger can begin without a digest and go on with one."""
        text = use.text("string")
        last = use.find("place") or text
        pin = f' sha256 "{release.digest}"'
        message = f"`{text.value}` is used without its digest: here it is {release.title}"
        end = replace(last.span, low=last.span.high)
        edits = (Edit(end, pin),)
        self.program.diagnostics.warning("W0911", message, text.span, help=f"pin it:{pin}", edits=edits)

    def _read(self, use: Statement, release: FoundRelease, chain: tuple[FoundRelease, ...]) -> list[Statement] | None:
        first = len(self.program.sources)
        try:
            source = Source(release.main, self.files.read(release.main))
        except (OSError, ValueError) as error:
            self.program.diagnostics.lost_files = True
            message = f"cannot read {release.title}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
            where = use.text("string").span
            self.program.diagnostics.error("E0914", message, where, help=f"see: tripos verify {release.folder}")
            return None
        own, uses = self.files.load(source)
        for each in self.program.sources[first:]:
            self.program.released[each.path] = release
        for statement in own:
            if statement.construct == "benchmark" and (locale := locale_of(self.program, statement)) is not None:
                self.program.numbers_in[release.name] = locale
        own = [statement for statement in own if statement.construct not in NOT_BROUGHT]
        return own + self.extend(uses, (*chain, release))


def extend(program: Program, files: SpecFiles, uses: list[Statement]) -> None:
    """Add to a program what the releases declare that its own files use."""
    if not uses:
        return
    program.state([*program.statements, *Extending(program, files, _languages(program)).extend(uses)])
    program.state(_without_roles_again(program))


def _languages(program: Program) -> frozenset[str] | None:
    for benchmark in program.of("benchmark"):
        languages = benchmark.one_of("languages")
        if languages is not None:
            return frozenset(each.text for each in languages.many("languages") if isinstance(each, Name))
    return None


def _without_roles_again(program: Program) -> Iterator[Statement]:
    """Yield the statements; a role that is declared before is the same role, and stands once. There is one that is
    compared, so that of a release must have its name."""
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
        compared = next((each for each in first.values() if each.has("compared")), None)
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
            program.diagnostics.lost_names.add(name.text)
        else:
            program.index.use(name.span, earlier.name().span)
            if _kind(earlier) != _kind(statement):
                message = f"`{name.text}` is {_kind(earlier)} here, and {_kind(statement)} in {release.title}"
                label = Label(statement.head, f"in {release.title}")
                help_ = "declare it alike, or take another name for yours"
                program.diagnostics.error("E0917", message, earlier.head, label, help=help_)


def _kind(role: Statement) -> str:
    return "the compared role" if role.has("compared") else "a panel" if role.has("panel") else "a single model"
