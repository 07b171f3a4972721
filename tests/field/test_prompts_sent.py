"""`tripos plan --prompts` of every kind of step, held against what a server is then sent, letter by letter."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.json_server import Posted, json_server

SPEC = """
benchmark everything "1.0.0" { languages en }
role candidate compared
role judge
role encoder
role student
role base

dataset item from "items.jsonl" {
  picture   image
  question  text
  facts     list<text>
  choices   list<text>
  answer    text secret
}
dataset worked from "worked.jsonl" {
  question  text
  answer    text secret
}

tool weather_now "the weather now" { city text "the city" }

scorer met(said: text, fact: text, key: text) by judge {
  prompt      "Does \\"{{ said }}\\" say \\"{{ fact }}\\"? The key is {{ key }}."
  gives       bool
  temperature 0
}

scenario everything {
  over item
  options put from item.choices with key item.answer
  retrieve near from worked as w {
    top 1 by similarity(item.question, w.question) using encoder
  }
  ask reply by candidate {
    system      "You answer in short."
    shots       1 from worked { prompt "{{ worked.question }}", reply "{{ worked.answer }}" }
    prompt      "See: {{ item.picture }}\\n{{ item.question }}"
    temperature 0.5
    seed        7
    samples     2
    max_tokens  60
  }
  ask sure by candidate {
    continue reply
    prompt   "Are you sure?"
  }
  ask part by candidate each f in item.facts { prompt "Say this in other words: {{ f }}" }
  ask chosen by candidate {
    prompt  "{{ item.question }}\\n{{ put.text }}"
    returns choice(A, B)
  }
  ask called by candidate {
    prompt "{{ item.question }} Look it up."
    tools  weather_now
  }
  ask likely by base {
    prompt     "{{ item.question }}"
    likelihood of item.choices
  }
  converse lesson {
    student   { system "You are a student.", temperature 1 }
    candidate { system "You teach: {{ item.question }}" }
    opens student
    until student says "thank you"
    limit 2 turns
  }
  ask after by student {
    continue lesson
    prompt "What did you learn near \\"{{ first(near).question }}\\"?"
  }
  score right   = chosen == put.letter
  score met_key = met(sure.text, "It pours.", item.answer)
  score met_of  = met(a.text, a.f, item.answer) each a in part
  score calls   = length(called.calls)
  score best    = (words(reply.text) > 1) == (likely.likeliest == 0)
  score learnt  = words(after.text)
  measure all   = mean(right)
}
"""
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAAA1BMVEX/AAAZ4gk3AAAAC0lEQVQI12NggAAAAAgAAYq4KFYAAAAASUVORK5CYII="
)
ITEM = {
    "picture": f"data:image/png;base64,{PICTURE}",
    "question": "Does it rain in Oslo — today?",
    "facts": ["It rains.", "It is cold."],
    "choices": ["yes", "no"],
    "answer": "A",
}
WORKED = [{"question": "Is it warm in Rome?", "answer": "Yes."}, {"question": "Is it wet?", "answer": "No."}]
SECRETS = {
    "reply": ["worked.answer"], "sure": ["worked.answer"],
    "met_key": ["item.answer"], "met(1)": ["item.answer"],
}  # fmt: skip
"""The secrets that each step shows."""
Body = dict[str, Any]


class Asked:
    """A server in OpenAI's form that keeps what it was sent."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Body]] = []

    def answer(self, posted: Posted) -> Body:
        path, body = posted.path.removeprefix("/v1"), posted.data
        self.asked.append((path, body))
        answers = {"/chat/completions": _chat, "/completions": _echo, "/embeddings": _embed}
        usage = {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
        return {"model": "scripted", "usage": usage, **answers[path](body)}


def _chat(body: Body) -> Body:
    last = json.dumps(body["messages"][-1]["content"])
    message: Body = {"role": "assistant", "content": f"Said in answer to {len(last)} characters."}
    if "tools" in body:
        call = {"id": "c1", "type": "function", "function": {"name": "weather_now", "arguments": '{"city": "Oslo"}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    elif "JSON only" in last:
        message["content"] = '{"value": true}' if "true or false" in last else '{"value": "B"}'
    choice = {"message": message, "finish_reason": "stop"}
    return {"choices": [{"index": number, **choice} for number in range(body.get("n") or 1)]}


def _echo(body: Body) -> Body:
    choices = []
    for index, text in enumerate(body["prompt"]):
        tokens = [*re.findall(r"\s*\S+", text), " so"]
        told = {
            "tokens": tokens,
            "token_logprobs": [None, *[-1.0] * (len(tokens) - 1)],
            "top_logprobs": [None, *({token: -1.0} for token in tokens[1:])],
        }
        choices.append({"index": index, "text": text + " so", "logprobs": told})
    return {"choices": choices}


def _embed(body: Body) -> Body:
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    return {"data": [{"index": place, "embedding": [float(len(text)), 1.0]} for place, text in enumerate(texts)]}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    monkeypatch.chdir(tmp_path)
    Path("everything.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text(json.dumps(ITEM) + "\n", "utf-8")
    Path("worked.jsonl").write_text("".join(json.dumps(each) + "\n" for each in WORKED), "utf-8")
    server = Asked()
    with json_server(server.answer) as address:
        place = f'base_url = "{address}"\nmedia = ["image"]\n'
        names = ("openai/seer", "openai/judge", "openai/student", "openai/vectors", "text-completion-openai/base")
        Path("tripos.toml").write_text("".join(f'[endpoints."{name}"]\n{place}\n' for name in names), "utf-8")
        yield server


MODELS = ("--model", "openai/seer", "--role", "judge=openai/judge", "--role", "student=openai/student",
          "--role", "encoder=openai/vectors", "--role", "base=text-completion-openai/base")  # fmt: skip


def test_a_server_is_sent_what_was_shown_for_every_kind_of_step(asked: Asked, tripos: Command) -> None:
    shown = tripos("plan", "everything.tripos", *MODELS, "--prompts", "--json")
    assert shown.code == 0, shown.err
    assert asked.asked == []
    ran = tripos("run", "everything.tripos", *MODELS, "--max-retries", "0")
    assert ran.code == 0, ran.out + ran.err
    looked_through = {"input": [each["question"] for each in WORKED]}.items()
    sent = [each for each in asked.asked if not looked_through <= {"input": each[1].get("input")}.items()]
    assert len(asked.asked) - len(sent) == 1
    fits = [[place for place, each in enumerate(shown.data) if _is_sent(each, *one)] for one in sent]
    assert [one for one, found in zip(sent, fits, strict=True) if len(found) != 1] == []
    asked_for = Counter(shown.data[place]["step"] for [place] in fits)
    once = {each["step"]: 1 for each in shown.data}
    assert asked_for == {**once, "met(1)": 2, "lesson": 2, "reply": 2, "sure": 2, "met_key": 2}
    assert {each["step"]: each["secrets"] for each in shown.data if each["secrets"]} == SECRETS
    assert [each["turn"] for each in shown.data if each["step"] == "lesson"] == [1, 2]
    assert {each["step"]: each["samples"] for each in shown.data if each["samples"] > 1} == {"reply": 2, "sure": 2}


def _is_sent(shown: Mapping[str, Any], path: str, body: Body) -> bool:
    """Return true if a request is what was shown; a part in ⟨⟩ is any text."""
    said = shown["messages"]
    if shown["role"] == "encoder":
        return path == "/embeddings" and said[0]["content"] in body["input"]
    if path == "/completions":
        text, *options = (each["content"] for each in said)
        return body["prompt"] == [text.rstrip(), *(text + each for each in options)]
    if path != "/chat/completions":
        return False
    chat = [each for each in said if each["role"] != "tool"]
    tools = [json.loads(each["content"]) for each in said if each["role"] == "tool"]
    given = dict(shown["settings"])
    drawn = range(given.get("seed", 0), given.get("seed", 0) + shown["samples"])
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    told, arrived = [each["content"] for each in chat], [_written(each) for each in body["messages"]]
    if "⟨`lesson`⟩" in told:  # a conversation to be held stands as one message
        told, arrived = ["\n\n".join(told)], ["\n\n".join(arrived)]
    elif [each["role"] for each in chat] != [each["role"] for each in body["messages"]]:
        return False
    return (
        len(told) == len(arrived)
        and all(_fits(*each) for each in zip(told, arrived, strict=True))
        and tools == [each["function"] for each in body.get("tools", [])]
        and body.get("temperature") == given.get("temperature")
        and (body.get("max_tokens") or body.get("max_completion_tokens")) == given.get("max_tokens")
        and ("seed" not in given or body["seed"] in drawn)
        and ("seed" in given) == ("seed" in body)
        and schema == shown["schema"]
    )


def _fits(shown: str, sent: str) -> bool:
    parts = re.split("⟨[^⟩]*⟩", shown)
    return re.fullmatch("(?s:.+)".join(map(re.escape, parts)), sent) is not None


def _written(message: Body) -> str:
    """Return a message with a mark for each image, whose digest is that of the content."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(each["text"] if each["type"] == "text" else _mark(each["image_url"]["url"]) for each in content)


def _mark(url: str) -> str:
    content = b64decode(url.removeprefix("data:image/png;base64,"))
    return f"⟦image/png 8x8 {len(content)} bytes sha256:{hashlib.sha256(content).hexdigest()}⟧"


def test_as_text_it_fits_80_columns_and_loses_no_letter(asked: Asked, tripos: Command) -> None:
    shown = tripos("plan", "everything.tripos", *MODELS, "--prompts").out
    assert max(map(len, shown.splitlines())) <= 80
    told = re.sub(r"\s+", "", shown)
    for each in tripos("plan", "everything.tripos", *MODELS, "--prompts", "--json").data:
        for message in each["messages"]:
            text = message["content"]
            assert re.sub(r"\s+", "", text) in told, text
    assert "showswhatissecret:`item.answer`" in told
    assert "settings:temperature0.5,max_tokens60,seed7" in told
    assert "`lesson`→candidate,turn2,ifareplyasksforit" in told
