"""Token probabilities of chats: multiple choice as MMLU scores it, and G-Eval's score, equal to their formulas."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.json_server import Posted, json_server

LETTERS = "ABCD"
ITEMS = 120
SPEC = """
benchmark chosen "1.0.0" { languages en }
role candidate compared
role judge

dataset item from "items.jsonl" {
  number  integer
  answer  choice(A, B, C, D) secret
}

let letters() = ("A", "B", "C", "D")

scenario chosen {
  over item
  ask answer by candidate {
    prompt       "Question {{ item.number }}"
    max_tokens   1
    top_logprobs 5
  }
  ask essay by candidate {
    prompt       "Essay {{ item.number }}"
  }
  ask rating by judge {
    prompt       "Rate {{ item.number }}\\n{{ essay.text }}"
    returns      1..5
    top_logprobs 20
  }
  let shares = option_probabilities(letters(), answer.top_tokens, answer.top_logprobs)
  score acc        = default(best_of(letters(), shares) == item.answer, false)
  score confidence = default(best_of(shares, shares), 0.25)
  score nats       = 0 - sum(answer.logprobs)
  score geval      = rating.expected
  score plain      = rating
  measure acc   = mean(acc)
  measure ece   = ece(confidence, acc)
  measure brier = brier(confidence, acc)
  measure nats  = mean(nats)
  measure geval = mean(geval)
  measure plain = mean(plain)
}
"""
JUDGED = """
benchmark judged "1.0.0" { languages en }
role candidate compared
role cheap
role strong

dataset item from "items.jsonl" {
  number  integer
}

scorer coherence(number: integer, text: text) by cheap {
  prompt       "Rate {{ number }}\\n{{ text }}"
  gives        1..5 weighted
  top_logprobs 20
}
scorer fine(number: integer, text: text) by cheap then strong when unsure {
  prompt       "Fine {{ number }}\\n{{ text }}"
  gives        bool
  unsure       below 0.8
  top_logprobs 5
}

scenario judged {
  over item
  ask essay by candidate { prompt "Essay {{ item.number }}" }
  score coherence = coherence(item.number, essay.text)
  score more      = coherence(item.number, essay.text) + 1
  score fine      = fine(item.number, essay.text)
  measure coherence = mean(coherence)
  measure more      = mean(more)
  measure fine      = mean(fine)
}
"""
Top = list[tuple[str, float]]
"""The likeliest tokens in a place, with the logarithms of their probabilities."""


def shares(*weights: float) -> list[float]:
    return [math.log(each) for each in weights]


def answered(number: int) -> tuple[str | None, list[tuple[str, Top]] | None]:
    """Return the reply to a question and its tokens: a letter, with a blank, in words, nothing, refused (no text), or
    without probabilities."""
    key, other = LETTERS[number % 4], LETTERS[(number + 1 + number % 3) % 4]
    sure = 0.35 + 0.6 * (number % 11) / 11
    low = (1 - sure) / 3
    match number % 10:
        case 0 | 1 | 2:
            top = list(zip([key, other, "The", " " + key], shares(sure, low, low, low / 2), strict=True))
            return key, [(key, top)]
        case 3 | 4:
            top = list(zip([" " + other, key, '"' + other], shares(sure, low, low), strict=True))
            return " " + other, [(" " + other, top)]
        case 5:
            return "The answer", [("The", [("The", -0.1), ("I", -3.0)]), (" answer", [(" answer", -0.2)])]
        case 6:
            return "", None
        case 7:
            return None, None
        case 8:
            return key, None
    return other, [(other, list(zip([other, key], shares(0.5, 0.5), strict=True)))]


def rated(number: int) -> tuple[str | None, list[tuple[str, Top]] | None]:
    """Return a rating and its tokens: as JSON, as a number alone, with the scale's number in another place before, and
    the odd ones."""
    score = 1 + number % 5
    top = list(zip([str(score), str(6 - score), "3", " 4", "x"], shares(0.5, 0.2, 0.1, 0.05, 0.15), strict=True))
    match number % 7:
        case 0 | 1 | 2:
            before = [(each, [(each, -0.01), ("5", -4.0)]) for each in ('{"', "value", '":', " ")]
            return f'{{"value": {score}}}', [*before, (str(score), top), ("}", [("}", -0.01)])]
        case 3:
            return str(score), [(str(score), top)]
        case 4:
            return "I will not rate this.", [("I", [("I", -0.1)])]
        case 5:
            return None, None
    return f'{{"value": {score}}}', None


def found_fine(number: int, model: str) -> tuple[str | None, list[tuple[str, Top]] | None]:
    """Return a verdict and its tokens: sure, unsure, unsure of what it says, in words, or refused."""
    if model == "strong":
        return '{"value": false}', [(each, [(each, -0.01)]) for each in ('{"value":', " false", "}")]
    sure = (0.95, 0.85, 0.79, 0.6, 0.3)[number % 5]
    told = list(zip([" true", " false", " maybe"], shares(sure * 0.9, (1 - sure) * 0.9, 0.1), strict=True))
    match number % 9:
        case 7:
            return "I cannot say.", [("I", [("I", -0.1)])]
        case 8:
            return None, None
    return '{"value": true}', [('{"value":', [('{"value":', -0.1)]), (" true", told), ("}", [("}", -0.1)])]


def is_unsure(number: int) -> bool:
    """Return whether the stronger judge is asked: the verdict has less than 0.8 among true and false, or there is
    none."""
    return number % 9 >= 7 or (0.95, 0.85, 0.79, 0.6, 0.3)[number % 5] < 0.8


def mmlu(number: int) -> tuple[bool, float]:
    """Return whether an answer is right, and how sure it is, as the evaluation of MMLU has it (Hendrycks and others,
    2021): −100 for a letter that is not among the likeliest. Tokens that differ in blanks or marks are one letter."""
    _, tokens = answered(number)
    found: dict[str, float] = {}
    for token, logprob in tokens[0][1] if tokens else []:
        bare = token.strip(' "')
        found[bare] = math.log(math.exp(found[bare]) + math.exp(logprob)) if bare in found else logprob
    if not set(LETTERS) & found.keys():
        return False, 0.25
    logs = [found.get(letter, -100.0) for letter in LETTERS]
    weights = [math.exp(each - max(logs)) for each in logs]
    best = max(range(4), key=lambda place: logs[place])
    return LETTERS[best] == LETTERS[number % 4], weights[best] / sum(weights)


def weighted(number: int) -> float | None:
    """Return G-Eval's score (Liu and others, 2023): Σ p(i)·i over the scale, normalised over what was seen."""
    text, tokens = rated(number)
    if not tokens or not text or "not" in text:
        return None
    [place] = [at for at, (token, _) in enumerate(tokens) if token.strip().isdigit()]
    said = [(int(token), math.exp(logprob)) for token, logprob in tokens[place][1] if token.strip().isdigit()]
    return sum(score * share for score, share in said) / sum(share for _, share in said)


@dataclass
class Told:
    """The requests to a server of chats that says how likely its tokens are."""

    bodies: list[Mapping[str, Any]] = field(default_factory=list)

    def answer(self, posted: Posted) -> dict[str, Any]:
        body = posted.data
        self.bodies.append(body)
        kind, number = body["messages"][0]["content"].splitlines()[0].split()
        said = {
            "Question": answered,
            "Rate": rated,
            "Fine": partial(found_fine, model=body["model"]),
            "Essay": lambda _: ("Written.", None),
        }[kind]
        text, tokens = said(int(number))
        if tokens is None:
            told = None
        else:
            told = {"content": [{"token": token, "logprob": top[0][1], "bytes": list(token.encode()),
                                 "top_logprobs": [{"token": each, "logprob": one} for each, one in top]}
                                for token, top in tokens]}  # fmt: skip
        message = {"role": "assistant", "content": text, "refusal": None}
        ends = "content_filter" if text is None else "stop"
        choice = {"index": 0, "message": message, "finish_reason": ends, "logprobs": told}
        usage = {"prompt_tokens": 9, "completion_tokens": 3}
        return {"model": "weigher", "choices": [choice], "usage": usage}


@pytest.fixture
def weighing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.tripos").write_text(SPEC, "utf-8")
    rows = [{"number": number, "answer": LETTERS[number % 4]} for number in range(ITEMS)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    told = Told()
    with json_server(told.answer) as address:
        (tmp_path / "tripos.toml").write_text(f'[endpoints.openai]\nbase_url = "{address}"\n', "utf-8")
        yield told


def values(tripos: Command) -> dict[str, tuple[float | None, int]]:
    told = tripos("report", "--json").data["measures"]
    return {each["name"].rpartition(".")[2]: (each["rows"][0]["value"], each["rows"][0]["n"]) for each in told}


def test_figures_are_those_of_the_original_formulas_on_odd_replies_too(weighing: Told, tripos: Command) -> None:
    model = ("--model", "openai/weigher", "--role", "judge=openai/weigher")
    planned = tripos("plan", "spec.tripos", *model, "--json")
    assert planned.code == 0, planned.err
    assert tripos("run", "spec.tripos", *model).code == 0
    calls = sum(each["least"] for each in planned.data["calls"]), sum(each["most"] for each in planned.data["calls"])
    assert calls[0] <= len(weighing.bodies) <= calls[1]
    assert {(each.get("top_logprobs"), each.get("logprobs")) for each in weighing.bodies} == {
        *((5, True), (20, True), (None, None))
    }
    there = [number for number in range(ITEMS) if answered(number)[1]]
    found = values(tripos)
    right = [mmlu(number) for number in range(ITEMS)]
    # A reply without probabilities, an empty one and a refusal have no score; one in words has, and is wrong.
    assert found["acc"][1] == len(there) == 84
    assert found["acc"][0] == pytest.approx(sum(right[number][0] for number in there) / len(there), abs=1e-12)
    assert found["brier"][0] == pytest.approx(
        sum((right[number][1] - right[number][0]) ** 2 for number in there) / len(there), abs=1e-9
    )
    nats = [-sum(top[0][1] for _, top in answered(number)[1] or []) for number in there]
    assert found["nats"][0] == pytest.approx(sum(nats) / len(nats), abs=1e-12)
    wanted = [score for number in range(ITEMS) if (score := weighted(number)) is not None]
    assert found["geval"] == (pytest.approx(sum(wanted) / len(wanted), abs=1e-12), len(wanted))
    assert found["plain"][1] == len(wanted)
    told = tripos("sql", "select status, count(*) as n from chosen.samples where step = 'answer' group by all").out
    assert "parse_failure" in told and "refused" in told
    before = len(weighing.bodies)
    assert tripos("run", "spec.tripos", *model).code == 0
    assert len(weighing.bodies) == before
    assert {name: value[0] for name, value in values(tripos).items()} == pytest.approx(
        {name: value[0] for name, value in found.items()}, abs=1e-12
    )


def test_a_recorded_run_says_the_same_and_another_number_of_tokens_is_another_request(
    weighing: Told, tripos: Command
) -> None:
    model = ("--model", "openai/weigher", "--role", "judge=openai/weigher")
    assert tripos("run", "spec.tripos", *model, "--limit", "20").code == 0
    found, asked = values(tripos), len(weighing.bodies)
    assert tripos("run", "spec.tripos", "--model", "replay/results", "--limit", "20", "--store", "again").code == 0
    told = tripos("report", "--json", "--store", "again").data["measures"]
    assert {each["name"].rpartition(".")[2]: each["rows"][0]["value"] for each in told} == {
        name: pytest.approx(value, abs=1e-12) for name, (value, _) in found.items()
    }
    assert len(weighing.bodies) == asked
    spec = Path("spec.tripos")
    spec.write_text(spec.read_text("utf-8").replace("top_logprobs 5", "top_logprobs 6"), "utf-8")
    assert tripos("run", "spec.tripos", *model, "--limit", "20").code == 0
    assert asked < len(weighing.bodies) <= asked + 20


@pytest.mark.parametrize("model", ["openai/o3-mini", "anthropic/claude-sonnet-4-5", "local/mine", "baseline/A"])
def test_a_model_without_probabilities_is_refused_before_a_call(weighing: Told, tripos: Command, model: str) -> None:
    for verb in ("plan", "run"):
        refused = tripos(verb, "spec.tripos", "--model", model, "--role", "judge=mock/careful")
        assert refused.code != 0 and "R0125" in refused.err, refused.err
    assert weighing.bodies == []


def test_a_judge_weighs_its_scale_and_a_cascade_goes_by_the_probability_of_a_verdict(
    weighing: Told, tripos: Command
) -> None:
    Path("spec.tripos").write_text(JUDGED, "utf-8")
    model = ("--model", "openai/weigher", "--role", "cheap=openai/cheap", "--role", "strong=openai/strong")
    planned = tripos("plan", "spec.tripos", *model, "--json")
    assert planned.code == 0, planned.err
    assert tripos("run", "spec.tripos", *model).code == 0
    least, most = (sum(each[end] for each in planned.data["calls"]) for end in ("least", "most"))
    assert least <= len(weighing.bodies) <= most
    wanted = [score for number in range(ITEMS) if (score := weighted(number)) is not None]
    found = values(tripos)
    assert found["coherence"] == (pytest.approx(sum(wanted) / len(wanted), abs=1e-12), len(wanted))
    assert found["more"] == (pytest.approx(sum(wanted) / len(wanted) + 1, abs=1e-12), len(wanted))
    unsure = [number for number in range(ITEMS) if is_unsure(number)]
    assert sum(each["model"] == "strong" for each in weighing.bodies) == len(unsure)
    assert found["fine"] == (pytest.approx(1 - len(unsure) / ITEMS, abs=1e-12), ITEMS)
    [use] = tripos("judges", "--json").data["cascades"]
    assert use["escalated"]["value"] == pytest.approx(len(unsure) / ITEMS)
    asked = len(weighing.bodies)
    spec = JUDGED.replace("1..5 weighted", "1..5").replace("below 0.8", "below 0.9")
    Path("spec.tripos").write_text(spec, "utf-8")
    assert tripos("run", "spec.tripos", *model).code == 0
    sure = [number for number in range(ITEMS) if number % 5 == 1 and not is_unsure(number)]
    assert len(weighing.bodies) == asked + len(sure), "no verdict is asked for again"
    said = [1 + number % 5 for number in range(ITEMS) if weighted(number) is not None]
    assert values(tripos)["coherence"] == (pytest.approx(sum(said) / len(said)), len(said))
