"""Claims that are supported, refuted or not decided: labels of a panel on each claim of a reply, with F-measures and
agreement that are worked out apart, where replies and labels are missing and some items have no claims."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.field.running import Figures, figures_in, lines
from tripos_warehouse.measures.confusion import figure_tables
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

SPEC = """
benchmark claims "1.0.0" { languages en }
role candidate compared
role judge panel

dataset item from "items.jsonl" {
  question  text
  claims    list<{ text text, label choice(SUPPORTED, REFUTED, NOT_ENOUGH), kind choice(number, name) }> secret
}

scorer label(reply: text, claim: text) by judge {
  prompt "Judge | {{ reply }} | {{ claim }}"
  gives  choice(SUPPORTED, REFUTED, NOT_ENOUGH)
}
scorer tone(reply: text, claim: text) by judge {
  prompt "Tone | {{ reply }} | {{ claim }}"
  gives  choice(warm: 1, even: 0.5, cold: 0)
}

scenario claims {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score verdict = label(reply.text, c.text) each c in item.claims
  score warm    = tone(reply.text, c.text) each c in item.claims where c.kind == name
  score voted   = first([label(reply.text, c.text)]) each c in item.claims
  score right   = label(reply.text, c.text) == c.label each c in item.claims

  measure macro     = f1(verdict, c.label)
  measure micro     = f1(verdict, c.label, average: micro)
  measure refuted   = recall(verdict, c.label, average: binary, positive: REFUTED)
  measure by_kind   = f1(verdict, c.label) by c.kind
  measure by_judge  = f1(verdict, c.label) by evaluator
  measure correct   = accuracy(verdict, c.label)
  measure matthews  = mcc(verdict, c.label)
  measure kappa     = cohen_kappa(verdict, c.label) by evaluator
  measure of_votes  = f1(voted, c.label)
  measure strict    = f1(verdict, c.label, missing: zero)
}
measure supported = share(claims.verdict == SUPPORTED)
measure decided   = share(claims.verdict == SUPPORTED, where: claims.verdict != NOT_ENOUGH) by evaluator
measure agreement = cohen_kappa(claims.verdict) across judge
measure chance    = krippendorff_alpha(claims.verdict, level: nominal) across judge
measure warmth    = mean(claims.warm)
measure voted     = share(claims.voted == REFUTED)
measure right     = mean(claims.right)
"""
LABELS = ("SUPPORTED", "REFUTED", "NOT_ENOUGH")
JUDGES = ("judge:x", "judge:y")
TONES = {"warm": 1.0, "even": 0.5, "cold": 0.0}


def drawn_items(count: int) -> list[dict[str, Any]]:
    """Return items with up to six claims, some of which are the same; some have none."""
    dice = random.Random(8)
    found = []
    for number in range(count):
        claims = [
            {
                "text": f"claim {number}.{place}",
                "label": dice.choices(LABELS, (5, 2, 3))[0],
                "kind": dice.choice(["number", "name"]),
            }
            for place in range(dice.randint(0, 5))
        ]
        found.append({"question": f"question {number}", "claims": claims + claims[:1] * (number % 4 == 1)})
    return found


ITEMS = drawn_items(40)
TRUE = {c["text"]: c["label"] for item in ITEMS for c in item["claims"]}


def refused(claim: str) -> bool:
    """Return true where the candidate declines to answer."""
    return int(re.findall(r"\d+", claim)[0]) % 11 == 5


def meant(judge: str, claim: str) -> str:
    """Return the label that a judge means: mostly the right one."""
    dice = random.Random(f"{judge} {claim}")
    return TRUE[claim] if dice.random() < 0.65 else dice.choice(LABELS)


def form(judge: str, claim: str) -> str | None:
    """Return how a judge says it; None where it refuses. A form without a hole says nothing that can be read."""
    forms = ["{}", "**{}**", '{{"value": "{}"}}', "I cannot say.", None, "{}", "{}", "{}"]
    return random.Random(f"form {judge} {claim}").choice(forms)


def said(judge: str, claim: str) -> str | None:
    """Return the label of a judge; None where there is none."""
    shape = form(judge, claim)
    return None if refused(claim) or shape is None or "{}" not in shape else meant(judge, claim)


def judging(judge: str) -> Callable[[list[str]], str | None]:
    def answer(messages: list[str]) -> str | None:
        asked = next(each for each in messages if each.startswith(("Judge", "Tone")))
        claim = asked.split(" | ")[2].splitlines()[0]
        if asked.startswith("Tone"):
            return random.Random(f"tone {judge} {claim}").choice([*TONES, "mild"])
        shape = form(judge, claim)
        text = meant(judge, claim)
        return None if shape is None else shape.format(text if judge == "judge:x" else text.lower())

    return answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("claims")


@pytest.fixture(scope="module")
def figures(folder: Path) -> Figures:
    answers = lambda messages: None if refused(messages[-1]) else "a reply"  # noqa: E731
    roles = {judge: judging(judge) for judge in JUDGES}
    return figures_in(folder, SPEC, {"items.jsonl": lines(ITEMS)}, answers, roles)


def pairs(judges: Sequence[str] = JUDGES, **wanted: str) -> list[tuple[str | None, str]]:
    """Return the label of every judge on every claim like this, with the true one."""
    return [
        (said(judge, c["text"]), c["label"])
        for item in ITEMS
        for c in item["claims"]
        for judge in judges
        if all(c[name] == value for name, value in wanted.items())
    ]


def known(found: Iterable[tuple[str | None, str]]) -> list[tuple[str, str]]:
    return [(one, true) for one, true in found if one is not None]


def macro_f1(found: Iterable[tuple[str | None, str]]) -> float:
    """The mean over classes of the harmonic mean of precision and recall."""
    labels = list(found)
    scores = []
    for label in {each for pair in labels for each in pair if each is not None}:
        hits = sum(one == true == label for one, true in labels)
        given, due = sum(one == label for one, _ in labels), sum(true == label for _, true in labels)
        precision, recall = hits / given if given else 0.0, hits / due if due else 0.0
        scores.append(2 * precision * recall / (precision + recall) if hits else 0.0)
    return float(np.mean(scores))


def cohen(found: Sequence[tuple[str, str]]) -> float:
    ones, twos = (Counter(pair[at] for pair in found) for at in (0, 1))
    chance = sum(ones[label] * twos[label] for label in LABELS) / len(found) ** 2
    return (sum(one == two for one, two in found) / len(found) - chance) / (1 - chance)


def test_f_measures_of_labels_are_those_of_all_claims(figures: Figures) -> None:
    assert figures["claims.macro"].value == pytest.approx(macro_f1(known(pairs())))
    assert figures["claims.macro"].n == len(known(pairs()))
    assert figures["claims.macro"].coverage == pytest.approx(len(known(pairs())) / len(pairs()))
    assert figures["claims.micro"].value == pytest.approx(float(np.mean([one == true for one, true in known(pairs())])))
    assert figures["claims.correct"].value == pytest.approx(figures["claims.micro"].value)
    due = [one for one, true in known(pairs()) if true == "REFUTED"]
    assert figures["claims.refuted"].value == pytest.approx(due.count("REFUTED") / len(due))
    assert figures["claims.strict"].value == pytest.approx(macro_f1(pairs()))
    for kind, value in figures.by("claims.by_kind").items():
        assert value == pytest.approx(macro_f1(known(pairs(kind=kind)))), kind
    by_judge = figures.by("claims.by_judge")
    assert by_judge == pytest.approx({judge: macro_f1(known(pairs([judge]))) for judge in JUDGES})
    table = np.array([[known(pairs()).count((one, true)) for true in LABELS] for one in LABELS], dtype=float)
    given, due_each, total = table.sum(1), table.sum(0), table.sum()
    above = np.trace(table) * total - given @ due_each
    below = np.sqrt(total**2 - given @ given) * np.sqrt(total**2 - due_each @ due_each)
    assert figures["claims.matthews"].value == pytest.approx(above / below)


def test_shares_and_agreement_are_those_of_the_judges(figures: Figures) -> None:
    every = known(pairs())
    assert figures["supported"].value == pytest.approx(sum(one == "SUPPORTED" for one, _ in every) / len(every))
    for judge, value in figures.by("decided").items():
        own = [one for one, _ in known(pairs([judge])) if one != "NOT_ENOUGH"]
        assert value == pytest.approx(own.count("SUPPORTED") / len(own))
    assert figures.by("claims.kappa") == pytest.approx({judge: cohen(known(pairs([judge]))) for judge in JUDGES})
    units = [[said(judge, c["text"]) for judge in JUDGES] for item in ITEMS for c in item["claims"]]
    both = [(one, two) for one, two in units if one is not None and two is not None]
    assert figures["agreement"].value == pytest.approx(cohen(both))
    values = Counter(label for pair in both for label in pair)
    total = sum(values.values())
    apart = 2 * sum(one != two for one, two in both) / total
    expected = sum(values[one] * values[two] for one in LABELS for two in LABELS if one != two) / total / (total - 1)
    assert figures["chance"].value == pytest.approx(1 - apart / expected)


def test_a_vote_is_what_more_than_half_say(figures: Figures) -> None:
    voted = []
    for item in ITEMS:
        for c in item["claims"]:
            labels = {said(judge, c["text"]) for judge in JUDGES}
            voted.append((labels.pop() if len(labels) == 1 else None, c["label"]))
    assert figures["claims.of_votes"].value == pytest.approx(macro_f1(known(voted)))
    assert figures["claims.of_votes"].n == len(known(voted))
    shown = known(voted)
    assert figures["voted"].value == pytest.approx(sum(one == "REFUTED" for one, _ in shown) / len(shown))
    decided = []  # on a condition, judges who differ may agree
    for item in ITEMS:
        for c in item["claims"]:
            labels_of_judges = [said(judge, c["text"]) for judge in JUDGES]
            votes = [label == c["label"] for label in labels_of_judges]
            if None not in labels_of_judges and 2 * sum(votes) != len(votes):
                decided.append(2 * sum(votes) > len(votes))
    assert figures["right"].value == pytest.approx(float(np.mean(decided)))


def test_names_that_stand_for_numbers_have_their_mean(figures: Figures) -> None:
    told = [
        TONES.get(random.Random(f"tone {judge} {c['text']}").choice([*TONES, "mild"]))
        for item in ITEMS
        for c in item["claims"]
        for judge in JUDGES
        if c["kind"] == "name" and not refused(c["text"])
    ]
    numbers = [each for each in told if each is not None]
    assert figures["warmth"].value == pytest.approx(float(np.mean(numbers)))
    assert figures["warmth"].n == len(numbers)


def test_rows_name_the_judge_and_the_claim(figures: Figures, folder: Path) -> None:
    connection, _ = connect_run(Store.open(folder / "results", create=False))
    with connection:
        query = """select evaluator, element_value ->> '$.text', choice, status, score_id, element_place
            from claims.scores where metric = 'verdict'"""
        rows = connection.execute(query).fetchall()
        tables = {each.measure: each for each in figure_tables(connection, figures.plan)}
    shown = sorted((judge, claim, label) for judge, claim, label, status, *_ in rows if status != "not_applicable")
    wanted = [(judge, c["text"], said(judge, c["text"])) for item in ITEMS for c in item["claims"] for judge in JUDGES]
    assert Counter(shown) == Counter(wanted)
    assert len({row[4] for row in rows}) == len(rows)
    empty = [row for row in rows if row[3] == "not_applicable"]
    assert len(empty) == 2 * sum(not item["claims"] for item in ITEMS) and all(row[5] is None for row in empty)
    table = tables["claims.macro"]
    for true, counts in zip(table.classes, table.counts, strict=True):
        given = Counter(one for one, gold in pairs() if gold == true)
        assert [given[name] for name in (*table.classes, None)] == list(counts)


def test_each_claim_that_a_model_labels_is_a_reply_of_its_own(tmp_path: Path) -> None:
    spec = """
benchmark labelling "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" {
  question  text
  claims    list<{ text text, label choice(SUPPORTED, REFUTED, NOT_ENOUGH) }>
}
scenario labelling {
  over item
  ask labelled by candidate each c in item.claims {
    prompt  "{{ item.question }} | {{ c.text }}"
    returns choice(SUPPORTED, REFUTED, NOT_ENOUGH)
  }
  score label = a.value each a in labelled
  measure macro = f1(label, a.c.label)
  measure kinds = share(label == NOT_ENOUGH)
}
"""
    data = {"items.jsonl": lines(ITEMS)}

    def answer(messages: list[str]) -> str | None:
        asked = next(each for each in messages if each.startswith("question"))
        claim = asked.split(" | ")[1].splitlines()[0]
        shape = form("judge:x", claim)
        return None if shape is None else shape.format(meant("judge:x", claim))

    figures = figures_in(tmp_path, spec, data, answer)
    told = []
    for item in ITEMS:
        for c in item["claims"]:
            shape = form("judge:x", c["text"])
            told.append((meant("judge:x", c["text"]) if shape is not None and "{}" in shape else None, c["label"]))
    assert figures["labelling.macro"].value == pytest.approx(macro_f1(known(told)))
    assert figures["labelling.macro"].n == len(known(told))
    assert figures["labelling.kinds"].value == pytest.approx(
        sum(one == "NOT_ENOUGH" for one, _ in known(told)) / len(known(told))
    )
    assert [key for key, _ in groupby(sorted(one for one, _ in known(told)))] == sorted(LABELS)
