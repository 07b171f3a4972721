"""The parser of the command line, the table of its commands, and the printed form of a failure."""

from __future__ import annotations

import argparse
import importlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tripos.settings.option import Option, Parameters, Refusal
from tripos.settings.options import MODEL, ROLE
from tripos.settings.secrets import key_values, without_keys
from tripos.terminal import show_diagnostic, show_text
from tripos.version import __version__
from tripos_compiler.diagnostics.i18n import localized, reader_language
from tripos_compiler.diagnostics.text_format import display_width, wrap
from tripos_compiler.errors import TriposError

EXAMPLES = f"""\
examples:
  tripos init quiz
  tripos run specs/edubench {MODEL} openai/gpt-4o-mini {ROLE} judge=mock/fair
  tripos sql "from edubench.scores limit 5"

`tripos COMMAND --help` shows the options of a command.
"""


class Command(NamedTuple):
    """A command: the module and its function to run. `listed` is a dictionary whose keys are listed below the options,
    as `module:NAME`, with the heading of the list."""

    help: str
    module: str
    main: str = "main"
    listed: tuple[str, str] = ("", "")


GROUPS = {
    "write a benchmark": {
        "init": Command(
            "begin a benchmark: a folder with a spec that runs at once",
            "init",
            listed=("templates", "tripos.cli.project_files:TEMPLATES"),
        ),
        "new": Command("add a scenario or a metric to a spec", "init", "new_main"),
        "check": Command("find every error that can be found without a model", "check"),
        "fmt": Command("format spec files", "fmt"),
        "describe": Command("print statistics of the data sets of a benchmark", "describe"),
        "explain": Command("explain a diagnostic code, or a word of the language", "help"),
        "docs": Command("open the documentation in the browser", "help", "docs_main"),
    },
    "run it": {
        "plan": Command("show the contexts, items and model calls of a benchmark", "plan"),
        "run": Command("run a benchmark, or several one after another", "benchmarks"),
        "teach": Command("run a benchmark with a person in place of the model", "run", "teach_main"),
    },
    "look at the results": {
        "report": Command("print the measures of a run, with intervals", "report"),
        "view": Command("show the results in the browser, or write them as a page", "views"),
        "compare": Command("compare two runs, or two models of one run, item by item", "compare"),
        "leaderboard": Command("rank the models of the store, with tied ranks", "leaderboard"),
        "history": Command("show a measure over runs, broken where its meaning changed", "leaderboard", "history_main"),
        "judges": Command("hold the judges of a run against people, and against themselves", "views", "judges_main"),
        "plot": Command("draw results as SVG, PNG, PDF or Vega-Lite", "views", "plot_main"),
        "sql": Command("query the results in SQL; open a shell without a query", "sql"),
        "list": Command("list the runs in the store", "report", "list_main"),
        "show": Command("print a conversation or reply, or list the last ones", "trace", "show_main"),
        "why": Command("show everything that went into one result", "trace"),
    },
    "grade, import, export, train": {
        "annotate": Command("assign replies to a person, and import the grades", "annotate"),
        "import": Command("import scores, replies, logs, trees, data sets or tasks", "imports"),
        "approve": Command("mark a drafted tree as reviewed", "imports", "approve_main"),
        "export": Command(
            "export training data, Every Eval Ever, or tables",
            "exports",
            listed=("kinds", "tripos.exporting.exporters:EXPORTERS"),
        ),
        "emit": Command(
            "write a spec in the form of another tool", "exports", "emit_main", ("forms", "tripos.exporting:EMITTERS")
        ),
        "train": Command("train a model on exported data", "train"),
    },
    "share a benchmark": {
        "release": Command("freeze a benchmark in a folder that others can cite and run", "releases"),
        "fetch": Command("fetch a release, or the releases and data that a spec names", "releases", "fetch_main"),
        "verify": Command("verify a release, and name files that were changed", "releases", "verify_main"),
        "diff": Command("show the changes between versions, and their effect on scores", "diff"),
        "promote": Command("say which runs are the published ones, on a named board", "leaderboard", "promote_main"),
        "attest": Command("write a statement about the result of a run, to sign and cite", "releases", "attest_main"),
        "lock": Command("pin the dependencies of a run that are outside of its spec", "releases", "lock_main"),
    },
    "tools": {
        "doctor": Command("check settings, keys, endpoints, prices and the store", "doctor"),
        "store": Command("check, compact and clean the store", "store"),
        "completion": Command(
            "print the script that completes commands in a shell",
            "completion",
            listed=("install", "tripos.cli.completion:SHELLS"),
        ),
        "lsp": Command("start the language server; editors do this by themselves", "help", "lsp_main"),
        "mcp": Command("offer the commands as tools to a coding agent, which starts it", "mcp"),
    },
}
"""Every command, in the groups and the order of `tripos --help`."""
COMMANDS = {name: verb for group in GROUPS.values() for name, verb in group.items()}


HAND_WRITTEN = ("tripos.toml", ".env")
"""Names of files that people write, and no command may write over."""
MISSING_ARGUMENTS = re.compile(r"the following arguments are required: (.*)")
START_HINT = "`tripos --help` lists the commands; `tripos init` begins a benchmark that runs at once"
"""The hint for a user who looks for a way to begin."""
MISSING_VALUE = re.compile(r"argument (\S+): expected one argument")


class Parser(argparse.ArgumentParser):
    """An argument parser that reports mistakes as a `TriposError` with a hint."""

    parameters: type[Parameters] | None = None
    """What is declared of its options, if it has any."""
    listed: tuple[str, str] = ("", "")
    """What its help lists below the options, as in `Command`."""

    def listed_words(self) -> tuple[str, dict[str, str]]:
        """Return the heading of the list, and the help of each word in it. They are imported only now."""
        heading, table = self.listed
        module, _, name = table.partition(":")
        return heading, {word: each.help for word, each in getattr(importlib.import_module(module), name).items()}

    def format_help(self) -> str:
        """Return the help, with the list below the options if there is one."""
        if self.listed[0]:
            heading, words = self.listed_words()
            lines = command_lines([(heading, words.items())], max(map(len, words)))
            self.formatter_class, self.epilog = argparse.RawDescriptionHelpFormatter, "\n".join(lines).lstrip("\n")
        return super().format_help()

    def _get_formatter(self) -> argparse.HelpFormatter:
        if reader_language() == "en":
            return super()._get_formatter()
        return localized_formatter(self.formatter_class)(prog=self.prog)

    def error(self, message: str) -> NoReturn:
        if lacking := MISSING_ARGUMENTS.fullmatch(message):
            message = f"`{self.prog}` needs {lacking[1]}"
        elif empty := MISSING_VALUE.fullmatch(message):
            message = f"`{empty[1]}` needs a value"
        raise TriposError("R0202", message, f"`{self.prog} --help` shows how it is written")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise `TriposError` for an unknown command or action. Values of options were checked when they were read."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            raise _unknown_word(str(action.metavar), value, action.choices)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return the value of an argument. argparse would make a list of the value of `--model=--`."""
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            return self._get_value(action, "--")
        return super()._get_values(action, arg_strings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[argparse.Namespace, list[str]]:  # type: ignore[override]
        """Parse as argparse does, and raise `TriposError` with the nearest option for a word that is not known."""
        found, rest = super().parse_known_args(args, namespace)
        self._check_places(found)
        if rest:
            word = rest[0].partition("=")[0]
            hint = f"`{self.prog} --help` shows how it is written"
            if not word.startswith("-"):
                raise TriposError("R0202", f"`{word}` is one word more than `{self.prog}` takes", hint)
            known = self._option_string_actions
            hint = _request_hint(word, known) or self._without_option(word) or _option_hint(word, known) or hint
            raise TriposError("R0202", f"`{self.prog}` has no option `{word}`", hint)
        if self.parameters is not None:
            self.parameters.check_needs(lambda option: option.is_in(found))
        return found, rest

    def _check_places(self, namespace: argparse.Namespace) -> None:
        """Raise `TriposError` S0106 for an address in place of a local folder or file, since only a release may have an
        address, and R0202 for a spec or settings in place of a file that the command writes."""
        for option in self.parameters.options if self.parameters is not None else ():
            given = getattr(namespace, option.name, None) if option.kind.place else None
            places = [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, str)]
            if not places:
                continue
            from tripos_warehouse.store.paths import address_of, why_no_folder  # not needed for --help

            for place in places:
                if option.kind.place == "written" and _is_hand_written(place):
                    message = f"`{option} {place}` would write over a spec or settings"
                    raise TriposError("R0202", message, f"give another file to `{option}`")
                foreign = why_no_folder(place)
                if foreign is not None and not (option.kind.place == "store" and address_of(place)):
                    raise TriposError("S0106", *foreign)

    def _without_option(self, word: str) -> str | None:
        """Return a hint for a word given as an option that is a positional argument, such as `--run`."""
        places = [str(action.metavar) for action in self._actions if not action.option_strings and action.metavar]
        place = next((place for place in places if place.casefold() == word.lstrip("-").casefold()), None)
        return place and f"write it without: `{self.prog} {place}`"


def _is_hand_written(place: str) -> bool:
    """Return true if a path to write names a spec or settings, and no folder."""
    is_folder = place.endswith(("/", os.sep)) or Path(place).is_dir()
    return not is_folder and (place.endswith(".tripos") or Path(place).name in HAND_WRITTEN)


class WholeParser(Parser):
    """The parser of the whole command line, whose help lists the commands in groups."""

    def format_help(self) -> str:
        width = max(map(len, COMMANDS))
        groups = ((group, [(name, verb.help) for name, verb in verbs.items()]) for group, verbs in GROUPS.items())
        lines = [localized("usage: ") + f"{self.prog} COMMAND ...", "", localized(str(self.description))]
        return "\n".join([*lines, *command_lines(groups, width), "", localized(str(self.epilog))])


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    If `chosen` is a command, only that command is added; for any other text, all commands are added without their
    options. Adding the options of all commands takes a tenth of the time of a short command.
    """
    parser = WholeParser(
        prog="tripos",
        description="Benchmarks for language models: check, plan, run, report and query.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tripos {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", parser_class=Parser)
    for verb in (chosen,) if chosen in COMMANDS else COMMANDS:
        added = verbs.add_parser(verb, help=COMMANDS[verb].help)
        if chosen in (None, verb):
            _add_command(added, verb)
    return parser


def _add_command(parser: Parser, name: str) -> None:
    """Add the options of a command, or its actions with theirs."""
    from tripos.settings.options import PARAMETERS

    parameters = PARAMETERS[name]
    if isinstance(parameters, dict):
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
        for action, (help_text, inner) in parameters.items():
            add_parameters(actions.add_parser(action, help=help_text), inner)
    else:
        add_parameters(parser, parameters)
    parser.listed = COMMANDS[name].listed


def add_parameters(parser: Parser, parameters: type[Parameters]) -> None:
    """Add the options that a class declares to a parser."""
    parser.parameters = parameters
    groups: dict[str, Any] = {}
    for alternative in parameters.alternatives:
        groups |= dict.fromkeys(
            (option.name for option in alternative.options),
            parser.add_mutually_exclusive_group(required=alternative.required),
        )
    for option in parameters.options:
        group = groups.get(option.name, parser)
        keywords: dict[str, Any] = {"help": option.help, "metavar": option.metavar, "default": option.initial}
        if option.is_flag:
            del keywords["metavar"]
            keywords["action"] = "store_true"
        else:
            keywords |= {"type": reader(option), "choices": option.kind.choices or None, "nargs": option.nargs}
            keywords |= {"const": option.const, "action": "append" if option.repeated else "store"}
        if option.positional:
            added = group.add_argument(option.name, **keywords)
        else:
            added = group.add_argument(*option.flags, dest=option.name, required=option.required, **keywords)
        added.option = option


def reader(option: Option[Any]) -> Callable[[str], Any]:
    """Return a function that reads a value of an option from the command line. It raises `TriposError` R0202."""

    def read(given: str) -> Any:
        kind = option.kind
        try:
            value = kind.read(given)
        except (ValueError, OverflowError) as error:
            hint = str(error) if isinstance(error, Refusal) else f"it takes a {kind.noun}"
            raise TriposError("R0202", f"`{option}` cannot be `{given}`", hint) from error
        if not kind.allows(value):
            raise _unknown_word(option.flag, value, kind.choices)
        if fault := kind.fault(value, option.flag):
            raise TriposError("R0202", fault, f"give another `{option}`")
        return value

    return read


def _unknown_word(name: str, value: str, choices: Iterable[str]) -> TriposError:
    """Return the failure for a word that is not one of the choices, with the nearest one."""
    message = f"there is no {name.lower()} `{value}`" if name.isupper() else f"`{name}` cannot be `{value}`"
    hint = _word_hint(value, choices) or f"choose from {', '.join(choices)}"
    if name.isupper() and value in ("help", "start", "create"):
        hint = START_HINT
    return TriposError("R0202", message, hint)


def _request_hint(word: str, known: Iterable[str]) -> str | None:
    """Return a hint for a request setting or a judge that was given as an option to a command with models."""
    if MODEL.flag not in known:
        return None
    if word in ("--judge", "--judges", "--grader") and ROLE.flag in known:
        return f"name the role of the spec: `{ROLE} judge=MODEL`"
    from tripos_compiler.constructs.table import place_of_setting

    return place_of_setting(word)


def _option_hint(word: str, known: Iterable[str]) -> str | None:
    """Return a hint with the nearest option. The leading dashes are not compared, since all options have them."""
    from tripos_compiler.diagnostics.diagnostic import nearest

    bare = {name.lstrip("-"): name for name in known if name.startswith("--")}
    close = nearest(word.lstrip("-"), bare)
    return f"did you mean `{bare[close]}`?" if close else None


def _word_hint(word: str, known: Iterable[str]) -> str | None:
    """Return a hint with the nearest known word, or None if none is near."""
    from tripos_compiler.diagnostics.diagnostic import suggest

    return suggest(word, known, "") or None


def localized_formatter(formatter: Any) -> type[argparse.HelpFormatter]:
    """Return a subclass of a help formatter that translates its texts."""

    class Localized(formatter):  # type: ignore[misc]
        def start_section(self, heading: str | None) -> None:
            super().start_section(heading and localized(heading))

        def add_usage(
            self, usage: str | None, actions: Iterable[Any], groups: Iterable[Any], prefix: str | None = None
        ) -> None:
            super().add_usage(usage, actions, groups, localized("usage: ") if prefix is None else prefix)

        def add_text(self, text: str | None) -> None:
            super().add_text(text and localized(text))

        def _get_help_string(self, action: argparse.Action) -> str | None:
            return action.help and localized(action.help)

        def _split_lines(self, text: str, width: int) -> list[str]:
            return wrap(text, width)

    return Localized


def command_lines(groups: Iterable[tuple[str, Iterable[tuple[str, str]]]], width: int) -> list[str]:
    """Return the lines of the help: a heading for each group, and one line for each of its commands."""
    lines: list[str] = []
    for group, verbs in groups:
        lines += ["", localized(group) + localized(":")]
        lines += [f"  {name}{' ' * (width - display_width(name))}  {localized(help_text)}" for name, help_text in verbs]
    return lines


def show_failure(failure: TriposError) -> None:
    """Print a failure on standard error as a diagnostic, without control characters, and without the API keys of the
    environment and of `.env` files."""
    from tripos_runtime.models.catalog import all_variables  # imported late: few commands fail

    secrets = key_values(all_variables())
    message, hint = (without_keys(localized(text), secrets) for text in (failure.message, failure.hint))
    show_diagnostic("error", failure.code, message, hint)
    show_text(localized(f"  = more: tripos explain {failure.code}"), stderr=True)
