"""`tripos diff --store` says exactly what the next run asks."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.conftest import Command
from tests.lengths import sized, spread
from tests.reuse.drawn_specs import DrawnSpec, drawn_edit, drawn_spec

FIRST = int(os.environ.get("TESTS_FIRST_SEED") or 0)
MODELS = ("mock/careful", "mock/careless", "mock/fair")
ROLES = {
    "author": "mock/author",
    "checker": "mock/careful:checker",
    "student": "mock/student",
    "encoder": "mock/embedding",
    "critic": "mock/reward",
    "judge": "mock/careful:one,mock/careful:two",
}

SPEC = """\
benchmark paid "1.0.0" { languages en, zh }
role candidate compared
role grader
axis level {
  easy en "easy" zh "容易"
  hard en "hard" zh "困难"
}
arm aid {
  none en "no aid" zh "无"
  tip  en "a tip"  zh "提示"
}
dataset item from "items.jsonl" { language, level, question text, answer text secret }
scorer kind(response: text) by grader {
  prompt en "Kind? {{ response }}" zh "友善吗？{{ response }}"
  gives bool
}
scenario sums {
  over item
  context language * level
  arms aid
  ask plan by candidate when aid == tip and level == hard {
    prompt en "Plan: {{ item.question }}" zh "计划：{{ item.question }}"
  }
  ask reply by candidate {
    prompt en "Solve with {{ aid }} at {{ level }}: {{ item.question }}" zh "用{{ aid }}{{ level }}解答：{{ item.question }}"
    samples 2
  }
  score right = contains(reply.text, item.answer)
  score planned = words(plan.text) > 0
  score gentle = kind(response: reply.text)
}
measure accuracy = mean(right)
measure kindness = mean(gentle)
"""
ITEMS = [
    {"language": language, "level": level, "question": f"{language} {level} {number}", "answer": "1"}
    for language in ("en", "zh")
    for level in ("easy", "hard")
    for number in range(2)
]


@dataclass(frozen=True)
class Told:
    """The answer of `diff --store`: replies and judgements, at the least and at the most, and both together with the
    vectors."""

    replies: tuple[int, int]
    judgements: tuple[int, int]
    every: tuple[int, int]


class Versions:
    """Two versions of a benchmark, and a store."""

    def __init__(self, folder: Path, tripos: Command, roles: Mapping[str, str]) -> None:
        self.folder, self.tripos, self.roles = folder, tripos, roles

    def write(self, name: str, files: Mapping[str, str]) -> None:
        """Write one of them."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / name).mkdir(parents=True)
        for file, text in files.items():
            (self.folder / name / file).write_text(text, "utf-8")

    def run(self, name: str, models: str, *more: str, code: int = 0) -> int:
        """Run one of them, and return how many calls it made."""
        roles = [each for role, model in self.roles.items() for each in ("--role", f"{role}={model}")]
        given = ("--model", models, *roles, "--store", str(self.folder / "store"), "--json", *more)
        done = self.tripos("run", str(self.folder / name), *given)
        assert done.code == code, done.err
        asked: int = json.loads(done.out)["calls"]["asked"]
        return asked

    def told(self, *more: str) -> Told:
        """Return what is said of the next run."""
        places = (str(self.folder / "before"), str(self.folder / "after"), "--store", str(self.folder / "store"))
        done = self.tripos("diff", *places, "--format", "json", *more)
        assert done.code == 0, done.err
        found: dict[str, Any] = json.loads(done.out)["next_run"]
        spans = [(found[name]["at_least"], found[name]["at_most"]) for name in ("replies", "judgements", "vectors")]
        total = (found["total"]["at_least"], found["total"]["at_most"])
        assert total == (sum(low for low, _ in spans), sum(high for _, high in spans))
        return Told(spans[0], spans[1], total)


def used_roles(spec: DrawnSpec) -> dict[str, str]:
    """Return the models of the roles that a benchmark has."""
    return {role: models for role, models in ROLES.items() if f"role {role}" in spec.text}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + sized(1, 30)))
def test_the_run_asks_what_was_told(seed: int, tmp_path: Path, tripos: Command) -> None:
    random = Random(seed)
    spec = drawn_spec(random)
    models = ",".join(random.sample(MODELS, random.randint(1, 2)))
    versions = Versions(tmp_path, tripos, used_roles(spec))
    versions.write("before", spec.files)
    versions.run("before", models)
    for _ in range(sized(1, 2)):
        edit = drawn_edit(random, spec)
        versions.write("after", edit.spec.files)
        told, asked = versions.told(), versions.run("after", models)
        assert told.every[0] <= asked <= told.every[1], edit.name
        assert versions.told().every == (0, 0), edit.name
        shutil.rmtree(tmp_path / "before")
        (tmp_path / "after").rename(tmp_path / "before")
        spec = edit.spec


def lines(rows: list[dict[str, str]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


CASES: Mapping[str, tuple[tuple[str, str], list[dict[str, str]], int, int]] = {
    # what is edited, the rows, the replies that one model is asked for, and the judgements at the most
    "one language of one condition": (('zh "计划：', 'zh "请计划：'), ITEMS, 2, 0),
    "one language of every arm": (('zh "用{{ aid }}', 'zh "请用{{ aid }}'), ITEMS, 16, 16),
    "one label of an arm": (('tip  en "a tip"', 'tip  en "one tip"'), ITEMS, 8, 8),
    "a condition in other words": (("when aid == tip and", "when aid != none and"), ITEMS, 0, 0),
    "a condition of another arm": (("when aid == tip and", "when aid == none and"), ITEMS, 0, 0),
    "a condition of more rows": (("when aid == tip and level == hard", "when aid == tip"), ITEMS, 4, 0),
    "more samples": (("samples 2", "samples 3"), ITEMS, 16, 16),
    "fewer samples": (("samples 2", "samples 1"), ITEMS, 0, 0),
    "the judge's prompt in one language": (('zh "友善吗？', 'zh "友善？'), ITEMS, 0, 16),
    "an answer": (("measure kindness", "measure mildness"), [{**ITEMS[0], "answer": "2"}, *ITEMS[1:]], 0, 0),
    "a question": (("measure kindness", "measure mildness"), [{**ITEMS[0], "question": "?"}, *ITEMS[1:]], 4, 4),
    "a row less": (("measure kindness", "measure mildness"), ITEMS[1:], 0, 0),
    "rows in another order": (("measure kindness", "measure mildness"), ITEMS[::-1], 0, 0),
    "one more arm": (("arm aid {\n", 'arm aid {\n  more en "more" zh "更多"\n'), ITEMS, 16, 16),
}


@pytest.mark.parametrize("name", spread(CASES, 3))
def test_by_language_condition_arm_and_row(name: str, tmp_path: Path, tripos: Command) -> None:
    edited, rows, replies, judgements = CASES[name]
    assert edited[0] in SPEC
    versions = Versions(tmp_path, tripos, {"grader": "mock/careful:grader"})
    versions.write("before", {"paid.tripos": SPEC, "items.jsonl": lines(ITEMS)})
    versions.write("after", {"paid.tripos": SPEC.replace(*edited), "items.jsonl": lines(rows)})
    versions.run("before", "mock/careful,mock/careless")
    told = versions.told()
    assert told.replies == (2 * replies, 2 * replies)
    assert told.judgements[1] == 2 * judgements
    asked = versions.run("after", "mock/careful,mock/careless")
    assert told.every[0] <= asked <= told.every[1]
    if not replies:  # what the judges are sent is known
        assert told.judgements[0] == told.judgements[1]


@pytest.fixture
def versions(tmp_path: Path, tripos: Command) -> Versions:
    """A benchmark, and another version of it that asks otherwise in Chinese."""
    found = Versions(tmp_path, tripos, {"grader": "mock/careful:grader"})
    found.write("before", {"paid.tripos": SPEC, "items.jsonl": lines(ITEMS)})
    after = SPEC.replace('zh "用{{ aid }}', 'zh "请用{{ aid }}')
    found.write("after", {"paid.tripos": after, "items.jsonl": lines(ITEMS)})
    return found


def test_the_models_of_runs_that_differ_in_these_alone_count_together(versions: Versions) -> None:
    versions.run("before", "mock/careful")
    assert versions.told().replies == (16, 16)
    versions.run("before", "mock/careless")
    assert versions.told().replies == (32, 32)
    assert versions.told("--model", "mock/careless").replies == (16, 16)
    assert versions.told("--model", "mock/fair").replies == (36, 36)


def test_a_role_may_have_another_name(versions: Versions) -> None:
    versions.run("before", "mock/careful")
    after = SPEC.replace("role grader", "role marker").replace("by grader", "by marker")
    versions.write("after", {"paid.tripos": after, "items.jsonl": lines(ITEMS)})
    assert versions.told().every == (0, 0)
    assert versions.told("--role", "marker=mock/careful:other").every == (32, 32)


def test_the_items_are_those_of_the_last_run(versions: Versions) -> None:
    versions.run("before", "mock/careful")
    versions.run("before", "mock/careful", "--only", "language=zh", "--only", "aid=tip", "--limit", "1")
    assert versions.told().replies == (2, 2)
    assert versions.run("after", "mock/careful", "--only", "language=zh", "--only", "aid=tip", "--limit", "1") <= 4


def test_a_failed_or_missing_call_is_asked_too(versions: Versions) -> None:
    assert versions.run("before", "mock/careful", "--budget", "10calls", code=1) <= 10
    told = versions.told()
    asked = versions.run("after", "mock/careful")
    assert told.every[0] <= asked <= told.every[1]
    assert told.replies[0] == told.replies[1]


def test_without_a_run_nobody_knows_whom_to_ask(versions: Versions, tripos: Command) -> None:
    before, after, store = (str(versions.folder / each) for each in ("before", "after", "store"))
    done = tripos("diff", before, after, "--store", store)
    assert (done.code, "R0201" in done.err) == (2, True)
    assert tripos("diff", before, after, "--model", "mock/careful").code == 2
    assert "36 replies" in tripos("diff", before, after, "--store", store, "--model", "mock/careful").out


def test_a_plan_without_data_has_no_next_run(versions: Versions, tripos: Command) -> None:
    versions.run("before", "mock/careful")
    before, after = str(versions.folder / "before"), str(versions.folder / "after")
    plan = versions.folder / "after.json"
    plan.write_text(tripos("plan", after, "--json").out, "utf-8")
    done = tripos("diff", before, str(plan), "--store", str(versions.folder / "store"))
    assert (done.code, "R0202" in done.err) == (2, True)
    assert tripos("diff", str(plan), after, "--store", str(versions.folder / "store")).code == 0
