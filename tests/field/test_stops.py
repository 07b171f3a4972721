"""MGSM with worked examples for base models: in each language a reply ends where the next question would begin."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.field.running import lines
from tests.runtime.small_runs import run_small
from tripos_runtime.models.base import Request

SPEC = r"""
benchmark mgsm "1.0.0" { languages en, de, zh }
role candidate compared

dataset problem from "problems.{language}.jsonl" { language, question text, answer integer secret }
dataset worked from "worked.{language}.jsonl" { language, question text, answer text }

scenario mgsm {
  context language
  over problem as p
  ask reply by candidate {
    plain
    shots 2 from worked as w where w.language == p.language {
      prompt en "Question: {{ w.question }}\nAnswer:" de "Frage: {{ w.question }}\nAntwort:" zh "问题：{{ w.question }}\n答案："
      reply  "{{ w.answer }}"
    }
    prompt en "Question: {{ p.question }}\nAnswer:" de "Frage: {{ p.question }}\nAntwort:" zh "问题：{{ p.question }}\n答案："
    stop "\n\n\n"
    stop en "Question:" de "Frage:" zh "问题："
    stop en "Q:" de "F:" zh "问："
    temperature 0
    max_tokens  200
  }
  score right = default(last_number(reply.text), 0 - 1) == p.answer
}
measure right = mean(right) by language
"""
STOPS = {"en": ("Question:", "Q:"), "de": ("Frage:", "F:"), "zh": ("问题：", "问：")}
UNITS = {"en": "apples", "de": "Birnen", "zh": "个"}
COUNT = 40


def written(language: str, number: int) -> str:
    """Return all that a base model goes on with: an answer, at times wrong, and at times a further question."""
    dice = random.Random(f"{language} {number}")
    answer = number if dice.random() < 0.7 else number + 1
    parts = [f" It is {answer} {UNITS[language]}."]
    if dice.random() < 0.7:
        # A model may go on in another language, which ends nothing here.
        began = dice.choice([*STOPS[language], *STOPS[language], *STOPS[dice.choice(list(STOPS))]])
        parts.append(f"\n\n{began} How many are {dice.randint(50, 99)}?")
    return "" if dice.random() < 0.05 else "".join(parts)


def cut(text: str, stops: tuple[str, ...]) -> str:
    """Return a text up to the first of its stops, as servers do."""
    ends = [text.index(each) for each in stops if each in text]
    return text[: min(ends)] if ends else text


def data() -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for language in STOPS:
        found[f"problems.{language}.jsonl"] = [
            {"question": f"{language} {number}", "answer": number} for number in range(COUNT)
        ]
        found[f"worked.{language}.jsonl"] = [{"question": f"worked {n}", "answer": f"{n} {language}"} for n in range(3)]
    return found


def test_replies_end_at_the_texts_of_their_language(tmp_path: Path) -> None:
    sent: dict[str, set[tuple[str, ...]]] = {}

    def script(request: Request) -> str:
        text = request.messages[-1].content
        language, number = re.findall(r"(en|de|zh) (\d+)", text)[-1]
        sent.setdefault(language, set()).add(request.settings.stop)
        return cut(written(language, int(number)), request.settings.stop)

    run = run_small(tmp_path, SPEC, data(), models=("base",), script=script)
    assert sent == {language: {("\n\n\n", *stops)} for language, stops in STOPS.items()}
    rows = {row["item_id"]: row["value"] for row in run.table("scores")}
    # As the LM Evaluation Harness: the text up to the first of `until`, and the last number in it.
    right = 0
    for language, stops in STOPS.items():
        for number in range(COUNT):
            found = re.findall(r"-?\d+", cut(written(language, number), ("\n\n\n", *stops)))
            right += bool(found) and int(found[-1]) == number
    assert len(rows) == COUNT * len(STOPS) and sum(value or 0 for value in rows.values()) == right
    assert 0.4 * len(rows) < right < 0.8 * len(rows)


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in data().items():
        Path(name).write_text(lines(rows), "utf-8")
    Path("mgsm.tripos").write_text(SPEC, "utf-8")
    return Path("mgsm.tripos")


def test_another_stop_of_a_language_is_another_request_there_alone(spec: Path, tripos: Command) -> None:
    model = ("--model", "mock/careful")
    assert tripos("run", "mgsm.tripos", *model).code == 0
    spec.write_text(SPEC.replace('de "F:"', 'de "Fr:"'), "utf-8")
    told = json.loads(tripos("run", "mgsm.tripos", *model, "--dry-run", "--json").out)
    assert [(line["reused"], line["at_least"], line["at_most"]) for line in told["calls"]] == [
        (2 * COUNT, COUNT, COUNT)
    ]
    assert [each["text"] for each in told["why"]] == ["step changed: settings (stop F: in de → Fr: in de)"]


def test_a_run_with_stops_by_language_is_replayed(spec: Path, tripos: Command) -> None:
    first = tripos("run", "mgsm.tripos", "--model", "mock/careful", "--json").data
    again = tripos("run", "mgsm.tripos", "--model", "replay/results", "--store", "again", "--json").data
    apart = {"run_id", "elapsed_s", "calls_per_s"}
    assert {key: each for key, each in again.items() if key not in apart} == {
        key: each for key, each in first.items() if key not in apart
    }
