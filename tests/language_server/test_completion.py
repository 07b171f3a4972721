"""What is proposed where, and help with the arguments of a call."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp
from talking import Editor


def has(found: dict[str, lsp.CompletionItem], *wanted: str) -> bool:
    return not [label for label in wanted if label not in found]


def test_statements_of_the_block_are_proposed_with_snippets(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "  score long", "  \n  score long"):
        found = editor.completions("quiz.tripos", "  |\n  score long")
    assert has(found, "ask", "let", "score", "over", "context", "measure")
    assert not {"role", "prompt", "metric", "samples"} & set(found)
    edit = found["ask"].text_edit
    assert isinstance(edit, lsp.TextEdit)
    assert (found["ask"].insert_text_format, edit.new_text) == (
        lsp.InsertTextFormat.Snippet,
        "ask ${1:name} by ${2:role} {\n\t$0\n}",
    )


ASK = "  ask reply by candidate {\n    prompt en"
SETTING = "    returns {"
MEASURE = "measure overall = mean(rubric)"


@pytest.mark.parametrize(("text", "typed", "trigger", "wanted", "others"), [
    ("measure overall", "@\nmeasure overall", "", "scenario axis role measure use", "ask prompt"),
    ("  answer    text secret", "  answer    text secret\n  points @\n", "",
     "text integer bool list choice stage secret from", ""),
    (ASK, f"  let x = @\n{ASK}", "", "item", "reply"),  # a later step
    ("{{ item.question }} ({{ stage }})", "{{ @item.question }} ({{ stage }})", "", "item stage language bullets", ""),
    (SETTING, f"    temperature 0.7 when @\n{SETTING}", " ", "item stage language", ""),
    (MEASURE, "measure overall = mean(@", "", "rubric long CLEAR mean share", "words"),
    ("by stage, scenario", "by stage, @scenario", "", "stage language metric scenario evaluator", ""),
], ids=["the top of a file", "types", "a later step", "a placeholder", "a setting", "a measure", "dimensions"])  # fmt: skip
def test_what_can_stand_here_is_proposed(
    editor: Editor, text: str, typed: str, trigger: str, wanted: str, others: str
) -> None:
    with editor.edited("quiz.tripos", text, typed.replace("@", "")):
        found = editor.completions("quiz.tripos", typed, trigger, cursor="@")
    assert has(found, *wanted.split())
    assert not set(others.split()) & set(found)


def test_in_prose_and_at_the_start_of_a_line_nothing_is_proposed(editor: Editor) -> None:
    assert editor.completions("quiz.tripos", "Shout at| {{") == {}
    assert editor.completions("quiz.tripos", "# A qu|iz") == {}
    with editor.edited("quiz.tripos", "  score long", "   \n  score long"):
        assert editor.completions("quiz.tripos", "   |\n  score long", " ") == {}


def test_what_is_typed_already_is_replaced(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "  score long", "  sco\n  score long"):
        edit = editor.completions("quiz.tripos", "  sco|\n  score long")["score"].text_edit
    assert isinstance(edit, lsp.TextEdit)
    assert (edit.range.start.character, edit.range.end.character) == (2, 5)


@pytest.mark.parametrize(
    ("file", "text", "typed", "wanted"),
    [
        ("quiz.tripos", "  score long", "  ask again by @\n  score long", ["candidate", "judge"]),
        (
            "quiz.tripos",
            "context language * stage\n  over item\n",
            "context language * @\n  over item\n",
            ["stage", "language"],
        ),
        ("quiz.tripos", "over item where", "over it@ where", ["item"]),
        ("quiz.tripos", "    returns {", "    system @\n    returns {", ["en", "zh"]),
        ("quiz.tripos", "measure overall = mean(rubric)", "measure overall = easy[stage: @]", ["easy", "hard"]),
        ("shared.tripos", "| shouts |", "| sho@ |", ["sums", "shouts"]),
        ("shared.tripos", "| CLEAR |", "| CL@ |", ["CLEAR"]),
    ],
    ids=["roles", "axes", "data sets", "languages", "values", "scenarios", "metrics"],
)
def test_names_of_the_kind_that_can_stand_here_are_proposed_and_no_others(
    editor: Editor, file: str, text: str, typed: str, wanted: list[str]
) -> None:
    trigger = " " if " @\n" in typed else ""
    with editor.edited(file, text, typed.replace("@", "")):
        assert list(editor.completions(file, typed, trigger, cursor="@")) == wanted


def test_names_in_scope_and_functions_are_proposed_in_an_expression(editor: Editor) -> None:
    with editor.edited(
        "quiz.tripos",
        "  score rubric(task: item.question, response: reply.text)\n}\n\nscenario",
        "  score x = \n}\n\nscenario",
    ):
        found = editor.completions("quiz.tripos", "score x = |\n")
    assert has(found, "item", "reply", "stage", "language", "words", "same_number", "rubric")
    assert found["words"].detail == "words(text: text) -> integer"
    assert list(found).index("reply") < list(found).index("words")


def test_fields_are_proposed_after_a_dot(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "words(reply.said) > 3", "words(reply.) > 3"):
        found = editor.completions("quiz.tripos", "words(reply.|) > 3", ".")
    assert set(found) == {"said", "sure", "text", "thinking", "raw", "prompt"}


def test_fields_are_proposed_in_a_placeholder_that_is_not_closed(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "{{ item.question }} ({{ stage }})", "{{ item."):
        found = editor.completions("quiz.tripos", "😀 {{ item.|", ".")
    assert list(found) == ["language", "stage", "question", "answer"]
    assert found["answer"].detail == "secret text"


@pytest.mark.parametrize(("text", "typed"), [
    *(("  score long", f"  score x = 1 when {each}@\n  score long")
      for each in ("stage == ", "stage != ", "stage in (", "stage in (easy, ")),
    ("item.stage == easy", "item.stage == @"),
    (SETTING, f"    temperature 0.7 when item.stage == @\n{SETTING}"),
])  # fmt: skip
def test_the_values_of_a_choice_are_proposed_first_where_it_is_compared(editor: Editor, text: str, typed: str) -> None:
    with editor.edited("quiz.tripos", text, typed.replace("@", "")):
        found = editor.completions("quiz.tripos", typed, cursor="@")
    assert list(found)[:2] == ["easy", "hard"]
    assert found["easy"].detail == 'en "easy", zh "简单"'


def test_files_are_proposed_in_a_path(editor: Editor) -> None:
    with editor.edited("quiz.tripos", 'from "items.jsonl"', 'from "it"'):
        assert list(editor.completions("quiz.tripos", 'from "it|"')) == ["items.jsonl"]
    with editor.edited("quiz.tripos", 'use "shared.tripos"', 'use "'):
        assert set(editor.completions("quiz.tripos", 'use "|')) == {"quiz.tripos", "shared.tripos"}


def test_a_path_leads_only_to_what_the_benchmark_may_read(starting: Editor, quiz: Path) -> None:
    (quiz / "rows.csv.gz").touch()
    (quiz / "notes.txt").touch()
    (quiz / "data").mkdir()
    (quiz / "data" / "shipped.tsv").touch()
    (quiz / "far").symlink_to("/etc")
    (quiz / "gone").symlink_to("gone")
    starting.client.open("quiz.tripos")

    def proposed(text: str, typed: str) -> set[str]:
        with starting.edited("quiz.tripos", text, typed.replace("|", "")):
            return set(starting.completions("quiz.tripos", typed))

    assert proposed('from "items.jsonl"', 'from "|') == {"items.jsonl", "rows.csv.gz", "data/", "shipped.tsv"}
    assert proposed('from "items.jsonl"', 'from "data/|') == {"shipped.tsv"}
    joined = 'stage\n  join "|'
    assert proposed("stage\n  question", f"{joined}\n  question") == {
        "items.jsonl",
        "rows.csv.gz",
        "data/",
        "shipped.tsv",
    }
    for outside in ("/", "/etc/", "../../", "far/"):
        assert proposed('from "items.jsonl"', f'from "{outside}|') == set()
    assert proposed('use "shared.tripos"', 'use "|') == {"quiz.tripos", "shared.tripos", "data/"}
    assert proposed('use "shared.tripos"', 'use "/|') == proposed('use "shared.tripos"', 'use "far/|') == set()


def test_the_names_of_arguments_are_proposed_in_a_call(editor: Editor) -> None:
    with editor.edited(
        "quiz.tripos",
        "score rubric(task: item.question, response: reply.text)\n}\n\nscenario",
        "score rubric(\n}\n\nscenario",
    ):
        found = editor.completions("quiz.tripos", "score rubric(|\n")
    edit = found["task"].text_edit
    assert isinstance(edit, lsp.TextEdit) and edit.new_text == "task: "
    assert list(found)[:2] == ["task", "response"]


def test_the_ends_of_intervals_are_proposed_in_an_expect_alone(editor: Editor) -> None:
    for typed, proposed in (
        ("expect ", True),
        ("expect 3 <= ", True),
        ("expect mean(", False),
        ("measure x = ", False),
    ):
        with editor.edited("quiz.tripos", "measure overall", f"{typed}\nmeasure overall"):
            found = editor.completions("quiz.tripos", f"{typed}|\n")
        assert has(found, "easy")
        assert ("lower" in found, "upper" in found) == (proposed, proposed), typed


RUBRIC = "rubric(task: text, response: text) -> allocated metrics"


@pytest.mark.parametrize(
    ("text", "typed", "label", "active"),
    [
        ("  score long", "  score rubric(", RUBRIC, 0),
        ("  score long", "  score rubric(item.question, ", RUBRIC, 1),
        ("  score long", "  score rubric(response: ", RUBRIC, 1),
        ("  score long", "  score rubric(words(", "words(text: text) -> integer", 0),
        ("  score long", "  score rubric(words(item.question), ", RUBRIC, 1),
        ("measure overall", "expect lower(", "lower(figure", 0),
        ("measure overall", "expect upper(overall - mean(", "mean(values: scores", 0),
    ],
)
def test_the_parameter_that_is_being_written_is_shown(
    editor: Editor, text: str, typed: str, label: str, active: int
) -> None:
    with editor.edited("quiz.tripos", text, f"{typed}\n{text}"):
        found = editor.request("signature_help", "quiz.tripos", f"{typed}|\n")
    assert found is not None
    [signature] = found.signatures
    assert signature.label.startswith(label) and found.active_parameter == active


def test_outside_of_a_call_there_is_no_signature(editor: Editor) -> None:
    assert editor.request("signature_help", "quiz.tripos", "measure over|all") is None
