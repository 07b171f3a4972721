"""Every declared option: the same values wherever it may be written, and one place for each of its names."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from tests.conftest import Command
from tests.sources import LEGS, modules, name_of, nodes_of
from tripos.api import spec
from tripos.cli.parser import build_parser
from tripos.settings.config import Config
from tripos.settings.load import load_config, with_options, with_values
from tripos.settings.option import Option, Parameters
from tripos.settings.options import OPTIONS, PARAMETERS, SETTINGS, VARIABLES, RunParameters, all_options
from tripos_compiler.errors import TriposError

REFUSED = "refused"


def commands() -> Iterator[tuple[str, type[Parameters]]]:
    """Yield the words of every command, or action of one, with its options."""
    for command, parameters in PARAMETERS.items():
        if isinstance(parameters, dict):
            yield from ((f"{command} {name}", action.parameters) for name, action in parameters.items())
        else:
            yield command, parameters


def needed_by(parameters: type[Parameters], option: Option[Any]) -> list[str]:
    """Return words of a command line that has what a command requires besides an option, and what the option needs."""
    words: list[str] = []
    for other in parameters.options:
        if other is not option and (other.required or (other.positional and other.nargs not in ("?", "*"))):
            value = next(iter(other.kind.choices), "x")
            words += [value] if other.positional else [other.flag, value]
    for group in parameters.alternatives:
        if group.required and option not in group.options:
            words += [group.options[0].flag, "x"]
    by_name = {other.name: other for other in parameters.options}
    if option.needs:
        other = by_name[option.needs[0]]
        words += [other.flag] if other.is_flag else [other.flag, next(iter(other.kind.choices), "1")]
    return words


def values_of(option: Option[Any]) -> list[Any]:
    """Return values inside and outside of what an option takes."""
    kind, draw = option.kind, random.Random(option.name)
    if kind.python in (int, float):
        ends = [end for end in (kind.least, kind.most) if end is not None]
        found = [int(end) + step for end in ends for step in (-1, 0, 1)] + [draw.randint(-9, 10**6) for _ in range(8)]
        return found + ([end + step for end in ends for step in (-0.001, 0.001)] if kind.python is float else [])
    if option.is_flag:
        return [True]
    return [*kind.choices, "never", "a b", "a", "-", "--partition=x"]


def of_command_line(option: Option[Any], value: Any) -> Any:
    """Return the value of an option on the command line, which for a setting is the effective one."""
    words, parameters = next((words, each) for words, each in commands() if option in each.options)
    given = [option.flag] if option.is_flag else [f"{option.flag}={value}"]
    parsed = build_parser(words.split()[0]).parse_args([*words.split(), *needed_by(parameters, option), *given])
    if option.setting and not option.combined:
        return option.setting_in(with_options(Config(), parsed))
    return option.of(parsed)


def of_keyword(option: Option[Any], value: Any) -> Any:
    known = spec.RunOptions.__annotations__
    given: dict[str, Any] = {option.keyword: value}
    given |= {other.keyword: True for other in RunParameters.options if other.name in option.needs}
    request, config = spec.request_of_keywords(Config(), (), {}, None, given, known)
    if option.setting:
        return option.setting_in(config)
    return getattr(request, option.name, value)


def of_file(option: Option[Any], value: Any, folder: Path) -> Any:
    table, _, key = option.setting.rpartition(".")
    shown = f'"{value}"' if isinstance(value, str) else value
    (folder / "tripos.toml").write_text(f"{f'[{table}]' if table else ''}\n{key} = {shown}\n", "utf-8")
    return option.setting_in(load_config(folder, environ={}))


def of_variable(option: Option[Any], value: Any, folder: Path) -> Any:
    return option.setting_in(load_config(folder, environ={option.variable: str(value)}))


def layers_of(option: Option[Any], folder: Path) -> dict[str, Callable[[Any], Any]]:
    """Return every way to give an option a value."""
    layers: dict[str, Callable[[Any], Any]] = {}
    if any(option in each.options for _, each in commands()):
        layers["command line"] = lambda value: of_command_line(option, value)
    if option.variable and option.setting:
        layers["variable"] = lambda value: of_variable(option, value, folder)
    if option.setting:
        layers["file"] = lambda value: of_file(option, value, folder)
    if option.keyword in spec.RunOptions.__annotations__:
        layers["keyword"] = lambda value: of_keyword(option, value)
    return layers


PLAIN = [
    option
    for option in dict.fromkeys(all_options())
    if len(layers_of(option, Path())) > 1 and not option.combined and not option.repeated and not option.kind.place
]
"""Options that can be given in several ways, and whose value is the same text or number in all of them."""


@pytest.mark.parametrize("option", PLAIN, ids=lambda option: option.name)
def test_all_layers_accept_and_refuse_the_same_values(
    option: Option[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layers = layers_of(option, tmp_path)
    if option.kind.noun == "time":  # `4h` on the command line, seconds in the file
        layers["command line"] = lambda value: of_command_line(option, f"{value}s")
    for value in values_of(option):
        outcomes = {}
        for name, read in layers.items():
            (tmp_path / "tripos.toml").unlink(missing_ok=True)
            try:
                outcomes[name] = read(value)
            except (TriposError, SystemExit):
                outcomes[name] = REFUSED
        assert len(set(outcomes.values())) == 1, (value, outcomes)


def test_the_options_that_are_compared_are_those_with_a_range() -> None:
    assert {"max_connections", "timeout", "patience", "limit", "until", "margin", "workers", "shards", "image"} <= {
        option.name for option in PLAIN
    }


@pytest.mark.parametrize("option", [each for each in SETTINGS.values() if each.repeated], ids=lambda each: each.setting)
def test_a_list_may_be_one_text_or_several(option: Option[Any], tmp_path: Path) -> None:
    """In the file as a text or a list, in the variable with separators."""
    one = "--x" if option.kind.pattern else "W0309"
    layers = [f'{option.key} = "{one}"', f'{option.key} = ["{one}"]']
    table = option.setting.rpartition(".")[0]
    if option.setting == "roles":  # a table by name of a role
        return
    found = []
    for line in layers:
        (tmp_path / "tripos.toml").write_text(f"{f'[{table}]' if table else ''}\n{line}\n", "utf-8")
        found.append(option.setting_in(load_config(tmp_path, environ={})))
    (tmp_path / "tripos.toml").unlink()
    if option.variable and not option.kind.place:
        found.append(option.setting_in(load_config(tmp_path, environ={option.variable: one})))
        text = f"{one}{option.separator} {one}2"
        assert option.setting_in(load_config(tmp_path, environ={option.variable: text})) == (one, f"{one}2")
    assert len({tuple(map(str, each)) for each in found}) == 1


@pytest.mark.parametrize(
    ("words", "parameters", "option"),
    [(words, each, option) for words, each in commands() for option in each.options if option.needs],
    ids=lambda part: part if isinstance(part, str) else getattr(part, "name", ""),
)
def test_an_option_is_refused_without_what_it_needs(
    words: str, parameters: type[Parameters], option: Option[Any], tripos: Command
) -> None:
    value = (
        []
        if option.is_flag
        else [f"{option.kind.most or 60:g}" if option.kind.noun else next(iter(option.kind.choices), "x")]
    )
    required = needed_by(parameters, option.but(needs=()))
    done = tripos(*words.split(), *required, option.flag, *value)
    assert done.code == 2
    assert f"`{option}` needs `--{option.needs[0].replace('_', '-')}" in done.err


def test_a_help_that_says_with_has_the_rule() -> None:
    """A help that begins with `with --x:` says what an option needs. Where only some values of `--x` do, the command
    checks that itself."""
    for words, parameters in commands():
        for option in parameters.options:
            if (said := re.match(r"with (--[\w-]+)(?: or (--[\w-]+))?:", option.help)) is None:
                continue
            needed = tuple(name for name in said.groups() if name)
            by_name = {each.name: each.flag for each in parameters.options}
            assert not option.needs or tuple(by_name[name] for name in option.needs) == needed, (words, option)
            assert option.needs or option.flag in ("--seed", "--margin"), (words, option)


def test_a_help_says_the_default_that_is_declared() -> None:
    for option in all_options():
        said = re.search(r"\(default: ([\d.e-]+)\)$", option.help)
        if said is None:
            continue
        if option.default is None:  # the default is that of another place, such as a recipe
            assert not option.setting
            continue
        assert float(said[1]) == float(option.default) or option.help.endswith("(default: 1h)"), option


def test_every_setting_and_variable_is_declared_once() -> None:
    assert len({each.setting for each in OPTIONS if each.setting}) == len([each for each in OPTIONS if each.setting])
    assert len({each.variable for each in OPTIONS if each.variable}) == len([each for each in OPTIONS if each.variable])
    config = Config()
    for option in SETTINGS.values():
        assert option.setting_in(config) == (() if option.repeated else option.default) or option.setting == "roles"


def test_every_keyword_of_a_run_is_that_of_an_option_with_its_type() -> None:
    by_keyword = {option.keyword: option for option in all_options() if option.keyword}
    for keyword, hint in get_type_hints(spec.RunOptions).items():
        option = by_keyword[keyword]
        types = set(get_args(hint)) or {hint}
        if option.is_flag:
            assert bool in types
        elif option.kind.python in (int, float):
            assert option.kind.python in types, keyword


def test_values_of_several_settings_are_checked_together() -> None:
    config = with_values(Config(), {SETTINGS["limits.max_connections"]: 3, SETTINGS["limits.timeout_s"]: 9.0})
    assert (config.limits.model_dump()["max_connections"], config.limits.model_dump()["timeout_s"]) == (3, 9.0)


FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?![\w-])")
OF_OTHER_PROGRAMS = {
    ("tripos/cli/diff.py", "--format"),
    ("tripos/cli/diff.py", "--output"),
    ("tripos/runs/clusters.py", "--output"),
}
"""Options of git and Slurm that are called like ours."""


def names_in(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the names of options in the texts of a module, without docstrings, each with the text."""
    docstrings = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            found = [*FLAG.findall(node.value), *re.findall(r"\bTRIPOS_[A-Z_]+\b", node.value)]
            yield from ((name, node.value) for name in found)
            if node.value in SETTINGS and "." in node.value:
                yield node.value, node.value


def test_no_name_of_an_option_is_written_outside_of_its_declaration() -> None:
    """A message takes the name from the declaration: `f"give {LIMIT} N"`. So an option that is renamed is renamed
    everywhere."""
    known = {flag for option in all_options() for flag in option.flags} | {*VARIABLES, *SETTINGS}
    found = []
    for path in modules("tripos"):
        place = name_of(path)
        if place != "tripos/settings/options.py":
            found += [
                f"{place}: {name}: {text[:80]}"
                for name, text in names_in(path)
                if name in known and (place, name) not in OF_OTHER_PROGRAMS
            ]
    assert found == []


@pytest.mark.parametrize("leg", LEGS[:-1])
def test_a_lower_leg_names_only_options_that_there_are(leg: str) -> None:
    """The other legs cannot import the declarations. Their hints may name an option, which must be a declared one."""
    known = {flag for option in all_options() for flag in option.flags} | {"--help"}
    hinted = re.compile(r"(?:`|with |: |lower |out |use |or |and )(--[a-z][a-z-]*)")
    for path in modules(leg):
        for _, text in names_in(path):
            assert not set(hinted.findall(text)) - known, f"{path}: {text}"
