"""The text of a withheld item is in no file of a release, wherever else a benchmark has it."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tripos.cli.main import run_command
from tripos.releases.verification import verify

SPEC = """
benchmark private "1.0.0" {
  license   "CC-BY-4.0"
  languages en
}
role candidate compared

axis kind { easy, hard }

dataset items from "items.jsonl" {
  kind
  passage   text
  question  text
}
dataset worked from "worked.jsonl" {
  question  text
  note      text
}

scenario asked {
  over items
  context kind
  ask reply by candidate {
    shots 1 from worked {
      prompt "{{ worked.question }}"
      reply  "{{ worked.note }}"
    }
    prompt "{{ items.question }}"
  }
  score short = words(reply.text) < 9
}

measure brief = mean(short)

subset held {
  take 1 per kind
  seed 1
  withheld
}
"""
QUESTIONS = [
    "Who built \u201cthe\u201d bridge\nat Konigsberg?",
    'Why is "\u00e9" written so, and by whom?',
    "Where do the seven bridges begin?",
    'When was the "old" wall of it taken down?',
]
SHARED = "A passage about bridges that all of the questions share."


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "private.tripos").write_text(SPEC, "utf-8")
    kinds = ("easy", "easy", "hard", "hard")
    rows = zip(kinds, QUESTIONS, strict=True)
    write(folder / "items.jsonl", [{"kind": kind, "passage": SHARED, "question": text} for kind, text in rows])
    worked(folder, "What is two and two, in words?")
    return folder


def write(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def worked(folder: Path, question: str) -> None:
    write(folder / "worked.jsonl", [{"question": question, "note": SHARED}, {"question": "b", "note": "c"}])


def released(spec: Path) -> int:
    shutil.rmtree(spec.parent / "to", ignore_errors=True)
    return run_command(["release", str(spec), "--to", str(spec.parent / "to")])


@pytest.fixture
def hidden(spec: Path) -> list[str]:
    """The questions that are withheld."""
    assert released(spec) == 0
    shown = pq.read_table(spec.parent / "to/private-1.0.0/items/asked.parquet")["question"].to_pylist()
    assert len(shown) == 2
    return [text for text in QUESTIONS if text not in shown]


def test_a_text_that_stands_in_the_data_of_shots_too_is_not_released(
    spec: Path, hidden: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for text in hidden:
        worked(spec, text)
        assert released(spec) == 2
        said = capsys.readouterr().err
        assert "S0853" in said and "spec/worked.jsonl" in said
        assert list((spec.parent / "to").iterdir()) == []


def test_a_text_that_another_scenario_asks_of_other_rows_is_not_released(
    spec: Path, hidden: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with (spec / "more.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["kind", "title", "note"], *([kind, hidden[1], n] for n in "12" for kind in ("easy", "hard"))]
        )
    more = 'dataset more from "more.csv" {\n  kind\n  title text\n  note text\n}\nscenario other {\n  over more\n  context kind\n'
    more += '  ask reply by candidate { prompt "{{ more.title }}" }\n  score short = words(reply.text) < 9\n}\n'
    text = SPEC.replace("measure brief", f"{more}measure brief").replace("take 1 per kind", "take 1 per scenario, kind")
    (spec / "private.tripos").write_text(text, "utf-8")
    assert released(spec) == 2
    assert "S0853" in capsys.readouterr().err


def test_a_text_that_a_prompt_quotes_in_other_lines_is_not_released(
    spec: Path, hidden: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, *rest = hidden[0].split()
    quoted = f'prompt """\n      As in: {first}\n      {" ".join(rest)}\n      """'
    (spec / "private.tripos").write_text(SPEC.replace('prompt "{{ items.question }}"', quoted), "utf-8")
    assert released(spec) == 2
    said = capsys.readouterr().err
    assert "S0853" in said and ".tripos" in said


def test_texts_that_published_items_have_too_may_stand_anywhere(spec: Path, hidden: list[str]) -> None:
    worked(spec, next(text for text in QUESTIONS if text not in hidden))
    assert released(spec) == 0


def test_a_text_that_an_extended_release_withholds_is_not_released_by_what_extends_it(
    spec: Path, hidden: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    digest = verify(spec.parent / "to/private-1.0.0").digest
    (spec.parent / "to").rename(spec.parent / "releases")
    more = spec.parent / "more"
    more.mkdir()
    (more / "more.tripos").write_text(
        'benchmark more "1.0.0" {\n  license "MIT"\n  languages en\n}\n'
        f'use release "private@1.0" sha256 "{digest}" {{\n  take datasets worked\n}}\n'
        "role candidate compared\n"
        'dataset rows from "rows.jsonl" { question text }\n'
        "scenario own {\n  over rows\n"
        '  ask reply by candidate { prompt "{{ rows.question }}" }\n  score short = words(reply.text) < 9\n}\n',
        "utf-8",
    )
    given = ["release", str(more), "--to", str(spec.parent / "to"), "--data", str(spec)]
    write(more / "rows.jsonl", [{"question": f"Tell me: {text}"} for text in hidden])
    assert run_command(given) == 2
    assert "S0853" in capsys.readouterr().err
    write(more / "rows.jsonl", [{"question": "What is the sum of two and two, in words?"}])
    assert run_command(given) == 0
