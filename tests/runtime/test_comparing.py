"""Comparisons: every two models, in both orders, judged once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.runtime.foretelling import Bench, calls
from tests.runtime.small_runs import SmallRun, run_small
from tripos_compiler.plan import Compare
from tripos_runtime.models.base import ModelError, Request

SPEC = """\
benchmark c "1.0.0" { languages en }
role candidate compared
role judge panel
axis topic { rain, wind }
scorer better(one: text, two: text) by judge {
  prompt "Which?\\n{{ one }}\\n{{ two }}"
  gives choice(one, two, tie)
}
scenario essay {
  context topic
  ask reply by candidate { prompt "Explain {{ topic }}." }
  compare preferred using better(first.reply.text, second.reply.text)
}
measure won = win_rate(preferred)
"""


def longer_name(request: Request) -> str:
    """Candidates say who they are; judges prefer the reply of whoever comes first in the alphabet."""
    text = request.messages[-1].content
    if not text.startswith("Which?"):
        return f"{request.model} explains"
    _, one, two, *_ = text.splitlines()
    return '{"value": "one"}' if one < two else '{"value": "two"}'


def run(folder: Path, spec: str = SPEC, **options: Any) -> SmallRun:
    """Return a run of it, with one judge unless others are named."""
    return run_small(folder, spec, {}, script=options.pop("script", longer_name), judge="j", **options)


def outcomes(done: SmallRun) -> dict[tuple[str, str, str, str], tuple[float | None, str]]:
    """Return what came of every comparison, by context, judge and the models in their order."""
    return {
        (row["item_id"], row["evaluator"], row["first_model"], row["second_model"]): (row["value"], row["status"])
        for row in done.table("comparisons")
    }


def test_every_two_models_are_compared_in_both_orders_and_once(tmp_path: Path) -> None:
    done = run(tmp_path, models=("a", "b", "c"))
    found = outcomes(done)
    assert len(found) == 2 * 6
    assert all(value == (float(first < second), "scored") for (_, _, first, second), value in found.items())
    assert done.planned == done.calls == {"candidate": 6, "judge": 12}
    again = run(tmp_path, models=("a", "b", "c"), before=done)
    assert again.calls == {}
    assert again.engine.tally.done == again.engine.tally.total == 18
    assert again.engine.tally.comparisons == {"scored": 12}
    assert again.table("comparisons") == done.table("comparisons")
    alone = run(tmp_path / "alone", models=("a",))
    assert alone.calls == {"candidate": 2}
    assert not alone.table("comparisons")


def test_a_comparison_names_both_replies_and_the_judgement_the_first(tmp_path: Path) -> None:
    done = run(tmp_path, models=("a", "b"))
    shown = {tuple(each[0][1].splitlines()[1:3]) for each in done.sent("j")}
    assert shown == {("a explains", "b explains"), ("b explains", "a explains")}
    models = {row["sample_id"]: row["model"] for row in done.table("samples")}
    judgements = {row["judgement_id"]: row["sample_id"] for row in done.table("judgements")}
    for row in done.table("comparisons"):
        assert models[row["first_sample_id"]] == row["first_model"]
        assert models[row["second_sample_id"]] == row["second_model"]
        assert judgements[row["judgement_id"]] == row["first_sample_id"]
    (work,) = done.ledger.works.values()
    assert {row["comparison_id"] for row in done.table("comparisons")} <= work.names
    assert isinstance(done.plan.scenarios[0].steps[-1], Compare)


def test_a_further_model_asks_for_its_own_pairs_only(tmp_path: Path) -> None:
    before = run(tmp_path, models=("a", "b"))
    more = run(tmp_path, models=("a", "b", "c"), before=before)
    assert more.calls == {"candidate": 2, "judge": 8}
    assert all("c explains" in each[0][1] for each in more.sent("j"))


def test_of_a_run_that_was_cut_short_the_rest_is_asked_for(tmp_path: Path) -> None:
    """Whatever was kept when the process died, the next run asks for the rest, and the tables are the same."""
    whole = run(tmp_path, models=("a", "b"))
    for gone in ("comparisons", "judgements", "samples"):
        for count in (0, 1, 3):
            left = run(tmp_path, models=("a", "b"))
            left.ledger.kept[gone] = left.ledger.kept[gone][:count]
            again = run(tmp_path, models=("a", "b"), before=left)
            lost = {"samples": "candidate", "judgements": "judge"}.get(gone)
            assert again.calls == ({lost: 4 - count} if lost else {})
            assert outcomes(again) == outcomes(whole)


def test_the_order_of_models_makes_no_difference(tmp_path: Path) -> None:
    whole = outcomes(run(tmp_path, models=("a", "b", "c")))

    @settings(max_examples=6, deadline=None, derandomize=True)
    @given(st.permutations(["a", "b", "c"]))
    def same(models: list[str]) -> None:
        assert outcomes(run(tmp_path, models=tuple(models))) == whole

    same()


def test_a_side_without_a_reply_gives_a_status_and_no_call(tmp_path: Path) -> None:
    def script(request: Request) -> str | ModelError:
        return ModelError("R0108", "no", "", status="refused") if request.model == "b" else longer_name(request)

    done = run(tmp_path, models=("a", "b", "c"), script=script)
    found = outcomes(done)
    assert {value for (_, _, one, two), value in found.items() if "b" in (one, two)} == {(None, "refused")}
    assert {value for (_, _, one, two), value in found.items() if "b" not in (one, two)} == {
        (1.0, "scored"),
        (0.0, "scored"),
    }
    assert done.engine.tally.done == done.engine.tally.total
    assert run(tmp_path, models=("a", "b", "c"), script=script, before=done).calls == {}


def test_a_call_that_failed_is_made_by_the_next_run(tmp_path: Path) -> None:
    def script(request: Request) -> str | ModelError:
        return ModelError("R0101", "down", "") if request.model == "j" else longer_name(request)

    before = run(tmp_path, models=("a", "b"), script=script)
    assert {status for _, status in outcomes(before).values()} == {"provider_error"}
    again = run(tmp_path, models=("a", "b"), before=before)
    assert again.calls == {"judge": 4}
    assert {row["status"] for row in again.table("comparisons")[-4:]} == {"scored"}


@pytest.mark.parametrize(
    ("said", "outcome"), [("I like both", (None, "parse_failure")), ('{"value": "tie"}', (0.5, "scored"))]
)
def test_a_tie_is_half_and_a_reply_that_names_neither_a_parse_failure(
    tmp_path: Path, said: str, outcome: tuple[float | None, str]
) -> None:
    def script(request: Request) -> str:
        return said if request.model == "j" else longer_name(request)

    done = run(tmp_path, models=("a", "b"), script=script)
    assert set(outcomes(done).values()) == {outcome}
    assert run(tmp_path, models=("a", "b"), script=script, before=done).calls == {}


def test_a_condition_rules_pairs_out(tmp_path: Path) -> None:
    spec = SPEC.replace("second.reply.text)\n", 'second.reply.text) when topic == "rain"\n'.replace('"rain"', "rain"))
    done = run(tmp_path, spec, models=("a", "b"))
    assert done.calls["judge"] == 2
    assert sorted(status for _, status in outcomes(done).values()) == ["not_applicable"] * 2 + ["scored"] * 2


def test_a_condition_may_name_both_sides(tmp_path: Path) -> None:
    condition = "when first.reply.text != second.reply.text"
    spec = SPEC.replace("second.reply.text)\n", f"second.reply.text) {condition}\n")
    done = run(tmp_path, spec, models=("a", "b"), script=lambda r: longer_name(r).replace("a ", "b "))
    assert {status for _, status in outcomes(done).values()} == {"not_applicable"}


def test_the_nth_sample_meets_the_nth(tmp_path: Path) -> None:
    spec = SPEC.replace('prompt "Explain {{ topic }}." }', 'prompt "Explain {{ topic }}.", samples 3 }')
    done = run(tmp_path, spec, models=("a", "b"))
    assert done.planned == done.calls == {"candidate": 12, "judge": 12}
    numbers = {row["sample_id"]: row["sample_number"] for row in done.table("samples")}
    assert {
        (numbers[row["first_sample_id"]], numbers[row["second_sample_id"]]) for row in done.table("comparisons")
    } == {(0, 0), (1, 1), (2, 2)}


def test_what_a_let_makes_of_a_reply_stands_on_both_sides(tmp_path: Path) -> None:
    spec = SPEC.replace("  compare", "  let loud = upper(reply.text)\n  compare")
    spec = spec.replace("first.reply.text, second.reply.text", "first.loud, second.loud")
    done = run(tmp_path, spec, models=("a", "b"))
    shown = {tuple(each[0][1].splitlines()[1:3]) for each in done.sent("j")}
    assert shown == {("A EXPLAINS", "B EXPLAINS"), ("B EXPLAINS", "A EXPLAINS")}


def test_where_the_compared_role_judges_each_of_its_models_does(tmp_path: Path) -> None:
    spec = SPEC.replace("by judge {", "by candidate {").replace("role judge panel\n", "")
    done = run_small(tmp_path, spec, {}, script=longer_name, models=("a", "b"))
    assert done.planned == done.calls == {"candidate": 4 + 2 * 2 * 2}
    assert {row["evaluator"] for row in done.table("comparisons")} == {"a", "b"}


def test_arms_have_comparisons_of_their_own(tmp_path: Path) -> None:
    spec = SPEC.replace("axis topic", "arm hint { no, yes }\naxis topic")
    spec = spec.replace("  context topic\n", "  context topic\n  arms hint\n")
    spec = spec.replace("{ prompt", '{ system "Take your time." when hint == yes, prompt')
    done = run(tmp_path, spec, models=("a", "b"))
    assert done.calls == {"candidate": 8, "judge": 8}
    assert len({row["fingerprint"] for row in done.table("comparisons")}) == 2


def test_a_forecast_says_what_a_run_then_asks(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write(SPEC)
    models, judges = ("a", "b", "c"), ("j", "k")
    assert calls(bench.foretell(models, judges))["judge", "j"] == (0, 0, 12)
    made = bench.run(longer_name, models, judges)
    assert made["judge", "j"] == made["judge", "k"] == 12
    more = bench.foretell((*models, "d"), judges)
    assert calls(more)["judge", "j"] == (12, 0, 12)
    assert calls(more)["candidate", "d"] == (0, 2, 2)
    made = bench.run(longer_name, (*models, "d"), judges)
    assert (made["judge", "j"], made["candidate", "d"]) == (12, 2)
    assert bench.foretell((*models, "d"), judges).certain == 0


def test_a_forecast_counts_outcomes_that_are_taken_from_kept_replies(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write(SPEC)
    bench.run(longer_name, ("a", "b"))
    bench.write(SPEC.replace("preferred", "chosen"))
    found = bench.foretell(("a", "b"))
    assert (found.certain, found.scores) == (0, 4)
    assert not bench.run(longer_name, ("a", "b"))


def test_prompts_of_pairs_are_estimated_from_replies_that_are_awaited(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write(SPEC)
    found = bench.foretell(("a", "b"))
    sizes = {where.role: estimate.tokens_in.expected for where, estimate in found.estimates.items()}
    # 4 prompts with two replies of 400 tokens each, and what stands around them.
    assert 4 * 2 * 400 < sizes["judge"] < 4 * 2 * 400 + 4 * 60
