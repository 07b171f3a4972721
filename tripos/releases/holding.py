"""The releases that a release extends: held in its own folder, whole, so that it can be checked and run alone; or only
named, where a licence allows no copy."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tripos.failure import Failure
from tripos.releases.about import About
from tripos.releases.manifest import ExtendedRelease, file_digest
from tripos.releases.names import RELEASES, UNLISTED
from tripos.releases.opening import Release, open_release
from tripos_compiler.compile import Compilation
from tripos_compiler.releases import FoundRelease


def check_pinned(compilation: Compilation) -> None:
    """Raises `Failure` W0870 where a spec extends a release of which it does not say the digest: then what was released
    could not be told."""
    for release in compilation.unpinned:
        message = f"the spec extends {release.title} without its digest"
        raise Failure("W0870", message, f'write it after its name: sha256 "{release.digest}"')


def hold(extended: Sequence[FoundRelease], about: About, folder: Path) -> tuple[ExtendedRelease, ...]:
    """Copies the releases that are extended into a release's folder, where that is allowed; how each is found again.
    One that lies in another of them comes with it. Raises `Failure` W0855 where a file is not as it was released, and
    `OSError`."""
    found = []
    for release in sorted(extended, key=lambda each: each.name):
        around = next((each for each in extended if each is not release and each.inside(release.folder)), None)
        terms = about.releases.get(release.label)
        opened = open_release(Path(release.folder))
        path: str | None = f"{RELEASES}/{release.label}"
        if around is not None or (terms is not None and not terms.copy_it):
            path = None
        else:
            _copy(opened, folder / RELEASES / release.label)
        found.append(
            ExtendedRelease(
                name=release.name,
                version=release.version,
                digest=release.digest,
                license=opened.manifest.license,
                path=path,
                within=None if around is None else around.label,
                source=terms.source if terms is not None else None,
            )
        )
    return tuple(found)


def _copy(release: Release, to: Path) -> None:
    for file in release.manifest.files:
        source, target = release.folder / file.path, to / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        if file_digest(target) != file.sha256:
            hint = f"see all of it: tripos verify {release.folder}"
            raise Failure("W0855", f"the release `{release.folder}` is damaged: `{file.path}` was changed", hint)
    for name in UNLISTED:
        if (release.folder / name).is_file():
            shutil.copyfile(release.folder / name, to / name)
