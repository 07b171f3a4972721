"""Nothing that an editor sends ends the server, and what cannot be answered has no answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from talking import WAIT_S, Editor, begin, end

from tripos.cli.main import run_command
from tripos.lsp.server import make_server
from tripos.lsp.session import MOST_CHARS


def answers(editor: Editor, name: str, line: int = 0, column: int = 0) -> dict[str, Any]:
    """Return what comes of every kind of request at a place."""
    place = lsp.Position(line, column)
    at_place = ("hover", "definition", "document_highlight", "prepare_rename", "completion", "signature_help")
    of_document = ("document_symbol", "folding_range", "semantic_tokens_full", "code_lens")
    found = {each: editor.request(each, name, position=place) for each in at_place}
    found |= {each: editor.request(each, name) for each in of_document}
    actions = lsp.CodeActionContext(diagnostics=[])
    found["code_action"] = editor.request("code_action", name, range=lsp.Range(place, place), context=actions)
    connection, document = editor.client.connection, editor.document(name)
    references = lsp.ReferenceParams(lsp.ReferenceContext(True), document, place)
    found["references"] = editor.wait(connection.text_document_references_async(references))
    layout = lsp.DocumentFormattingParams(document, lsp.FormattingOptions(2, True))
    return found | {"formatting": editor.wait(connection.text_document_formatting_async(layout))}


def test_a_document_that_is_not_open_has_no_answers(starting: Editor) -> None:
    assert not any(answers(starting, "nowhere.tripos").values())


def test_an_untitled_document_is_checked_as_if_it_lay_in_the_folder(starting: Editor) -> None:
    text = (starting.client.folder / "quiz.tripos").read_text("utf-8")
    starting.client.open("untitled:Untitled-1", text)
    assert starting.diagnostics("untitled:Untitled-1") == []
    assert starting.definition("untitled:Untitled-1", "overall = mean(rub|ric)") == [("shared.tripos", "rubric")]


def test_a_document_of_another_kind_of_uri_is_checked_for_its_syntax_only(starting: Editor) -> None:
    uri = "git:/old/quiz.tripos?ref=HEAD"
    starting.client.open(uri, 'use "nowhere.tripos"\nmeasure x = mean(y\n')
    assert [each.code for each in starting.diagnostics(uri)] == ["E0103"]
    assert answers(starting, uri, 1, 10)["folding_range"] == ()


def test_a_position_outside_of_the_document_is_its_end(starting: Editor) -> None:
    starting.client.open("quiz.tripos")
    answers(starting, "quiz.tripos", 10_000, 10_000)
    answers(starting, "quiz.tripos", 3, 10_000)
    assert starting.client.logged == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeff",
        "{",
        "}" * 50,
        '"""',
        'scenario s {\n  ask a by b {\n    prompt "{{ item.',
        "measure x = " + "(" * 300,
        "axis a {" * 200,
        "\r\rrole a\r\nrole b\u2028role c\x0c",
        "benchmark x",
        "| a | b |",
        "role \ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    ],
)
def test_whatever_is_typed_is_answered(editor: Editor, text: str) -> None:
    before = editor.text("quiz.tripos")
    editor.client.replace("quiz.tripos", text)
    editor.diagnostics("quiz.tripos")
    answers(editor, "quiz.tripos", 0, len(text))
    answers(editor, "quiz.tripos")
    editor.client.replace("quiz.tripos", before)
    assert editor.diagnostics("quiz.tripos") == []
    assert editor.client.logged == []


def test_a_main_file_that_is_gone_is_no_benchmark(quiz: Path) -> None:
    async def converse() -> list[lsp.Diagnostic]:
        client = await begin(quiz, watching=True)
        uri = client.open("shared.tripos")
        assert await client.diagnostics("shared.tripos") == []
        (quiz / "quiz.tripos").unlink()
        event = lsp.FileEvent(client.uri("quiz.tripos"), lsp.FileChangeType.Deleted)
        client.connection.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
        client.change("shared.tripos", "role judge panel", "role judge panel\n")
        found = await client.diagnostics("shared.tripos")
        assert client.published[uri].version == 2
        await end(client)
        return found

    assert asyncio.run(converse()) == []


def test_a_used_file_that_is_no_text_is_a_mistake_where_it_is_used(starting: Editor) -> None:
    (starting.client.folder / "shared.tripos").write_bytes(b"\xff\xfe\x00")
    starting.client.open("quiz.tripos")
    assert "it is not UTF-8 text" in starting.messages("quiz.tripos")[0]


def test_broken_settings_are_logged_and_the_spec_is_checked_all_the_same(quiz: Path) -> None:
    async def converse() -> None:
        (quiz / "tripos.toml").write_text("stroe = 1", "utf-8")
        client = await begin(quiz)
        client.open("quiz.tripos")
        assert await client.diagnostics("quiz.tripos") == []
        [line] = client.logged
        assert "tripos.toml" in line and "stroe" in line and "\n" not in line
        await end(client)

    asyncio.run(converse())


def test_a_spec_that_is_too_long_says_so_instead(starting: Editor) -> None:
    text = (starting.client.folder / "quiz.tripos").read_text("utf-8") + "# filling\n" * (MOST_CHARS // 10)
    starting.client.open("quiz.tripos", text)
    [found] = starting.diagnostics("quiz.tripos")
    assert found.severity == lsp.DiagnosticSeverity.Information
    assert "help: run `tripos check`" in found.message
    assert not any(answers(starting, "quiz.tripos").values())


def test_without_an_open_folder_the_folder_of_a_document_is_looked_through(quiz: Path) -> None:
    async def converse() -> list[lsp.Diagnostic]:
        client = await begin(quiz, folders=False)
        client.open("shared.tripos", (quiz / "shared.tripos").read_text("utf-8").replace("| shouts |", "| shout  |"))
        found = await client.diagnostics("shared.tripos")
        await end(client)
        return found

    assert [each.message.split("\n")[0] for each in asyncio.run(converse())] == ["there is no scenario `shout`"]


def test_a_malformed_message_does_not_end_the_server(quiz: Path) -> None:
    async def converse() -> None:
        client = await begin(quiz, alone=True)
        process = client.connection._server
        assert process is not None and process.stdin is not None
        for body in (b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"no": 1}}', b"{nonsense"):
            process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        client.open("quiz.tripos")
        assert await client.diagnostics("quiz.tripos") == []
        await end(client)

    asyncio.run(converse())


def test_a_change_of_a_document_that_is_not_open_is_passed_over(starting: Editor) -> None:
    document = lsp.VersionedTextDocumentIdentifier(2, starting.client.uri("quiz.tripos"))
    change = lsp.TextDocumentContentChangeWholeDocument("role a")
    starting.client.connection.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
    starting.client.open("quiz.tripos")
    assert starting.diagnostics("quiz.tripos") == []
    assert starting.client.logged == []


def test_a_bug_of_ours_is_logged_in_a_line_and_answered_with_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = make_server()
    said: list[lsp.LogMessageParams] = []
    monkeypatch.setattr(server, "window_log_message", said.append)

    def fail(view: object, params: object) -> None:
        raise RuntimeError("two\nlines")

    server.answer(lsp.TEXT_DOCUMENT_TYPE_DEFINITION, None, fail)
    server.session.put("file:///x.tripos", "role a", 1)
    handle = server.protocol.fm.features[lsp.TEXT_DOCUMENT_TYPE_DEFINITION]
    params = lsp.TypeDefinitionParams(lsp.TextDocumentIdentifier("file:///x.tripos"), lsp.Position(0, 0))
    assert handle(params) is None
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("tripos lsp: internal error in textDocument/typeDefinition: RuntimeError: two lines (")
    assert [each.message for each in said] == [line.removeprefix("tripos lsp: ")]


def test_without_the_library_the_command_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run_command(["lsp"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error[R0206]: the language server is not installed",
        "  = help: pip install 'tripos[lsp]'",
        "  = more: tripos explain R0206",
    ]


def test_the_server_ends_when_its_editor_is_gone(quiz: Path) -> None:
    async def converse() -> int:
        client = await begin(quiz, alone=True)
        process = client.connection._server
        assert process is not None and process.stdin is not None
        process.stdin.close()
        code = await asyncio.wait_for(process.wait(), WAIT_S)
        await client.connection.stop()
        return code

    assert asyncio.run(converse()) == 0
