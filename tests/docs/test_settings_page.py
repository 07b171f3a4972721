"""The page on settings has every setting with its values, default, option and variable, as the models declare them.

`TRIPOS_UPDATE_GOLDEN=1` writes the generated part anew.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from typing import Any

from tests.docs.test_docs import DOCS, blocks, prose
from tripos.cli.parser import build_parser
from tripos.settings.config import Config
from tripos.settings.environment import OTHERS, VARIABLES

PAGE = "reference/settings.md"
BEGIN, END = "<!-- settings -->\n", "<!-- end of settings -->\n"
SCHEMA = Config.model_json_schema()
VARIABLE_OF = {path: variable for variable, path in VARIABLES.items()}
KINDS = {"integer": "integer", "number": "number", "boolean": "true or false", "string": "text"}
UNITS = {"_s": " s", "_mb": " MB"}
"""The units of numbers, by the end of a setting's name."""


def settings(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the path and the schema of every setting. `NAME` stands for a name of the user's choice."""
    for name, inner in schema["properties"].items():
        found = resolved(inner)
        named = found.get("additionalProperties")
        if name == "profiles":
            continue
        if "properties" in found:
            yield from settings(found, (*path, name))
        elif isinstance(named, dict) and "properties" in resolved(named):
            yield from settings(resolved(named), (*path, name, "NAME"))
        else:
            yield (*path, name, *(["NAME"] if named else [])), {**inner, **(resolved(named) if named else {})}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its reference followed."""
    place = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = SCHEMA["$defs"][place] if place else schema
    return found


def values(schema: dict[str, Any]) -> str:
    """Return the values that a setting takes: the kind, and the range of a number."""
    chosen = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    found = chosen[0]
    if found.get("type") == "array":
        items = found["items"]
        words = items.get("enum")
        return f"list of {', '.join(f'`{word}`' for word in words)}" if words else "text, or list of texts"
    low, high = found.get("minimum"), found.get("maximum")
    above = found.get("exclusiveMinimum")
    kind = KINDS[found["type"]]
    if above is not None:
        return f"{kind} above {above:g}" + (f", at most {high:,.10g}" if high is not None else "")
    if low is not None:
        return f"{kind}, {low:g} to {high:,.10g}" if high is not None else f"{kind}, at least {low:g}"
    return kind


def default(path: tuple[str, ...], schema: dict[str, Any]) -> str:
    if "default" not in schema or schema["default"] in (None, [], ()):
        return ""
    value = schema["default"]
    unit = next((unit for end, unit in UNITS.items() if path[-1].endswith(end)), "")
    shown = str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
    return f"`{shown}`{unit}"


def options() -> set[str]:
    """Return the options of `tripos run`."""
    [verbs] = [action for action in build_parser("run")._actions if action.dest == "verb"]
    found: set[str] = set(dict(verbs.choices or {})["run"]._option_string_actions)  # type: ignore[call-overload]
    return found


def part() -> str:
    """Return the table of the settings."""
    known = options()
    rows = []
    for path, schema in settings(SCHEMA):
        name = path[-1].removesuffix("_s").replace("_", "-")
        names = [f"--{name}", f"--{name.removesuffix('s')}"] if path[0] in ("limits", "check") or len(path) == 1 else []
        option = next((each for each in names if each in known), "--role" if path[0] == "roles" else "")
        variable = "TRIPOS_ROLE_NAME" if path[0] == "roles" else VARIABLE_OF.get(path, "")
        if path == ("profile",):
            variable = "TRIPOS_PROFILE"
        cells = (f"`{'.'.join(path)}`", values(schema), default(path, schema), option and f"`{option}`")
        rows.append(f"| {' | '.join((*cells, variable and f'`{variable}`'))} |\n")
    return f"\n| setting | takes | default | option | variable |\n| --- | --- | --- | --- | --- |\n{''.join(rows)}\n"


def test_every_setting_is_listed_as_it_is_declared() -> None:
    head, _, rest = (DOCS / PAGE).read_text("utf-8").partition(BEGIN)
    shown, _, tail = rest.partition(END)
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        shown = part()
        (DOCS / PAGE).write_text(f"{head}{BEGIN}{shown}{END}{tail}", "utf-8")
    assert shown == part()


def test_every_setting_is_explained_and_in_an_example() -> None:
    text = prose(PAGE).partition(END)[2]
    assert [name for path, _ in settings(SCHEMA) for name in path if name != "NAME" and f"`{name}`" not in text] == []
    shown = [tomllib.loads(block.text) for block in blocks(PAGE) if block.language == "toml"]
    assert not set(Config.model_fields) - {name for table in shown for name in table}


def test_every_variable_is_explained() -> None:
    text = prose(PAGE)
    assert not [name for name in (*VARIABLES, *OTHERS) if f"`{name}`" not in text]
