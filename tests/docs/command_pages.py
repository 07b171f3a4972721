"""Writes the reference of the commands, docs/reference/commands, from the parser of the command line.

    python -m tests.docs.command_pages --write

Each command has a page with its arguments and options. An option that `tripos.toml` or the environment can set too
names the setting and the variable.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tripos.cli.parser import GROUPS, Parser, build_parser
from tripos.settings.option import Option

FOLDER = Path(__file__).parents[2] / "docs/reference/commands"
BEGIN, END = "<!-- commands -->\n", "<!-- end of commands -->\n"
GUIDES = {
    "init": "start-from-a-template",
    "new": "start-from-a-template",
    "check": "check-and-format",
    "fmt": "format-a-spec",
    "describe": "prepare-data",
    "explain": "check-and-format",
    "docs": "install",
    "plan": "control-cost",
    "run": "run-a-benchmark",
    "teach": "run-a-benchmark",
    "report": "read-the-report",
    "view": "read-the-report",
    "compare": "compare-models",
    "leaderboard": "rank-models",
    "history": "follow-a-measure",
    "judges": "calibrate-judges",
    "plot": "figures-for-a-paper",
    "sql": "query-with-sql",
    "list": "query-with-sql",
    "show": "read-the-report",
    "why": "recover-from-failures",
    "annotate": "human-grading",
    "import": "import-scores-and-replies",
    "approve": "syllabus-trees",
    "export": "export-results",
    "emit": "export-specs",
    "train": "train-models",
    "release": "publish-a-release",
    "fetch": "use-a-release",
    "verify": "use-a-release",
    "diff": "use-a-release",
    "promote": "rank-models",
    "attest": "publish-a-release",
    "lock": "use-a-release",
    "doctor": "recover-from-failures",
    "store": "share-a-store",
    "completion": "start-from-a-template",
    "lsp": "set-up-your-editor",
    "mcp": "use-a-coding-agent",
}
"""The how-to page of each command."""


def command_pages() -> dict[str, str]:
    """Return the page of each command, by the name of the command."""
    parsers = _subparsers(build_parser())
    return {
        name: _page(name, command.help, parsers[name])
        for commands in GROUPS.values()
        for name, command in commands.items()
    }


def commands_table() -> str:
    """Return the tables of the commands, one for each group of `tripos --help`."""
    parts = []
    for title, commands in GROUPS.items():
        rows = "".join(f"| [`tripos {name}`]({name}.md) | {command.help} |\n" for name, command in commands.items())
        parts.append(f"## {title[0].upper()}{title[1:]}\n\n| command | does |\n| --- | --- |\n{rows}")
    return "\n".join(parts)


def with_table(text: str) -> str:
    """Return the index of the commands with its tables as they are today."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{commands_table()}\n{END}{rest.partition(END)[2]}"


def _page(name: str, help_text: str, parser: argparse.ArgumentParser) -> str:
    guide = Path(f"../../how-to/{GUIDES[name]}.md")
    title = (FOLDER / guide).read_text("utf-8").partition("# ")[2].partition("\n")[0]
    parts = [f"# tripos {name}\n", f"{_sentence(help_text)}\n", f"Guide: [{title}]({guide}).\n"]
    if subparsers := _subparsers(parser):
        [action] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for action_name, subparser in subparsers.items():
            parts += [f"## tripos {name} {action_name}\n", _sentence(helps[action_name]) + "\n", *_usage(subparser)]
    else:
        parts += _usage(parser)
    if isinstance(parser, Parser) and parser.listed[0]:
        heading, rows = parser.listed_words()
        table = "".join(f"| `{word}` | {_cell(text)} |\n" for word, text in rows.items())
        parts.append(f"## {_sentence(heading).rstrip('.')}\n\n| name | is |\n| --- | --- |\n{table}")
    return "\n".join(parts)


def _usage(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the usage of a command, a table of its arguments, and one of its options."""
    options = [action for action in parser._actions if action.option_strings and action.dest != "help"]
    options = [action for action in options if action.help != argparse.SUPPRESS]
    arguments = [action for action in parser._actions if not action.option_strings]
    required = [f"{action.option_strings[0]} {_value(parser, action)}" for action in options if action.required]
    words = [parser.prog, *required, *(["[OPTION…]"] if len(options) > len(required) else [])]
    yield f"```text\n{' '.join((*words, *(_value(parser, action) for action in arguments)))}\n```\n"
    if arguments:
        rows = (f"| `{_cell(_value(parser, action))}` | {_help(parser, action)} |\n" for action in arguments)
        yield f"| argument | is |\n| --- | --- |\n{''.join(rows)}"
    if options:
        rows = (f"| {_names(parser, action)} | {_help(parser, action)} | {_settings(action)} |\n" for action in options)
        yield f"| option | does | also set by |\n| --- | --- | --- |\n{''.join(rows)}"


def _value(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the value of an option or argument as the usage shows it; empty for a flag."""
    if action.nargs == 0:
        return ""
    value = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())
    match action.nargs:
        case "?":
            return f"[{value}]"
        case "*":
            return f"[{value}…]"
        case "+":
            return f"{value}…"
        case _:
            return value


def _names(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    *short, last = action.option_strings
    shown = f"{last} {_value(parser, action)}".strip()
    return ", ".join(f"`{_cell(name)}`" for name in (*short, shown))


def _settings(action: argparse.Action) -> str:
    """Return the setting and the variable that give an option its value if it is left out."""
    option: Option[Any] = action.option  # type: ignore[attr-defined]
    return ", ".join(f"`{name}`" for name in (option.setting, option.variable) if name)


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return _cell(parser._get_formatter()._expand_help(action)) if action.help else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next((dict(a.choices) for a in parser._actions if isinstance(a, argparse._SubParsersAction)), {})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", required=True, help="write the pages")
    parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for name, page in command_pages().items():
        (FOLDER / f"{name}.md").write_text(page, "utf-8")
    index = FOLDER / "index.md"
    index.write_text(with_table(index.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
