"""Recordings and PDF files in the form of Big Bench Audio and DocVQA: what the server receives is the bytes of the
file that the row names, once for each call of the forecast, and the figures are those of the original rules."""

from __future__ import annotations

import hashlib
import io
import json
import wave
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.json_server import Posted, json_server

SPEC = """
benchmark perceived "1.0.0" {
  license   "CC0-1.0"
  languages en
}
role candidate compared

dataset sound from "sounds.jsonl" {
  id      text
  spoken  audio
  answer  text secret
}
dataset page from "pages.jsonl" {
  id        text
  document  file
  question  text
  answers   list<text> secret
}

scenario hear {
  over sound
  ask reply by candidate { prompt "Answer what is said: {{ sound.spoken }}" }
  score right = exact(reply.text, sound.answer)
}
scenario read {
  over page
  ask reply by candidate { prompt "{{ page.document }}\\n{{ page.question }}" }
  score near = max(anls(reply.text, a) each a in page.answers)
}
scorer anls(reply: text, answer: text) = choose(edit_similarity(lower(reply), lower(answer)) > 0.5, edit_similarity(lower(reply), lower(answer)), 0)
measure heard = mean(hear.right)
measure anls  = mean(read.near)
"""
COUNT = 12


def recording(seconds: float, level: int) -> bytes:
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes([level, 0]) * int(8000 * seconds))
    return content.getvalue()


def document(number: int) -> bytes:
    return b"%PDF-1.7\n% page " + str(number).encode() + b"\n%%EOF\n"


def said(number: int) -> str | None:
    """Return what is replied: right, nearly, something else, nothing, or a refusal."""
    true = f"answer {number}"
    return (true, f"answr {number}", f"Answer {number}", "…", "no idea of it", None)[number % 6]


class Perceiving:
    """A server of chats that replies to the file it is sent, and keeps what it was asked."""

    def __init__(self, known: dict[str, tuple[str, int]]) -> None:
        self.known = known
        self.asked: list[tuple[str, list[dict[str, Any]]]] = []

    def answer(self, posted: Posted) -> dict[str, Any]:
        parts = posted.data["messages"][-1]["content"]
        [shown] = [part for part in parts if part["type"] != "text"]
        if shown["type"] == "input_audio":
            content = b64decode(shown["input_audio"]["data"])
        else:
            content = b64decode(shown["file"]["file_data"].removeprefix("data:application/pdf;base64,"))
        digest = hashlib.sha256(content).hexdigest()
        self.asked.append((digest, parts))
        text = said(self.known[digest][1])
        message = {"role": "assistant", "content": text, "refusal": "no" if text is None else None}
        return {
            "model": "p", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 30, "completion_tokens": 3},
        }  # fmt: skip


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Perceiving]:
    monkeypatch.chdir(tmp_path)
    known: dict[str, tuple[str, int]] = {}
    sounds, pages = [], []
    for number in range(COUNT):
        for name, content, kind in (
            (f"{number}.wav", recording(1 + number / 2, number), "sound"),
            (f"{number}.pdf", document(number), "page"),
        ):
            Path(name).write_bytes(content)
            known[hashlib.sha256(content).hexdigest()] = kind, number
        sounds.append({"id": f"s{number}", "spoken": f"{number}.wav", "answer": f"answer {number}"})
        pages.append({"id": f"p{number}", "document": f"{number}.pdf", "question": "What is it?",
                      "answers": [f"answer {number}", f"the answer is {number}"]})  # fmt: skip
    for name, rows in (("sounds", sounds), ("pages", pages)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("spec.tripos").write_text(SPEC)
    serving = Perceiving(known)
    with json_server(serving.answer) as address:
        Path("tripos.toml").write_text(f'[endpoints.openai]\nbase_url = "{address}"\nmedia = ["audio", "file"]\n')
        yield serving


def edits(a: str, b: str) -> int:
    """Return the distance of Levenshtein, by its definition."""
    if not a or not b:
        return len(a) + len(b)
    table = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            away = table[i - 1][j - 1] + (a[i - 1] != b[j - 1])
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, away)
    return table[-1][-1]


def test_the_bytes_of_each_file_arrive_once_and_the_figures_are_the_original_s(
    server: Perceiving, tripos: Command
) -> None:
    planned = tripos("plan", "spec.tripos", "--model", "openai/p", "--json")
    assert planned.code == 0, planned.err
    assert tripos("run", "spec.tripos", "--model", "openai/p").code == 0
    calls = {each["scenario"]: (each["least"], each["most"]) for each in planned.data["calls"]}
    assert calls == {"hear": (COUNT, COUNT), "read": (COUNT, COUNT)}
    assert sorted(digest for digest, _ in server.asked) == sorted(server.known)
    names = {f"{number}.pdf" for number in range(COUNT)}
    for digest, parts in server.asked:
        kind, _ = server.known[digest]
        if kind == "sound":
            assert [part["type"] for part in parts] == ["text", "input_audio"]
            assert parts[1]["input_audio"]["format"] == "wav"
        else:
            assert [part["type"] for part in parts] == ["file", "text"]
            assert parts[0]["file"]["filename"] not in names  # a name may tell the answer
    assert sorted(path.name for path in Path("results/media").iterdir()) == sorted(server.known)
    figures = {each["name"]: each["rows"][0] for each in tripos("report", "--json").data["measures"]}
    replied = [(n, text) for n in range(COUNT) if (text := said(n)) is not None]  # a refusal has no value
    heard = [" ".join(text.casefold().split()) == f"answer {n}" for n, text in replied]
    assert figures["heard"]["value"] == pytest.approx(sum(heard) / len(heard))
    shares = []
    for n, text in replied:
        true, reply = (f"answer {n}", f"the answer is {n}"), " ".join(text.lower().split())
        gaps = [edits(reply, each) / max(len(reply), len(each)) for each in true]
        shares.append(max(0 if gap >= 0.5 else 1 - gap for gap in gaps))
    assert figures["anls"]["value"] == pytest.approx(sum(shares) / len(shares))


def test_the_forecast_has_the_tokens_of_recordings_and_no_bound_for_a_document(
    server: Perceiving, tripos: Command
) -> None:
    forecast = tripos("run", "spec.tripos", "--model", "openai/p", "--dry-run", "--json")
    assert forecast.code == 0, forecast.err
    heard, read = forecast.data["calls"]
    seconds = sum(10 + 5 * number for number in range(COUNT))  # 10 tokens for each
    assert seconds < heard["tokens_in"]["expected"] < seconds + 10 * COUNT
    for found, kind in ((heard, "recording"), (read, "file")):
        assert (found["at_least"], found["at_most"]) == (COUNT, COUNT)
        assert found["tokens_in"]["high"] is None and f"the tokens that `openai/p` takes for a {kind}" in str(found)
    assert server.asked == []
    Path("tripos.toml").write_text(Path("tripos.toml").read_text().replace('"audio", "file"', '"audio"'))
    refused = tripos("run", "spec.tripos", "--model", "openai/p")
    assert refused.code != 0 and "R0126" in refused.err and server.asked == []


def test_another_recording_is_another_item_and_no_other_is_asked_again(server: Perceiving, tripos: Command) -> None:
    assert tripos("run", "spec.tripos", "--model", "openai/p").code == 0
    before = len(server.asked)
    Path("3.wav").write_bytes(other := recording(2, 99))
    server.known[hashlib.sha256(other).hexdigest()] = "sound", 3
    assert tripos("run", "spec.tripos", "--model", "openai/p").code == 0
    assert [digest for digest, _ in server.asked[before:]] == [hashlib.sha256(other).hexdigest()]
