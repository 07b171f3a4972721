"""The check of a release."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tripos.api.errors import ReleaseError, raised_as
from tripos.api.paths import Places, paths_of
from tripos.config import Config
from tripos.failure import Failure
from tripos.releases.places import find_release
from tripos.releases.signing import signature_checks
from tripos.releases.verifying import Verified
from tripos.releases.verifying import verify as verify_folder
from tripos.settings import project_settings


def verify(
    path: str | Path,
    *,
    data: Places = (),
    releases: Places = (),
    artefacts: Mapping[str, str | Path] = {},
    digest: str | None = None,
    key: str | None = None,
) -> Verified:
    """Check a release: a folder, a zip or a URL. `wrong` of the answer has everything that is not as it was released.

    `data`, `releases` and `artefacts` say where parts are that the release only names; `digest` is the digest that it
    was cited with, `key` the public key that it must be signed with.

    Raises `ReleaseError` where there is no release.
    """
    with raised_as(ReleaseError):
        named = {role: str(each) for role, each in artefacts.items()}
        return check(
            str(path), project_settings(Path.cwd()).config, paths_of(data), paths_of(releases), named, digest, key
        )


def check(
    path: str,
    config: Config,
    data: Sequence[str] = (),
    releases: Sequence[str] = (),
    artefacts: Mapping[str, str] = {},
    digest: str | None = None,
    key: str | None = None,
) -> Verified:
    """Check a release. Raises `Failure`: W0851 where there is none, R0202 for a digest that is none."""
    folder = find_release(path) or Path(path)
    if not folder.is_dir():
        raise Failure("W0851", f"there is no release at `{path}`", "give the folder that `tripos release` wrote")
    if digest is not None and not re.fullmatch("[0-9a-f]{64}", digest.lower()):
        raise Failure("R0202", f"`--digest {digest}` is no SHA-256", "it has 64 hexadecimal digits")
    return verify_folder(
        folder,
        [Path(each) for each in (*data, *config.data)],
        None if digest is None else digest.lower(),
        signature_checks(folder, key),
        [Path(each) for each in (*releases, *config.releases)],
        {role: Path(place).expanduser() for role, place in artefacts.items()},
    )
