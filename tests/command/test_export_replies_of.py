"""Training data whose models are chosen by a graded sample: every reply of theirs, and replies of other runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command.test_export_training import lines, provenance, run
from tests.conftest import ITEMS, Command
from tests.lengths import spread

MODELS = ("--model", "mock/careful,mock/careful:b,mock/careless", "--role", "judge=mock/careful:j,mock/noisy")
EXPORTS = """
measure by_scenario = mean(rubric) by scenario
export of_scenarios {
  best of candidate by by_scenario per scenario
  rows reply
}
export of_metrics {
  best of candidate by by_metric per metric
  every reply
  rows reply
}
"""
MORE = [
    {"question": f"what follows {number}, the number of eggs", "answer": str(number + 1)} for number in range(40, 52)
]


@pytest.fixture
def graded(quiz: Path, once: Command) -> str:
    """The run of a sample that judges graded; the items are then many more."""
    spec = Path("quiz.tripos").read_text("utf-8") + EXPORTS
    Path("quiz.tripos").write_text(spec, "utf-8")
    name = run(once, *MODELS)
    Path("items.jsonl").write_text("\n".join(json.dumps(item) for item in [*ITEMS, *MORE]), "utf-8")
    return name


def test_every_reply_of_a_model_that_is_best_on_any_metric_is_taken(graded: str, tripos: Command) -> None:
    assert tripos("export", "of_metrics", graded, "-o", "t.jsonl").code == 0
    told = provenance("t.jsonl")
    winners = {each["model"] for each in told["best"]}
    assert told["every_reply"] and set(told["by_model"]) == winners
    assert tripos("sql", "select model, count(*) as n from quiz.samples group by all", "-o", "n.json").code == 0
    replies = {each["model"]: each["n"] for each in json.loads(Path("n.json").read_text("utf-8"))}
    of_any_model = ("not the best", "another form")
    left_out = sum(count for name, count in told["left_out"].items() if name not in of_any_model)
    left_out += sum(each["model"] in winners for each in told["another_form"])
    assert len(lines("t.jsonl")) == sum(replies[name] for name in winners) - left_out
    for line in told["lines"]:  # what a model won says why all of its replies are there
        assert {each["cell"]["metric"] for each in line["won"]} == {
            each["cell"]["metric"] for each in told["best"] if [each["model"]] == line["models"]
        }


def test_an_option_takes_every_reply_too(graded: str, tripos: Command) -> None:
    assert tripos("export", "of_metrics", graded, "-o", "a.jsonl").code == 0
    given = ("--by", "by_metric", "--per", "metric", "--every")
    assert tripos("export", "distillation", graded, *given, "-o", "b.jsonl").code == 0
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()


@pytest.mark.parametrize("export", spread(["of_scenarios", "of_metrics"], 1))
def test_a_sample_chooses_the_models_and_other_runs_give_the_replies(graded: str, export: str, tripos: Command) -> None:
    first, second = (
        run(tripos, *MODELS[:3], "judge=mock/down", "--scenario", name, "--max-retries", "0")
        for name in ("sums", "words")
    )
    done = tripos("export", export, graded, "--replies-of", f"{first},{second}", "-o", "t.jsonl")
    assert done.code == 0, done.err
    told = provenance("t.jsonl")
    assert told["replies_of"] == [first, second] and told["run_id"] == graded
    assert told["held_out"]["runs"] == [graded]
    winners = {each["model"] for each in told["best"]}
    assert set(told["by_model"]) <= winners
    asked = {line["messages"][0]["content"] for line in lines("t.jsonl")}
    assert asked and all("eggs" in prompt for prompt in asked)  # nothing of what was graded


def test_replies_that_nobody_graded_are_in_no_cell_of_a_metric(graded: str, tripos: Command) -> None:
    given = ("--by", "by_metric", "--per", "metric", "--replies-of", graded)
    done = tripos("export", "distillation", graded, *given, "-o", "t.jsonl")
    assert done.code == 2
    assert "replies that are not graded are in no cell of `metric`" in done.err
    assert "--every" in done.err


def test_a_run_of_other_models_has_nothing_to_take(graded: str, tripos: Command) -> None:
    other = run(tripos, "--model", "mock/fair", "--role", "judge=mock/careful:j")
    done = tripos("export", "of_scenarios", graded, "--replies-of", other, "-o", "t.jsonl")
    assert done.code != 0
    assert f"run `{other}` has no reply of `mock/careful`" in done.err


def test_every_reply_is_nothing_of_pairs(quiz: Path, tripos: Command) -> None:
    spec = Path("quiz.tripos").read_text("utf-8")
    Path("quiz.tripos").write_text(
        spec + "export two {\n pairs of candidate by rubric\n every reply\n rows reply\n}\n", "utf-8"
    )
    done = tripos("check", "quiz.tripos")
    assert done.code == 2
    assert "error[E0202]: `every reply` is of the models that are best" in done.err + done.out
