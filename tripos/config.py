"""`tripos.toml`: what a project runs its benchmarks with. Flags win over it; keys never stand in it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tripos.failure import Failure

NAME = "tripos.toml"


class EndpointConfig(BaseModel):
    """Where a model, or every model of a provider, is reached. `api_key_env` names an environment variable."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    base_url: str
    api_key_env: str | None = None


class CheckConfig(BaseModel):
    """What a spec is held to. `deny` has the codes of warnings that count as errors, or `warnings` for all."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    deny: tuple[str, ...] = ()


class Config(BaseModel):
    """The settings of a project. Paths are relative to the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    data: tuple[str, ...] = ()
    store: str = "results"
    models: tuple[str, ...] = ()
    roles: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    endpoints: dict[str, EndpointConfig] = Field(default_factory=dict)
    check: CheckConfig = CheckConfig()
    max_connections: int = Field(default=16, ge=1, le=4096)
    max_retries: int = Field(default=5, ge=0, le=100)


def load_config(folder: Path) -> Config:
    """The settings in `tripos.toml` of a folder, or the defaults where there is none. Raises `Failure`."""
    path = folder / NAME
    if not path.is_file():
        return Config()
    try:
        config = Config.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Failure("R0203", f"cannot read {path}: {error}", "mend the file; it is TOML in UTF-8") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        known = ", ".join(Config.model_fields)
        raise Failure("R0203", f"{path}: `{where}`: {first['msg'].lower()}", f"settings are {known}") from error
    base = path.parent
    return config.model_copy(
        update={"data": tuple(str(base / each) for each in config.data), "store": str(base / config.store)}
    )
