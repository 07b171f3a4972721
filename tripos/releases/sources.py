"""The check of a release's plan against its own sources: one check, for `verify` and before anything is run.

A plan says which Python is called and what is sent to models, so a forged one is as good as a program. Where this
Tripos made the release and has all its data, the sources are compiled again and must give the same plan. Elsewhere the
plan is taken only where every function, file and text in it stands in a file that the manifest lists.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from tripos.releases.manifest import ReleaseCheck, file_digest, file_fault
from tripos.releases.opening import Release, open_release, recompile
from tripos.ui import SOME_FAILED, Failure, __version__
from tripos_compiler.compile import Compilation
from tripos_compiler.plan import Plan, Plugin
from tripos_compiler.source import FoundRelease, ReleaseFinder

LEAST_PIECE = 12
"""Characters, blanks left out, that a piece of a text must have in common with a source."""

_UNPRINTED = re.compile(r"\\[ntr]|\\|\s|[{}]")


def check_sources(release: Release, compilation: Compilation, outer: Sequence[Path], releases: ReleaseFinder) -> None:
    """Raise `Failure` S0855 where the frozen plan of a release is not what its sources say."""
    plan = compilation.plan
    assert plan is not None
    if (fault := next(_unlisted(release, plan, compilation.releases), None)) is not None:
        raise _refused(release, fault)
    found = against_sources(release, plan, compilation.releases, outer, releases)
    if found.outcome == "good":
        return
    if found.outcome == "wrong" and _made_here(release):
        raise _refused(release, found.told)
    # Another compiler may word a plan in another way, and data that are not here cannot be compiled.
    if (strange := unknown_text(release, plan, compilation.releases)) is not None:
        raise _refused(release, f"{found.told}, and no file of the release says `{strange}`")


def against_sources(
    release: Release, plan: Plan, extended: Sequence[FoundRelease], outer: Sequence[Path], releases: ReleaseFinder
) -> ReleaseCheck:
    """Return whether a release's sources compile to its plan. `outer` are folders with data that it does not hold."""
    if (fault := next(_unlisted(release, plan, extended), None)) is not None:
        return ReleaseCheck("plan", "wrong", fault)
    if missing := _missing(release, outer):
        told = f"it needs data that is not here: {', '.join(missing)}; give its folder with --data DIR"
        return ReleaseCheck("plan", "unchecked", told)
    compilation = recompile(release, outer, releases)
    if compilation.plan is None:
        errors = [each.message for each in compilation.diagnostics if each.severity == "error"]
        return ReleaseCheck("plan", "wrong", f"the sources do not compile: {errors[0] if errors else '?'}")
    if compilation.plan.digest != release.manifest.plan:
        return ReleaseCheck("plan", "wrong", "the sources compile to another plan")
    return ReleaseCheck("plan", "good", "the sources compile to it")


def unknown_text(release: Release, plan: Plan, extended: Sequence[FoundRelease]) -> str | None:
    """Return a text of a prompt that stands in no file of a release, or of those that it extends; None where all do."""
    written = "".join(_UNPRINTED.sub("", text) for text in _texts(release, extended))
    for text in _printed(plan.model_dump(mode="json")):
        for line in text.splitlines():
            if not _is_made_of(_UNPRINTED.sub("", line), written):
                return line.strip()
    return None


def _unlisted(release: Release, plan: Plan, extended: Sequence[FoundRelease]) -> Iterator[str]:
    """Yield what the plan uses and no manifest lists, in words."""
    known = [release, *(open_release(Path(each.folder)) for each in extended)]
    digests = {each.sha256 for one in known for each in one.manifest.files}
    digests |= {each.sha256 for one in known for each in one.manifest.external}
    used = [(file.path, file.sha256) for dataset in plan.datasets for file in dataset.every_file]
    used += [(file.path, file.sha256) for tree in plan.trees for file in tree.files]
    used += [(tree.path, tree.sha256) for tree in plan.trees if not tree.files]
    for path, sha256 in used:
        if sha256 not in digests or PurePosixPath(path).is_absolute():
            yield f"the plan reads `{path}`, which its manifest does not list"
    by_title = {one.manifest.name: one for one in known}
    for plugin in plan.plugins:
        owner = release if plugin.release is None else by_title.get(plugin.release)
        if plugin.path is not None and (owner is None or not _holds(owner, plugin)):
            yield f"the plan calls `{plugin.function}` of `{plugin.path}`, which its manifest does not list"
        elif plugin.path is None and not any(plugin.name in text for text in _texts(release, extended)):
            yield f"the plan calls `{plugin.name}` of {plugin.version}, which its sources do not use"


def _holds(release: Release, plugin: Plugin) -> bool:
    """Return true if the files of functions are those of a release, with the texts that the plan says."""
    near = "" if plugin.release is not None else posixpath.dirname(release.manifest.main)
    return all(_has(release, posixpath.normpath(posixpath.join(near, path)), sha) for path, sha in plugin.files.items())


def _has(release: Release, name: str, sha256: str) -> bool:
    """Return true if a release has a text of a name, with its digest."""
    if name not in {each.path for each in release.manifest.files} or file_fault(release.folder, name) is not None:
        return False
    try:
        return hashlib.sha256((release.folder / name).read_text("utf-8").encode()).hexdigest() == sha256
    except (OSError, UnicodeDecodeError):
        return False


def _texts(release: Release, extended: Sequence[FoundRelease]) -> Iterator[str]:
    """Yield the texts in the files of a release, and of those that it extends."""
    for one in (release, *(open_release(Path(each.folder)) for each in extended)):
        for file in one.manifest.files:
            if file.path == "plan.json" or file_fault(one.folder, file.path) is not None:
                continue
            try:
                yield (one.folder / file.path).read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue  # a table, or a model


def _printed(value: Any) -> Iterator[str]:
    """Yield every text of every template in a plan."""
    if isinstance(value, dict):
        if isinstance(parts := value.get("parts"), list):
            yield from (each for each in parts if isinstance(each, str))
        for each in value.values():
            yield from _printed(each)
    elif isinstance(value, list):
        for each in value:
            yield from _printed(each)


def _is_made_of(text: str, written: str) -> bool:
    """Return true if a text is put together of pieces of another one, each long enough to say something, or a whole
    one."""
    if text in written:
        return True
    while text:
        size = len(text)
        while size >= LEAST_PIECE and text[:size] not in written:
            size -= 1
        if size < LEAST_PIECE:
            return text in written
        text = text[size:]
    return True


def _missing(release: Release, outer: Sequence[Path]) -> list[str]:
    """Return the data files that lie neither in the release nor in a folder that was given."""
    return [
        f"`{each.path}`"
        for each in release.manifest.external
        if not any(_is(folder / each.path, each.sha256) for folder in outer)
    ]


def _is(path: Path, sha256: str) -> bool:
    try:
        return file_digest(path) == sha256
    except OSError:
        return False


def _made_here(release: Release) -> bool:
    return release.manifest.tool == f"tripos {__version__}"


def _refused(release: Release, what: str) -> Failure:
    hint = f"do not use it; see all of it: tripos verify {release.folder}"
    return Failure("S0855", f"the release `{release.folder}` differs from its sources: {what}", hint, SOME_FAILED)
