"""How often intervals of judges hold what real people said of all tutors, when people graded a part of the replies.

    python tests/bench/real_labels.py [REPETITIONS] [MRBENCH]

People graded every reply of the tutors of MRBench (`../shared/data`), so the truth is known: the mean of the grades of
a tutor's guidance, and the difference of two tutors on the same dialogues. 60 of the dialogues, drawn at random, keep
their grades. Judges are real ones that anybody could think of - a question mark, the length, what people said of
another side of the reply - and three that are made of the grades: a lenient one that compresses, one that drifts from
dialogue to dialogue, and one that prefers a tutor. A line is a judge: the shares of intervals of 95 % that hold the
truth, over all tutors or pairs, of the judge alone, of people alone and corrected, and the mean width of the last where
that of people alone is 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from tripos_warehouse.statistics.arrays import Floats
from tripos_warehouse.statistics.prediction_powered import corrected_mean

MRBENCH = Path(__file__).parents[2].parent / "shared/data/mrbench/MRBench_V1.json"
GRADES = {"Yes": 1.0, "To some extent": 0.5, "No": 0.0}
TARGET, OTHER = "Providing_Guidance", "Mistake_Location"
GRADED, LEAST = 60, 100
LONG = 40
"""Words after which a reply is taken for a long one."""
Draws = np.random.Generator


@dataclass(frozen=True)
class Reply:
    """A reply of a tutor: its text, and what people said of its guidance and of another side of it."""

    text: str
    people: float
    other: float


Tutors = dict[str, dict[str, Reply]]
Judge = Callable[[Draws, str, float, Reply], float]
"""A grade of a judge, from a tutor, the place of the dialogue between 0 and 1, and the reply."""


def tutors_of(path: Path = MRBENCH) -> Tutors:
    """Return the replies of every tutor by dialogue, of the tutors that have enough."""
    found: Tutors = {}
    for each in json.loads(path.read_text("utf-8")):
        for tutor, reply in each["anno_llm_responses"].items():
            said = reply["annotation"]
            if said.get(TARGET) in GRADES and said.get(OTHER) in GRADES:
                kept = Reply(reply["response"], GRADES[said[TARGET]], GRADES[said[OTHER]])
                found.setdefault(tutor, {})[each["conversation_id"]] = kept
    return {tutor: replies for tutor, replies in found.items() if len(replies) >= LEAST}


def near(value: float) -> float:
    """Bring a grade onto the scale."""
    return min(1.0, max(0.0, value))


JUDGES: dict[str, Judge] = {
    "a question mark": lambda _, tutor, place, reply: float("?" in reply.text),
    "the length": lambda _, tutor, place, reply: min(1.0, len(reply.text.split()) / LONG),
    "another side of the reply": lambda _, tutor, place, reply: reply.other,
    "lenient, and compresses": lambda r, tutor, place, reply: near(0.65 + 0.3 * reply.people + r.normal(0, 0.1)),
    "drifts": lambda r, tutor, place, reply: near(reply.people + 0.5 * place + r.normal(0, 0.2)),
    "prefers a tutor": lambda r, tutor, place, reply: near(
        reply.people + (0.4 if tutor == PREFERRED else -0.1) + r.normal(0, 0.2)
    ),
}
PREFERRED = "GPT4"


@dataclass(frozen=True)
class Shares:
    """The shares of intervals that hold the truth, and the mean width of the corrected ones beside those of people."""

    judge: float
    people: float
    corrected: float
    width: float


def held(tutors: Tutors, judge: Judge, difference: bool, repetitions: int, seed: int = 1) -> Shares:
    """Return how often the three intervals hold the truth, over all tutors, or all pairs of them."""
    random = np.random.default_rng(seed)
    populations = list(_differences(tutors, judge, random) if difference else _means(tutors, judge, random))
    ends = (-1.0, 1.0) if difference else (0.0, 1.0)
    counts, widths, tries = np.zeros(3), np.zeros(2), 0
    for people, judged in populations:
        truth = people.mean()
        for _ in range(repetitions):
            known = set(random.permutation(len(people))[:GRADED].tolist())
            given = [float(value) if place in known else None for place, value in enumerate(people)]
            found = corrected_mean(judged.tolist(), given, ends=ends)
            tries += 1
            for at, each in enumerate((found.judged, found.graded, found.result)):
                if each.low is not None and each.high is not None:
                    counts[at] += each.low <= truth <= each.high
                    if at:
                        widths[at - 1] += each.high - each.low
    return Shares(*(counts / tries).tolist(), width=float(widths[1] / widths[0]))


def _means(tutors: Tutors, judge: Judge, random: Draws) -> list[tuple[Floats, Floats]]:
    return [_graded(tutor, sorted(replies), replies, judge, random) for tutor, replies in sorted(tutors.items())]


def _differences(tutors: Tutors, judge: Judge, random: Draws) -> list[tuple[Floats, Floats]]:
    found = []
    for one, two in combinations(sorted(tutors), 2):
        shared = sorted(tutors[one].keys() & tutors[two].keys())
        if len(shared) >= LEAST:
            (a, of_a), (b, of_b) = (_graded(each, shared, tutors[each], judge, random) for each in (one, two))
            found.append((a - b, of_a - of_b))
    return found


def _graded(
    tutor: str, dialogues: list[str], replies: dict[str, Reply], judge: Judge, random: Draws
) -> tuple[Floats, Floats]:
    """Return what people and a judge gave a tutor in these dialogues."""
    people = np.array([replies[name].people for name in dialogues])
    places = np.linspace(0, 1, len(dialogues))
    judged = [judge(random, tutor, place, replies[name]) for place, name in zip(places, dialogues, strict=True)]
    return people, np.array(judged)


def main() -> None:
    """Print a line a judge."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else MRBENCH
    if not path.exists():
        print(f"the annotations of MRBench are not here: {path}")
        return
    tutors = tutors_of(path)
    print(f"{len(tutors)} tutors, {GRADED} of their dialogues graded, {repetitions} draws of each")
    print(f"{'judge':<28}{'mean: judge people corrected':<42}difference: judge people corrected")
    for name, judge in JUDGES.items():
        cells = []
        for difference in (False, True):
            found = held(tutors, judge, difference, repetitions)
            cells.append(f"{found.judge:4.0%} {found.people:6.1%} {found.corrected:6.1%} ×{found.width:.2f}")
        print(f"{name:<28}{cells[0]:<42}{cells[1]}", flush=True)


if __name__ == "__main__":
    main()
