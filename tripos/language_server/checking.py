"""Benchmarks while they are edited: compiled again where a text or data that they read is another, and only then."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tripos.config import NAME, Config
from tripos.denials import chosen_denials
from tripos.failure import Failure
from tripos.language_server.data import KeptData
from tripos.language_server.documents import SUFFIX, Documents
from tripos.releases.finding import ReleaseFolders
from tripos.settings import load_config
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.diagnostics import Diagnostic
from tripos_compiler.diagnostics.deny import deny
from tripos_compiler.memory import Memory
from tripos_compiler.source import Source
from tripos_runtime.datasets.data_folders import DataFolders

MOST_CHARS = 1_000_000
"""Specs that are longer, in all their files, are not compiled while they are edited."""


class TooLong(Exception):
    """A spec is too long to be compiled at every keystroke."""


@dataclass(frozen=True)
class Project:
    """What the `tripos.toml` of a main file says: where data and releases are looked for, and what is denied."""

    data: DataFolders
    releases: ReleaseFolders
    denied: Mapping[str, str]


def project_of(path: str, log: Callable[[str], None]) -> Project:
    """The settings of the nearest folder above a file that has a `tripos.toml`; what is wrong with them is logged."""
    folder = next((each for each in Path(path).parents if (each / NAME).is_file()), None)
    config = Config()
    denied: Mapping[str, str] = {}
    if folder is not None:
        try:
            config = load_config(folder)
            denied = chosen_denials(Namespace(deny=[]), config)
        except Failure as failure:
            log(f"{failure.message}; {failure.hint}" if failure.hint else failure.message)
    data, releases = (tuple(Path(each) for each in folders) for folders in (config.data, config.releases))
    return Project(DataFolders(data), ReleaseFolders(releases, fetch=False), denied)


class Benchmark:
    """The spec whose main file is at `main`. One that is `alone` is a file that no benchmark uses: that it declares
    none itself is no mistake, and what only a benchmark could tell is not looked for."""

    def __init__(self, documents: Documents, main: str, log: Callable[[str], None], *, alone: bool = False) -> None:
        self.documents = documents
        self.main = main
        self.alone = alone
        self._log = log
        self._project: Project | None = None
        self._data: KeptData | None = None
        self._memory = Memory()
        self._reads: dict[str, str | None] = {}
        """The files that the last compilation asked for, and their texts; None where there was none."""
        self._compilation: Compilation | None = None

    def refresh(self) -> None:
        """Files on disk changed, perhaps the settings too."""
        self._project = None

    @property
    def data_folders(self) -> tuple[Path, ...]:
        """Where data is looked for beside the folder of a spec."""
        return self._settled()[0].data.folders

    def compilation(self) -> Compilation:
        """What the benchmark comes to as it is now. Its spans are right until the next call.

        Raises `OSError` or `UnicodeDecodeError` where the main file cannot be read, and `TooLong`.
        """
        project, data = self._settled()
        if self._compilation is None or not self._is_current():
            self._compilation = self._compiled({}, project, data)
        return self._compilation

    def supposing(self, path: str, text: str) -> Compilation:
        """What it would come to if a file had another text. The spans of other results tell nothing from then on."""
        project, data = self._settled()
        self._compilation = None
        return self._compiled({path: text}, project, data)

    def trying(self, texts: Mapping[str, str]) -> tuple[Diagnostic, ...]:
        """The diagnostics that there would be if files had other texts; nothing else is touched."""
        project, data = self._settled()

        def read(path: str) -> str:
            return texts[path] if path in texts else self.documents.read(path)

        return deny(compile_spec(self.main, read, data, releases=project.releases).diagnostics, project.denied)

    def _settled(self) -> tuple[Project, KeptData]:
        """The settings and the reader; what was made with another reader is forgotten."""
        if self._project is None:
            project = project_of(self.main, self._log)
            if self._data is not None and self._data.folders != project.data:
                self._data = None
            self._project = project
            self._compilation = None
        data = self._data.renewed() if self._data is not None else KeptData(self._project.data)
        if data is not self._data:
            self._data = data
            self._memory = Memory(parses=self._memory.parses)
            self._compilation = None
        return self._project, data

    def _is_current(self) -> bool:
        return all(self.documents.find_text(path) == text for path, text in self._reads.items())

    def _compiled(self, instead: Mapping[str, str], project: Project, data: KeptData) -> Compilation:
        code = {path: text for path, text in self._reads.items() if not path.endswith(SUFFIX)}
        if any(self.documents.find_text(path) != text for path, text in code.items()):
            self._memory = Memory(parses=self._memory.parses)  # statements do not tell what is in a Python file
        self._reads = {}
        length = 0

        def read(path: str) -> str:
            nonlocal length
            self._reads[path] = None
            text = instead[path] if path in instead else self.documents.read(path)
            self._reads[path] = text
            length += len(text)
            if length > MOST_CHARS:
                raise TooLong
            return text

        try:
            compilation = compile_spec(self.main, read, data, self._memory, releases=project.releases)
        except BaseException:
            self._memory = Memory()
            raise
        diagnostics = deny(compilation.diagnostics, project.denied)
        if self.alone:
            diagnostics = tuple(each for each in diagnostics if not _lacks_benchmark(each, compilation.sources[0]))
        failed = any(each.severity == "error" for each in diagnostics)
        return replace(compilation, diagnostics=diagnostics, plan=None if failed else compilation.plan)


def _lacks_benchmark(diagnostic: Diagnostic, source: Source) -> bool:
    """Whether a diagnostic says that a file declares no benchmark, which is reported at its very start."""
    if diagnostic.code != "E0206" or not diagnostic.labels:
        return False
    span = diagnostic.labels[0].span
    return span.source is source and span.start == span.end == 0
