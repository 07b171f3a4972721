"""Sources are contents, and not names: which fields hold what a secret field says."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compiling import compile_files
from hypothesis import given, settings, strategies

from tests.lengths import sized, spread
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.lowering.declarations import lower_axes, lower_benchmark
from tripos_compiler.lowering.generated_datasets import lower_datasets
from tripos_compiler.resolve.files import resolve
from tripos_compiler.resolve.program import Copy, Field, KnownCopies, Program
from tripos_compiler.secrecy import copies as comparisons, copies as contents
from tripos_compiler.secrecy.copies import copies_by_field, unmarked_copies
from tripos_compiler.secrecy.row_matching import normalize, normalized_union
from tripos_runtime.datasets.data_files import DataFolders

HEAD = 'benchmark b "1.0.0" { languages en }\n'
ROWS = [
    {"id": 11, "question": "Which city is the capital of France?", "answer": "Paris"},
    {"id": 12, "question": "Which metal is liquid in a warm room?", "answer": "mercury"},
    {"id": 13, "question": "Which planet is nearest to the sun?", "answer": "Mercury"},
    {"id": 14, "question": "How many sides has a hexagon?", "answer": "6"},
]
ITEM = 'dataset item from "items.jsonl" { id integer, question text, answer text secret }\n'


WORDS = strategies.sampled_from(["Paris", "the answer is 42", "42", "1,000", "A", "", "...", "x" * 8_100, '{"a": "B"}'])
VALUES = WORDS | strategies.integers(0, 50) | strategies.none() | strategies.lists(WORDS, max_size=2)


def lines(rows: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def loaded(folder: Path, spec: str, files: dict[str, str | bytes]) -> Program:
    """Return the data sets of a spec."""
    for name, text in {"items.jsonl": lines(ROWS), **files, "spec.tripos": HEAD + spec}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    program = Program(Diagnostics(), DataFolders())
    resolve(program, (folder / "spec.tripos").as_posix(), lambda path: Path(path).read_text("utf-8"), None)
    lower_benchmark(program)
    lower_axes(program)
    lower_datasets(program)
    assert [each.message for each in program.diagnostics.items if each.severity == "error"] == []
    return program


def copies(folder: Path, spec: str, files: dict[str, str | bytes] | None = None) -> dict[Field, tuple[Copy, ...]]:
    datasets = loaded(folder, spec, files or {}).loaded
    found = copies_by_field(datasets, KnownCopies())
    # Fields that are ruled out together hold nothing: the same is found where each is compared by itself.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "_candidates", lambda secret, other, way: other.columns.keys())
        assert copies_by_field(datasets, KnownCopies()) == found
    return found


def held(folder: Path, spec: str, files: dict[str, str | bytes] | None = None) -> dict[str, set[str]]:
    """Return the fields that hold a secret, as a spec names them, each with how it is known."""
    found = copies(folder, spec, files)
    return {".".join(each): {copy.how for copy in of} for each, of in found.items()}


@pytest.mark.parametrize(
    ("spec", "files"),
    [
        ('dataset copy from "items.jsonl" { question text, solution text from "answer" }', {}),
        ('dataset copy from "other.jsonl" { solution text from "answer" }', {"other.jsonl": lines(ROWS)}),
        (
            'dataset copy from "items.jsonl.gz" { solution text from "answer" }',
            {"items.jsonl.gz": gzip.compress(lines(ROWS).encode())},
        ),
        ('dataset copy from "items.jsonl" { solution text from "key" or "answer" }', {}),
    ],
)
def test_the_same_column_says_the_same(tmp_path: Path, spec: str, files: dict[str, str | bytes]) -> None:
    found = copies(tmp_path, ITEM + spec, files)
    assert set(found) == {("copy", "solution")}
    [copy] = found["copy", "solution"]
    assert (copy.of, copy.how) == (("item", "answer"), "column")
    assert copy.why.startswith("`copy.solution` is read from the same column as `item.answer`, `answer` of ")


def test_two_secrets_of_one_column_hold_each_other(tmp_path: Path) -> None:
    spec = ITEM + 'dataset copy from "items.jsonl" { solution text secret from "answer" }'
    assert held(tmp_path, spec) == {"copy.solution": {"column"}, "item.answer": {"column"}}


def test_a_column_that_is_read_twice_by_its_own_data_set(tmp_path: Path) -> None:
    spec = 'dataset item from "items.jsonl" { question text, answer text secret, shown text from "answer" }'
    assert held(tmp_path, spec) == {"item.shown": {"column"}}


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("meta { key text }", {"copy.meta": {"column"}}),
        ('topic from "meta" { topic text }', {}),
        ('all from "meta" { topic text, key text }', {"copy.all": {"column"}}),
    ],
)
def test_a_record_tells_what_its_parts_tell(tmp_path: Path, read: str, expected: dict[str, set[str]]) -> None:
    rows = [{"question": f"Question {n}?", "meta": {"key": "AB"[n % 2], "topic": "sums"}} for n in range(3)]
    spec = (
        f'dataset item from "m.jsonl" {{ question text, answer secret from "meta" {{ key text }} }}\n'
        f'dataset copy from "m.jsonl" {{ question text, {read} }}'
    )
    assert held(tmp_path, spec, {"m.jsonl": lines(rows)}) == expected


def test_a_file_name_that_says_the_secret(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"{word}.jsonl": lines([{"question": f"Is it {word}?"}]) for word in ("hot", "dry")
    }
    spec = 'dataset item from "{state}.jsonl" { question text, state text secret }\n'
    spec += 'dataset copy from "{named}.jsonl" { question text, named text }'
    (tmp_path / "in").mkdir()
    nested = {f"in/{name}": text for name, text in files.items()}
    found = copies(tmp_path, spec.replace('from "', 'from "in/'), nested)
    assert {key: copy.how for key, [copy] in found.items()} == {("copy", "named"): "capture"}
    assert found["copy", "named"][0].why == "`copy.named` is read from the names of the same files as `item.state`"


WORDS = (
    "iron", "tin", "gold", "lead", "zinc", "salt", "clay", "sand", "wood", "silk", "wool", "glass", "steel", "paper",
)  # fmt: skip


def questions(draw: random.Random, count: int, kind: str) -> list[dict[str, Any]]:
    """Return rows with answers of a kind."""

    def answer(number: int) -> Any:
        match kind:
            case "letter":
                return draw.choice("ABCD")
            case "number":
                return draw.randint(0, 400)
            case "word":
                return draw.choice(WORDS)
            case "bool":
                return draw.random() < 0.5
        return " ".join(draw.choice(WORDS) for _ in range(6))

    rows = []
    for number in range(count):
        words = " ".join(draw.choice(WORDS) for _ in range(5))
        rows.append({"id": 1000 + number, "question": f"Question {number} about {words}?", "answer": answer(number)})
    return rows


def as_json(answer: Any, draw: random.Random) -> Any:
    return json.dumps({"note": draw.choice(WORDS), "key": answer})


DISGUISES: dict[str, tuple[str, Callable[[Any, random.Random], Any]]] = {
    "as it is": ("text", lambda answer, draw: str(answer)),
    "with words before": ("text", lambda answer, draw: f"The answer is: {answer}."),
    "at the end": (
        "text",
        lambda answer, draw: f"{draw.choice(WORDS)} {draw.choice(WORDS)} {draw.choice(WORDS)} {answer}",
    ),
    "in a list": ("list<text>", lambda answer, draw: [str(answer), draw.choice(WORDS)]),
    "at the end of a list": (
        "list<text>",
        lambda answer, draw: [draw.choice(WORDS) for _ in range(draw.randint(1, 4))] + [str(answer)],
    ),
    "in a record": ("{ note text, key text }", lambda answer, draw: {"note": draw.choice(WORDS), "key": str(answer)}),
    "in JSON": ("text", as_json),
    "in other letters": ("text", lambda answer, draw: f" {str(answer).upper()} "),
}
TYPES = {"letter": "choice(A, B, C, D)", "number": "integer", "word": "text", "text": "text", "bool": "bool"}


def spec_of(kind: str, type_: str, *more: str) -> str:
    return (
        f'dataset item from "items.jsonl" {{ id integer, question text, answer {TYPES[kind]} secret }}\n'
        f'dataset keys from "keys.jsonl" {{ {", ".join((f"said {type_}", *more))} }}\n'
    )


@pytest.mark.parametrize("disguise", spread(DISGUISES, 3))
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shared", ["question", "id", "place"])
def test_a_copy_is_found_in_every_disguise(tmp_path: Path, kind: str, disguise: str, shared: str) -> None:
    draw = random.Random(f"{kind} {disguise} {shared}")
    rows = questions(draw, 40, kind)
    type_, worn = DISGUISES[disguise]
    keys = [{"said": worn(row["answer"], draw)} | ({} if shared == "place" else {shared: row[shared]}) for row in rows]
    if shared != "place":
        draw.shuffle(keys)
        keys = keys[:25]
    more = () if shared == "place" else (f"{shared} {'integer' if shared == 'id' else 'text'}",)
    found = copies(tmp_path, spec_of(kind, type_, *more), {"items.jsonl": lines(rows), "keys.jsonl": lines(keys)})
    assert [copy.of for copy in found.get(("keys", "said"), ())] == [("item", "answer")]
    assert set(found) == {("keys", "said")}


@pytest.mark.parametrize("disguise", spread(DISGUISES, 3))
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shared", ["question", "place"])
def test_values_that_agree_by_chance_are_no_copy(tmp_path: Path, kind: str, disguise: str, shared: str) -> None:
    type_, worn = DISGUISES[disguise]
    for seed in range(sized(1, 4)):
        draw = random.Random(f"{kind} {disguise} {shared} {seed}")
        rows = questions(draw, draw.choice([3, 5, 12, 40, 120]), kind)
        others = questions(draw, len(rows), kind)
        keys = [
            {"said": worn(other["answer"], draw), "question": row["question"] if shared == "question" else str(place)}
            for place, (row, other) in enumerate(zip(rows, others, strict=True))
        ]
        files: dict[str, str | bytes] = {"items.jsonl": lines(rows), "keys.jsonl": lines(keys)}
        assert copies(tmp_path, spec_of(kind, type_, "question text"), files) == {}, (seed, len(rows))


def test_what_has_the_answer_somewhere_does_not_say_it(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = questions(draw, 60, "word")
    keys = []
    for row in rows:
        options = draw.sample([word for word in WORDS if word != row["answer"]], 3)
        options.insert(draw.randint(0, 3), row["answer"])
        before, after = ([draw.choice(WORDS) for _ in range(draw.randint(3, 9))] for _ in range(2))
        passage = " ".join([*before, row["answer"], *after])
        keys.append({"question": row["question"], "said": options, "passage": passage})
    files: dict[str, str | bytes] = {"items.jsonl": lines(rows), "keys.jsonl": lines(keys)}
    assert copies(tmp_path, spec_of("word", "list<text>", "question text", "passage text"), files) == {}


def test_what_the_author_left_public_is_no_copy(tmp_path: Path) -> None:
    rows = [
        {"question": f"What is {WORDS[n % 14]} and {WORDS[n % 13]}, case {n * 7}?", "first": str(n), "answer": str(n)}
        for n in range(100, 140)
    ]
    spec = 'dataset item from "items.jsonl" { question text, first text, answer text secret }\n'
    spec += 'dataset copy from "copy.jsonl" { question text, first text }'
    found = loaded(tmp_path, spec, {"items.jsonl": lines(rows), "copy.jsonl": lines(rows)})
    assert copies_by_field(found.loaded, KnownCopies()) == {}
    [copy] = unmarked_copies(found.loaded, KnownCopies())
    assert copy.why == "`item.first` has the value of `item.answer` in 40 of 40 rows of the same data set"


def test_letters_under_other_names_are_a_copy(tmp_path: Path) -> None:
    rows = questions(random.Random(3), 60, "letter")
    keys = [{"question": row["question"], "said": "ABCD".index(row["answer"])} for row in rows]
    files: dict[str, str | bytes] = {"items.jsonl": lines(rows), "keys.jsonl": lines(keys)}
    [copy] = copies(tmp_path, spec_of("letter", "integer", "question text"), files)["keys", "said"]
    assert copy.why.startswith("`keys.said` says under other names what is said by `item.answer` in 60 of 60 rows")


def test_the_end_of_a_solution_is_the_solution(tmp_path: Path) -> None:
    rows = questions(random.Random(4), 40, "number")
    keys = [{"question": row["question"], "said": row["answer"]} for row in rows]
    random.Random(4).shuffle(keys)
    worked = [{**row, "answer": f"First this, then that.\n#### {row['answer']}"} for row in rows]
    files: dict[str, str | bytes] = {"items.jsonl": lines(worked), "keys.jsonl": lines(keys)}
    [copy] = copies(tmp_path, spec_of("text", "integer", "question text"), files)["keys", "said"]
    assert copy.why == "`keys.said` has what ends the value of `item.answer` in 40 of 40 rows that share `question`"


def test_a_few_rows_that_stand_in_both_are_no_copy(tmp_path: Path) -> None:
    """They are warned of as shots that show what is asked."""
    draw = random.Random(5)
    rows, others = questions(draw, 60, "text"), questions(draw, 60, "text")
    train = [{**row, "question": f"{row['question']} Then?"} for row in others[5:]] + rows[:5]
    files: dict[str, str | bytes] = {"items.jsonl": lines(rows), "train.jsonl": lines(train)}
    assert copies(tmp_path, ITEM + 'dataset train from "train.jsonl" { question text, answer text }', files) == {}


@pytest.mark.parametrize("rows", [ROWS[:2], ROWS])
def test_a_few_rows_are_enough_where_the_column_is_called_the_same(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    draw = random.Random(6)
    copied = draw.sample(rows, len(rows))
    text = "question,answer\n" + "\n".join(f"{row['question']},{row['answer']}" for row in copied)
    files: dict[str, str | bytes] = {"items.jsonl": lines(rows), "copy.csv": text}
    assert held(tmp_path, ITEM + 'dataset copy from "copy.csv" { question text, answer text }', files) == {
        "copy.answer": {"values"}
    }


def test_rows_that_repeat_keep_their_places(tmp_path: Path) -> None:
    rows = questions(random.Random(7), 60, "letter")
    files: dict[str, str | bytes] = {
        "items.jsonl": lines(rows),
        "keys.csv": "said\n" + "\n".join(r["answer"] for r in rows),
    }
    spec = spec_of("letter", "text").replace("keys.jsonl", "keys.csv")
    assert held(tmp_path, spec, files) == {"keys.said": {"values"}}


def test_nothing_is_compared_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = loaded(tmp_path, ITEM + 'dataset copy from "items.jsonl" { solution text from "answer" }', {}).loaded
    known = KnownCopies()
    first = copies_by_field(found, known)
    monkeypatch.setattr(comparisons, "find_copied_fields", None)
    assert copies_by_field(found, known) == first


def test_a_mark_that_is_missing_is_warned_of(tmp_path: Path) -> None:
    rows = [
        {"question": f"How much is {n} and {n}?", "answer": 2 * n, "hint": f"It is {2 * n}."} for n in range(90, 99)
    ]
    spec = """benchmark b "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, hint text, answer integer secret }
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.question }} {{ item.hint }}" }
  score right = final_number(reply) == item.answer
}
"""
    found = compile_files(tmp_path, {"spec.tripos": spec, "items.jsonl": lines(rows)}).diagnostics
    assert [f"{item.code} {item.message}" for item in found] == [
        "W0505 `item.hint` ends in the value of `item.answer` in 9 of 9 rows of the same data set"
    ]
    marked = spec.replace("hint text,", "hint text,  # allow W0505: the hint is the answer, which is tried here\n")
    assert compile_files(tmp_path, {"spec.tripos": marked, "items.jsonl": lines(rows)}).diagnostics == ()


@given(strategies.lists(VALUES, max_size=4), VALUES)
@settings(max_examples=60, deadline=None)
def test_values_together_may_have_what_one_of_them_may_have(values: list[Any], held: Any) -> None:
    said = [normalize(each) for each in values]
    sought = normalize(held)
    assert normalized_union(said).may_have(sought) or not any(each.may_have(sought) for each in said)
