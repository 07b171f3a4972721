"""The model of `tripos.toml`, with the programs that a run may start and the warnings that count as errors.

API keys never belong in this file; `api_key_env` names the variable that holds one.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from tripos.settings.option import Option, listed_names
from tripos.settings.options import ALLOW_PROGRAM, DENY, MAX_CONNECTIONS, MAX_RETRIES, SETTINGS, STORE
from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.diagnostics.diagnostic import ALL_WARNINGS, suggest
from tripos_compiler.errors import TriposError
from tripos_runtime.asking.functions.settings import AllowedPrograms, ProgramLimits
from tripos_warehouse.store.paths import address_of, why_no_folder

SETTINGS_FILE = "tripos.toml"


def _listed(value: Any) -> Any:
    """Convert a single text to a list with one entry."""
    return (value,) if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def checked_address(text: str) -> str:
    """Return the address of a server. Raises `ValueError` if it is not one."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address begins with http:// or https://")
    try:
        parts.port, parts.hostname.encode("idna")
    except ValueError as error:
        raise ValueError("the address has no valid host and port") from error
    return text.rstrip("/")


CONFIG = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def _bounds(option: Option[Any], default: Any) -> Any:
    """Return the field of a setting, with the bounds of its option."""
    kind = option.kind
    bounds: dict[str, Any] = {
        "gt" if kind.above else "ge": kind.least,
        "le": kind.most,
        "pattern": kind.pattern or None,
    }
    if kind.python is float:
        bounds["allow_inf_nan"] = False
    return Field(default, **{name: bound for name, bound in bounds.items() if bound is not None})


def _section(table: str) -> type[BaseModel]:
    """Return the model of a table whose settings are declared in `settings.options`."""
    fields: dict[str, Any] = {}
    for option in SETTINGS.values():
        if not option.setting.startswith(f"{table}."):
            continue
        name, python = option.key, option.kind.python
        if option.repeated:
            fields[name] = (Annotated[tuple[Annotated[str, _bounds(option, ...)], ...], BeforeValidator(_listed)], ())
        else:
            optional = python if option.default is not None else python | None
            fields[name] = (optional, _bounds(option, option.default))
    return create_model(f"{table.title()}Config", __config__=CONFIG, **fields)


if TYPE_CHECKING:
    CheckConfig: TypeAlias = BaseModel
    ClusterConfig: TypeAlias = BaseModel
    LimitsConfig: TypeAlias = BaseModel
else:
    CheckConfig, ClusterConfig, LimitsConfig = map(_section, ("check", "cluster", "limits"))


class EndpointConfig(BaseModel):
    """The address of a model or of all models of a provider, and its limits.

    `api_key_env` names an environment variable. `name` identifies who answers at the address, and stays the same if the
    address changes. `replicas` are further addresses of the same model. `warm_up_s` is how long, in seconds, a run
    waits until the endpoint is up. `media` lists what the model accepts besides text.
    """

    model_config = CONFIG
    base_url: str
    api_key_env: str | None = None
    name: str | None = Field(default=None, min_length=1)
    replicas: Texts = ()
    warm_up_s: float = Field(default=0.0, ge=0, le=86400)
    requests_per_minute: Rate | None = None
    tokens_per_minute: Rate | None = None
    max_connections: int | None = _bounds(MAX_CONNECTIONS, None)
    media: tuple[Literal["image", "audio", "file"], ...] | None = None

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, text: str) -> str:
        return checked_address(text)

    @field_validator("replicas")
    @classmethod
    def _are_addresses(cls, texts: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if texts and info.data.get("name") is None:
            raise ValueError("replicas need a `name`: replies are named by it, and not by who answered")
        return tuple(cls._is_address(text) for text in texts)


class PriceConfig(BaseModel):
    """The price of a model in USD per million tokens. `max_output` is the maximum number of tokens of a reply."""

    model_config = CONFIG
    input: Cost
    output: Cost
    cached_input: Cost | None = None
    max_output: int | None = Field(default=None, ge=1)


class ProgramConfig(BaseModel):
    """A program that a run may start because it is listed here: its limits, and the address of a service. With
    `unsandboxed` it may execute code of models without a sandbox."""

    model_config = CONFIG
    timeout_s: float = Field(default=120.0, gt=0, le=86400)
    memory_mb: int = Field(default=4096, ge=64, le=1_048_576)
    batch: int = Field(default=8, ge=1, le=1024)
    processes: int | None = Field(default=None, ge=1, le=256)
    url: str | None = None
    unsandboxed: bool = False

    @field_validator("url")
    @classmethod
    def _is_service(cls, text: str | None) -> str | None:
        return None if text is None else checked_address(text)


SHORT_FORMS = tuple(option.key for option in (MAX_CONNECTIONS, MAX_RETRIES))
"""Settings of `[limits]` that may also be written at the top level."""


TYPED_BY_USER = {"typed": True}
"""The validation context of settings that the user typed, as options or variables. Only these may name a bucket."""


class ProfileSettings(BaseModel):
    """The settings that a file and each of its profiles may have. Paths are relative to the file."""

    model_config = CONFIG
    data: Texts = ()
    releases: Texts = ()
    store: str = STORE.default
    reuse: Texts = ()
    models: Texts = ()
    roles: dict[str, Texts] = Field(default_factory=dict)
    endpoints: dict[str, EndpointConfig] = Field(default_factory=dict)
    prices: dict[str, PriceConfig] = Field(default_factory=dict)
    programs: dict[str, ProgramConfig] = Field(default_factory=dict)
    limits: LimitsConfig = LimitsConfig()
    budget: Texts = ()
    check: CheckConfig = CheckConfig()
    cluster: ClusterConfig = ClusterConfig()

    @field_validator("store", "reuse", "data", "releases")
    @classmethod
    def _is_of_this_machine(cls, places: Any, info: ValidationInfo) -> Any:
        for place in [places] if isinstance(places, str) else places:
            foreign = why_no_folder(place)
            if info.field_name in ("store", "reuse") and address_of(place):
                if info.context != TYPED_BY_USER:
                    text = f"`{place}` is a bucket, and your keys go to none that a file names"
                    option = SETTINGS[info.field_name]
                    raise ValueError(f"{text}: give it with {option} or {option.variable}")
            elif foreign is not None:
                raise ValueError(": ".join(foreign))
        return places

    @model_validator(mode="before")
    @classmethod
    def _at_length(cls, table: Any) -> Any:
        return expand_short_forms(table) if isinstance(table, Mapping) else table


class Config(ProfileSettings):
    """The settings of a project.

    >>> Config.model_validate({"models": "openai/gpt-4o", "limits": {"max_retries": 2}}).limits.max_retries
    2
    """

    profile: str | None = None
    profiles: dict[str, ProfileSettings] = Field(default_factory=dict)


def expand_short_forms(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table of settings with short forms moved to `[limits]`.

    >>> expand_short_forms({"max_connections": 4, "limits": {"timeout_s": 9}})
    {'limits': {'timeout_s': 9, 'max_connections': 4}}
    """
    short = {name: table[name] for name in SHORT_FORMS if name in table}
    limits = table.get("limits", {})
    if not short or not isinstance(limits, Mapping):
        return dict(table)
    twice = sorted(short.keys() & limits.keys())
    if twice:
        raise ValueError(f"`{twice[0]}` is at the top and in [limits]: remove one")
    rest = {name: value for name, value in table.items() if name not in SHORT_FORMS}
    return {**rest, "limits": {**limits, **short}}


def find_file(folder: Path) -> Path | None:
    """Return the `tripos.toml` of a folder or of its nearest parent that has one."""
    for path in (folder.absolute(), *folder.absolute().parents):
        if (path / SETTINGS_FILE).is_file():
            return path / SETTINGS_FILE
    return None


# Programs
def with_programs(config: Config, allowed: Iterable[str], unsandboxed: Iterable[str] = ()) -> Config:
    """Return the settings with programs that the user allows, each as `NAME` or `NAME=URL`, and with those that may
    execute code of models without a sandbox. Raises `TriposError` R0202 if a text is malformed.

    >>> found = with_programs(Config(), ["run_tests.py", "unit-tests 1.4=http://127.0.0.1:8000"]).programs
    >>> list(found), found["unit-tests 1.4"].url
    (['run_tests.py', 'unit-tests 1.4'], 'http://127.0.0.1:8000')
    """
    programs = dict(config.programs)
    for text in allowed:
        name, equals, url = (part.strip() for part in text.partition("="))
        try:
            given = {"url": url} if equals else {}
            programs[name] = ProgramConfig.model_validate({**programs.get(name, ProgramConfig()).model_dump(), **given})
        except ValidationError as error:
            message = f"`{ALLOW_PROGRAM} {text}` names no address of a service"
            raise TriposError("R0202", message, "write NAME, or NAME=http://127.0.0.1:8000") from error
    for name in unsandboxed:
        programs[name] = programs.get(name, ProgramConfig()).model_copy(update={"unsandboxed": True})
    return config.model_copy(update={"programs": programs})


def programs_of(config: Config) -> AllowedPrograms:
    """Return the allowed programs in the form of the runtime."""
    return AllowedPrograms({name: ProgramLimits(**program.model_dump()) for name, program in config.programs.items()})


UNDENIABLE = ("W0824", "W0875", "W1208")
"""Warnings of commands that check no spec. They cannot be denied."""


# Warnings that count as errors
def chosen_denials(options: Namespace, config: Config) -> dict[str, str]:
    """Return the denied codes, or `warnings`, each with the setting or option that denies it. Raises `TriposError` for
    an unknown code."""
    return denied_codes(listed_names(DENY.of(options)), config, DENY.flag)


def denied_codes(given: Sequence[str], config: Config, by: str = "deny") -> dict[str, str]:
    """Return the denied codes, or `warnings`, each with what denies it. Raises `TriposError` for an unknown code."""
    by_file = dict.fromkeys(DENY.setting_in(config), f"`deny` in {SETTINGS_FILE}")
    return {_known(code, source): source for code, source in (by_file | dict.fromkeys(given, by)).items()}


def _known(code: str, by: str) -> str:
    """Return the code of a warning in the catalogue's spelling: one of the compiler, or of the models of a run."""
    known = {ALL_WARNINGS, *(each for each in CODES if each.startswith("W") and each not in UNDENIABLE)}
    found = next((each for each in known if each.casefold() == code.casefold()), None)
    if found is None:
        hint = suggest(code, known, f"give codes such as W0309, or `{ALL_WARNINGS}` for all")
        raise TriposError("R0202", f"{by}: there is no code `{code}` of a warning", hint)
    return found
