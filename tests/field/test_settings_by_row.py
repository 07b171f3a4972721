"""Settings that depend on the row: what every request is sent, what is asked again, and what is told of them before."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.compiling import compile_file
from tests.conftest import Command
from tests.field.running import lines
from tests.runtime.small_runs import run_small
from tests.unproved import unproved, written
from tripos_runtime.models.base import Request

SPEC = """
benchmark bench "1.0.0" { languages en, de }
role candidate compared
role judge
role helper

axis category { writing, stem, math }
arm tone { warm, cold }

dataset question from "questions.jsonl" { text text, language, category, hard bool, key text secret }

scorer fine(reply: text, hard: bool) by judge {
  prompt      "Is it fine? {{ reply }}"
  gives       bool
  max_tokens  30 when hard
  max_tokens  20
}

scenario answers {
  context language * category
  over question as q
  arms tone
  ask draft by helper {
    prompt      "Draft: {{ q.text }} ({{ category }})"
    temperature 0
  }
  ask reply by candidate {
    prompt      "Answer: {{ q.text }} {{ draft.text }}"
    temperature 0.7 when category == writing and tone == warm
    temperature 0.1 when category == stem
    temperature 0
    max_tokens  100 when q.hard
    max_tokens  50
    stop        "END" when words(draft.text) > 3
    stop        en "Q:" de "F:" when q.hard
    provider when q.hard { think true }
  }
  converse talk {
    helper { system "You help with {{ q.text }}", max_tokens 8 when q.hard, max_tokens 9 }
    candidate { system "You learn {{ q.text }}", temperature 0.3 when category == math }
    opens helper
    until helper says "done"
    limit 2 turns
  }
  score right = contains(reply.text, q.key)
  score fine = fine(reply.text, q.hard)
  score long = turns(talk) > 1
}
measure right = mean(right) by category
"""
ROWS: list[dict[str, Any]] = [
    {"text": f"{category} {number}", "language": language, "category": category, "hard": number % 2 == 1, "key": "x"}
    for number, (category, language) in enumerate(
        (category, language) for category in ("writing", "stem", "math") for language in ("en", "de", "en")
    )
]


def settings_of(row: dict[str, Any], tone: str, drafted: int) -> dict[str, Any]:
    """Return what the reply to a row is asked with, as a person reads the spec."""
    warm = row["category"] == "writing" and tone == "warm"
    found: dict[str, Any] = {"temperature": 0.7 if warm else 0.1 if row["category"] == "stem" else 0}
    found["max_tokens"] = 100 if row["hard"] else 50
    stops = ["END"] if drafted > 3 else []
    stops += [{"en": "Q:", "de": "F:"}[row["language"]]] if row["hard"] else []
    return found | ({"stop": stops} if stops else {}) | ({"provider": {"think": True}} if row["hard"] else {})


def test_every_request_has_the_settings_of_its_row(tmp_path: Path) -> None:
    sent: dict[str, list[dict[str, Any]]] = defaultdict(list)
    by_text = {row["text"]: row for row in ROWS}

    def script(request: Request) -> str:
        text = request.messages[-1].content
        sent[f"{request.model} {request.messages[0].content}"].append(request.settings.given)
        if text.startswith("Draft"):
            return "one two three four" if "stem" in text else "one"
        return "true" if "fine" in text else f"reply to {text}"

    run_small(tmp_path, SPEC, {"questions.jsonl": ROWS}, models=("m",), script=script, judge="judge", helper="helper")
    for text, row in by_text.items():
        drafted = "one two three four" if row["category"] == "stem" else "one"
        replies = sent[f"m Answer: {text} {drafted}"]
        wanted = [settings_of(row, tone, len(drafted.split())) for tone in ("warm", "cold")]
        assert replies == wanted
        assert sent[f"helper You help with {text}"] == [{"max_tokens": 8 if row["hard"] else 9}]
        learns = {"temperature": 0.3} if row["category"] == "math" else {}
        assert sent[f"m You learn {text}"] == [learns]
    judged = [given for name, some in sent.items() if name.startswith("judge") for given in some]
    assert {given["max_tokens"] for given in judged} == {20, 30}
    assert all(
        given == {"max_tokens": 30 if by_text[" ".join(name.split("Answer: ")[1].split()[:2])]["hard"] else 20}
        for name, some in sent.items()
        if name.startswith("judge")
        for given in some
    )


SMALL = """
benchmark bench "1.0.0" { languages en }
role candidate compared
axis category { writing, stem, math }
dataset question from "questions.jsonl" { text text, category, key text secret }
scenario answers {
  context category
  over question as q
  ask reply by candidate {
    prompt      "{{ q.text }}"
    temperature 0.7 when q.category == writing
    temperature 0.1 when q.category == stem
    temperature 0
    max_tokens  1000 when q.category == writing
    max_tokens  10
  }
  score right = contains(reply.text, q.key)
}
measure right = mean(right) by category
"""
SMALL_ROWS = [
    {"text": f"{category} {number}", "category": category, "key": "x"}
    for category in ("writing", "stem", "math")
    for number in range(4)
]
MODEL = ("--model", "mock/careful")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("questions.jsonl").write_text(lines(SMALL_ROWS), "utf-8")
    Path("s.tripos").write_text(SMALL, "utf-8")
    return Path("s.tripos")


def test_another_value_for_some_rows_asks_those_rows_again_and_no_others(small: Path, tripos: Command) -> None:
    assert tripos("run", "s.tripos", *MODEL).code == 0
    small.write_text(SMALL.replace("0.7 when", "0.8 when"), "utf-8")
    told = json.loads(tripos("run", "s.tripos", *MODEL, "--dry-run", "--json").out)
    assert [(line["reused"], line["at_least"], line["at_most"]) for line in told["calls"]] == [(8, 4, 4)]
    (why,) = told["why"]
    assert 'temperature 0.7 when q.category == "writing" → 0.8 when q.category == "writing"' in why["text"]
    # The same requests by other words are the same requests.
    small.write_text(SMALL.replace("q.category == writing", "not (q.category in (stem, math))"), "utf-8")
    told = json.loads(tripos("run", "s.tripos", *MODEL, "--dry-run", "--json").out)
    assert [(line["reused"], line["at_least"], line["at_most"]) for line in told["calls"]] == [(12, 0, 0)]
    # Three scenarios that each give one temperature find all of it, too.
    small.write_text(SMALL.replace(SMALL[SMALL.index("scenario") : SMALL.index("measure")], apart()), "utf-8")
    told = json.loads(tripos("run", "s.tripos", *MODEL, "--dry-run", "--json").out)
    assert sum(line["reused"] for line in told["calls"]) == 12
    assert sum(line["at_most"] for line in told["calls"]) == 0


def apart() -> str:
    """Return the scenarios of whoever has no settings by row."""
    found = ""
    for category, temperature, longest in (("writing", 0.7, 1000), ("stem", 0.1, 10), ("math", 0, 10)):
        found += f"""scenario {category}s {{
  context category
  over question as q where q.category == {category}
  ask reply by candidate {{ prompt "{{{{ q.text }}}}", temperature {temperature}, max_tokens {longest} }}
  score right = contains(reply.text, q.key)
}}
"""
    return found


def test_a_changed_condition_changes_what_scores_mean(small: Path, tripos: Command) -> None:
    Path("t.tripos").write_text(SMALL.replace("0.1 when q.category == stem", "0.1 when q.category == math"), "utf-8")
    told = tripos("diff", "s.tripos", "t.tripos").out
    assert "settings" in told and "reply" in told


def test_the_price_of_a_run_is_bounded_row_by_row(small: Path, tripos: Command) -> None:
    told = json.loads(tripos("run", "s.tripos", *MODEL, "--dry-run", "--json").out)
    assert told["total"]["tokens_out"]["high"] == 4 * 1000 + 8 * 10
    for name in ("writing", "stem"):
        told = json.loads(tripos("run", "s.tripos", *MODEL, "--dry-run", "--json", "--only", f"category={name}").out)
        assert told["total"]["tokens_out"]["high"] == 4 * (1000 if name == "writing" else 10)


def test_prompts_are_shown_with_the_settings_of_their_row(small: Path, tripos: Command) -> None:
    told = json.loads(tripos("plan", "s.tripos", "--prompts", "12", "--json").out)
    shown = {each["messages"][0]["content"]: each["settings"] for each in told}
    wanted = {"writing": (0.7, 1000), "stem": (0.1, 10), "math": (0, 10)}
    assert shown == {
        row["text"]: dict(zip(("temperature", "max_tokens"), wanted[row["category"]], strict=True))
        for row in SMALL_ROWS
    }


def test_a_setting_that_waits_for_a_reply_is_shown_as_such(small: Path, tripos: Command) -> None:
    later = SMALL.replace(
        "  score right",
        '  ask more by candidate { prompt "More on {{ q.text }}", seed 3, max_tokens 7 when words(reply.text) > 3 }\n'
        "  score longer = words(more.text) > words(reply.text)\n  score right",
    )
    small.write_text(later, "utf-8")
    told = json.loads(tripos("plan", "s.tripos", "--prompts", "1", "--json").out)
    (more,) = (each for each in told if each["step"] == "more")
    assert more["settings"] == {"seed": 3, "max_tokens": "⟨`reply`⟩"}
    # The call is certain, and nobody knows what is sent for it: whether a kept reply would do shows later.
    told = json.loads(tripos("run", "s.tripos", *MODEL, "--dry-run", "--json").out)
    assert [(line["step"], line["at_least"], line["at_most"]) for line in told["calls"]]
    assert tripos("run", "s.tripos", *MODEL).code == 0
    told = json.loads(tripos("run", "s.tripos", *MODEL, "--dry-run", "--json").out)
    assert sum(line["at_most"] for line in told["calls"]) == 0


def test_emit_lists_settings_that_differ_by_row_or_hang_on_a_reply(small: Path, tripos: Command) -> None:
    later = '  ask more by candidate { prompt "More on {{ q.text }}", seed 3, top_k 7 when words(reply.text) > 3 }\n'
    later += "  score longer = words(more.text) > words(reply.text)\n  score right"
    small.write_text(SMALL.replace("  score right", later), "utf-8")
    lost = {
        (each["place"], each["why"])
        for each in tripos("emit", "lm-eval", "s.tripos", "-o", "out", "--json").data["lost"]
    }
    assert {why for place, why in lost if place == "answers.reply" and "setting" in why} == {
        "the setting `temperature`, which differs from row to row",
        "the setting `max_tokens`, which differs from row to row",
    }
    assert ("answers.more", "the setting `top_k`, which depends on a reply") in lost
    written = "".join(path.read_text("utf-8") for path in Path("out").rglob("*.yaml"))
    assert "temperature" not in written and "top_k" not in written and "⟨" not in written


def test_a_run_is_replayed_and_its_replies_say_what_they_were_asked_with(small: Path, tripos: Command) -> None:
    assert tripos("run", "s.tripos", *MODEL).code == 0
    assert tripos("run", "s.tripos", "--model", "replay/results", "--store", "again").code == 0
    told = tripos("report", "--store", "again", "--json")
    assert told.code == 0
    found = {}
    for row in tripos("sql", "select sample_id, messages from main.samples", "--format", "json").data:
        why = json.loads(tripos("why", row["sample_id"], "--json").out)
        found[json.loads(row["messages"])[0]["content"]] = why["made_from"]["settings"]
    assert found["writing 1"] == {"temperature": 0.7, "max_tokens": 1000}
    assert found["stem 2"] == {"temperature": 0.1, "max_tokens": 10}
    assert found["math 3"] == {"temperature": 0, "max_tokens": 10}


SECRET = """
benchmark bench "1.0.0" {{ languages en }}
role candidate compared
role helper
dataset question from "questions.jsonl" {{ text text, key text secret }}
scenario answers {{
  over question as q
  ask hint by helper {{ prompt "A hint for {{{{ q.text }}}}"{helper} }}
  ask reply by candidate {{ prompt "{{{{ q.text }}}} {{{{ hint.text }}}}"{candidate} }}
  converse talk {{
    candidate {{ system "{{{{ q.text }}}}"{speaker} }}
    helper {{ system "Listen." }}
    opens candidate, until helper says "done", limit 2 turns
  }}
  score right = contains(reply.text, q.key)
  score long = turns(talk) > 1
}}
"""
LEAKS = {
    "candidate": "its condition tells `candidate`",
    "speaker": "its condition tells `candidate`",
    "helper": "`hint` has seen it, and may repeat it",
}


@pytest.mark.parametrize("place", LEAKS)
def test_a_condition_on_a_secret_tells_it_by_the_settings(place: str, tmp_path: Path) -> None:
    parts = dict.fromkeys(LEAKS, ", temperature 0.4")
    parts[place] = ', temperature 0.7 when contains(q.key, "a"), temperature 0.4'
    rows = [{"text": f"What is {number}?", "key": "ab" if number % 2 else "b"} for number in range(12)]
    spec = written(tmp_path, SECRET.format(**parts), {"questions.jsonl": rows})
    tried = unproved(spec)
    assert tried.tried(4).leaks
    found = [each for each in compile_file(spec).diagnostics if each.code == "E0501"]
    assert found and any(LEAKS[place] in label.text for each in found for label in each.labels)
    # The same by what is public is no leak, to the proof as to the trial.
    parts[place] = ', temperature 0.7 when contains(q.text, "1"), temperature 0.4'
    spec = written(tmp_path, SECRET.format(**parts), {"questions.jsonl": rows})
    assert not unproved(spec).tried(4).leaks
    assert not [each for each in compile_file(spec).diagnostics if each.severity == "error"]


def test_two_scenarios_that_differ_in_settings_tell_the_secret_that_chooses_between_them(tmp_path: Path) -> None:
    one = """scenario {name} {{
  over question as q where {sign}contains(q.key, "a")
  ask reply by candidate {{ prompt "{{{{ q.text }}}}", temperature {temperature} }}
  score right = contains(reply.text, q.key)
}}
"""
    head = SECRET.format(candidate="", helper="", speaker="").partition("scenario")[0].replace("role helper\n", "")
    rows = [{"text": f"What is {number}?", "key": "ab" if number % 2 else "b"} for number in range(12)]
    for other, leaks in (("0.3", True), ("0.7", False)):
        text = head + one.format(name="first", sign="", temperature="0.7")
        text += one.format(name="second", sign="not ", temperature=other)
        spec = written(tmp_path, text, {"questions.jsonl": rows})
        assert ("E0501" in {each.code for each in compile_file(spec).diagnostics}) is leaks
        assert bool(unproved(spec).tried(4).leaks) is leaks


MADE = """
benchmark bench "1.0.0" { languages en }
role candidate compared
role author
axis level { easy, hard }
scenario tasks {
  context level
  dataset task by author {
    prompt "Write a task that is {{ level }}."
    returns { text text, size 0..9 }
    count 2
    temperature 0.9 when level == hard
    temperature 0.2
    verify by author { prompt "Is it fine? {{ task.text }}", returns { fine bool }, max_tokens 5 when task.size > 4, require fine }
  }
  ask reply by candidate { prompt "{{ task.text }}" }
  score long = words(reply.text) > 1
}
"""


def test_authors_and_those_who_verify_are_asked_with_the_settings_of_the_cell_and_the_row(tmp_path: Path) -> None:
    sent: list[tuple[str, dict[str, Any]]] = []

    def script(request: Request) -> str:
        text = request.messages[0].content
        sent.append((text, request.settings.given))
        if text.startswith("Write"):
            hard = "is hard" in text
            return json.dumps({"text": f"task {len(sent)}", "size": 8 if hard else 2})
        return '{"fine": true}' if text.startswith("Is it") else "one two"

    run_small(tmp_path, MADE, {}, models=("m",), script=script, author="author")
    assert {json.dumps(given) for text, given in sent if "is hard" in text} == {'{"temperature": 0.9}'}
    assert {json.dumps(given) for text, given in sent if "is easy" in text} == {'{"temperature": 0.2}'}
    assert (
        sorted(str(given) for text, given in sent if text.startswith("Is it")) == ["{'max_tokens': 5}"] * 2 + ["{}"] * 2
    )


def test_a_condition_without_a_value_asks_nothing(tmp_path: Path) -> None:
    spec = SMALL.replace("temperature 0\n", "temperature 0.4 when 6 / length(q.note) > 1\n    temperature 0\n")
    spec = spec.replace("key text secret", "note text, key text secret")
    rows = [{**row, "note": "" if number == 5 else "abc"} for number, row in enumerate(SMALL_ROWS)]
    run = run_small(tmp_path, spec, {"questions.jsonl": rows}, models=("m",))
    assert run.asked["m"] == run.planned["candidate"] == len(rows) - 1
    assert sum(row["value"] is None for row in run.table("scores")) == 1
