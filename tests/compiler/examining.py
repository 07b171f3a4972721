"""Properties of every text that is compiled, however broken it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Diagnostics
from tripos_compiler.diagnostics.renderers import render_text, to_data, to_sarif
from tripos_compiler.diagnostics.text_format import printable
from tripos_compiler.editing.formatter import Unparsable, format_text, is_same_tree
from tripos_compiler.library.media import MediumKind
from tripos_compiler.plan import Plan
from tripos_compiler.source.inputs import DataError, ResolvedFile
from tripos_compiler.source.text import Source, Span
from tripos_compiler.syntax.parser import parse
from tripos_runtime.datasets.data_files import DataFolders

MENDED_BY_ITS_MESSAGE = frozenset({"E0101", "E0403", "E0301", "E0306"})
"""Codes that may come without help: what was expected is in the message, or more would fit than is worth a list."""


class Fault(Exception):
    """Something that must hold of every compilation does not. The text begins with what, the same for all like it."""


@dataclass
class KeptData:
    """Data folders whose files are read once."""

    folders: DataFolders = field(default_factory=DataFolders)
    kept: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def find(self, source: str, near: str) -> list[ResolvedFile]:
        """Return the files that a spec at path `near` means by `source`."""
        return self._kept(("find", source, str(Path(near).parent)), lambda: self.folders.find(source, near))

    def rows(self, file: ResolvedFile) -> Iterator[dict[str, Any]]:
        """Return the raw records of a file."""
        return iter(self._kept(("rows", file.location), lambda: list(self.folders.rows(file))))

    def medium(self, file: ResolvedFile, kind: MediumKind, value: Any) -> str:
        """Return the mark of what a cell holds or names."""
        return self.folders.medium(file, kind, value)

    def document(self, file: ResolvedFile) -> Any:
        """Return what a file that is one JSON or YAML value says."""
        return self._kept(("document", file.location), lambda: self.folders.document(file))

    def placed(self, file: ResolvedFile) -> Any:
        """Return the same with the lines of its texts."""
        return self._kept(("placed", file.location), lambda: self.folders.placed(file))

    def _kept(self, key: tuple[str, ...], make: Any) -> Any:
        if key not in self.kept:
            try:
                self.kept[key] = make()
            except DataError as error:
                self.kept[key] = error
        found = self.kept[key]
        if isinstance(found, DataError):
            raise DataError(found.message, found.hint)
        return found


def compile_kept(files: Mapping[str, str], main: str, data: KeptData) -> Compilation:
    """Compile a spec whose files are in memory, those of its plug-ins apart."""
    return compile_spec(main, lambda path: files[path] if path in files else Path(path).read_text("utf-8"), data)


def examine(files: Mapping[str, str], main: str, data: KeptData) -> Compilation:
    """Compile a spec, render what is said of it in every way, and raise `Fault` where that is not as it must be."""
    compilation = compile_kept(files, main, data)
    told = compilation.diagnostics
    if (compilation.plan is None) != any(item.severity == "error" for item in told):
        raise Fault("a plan with errors, or none without one")
    if compilation.plan is not None:
        _examine_plan(compilation.plan)
    texts = {source.path: source.text for source in compilation.sources}
    for item in (*told, *(each.diagnostic for each in compilation.silenced)):
        _examine_diagnostic(item, texts)
    for one, other in twins(told):
        if one.message == other.message:
            raise Fault(f"{one.code} twice at one place: {one.message!r}")
    for width in (80, 20):
        shown = render_text(told, width=width)
        if any(printable(line) != line for line in shown.split("\n")):
            raise Fault("a control character is shown")
    for data_of in (
        to_data(told, compilation.silenced),
        to_sarif(told, compilation.silenced, version="1.0.0", path_from=str),
    ):
        text = json.dumps(data_of, ensure_ascii=False, allow_nan=False)
        if json.loads(text.encode()) != data_of:
            raise Fault("diagnostics do not come back from JSON")
    return compilation


def twins(diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[Diagnostic, Diagnostic]]:
    """Yield the pairs of diagnostics of one code at one place."""
    places: dict[tuple[str, Span], Diagnostic] = {}
    for item in diagnostics:
        earlier = places.setdefault((item.code, item.labels[0].span), item)
        if earlier is not item:
            yield earlier, item


def examine_format(files: Mapping[str, str], path: str) -> str | None:
    """Format one file, and return the text, or None where it is refused for its syntax. Raises `Fault`."""
    text = files[path]
    try:
        formatted = format_text(text, path)
    except Unparsable as refused:
        if not any(item.severity == "error" for item in refused.diagnostics):
            raise Fault("the formatter refuses what has no mistake of syntax") from refused
        return None
    if format_text(formatted, path) != formatted:
        raise Fault("the formatter changes what it has formatted")
    before, after = (parse(Source(path, each.removeprefix("\ufeff")), Diagnostics()) for each in (text, formatted))
    if not is_same_tree(before, after):
        raise Fault("the formatter changes the tree")
    return formatted


def _examine_plan(plan: Plan) -> None:
    text = plan.to_json()
    again = Plan.model_validate_json(text)
    if again != plan or again.to_json() != text or again.digest != plan.digest:
        raise Fault("a plan does not come back from JSON")
    json.loads(text, parse_constant=_no_number)


def _no_number(text: str) -> None:
    raise Fault(f"a plan holds {text}, which is no JSON")


def _examine_diagnostic(item: Diagnostic, texts: Mapping[str, str]) -> None:
    if item.code not in CODES or item.code[0] not in "EW":
        raise Fault(f"the code {item.code} is not known")
    if not item.labels:
        raise Fault(f"{item.code} without a place: {item.message!r}")
    if item.help is None and item.code not in MENDED_BY_ITS_MESSAGE:
        raise Fault(f"{item.code} without help: {item.message!r}")
    for said, what in (
        (item.message, "message"),
        *((item.help, "help") for _ in [0] if item.help is not None),
        *((note, "note") for note in item.notes),
        *((label.text, "label") for label in item.labels if label.text),
    ):
        if not said or said != said.strip() or "\n" in said:
            raise Fault(f"{item.code} has a {what} that is empty or more than a line: {said!r}")
    for span in (*(label.span for label in item.labels), *(edit.span for edit in item.edits)):
        _examine_span(item, span, texts)
    edited = sorted((edit.span.source.path, edit.span.start, edit.span.end) for edit in item.edits)
    for (path, _, end), (other, start, _) in pairwise(edited):
        if path == other and start < end:
            raise Fault(f"{item.code} has edits that overlap: {item.message!r}")


def _examine_span(item: Diagnostic, span: Span, texts: Mapping[str, str]) -> None:
    text = texts.get(span.source.path, span.source.text)  # a Python file is no source of the compilation
    if span.source.text != text:
        raise Fault(f"{item.code} has a place in another text: {item.message!r}")
    if not 0 <= span.start <= span.end <= len(text):
        raise Fault(f"{item.code} has a place outside its text, {span.start}:{span.end}: {item.message!r}")
