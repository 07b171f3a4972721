"""EduBench, distilled: from a graded sample to a trained student, with mock models and a tiny one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.training.tiny import make_tiny


@pytest.mark.filterwarnings("ignore")
def test_edubench_goes_from_graded_models_to_a_student(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    """As its page on distillation: graded items choose the models, other items give the replies, a tiny model learns."""
    specs = Path(__file__).parents[2] / "specs/edubench"
    monkeypatch.chdir(tmp_path)
    models = ("--model", "mock/careful,mock/careless", "--json")
    judged = ("--scenario", "grading", "--limit", "2", "--role", "judge=mock/fair,mock/noisy")
    graded = tripos("run", str(specs / "shipped.tripos"), *models, *judged).data["run_id"]
    asked = ("--scenario", "grading", "--limit", "3", "--role", "judge=mock/fair", "--role", "author=mock/author")
    more = tripos("run", str(specs), *models, *asked).data["run_id"]
    assert tripos("export", "by_metric", graded, "--replies-of", more, "-o", "chats.jsonl").code == 0
    given = ("--recipe", "edubench", "--max-steps", "1", "--max-tokens", "100000", "--device", "cpu", "--json")
    tiny = make_tiny(tmp_path / "tiny")
    done = tripos("train", "sft", "chats.jsonl", "--model", str(tiny), "-o", "student", *given)
    assert done.code == 0, done.err
    report = json.loads(Path("student/training.json").read_text("utf-8"))
    assert (report["recipe"]["name"], report["recipe"]["batch"], report["device"]["at_once"]) == ("edubench", 8, 1)
    assert report["steps"] == 1
