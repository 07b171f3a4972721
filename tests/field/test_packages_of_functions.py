"""Instructions that programs verify, as those of IFEval: the checks are a small package of files beside the spec. Every
file is in the plan and the release, and only what was checked is executed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.field.running import figures_of, lines

SPEC = """
benchmark following "1.0.0" {
  license "CC0-1.0"
  languages en
}
role candidate compared

dataset item from "items.jsonl" {
  prompt  text
  kinds   list<text>
  counts  list<integer>
}

scorer strict(reply: text, kinds: list<text>, counts: list<integer>) -> number from "checks/verify.py:share"
function all_hold from "checks/verify.py:all_hold"

scenario follow {
  over item
  ask reply by candidate { prompt "{{ item.prompt }}" }
  score strict = strict(reply.text, item.kinds, item.counts)
  score whole  = all_hold(reply.text, item.kinds, item.counts)
}

measure instructions = mean(strict)
measure prompts      = mean(whole)
"""
VERIFY = '''"""The instructions of a prompt that a reply follows."""

import json as _json

from checks.rules.lengths import least_words
from rules import RULES
from rules.marks import bare as without_marks


def share(reply: str, kinds: list[str], counts: list[int]) -> float:
    held = [RULES[kind](without_marks(reply), count) for kind, count in zip(kinds, counts)]
    assert RULES["words"] is least_words
    return sum(held) / len(held)


def all_hold(reply: str, kinds: list[str], counts: list[int]) -> bool:
    return share(reply, kinds, counts) == 1
'''
INIT = '''"""The rules by name."""

from .lengths import least_words
from .marks import commas

RULES = {"words": least_words, "commas": commas}
'''
LENGTHS = """from . import marks


def least_words(reply: str, count: int) -> bool:
    return len(marks.bare(reply).split()) >= count
"""
MARKS = """import re


def bare(text: str) -> str:
    return re.sub("[*_]", "", text)


def commas(reply: str, count: int) -> bool:
    return reply.count(",") <= count
"""
FILES = {
    "checks/verify.py": VERIFY,
    "checks/rules/__init__.py": INIT,
    "checks/rules/lengths.py": LENGTHS,
    "checks/rules/marks.py": MARKS,
    "checks/rules/unused.py": "raise RuntimeError('nobody imports this')\n",
}
USED = sorted(name for name in FILES if "unused" not in name)
ITEMS = [
    {"prompt": f"p{n}", "kinds": ["words", "commas"][: 1 + n % 2], "counts": [n % 5, n % 3][: 1 + n % 2]}
    for n in range(40)
]


def answer(text: str) -> str:
    number = int(text[1:])
    return "*so*, " * (number % 4) + "and on"


def write(folder: Path) -> None:
    for name, text in {**FILES, "spec.tripos": SPEC, "items.jsonl": lines(ITEMS)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def test_the_figures_are_those_of_the_rules_worked_out_apart(tmp_path: Path) -> None:
    write(tmp_path)
    found = figures_of(tmp_path, SPEC, {"items.jsonl": lines(ITEMS)}, answer)
    shares = []
    for n in range(40):
        held = [n % 4 + 2 >= n % 5, n % 4 <= n % 3][: 1 + n % 2]
        shares.append(sum(held) / len(held))
    assert found["instructions"].value == pytest.approx(sum(shares) / 40)
    assert found["prompts"].value == pytest.approx(sum(share == 1 for share in shares) / 40)
    assert all(sorted(plugin.modules) == USED for plugin in found.plan.plugins)
    assert {plugin.name: plugin.purity for plugin in found.plan.plugins} == {"strict": None, "all_hold": None}
    assert "rules" not in sys.modules and "checks" not in sys.modules


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    return tmp_path


def versions(tripos: Command) -> set[tuple[str, str]]:
    done = tripos("plan", "spec.tripos", "--json")
    assert done.code == 0, done.err
    steps = done.data["scenarios"][0]["treatments"][0]["steps"]
    return {(each["name"], each["fingerprint"]) for each in steps if each["step"] == "score"} | {
        (each["name"], each["version"]) for each in done.data["plugins"]
    }


@pytest.mark.parametrize("name", USED)
def test_a_change_of_any_file_is_another_function(here: Path, tripos: Command, name: str) -> None:
    before = versions(tripos)
    assert tripos("lock", "spec.tripos", "--model", "mock/careful").code == 0
    (here / name).write_text((here / name).read_text() + "\n# another\n")
    after = versions(tripos)
    assert not before & after
    done = tripos("run", "spec.tripos", "--model", "mock/careful", "--locked")
    assert done.code == 2 and "R0260" in done.err
    (here / "checks/rules/unused.py").write_text("another")
    assert versions(tripos) == after


def test_a_release_has_the_files_that_are_imported_and_no_other(here: Path, tripos: Command) -> None:
    done = tripos("release", "spec.tripos")
    assert done.code == 0, done.err
    release = here / "releases/following-1.0.0"
    assert sorted(path.relative_to(release / "spec").as_posix() for path in release.rglob("*.py")) == USED
    assert tripos("verify", "releases/following-1.0.0").code == 0
    run = tripos("run", "releases/following-1.0.0", "--model", "mock/careful")
    assert run.code == 0, run.err
    (release / "spec/checks/rules/marks.py").write_text(MARKS.replace("<=", "<"))
    done = tripos("verify", "releases/following-1.0.0")
    assert done.code != 0 and "checks/rules/marks.py" in done.out + done.err
    assert tripos("run", "releases/following-1.0.0", "--model", "mock/careful").code != 0


def test_a_benchmark_that_is_not_trusted_executes_no_file(here: Path, tripos: Command) -> None:
    (here / "checks/rules/marks.py").write_text("open('executed', 'w')\n" + MARKS)
    done = tripos("run", "spec.tripos", "--model", "mock/careful", "--untrusted")
    assert done.code == 2 and "R0270" in done.err
    assert tripos("check", "spec.tripos", "--untrusted").code == 0
    assert not (here / "executed").exists()


def test_what_is_imported_in_another_way_is_not_there(here: Path, tripos: Command) -> None:
    (here / "checks/verify.py").write_text("import importlib\n\nhidden = importlib.import_module('unused')\n" + VERIFY)
    done = tripos("run", "spec.tripos", "--model", "mock/careful")
    assert done.code == 2 and "R0301" in done.err and "install `unused`" in done.err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("from .lacking import one", "line 1 of `checks/rules/lengths.py` imports `.lacking`"),
        ("from ...above import one", "line 1 of `checks/rules/lengths.py` imports `...above`"),
        ("def broken(:", "lengths.py"),
    ],
)
def test_a_mistake_in_a_file_beside_is_told_with_its_line(here: Path, tripos: Command, line: str, told: str) -> None:
    (here / "checks/rules/lengths.py").write_text(f"{line}\n{LENGTHS}")
    done = tripos("check", "spec.tripos")
    assert done.code == 2 and "E0310" in done.err and told in done.err, done.err


def test_names_that_are_taken_from_files_beside_are_proved_to_be_pure(here: Path, tripos: Command) -> None:
    (here / "checks/verify.py").write_text(
        "from marks_of import commas\n\n\n"
        "def share(reply: str, kinds: list[str], counts: list[int]) -> float:\n    return float(commas(reply, 1))\n\n\n"
        "def all_hold(reply: str, kinds: list[str], counts: list[int]) -> bool:\n    return commas(reply, 1)\n"
    )
    (here / "checks/marks_of.py").write_text(MARKS)
    plan = tripos("plan", "spec.tripos", "--json")
    assert [each["purity"] for each in plan.data["plugins"]] == ["proved", "proved"]
    (here / "checks/marks_of.py").write_text("import os\n" + MARKS.replace("reply.count", "os.environ and reply.count"))
    plan = tripos("plan", "spec.tripos", "--json")
    assert not any(each.get("purity") for each in plan.data["plugins"])


def test_the_files_of_two_benchmarks_are_not_those_of_each_other(tmp_path: Path) -> None:
    values = []
    for name, least in (("one", 0), ("two", 100)):
        write(tmp_path / name)
        path = tmp_path / name / "checks/rules/lengths.py"
        path.write_text(LENGTHS.replace(">= count", f">= {least}"))
        found = figures_of(tmp_path / name, SPEC, {"items.jsonl": lines(ITEMS)}, answer)
        values.append(found["prompts"].value)
    assert values[0] is not None and values[0] > 0 and values[1] == 0


def test_the_file_of_an_aggregate_stands_alone(here: Path, tripos: Command) -> None:
    own = 'aggregate middle(a: list<number>) -> number from "checks/middle.py:middle"\nmeasure m = middle(strict)\n'
    (here / "spec.tripos").write_text(SPEC + own)
    (here / "checks/middle.py").write_text(
        "from rules.marks import bare\n\n\ndef middle(a: list[float]) -> float:\n    return sorted(a)[len(a) // 2]\n"
    )
    done = tripos("check", "spec.tripos")
    assert done.code == 2 and "stands alone" in done.err
