"""Why calls would be made: each change of a spec, of a choice or of the data has its own words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.runtime.foretelling import SPEC, Bench, why
from tests.runtime.in_memory import MemoryLedger
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.forecast.reasons import Earlier, History
from tripos_runtime.models.base import ModelError, Request

ASK = "ask reply by candidate {"
JUDGED = "builds on `reply`, which is asked again"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A benchmark that was run whole, once, by the model `a` and the judge `j`."""
    bench = Bench(tmp_path)
    bench.run()
    return bench


def test_a_benchmark_that_was_never_run_says_so(tmp_path: Path) -> None:
    assert why(Bench(tmp_path).foretell()) == {"never run": 6}


def test_a_new_model_is_named(bench: Bench) -> None:
    assert why(bench.foretell(models=("a", "b"))) == {"model new: b": 3, JUDGED: 3}


def test_a_new_judge_is_named_by_its_role(bench: Bench) -> None:
    assert why(bench.foretell(judges=("j", "k"))) == {"judge new: k": 3}


def test_new_and_changed_items_are_counted_beside_all(bench: Bench) -> None:
    bench.rows("6 * 7", "40 + 3", "1 + 1", "2 + 2")
    found = bench.foretell()
    assert why(found) == {"items new or changed: 2 of 4": 2, JUDGED: 2}
    [reason] = [each for each in found.reasons if each.kind == "items"]
    assert (reason.items, reason.of_items, reason.places) == (2, 4, (("sums", "reply"),))


def test_items_that_a_limit_left_out_are_not_called_changed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(selection=Selection(limit=1))
    assert why(bench.foretell()) == {"items not run before: 2 of 3": 2, JUDGED: 2}


def test_calls_that_failed_name_their_code(tmp_path: Path) -> None:
    def failing(request: Request) -> ModelError:
        return ModelError("R0104", "slow down", "")

    bench = Bench(tmp_path)
    bench.run(failing)
    assert why(bench.foretell()) == {"failed before (R0104)": 3, JUDGED: 3}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("{{ item.question }}", "Q: {{ item.question }}", "step changed: prompt"),
        (ASK, f'{ASK} system "Be brief.",', "step changed: system added"),
        (ASK, f"{ASK} temperature 0.7,", "step changed: settings (temperature unset → 0.7)"),
        (ASK, f"{ASK} max_tokens 90,", "step changed: settings (max_tokens unset → 90)"),
        (ASK, f"{ASK} returns {{ said text, sure bool }},", "step changed: returns"),
    ],
    ids=["prompt", "system", "temperature", "max_tokens", "returns"],
)
def test_a_changed_step_says_what_of_it_changed(bench: Bench, before: str, after: str, words: str) -> None:
    bench.write(SPEC.replace(before, after))
    assert why(bench.foretell()) == {words: 3, JUDGED: 3}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("Is it clear?", "Is it plain?", "rubric of metric `CLEAR` changed"),
        ("scale 1..10", "scale 1..5", "rubric of metric `CLEAR` changed"),
        ("Grade: {{", "Grade: this {{", "step changed: prompt of the scorer"),
        ("response: reply.text", "response: reply.prompt", "step changed: what it is given as `response`"),
        (
            "gives allocated metrics",
            "gives allocated metrics\n  temperature 0.2",
            "step changed: settings (temperature unset → 0.2)",
        ),
    ],
    ids=["rubric", "scale", "prompt", "given", "settings"],
)
def test_a_changed_judge_is_asked_alone_and_says_why(bench: Bench, before: str, after: str, words: str) -> None:
    bench.write(SPEC.replace(before, after))
    assert why(bench.foretell()) == {words: 3}


def test_an_added_metric_is_named(bench: Bench) -> None:
    more = SPEC.replace("}\n}\nscorer", "}\n}\nscorer").replace(
        '"Is it clear?" }\n', '"Is it clear?" }\n  metric KIND "Kindness" { scale 1..10, asks "Is it kind?" }\n'
    )
    bench.write(
        more.replace("|      | CLEAR |\n  | sums |   x   |", "|      | CLEAR | KIND |\n  | sums |   x   |  x   |")
    )
    assert why(bench.foretell()) == {"metric `KIND` added": 3}


def test_more_samples_say_from_how_many_to_how_many(bench: Bench) -> None:
    bench.write(SPEC.replace(ASK, f"{ASK} samples 4,"))
    assert why(bench.foretell()) == {"more samples: 1 → 4": 9, JUDGED: 9}


def test_a_renamed_scenario_is_recognised(bench: Bench) -> None:
    bench.write(SPEC.replace("scenario sums", "scenario adds").replace("| sums |", "| adds |"))
    assert why(bench.foretell()) == {}
    assert why(bench.foretell(models=("b",))) == {"scenario renamed: `sums` before": 6}


def test_a_renamed_step_costs_nothing(bench: Bench) -> None:
    bench.write(SPEC.replace("ask reply", "ask answer").replace("reply.text", "answer.text"))
    found = bench.foretell()
    assert found.reasons == ()
    assert [line.reused for line in found.lines.values()] == [3, 3]


def test_a_step_that_is_put_before_another_is_new_and_asked_alone(bench: Bench) -> None:
    bench.write(
        SPEC.replace(f"  {ASK}", f'  ask hint by helper {{ prompt "Hint at {{{{ item.question }}}}" }}\n  {ASK}')
    )
    bench.write(
        (bench.folder / "t.tripos")
        .read_text()
        .replace("length(reply.text) > 3", "length(reply.text) + length(hint.text) > 3")
    )
    assert why(bench.foretell()) == {"step `hint` new": 3}


def test_a_plan_of_another_format_is_said_to_be_unknown(bench: Bench) -> None:
    [run] = bench.earlier
    newer = replace(run, plan_text=run.plan_text.replace("tripos.plan/3", "tripos.plan/9"))
    bench.write(SPEC.replace("{{ item.question }}", "Q: {{ item.question }}"))
    assert why(bench.foretell(history=History((newer,), {"sums": frozenset(bench.items)}))) == {
        "unknown: this version cannot read the plan of run run0": 3,
        JUDGED: 3,
    }


def test_a_step_of_which_nothing_changed_is_said_to_be_of_another_version(bench: Bench) -> None:
    [run] = bench.earlier
    assert run.plan is not None
    [asked] = {step.fingerprint for step in run.plan.scenarios[0].steps if step.step == "ask"}
    bench.ledger = MemoryLedger()
    other = replace(run, plan_text=run.plan_text.replace(asked, "0" * 32), fingerprints=frozenset(("0" * 32,)))
    history = History((other,), {"sums": frozenset(bench.items)})
    assert why(bench.foretell(history=history))["another version of Tripos: it computes or names this otherwise"] == 3


def test_a_scenario_that_was_left_out_before_was_never_run(bench: Bench) -> None:
    other = SPEC[SPEC.index("scenario sums") : SPEC.index("measure m")].replace("scenario sums", "scenario more")
    more = SPEC.replace("measure m", f"{other}measure m").replace("|   x   |\n", "|   x   |\n  | more |   x   |\n")
    bench.write(more)
    bench.run(selection=Selection(("sums",)))
    assert why(bench.foretell()) == {"never run": 6}


def test_the_reason_is_that_of_the_newest_run_that_had_the_step(bench: Bench) -> None:
    bench.write(SPEC.replace("{{ item.question }}", "Q: {{ item.question }}"))
    bench.run()
    bench.write(SPEC.replace("{{ item.question }}", "Q: {{ item.question }}").replace(ASK, f"{ASK} temperature 0,"))
    assert why(bench.foretell()) == {"step changed: settings (temperature unset → 0.0)": 3, JUDGED: 3}


def test_earlier_runs_of_the_same_step_count_whichever_came_last(bench: Bench) -> None:
    assert isinstance(bench.earlier[0], Earlier)
    bench.run(models=("b",))
    assert why(bench.foretell(models=("a", "b", "c"))) == {"model new: c": 3, JUDGED: 3}
