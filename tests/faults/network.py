"""The table of faults of a network: what a server or the way to it does to one call, and what a run promises.

The run has two rows. The call of the first is answered; the fault happens to the call of the second.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import Any

from tests.faults.server import (
    CHUNKED,
    GOOD,
    Behaviour,
    answer,
    bomb,
    closes,
    completion,
    goes_on,
    packed,
    redirects,
    replies,
    resets,
    said,
    sends,
    stalls,
    trickles,
)


@dataclass(frozen=True)
class Promise:
    """The promise about a fault: how often it asks, the status that it keeps, the status of the run, the exit code,
    and how often the same command asks once more when the fault is gone."""

    asked: int
    kept: str | None
    run: str
    exit: int
    later: int


AGAIN = Promise(2, "ok", "finished", 0, 0)
KEPT = Promise(1, "ok", "finished", 0, 0)
EMPTY = Promise(1, "parse_failure", "finished", 0, 0)
FAILED = Promise(1, "provider_error", "finished", 1, 1)
REFUSED = Promise(1, "refused", "finished", 0, 0)
STOPS = Promise(1, None, "stopped", 1, 1)
WORDS = {
    AGAIN: "asks again; exit 0",
    KEPT: "keeps the reply; exit 0",
    EMPTY: "keeps `parse_failure`; exit 0",
    FAILED: "keeps `provider_error` and goes on; exit 1; the next run asks again",
    REFUSED: "keeps `refused`; exit 0",
    STOPS: "stops; exit 1; the next run goes on",
}


def ended(word: str, **more: Any) -> dict[str, Any]:
    """Return a chat completion that ended so."""
    return completion(choices=[{"message": {"content": "it is"}, "finish_reason": word, **more}])


@dataclass(frozen=True)
class Fault:
    """One fault: its group in the documentation, its name, what the server does, the promise, and the code in the
    output."""

    group: str
    name: str
    does: Behaviour
    promise: Promise
    code: str | None = None


TEXT = json.dumps(completion()).encode()
EVENTS = b'data: {"choices":[{"delta":{"content":"it"}}]}\n\ndata: [DONE]\n\n'
TWICE = TEXT.replace(b'"model"', b'"choices": [], "model"', 1)
LOOP = "/again/v1/chat/completions"


def usage(text: str) -> bytes:
    """Return a reply with this JSON as its usage."""
    return json.dumps(completion(usage=0)).replace('"usage": 0', f'"usage": {text}').encode()


FAULTS = (
    Fault("reset or closed", "reset before a reply", resets(), AGAIN),
    Fault("reset or closed", "reset within the status line", resets(b"HTTP/1.1 2"), AGAIN),
    Fault("reset or closed", "reset within the headers", resets(GOOD[:40]), AGAIN),
    Fault("reset or closed", "reset after the headers", resets(GOOD[: GOOD.index(b"{")]), AGAIN),
    Fault("reset or closed", "reset within the body", resets(GOOD[:-20]), AGAIN),
    Fault("reset or closed", "closed without a reply", closes(), AGAIN),
    Fault("reset or closed", "closed after the reply", closes(GOOD), KEPT),
    Fault("silent or slow", "half-open", stalls(), FAILED, "R0109"),
    Fault("silent or slow", "headers that do not end", stalls(GOOD[:40]), FAILED, "R0109"),
    Fault("silent or slow", "a body that does not end", stalls(GOOD[:-5]), FAILED, "R0109"),
    Fault("silent or slow", "a trickle that ends in time", trickles, KEPT),
    Fault("not HTTP, or another length", "not HTTP", closes(b"SSH-2.0-OpenSSH_9.6\r\n"), AGAIN),
    Fault("not HTTP, or another length", "a length that is too long", closes(answer(200, TEXT, length=9999)), AGAIN),
    Fault("not HTTP, or another length", "a length that is too short", closes(answer(200, TEXT, length=50)), AGAIN),
    Fault("not HTTP, or another length", "a length that is negative", closes(answer(200, TEXT, length=-5)), AGAIN),
    Fault("not HTTP, or another length", "chunks that break off", closes(CHUNKED + b"40\r\n{"), AGAIN),
    Fault("not HTTP, or another length", "a chunk without a size", closes(CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n"), AGAIN),
    Fault("not HTTP, or another length", "a header of 100 kB", closes(answer(200, TEXT, f"X: {'x' * 100_000}\r\n")), AGAIN),
    Fault("not HTTP, or another length", "more bytes after the reply", closes(GOOD + b"more"), AGAIN),
    Fault("not HTTP, or another length", "`100 Continue` before the reply", sends(b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD), KEPT),
    Fault("packed", "gzip that nobody asked for", packed(gzip.compress(TEXT)), KEPT),
    Fault("packed", "gzip that breaks off", packed(gzip.compress(TEXT)[:-12]), AGAIN),
    Fault("packed", "gzip that is none", packed(TEXT), AGAIN),
    Fault("too large", "a gzip bomb", packed(bomb()), FAILED, "R0111"),
    Fault("too large", "a body said to have 5 GB", stalls(answer(200, b"{", length=5 << 30)), FAILED, "R0111"),
    Fault("too large", "a body without an end", goes_on, FAILED, "R0111"),
    Fault("200, but no reply", "an empty body", replies(b""), AGAIN),
    Fault("200, but no reply", "HTML", sends(answer(200, b"<html>Sign in</html>", "Content-Type: text/html\r\n")), AGAIN),
    Fault("200, but no reply", "events", sends(answer(200, EVENTS, "Content-Type: text/event-stream\r\n")), AGAIN),
    Fault("200, but no reply", "JSON that breaks off", replies(TEXT[:-9]), AGAIN),
    Fault("200, but no reply", "an error", replies({"error": {"message": "out of memory"}}), AGAIN),
    Fault("200, but no reply", "no choices", replies(completion(choices=[])), AGAIN),
    Fault("200, but no reply", "choices of another kind", replies(completion(choices="text")), AGAIN),
    Fault("200, but no reply", "JSON nested 100,000 deep", replies(b"[" * 100_000), AGAIN),
    Fault("200, but no reply", "bytes that are not UTF-8", replies(TEXT.replace(b"it is", b"it \xe9s")), AGAIN),
    Fault("200, but no reply", "`204 No Content`", sends(b"HTTP/1.1 204 No Content\r\n\r\n"), AGAIN),
    Fault("a reply that broke off", "`finish_reason` is `error`", replies(ended("error")), AGAIN),
    Fault("a reply that broke off", "`finish_reason` is `abort`", replies(ended("abort")), AGAIN),
    Fault("a reply that broke off", "an error within it", replies(ended("stop", error={"code": 502})), AGAIN),
    Fault("a reply without an answer", "`content` is null", replies(completion(None)), EMPTY),
    Fault("a reply without an answer", "a blank", replies(completion(" \n")), EMPTY),
    Fault("a reply that is withheld", "a filter's cut", replies(ended("content_filter")), REFUSED),
    Fault("a reply that is withheld", "a refusal in a field of its own", replies(completion(choices=[{"message": {"content": None, "refusal": "no"}}])), REFUSED),
    Fault("odd values in a reply", "UTF-16", replies(json.dumps(completion()).encode("utf-16")), KEPT),
    Fault("odd values in a reply", "a key twice", replies(TWICE), KEPT),
    Fault("odd values in a reply", "half a surrogate pair", replies(completion("a \ud800 b")), KEPT),
    Fault("odd values in a reply", "NUL bytes", replies(completion("a \x00 b")), KEPT),
    Fault("odd values in a reply", "tokens that are NaN", replies(usage('{"prompt_tokens": NaN, "completion_tokens": NaN}')), KEPT),
    Fault("odd values in a reply", "tokens below 0", replies(usage('{"prompt_tokens": -3, "completion_tokens": -1}')), KEPT),
    Fault("odd values in a reply", "10³⁰ tokens", replies(usage(f'{{"prompt_tokens": {10**30}, "completion_tokens": {10**30}}}')), KEPT),
    Fault("odd values in a reply", "2⁶³ tokens", replies(usage(f'{{"prompt_tokens": {2**63}, "completion_tokens": {2**63}}}')), KEPT),
    Fault("odd values in a reply", "a cost that is infinite", replies(usage('{"prompt_tokens": 3, "completion_tokens": 1, "cost": 1e999}')), KEPT),
    Fault("odd values in a reply", "a cost that is NaN", replies(usage('{"prompt_tokens": 3, "completion_tokens": 1, "cost": NaN}')), KEPT),
    Fault("odd values in a reply", "`finish_reason` of another kind", replies(completion(choices=[{"message": {"content": "a"}, "finish_reason": 7}])), KEPT),
    Fault("redirect", "a redirect", redirects(302, "http://127.0.0.1:1/v1"), FAILED, "R0110"),
    Fault("redirect", "a redirect to itself", redirects(307, LOOP), FAILED, "R0110"),
    Fault("a status that may pass", "408", said(408), AGAIN),
    Fault("a status that may pass", "409", said(409), AGAIN),
    Fault("a status that may pass", "425", said(425), AGAIN),
    Fault("a status that may pass", "429", said(429), AGAIN),
    *(Fault("a status that may pass", str(status), said(status), AGAIN) for status in (500, 502, 503, 504, 529)),
    Fault("429 with `Retry-After`", "seconds", said(429, headers="Retry-After: 0.01\r\n"), AGAIN),
    Fault("429 with `Retry-After`", "a day that has passed", said(429, headers="Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"), AGAIN),
    Fault("429 with `Retry-After`", "an hour, with `--patience` of less", said(429, headers="Retry-After: 3600\r\n"), AGAIN),
    Fault("429 with `Retry-After`", "a number below 0", said(429, headers="Retry-After: -5\r\n"), AGAIN),
    Fault("429 with `Retry-After`", "10³⁰⁹ seconds", said(429, headers="Retry-After: 1e309\r\n"), AGAIN),
    Fault("429 with `Retry-After`", "words", said(429, headers="Retry-After: soon\r\n"), AGAIN),
    Fault("a status that stays", "400", said(400), FAILED, "R0110"),
    Fault("a status that stays", "413", said(413), FAILED, "R0110"),
    Fault("a status that stays", "418", said(418), FAILED, "R0110"),
    Fault("the prompt is too long", "400 of a prompt that is too long", said(400, "maximum context length is 10"), FAILED, "R0107"),
    Fault("the content is refused", "400 of a filter", said(400, "content management policy"), REFUSED),
    Fault("no access", "401", said(401), STOPS, "R0102"),
    Fault("no access", "403", said(403), STOPS, "R0102"),
    Fault("no access", "404", said(404), STOPS, "R0103"),
    Fault("no access", "402", said(402), STOPS, "R0104"),
    Fault("no access", "429 of an account without credit", said(429, "insufficient_quota"), STOPS, "R0104"),
)  # fmt: skip
"""Each happens to one call of a run."""
