"""Every field of `Settings` is sent on all ways to a model, is in every key, and counts for the name of a reply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from tests.compiler.compiling import compile_text, plan_of
from tests.each import each
from tests.runtime.contract_server import Sent, Server, in_its_form, serving
from tripos_compiler.constructs.table import SETTINGS
from tripos_compiler.language.plan_diff import reply_changes
from tripos_compiler.library.media import Medium
from tripos_compiler.plan import Extra, Plan, Settings
from tripos_runtime.models.base import Message, Model, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.models.litellm_models import LitellmModel
from tripos_runtime.models.replay import request_key

OWN = (Extra(name="repetition_penalty", number=1.1), Extra(name="think", truth=False))
VALUES: dict[str, tuple[Any, str]] = {
    "temperature": (0.3, "temperature 0.3"),
    "max_tokens": (77, "max_tokens 77"),
    "stop": (("END",), 'stop "END"'),
    "top_p": (0.9, "top_p 0.9"),
    "top_k": (40, "top_k 40"),
    "seed": (7, "seed 7"),
    "presence_penalty": (-0.5, "presence_penalty -0.5"),
    "frequency_penalty": (0.25, "frequency_penalty 0.25"),
    "reasoning_effort": ("low", "reasoning_effort low"),
    "top_logprobs": (3, "top_logprobs 3"),
    "image_detail": ("low", "image_detail low"),
    "chat_template": ("own", "plain, chat_template own"),
    "provider": (OWN, "provider { think false, repetition_penalty 1.1 }"),
}
"""A value of every field, and how it is written."""
FIELDS = sorted(Settings.model_fields)
PICTURE = Medium("image/png", "ab" * 32, 3, width=8, height=8)
QUESTION = Request("m", (Message("user", f"Why? {PICTURE}"),), contents=lambda medium: b"abc")
SPEC = """
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role judge
axis level {{ easy, hard }}
scorer fair(said: text) by judge {{ prompt "Rate {{{{ said }}}}", gives 1..5 {scorer} }}
scenario s {{
  context level
  converse talk {{
    candidate {{ system "Teach {{{{ level }}}}." {speaker} }}
    judge {{ system "Learn." }}
    opens candidate, until judge says "done", limit 2 turns
  }}
  ask reply by candidate {{ prompt "{{{{ level }}}}" {ask} }}
  score rated = fair(reply.text)
  score long = words(talk.text) > 3
}}
"""


def setting(name: str) -> Settings:
    return Settings(**{name: VALUES[name][0]})


def plan(**written: str) -> Plan:
    return plan_of(compile_text(SPEC.format(**{"ask": "", "speaker": "", "scorer": ""} | written)))


def opened(way: str, server: Server) -> Model:
    match way:
        case "direct":
            return open_model("openai/ours", {"openai": server.endpoint()})
        case "reasoning":
            return open_model("openai/gpt-5-ours", {"openai": server.endpoint()})
        case "anthropic":
            return open_model("anthropic/claude-sonnet-4-5", {"anthropic": server.endpoint(under="")})
        case _:
            return LitellmModel("openai/gpt-4o", server.endpoint())


def sent(way: str, *settings: Settings) -> tuple[list[Sent], list[tuple[str, ...]]]:
    async def use(server: Server) -> list[tuple[str, ...]]:
        model = opened(way, server)
        try:
            for each in settings:
                await model.ask(replace(QUESTION, settings=each))
            return [model.ignored_settings(each) for each in settings]
        finally:
            await model.close()

    told, requests = serving(in_its_form, use)
    return requests, told


def test_every_field_has_a_value_here_and_is_written_as_its_type_says() -> None:
    assert VALUES.keys() == Settings.model_fields.keys()
    assert list(SETTINGS) == list(Settings.model_fields)
    slots = {float: "NUMBER", int: "COUNT", str: "LABELS", Extra: "BLOCK"}
    for name, field in Settings.model_fields.items():
        type_ = next(each for each in get_args(field.annotation) if each is not type(None))
        assert SETTINGS[name].notation == (slots.get(type_) or "|".join(get_args(type_)))


@pytest.mark.parametrize("way", ["direct", "reasoning", "anthropic", "litellm"])
def test_every_field_is_sent_or_said_to_be_left_out(way: str) -> None:
    """One model is asked with each of them in turn, so that nothing kept by a key may serve for another."""
    (bare, *requests), (_, *told) = sent(way, Settings(), *map(setting, FIELDS))
    for name, request, left_out in zip(FIELDS, requests, told, strict=True):
        assert (request.body == bare.body) == (left_out == (name,)), name


@pytest.mark.parametrize("way", ["direct", "litellm"])
def test_a_server_in_openai_s_form_is_sent_every_field_by_its_name(way: str) -> None:
    others = ("reasoning_effort", "chat_template")
    settings = Settings(**{name: value for name, (value, _) in VALUES.items() if name not in others})
    [request], _ = sent(way, settings)
    wanted = settings.given
    wanted |= wanted.pop("provider")
    [_, shown] = request.body["messages"][0]["content"]
    assert shown["image_url"]["detail"] == wanted.pop("image_detail")
    assert {name: request.body.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("name", FIELDS)
def test_a_request_that_differs_in_a_field_is_another_request(name: str) -> None:
    assert hash(setting(name)) != hash(Settings())
    assert setting(name) != Settings()
    assert request_key("m", [("user", "Why?")], 0, setting(name)) != request_key("m", [("user", "Why?")])


@each("place", ["ask", "speaker", "scorer"])
@each("name", FIELDS)
def test_a_field_that_is_written_is_in_the_plan_and_in_the_name_of_the_reply(name: str, place: str) -> None:
    if place not in (SETTINGS[name].places or (place,)):
        compilation = compile_text(SPEC.format(ask="", scorer="", speaker=f", {VALUES[name][1]}"))
        assert "E0107" in {each.code for each in compilation.diagnostics}
        return
    before, after = plan(), plan(**{place: f", {VALUES[name][1]}"})
    step = {"ask": "reply", "speaker": "talk", "scorer": "rated"}[place]
    [was], [now] = ([each for each in p.scenarios[0].steps if each.name == step] for p in (before, after))
    assert getattr(was, "judgement", was.fingerprint) != getattr(now, "judgement", now.fingerprint)
    assert f"{name} unset" in str(reply_changes(was, now, before, after))  # type: ignore[arg-type]
    settings = {
        "ask": lambda: now.settings,  # type: ignore[union-attr]
        "speaker": lambda: now.speakers[0].settings,  # type: ignore[union-attr]
        "scorer": lambda: after.scorer("fair").settings,
    }[place]()
    assert settings.otherwise == setting(name)


def test_a_truth_value_is_not_the_number_that_python_takes_it_for() -> None:
    assert Extra(name="a", truth=True) != Extra(name="a", number=1)
    one, other = (Settings(provider=(Extra(name="a", **value),)) for value in ({"truth": True}, {"number": 1}))
    (first, second), _ = sent("direct", one, other)
    assert (first.body["a"], second.body["a"]) == (True, 1)
    assert first.body["a"] is True and second.body["a"] is not True


def test_every_sample_has_a_seed_of_its_own() -> None:
    assert [Settings(seed=7).of_sample(number).seed for number in range(3)] == [7, 8, 9]
