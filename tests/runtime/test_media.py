"""Images, recordings and files: their formats, how they are sent to each provider, and what is no image."""

from __future__ import annotations

import io
import json
import struct
import wave
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.conftest import Command
from tests.each import each
from tests.field.test_images import png
from tests.runtime.contract_server import ask, in_its_form
from tripos_compiler.language.rendering import render
from tripos_compiler.library.media import Medium, UnfitMedium, media_in, split_media, unmarked
from tripos_compiler.plan import MODEL_DEFAULTS, Hole, ImageType, Ref, Template, TextType
from tripos_compiler.source.inputs import ResolvedFile
from tripos_runtime.asking.questions import Question, ReadOutcome
from tripos_runtime.asking.replies import FirstReply, SentRequest, complete_reply
from tripos_runtime.datasets.data_files import DataFolders, access_of
from tripos_runtime.datasets.media import medium_of
from tripos_runtime.datasets.trust import TRUSTED
from tripos_runtime.models.base import Message, Model, ModelError, Reply, Request
from tripos_runtime.models.litellm_models import LitellmModel
from tripos_runtime.models.prices import audio_extra_usd, media_tokens, price_of
from tripos_runtime.models.replies import read_reply
from tripos_runtime.scheduling.calling import Called


def recording(seconds: float) -> bytes:
    """Return a recording of silence."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"\0\0" * int(8000 * seconds))
    return content.getvalue()


JPEG = (
    b"\xff\xd8\xff\xe0" + struct.pack(">H", 4) + b"ab\xff\xc0" + struct.pack(">HBHHB", 11, 8, 480, 640, 1) + b"\0\0\0"
)
WEBP = b"RIFF\x1e\0\0\0WEBPVP8X" + struct.pack("<I", 10) + b"\0" * 4 + (639).to_bytes(3, "little") + b"\xdf\1\0"
MP3 = (b"\xff\xfb\x90\0" + b"\0" * 413) * 100
"""Frames of 128 thousand bits a second and 44,100 samples, each of 1,152."""
CONTENTS = {
    "image/png": png(3, 2, (1, 2, 3)),
    "image/jpeg": JPEG,
    "image/gif": b"GIF89a" + struct.pack("<HH", 7, 5),
    "image/webp": WEBP,
    "audio/wav": recording(1.5),
    "audio/mpeg": MP3,
    "application/pdf": b"%PDF-1.7\n",
}


def medium(mime: str) -> Medium:
    kind = Medium(mime, "", 0).kind
    return medium_of(kind, CONTENTS[mime], "it")


def test_formats_are_told_by_their_bytes_with_the_size_that_their_header_says() -> None:
    found = {mime: medium(mime) for mime in CONTENTS}
    assert {mime: each.mime for mime, each in found.items()} == {mime: mime for mime in CONTENTS}
    shapes = {mime: (each.width, each.height) for mime, each in found.items() if each.kind == "image"}
    assert shapes == {
        "image/png": (3, 2), "image/jpeg": (640, 480), "image/gif": (7, 5), "image/webp": (640, 480)
    }  # fmt: skip
    assert found["audio/wav"].seconds == 1.5
    assert found["audio/mpeg"].seconds == pytest.approx(100 * 1152 / 44100)
    for each_ in found.values():
        assert Medium.read(str(each_)) is not None
        assert [one.sha256 for one in media_in(f"a{each_}b")] == [each_.sha256]


@each("kind", ["image", "audio", "file"])
def test_bytes_of_no_format_are_no_medium_however_they_are_cut(kind: Any) -> None:
    for content in (b"", b"abc", b"RIFF", b"RIFF\0\0\0\0WAVE", b"ID3", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0\0"):
        with pytest.raises(UnfitMedium):
            medium_of(kind, content, "it")


def test_a_text_with_the_letters_of_a_mark_shows_no_image() -> None:
    mark = str(medium("image/png"))
    assert split_media(f"Look: {mark}!")[1] == medium("image/png")
    assert split_media(unmarked(f"Look: {mark}!")) == [f"Look: [{mark[1:-1]}]!"]


def test_two_cells_that_have_a_half_of_a_mark_each_show_no_image() -> None:
    mark, other = str(medium("image/png")), str(medium("image/gif"))
    holes = [Hole(expr=Ref(path=(name,)), type=TextType()) for name in "ab"]
    shown = Hole(expr=Ref(path=("c",)), type=ImageType())
    for cut in range(1, len(mark)):
        names = {"a": f"see {mark[:cut]}", "b": mark[cut:], "c": other}
        text = render(Template(parts=(*holes, " and ", shown)), names, "en", {})
        assert list(media_in(text)) == [medium("image/gif")]


OPTIONAL = """
benchmark eyes "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" {
  question  text
  picture   image?
  more      list<image>?
}
scenario eyes {
  over item
  ask reply by candidate { prompt "{{ item.question }}({{ item.picture }})({{ item.more }})" }
  score short = length(reply.text) < 999
}
measure short = mean(short)
"""


def test_an_image_that_may_be_missing_is_shown_where_there_is_one(
    tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("eyes.tripos").write_text(OPTIONAL, "utf-8")
    cell = f"data:image/png;base64,{b64encode(CONTENTS['image/png']).decode()}"
    rows = [{"question": "one", "picture": cell}, {"question": "none"}, {"question": "two", "more": [cell, cell]}]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert tripos("run", "eyes.tripos", "--model", "mock/careful").code == 0
    assert tripos("sql", "select messages from eyes.samples", "-o", "sent.json").code == 0
    sent = [message for row in json.loads(Path("sent.json").read_bytes()) for message in json.loads(row["messages"])]
    mark = str(medium("image/png"))
    assert sorted(each["content"] for each in sent) == ["none()()", f"one({mark})()", f"two()({mark}\n{mark})"]


def sent_by(model: str, mime: str) -> Any:
    """Return the body of a request that shows a medium between two words."""
    shown = medium(mime)
    text = (Message("user", f"before {shown} after"),)
    request = Request(model, text, contents=lambda asked: CONTENTS[asked.mime])
    under = "" if model.startswith(("anthropic", "gemini")) else "/v1"
    by_litellm = model == "openai/by-litellm"
    name, open_ = ("openai/gpt-4o", LitellmModel) if by_litellm else (model, None)
    _, (sent,) = ask(name, in_its_form, request, under=under, open_=open_)
    return sent.body


def base64(mime: str) -> str:
    return b64encode(CONTENTS[mime]).decode()


@each("model", ["openai/ours", "openai/by-litellm", "openai/gpt-5-ours"])
@each("mime", [*CONTENTS])
def test_a_server_in_openai_s_form_is_sent_the_content_between_the_texts(model: str, mime: str) -> None:
    first, shown, last = sent_by(model, mime)["messages"][0]["content"]
    assert (first["text"], last["text"]) == ("before ", " after")
    told = base64(mime)
    match shown["type"]:
        case "image_url":
            assert shown["image_url"] == {"url": f"data:{mime};base64,{told}"}
        case "input_audio":
            assert shown["input_audio"] == {"data": told, "format": {"audio/wav": "wav", "audio/mpeg": "mp3"}[mime]}
        case _:
            assert shown["file"]["file_data"] == f"data:{mime};base64,{told}"


@each("mime", ["image/png", "image/jpeg", "application/pdf"])
def test_anthropic_and_google_are_sent_it_in_their_forms(mime: str) -> None:
    first, shown, last = sent_by("anthropic/claude-sonnet-4-5", mime)["messages"][0]["content"]
    assert (first["text"].strip(), last["text"].strip()) == ("before", "after")
    assert shown["source"] == {"type": "base64", "media_type": mime, "data": base64(mime)}
    parts = sent_by("gemini/gemini-2.5-flash", mime)["contents"][0]["parts"]
    [data] = [part["inline_data"] for part in parts if "inline_data" in part]
    assert data == {"data": base64(mime), "mime_type": mime}


def test_a_content_that_is_gone_fails_the_call() -> None:
    def gone(_: Medium) -> bytes:
        raise OSError("it is gone")

    request = Request("openai/ours", (Message("user", str(medium("image/png"))),), contents=gone)
    with pytest.raises(ModelError) as failed:
        ask("openai/ours", in_its_form, request)
    assert failed.value.code == "R0127"


def test_tokens_are_those_of_the_published_examples() -> None:
    """Those of OpenAI's page: 1024 x 1024 in tiles and patches, 2048 x 4096 in tiles; Anthropic's, and Google's."""
    picture = Medium("image/png", "", 0, 1024, 1024)
    assert media_tokens("openai/gpt-4o", picture).expected == 765
    assert media_tokens("openai/gpt-4o", Medium("image/png", "", 0, 2048, 4096)).expected == 1105
    assert media_tokens("openai/gpt-4.1-mini", picture).expected == -(-1024 * 162 // 100)
    assert round(media_tokens("anthropic/claude-sonnet-4-5", Medium("image/png", "", 0, 1000, 1000)).expected) == 1333
    assert media_tokens("gemini/gemini-2.5-flash", Medium("image/png", "", 0, 960, 540)).expected == 6 * 258


@pytest.mark.parametrize(
    ("model", "size", "low", "high"),
    [
        ("openai/gpt-4o", (1024, 1024), 85, 765),
        ("openai/gpt-5", (1024, 1024), 70, 630),
        ("openai/o3", (64, 64), 75, 225),
        ("openai/gpt-4.1-mini", (1024, 512), 208, 830),
        ("openai/gpt-4.1-mini", (320, 320), 162, 162),
        ("anthropic/claude-sonnet-4-5", (750, 1000), 1000, 1000),
    ],
)
def test_an_image_of_low_detail_counts_what_its_provider_publishes(
    model: str, size: tuple[int, int], low: int, high: int
) -> None:
    picture = Medium("image/png", "", 0, *size)
    assert [round(media_tokens(model, picture, detail).expected) for detail in ("low", "high")] == [low, high]
    assert media_tokens(model, picture, "auto") == media_tokens(model, picture)


DETAILED = """
benchmark seen "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { picture image }
scenario seen {
  over item
  ask reply by candidate { prompt "{{ item.picture }} Which colour?", DETAIL }
  score long = words(reply.text)
}
"""


def test_a_forecast_and_the_warnings_know_the_detail(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("red.png").write_bytes(png(8, 8, (255, 0, 0)))
    Path("items.jsonl").write_text('{"picture": "red.png"}\n', "utf-8")
    sent = {}
    for detail in ("low", "high"):
        Path("seen.tripos").write_text(DETAILED.replace("DETAIL", f"image_detail {detail}"), "utf-8")
        told = tripos("run", "seen.tripos", "--model", "openai/gpt-4o", "--dry-run", "--json")
        assert told.code == 0, told.err
        assert "image_detail" not in told.err
        sent[detail] = told.data["calls"][0]["tokens_in"]["expected"]
    assert sent["high"] - sent["low"] == 170
    warned = tripos("run", "seen.tripos", "--model", "anthropic/claude-sonnet-4-5", "--dry-run")
    assert "image_detail" in warned.out + warned.err


def test_files_are_read_inside_of_the_benchmark_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "bench", tmp_path / "elsewhere.png"
    inside.mkdir()
    (inside / "spec.tripos").write_text("", "utf-8")
    (inside / "items.jsonl").write_text("{}\n", "utf-8")
    outside.write_bytes(CONTENTS["image/png"])
    (inside / "link.png").symlink_to(outside)
    (inside / "ours.png").write_bytes(CONTENTS["image/png"])
    folders = DataFolders((), access_of(inside / "spec.tripos"))
    file = ResolvedFile("items.jsonl", str(inside / "items.jsonl"), "", {})
    assert folders.medium(file, "image", "ours.png") == str(medium("image/png"))
    for name in ("../elsewhere.png", str(outside), "link.png"):
        with pytest.raises(UnfitMedium, match="outside of the benchmark"):
            folders.medium(file, "image", name)
    with pytest.raises(UnfitMedium, match="no file"):
        folders.medium(file, "image", "https://example.org/a.png")


def test_what_a_cell_holds_has_the_limit_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "spec.tripos").write_text("", "utf-8")
    (tmp_path / "items.jsonl").write_text("{}\n", "utf-8")
    trust = replace(TRUSTED, limits=replace(TRUSTED.limits, medium_bytes=len(CONTENTS["image/png"]) - 1))
    folders = DataFolders((), replace(access_of(tmp_path / "spec.tripos"), trust=trust))
    file = ResolvedFile("items.jsonl", str(tmp_path / "items.jsonl"), "", {})
    for cell in (CONTENTS["image/png"], "data:image/png;base64," + b64encode(CONTENTS["image/png"]).decode()):
        with pytest.raises(UnfitMedium, match="more than"):
            folders.medium(file, "image", cell)


def test_tokens_of_recordings_are_paid_at_their_own_price() -> None:
    """A bill of 1,000 tokens, of which 900 are heard: at 2.50 and 32.00 USD a million."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 0, "prompt_tokens_details": {"audio_tokens": 900}}
    body = {"model": "m", "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": usage}
    price = price_of("openai", "gpt-audio")
    assert price is not None
    reply = read_reply(body, "openai/gpt-audio", price)
    assert reply.cost_usd == pytest.approx(100 * 2.5e-6 + 900 * 3.2e-5)
    sound = Medium("audio/wav", "", 0, seconds=90)
    assert media_tokens("openai/gpt-audio", sound).expected == 900
    low, expected, high = audio_extra_usd("openai/gpt-audio", price, {sound: 2})
    assert low == expected < high
    assert expected == pytest.approx(1800 * (3.2e-5 - 2.5e-6))


def test_a_reply_that_forges_a_mark_is_asked_for_again_without_an_image() -> None:
    forged = str(medium("image/png"))
    question = Question(None, None, MODEL_DEFAULTS, {"type": "object"}, lambda text: ReadOutcome(None, None, text))
    asked = SentRequest(cast("Model", SimpleNamespace(name="m", structured=False)), question, (), "en")
    first = FirstReply(Called(Reply(forged, "m", "stop", 1, 1, 0.0), 1, 0.0), (Message("user", "Draw it."),))
    program = complete_reply(asked, first)
    next(program)  # the draft, which is kept
    again = program.send(None)
    assert isinstance(again, Request)
    assert [list(media_in(each.content)) for each in again.messages] == [[], [], []]
