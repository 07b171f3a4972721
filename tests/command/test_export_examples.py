"""Supervised examples out of a spec's data: what they say, and that no question that is asked is among them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SPEC = """benchmark sums "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
dataset worked from "worked.jsonl" like item
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.answer)
}
export lessons {
  examples from worked where worked.answer != "no"
  prompt "Q: {{ worked.question }}"
  reply  worked.answer
}
"""
ASKED = {"question": "Ann has 12 apples and gives 5 of them to Ben. How many are left?", "answer": "7"}
NEAR = {"question": "Ann has 12 apples, and gives 5 of them to Tom. How many are left?", "answer": "7"}
OTHER = {"question": "Which planet of our system is the nearest to the sun?", "answer": "Mercury"}
SAME = {"question": ASKED["question"].upper(), "answer": "7"}
LEFT_OUT = {"question": "Is a whale a kind of very large fish that lives in the sea?", "answer": "no"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "items.jsonl").write_text(json.dumps(ASKED), "utf-8")
    rows = [NEAR, OTHER, SAME, LEFT_OUT]
    (tmp_path / "worked.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tmp_path


def exported(folder: Path, tripos: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the lines of the export, and what it says of itself."""
    done = tripos("export", "lessons", "--spec", str(folder / "s.tripos"), "-o", str(folder / "out.jsonl"))
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    return lines, json.loads((folder / "out.jsonl.provenance.json").read_text("utf-8"))


def test_an_example_is_a_question_and_its_answer_and_none_is_nearly_asked(
    folder: Path, tripos: Callable[..., Any]
) -> None:
    from tripos.runs.compilation import find_spec
    from tripos.training.chats import read_chats
    from tripos.training.reward_pairs import pairings_of

    lines, said = exported(folder, tripos)
    asked = {"role": "user", "content": f"Q: {OTHER['question']}"}
    assert lines == [{"messages": [asked, {"role": "assistant", "content": "Mercury"}]}]
    assert said["left_out"] == {"filtered": 1, "asked, or nearly so": 2}
    assert [each["overlap"] for each in said["held_out"]["near"]] == [0.8039, 1.0]
    assert read_chats(folder / "out.jsonl").grouped_by == "item"
    plan = find_spec(str(folder / "s.tripos")).compile().plan
    assert plan is not None and pairings_of(plan) == [], "examples are no pairs"


TALK = ("Why is that so?", ASKED["question"])
NESTED = {
    "question record": ("{ problem text }", ".problem", {"problem": ASKED["question"]}, {"problem": NEAR["question"]}),
    "question dialogue": (
        "dialogue",
        "",
        [{"speaker": "Ann", "text": text} for text in TALK],
        [{"speaker": "Ben", "text": text} for text in (*TALK, "Please!")],
    ),
    "question list": ("list<text>", "", [ASKED["question"]], [NEAR["question"]]),
}


@pytest.mark.parametrize("kind", NESTED)
def test_a_question_inside_of_a_value_is_left_out_too(kind: str, folder: Path, tripos: Callable[..., Any]) -> None:
    type_, path, asked, near = NESTED[kind]
    spec = SPEC.replace("question text", f"question {type_}")
    spec = spec.replace("item.question", f"json(item.question{path})").replace("worked.question", "worked.answer")
    (folder / "s.tripos").write_text(spec, "utf-8")
    (folder / "items.jsonl").write_text(json.dumps({"question": asked, "answer": "7"}), "utf-8")
    other = {"problem": OTHER["question"]} if path else []
    rows = [{"question": near, "answer": "seven"}, {"question": other, "answer": "Mercury"}]
    (folder / "worked.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    lines, said = exported(folder, tripos)
    assert [line["messages"][-1]["content"] for line in lines] == ["Mercury"]
    assert said["left_out"] == {"asked, or nearly so": 1}


def test_a_list_that_only_begins_like_a_dialogue_is_a_list(folder: Path, tripos: Callable[..., Any]) -> None:
    (folder / "s.tripos").write_text(SPEC.replace("question text", "question text, notes json?"), "utf-8")
    turn = {"speaker": "Ann", "text": NEAR["question"]}
    notes: list[Any] = [None, [turn, "and so on"], [turn, {"speaker": "Ben"}], [{**turn, "text": None}, turn]]
    rows = [{"question": OTHER["question"], "answer": str(number), "notes": at} for number, at in enumerate(notes)]
    (folder / "worked.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    lines, said = exported(folder, tripos)
    assert [line["messages"][-1]["content"] for line in lines] == ["0"]
    assert said["left_out"] == {"asked, or nearly so": 3}


def test_rows_that_are_asked_are_refused(folder: Path, tripos: Callable[..., Any]) -> None:
    (folder / "s.tripos").write_text(
        SPEC.replace("worked", "item").replace('dataset item from "item.jsonl" like item\n', "")
    )
    done = tripos("check", str(folder / "s.tripos"))
    assert "error[E0504]" in done.err + done.out


def test_the_provenance_lists_joined_files(folder: Path, tripos: Callable[..., Any]) -> None:
    fields = 'question text, answer text secret, note text\n  join "notes.jsonl" on "question"\n'
    spec = SPEC.replace('"worked.jsonl" like item', f'"worked.jsonl" {{\n  {fields}}}')
    (folder / "s.tripos").write_text(spec, "utf-8")
    rows = [OTHER, NEAR]
    notes = [{"question": row["question"], "note": "x"} for row in rows]
    (folder / "notes.jsonl").write_text("\n".join(map(json.dumps, notes)), "utf-8")
    (folder / "worked.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    _, said = exported(folder, tripos)
    assert [each["path"] for each in said["data"]] == ["worked.jsonl", "notes.jsonl"]


def test_several_exports_are_one_file_with_the_lines_of_each_told(folder: Path, tripos: Callable[..., Any]) -> None:
    (folder / "s.tripos").write_text(
        f'{SPEC}export more {{ examples from worked, asks reply of s, reply "So." }}', "utf-8"
    )
    out = folder / "out.jsonl"
    done = tripos("export", "lessons,more", "--spec", str(folder / "s.tripos"), "-o", str(out))
    assert done.code == 0, done.err
    assert "3 examples" in done.out and "more: 2" in done.out
    said = json.loads((folder / "out.jsonl.provenance.json").read_text("utf-8"))
    assert [each["export"] for each in said["lines"]] == ["more", "lessons", "more"]
    assert said["left_out"] == {"filtered": 1, "asked, or nearly so": 4}
    assert [json.loads(line)["messages"][0]["content"] for line in out.read_text("utf-8").splitlines()] == [
        OTHER["question"],
        f"Q: {OTHER['question']}",
        LEFT_OUT["question"],
    ]


def test_an_export_of_another_kind_cannot_be_mixed_in(folder: Path, tripos: Callable[..., Any]) -> None:
    done = tripos("export", "lessons,lesson", "--spec", str(folder / "s.tripos"), "-o", str(folder / "out.jsonl"))
    assert done.code == 2
    assert "error[S0601]: the spec makes no examples called `lesson`" in done.err
    assert "did you mean `lessons`?" in done.err


RATED = """benchmark rated "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, level choice(low, high) secret, marks integer secret }
dataset worked from "worked.jsonl" like item
scenario s {
  over item
  ask level by candidate { prompt "How hard is it? {{ item.question }}", returns choice(low, high) }
  ask both by candidate { prompt "Rate it. {{ item.question }}", returns { level choice(low, high), marks 1..5 } }
  score right = level == item.level
}
export lessons {
  examples from worked
  asks STEP of s
  RETURNS
  reply REPLY
}
"""


def rated(tmp_path: Path, step: str, reply: str, returns: str = "") -> Path:
    spec = RATED.replace("STEP", step).replace("REPLY", reply).replace("RETURNS", returns)
    (tmp_path / "s.tripos").write_text(spec, "utf-8")
    asked = {"question": ASKED["question"], "level": "low", "marks": 2}
    worked = {"question": OTHER["question"], "level": "high", "marks": 4}
    (tmp_path / "items.jsonl").write_text(json.dumps(asked), "utf-8")
    (tmp_path / "worked.jsonl").write_text(json.dumps(worked), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("step", "reply"),
    [
        ("level", r'"{\"value\": {{ json(worked.level) }} }"'),
        ("level", r'"\n{\"value\": {{ json(worked.level) }} }\n"'),
        ("both", r'"{\"level\": {{ json(worked.level) }}, \"marks\": {{ json(worked.marks) }} }"'),
    ],
)
def test_a_reply_in_the_form_of_its_prompt_is_exported(
    tmp_path: Path, tripos: Callable[..., Any], step: str, reply: str
) -> None:
    (line,), _ = exported(rated(tmp_path, step, reply), tripos)
    assert "Answer with JSON only" in line["messages"][0]["content"]
    assert json.loads(line["messages"][1]["content"])


@pytest.mark.parametrize(
    ("step", "reply", "reason"),
    [
        ("level", r'"It is far. {\"value\": {{ json(worked.level) }} }"', "not JSON alone"),
        ("level", r'"{\"value\": {{ json(worked.level) }} } It is far."', "not JSON alone"),
        ("level", r'"```json\n{\"value\": {{ json(worked.level) }} }\n```"', "not JSON alone"),
        ("level", "worked.question", ""),
        ("level", '"high"', "not JSON alone"),
        ("level", r'"{\"value\": \"middle\"}"', ""),
        ("level", r'"{\"value\": \"High\"}"', "$.value"),
        ("level", r'"{\"value\": \"high\", \"why\": \"far\"}"', "why"),
        ("both", r'"{\"level\": \"high\"}"', "marks"),
        ("both", r'"{\"level\": \"high\", \"marks\": \"4\"}"', "$.marks"),
        ("both", r'"{\"level\": \"high\", \"marks\": 6}"', ""),
    ],
)
def test_a_reply_in_another_form_than_its_prompt_asks_for_is_refused(
    tmp_path: Path, tripos: Callable[..., Any], step: str, reply: str, reason: str
) -> None:
    folder = rated(tmp_path, step, reply)
    done = tripos("export", "lessons", "--spec", str(folder / "s.tripos"), "-o", str(folder / "out.jsonl"))
    assert done.code != 0
    told = " ".join(done.err.split())
    assert "error[S0824]" in told
    assert "export `lessons`, row 1 of `worked`" in told
    assert "choice(" in told
    assert reason in told
    assert not (folder / "out.jsonl").exists()


def test_an_export_can_ask_for_another_form_than_the_step(tmp_path: Path, tripos: Callable[..., Any]) -> None:
    reply = r'"{\"explanation\": {{ json(worked.question) }}, \"value\": {{ json(worked.level) }} }"'
    returns = "returns { explanation text, value choice(low, high) }"
    (line,), _ = exported(rated(tmp_path, "level", reply, returns), tripos)
    assert '"explanation": "<text>"' in line["messages"][0]["content"]
    assert json.loads(line["messages"][1]["content"]) == {"explanation": OTHER["question"], "value": "high"}


def test_a_prompt_of_its_own_ends_with_the_form_that_the_export_asks_for(
    folder: Path, tripos: Callable[..., Any]
) -> None:
    own = SPEC.replace("reply  worked.answer", 'returns text\n  reply "{\\"value\\": {{ json(worked.answer) }} }"')
    (folder / "s.tripos").write_text(own, "utf-8")
    ((asked, answered),) = [line["messages"] for line in exported(folder, tripos)[0]]
    assert asked["content"].startswith(f"Q: {OTHER['question']}\n\nAnswer with JSON only")
    assert answered["content"] == '{"value": "Mercury" }'
    (folder / "s.tripos").write_text(SPEC.replace("reply  worked.answer", "returns text\n  reply worked.answer"))
    done = tripos("export", "lessons", "--spec", str(folder / "s.tripos"), "-o", str(folder / "out.jsonl"))
    assert "error[S0824]" in done.err


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("asks level of s", "asks level of s when hint == some", "E0208"),
        ("examples from worked", "pairs from worked", "E0202"),
        ("asks level of s", "asks likely of s", "E0301"),
        ("asks level of s", "asks calling of s", "E0301"),
    ],
)
def test_a_form_must_fit_the_export(tmp_path: Path, tripos: Callable[..., Any], old: str, new: str, code: str) -> None:
    folder = rated(tmp_path, "level", r'"{\"value\": {{ json(worked.level) }} }"', "returns choice(low, high)")
    spec = (folder / "s.tripos").read_text("utf-8")
    spec = spec.replace("scenario s {\n", "arm hint { none, some }\nscenario s {\n  arms hint\n")
    spec = spec.replace(
        "returns choice(low, high) }\n  ask both",
        """returns choice(low, high)
    shots 1 from worked when hint == some { prompt "{{ worked.question }}", reply "{{ worked.level }}" }
  }
  ask likely by candidate { prompt "{{ item.question }}", likelihood of ("low", "high") }
  ask calling by candidate { prompt "{{ item.question }}", tools look }
  ask both""",
    )
    spec = spec.replace("dataset item", 'tool look "Look there." { place text "Where." }\ndataset item', 1)
    spec = spec.replace("asks level of s\n", "asks level of s when hint == none\n") if "hint" not in new else spec
    (folder / "s.tripos").write_text(spec.replace(old, new), "utf-8")
    done = tripos("check", str(folder / "s.tripos"))
    assert f"error[{code}]" in done.err + done.out, done.err + done.out


@pytest.mark.parametrize("partner", [False, True])
def test_the_rows_of_several_exports_are_read_once_and_not_kept_without_need(
    folder: Path, monkeypatch: pytest.MonkeyPatch, partner: bool
) -> None:
    from tripos.runs.compilation import find_spec
    from tripos.training.examples import find_examples, write_examples
    from tripos_compiler.plan import Dataset
    from tripos_runtime.datasets.cases import CaseSource
    from tripos_runtime.datasets.sources import SourceRow, Sources

    beside = '\n  beside worked as other where other.answer == "no"' if partner else ""
    more = SPEC.partition("export lessons")[2].replace("\n  prompt", f"{beside}\n  prompt")
    (folder / "s.tripos").write_text(f"{SPEC}export more{more}", "utf-8")
    spec = find_spec(str(folder / "s.tripos"))
    compilation = spec.compile()
    assert compilation.plan is not None
    source = CaseSource(compilation.plan, spec.folders, tuple(each.path for each in compilation.sources))
    read: list[str] = []
    stream = Sources.stream

    def recorded(self: Sources, dataset: Dataset) -> Iterator[SourceRow]:
        read.append(dataset.name)
        return stream(self, dataset)

    monkeypatch.setattr(Sources, "stream", recorded)
    exports = find_examples(compilation.plan, ["lessons", "more"])
    assert exports is not None
    assert write_examples(compilation.plan, exports, source, folder / "out.jsonl")["examples"] == 2
    assert sorted(read) == ["item", "worked"]
    assert list(source.sources.rows) == (["worked"] if partner else [])
