"""`release.toml`: what only whoever releases a benchmark can say of it, such as whose data may be copied."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tripos.failure import Failure

ABOUT = "release.toml"


class DataTerms(BaseModel):
    """On what terms a data file of others is had: an SPDX expression, where it comes from, and whether the release may
    hold a copy of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    license: str | None = None
    source: str | None = None
    copy_it: bool = False


class ReleaseTerms(BaseModel):
    """Whether the release may hold a copy of one that it extends, and where else that is had."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    copy_it: bool = True
    source: str | None = None


class ArtefactTerms(BaseModel):
    """A model that a scorer's role is filled with: its folder, from the spec's own, or its digest; where it is had,
    under which licence, an SPDX expression, and whether the release holds a copy of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str | None = None
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    source: str | None = None
    license: str | None = None
    copy_it: bool = True


class About(BaseModel):
    """What `release.toml` says; all of it may be left out. `data` is by path, as a spec names the file, `releases` by
    `NAME-VERSION`, `artefacts` by role."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    measures: str | None = None
    limits: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    license_file: str | None = None
    data: dict[str, DataTerms] = {}
    releases: dict[str, ReleaseTerms] = {}
    artefacts: dict[str, ArtefactTerms] = {}


def read_about(folder: Path) -> About:
    """What the `release.toml` of a spec's folder says. Raises `Failure` R0203 for one that cannot be read."""
    path = folder / ABOUT
    if not path.exists():
        return About()
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        tables = [each for of in ("data", "releases", "artefacts") if isinstance(each := table.get(of), dict)]
        for terms in [each for named in tables for each in named.values()]:
            if isinstance(terms, dict) and "copy" in terms:
                terms["copy_it"] = terms.pop("copy")
        return About.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])).replace("copy_it", "copy")
        raise Failure("R0203", f"{path}: `{place}`: {first['msg'].lower()}", "see docs/releases.md") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError) as error:
        raise Failure("R0203", f"cannot read {path}: {error}", "mend the file; it is TOML in UTF-8") from error
