"""What calls take: tokens and cost, and what the figures rest on."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from tests.runtime.foretelling import SPEC, Bench
from tripos_compiler.plan import Settings
from tripos_runtime.forecast.estimates import Basis, Estimate, Span, replies
from tripos_runtime.forecast.lines import Forecast
from tripos_runtime.forecast.reasons import History, Usage
from tripos_runtime.forecast.sizes.sizes import Size
from tripos_runtime.models.base import Price

ASK = "ask reply by candidate {"
PLACE = ("samples", "sums", "reply")
DOLLAR = Price(1e-6, 10e-6, most_out=1000)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def of_step(found: Forecast, step: str) -> Estimate:
    [estimate] = [each for where, each in found.estimates.items() if where.step == step]
    return estimate


def known(usage: Usage, model: str = "a", density: float | None = None) -> History:
    return History(usage={PLACE: {model: usage}}, density={} if density is None else {model: density})


def test_a_prompt_is_rendered_and_four_letters_are_a_token(bench: Bench) -> None:
    bench.rows("abcdefgh", "abcd")
    # for high a token has two letters, and 8 tokens go with a message
    assert of_step(bench.foretell(), "reply").tokens_in == Span(3, 3, 6 + 2 * 8)


def test_chinese_takes_more_tokens_a_character(bench: Bench) -> None:
    bench.rows("十五加二十七等于多少")
    assert Size.of("十五加二十七等于多少") == Size(0, 10)
    assert of_step(bench.foretell(), "reply").tokens_in.expected == pytest.approx(10 / 1.5)


def test_what_a_character_took_in_kept_prompts_is_better_than_a_rule(bench: Bench) -> None:
    bench.rows("abcdefgh")
    found = bench.foretell(history=known(Usage(5, 9.0, 1, 2, 3), density=0.5))
    assert of_step(found, "reply").tokens_in.expected == 4


def test_the_prompt_of_a_judge_has_the_expected_reply_in_it(bench: Bench) -> None:
    bench.rows("abcd")
    found = bench.foretell(history=known(Usage(5, 9.0, 40, 100, 200)))
    reply, judged = of_step(found, "reply"), of_step(found, "grader")
    assert (reply.tokens_out, reply.basis) == (Span(40, 100, inf), (Basis("kept", PLACE, "a", 5),))
    assert judged.tokens_in.expected >= 100
    # a judge is asked only if there is a reply
    assert (judged.tokens_in.low, judged.tokens_in.high) == (0, inf)


def test_the_prompts_that_were_kept_stand_for_those_that_wait(bench: Bench) -> None:
    usage = {("judgements", "sums", "grader"): {"j": Usage(9, 321.0, 20, 30, 40)}}
    assert of_step(bench.foretell(history=History(usage=usage)), "grader").tokens_in.expected == 3 * 321


def test_replies_of_other_models_stand_in_and_say_so(bench: Bench) -> None:
    found = of_step(bench.foretell(history=known(Usage(7, 9.0, 10, 50, 90), model="b")), "reply")
    assert found.tokens_out == Span(30, 150, inf)
    assert found.rests_on == "7 kept replies of other models"


def test_replies_of_a_mock_say_nothing_of_a_real_model(bench: Bench) -> None:
    found = of_step(bench.foretell(history=known(Usage(7, 9.0, 10, 50, 90), model="mock/careful")), "reply")
    assert found.rests_on == "a guess"


def test_a_guess_of_a_text_is_at_most_what_the_settings_or_the_model_allow() -> None:
    def guessed(settings: Settings, price: Price | None) -> Span:
        return replies(PLACE, "a", settings, None, {"a": price}, History()).tokens

    assert guessed(Settings(), None) == Span(200, 400, inf)
    assert guessed(Settings(), DOLLAR) == Span(200, 400, 1000)
    assert guessed(Settings(max_tokens=90), DOLLAR) == Span(45, 90, 90)


def test_a_schema_is_guessed_by_its_fields_and_high_counts_the_repair(bench: Bench) -> None:
    bench.rows("abcd")
    # the judge gives a reason and a score of one metric
    judged = of_step(bench.foretell(prices={"a": DOLLAR, "j": DOLLAR}), "grader")
    assert judged.tokens_out == Span(0, 72, 2000)
    assert judged.calls == Span(0, 1, 2)


def test_the_cost_is_that_of_the_tokens(bench: Bench) -> None:
    bench.rows("abcd" * 1000)
    found = of_step(
        bench.foretell(prices={"a": DOLLAR, "j": None}, history=known(Usage(3, 1.0, 100, 200, 300))), "reply"
    )
    assert found.cost_usd == pytest.approx((0.001 + 0.001, 0.001 + 0.002, 0.002 + 0.000008 + 0.01))


def test_an_unknown_price_is_unknown_and_never_nothing(bench: Bench) -> None:
    found = bench.foretell(prices={"a": DOLLAR})
    assert of_step(found, "grader").cost_usd is None
    assert (found.total.cost_usd, found.unpriced) == (None, ("j",))
    assert found.total.known_usd.expected > 0


def test_a_model_that_need_not_be_called_needs_no_price(bench: Bench) -> None:
    bench.run()
    found = bench.foretell(prices={})
    assert (found.unpriced, found.total.cost_usd) == ((), Span(0, 0, 0))


def test_what_may_be_called_counts_half_for_expected_and_not_at_all_for_low(bench: Bench) -> None:
    more = '\n  ask check by candidate when contains(reply.text, "6") { prompt "Sure" }\n  score sure = length(check.text)\n'
    bench.write(
        SPEC.replace("  score long", f"{more}  score long").replace("measure m", "measure s = mean(sure)\nmeasure m")
    )
    found = of_step(bench.foretell(), "check")
    assert found.calls == Span(0, 1.5, 3)
    assert found.tokens_in == Span(0, 1.5, 3 * (2 + 8))
    assert found.tokens_out == Span(0, 600, inf)
