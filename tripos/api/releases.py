"""Releases for Python: `verify` a release, or `release` a benchmark into a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.api.errors import ReleaseError, raised_as
from tripos.api.spec import Places, paths_of
from tripos.releases.artefacts import open_roles
from tripos.releases.locations import open_location, pack, push as push_to
from tripos.releases.manifest import MANIFEST, Manifest
from tripos.releases.network_policy import USER_GIVEN, NetworkPolicy
from tripos.releases.opening import open_release
from tripos.releases.publish import (
    Lineage,
    ReleaseInput,
    WrittenRelease,
    check_siblings,
    find_parent,
    follow,
    make_release,
)
from tripos.releases.signing import signature_checks
from tripos.releases.verification import Verification, verify as verify_folder
from tripos.runs.compilation import CompiledSpec
from tripos.settings.config import Config
from tripos.settings.load import project_settings
from tripos.settings.options import VerifyParameters
from tripos.settings.trust import refuse_if_untrusted, trust_in
from tripos_compiler.errors import TriposError
from tripos_runtime.datasets.trust import TRUSTED, Trust

if TYPE_CHECKING:
    from tripos.api.spec import Spec


def verify(
    path: str | Path,
    *,
    data: Places = (),
    releases: Places = (),
    artefacts: Mapping[str, str | Path] = {},
    digest: str | None = None,
    key: str | None = None,
    untrusted: bool = False,
    signed: bool = False,
    allow_private: bool = False,
) -> Verification:
    """Check a release: a folder, a zip or a URL. `wrong` in the result lists everything that differs from the release.

    `data`, `releases` and `artefacts` locate parts that the release only names. `digest` is the digest that was cited,
    `key` the public key that must have signed it. With `untrusted` less is read, and nothing is fetched. A URL is
    fetched without your keys unless `signed`, and from public addresses only unless `allow_private`.

    Raises `ReleaseError` if there is no release.
    """
    with raised_as(ReleaseError):
        named = {role: str(artefact) for role, artefact in artefacts.items()}
        trust = trust_in(untrusted, os.environ)
        reach = replace(USER_GIVEN, private=allow_private, signed=signed)
        config = project_settings(Path.cwd(), trust=trust).config
        return check_release(
            str(path), config, paths_of(data), paths_of(releases), named, digest, key, trust=trust, reach=reach
        )


def check_release(
    path: str,
    config: Config,
    data: Sequence[str] = (),
    releases: Sequence[str] = (),
    artefacts: Mapping[str, str] = {},
    digest: str | None = None,
    key: str | None = None,
    *,
    trust: Trust = TRUSTED,
    reach: NetworkPolicy = USER_GIVEN,
) -> Verification:
    """Check a release. Raises `TriposError` S0851 if there is none, R0202 for an invalid digest."""
    refuse_if_untrusted(trust, path, *releases)
    folder = open_location(path, reach) or Path(path)
    if not folder.is_dir():
        raise TriposError("S0851", f"there is no release at `{path}`", "give the folder that `tripos release` wrote")
    if digest is not None and not re.fullmatch("[0-9a-f]{64}", digest.lower()):
        raise TriposError(
            "R0202", f"`{VerifyParameters.digest} {digest}` is no SHA-256", "it has 64 hexadecimal digits"
        )
    return verify_folder(
        folder,
        [Path(each) for each in (*data, *config.data)],
        None if digest is None else digest.lower(),
        signature_checks(folder / MANIFEST, key),
        [Path(each) for each in (*releases, *config.releases)],
        {role: Path(place).expanduser() for role, place in artefacts.items()},
        trust,
    )


@dataclass(frozen=True)
class Released:
    """A release that was made: its folder, its digest for citation, and its manifest."""

    path: Path
    digest: str
    manifest: Manifest
    was_there: bool
    """True if the folder already held the same release."""
    private: Path | None
    """The folder with the text of withheld items, next to the release."""
    copies: tuple[str, ...] = ()
    """The zip, and the URL that it was pushed to."""
    open_roles: tuple[str, ...] = ()
    """Roles that take a reward model which the release does not name."""


def release(
    spec: Spec | str | Path,
    to: str | Path = "releases",
    *,
    parent: str | Path | None = None,
    day: date | None = None,
    artefacts: Mapping[str, str | Path] = {},
    sign_key: str | Path | None = None,
    store: str | Path | None = None,
    zip: bool = False,
    push: str | None = None,
) -> Released:
    """Freeze a benchmark in the folder `to/NAME-VERSION`, which can be checked, run and cited.

    `parent` is the previous release (default: the highest version in `to`), `day` its date, `artefacts` the reward
    models of roles (folders or digests), `sign_key` a secret key of minisign or SSH, and `store` the store with
    generated items. With `zip` a zip is written too; with `push` the release is copied to a URL.

    Raises `ReleaseError`; `SpecError` if the spec has errors.
    """
    from tripos.api.spec import Spec, compile as compile_spec

    given = spec if isinstance(spec, Spec) else compile_spec(spec)
    config = given.settings.config
    with raised_as(ReleaseError):
        written_release = freeze_benchmark(
            given.compiled,
            config if store is None else config.model_copy(update={"store": str(store)}),
            Path(to),
            parent=None if parent is None else str(parent),
            day=day,
            artefacts={role: str(artefact) for role, artefact in artefacts.items()},
            sign_key=None if sign_key is None else Path(sign_key),
        )
        copies = write_copies(written_release, zip, push)
    roles = open_roles(given.compiled_plan, written_release.manifest.artefacts)
    return Released(
        written_release.path,
        written_release.digest,
        written_release.manifest,
        written_release.was_there,
        written_release.private,
        tuple(copies),
        tuple(roles),
    )


def freeze_benchmark(
    spec: CompiledSpec,
    config: Config,
    to: Path,
    *,
    parent: str | None = None,
    day: date | None = None,
    artefacts: Mapping[str, str] = {},
    sign_key: Path | None = None,
) -> WrittenRelease:
    """Make a release of a compiled spec. Raises `TriposError`."""
    plan = spec.plan
    before = open_release(open_location(parent) or Path(parent)) if parent is not None else find_parent(plan, to)
    lineage = follow(before, plan) if before is not None else Lineage()
    check_siblings(plan, to)
    input_ = ReleaseInput(
        spec.compilation,
        plan,
        spec.folders,
        parent=lineage.parent,
        before=None if before is None else before.manifest,
        changes=tuple(f"{change.text} ({change.part})" for change in lineage.changes),
        former=lineage.former,
        day=day,
        store=Path(config.store),
        artefacts=artefacts,
        sign_key=sign_key,
    )
    return make_release(input_, to)


def write_copies(made: WrittenRelease, zipped: bool, url: str | None) -> list[str]:
    """Write a release as a zip, and push it to a URL. Return the places written to. Raises `TriposError`."""
    try:
        copies = [str(pack(made.path))] if zipped else []
    except OSError as error:
        raise TriposError("S0850", f"cannot write the zip: {error.strerror}", "release to another folder") from error
    return copies + ([push_to(made.path, url)] if url is not None else [])
