"""The effective settings of a command: defaults, `tripos.toml`, its profile, the environment, then options.

A later layer replaces settings of an earlier one. In an untrusted folder only the environment and the options count.
"""

from __future__ import annotations

import os
import tomllib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tripos.settings.config import SHORT_FORMS, TYPED_BY_USER, Config, ProfileSettings, expand_short_forms, find_file
from tripos.settings.env_file import load_env
from tripos.settings.environment import find_line, read_toml, settings_in, unknown_variables, variable_of
from tripos.settings.option import Option
from tripos.settings.options import ALLOW_PROGRAM, ALLOW_UNSANDBOXED, PROFILE, SETTINGS
from tripos.settings.secrets import HIDDEN, is_key_like, key_values, keys_in, without_keys
from tripos.settings.trust import trust_of
from tripos_compiler.constructs.table import place_of_setting
from tripos_compiler.diagnostics.diagnostic import nearest, suggest
from tripos_compiler.diagnostics.text_format import not_utf8
from tripos_compiler.errors import TriposError
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.datasets.trust import TRUSTED, Trust

MERGED = ("roles", "endpoints", "prices", "programs", "limits", "check", "cluster")
"""Tables whose entries are replaced one by one. Any other setting is replaced as a whole."""


@dataclass(frozen=True)
class ChosenSettings:
    """The effective settings, the file and the profile that they come from, if any, and warnings about them."""

    config: Config
    path: Path | None = None
    profile: str | None = None
    warnings: tuple[tuple[str, str], ...] = ()
    """Pairs of a problem and its hint."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values that must never be shown."""


def load_config(
    folder: Path,
    *,
    profile: str | None = None,
    environ: Mapping[str, str] | None = None,
    trust: Trust = TRUSTED,
) -> Config:
    """Return the effective settings of a folder: of the nearest `tripos.toml` in it or above, of the profile, and of
    the environment (by default `os.environ`). Raises `TriposError`.

    >>> load_config(Path("/"), environ={"TRIPOS_STORE": "/tmp/kept", "TRIPOS_MODEL": "mock/careful"}).store
    '/tmp/kept'
    """
    environ = os.environ if environ is None else environ
    return load_settings(folder, profile=profile, environ=environ, trust=trust).config


def chosen_settings(options: Namespace) -> ChosenSettings:
    """Return the settings of a command, including `.env` and its options. Raises `TriposError`."""
    chosen = project_settings(Path.cwd(), PROFILE.of(options), trust_of(options))
    return replace(chosen, config=with_options(chosen.config, options))


def project_settings(folder: Path, profile: str | None = None, trust: Trust = TRUSTED) -> ChosenSettings:
    """Return the settings of a folder, including `.env`. Raises `TriposError`."""
    return load_settings(folder, profile=profile, environ=load_env(folder, trust), trust=trust)


def with_options(config: Config, options: Namespace) -> Config:
    """Return the settings, in which the given options of a command replace those that they stand for."""
    replaced = [option for option in SETTINGS.values() if not option.combined and not option.file_only]
    config = with_values(config, {option: option.of(options) for option in replaced if option.is_in(options)})
    return allowing_programs(config, ALLOW_PROGRAM.of(options), ALLOW_UNSANDBOXED.of(options))


def with_values(config: Config, values: Mapping[Option[Any], Any]) -> Config:
    """Return the settings with other values of some, which were checked when they were read."""
    update: dict[str, Any] = {}
    for option, value in values.items():
        table, _, key = option.setting.rpartition(".")
        number = option.kind.python in (int, float)
        inner = {key: tuple(value) if option.repeated else option.kind.python(value) if number else value}
        if table:
            update[table] = update.get(table, getattr(config, table)).model_copy(update=inner)
        else:
            update |= inner
    return config.model_copy(update=update)


def allowing_programs(config: Config, allowed: Sequence[str], unsandboxed: Sequence[str]) -> Config:
    """Return the settings with further programs, as `with_programs` does."""
    if not allowed and not unsandboxed:
        return config
    from tripos.settings.config import with_programs  # imported late: few commands start programs

    return with_programs(config, allowed, unsandboxed)


def load_settings(
    folder: Path, *, profile: str | None, environ: Mapping[str, str], trust: Trust = TRUSTED
) -> ChosenSettings:
    """Return the effective settings of a folder. In an untrusted folder, use the environment alone.

    Raises `TriposError` R0203 if a file cannot be read, or a setting is unknown or invalid, and R0207 if the file
    contains an API key.
    """
    path = None if trust.untrusted else find_file(folder)
    text, table = _read(path) if path is not None else ("", {})
    for place in keys_in(table):
        line = find_line(text, place)
        raise TriposError(
            "R0207",
            f"{_at(path, line)}: `{_shown(place)}` holds what looks like a key",
            'set an environment variable or a line in `.env` to it, and name that: api_key_env = "MY_KEY"; '
            "a key that others may have seen is best replaced",
        )
    _validate(Config, table, path, text)
    name = profile or environ.get(PROFILE.variable, "").strip() or table.get(PROFILE.name)
    by = PROFILE.flag if profile else PROFILE.variable if environ.get(PROFILE.variable, "").strip() else PROFILE.name
    layers = [expand_short_forms(table)]
    if name is not None:
        profiles = table.get("profiles", {})
        if name not in profiles:
            raise _unknown_profile(name, by, profiles, path)
        layers.append(expand_short_forms(profiles[name]))
    merged: dict[str, Any] = {}
    if path is not None:
        # The default store lies next to the file, so that it is the same one from every folder below.
        for layer in ({"store": Config().store}, *layers):
            merged = _merge(merged, _resolve_paths(layer, path.parent))
    of_environment = settings_in(environ)
    try:
        config = Config.model_validate(_merge(merged, of_environment), context=TYPED_BY_USER)
    except ValidationError as error:
        raise _of_environment(error, environ) from error
    warnings = tuple((f"no setting is called `{variable}`", hint) for variable, hint in unknown_variables(environ))
    variables = [endpoint.api_key_env for endpoint in config.endpoints.values() if endpoint.api_key_env]
    return ChosenSettings(config, path, name, warnings, key_values(environ, variables))


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        return read_toml(path)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or without_keys(str(error))
        hint = "fix the file; it is TOML in UTF-8"
        if isinstance(error, UnicodeDecodeError):
            reason, hint = not_utf8(error.object, str(path))
        raise TriposError("R0203", f"cannot read {path}: {reason}", hint) from error


def _resolve_paths(table: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Return settings of the file with their paths relative to the folder `base` of the file."""
    resolved = dict(table)
    for name in ("data", "releases", "reuse"):
        if isinstance(resolved.get(name), str):
            resolved[name] = [resolved[name]]
        if name in resolved:
            resolved[name] = [str(base / Path(each).expanduser()) for each in resolved[name]]
    if "store" in resolved:
        resolved["store"] = str(base / Path(resolved["store"]).expanduser())
    return resolved


def _merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of two layers, of which `over` counts before `under`. An endpoint or a price is replaced as a
    whole, so that the key of one layer is never sent to the address of another.

    >>> _merge({"store": "a", "limits": {"timeout_s": 9, "max_retries": 1}}, {"limits": {"max_retries": 2}})
    {'store': 'a', 'limits': {'timeout_s': 9, 'max_retries': 2}}
    """
    merged = dict(under)
    for name, value in over.items():
        merged[name] = {**merged.get(name, {}), **value} if name in MERGED else value
    return merged


def _validate(model: type[BaseModel], table: Mapping[str, Any], path: Path | None, text: str) -> None:
    """Raise `TriposError` R0203, with the line in the `text` of the file, if a table does not fit a model."""
    try:
        model.model_validate(table)
    except ValidationError as error:
        # A misspelt name comes before the value that is missing because of it.
        first, *more = sorted(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
        place = tuple(str(part) for part in first["loc"])
        others = f" (and {len(more)} more)" if more else ""
        line = find_line(text, place)
        if place[-1:] and place[-1] in SHORT_FORMS:
            line = find_line(text, (*place[:-2], place[-1])) or line
        if first["type"] == "extra_forbidden":
            known = known_settings(place[:-1])
            hint = suggest(place[-1], known, f"settings here are {', '.join(known)}")
            hint = place_of_setting(place[-1]) or hint
            message = f"there is no setting `{_shown(place)}`{others}"
        else:
            message, hint = (
                f"`{_shown(place)}` {value_fault(first)}{others}",
                "docs/reference/settings.md shows every setting",
            )
            if not place:
                message = value_fault(first)
        raise TriposError("R0203", f"{_at(path, line)}: {message}", hint) from error


def known_settings(place: tuple[str, ...]) -> list[str]:
    """Return the names of the settings that a table may have.

    >>> known_settings(("endpoints", "openai"))[:2], known_settings(("profiles", "ci"))[:2]
    (['base_url', 'api_key_env'], ['data', 'releases'])
    """
    if place[:1] == ("profiles",) and len(place) > 1:
        place, model = place[2:], ProfileSettings
    else:
        model = Config
    if not place:
        return [*model.model_fields, *SHORT_FORMS]
    annotation: Any = model.model_fields[place[0]].annotation if place[0] in model.model_fields else None
    inner = next((each for each in getattr(annotation, "__args__", ()) if hasattr(each, "model_fields")), annotation)
    return list(getattr(inner, "model_fields", ()))


def value_fault(error: Any) -> str:
    """Return what is wrong with a value, without repeating the value."""
    bounds = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "greater_than_equal":
            return f"must be at least {bounds['ge']:.16g}"
        case "greater_than":
            return f"must be more than {bounds['gt']:.16g}"
        case "less_than_equal":
            return f"must be at most {bounds['le']:.16g}"
        case "int_type" | "int_parsing" | "int_from_float":
            return "must be a whole number"
        case "float_type" | "float_parsing" | "finite_number":
            return "must be a number"
        case "string_type":
            return "must be a text in quotes"
        case "tuple_type" | "list_type":
            return 'must be a list of texts, such as ["a", "b"]'
        case "value_error":
            return without_keys(str(bounds.get("error", "does not fit")))
        case "dict_type" | "model_type" | "model_attributes_type":
            return "must be a table"
    return f"does not fit: {without_keys(str(error['msg']).lower())}"


def _of_environment(error: ValidationError, environ: Mapping[str, str]) -> TriposError:
    """Return the error for an invalid setting of the environment, since those of the file have been validated."""
    first = error.errors()[0]
    name = variable_of(tuple(str(part) for part in first["loc"]), environ) or "the environment"
    return TriposError("R0203", f"`{name}` {value_fault(first)}", f"set {name} to another value, or unset it")


def _unknown_profile(wanted: str, by: str, profiles: Mapping[str, Any], path: Path | None) -> TriposError:
    """Return the error for a profile that the file does not have; `by` is the option or setting that names it."""
    close = nearest(wanted, profiles)
    if close:
        hint = f"did you mean `{close}`?"
    elif profiles:
        hint = f"its profiles are {', '.join(sorted(profiles))}"
    else:
        hint = f"write a table [profiles.{wanted if wanted.isidentifier() else 'NAME'}] into tripos.toml"
    where = f"{path} has no profile" if path is not None else "without a tripos.toml there is no profile"
    return TriposError("R0203", f"{by}: {where} `{HIDDEN if is_key_like(wanted) else wanted}`", hint)


def _at(path: Path | None, line: int | None) -> str:
    return f"{path}:{line}" if line is not None else str(path)


def _shown(place: tuple[str, ...]) -> str:
    """Return the path of a setting in TOML notation.

    >>> _shown(("endpoints", "openai/gpt-4o", "base_url"))
    'endpoints."openai/gpt-4o".base_url'
    """
    return ".".join(part if part.replace("-", "_").isidentifier() or part.isdigit() else f'"{part}"' for part in place)
