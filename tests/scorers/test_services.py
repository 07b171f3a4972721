"""Scorers that are services over HTTP: asked at the address that the user names, if they are who the spec says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.each import each
from tests.json_server import Posted, json_server
from tripos_compiler.plan import NumberType, Plugin, TextType
from tripos_runtime.asking.functions.external import ScorerPool
from tripos_runtime.asking.functions.process import ScorerService
from tripos_runtime.asking.functions.protocol import Broken, ScorerRequest, Value
from tripos_runtime.asking.functions.settings import ProgramLimits

PLUGIN = Plugin(
    name="length",
    path=None,
    function="length",
    version="lengths 1.4",
    parameters={"text": TextType()},
    returns=NumberType(),
    external="service",
)
Answers = Callable[[dict[str, Any]], Any]


class Raw(str):
    """The text of an answer that `json` would not write."""


@contextmanager
def serving(answers: Answers, version: str = "1.4") -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve what a function says to each request; gives the address, and the headers that came."""
    headers: list[dict[str, str]] = []

    def answer(posted: Posted) -> Any:
        headers.append(dict(posted.headers))
        said = [answers(each) for each in reversed(posted.data["requests"])]
        if any(each is None for each in said):
            return 503, {}
        head = json.dumps({"tripos": 1, "program": "lengths", "version": version})
        listed = ", ".join(each if isinstance(each, Raw) else json.dumps(each) for each in said)
        return f'{head[:-1]}, "answers": [{listed}]}}'.encode()

    with json_server(answer) as address:
        yield f"{address}/score?x=1", headers


def odd(request: dict[str, Any]) -> dict[str, Any] | Raw | None:
    """Answer with the length of a text, or in some odd way."""
    text = request["arguments"]["text"]
    match text:
        case "down":
            return None
        case "stranger":
            return {"id": "nobody", "value": 1}
        case "refuse":
            return {"id": request["id"], "error": "no such thing"}
        case "both":
            return {"id": request["id"], "error": "no such thing", "value": 1}
        case "huge":
            return Raw(json.dumps({"id": request["id"], "value": 0.0}).replace("0.0", "1e999"))
    return {"id": request["id"], "value": len(text)}


def limits(url: str) -> ProgramLimits:
    return ProgramLimits(timeout_s=20, url=url)


@each("text, code", [("down", "R0305"), ("stranger", "R0307"), ("both", "R0307"), ("refuse", "R0308")])
def test_what_goes_wrong_is_a_code_and_costs_no_other_score(text: str, code: str) -> None:
    with serving(odd) as (url, _):
        pool = ScorerPool(lambda: ScorerService("lengths 1.4", [PLUGIN], limits(url)), 2, 8)
        futures = [pool.submit(ScorerRequest("length", {"text": each})) for each in ("a", text, "bbb", "cc")]
        outcomes = [future.result(60) for future in futures]
        pool.close()
    assert [each.value if isinstance(each, Value) else each.code for each in outcomes] == [1, code, 3, 2]


def test_no_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-you")
    with serving(odd) as (url, headers):
        service = ScorerService("lengths 1.4", [PLUGIN], limits(url))
        assert service.answer([ScorerRequest("length", {"text": "four"})]) == [Value(4)]
    assert "sk-not-for-you" not in json.dumps(headers)
    assert not {"authorization", "cookie"} & {name.lower() for each in headers for name in each}


def test_an_infinite_value_costs_no_other_request_its_value() -> None:
    with serving(odd) as (url, _):
        service = ScorerService("lengths 1.4", [PLUGIN], limits(url))
        requests = [ScorerRequest("length", {"text": text}) for text in ("one", "huge", "three")]
        assert service.answer(requests) == [Value(3), Value(float("inf")), Value(5)]


def test_one_of_another_version_is_not_asked() -> None:
    with serving(odd, "1.5") as (url, _), pytest.raises(Broken) as raised:
        ScorerService("lengths 1.4", [PLUGIN], limits(url)).start()
    assert raised.value.failure.code == "R0304"
    assert "lengths 1.5" in raised.value.failure.reason


def test_one_that_nobody_serves_is_not_started() -> None:
    with serving(odd) as (url, _):
        pass
    with pytest.raises(Broken) as raised:
        ScorerService("lengths 1.4", [PLUGIN], limits(url)).start()
    assert raised.value.failure.code == "R0304"
