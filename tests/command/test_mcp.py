"""`tripos mcp`: every tool answers as its command does; no path, model, key or output leaves its limits."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import socket
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult

from tests.conftest import Command
from tests.kills.counting_server import serving
from tripos.cli import agent_tools
from tripos.cli.agent_tools import Tools, make_server
from tripos.cli.mcp import Jobs, _in_main_thread
from tripos_runtime.datasets.trust import UNTRUSTED

MOCKS = {"models": ["mock/careful"], "roles": {"judge": "mock/fair"}}
Call = tuple[str, dict[str, Any]]


def call(calls: Sequence[Call], **options: Any) -> list[CallToolResult]:
    """Return the results of tools of a server in the working directory. As in the server, they run in the main
    thread."""
    jobs: Jobs = queue.SimpleQueue()
    server = make_server(Tools(Path.cwd(), UNTRUSTED, **options), partial(_in_main_thread, jobs))
    results: list[CallToolResult] = []

    async def talk() -> None:
        async with Client(server) as client:
            results.extend([await client.call_tool(name, arguments) for name, arguments in calls])

    def serve() -> None:
        try:
            asyncio.run(talk())
        finally:
            jobs.put(None)

    thread = threading.Thread(target=serve)
    thread.start()
    while (job := jobs.get()) is not None:
        job()
    thread.join()
    assert len(results) == len(calls)
    return results


@pytest.fixture
def handbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A built documentation of three pages, one of them long."""
    folder = tmp_path / "handbook"
    pages = {
        "index": "# Tripos\n\nBenchmarks.\n",
        "language/one-page": "# The language\n\nA spec.\n\n## Judges\n\nA judge decides the win rate.\n\n## Rows\n\nRows.\n",
        "language/long": "# A long page\n\n" + "No word of it is rare. " * 5000,
    }
    for name, page in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(page, "utf-8")
        (folder / f"{name}.html").write_text("", "utf-8")
    for name in ("redirects.json", "codes.json"):
        (folder / name).write_text("{}", "utf-8")
    monkeypatch.setattr("tripos.cli.help.HANDBOOK", folder)
    monkeypatch.setattr("tripos.cli.help.BUILDER", folder / "none")
    return folder


def text(result: CallToolResult) -> str:
    """Return the text of a result."""
    [part] = result.content
    assert part.type == "text"
    return part.text


def content(result: CallToolResult) -> Any:
    """Return the structured content of a result."""
    assert result.structured_content is not None
    return result.structured_content


def test_each_tool_gives_what_its_command_prints(
    quiz: Path, handbook: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a connection was opened")

    for name in ("create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    for name in [name for name in os.environ if name.endswith("_KEY")]:
        monkeypatch.delenv(name)
    query = "select metric, count(*) as n from quiz.scores group by all order by all"
    spec = {"path": "quiz.tripos"}
    calls: list[Call] = [
        ("run", {**spec, **MOCKS, "limit": 2}),
        ("check", spec),
        ("explain", {"words": ["E0501", "shots"]}),
        ("plan", {**spec, "prompts": 1}),
        ("report", {}),
        ("sql", {"query": query}),
        ("search_docs", {"words": "win rate"}),
        ("read_page", {"page": "one-page#judges"}),
        ("plan", spec),
    ]
    run, *results = call(calls)
    assert content(run)["result"]["status"] == "finished" and content(run)["result"]["cost_usd"] == 0
    assert "coverage" in text(run)
    commands = (
        ("check", "quiz.tripos"),
        ("explain", "E0501", "shots"),
        ("plan", "quiz.tripos", "--prompts", "1"),
        ("report",),
        ("sql", query),
        ("docs", "--search", "win rate"),
        ("docs", "--text", "one-page#judges"),
    )
    for result, command in zip(results, commands, strict=False):
        assert not result.is_error, text(result)
        assert content(result)["result"] == json.loads(tripos(*command, "--json").out)
        assert text(result).rstrip() == tripos(*command).out.rstrip()
    [hit, *_] = content(results[5])["result"]
    assert hit["page"] == "language/one-page#judges" and "win rate" in hit["text"]
    assert content(results[6])["result"]["text"] == "## Judges\n\nA judge decides the win rate.\n"
    assert content(results[-1])["result"]["calls"] and "candidate calls" in text(results[-1])


def test_the_server_speaks_over_standard_input_and_output(quiz: Path) -> None:
    async def talk() -> tuple[list[str], CallToolResult, CallToolResult]:
        environ = {**os.environ, "FORCE_COLOR": "1"}
        server = StdioServerParameters(command=sys.executable, args=["-m", "tripos", "mcp", str(quiz)], env=environ)
        async with Client(stdio_client(server), mode="legacy") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            run = await client.call_tool("run", {"path": "quiz.tripos", **MOCKS, "limit": 1})
            return names, run, await client.call_tool("check", {"path": "nothing.tripos"})

    names, run, missing = asyncio.run(talk())
    assert names == ["check", "explain", "plan", "run", "report", "sql", "search_docs", "read_page"]
    assert not run.is_error and "\x1b" not in text(run) and (quiz / "results").is_dir()
    assert missing.is_error and content(missing)["error"]["code"] == "E0108" and content(missing)["error"]["hint"]


@pytest.mark.parametrize(
    "path",
    ["../secret.tripos", "/etc/passwd", "link.tripos", "folder/../../secret.tripos", "https://example.org/a.zip",
     "--allow-outside", "-", "a\0b", "quiz.tripos --model openai/gpt-4o", "~/quiz.tripos"],
)  # fmt: skip
def test_no_path_leaves_the_folder(quiz: Path, handbook: Path, path: str) -> None:
    secret = quiz.parent / "secret.tripos"
    secret.write_text('benchmark secret "1.0.0" { languages en }\n# the secret text\n', "utf-8")
    (quiz / "link.tripos").symlink_to(secret)
    (quiz / "replies.jsonl").symlink_to(secret)
    table = {**MOCKS, "path": "quiz.tripos", "models": [f"mock/replies:{path}"]}
    linked = {**table, "models": ["mock/replies:replies.jsonl"]}
    calls: list[Call] = [("check", {"path": path}), ("plan", {"path": path}), ("run", {**MOCKS, "path": path})]
    for result in call([*calls, ("run", table), ("run", linked), ("read_page", {"page": path})]):
        assert result.is_error and content(result)["error"]["code"], text(result)
        assert "Traceback" not in text(result) and "internal error" not in text(result)
        assert "secret text" not in text(result) + json.dumps(content(result)) and "root:" not in text(result)


def test_unfit_words_are_refused_with_a_code(quiz: Path, handbook: Path) -> None:
    run = {**MOCKS, "path": "quiz.tripos"}
    calls: list[Call] = [
        *((name, {"path": text}) for text in ("x" * 300, "a" * 300 + "/b", "x" * 9000) for name in ("check", "plan")),
        ("explain", {"words": ["x" * 300]}),
        ("run", {**run, "models": ["mock/replies:" + "x" * 300]}),
        ("run", {**run, "models": ["mock/replies:~nobody-of-that-name/replies.csv"]}),
        ("run", {**run, "models": ["--"]}),
        ("run", {**run, "only": ["--"]}),
    ]
    for (name, arguments), result in zip(calls, call(calls), strict=True):
        assert content(result)["error"]["code"], f"{name} {arguments}: {text(result)}"
    [result] = call([("search_docs", {"words": "--"})])
    assert not result.is_error, text(result)


def test_replies_of_the_home_folder_are_not_read(quiz: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(quiz.parent))
    monkeypatch.setenv("USERPROFILE", str(quiz.parent))
    (quiz.parent / "replies.jsonl").write_text('{"reply": "a secret reply"}\n', "utf-8")
    [result] = call([("run", {**MOCKS, "path": "quiz.tripos", "models": ["mock/replies:~/replies.jsonl"]})])
    assert content(result)["error"]["code"] == "R0205" and not (quiz / "results").exists()


@pytest.mark.parametrize(
    "argument",
    [{"models": ["openai/gpt-4o"]}, {"models": ["mock/careful,openai/gpt-4o"]}, {"roles": {"judge": "openai/gpt-4o"}},
     {"roles": {"judge": "mock/fair,human/anna"}}, {"models": ["replay/x"]}, {"models": ["local/smollm2-135m"]},
     {"models": ["openai/other"]}],
)  # fmt: skip
def test_a_run_asks_no_model_that_was_not_allowed(quiz: Path, argument: dict[str, Any]) -> None:
    [result] = call([("run", {"path": "quiz.tripos", **MOCKS, **argument})], models=["openai/allowed"], budget=["1usd"])
    assert content(result)["error"]["code"] == "R0205" and "--allow-model" in text(result)
    assert not (quiz / "results").exists()


def test_models_of_the_environment_are_not_asked(quiz: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPOS_MODEL", "openai/gpt-4o")
    (quiz / "tripos.toml").write_text('[roles]\njudge = "openai/gpt-4o"\n', "utf-8")
    [result] = call([("run", {"path": "quiz.tripos", "models": []})])
    assert result.is_error and "openai" not in text(result)


def test_an_allowed_model_is_asked_within_the_budget_of_the_server(quiz: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(latency_s=0) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.address("agents", "one"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-a-key-of-mine-0123456789")
        run = ("run", {"path": "quiz.tripos", **MOCKS, "models": ["openai/gpt-4o-mini"], "limit": 2})
        more = ("run", {"path": "quiz.tripos", **MOCKS, "models": ["openai/gpt-4o-mini"], "limit": 50})
        first, second = call([run, more], models=["openai/gpt-4o-mini"], budget=["3calls"])
    assert content(first)["result"]["calls"]["asked"], text(first)
    assert content(second)["error"]["code"] == "R0402"
    assert "sk-this" not in text(first) + text(second) + json.dumps([content(first), content(second)])


def test_python_of_a_benchmark_is_not_executed(quiz: Path) -> None:
    spec = """benchmark mine "1.0.0" { languages en }
role candidate compared
scorer mark(text: text) -> number from "marks.py:mark"
scenario own {
  ask reply by candidate { prompt "What is 6 * 7?" }
  score right = mark(reply.text)
}
"""
    (quiz / "mine.tripos").write_text(spec, "utf-8")
    (quiz / "marks.py").write_text('open("trace", "w").close()\n\ndef mark(text: str) -> float:\n    return 1.0\n')
    check, run = call([("check", {"path": "mine.tripos"}), ("run", {"path": "mine.tripos"})])
    assert content(check)["exit_code"] == 0
    assert content(run)["error"]["code"] == "R0270" and not (quiz / "trace").exists()


def test_long_results_are_cut_and_say_so(quiz: Path, handbook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call([("run", {"path": "quiz.tripos", **MOCKS})])
    wide = "select range as n, repeat('x', 100) as wide from range(5000)"
    endless = "select count(*) from range(10000000000) a, range(1000000000) b"
    monkeypatch.setattr(agent_tools, "QUERY_SECONDS", 0.5)
    page, rows, long, one = call(
        [("read_page", {"page": "long"}), ("sql", {"query": wide}), ("sql", {"query": endless}),
         ("sql", {"query": "select repeat('x', 100000) as wide"})]
    )  # fmt: skip
    for result in (page, rows, one):
        assert len(text(result)) < agent_tools.MOST_CHARACTERS + 500 and not result.is_error
        assert len(json.dumps(content(result))) < agent_tools.MOST_CHARACTERS * 1.1
    assert "the text goes on for" in text(page)
    assert "these are the first 1,000 rows" in text(rows) and content(rows)["left_out"].endswith("1,000 elements")
    assert content(rows)["result"][0]["n"] == 0 and content(one)["left_out"] == "1 of 1 elements"
    assert content(long)["error"]["code"] == "R0271"


def test_the_diagnostics_of_a_spec_with_errors_come_with_the_refusal_to_run_it(quiz: Path) -> None:
    broken = (quiz / "quiz.tripos").read_text("utf-8").replace("reply.text", "reply.txet")
    (quiz / "quiz.tripos").write_text(broken, "utf-8")
    check, run = call([("check", {"path": "quiz.tripos"}), ("run", {"path": "quiz.tripos", **MOCKS})])
    assert not check.is_error and content(check)["exit_code"] == 2
    assert run.is_error and content(run)["result"] == content(check)["result"] != []
    wrong, unknown = call([("check", {"pth": 1}), ("sql", {"query": "from nothing_of_the_kind"})])
    assert wrong.is_error and "path" in text(wrong) and "Traceback" not in text(wrong)
    assert unknown.is_error and content(unknown)["error"]["code"] == "S0101"


def test_an_argument_that_a_tool_does_not_have_is_refused(quiz: Path) -> None:
    """An argument that is left out in silence would give the figures of another request."""
    server = make_server(Tools(Path.cwd(), UNTRUSTED), partial(_in_main_thread, queue.SimpleQueue()))
    for tool in asyncio.run(server.list_tools()):
        assert tool.input_schema["additionalProperties"] is False
        known = tool.input_schema["properties"]
        calls = [
            (tool.name, dict.fromkeys(known, "quiz.tripos") | {name: 1}) for name in (*(f"{n}_" for n in known), "x")
        ]
        for (_, arguments), result in zip(calls, call(calls), strict=True):
            assert result.is_error and f"no argument `{list(arguments)[-1]}`" in text(result)
    [run] = call([("run", {"path": "quiz.tripos", "model": ["openai/gpt-4o-mini"]})])
    assert run.is_error and "did you mean `models`?" in text(run) and not (quiz / "results").exists()


def test_a_missing_argument_is_named(quiz: Path, handbook: Path) -> None:
    server = make_server(Tools(Path.cwd(), UNTRUSTED), partial(_in_main_thread, queue.SimpleQueue()))
    tools = asyncio.run(server.list_tools())
    needing = [(tool.name, needed) for tool in tools for needed in tool.input_schema.get("required", ())]
    assert ("check", "path") in needing and ("sql", "query") in needing
    for (name, needed), result in zip(needing, call([(name, {}) for name, _ in needing]), strict=True):
        assert result.is_error and f"the tool `{name}` needs the argument `{needed}`" in text(result)
    assert not any("\n " in (tool.description or "") for tool in tools), "descriptions have no indentation"


def test_a_spec_with_errors_has_the_code_of_the_first(quiz: Path) -> None:
    good = Path("quiz.tripos").read_text("utf-8")
    for wrong, count in (
        ("measure m = mean(nothing)\n", "1 error"),
        ("rol x\nmeasure m = mean(nothing)\n", "2 errors"),
    ):
        Path("quiz.tripos").write_text(f"{good}\n{wrong}", "utf-8")
        [planned, checked] = call([("plan", {"path": "quiz.tripos"}), ("check", {"path": "quiz.tripos"})])
        [first, *others] = content(planned)["result"]
        error = content(planned)["error"]
        assert planned.is_error and len(others) + 1 == int(count[0])
        assert error["code"] == first["code"] and error["message"].startswith(f"`quiz.tripos` has {count}: ")
        assert content(checked)["result"] == [first, *others]


@pytest.mark.parametrize("folder", ["/", "~", "missing"])
def test_a_folder_that_holds_everything_is_refused(quiz: Path, tripos: Command, folder: str) -> None:
    done = tripos("mcp", folder)
    assert done.code == 2 and ("R0205" in done.err or "R0202" in done.err)


def test_the_command_says_what_is_missing(quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'tripos[mcp]'" in tripos("mcp", str(quiz)).err
    assert "--budget" in tripos("mcp", str(quiz), "--allow-model", "openai/gpt-4o").err
