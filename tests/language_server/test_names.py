"""What a name means, where it is declared and used, and giving it another text."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from talking import Editor, begin, end

from tripos_compiler.compile import Compilation, compile_spec
from tripos_runtime.datasets.data_files import DataFolders


def compiled(folder: Path, texts: Mapping[str, str], main: str = "quiz.tripos") -> Compilation:
    """Return what a spec comes to with other texts than those on disk."""

    def read(path: str) -> str:
        return texts.get(Path(path).name) or Path(path).read_text("utf-8")

    return compile_spec((folder / main).as_posix(), read, DataFolders())


# --- hover ---


@pytest.mark.parametrize(
    ("marked", "wanted"),
    [
        ("{{ item.quest|ion }} ({{ stage }})", ["question text", "in dataset `item`"]),
        ("words(reply.sa|id)", ["said text", "in ask `reply`"]),
        ("item.stage == ea|sy", ["value easy", 'en "easy", zh "简单"', "in axis `stage`"]),
        ("over item where item.|stage", ["field stage", "- `easy`", "in dataset `item`"]),
        ("long = wor|ds(", ["words(text: text) -> integer", "Return the number of words of a text."]),
        ("measure easy    = me|an(", ["mean(values: scores)", "the arithmetic mean"]),
        (
            "as|k reply by candidate {\n    prompt en",
            [
                "ask NAME by ROLE [each ELEMENTS [where CONDITION] [at most COUNT]] [when COND] { … }",
                "one model call for each row and sample",
            ],
        ),
        ("answer    text secr|et", ["NAME [TYPE] [secret]"]),
        ("answer    te|xt secret", ["any text"]),
        ("scenario su|ms", ["4 contexts", "2 items", "candidate: 2 calls", "judge: 0 to 2 calls"]),
        ("score rubric(ta|sk: item.question, response: reply.text)\n}\n\nscenario", ["parameter task: text"]),
        ("dataset it|em", ["- `question  text`", "- `answer    text secret`"]),
    ],
)
def test_what_is_under_the_cursor_is_explained(editor: Editor, marked: str, wanted: list[str]) -> None:
    shown = editor.hover("quiz.tripos", marked)
    assert shown is not None
    assert not [part for part in wanted if part not in shown], shown


@pytest.mark.parametrize(
    ("gate", "wanted"),
    [
        ("expect low|er(overall) >= 3", "the lower end of the 95 % interval of a figure"),
        ("expect 3 >= (upp|er(overall))", "upper(figure)"),
        ("expect lower(mean(low|er(reply.text) == 1)) >= 3", "lower(text: text) -> text"),
        ("measure low = low|er(overall)", "lower(text: text) -> text"),
    ],
)
def test_an_end_of_an_interval_is_explained_where_an_expect_takes_one(editor: Editor, gate: str, wanted: str) -> None:
    with editor.edited("quiz.tripos", "measure overall", f"{gate.replace('|', '')}\nmeasure overall"):
        assert wanted in (editor.hover("quiz.tripos", gate) or "")


@pytest.mark.parametrize("marked", ["# A qu|iz in two", 'zh "😀 题|目', 'from "it|ems.jsonl"'])
def test_prose_has_no_hover(editor: Editor, marked: str) -> None:
    assert editor.hover("quiz.tripos", marked) is None


def test_a_secret_field_says_so(editor: Editor) -> None:
    assert "never reaches the compared role" in (editor.hover("quiz.tripos", "  ans|wer    text") or "")


def test_a_panel_says_so(editor: Editor) -> None:
    assert "grades everything" in (editor.hover("shared.tripos", "role jud|ge panel") or "")


# --- declarations and uses ---


@pytest.mark.parametrize(
    ("marked", "wanted"),
    [
        ("ask reply by candi|date {\n    prompt en", ("shared.tripos", "candidate")),
        ("{{ item.quest|ion }} ({{ stage }})", ("quiz.tripos", "question")),
        ("{{ it|em.question }} ({{ stage }})", ("quiz.tripos", "item")),
        ("item.stage == ea|sy", ("shared.tripos", "easy")),
        ("words(reply.sa|id)", ("quiz.tripos", "said")),
        ("overall = mean(rub|ric)", ("shared.tripos", "rubric")),
        ("score rubric(ta|sk: item.question, response: reply.text)\n}\n\nscenario", ("shared.tripos", "task")),
    ],
)
def test_a_name_leads_to_its_declaration(editor: Editor, marked: str, wanted: tuple[str, str]) -> None:
    assert editor.definition("quiz.tripos", marked) == [wanted]


@pytest.mark.parametrize(
    ("marked", "file"), [('use "sha|red.tripos"', "shared.tripos"), ('from "it|ems.jsonl"', "items.jsonl")]
)
def test_a_path_leads_to_its_file(editor: Editor, marked: str, file: str) -> None:
    [(name, _)] = editor.definition("quiz.tripos", marked)
    assert name == file


def test_every_use_of_a_name_is_found_in_every_file(editor: Editor) -> None:
    lines = editor.text("quiz.tripos").split("\n")
    used = [number for number, line in enumerate(lines, 1) if "rubric(" in line or "(rubric" in line]
    assert editor.references("shared.tripos", "scorer rub|ric", declared=False) == [
        *[("quiz.tripos", number) for number in used],
        ("shared.tripos", 21),
    ]


def test_the_declaration_is_among_the_uses_where_it_is_asked_for(editor: Editor) -> None:
    with_it = editor.references("shared.tripos", "role candi|date")
    assert set(with_it) - set(editor.references("shared.tripos", "role candi|date", declared=False)) == {
        ("shared.tripos", 1)
    }


def test_the_uses_of_a_name_in_a_document_are_marked(editor: Editor) -> None:
    found = editor.request("document_highlight", "quiz.tripos", "ask rep|ly by candidate {\n    prompt en") or ()
    kinds = [each.kind for each in found]
    assert kinds == [lsp.DocumentHighlightKind.Write, lsp.DocumentHighlightKind.Read, lsp.DocumentHighlightKind.Read]


# --- renaming ---


@pytest.mark.parametrize(
    ("file", "marked", "new"),
    [
        ("shared.tripos", "role candi|date", "model"),
        ("shared.tripos", "axis sta|ge", "level"),
        ("shared.tripos", "scorer rub|ric", "grade"),
        ("shared.tripos", "rubric(ta|sk: text", "question"),
        ("shared.tripos", "metric CLE|AR", "清晰"),
        ("quiz.tripos", "scenario su|ms", "additions"),
        ("quiz.tripos", "dataset it|em", "row"),
        ("quiz.tripos", "  quest|ion  text", "asked"),
        ("quiz.tripos", "returns { sa|id", "reply_text"),
        ("quiz.tripos", "ask rep|ly by candidate {\n    prompt en", "answer"),
        ("quiz.tripos", "score lo|ng", "lengthy"),
        ("quiz.tripos", "measure over|all", "total"),
    ],
)
def test_after_a_rename_the_spec_still_compiles(editor: Editor, file: str, marked: str, new: str) -> None:
    texts = editor.renamed(file, marked, new)
    compilation = compiled(editor.client.folder, texts)
    assert compilation.plan is not None, compilation.diagnostics
    assert compilation.diagnostics == ()
    assert new in texts[file]


def test_a_rename_reaches_conditions_placeholders_tables_and_slices(editor: Editor) -> None:
    texts = editor.renamed("quiz.tripos", "scenario su|ms", "additions")
    assert "| additions   |   x   |" in texts["shared.tripos"]
    texts = editor.renamed("shared.tripos", "axis sta|ge", "level")
    assert "item.level == easy" in texts["quiz.tripos"]
    assert "（{{ level }}）" in texts["quiz.tripos"]
    assert "by level, scenario" in texts["quiz.tripos"]


def test_a_renamed_field_is_still_read_from_its_column(editor: Editor) -> None:
    assert (
        '  asked  text from "question"\n' in editor.renamed("quiz.tripos", "  quest|ion  text", "asked")["quiz.tripos"]
    )


def test_the_rows_of_a_data_set_are_renamed_apart_from_it(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "over item where item.stage == easy", "over item as it where it.stage == easy"):
        params = lsp.RenameParams(new_name="one", **editor.client.at("quiz.tripos", "as i|t where"))
        edit = editor.wait(editor.client.connection.text_document_rename_async(params))
        assert edit is not None and edit.changes is not None
        assert len(edit.changes[editor.client.uri("quiz.tripos")]) == 2


@pytest.mark.parametrize(
    ("file", "marked"),
    [
        ("quiz.tripos", "as|k reply by candidate {\n    prompt en"),
        ("quiz.tripos", "long = wor|ds("),
        ("quiz.tripos", "answer    te|xt secret"),
        ("quiz.tripos", "context lang|uage * stage\n  over item\n"),
        ("quiz.tripos", "reply.te|xt)\n}\n\nscenario"),
        ("quiz.tripos", "# A qu|iz in"),
    ],
)
def test_keywords_types_functions_and_what_is_built_in_cannot_be_renamed(
    editor: Editor, file: str, marked: str
) -> None:
    assert editor.request("prepare_rename", file, marked) is None


def test_what_can_be_renamed_is_shown_first(editor: Editor) -> None:
    found = editor.request("prepare_rename", "quiz.tripos", "{{ item.quest|ion }} ({{ stage }})")
    assert isinstance(found, lsp.PrepareRenamePlaceholder)
    assert found.placeholder == "question"
    assert found.range.end.character - found.range.start.character == len("question")


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("two words", "`two words` is not a name"),
        ("1st", "`1st` is not a name"),
        ("true", "`true` is not a name"),
        ("", "`` is not a name"),
        ("shouts", "not to `shouts`: "),
    ],
)
def test_a_new_name_that_is_none_or_is_taken_is_refused(editor: Editor, new: str, why: str) -> None:
    with pytest.raises(JsonRpcException, match=why):
        editor.renamed("quiz.tripos", "scenario su|ms", new)


def test_a_value_that_the_data_has_is_not_renamed(editor: Editor) -> None:
    with pytest.raises(JsonRpcException, match="'hard' is not"):
        editor.renamed("shared.tripos", "  ha|rd  en", "difficult")


def test_a_name_is_renamed_in_every_benchmark_that_has_it(quiz: Path) -> None:
    async def converse() -> dict[str, str]:
        (quiz / "other.tripos").write_text((quiz / "quiz.tripos").read_text("utf-8"), "utf-8")
        client = await begin(quiz)
        client.open("shared.tripos")
        params = lsp.RenameParams(new_name="model", **client.at("shared.tripos", "role candi|date"))
        edit = await client.connection.text_document_rename_async(params)
        await end(client)
        assert edit is not None and edit.changes is not None
        return {uri.rpartition("/")[2]: str(len(edits)) for uri, edits in edit.changes.items()}

    assert asyncio.run(converse()) == {"other.tripos": "2", "quiz.tripos": "2", "shared.tripos": "1"}
