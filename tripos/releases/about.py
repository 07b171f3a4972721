"""`release.toml`: what only whoever releases a benchmark can say of it, such as whose data may be copied."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tripos.failure import Failure

ABOUT = "release.toml"


class DataTerms(BaseModel):
    """On what terms a data file of others is had: an SPDX expression, where it comes from, and whether the release may
    hold a copy of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    license: str | None = None
    source: str | None = None
    copy_it: bool = False


class About(BaseModel):
    """What `release.toml` says; all of it may be left out. `data` is by path, as a spec names the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    measures: str | None = None
    limits: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    license_file: str | None = None
    data: dict[str, DataTerms] = {}


def read_about(folder: Path) -> About:
    """What the `release.toml` of a spec's folder says. Raises `Failure` R0203 for one that cannot be read."""
    path = folder / ABOUT
    if not path.exists():
        return About()
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        data = table.get("data")
        for terms in data.values() if isinstance(data, dict) else ():
            if isinstance(terms, dict) and "copy" in terms:
                terms["copy_it"] = terms.pop("copy")
        return About.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])).replace("copy_it", "copy")
        raise Failure("R0203", f"{path}: `{place}`: {first['msg'].lower()}", "see docs/releases.md") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Failure("R0203", f"cannot read {path}: {error}", "mend the file; it is TOML in UTF-8") from error
