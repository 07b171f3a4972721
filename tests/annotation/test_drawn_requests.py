"""Requests to the page of grades: only the page itself, with the token, writes, and no request makes it fail."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.annotation.test_page import AT, PATH, TOKEN, app, grades, hand
from tests.lengths import sized
from tests.view.drawn_urls import answers, drawn_paths, faults, requests
from tripos.annotation.assignment import Assignment
from tripos.annotation.sheet import GradesFile

__all__ = ["grades", "hand"]
NEVER = b"what lies outside of the page"
DEEP = "[" * 1000 + "]" * 1000
VALUES = (
    1, 5, 0, -1, 10**30, 1.5, 1e308, True, None, "3", "４", "good", "", "1e999", "nan", "a" * 50_000, [], {}, [[1]],
    {"a": []}, "\x00", "\ud800", "=1+1",
)  # fmt: skip
GOOD_HEADERS = (("Host: 127.0.0.1",), ("Host: localhost:80", "Origin: http://localhost:80"))
BAD_HEADERS = (
    ("Host: evil.example",), ("Host: 127.0.0.1", "Origin: http://evil.example"), ("Host: 127.0.0.1", "Origin: null"),
    ("Host: 127.0.0.1.evil.example",), ("Host: 0.0.0.0",), ("Host: [::1]",), ("Host: 127.0.0.1", "Origin: file://"),
    ("Host: localhost:80", "Origin: http://localhost:81"), ("Host: localhost", "Origin: https://localhost"),
)  # fmt: skip
TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json5", "")


def written(seed: int, count: int, row: str) -> Iterator[tuple[bytes, bool]]:
    """Yield requests that would write, and whether each may."""
    draw = random.Random(seed)
    for _ in range(count):
        token = TOKEN if draw.random() < 0.8 else draw.choice(("x", "", TOKEN[:-1], TOKEN.upper(), TOKEN + "%00"))
        good = draw.random() < 0.5
        headers = draw.choice(GOOD_HEADERS if good else BAD_HEADERS)
        type_ = "application/json" if draw.random() < 0.8 else draw.choice(TYPES)
        said: dict[str, Any] = {
            "row": row if draw.random() < 0.9 else draw.choice(VALUES),
            "metric": "CLEAR" if draw.random() < 0.8 else draw.choice(VALUES),
            "value": draw.choice(VALUES),
        }
        if draw.random() < 0.2:
            said["rationale"] = draw.choice(VALUES)
        for name in draw.sample(sorted(said), draw.choice((0, 0, 0, 1))):
            del said[name]
        whole = json.dumps(said).encode()
        body = draw.choice((whole,) * 6 + (b"", b"\xff", b"[]", b"1", whole[:-2], DEEP.encode(), b"[" * 9000))
        body = (
            whole.replace(b'"value": ', b'"value": ' + DEEP.encode() + b', "x": ', 1) if draw.random() < 0.1 else body
        )
        body = b" " * 2**19 + body if draw.random() < 0.01 else body or b" "
        lines = (f"POST /{token}/grade HTTP/1.1", *headers, f"Content-Type: {type_}", f"Content-Length: {len(body)}")
        yield (
            "\r\n".join((*lines, "Connection: close", "", "")).encode() + body,
            (good and token == TOKEN and type_ == "application/json"),
        )


def test_no_drawn_request_writes_from_elsewhere_or_fails(
    hand: Assignment, grades: GradesFile, caplog: pytest.LogCaptureFixture
) -> None:
    sent = dict(written(3, sized(200, 4_000), hand.batch.rows[0].row))
    before = PATH.read_bytes()
    with caplog.at_level(logging.ERROR):
        found = answers(app(hand, grades), [each for each, may in sent.items() if not may])
        assert PATH.read_bytes() == before
        assert not [each for each in found if each[1] == 200]
        taken = answers(app(hand, grades), [each for each, may in sent.items() if may])
    assert not faults([*found, *taken], NEVER)[:5]
    assert not [record for record in caplog.records if record.exc_info][:1]
    assert {200, 422} <= {status for _, status, _ in taken}
    lines = [json.loads(line) for line in PATH.read_bytes().splitlines()[1:]]
    assert len(lines) == sum(status == 200 for _, status, _ in taken)
    assert all(isinstance(line.get("value"), float | None) for line in lines)


def test_no_drawn_url_of_the_page_of_grades_fails(
    hand: Assignment, grades: GradesFile, caplog: pytest.LogCaptureFixture, ran: Path
) -> None:
    (ran / "secret.json").write_bytes(NEVER)
    right = ["grading.json", "view.js", "grade", "index.html", "media/" + "0a" * 32, "secret.json", "anna.jsonl"]
    paths = [*right, *drawn_paths(4, sized(200, 10_000), right)]
    with caplog.at_level(logging.ERROR):
        found = answers(app(hand, grades), requests(5, TOKEN, paths))
    assert not faults(found, NEVER)[:5]
    assert not [record for record in caplog.records if record.exc_info][:1]
    assert AT.isoformat().encode() in PATH.read_bytes()
