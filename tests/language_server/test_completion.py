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


def test_statements_at_the_top_of_a_file_are_proposed(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "measure overall", "\nmeasure overall"):
        found = editor.completions("quiz.tripos", "|\nmeasure overall")
    assert has(found, "scenario", "axis", "role", "measure", "use")
    assert not {"ask", "prompt"} & set(found)


def test_a_space_at_the_start_of_a_line_asks_for_nothing(editor: Editor) -> None:
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


def test_types_are_proposed_after_the_name_of_a_field(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "  answer    text secret", "  answer    text secret\n  points "):
        found = editor.completions("quiz.tripos", "  points |\n")
    assert has(found, "text", "integer", "bool", "list", "choice", "stage", "secret", "from")


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


def test_a_later_step_is_not_proposed(editor: Editor) -> None:
    with editor.edited(
        "quiz.tripos",
        "  ask reply by candidate {\n    prompt en",
        "  let x = \n  ask reply by candidate {\n    prompt en",
    ):
        found = editor.completions("quiz.tripos", "let x = |\n")
    assert "item" in found and "reply" not in found


def test_fields_are_proposed_after_a_dot(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "words(reply.said) > 3", "words(reply.) > 3"):
        found = editor.completions("quiz.tripos", "words(reply.|) > 3", ".")
    assert set(found) == {"said", "sure", "text", "thinking", "raw", "prompt"}


def test_fields_are_proposed_in_a_placeholder_that_is_not_closed(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "{{ item.question }} ({{ stage }})", "{{ item."):
        found = editor.completions("quiz.tripos", "😀 {{ item.|", ".")
    assert list(found) == ["language", "stage", "question", "answer"]
    assert found["answer"].detail == "secret text"


def test_names_are_proposed_in_a_placeholder(editor: Editor) -> None:
    found = editor.completions("quiz.tripos", "{{ |item.question }} ({{ stage }})")
    assert has(found, "item", "stage", "language", "bullets")


def test_prose_is_left_alone(editor: Editor) -> None:
    assert editor.completions("quiz.tripos", "Shout at| {{") == {}
    assert editor.completions("quiz.tripos", "# A qu|iz") == {}


@pytest.mark.parametrize("typed", ["stage == ", "stage != ", "stage in (", "stage in (easy, "])
def test_the_values_of_a_choice_are_proposed_first_where_it_is_compared(editor: Editor, typed: str) -> None:
    with editor.edited("quiz.tripos", "  score long", f"  score x = 1 when {typed}\n  score long"):
        found = editor.completions("quiz.tripos", f"when {typed}|\n")
    assert list(found)[:2] == ["easy", "hard"]
    assert found["easy"].detail == 'en "easy", zh "简单"'


def test_the_values_of_a_field_are_proposed_after_equals(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "item.stage == easy", "item.stage == "):
        assert list(editor.completions("quiz.tripos", "item.stage == |\n"))[:2] == ["easy", "hard"]


def test_names_and_values_are_proposed_in_the_condition_of_a_setting(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "    returns {", "    temperature 0.7 when \n    returns {"):
        assert has(editor.completions("quiz.tripos", "temperature 0.7 when |\n", " "), "item", "stage", "language")
    with editor.edited("quiz.tripos", "    returns {", "    temperature 0.7 when item.stage == \n    returns {"):
        assert list(editor.completions("quiz.tripos", "when item.stage == |\n", " "))[:2] == ["easy", "hard"]


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


def test_scores_and_aggregates_are_proposed_in_a_measure(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "measure overall = mean(rubric)", "measure overall = mean("):
        found = editor.completions("quiz.tripos", "measure overall = mean(|")
    assert has(found, "rubric", "long", "CLEAR", "mean", "share")
    assert "words" not in found


def test_dimensions_are_proposed_after_by(editor: Editor) -> None:
    found = editor.completions("quiz.tripos", "by stage, |scenario")
    assert has(found, "stage", "language", "metric", "scenario", "evaluator")


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


@pytest.mark.parametrize(
    ("typed", "label", "active"),
    [
        ("rubric(", "rubric(task: text, response: text) -> allocated metrics", 0),
        ("rubric(item.question, ", "rubric(task: text, response: text) -> allocated metrics", 1),
        ("rubric(response: ", "rubric(task: text, response: text) -> allocated metrics", 1),
        ("rubric(words(", "words(text: text) -> integer", 0),
        ("rubric(words(item.question), ", "rubric(task: text, response: text) -> allocated metrics", 1),
    ],
)
def test_the_parameter_that_is_being_written_is_shown(editor: Editor, typed: str, label: str, active: int) -> None:
    with editor.edited("quiz.tripos", "  score long", f"  score {typed}\n  score long"):
        params = lsp.SignatureHelpParams(**editor.client.at("quiz.tripos", f"  score {typed}|\n"))
        found = editor.wait(editor.client.connection.text_document_signature_help_async(params))
    assert found is not None
    [signature] = found.signatures
    assert (signature.label, found.active_parameter) == (label, active)


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


def test_the_figure_of_an_end_of_an_interval_is_shown(editor: Editor) -> None:
    for typed, label in (("lower(", "lower(figure)"), ("upper(overall - mean(", "mean(values: scores)")):
        with editor.edited("quiz.tripos", "measure overall", f"expect {typed}\nmeasure overall"):
            params = lsp.SignatureHelpParams(**editor.client.at("quiz.tripos", f"expect {typed}|\n"))
            found = editor.wait(editor.client.connection.text_document_signature_help_async(params))
        assert found is not None and found.signatures[0].label.startswith(label[:-1])


def test_outside_of_a_call_there_is_no_signature(editor: Editor) -> None:
    params = lsp.SignatureHelpParams(**editor.client.at("quiz.tripos", "measure over|all"))
    assert editor.wait(editor.client.connection.text_document_signature_help_async(params)) is None
