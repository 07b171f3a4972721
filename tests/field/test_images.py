"""Questions on images in the form of MMMU: the image stands inside the question, and its digest is what arrives."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.json_server import Posted, json_server

SPEC = """
benchmark pictures "1.0.0" {
  languages en
  license   "CC0-1.0"
}
role candidate compared

dataset item from "items.jsonl" {
  key       id
  id        text
  image_1   image
  question  text
  options   list<text>
  answer    choice(A, B, C, D) secret
}

scenario pictures {
  over item as q
  ask reply by candidate {
    prompt "Look: {{ q.image_1 }}\\n{{ q.question }}\\n{{ lettered(q.options) }}\\nAnswer with a letter."
  }
  score right = default(chosen_option(reply.text, q.options), "") == q.answer
}

measure accuracy = mean(right)
"""
ITEMS = 100
LETTERS = "ABCD"


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """Return an image of one colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = zlib.compress((b"\0" + bytes(colour) * width) * height)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def said(number: int) -> str | None:
    """Return what is replied to an item: right, wrong, in other words, nothing, or a refusal (None)."""
    key = LETTERS[number % 4]
    forms = (key, f"The answer is {key}.", LETTERS[(number + 1) % 4], "…", "I cannot tell.", f"({key})", None)
    return forms[number % len(forms)]


class Seeing:
    """A server of chats that replies to the image it is sent, and keeps what it was asked."""

    def __init__(self, known: dict[str, int]) -> None:
        self.known = known
        self.asked: list[list[dict[str, Any]]] = []

    def answer(self, posted: Posted) -> dict[str, Any]:
        parts = posted.data["messages"][-1]["content"]
        self.asked.append(parts)
        url = next(part["image_url"]["url"] for part in parts if part["type"] == "image_url")
        content = b64decode(url.removeprefix("data:image/png;base64,"))
        text = said(self.known[hashlib.sha256(content).hexdigest()])
        message = {"role": "assistant", "content": text, "refusal": "no" if text is None else None}
        return {
            "model": "seer", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 300, "completion_tokens": 3},
        }  # fmt: skip


@pytest.fixture
def seeing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seeing]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "pictures").mkdir()
    known, rows = {}, []
    for number in range(ITEMS):
        content = png(10 + number, 6, (number, 0, 255 - number))
        (tmp_path / f"pictures/{number}.png").write_bytes(content)
        known[hashlib.sha256(content).hexdigest()] = number
        options = [f"shape {letter}" for letter in LETTERS]
        rows.append({"id": f"v{number}", "image_1": f"pictures/{number}.png", "question": "Which shape?",
                     "options": options, "answer": LETTERS[number % 4]})  # fmt: skip
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    server = Seeing(known)
    with json_server(server.answer) as address:
        endpoint = f'[endpoints.openai]\nbase_url = "{address}"\nmedia = ["image"]\n'
        (tmp_path / "tripos.toml").write_text(endpoint, "utf-8")
        yield server


def expected() -> float:
    """Return the share of right answers as MMMU counts it: a reply without an answer is wrong. A refusal is no reply."""
    right = 0
    replied = [number for number in range(ITEMS) if said(number) is not None]
    for number in replied:
        found = re.search(r"\b([ABCD])\b", said(number) or "")
        right += found is not None and found[1] == LETTERS[number % 4]
    return right / len(replied)


def test_every_image_arrives_once_where_it_stands_and_the_figure_is_the_original_s(
    seeing: Seeing, tripos: Command
) -> None:
    planned = tripos("plan", "spec.tripos", "--model", "openai/seer", "--json")
    assert planned.code == 0, planned.err
    assert tripos("run", "spec.tripos", "--model", "openai/seer").code == 0
    assert len(seeing.asked) == planned.data["calls"][0]["least"] == planned.data["calls"][0]["most"] == ITEMS
    assert [part["type"] for part in seeing.asked[0]] == ["text", "image_url", "text"]
    assert seeing.asked[0][0]["text"] == "Look: "
    assert seeing.asked[0][2]["text"].startswith("\nWhich shape?\n")
    [measure] = tripos("report", "--json").data["measures"]
    assert measure["rows"][0]["value"] == pytest.approx(expected())
    assert sorted(path.name for path in Path("results/media").iterdir()) == sorted(seeing.known)
    Path("pictures/3.png").write_bytes(other := png(10, 9, (1, 2, 3)))
    seeing.known[hashlib.sha256(other).hexdigest()] = 3
    assert tripos("run", "spec.tripos", "--model", "openai/seer").code == 0
    assert len(seeing.asked) == ITEMS + 1  # another image is another item, and no other is asked again


def test_a_model_that_is_known_to_see_nothing_is_refused_before_a_call(seeing: Seeing, tripos: Command) -> None:
    Path("tripos.toml").write_text(Path("tripos.toml").read_text("utf-8").replace('["image"]', '["audio"]'), "utf-8")
    for verb in ("plan", "run"):
        refused = tripos(verb, "spec.tripos", "--model", "openai/seer")
        assert refused.code != 0 and "R0126" in refused.err
    Path("tripos.toml").write_text(re.sub("media = .*", "", Path("tripos.toml").read_text("utf-8")), "utf-8")
    told = tripos("plan", "spec.tripos", "--model", "openai/seer")
    assert told.code == 0 and "W1210" in told.err
    assert tripos("plan", "spec.tripos", "--model", "openai/gpt-3.5-turbo").code != 0
    assert seeing.asked == []


def test_a_release_carries_the_images_and_another_image_is_another_plan(seeing: Seeing, tripos: Command) -> None:
    assert tripos("release", "spec.tripos", "--to", "released").code == 0
    folder = Path("released/pictures-1.0.0")
    assert len(list((folder / "spec/pictures").iterdir())) == ITEMS
    assert tripos("verify", str(folder)).code == 0
    Path("pictures/7.png").write_bytes(png(4, 4, (9, 9, 9)))
    assert tripos("release", "spec.tripos", "--to", "again").code == 0
    differ = tripos("diff", "released/pictures-1.0.0", "again/pictures-1.0.0")
    assert "other content (100 rows)" in differ.out or "has other rows" in differ.out
    (folder / "spec/pictures/7.png").unlink()
    assert tripos("verify", str(folder)).code != 0
    assert "S0855" in tripos("plan", str(folder), "--model", "openai/seer").err
    assert seeing.asked == []
