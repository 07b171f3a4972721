"""A whole conversation between an editor and the server: how it begins, what is reported when, how it ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from talking import Editor, begin, end, position

from tripos_compiler.compile import compile_spec
from tripos_runtime.datasets.data_files import DataFolders


def test_a_sound_spec_has_no_diagnostics(starting: Editor) -> None:
    starting.client.open("quiz.tripos")
    assert starting.diagnostics("quiz.tripos") == []


def test_a_mistake_is_reported_when_a_document_is_opened_and_gone_when_it_is_mended(starting: Editor) -> None:
    text = (starting.client.folder / "quiz.tripos").read_text("utf-8")
    starting.client.open(
        "quiz.tripos", text.replace("measure overall = mean(rubric)", "measure overall = mean(rubrik)")
    )
    [found] = starting.diagnostics("quiz.tripos")
    assert (found.code, found.source, found.severity) == ("E0201", "tripos", lsp.DiagnosticSeverity.Error)
    assert "help: did you mean `rubric`?" in found.message
    starting.client.change("quiz.tripos", "rubrik", "rubric")
    assert starting.diagnostics("quiz.tripos") == []


def test_what_is_wrong_is_what_the_compiler_says(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "item.stage == easy", "item.stag == easy"):
        found = editor.diagnostics("quiz.tripos")
        path = editor.client.folder / "quiz.tripos"
        texts = {path.as_posix(): editor.text("quiz.tripos")}
        compiled = compile_spec(
            path.as_posix(), lambda name: texts.get(name) or Path(name).read_text("utf-8"), DataFolders()
        )
        assert [(each.code, each.range.start) for each in found] == [
            (each.code, position(editor.text("quiz.tripos"), each.labels[0].span.start))
            for each in compiled.diagnostics
        ]


def test_a_place_after_an_emoji_is_counted_in_utf_16_units(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "😀 {{ item.question }} (", "😀 {{ item.questio }} ("):
        [found] = editor.diagnostics("quiz.tripos")
        line = editor.text("quiz.tripos").split("\n")[found.range.start.line]
        assert found.range.start.character == len(line[: line.index("questio")].encode("utf-16-le")) // 2
        assert found.range.end.character - found.range.start.character == len("questio")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-32"])
def test_a_client_may_count_in_other_units(quiz: Path, encoding: str) -> None:
    async def converse() -> None:
        client = await begin(quiz, encodings=[lsp.PositionEncodingKind(encoding)])
        assert client.capabilities is not None and client.capabilities.position_encoding == encoding
        text = (quiz / "quiz.tripos").read_text("utf-8").replace("题目：{{ item.question", "题目：{{ item.questio")
        client.open("quiz.tripos", text)
        [found] = await client.diagnostics("quiz.tripos")
        before = text.split("\n")[found.range.start.line].partition("questio")[0]
        assert found.range.start.character == (len(before.encode()) if encoding == "utf-8" else len(before))
        await end(client)

    asyncio.run(converse())


def test_further_places_are_told_beside_a_mistake(editor: Editor) -> None:
    with editor.edited("shared.tripos", "role judge panel", "role judge panel\nrole judge"):
        found = next(each for each in editor.diagnostics("shared.tripos") if each.code == "E0202")
        [other] = found.related_information or ()
        assert other.message == "first declared here"
        assert (other.location.uri, other.location.range.start.line) == (editor.client.uri("shared.tripos"), 1)


def test_what_is_never_used_is_faded(editor: Editor) -> None:
    with editor.edited("quiz.tripos", 'use "shared.tripos"', 'use "shared.tripos"\nrole nobody'):
        [found] = editor.diagnostics("quiz.tripos")
        assert (found.code, found.severity) == ("W0209", lsp.DiagnosticSeverity.Warning)
        assert list(found.tags or ()) == [lsp.DiagnosticTag.Unnecessary]


def test_a_warning_that_is_silenced_is_not_shown(editor: Editor) -> None:
    with editor.edited(
        "quiz.tripos", 'use "shared.tripos"', 'use "shared.tripos"\nrole nobody  # allow W0209: somebody comes later'
    ):
        assert editor.diagnostics("quiz.tripos") == []


def test_a_warning_that_the_project_denies_is_an_error(quiz: Path) -> None:
    async def converse() -> None:
        (quiz / "tripos.toml").write_text('[check]\ndeny = ["W0209"]\n', "utf-8")
        client = await begin(quiz)
        client.open("quiz.tripos", (quiz / "quiz.tripos").read_text("utf-8") + "role nobody\n")
        [found] = await client.diagnostics("quiz.tripos")
        assert found.severity == lsp.DiagnosticSeverity.Error
        await end(client)

    asyncio.run(converse())


def test_a_used_file_is_checked_as_part_of_the_benchmark(starting: Editor) -> None:
    text = (starting.client.folder / "shared.tripos").read_text("utf-8")
    starting.client.open("shared.tripos", text.replace("| shouts |", "| shout  |"))
    assert starting.messages("shared.tripos") == ["there is no scenario `shout`"]


def test_a_change_of_one_file_is_reported_in_another(starting: Editor) -> None:
    starting.client.open("shared.tripos")
    starting.client.open("quiz.tripos")
    assert starting.diagnostics("quiz.tripos") == []
    starting.client.change("shared.tripos", "axis stage", "axis level")
    quiz = starting.client.uri("quiz.tripos")
    starting.wait(starting.client.until(lambda: bool(starting.client.published[quiz].diagnostics)))
    assert "there is no axis `stage`" in {
        each.message.split("\n")[0] for each in starting.client.published[quiz].diagnostics
    }


def test_a_file_that_no_benchmark_uses_lacks_none(starting: Editor) -> None:
    starting.client.open("alone.tripos", "axis stage { easy, hard }\n")
    assert starting.diagnostics("alone.tripos") == []


def test_a_file_that_no_benchmark_uses_is_still_read(starting: Editor) -> None:
    starting.client.open("alone.tripos", "rol judge\nrole judge\nrole judge\n")
    assert [each.code for each in starting.diagnostics("alone.tripos")] == ["E0204", "E0202"]


def test_a_mistake_in_one_of_two_benchmarks_says_in_which(starting: Editor) -> None:
    other = (starting.client.folder / "quiz.tripos").read_text("utf-8").replace("shouts", "whispers")
    (starting.client.folder / "other.tripos").write_text(other, "utf-8")
    starting.client.open("shared.tripos")
    found = starting.diagnostics("shared.tripos")
    assert "note: as part of other.tripos" in next(each.message for each in found if "`shouts`" in each.message)


def test_the_last_of_many_changes_is_what_is_reported(starting: Editor) -> None:
    starting.client.open("quiz.tripos")
    for number in range(20):
        starting.client.change("quiz.tripos", "measure overall", f"role extra{number}\nmeasure overall")
    found = starting.diagnostics("quiz.tripos")
    assert [each.code for each in found] == ["W0209"] * 20


def test_closing_the_last_document_takes_its_diagnostics_away(starting: Editor) -> None:
    text = (starting.client.folder / "quiz.tripos").read_text("utf-8")
    uri = starting.client.open("quiz.tripos", text + "measure x = mean(y)\n")
    assert starting.diagnostics("quiz.tripos") != []
    starting.client.close("quiz.tripos")
    starting.wait(starting.client.until(lambda: not starting.client.published[uri].diagnostics))


def test_data_that_changes_on_disk_is_looked_at_again(quiz: Path) -> None:
    async def converse() -> None:
        client = await begin(quiz, watching=True)
        uri = client.open("quiz.tripos")
        assert await client.diagnostics("quiz.tripos") == []
        (quiz / "items.jsonl").write_text(json.dumps({"language": "en", "stage": "easy"}), "utf-8")
        event = lsp.FileEvent(client.uri("items.jsonl"), lsp.FileChangeType.Changed)
        client.connection.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
        await client.until(lambda: bool(client.published[uri].diagnostics))
        assert {each.code for each in client.published[uri].diagnostics} == {"E0304"}
        assert client.registered == [lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES]
        await end(client)

    asyncio.run(converse())


def test_a_quick_fix_mends_a_mistake(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "measure overall = mean(rubric)", "measure overall = mean(rubrik)"):
        [found] = editor.diagnostics("quiz.tripos")
        params = lsp.CodeActionParams(
            editor.document("quiz.tripos"), found.range, lsp.CodeActionContext(diagnostics=[found])
        )
        [action] = editor.wait(editor.client.connection.text_document_code_action_async(params)) or ()
        assert isinstance(action, lsp.CodeAction) and action.edit is not None
        assert action.title == "change `rubrik` to `rubric`"
        [edit] = (action.edit.changes or {})[editor.client.uri("quiz.tripos")]
        assert (edit.range, edit.new_text) == (found.range, "rubric")


def test_the_server_ends_when_it_is_told_to(quiz: Path) -> None:
    async def converse() -> int | None:
        client = await begin(quiz, alone=True)
        client.open("quiz.tripos")
        await client.diagnostics("quiz.tripos")
        return await end(client)

    assert asyncio.run(converse()) == 0
