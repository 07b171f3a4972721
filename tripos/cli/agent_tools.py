"""The commands as tools for coding agents, by the Model Context Protocol: what `tripos mcp` serves.

A tool is a command: the same function makes its outcome. The agent gets the lines of the terminal as text, and the data
of `--json` as structured content. What a tool may do is decided here alone: it names no file outside of the folder of
the server, benchmarks count as untrusted, and a run asks mock models, unless the user who starts it says more.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context as ServerContext, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, Tool, ToolAnnotations
from pydantic import Field

from tripos.cli.context import Context, Outcome, json_text
from tripos.cli.main import refused_long_paths, run_verb, show_bug
from tripos.cli.parser import COMMANDS, build_parser, show_failure
from tripos.runs.compilation import describe_errors, shipped_spec
from tripos.runs.selection import RunRequest
from tripos.settings.load import ChosenSettings
from tripos.settings.options import (
    BUDGET,
    DATA,
    JSON,
    LIMIT,
    MODEL,
    ONLY,
    PARAMETERS,
    ROLE,
    SCENARIO,
    STORE,
    DocsParameters,
    McpParameters,
    PlanParameters,
)
from tripos.settings.secrets import key_values, without_keys
from tripos.terminal import show_text, table_width
from tripos.version import __version__
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.renderers import to_data
from tripos_compiler.errors import ExitCode, TriposError
from tripos_runtime.datasets.trust import Trust
from tripos_runtime.models.catalog import all_variables
from tripos_runtime.models.kinds import MOCK, REPLIES, kind_of
from tripos_runtime.models.reply_table import file_of
from tripos_runtime.scheduling.budget import Budget

if TYPE_CHECKING:
    from tripos.settings.config import Config
    from tripos_compiler.compile import Compilation
    from tripos_runtime.datasets.data_files import DataFolders

CODE = "R0205"
MOST_CHARACTERS = 60_000
"""The maximum length of the text of a result, and of its JSON. The page that holds the language fits in it."""
MOST_ROWS = 1_000
"""The maximum number of rows of the result of a query."""
QUERY_SECONDS = 60.0
ITEMS = 10
"""The number of items of each scenario that a run takes, unless the agent gives another."""
SHIPPED_NAME = re.compile(r"\w[\w/-]*")
INSTRUCTIONS = f"""\
Tripos is a language for benchmarks of language models. Before you write a spec, read the page `one-page` with
read_page: it holds the language. Then write the files, check until the spec is well formed, plan to count the calls,
run with mock models ({MOCK.prefix}careful, or {REPLIES.prefix}FILE for replies that you script), and report;
sql answers anything else.
A code such as E0501 is explained by explain."""


class Tools:
    """The permissions of the tools of one server, and the call of one."""

    def __init__(
        self,
        folder: Path,
        trust: Trust,
        *,
        data: Sequence[str] = (),
        store: str | None = None,
        models: Sequence[str] = (),
        budget: Sequence[str] | None = None,
    ) -> None:
        self.folder = folder
        self.trust = trust
        self.data = tuple(data)
        self.store = store
        self.models = frozenset(models)
        self.budget = Budget.parse(budget) if budget else None
        """The budget of all runs together."""

    def call(self, command: str, *options: str | None, words: Sequence[str] = ()) -> CallToolResult:
        """Run a command with options and, after them, `words` that are never taken for options."""
        declared = options_of(command)
        given = [option for option in options if option is not None]
        given += [f"{DATA}={folder}" for folder in self.data] if DATA.name in declared else []
        given += [f"{STORE}={self.store}"] if self.store is not None and STORE.name in declared else []
        return self.captured(partial(self._run, [command, *given, *(("--", *words) if words else ())]))

    def _run(self, arguments: Sequence[str], answer: Answer) -> None:
        options = build_parser(arguments[0]).parse_args(arguments)
        options.trust = self.trust
        answer.exit_code = run_verb(COMMANDS[options.verb], ToolContext(options, arguments, self, answer))

    def query(self, sql: str, run: str | None) -> CallToolResult:
        """Answer a query as `tripos sql` does, with a limit on its rows and its time."""
        return self.captured(partial(self._query, sql, run))

    def _query(self, sql: str, run: str | None, answer: Answer) -> None:
        from tripos_warehouse.errors import StoreError
        from tripos_warehouse.query.results import encode_answer, run_query
        from tripos_warehouse.tables.text import render_table
        from tripos_warehouse.views.connect import connect, connect_run

        arguments = ["sql", *([f"{STORE}={self.store}"] if self.store is not None else [])]
        options = build_parser("sql").parse_args(arguments)
        options.trust = self.trust
        store = ToolContext(options, arguments, self, answer).store()
        connection = connect_run(store, run)[0] if run else connect(store)
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            connection.interrupt()

        timer = threading.Timer(QUERY_SECONDS, stop)
        timer.start()
        try:
            table = run_query(connection, sql, MOST_ROWS + 1)
        except StoreError as error:
            if not stopped.is_set():
                raise
            hint = "ask for less: filter before you join, and aggregate"
            raise TriposError("R0271", f"the query takes more than {QUERY_SECONDS:g} seconds", hint) from error
        finally:
            timer.cancel()
            connection.close()
        if table.num_rows > MOST_ROWS:
            table = table.slice(0, MOST_ROWS)
            answer.notes.append(f"these are the first {MOST_ROWS:,} rows: aggregate, or use `limit` and `offset`")
        answer.data = json.loads(encode_answer(table, "json"))
        show_text(render_table(table, table_width()))

    def captured(self, run: Callable[[Answer], None]) -> CallToolResult:
        """Return what is printed and given by a function, or the error that it raises. Nothing is raised."""
        answer, printed = Answer(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                run(answer)
            except TriposError as failure:
                answer.fail(failure)
                show_failure(failure)
            except Exception as error:
                answer.fail(TriposError("", f"internal error: {type(error).__name__}"))
                show_bug(error)
        gc.unfreeze()  # commands are written for a process that ends soon
        gc.enable()
        return answer.result(printed.getvalue())

    def spec(self, path: str) -> str:
        """Return the path of a spec in the folder, or the name of a benchmark that comes with Tripos. Raises
        `TriposError`."""
        with refused_long_paths():
            if SHIPPED_NAME.fullmatch(path) and not (self.folder / path).exists() and shipped_spec(path) is not None:
                return path
            return self.inside(path)

    def inside(self, path: str) -> str:
        """Return a path relative to the folder. Raises `TriposError` if it leads elsewhere, links resolved."""
        if "\0" in path:
            raise TriposError("R0202", "a path has a NUL character", "give a path in the folder of the server")
        place = (self.folder / path).resolve()
        if "://" in path or not place.is_relative_to(self.folder):
            hint = "copy it into the folder, or start the server in a folder that holds it: tripos mcp DIR"
            raise TriposError(CODE, f"`{path}` is outside of the folder of this server", hint)
        return place.relative_to(self.folder).as_posix()

    def check_models(self, names: Iterable[str]) -> None:
        """Raise `TriposError` for a model that no run may ask, and for a table of replies outside of the folder."""
        for name in names:
            if kind_of(name).table:
                self.inside(str(file_of(name)))
            elif not self.may_ask(name):
                hint = (
                    f"use {MOCK.prefix}careful or {REPLIES.prefix}FILE; only the user who starts the server can "
                    f"allow it, with {McpParameters.allow_model} {name} {BUDGET} 5usd"
                )
                raise TriposError(CODE, f"this server may not ask `{name}`", hint)

    def may_ask(self, name: str) -> bool:
        """Return true if a run may ask a model."""
        return name in self.models or kind_of(name).in_process


def options_of(command: str) -> set[str]:
    """Return the names of the options of a command without actions."""
    parameters = PARAMETERS[command]
    assert not isinstance(parameters, dict)
    return {option.name for option in parameters.options}


class Answer:
    """The answer of one call to the agent, besides what is printed."""

    def __init__(self) -> None:
        self.data: Any = None
        self.exit_code = ExitCode.SUCCESS
        self.error: dict[str, str] | None = None
        self.secrets: tuple[str, ...] = ()
        self.notes: list[str] = []

    def fail(self, failure: TriposError) -> None:
        """Take an error as the answer."""
        self.exit_code = failure.exit_code
        self.error = {"code": failure.code, "message": failure.message, "hint": failure.hint}

    def result(self, text: str) -> CallToolResult:
        """Return the result of the protocol: a text and JSON, without keys and of limited length."""
        secrets = (*key_values(all_variables()), *self.secrets)
        text = without_keys(text, secrets)
        content: dict[str, Any] = {"exit_code": int(self.exit_code)}
        if self.error is not None:
            content["error"] = hidden(self.error, secrets)
        if self.data is not None:
            content["result"], left_out = bounded(hidden(json.loads(json_text(self.data)), secrets))
            if left_out:
                content["left_out"] = left_out
                self.notes.append(f"the structured content lacks {left_out}")
        shown = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS]
        if len(shown) < len(text):
            self.notes.insert(0, f"the text goes on for {len(text) - len(shown):,} characters: ask for less")
        shown = "\n".join([shown.rstrip("\n"), *(f"[{note}]" for note in self.notes)])
        return CallToolResult(
            content=[TextContent(type="text", text=shown)],
            structured_content=content,
            is_error=self.error is not None,
        )


def hidden(data: Any, secrets: Sequence[str]) -> Any:
    """Return JSON without keys in its texts.

    >>> hidden({"a": ["my-key"]}, ["my-key"])
    {'a': ['(hidden)']}
    """
    if isinstance(data, str):
        return without_keys(data, secrets)
    if isinstance(data, list):
        return [hidden(each, secrets) for each in data]
    if isinstance(data, dict):
        return {hidden(name, secrets): hidden(each, secrets) for name, each in data.items()}
    return data


def bounded(data: Any) -> tuple[Any, str]:
    """Return JSON of at most `MOST_CHARACTERS` characters, and what it lacks: of a list the last elements, of an object
    its largest parts.

    >>> bounded([1, 2])
    ([1, 2], '')
    >>> bounded(["x" * 50_000, "y" * 50_000, "z"])[1]
    '2 of 3 elements'
    >>> bounded({"a": "x" * 70_000, "b": 1})
    ({'b': 1}, '`a`')
    """
    size = _size(data)
    if size <= MOST_CHARACTERS:
        return data, ""
    if isinstance(data, list):
        kept, room = 0, MOST_CHARACTERS
        while kept < len(data) and (room := room - _size(data[kept])) >= 0:
            kept += 1
        return data[:kept], f"{len(data) - kept:,} of {len(data):,} elements"
    if not isinstance(data, dict):
        return None, "a value that is too long"
    sizes = {name: _size(value) for name, value in data.items()}
    left_out = []
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if size <= MOST_CHARACTERS:
            break
        size -= sizes[name]
        left_out.append(name)
    return {name: data[name] for name in data if name not in left_out}, ", ".join(f"`{name}`" for name in left_out)


def _size(data: Any) -> int:
    return len(json.dumps(data, ensure_ascii=False))


class ToolContext(Context):
    """The context of a command that an agent calls: its models are limited, and its data is kept for the answer."""

    form = "text"

    def __init__(self, options: Any, arguments: Sequence[str], tools: Tools, answer: Answer) -> None:
        super().__init__(options, arguments)
        self.tools = tools
        self.answer = answer
        self.budget = tools.budget

    @cached_property
    def settings(self) -> ChosenSettings:
        """The settings, without models that no run may ask. Raises `TriposError`."""
        chosen = super().settings
        self.answer.secrets = chosen.secrets
        config = chosen.config
        roles = {role: names for role, names in config.roles.items() if all(map(self.tools.may_ask, names))}
        models = tuple(name for name in config.models if self.tools.may_ask(name))
        return replace(chosen, config=config.model_copy(update={"models": models, "roles": roles}))

    @property
    def request(self) -> RunRequest:
        """The models and cases that the agent gave. Raises `TriposError`."""
        request = super().request
        self.check_models([*request.models, *(name for names in request.roles.values() for name in names)])
        return request

    def check_models(self, names: Iterable[str]) -> None:
        """Raise `TriposError` for a model that no run may ask."""
        self.tools.check_models(names)

    def compile(self, path: str, config: Config | None = None) -> tuple[Compilation, DataFolders]:
        """Compile a spec, and keep its diagnostics for the answer if it has errors. Raises `TriposError`."""
        compilation, folders = super().compile(path, config)
        if compilation.plan is None:
            self.answer.data = to_data(compilation.diagnostics, compilation.silenced)
            self.answer.fail(TriposError(*describe_errors(path, compilation.diagnostics)))
        return compilation, folders

    def show(self, outcome: Outcome) -> ExitCode:
        """Print an outcome as text, and keep its data."""
        if outcome.data is not None:
            data = outcome.data()
            self.answer.data = json.loads(data) if isinstance(data, str) else data
        return super().show(outcome)


# The tools as the protocol shows them
def _parameter(about: str, least: int | None = None, most: int | None = None) -> Any:
    """Return the declaration of a parameter, for the schema of a tool. Agents read it in English. `least` and `most`
    are bounds of a number."""
    return Field(description=about, ge=least, le=most)


Spec = Annotated[str, _parameter("a .tripos file, or a folder that holds one, in the folder of the server")]
Models = Annotated[
    list[str], _parameter(f"models under test: {MOCK.prefix}careful, or {REPLIES.prefix}FILE for scripted replies")
]
Roles = Annotated[dict[str, str], _parameter(f'models of the other roles, such as {{"judge": "{MOCK.prefix}fair"}}')]
Limit = Annotated[int, _parameter("the number of items of each scenario", least=1)]
RunId = Annotated[str | None, _parameter("the id of a run, or its beginning (default: the last run)")]
InMainThread = Callable[[Callable[[], CallToolResult]], Awaitable[CallToolResult]]


class StrictServer(MCPServer):
    """A server whose tools refuse arguments that they do not have, and name those that a call lacks. The SDK leaves out
    unknown arguments: a run with the `model` of a request would ask the default of `models`."""

    async def list_tools(self) -> list[Tool]:
        """Return the tools with schemas that allow no further arguments, and descriptions without indentation."""
        return [
            tool.model_copy(
                update={
                    "input_schema": tool.input_schema | {"additionalProperties": False},
                    "description": cleandoc(tool.description or ""),
                }
            )
            for tool in await super().list_tools()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: ServerContext | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises `ToolError` for an argument that it does not have, and for one that is missing."""
        for tool in [tool for tool in await self.list_tools() if tool.name == name]:
            known = list(tool.input_schema["properties"])
            every = f"its arguments are {', '.join(known)}"
            for unknown in [argument for argument in arguments if argument not in known]:
                hint = suggest(unknown, known, every)
                raise ToolError(localized(f"the tool `{name}` has no argument `{unknown}`: {localized(hint)}"))
            for missing in [needed for needed in tool.input_schema.get("required", ()) if needed not in arguments]:
                raise ToolError(localized(f"the tool `{name}` needs the argument `{missing}`: {localized(every)}"))
        return await super().call_tool(name, arguments, context)


def make_server(tools: Tools, in_main_thread: InMainThread) -> MCPServer:
    """Return the server, whose tools are called by `in_main_thread`."""
    server = StrictServer("tripos", version=__version__, instructions=INSTRUCTIONS, log_level="CRITICAL")
    reads = server.tool(
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False), structured_output=False
    )

    async def command(path: str, make: Callable[[str], CallToolResult]) -> CallToolResult:
        """Call a tool with the path of a spec, which is checked first."""

        def call() -> CallToolResult:
            checked: list[str] = []
            refused = tools.captured(lambda _: checked.append(tools.spec(path)))
            return make(checked[0]) if checked else refused

        return await in_main_thread(call)

    @reads
    async def check(path: Spec) -> CallToolResult:
        """Find every mistake of a spec that can be found without a model. Free. Each diagnostic has a code, a place and
        what to write instead; exit_code 0 means that the spec is well formed."""
        return await command(path, lambda spec: tools.call("check", words=(spec,)))

    @reads
    async def explain(words: list[str]) -> CallToolResult:
        """Explain codes such as E0501, or words of the language such as `shots`."""
        return await in_main_thread(lambda: tools.call("explain", words=tuple(words)))

    @reads
    async def plan(
        path: Spec,
        models: Models = [],  # noqa: B006 - it is never changed
        roles: Roles = {},  # noqa: B006
        limit: Annotated[int | None, _parameter("the number of items of each scenario", least=1)] = None,
        prompts: Annotated[
            int | None, _parameter("show the prompts of so many items of each scenario instead", least=1, most=20)
        ] = None,
    ) -> CallToolResult:
        """Count the items and model calls of a spec, or show its prompts. No call is made."""
        chosen = [*_request(models, roles), *([f"{LIMIT}={limit}"] if limit is not None else [])]
        chosen += [f"{PlanParameters.prompts}={prompts}"] if prompts is not None else []
        return await command(path, lambda spec: tools.call("plan", *chosen, words=(spec,)))

    @server.tool(
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=bool(tools.models)),
        structured_output=False,
    )
    async def run(
        path: Spec,
        models: Models = [f"{MOCK.prefix}careful"],  # noqa: B006
        roles: Roles = {},  # noqa: B006
        limit: Limit = ITEMS,
        only: Annotated[list[str], _parameter("values of axes or arms to keep, such as language=en")] = [],  # noqa: B006
        scenarios: Annotated[list[str], _parameter("run these scenarios only")] = [],  # noqa: B006
    ) -> CallToolResult:
        """Run a benchmark, keep its results in the store, and show its headline. Models are mocks, which cost nothing,
        and those that the user who started the server allowed."""
        # With `--json` a run prints no progress. The answer has the text of its outcome as well as the data.
        chosen = [*_request(models, roles), f"{LIMIT}={limit}", JSON.flag]
        chosen += [f"{ONLY}={each}" for each in only] + [f"{SCENARIO}={each}" for each in scenarios]
        return await command(path, lambda spec: tools.call("run", *chosen, words=(spec,)))

    @reads
    async def report(run: RunId = None) -> CallToolResult:
        """Show the measures of a run with intervals and coverage, and whether its `expect` hold."""
        return await in_main_thread(lambda: tools.call("report", words=() if run is None else (run,)))

    @reads
    async def sql(
        query: Annotated[str, _parameter("one query in DuckDB SQL"), Field(min_length=1)], run: RunId = None
    ) -> CallToolResult:
        """Query the results: `from quiz.scores`, `quiz.samples`, `quiz.means()`, `show all tables`. It only reads."""
        return await in_main_thread(lambda: tools.query(query, run))

    @reads
    async def search_docs(words: Annotated[str, Field(min_length=1)]) -> CallToolResult:
        """Search the documentation. Each hit names a page for read_page."""
        return await in_main_thread(lambda: tools.call("docs", f"{DocsParameters.search}={words}"))

    @reads
    async def read_page(
        page: Annotated[
            str, _parameter("a page such as one-page, PAGE#SECTION, a statement, a function, or a code")
        ] = "one-page",
    ) -> CallToolResult:
        """Read a page of the documentation, or a section of one. `one-page` holds the language."""
        return await in_main_thread(lambda: tools.call("docs", str(DocsParameters.text), words=(page,)))

    return server


def _request(models: Sequence[str], roles: Mapping[str, str]) -> list[str]:
    """Return the models of a request as options."""
    return [*(f"{MODEL}={name}" for name in models), *(f"{ROLE}={role}={name}" for role, name in roles.items())]
