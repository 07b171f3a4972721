"""AlpacaEval 2 by its package: every preference, the win rates, and the length-controlled one by its own regression."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.field.running import Reply
from tests.gallery.originals.alpaca_eval import chances, reply, rows
from tests.gallery.playing import facts_of, is_answer, play, verdicts_of
from tripos_compiler.plan import write_token_probabilities
from tripos_runtime.program import binding


def test_preferences_and_win_rates_are_those_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(binding.BY_NAME, "probabilities", lambda _: True)  # the judge is no model of a provider
    *lines, unpenalised, shipped = verdicts_of("alpaca_eval")
    leading: list[bool] = []

    def judge(messages: list[str]) -> Reply:
        asked = next(each for each in messages if "Model Outputs" in each)
        (number,) = re.findall(r"Instruction <(\d+)>", asked)
        row = rows()[int(number)]
        one, two = re.findall(r'"output": "(.*?)"\n', asked, re.DOTALL)
        ours, theirs = chances(row)
        leads = (one, two) == (reply(row["instruction"]), row["output"])
        assert leads or (two, one) == (reply(row["instruction"]), row["output"])
        leading.append(leads)
        tokens = zip(("first", "second", "The"), (ours, theirs, -9.0) if leads else (theirs, ours, -9.0), strict=True)
        top = [{"token": token, "logprob": each} for token, each in tokens if each is not None]
        best = max(top, key=lambda each: each["logprob"])
        content = write_token_probabilities([{**best, "top_logprobs": top}])
        return Reply(best["token"], "judge", "stop", 1, 1, 0.0, logprobs=content)

    files = {"alpaca_eval_gpt4_baseline.json": json.dumps(rows())}
    figures = play(tmp_path, "alpaca_eval", files, lambda messages: reply(messages[-1]), {"judge": judge})
    wanted = {
        each["instruction"]: each["preference"] and each["preference"] - 1
        if is_answer(reply(each["instruction"]))
        else None
        for each in lines
    }
    found = {score.fields["instruction"]: score.value for score in figures.scores if score.metric == "preferred"}
    apart = facts_of("alpaca_eval").apart
    assert found == {name: None if each is None else pytest.approx(each, abs=apart) for name, each in wanted.items()}
    assert len(found) == facts_of("alpaca_eval").replies
    assert 60 < sum(leading) < 120  # either stands first
    assert figures["win_rate"].value == pytest.approx(unpenalised["win_rate"] / 100, abs=apart)
    assert figures["discrete"].value == pytest.approx(unpenalised["discrete_win_rate"] / 100, abs=apart)
    controlled = figures["answers.length_controlled"].value
    assert controlled == pytest.approx(unpenalised["length_controlled_winrate"] / 100, abs=apart)
    # The penalty of the package, chosen by cross-validation, moves the figure by less than half a point.
    assert controlled == pytest.approx(shipped["length_controlled_winrate"] / 100, abs=0.005)
    assert abs(controlled - (figures["win_rate"].value or 0)) > 0.01
