"""A spec on disk: its main file, its compilation against its data, and earlier versions of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tripos.errors import disk_failure
from tripos.releases.locations import open_location
from tripos.releases.manifest import RELEASES
from tripos.releases.network_policy import USER_GIVEN, NetworkPolicy
from tripos.releases.opening import ReleaseFolders
from tripos.settings.options import DATA
from tripos.settings.trust import refuse_if_untrusted
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.diagnostics.diagnostic import Diagnostic, deny, nearest
from tripos_compiler.diagnostics.text_format import counted, not_utf8
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.datasets.data_files import DataFolders, access_of
from tripos_runtime.datasets.trust import TRUSTED, Trust

if TYPE_CHECKING:
    from tripos.releases.opening import Release


@dataclass(frozen=True)
class CompiledSpec:
    """A spec without errors: its path as given, the compilation with its plan, and the folders of its data."""

    path: str
    compilation: Compilation
    plan: Plan
    folders: DataFolders

    @property
    def main(self) -> Path:
        """The main file."""
        return Path(self.compilation.sources[0].path)


def describe_errors(path: str, diagnostics: Sequence[Diagnostic]) -> tuple[str, str, str]:
    """Return the code, the message and the hint of one error for those of a spec: the first, and how many there are."""
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    message = f"`{path}` has {counted(len(errors), 'error')}: {errors[0].message}"
    return errors[0].code, message, f"tripos explain {errors[0].code}"


BENCHMARK = re.compile(r"^\s*benchmark\s", re.MULTILINE)
NONE_DENIED: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class SpecSource:
    """The main file of a spec, and the folders searched for its data and for releases that it extends."""

    path: Path
    folders: DataFolders
    releases: ReleaseFolders = field(default_factory=ReleaseFolders)
    release: Release | None = None
    """The release that contains the spec. Its plan is used as it is, after a check against its sources."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Texts that replace those of files, by path: the state after an edit."""

    def compile(
        self, denied: Mapping[str, str] = NONE_DENIED, against: Plan | None = None, secrecy: bool = True
    ) -> Compilation:
        """Compile the spec.

        Warnings whose code is a key of `denied` (the value is what denies it) are errors, and then there is no plan.
        `against` is the plan of an earlier version, whose version number must reflect the changes. Without `secrecy`
        the spec may reveal secrets to the compared role.

        Raises `TriposError` if the main file cannot be read.
        """
        if self.release is not None and against is None:
            from tripos.releases.verification import check_sources

            compilation = self.release.compilation(self.releases)
            check_sources(self.release, compilation, self.folders.folders[1:], self.releases)
            return compilation
        try:
            compilation = compile_spec(
                self.path.as_posix(),
                self._read,
                self.folders,
                against=against,
                releases=self.releases,
                secrecy=secrecy,
            )
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable(error) from error
        diagnostics = deny(compilation.diagnostics, denied)
        failed = any(diagnostic.severity == "error" for diagnostic in diagnostics)
        return replace(compilation, diagnostics=diagnostics, plan=None if failed else compilation.plan)

    def _unreadable(self, error: OSError | UnicodeDecodeError) -> Exception:
        """Return the failure for an unreadable file: that of the spec if it is the main file, or else that of the file
        named in the error."""
        hint = "check the path and its permissions"
        try:
            self._read(self.path.as_posix())
        except (OSError, UnicodeDecodeError) as own:
            reason = getattr(own, "strerror", None)
            if isinstance(own, UnicodeDecodeError):
                reason, hint = not_utf8(own.object, str(self.path))
            return TriposError("E0108", f"cannot read {self.path}: {reason}", hint)
        if (full := disk_failure(error)) is not None:
            return full
        if isinstance(error, OSError) and error.filename is not None:
            return TriposError("E0307", f"cannot read {error.filename}: {error.strerror}", hint)
        return error

    def _read(self, path: str) -> str:
        if path in self.texts:
            return self.texts[path]
        access = self.folders.access
        return Path(path).read_text("utf-8") if access is None else access.read_text(path)


def find_spec(
    path: str,
    data: Sequence[str] = (),
    standing: Sequence[str] = (),
    releases: Sequence[str] = (),
    fetch: NetworkPolicy | None = None,
    *,
    allow_outside: bool = False,
    trust: Trust = TRUSTED,
    reach: NetworkPolicy = USER_GIVEN,
) -> SpecSource:
    """Return the spec at a path: a file, or a folder whose main file has the folder's name or is its only benchmark. A
    path that does not exist is looked up among the benchmarks that come with Tripos.

    Data files are searched in `data`, which must exist, and in the folders of `standing` (from `tripos.toml`) that
    exist. Releases that the spec extends are searched next to it and in `releases`; with `fetch`, also at the address
    in the spec. The spec may read files of its folder, its project and `data`; with `allow_outside`, any file. `trust`
    restricts it, and `reach` limits from where a release at a URL is fetched. Raises `TriposError`.
    """
    refuse_if_untrusted(trust, path, *releases, outside=allow_outside, fetch=fetch is not None)
    for folder in data:
        if not Path(folder).is_dir():
            raise TriposError(
                "E0307", f"there is no data folder `{folder}`", f"give a folder that exists with {DATA} DIR"
            )
    folders = DataFolders(tuple(Path(folder) for folder in (*data, *standing)))
    extended = ReleaseFolders(tuple(Path(folder) for folder in releases))
    released = open_location(path, reach)
    if released is not None:
        from tripos.releases.opening import open_release

        release = open_release(released, trust)
        return SpecSource(release.main, release.data_folders(folders.folders), extended, release)
    given = Path(path)
    if not given.exists():
        shipped = shipped_spec(path)
        if shipped is None:
            raise no_spec_at(path)
        given = shipped
    main = given if given.is_file() else _main_file(given)
    named = tuple(Path(folder) for folder in data)
    access = access_of(main, folders.folders, named=named, anything=allow_outside, trust=trust)
    folders = replace(folders, access=access)
    return SpecSource(main, folders, replace(extended, fetch=fetch, into=main.parent / RELEASES))


def shipped_spec(name: str) -> Path | None:
    """Return the file or folder of a spec that comes with Tripos, by its path below `specs`, or None.

    >>> shipped_spec("gallery/simpleqa").name, shipped_spec("gallery/nothing")
    ('simpleqa', None)
    """
    places = [root / name.removeprefix("specs/") for root in _shipped_roots()]
    return next((place for place in places if place.exists() and is_shipped(place)), None)


def is_shipped(path: Path) -> bool:
    """Return true if a file or folder comes with Tripos."""
    return any(path.resolve().is_relative_to(root) for root in _shipped_roots())


def _shipped_roots() -> tuple[Path, Path]:
    """Return the folders of specs that come with Tripos: in its package, and next to it in its repository."""
    package = Path(__file__).resolve().parents[1]
    return package / "specs", package.parent / "specs"


def no_spec_at(path: str) -> TriposError:
    """Return the error for a path without a spec. Its hint is the spec beside it whose name is nearly the same."""
    wanted = Path(path)
    specs = {*wanted.parent.glob("*.tripos"), *(each.parent for each in wanted.parent.glob("*/*.tripos"))}
    by_name = {each.name: each for each in sorted(specs)}
    by_stem = {each.stem: each for each in by_name.values() if each.suffix}
    close = by_stem.get(wanted.name) or by_name.get(nearest(wanted.name, by_name) or "")
    hint = "give a .tripos file or a folder that holds one" if close is None else f"did you mean `{close}`?"
    return TriposError("E0108", f"there is no spec at `{path}`", hint)


def _main_file(folder: Path) -> Path:
    named = folder / f"{folder.resolve().name}.tripos"
    if named.is_file():
        return named
    mains = [path for path in sorted(folder.glob("*.tripos")) if BENCHMARK.search(_text(path))]
    if len(mains) == 1:
        return mains[0]
    found = f"it holds {len(mains)} benchmarks: {', '.join(m.name for m in mains)}" if mains else "it holds none"
    raise TriposError("E0108", f"which benchmark of `{folder}`? {found}", "name the .tripos file")


def has_benchmark(path: Path) -> bool:
    """Return true if a path is a release or has a file that declares a benchmark. Other paths that a shell pattern
    matches can be skipped."""
    if open_location(str(path)) is not None:
        return True
    files = [path] if path.is_file() else [path / f"{path.resolve().name}.tripos", *path.glob("*.tripos")]
    return any(file.suffix == ".tripos" and BENCHMARK.search(_text(file)) for file in files)


def has_shared_parts(path: Path) -> bool:
    """Return true if a path is a folder without a benchmark of its own that is still useful: with declarations that
    benchmarks `use`, or with folders of benchmarks."""
    if not path.is_dir() or has_benchmark(path):
        return False
    return any(path.glob("*.tripos")) or any(has_benchmark(each) for each in path.iterdir() if each.is_dir())


def _text(path: Path) -> str:
    """Return the text of a file with non-ASCII bytes replaced. A file in another encoding is found this way, and
    refused later."""
    try:
        return path.read_bytes().decode("utf-8", "replace").replace("\0", "")
    except OSError:
        return ""
