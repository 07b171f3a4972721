"""Cells of data files in the shapes that published data sets have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compiling import compile_files, plan_of

from tests.conftest import SHARED_DATA
from tests.each import each
from tripos_compiler.language.rows import DoesNotFit, read_value
from tripos_compiler.plan import (
    ChoiceType,
    DialogueType,
    JsonType,
    ListType,
    PathType,
    RecordType,
    SetType,
    TextType,
    Type,
)
from tripos_runtime.datasets.data_files import DataFolders

WHO = RecordType(fields={"a": TextType(), "b": ListType(of=TextType())})
TURNS = [{"speaker": "Teacher", "text": "Why?"}, {"speaker": "Student", "text": "Because."}]
SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "rows.jsonl" {
  question text
  answer   text? secret
}
scenario answering {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, default(item.answer, ""))
}
"""

PING = {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}, "required": []}}


@each(
    "type_, raw, value",
    [
        (TextType(), ["one", "two"], "one\ntwo"),
        (TextType(), {"Question": "Which?", "Options": ["A. 1", "B. 2"]}, "Question: Which?\nOptions: A. 1\nB. 2"),
        (ListType(of=TextType()), ["C", ["a", "b"], {"(1)": "c"}], ["C", "a\nb", "(1): c"]),
        (ListType(of=TextType()), '["a", "b"]', ["a", "b"]),
        (ListType(of=TextType()), " []", []),
        (SetType(of=ChoiceType(values=("A", "B"))), '["B", "A", "B"]', frozenset({"A", "B"})),
        (WHO, {"a": "x", "b": ["y"]}, {"a": "x", "b": ["y"]}),
        (WHO, '{"a": "x", "b": []}', {"a": "x", "b": []}),
        (ListType(of=WHO), '[{"a": "x", "b": []}]', [{"a": "x", "b": []}]),
        (PathType(), "Algebra / Sets", "Algebra / Sets"),
        (PathType(), ["Algebra", "Sets"], "Algebra / Sets"),
        (DialogueType(), [{"user": "Teacher", "text": "Why?"}, {"text": "Because.", "user": "Student"}], TURNS),
        (DialogueType(), [{"from": "Teacher", "value": "Why?"}, {"role": "Student", "utterance": "Because."}], TURNS),
        (DialogueType(), [{"Teacher": "Why?"}, {"Student": "Because."}], TURNS),
        (DialogueType(), ["Teacher: Why?", "Student: Because."], TURNS),
        (DialogueType(), "Teacher: Why?|EOM|Student: Because.", TURNS),
        (DialogueType(), "Teacher: Why?\n\n Student : Because.", TURNS),
        (JsonType(), '{"a": [1, null]}', {"a": [1, None]}),
        (JsonType(), "5", "5"),
        (JsonType(form="calls"), '[{"f": {"a": [1, ""]}}]', [{"f": {"a": [1, ""]}}]),
        (JsonType(form="calls"), [], []),
        (JsonType(form="tools"), {"type": "function", "function": {"name": "f"}}, [PING]),
        (JsonType(form="tools"), '[{"name": "f", "parameters": {"type": "dict"}}]', [PING]),
        (DialogueType(), '[{"role": "Teacher", "content": "Why?"}, {"role": "Student", "content": "Because."}]', TURNS),
    ],
)
def test_a_cell_is_read_as_its_type(type_: Type, raw: Any, value: Any) -> None:
    assert read_value(type_, raw, {}) == value


@each(
    "type_, raw",
    [
        (TextType(), ["one", 2]),
        (TextType(), {"a": None}),
        (ListType(of=TextType()), "a, b"),
        (ListType(of=TextType()), ""),
        (ListType(of=TextType()), "[1, 2]"),
        (ListType(of=TextType()), '["a"'),
        (WHO, '{"a": "x"}'),
        (WHO, "[]"),
        (PathType(), ""),
        (PathType(), []),
        (PathType(), ["Algebra", 1]),
        (DialogueType(), "Why? Because."),
        (DialogueType(), ""),
        (DialogueType(), "[1]"),
        (DialogueType(), "Teacher: Why?|EOM|Because."),
        (DialogueType(), [{"speaker": "Teacher", "text": None}]),
        (DialogueType(), {"Teacher": "Why?"}),
        (JsonType(), None),
        (JsonType(), "[1"),
        (JsonType(form="tools"), []),
        (JsonType(form="tools"), [{"name": ""}]),
        (JsonType(form="tools"), [{"name": "f"}, {"name": "f"}]),
        (JsonType(form="tools"), [{"name": "f", "parameters": {"properties": {"a": {"type": "city"}}}}]),
        (JsonType(form="tools"), [{"name": "f", "parameters": {"required": ["a"]}}]),
        (JsonType(form="calls"), [{"f": {"a": 1}}]),
        (JsonType(form="calls"), [{"f": {}, "g": {}}]),
        (JsonType(form="calls"), "f"),
    ],
)
def test_a_cell_that_is_something_else_is_refused(type_: Type, raw: Any) -> None:
    with pytest.raises(DoesNotFit):
        read_value(type_, raw, {})


def test_a_line_of_a_transcript_without_a_speaker_goes_on_with_the_turn() -> None:
    told = "Tutor: Solve it.\nStudent: First I add.\nDividing both sides by 2, we get: x = 3\nTutor: Yes."
    turns = read_value(DialogueType(), told, {})
    assert [turn["speaker"] for turn in turns] == ["Tutor", "Student", "Tutor"]
    assert turns[1]["text"] == "First I add.\nDividing both sides by 2, we get: x = 3"


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the real data sets are not here")
@pytest.mark.parametrize(
    ("path", "column", "turns"),
    [
        ("mathdial/test.jsonl", "conversation", 7028),
        ("mrbench/MRBench_V1.json", "conversation_history", 982),
        ("bridge/test.json", "c_h", 840),
        ("mathtutorbench/mathdial_bridge.json", "dialog_history", 3543),
    ],
)
def test_the_dialogues_of_the_real_data_sets_are_read_whole(path: str, column: str, turns: int) -> None:
    reader = DataFolders((SHARED_DATA,))
    (file,) = reader.find(path, "spec.tripos")
    assert sum(len(read_value(DialogueType(), row[column], {})) for row in reader.rows(file)) == turns


def test_rows_hold_the_value_of_a_choice_once() -> None:
    type_ = ChoiceType(values=("basic", "exam"))
    assert read_value(type_, "".join(["ex", "am"]), {}) is type_.values[1]


def test_some_texts_may_be_lists_but_not_all_of_them(tmp_path: Path) -> None:
    rows = '{"question": "a"}\n{"question": ["b", "c"]}\n'
    assert plan_of(compile_files(tmp_path, {"spec.tripos": SPEC, "rows.jsonl": rows})).scenarios[0].row_count == 2
    found = compile_files(tmp_path, {"spec.tripos": SPEC, "rows.jsonl": rows.split("\n")[1]}).diagnostics
    assert [(item.code, item.message) for item in found] == [("E0305", "`question` is a list or record in every row")]


def test_a_column_that_only_later_rows_have_is_missing_from_the_earlier_ones(tmp_path: Path) -> None:
    rows = '{"answer": "x"}\n' * 5 + '{"question": "a"}\n'
    found = compile_files(tmp_path, {"spec.tripos": SPEC, "rows.jsonl": rows}).diagnostics
    assert [item.message for item in found] == [
        "2 more rows of rows.jsonl have nothing in `question`",
        "row 1 of rows.jsonl has nothing in `question`",
        "row 2 of rows.jsonl has nothing in `question`",
        "row 3 of rows.jsonl has nothing in `question`",
    ]


def test_a_column_that_no_row_has_is_said_once_for_all_files(tmp_path: Path) -> None:
    files = {"spec.tripos": SPEC.replace("rows.jsonl", "rows*.jsonl")}
    files |= {f"rows{number}.jsonl": '{"qestion": "a"}\n' for number in range(3)}
    (found,) = compile_files(tmp_path, files).diagnostics
    assert (found.code, found.message) == ("E0304", "rows0.jsonl and 2 more have no column `question`")
    assert found.help == 'did you mean `qestion`? write `from "qestion"`'
