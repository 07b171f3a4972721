"""A target of the fuzzer, one input tried on it, and what came of that."""

from __future__ import annotations

import re
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Literal

import tripos
import tripos_compiler
import tripos_runtime
import tripos_warehouse
from tests.bench.shrinking import shrunk
from tests.fuzz.mutators import Mutator, mutated
from tripos_compiler.errors import TriposError

PACKAGES = [Path(each.__file__ or "").parent for each in (tripos, tripos_compiler, tripos_runtime, tripos_warehouse)]

Sort = Literal["crash", "hang", "broken rule"]
LIMIT = 2.0
"""CPU seconds that an input may take."""
SHRINKING = 20.0
"""Seconds that are spent on it."""
TRIES = 300
"""How many smaller inputs are tried for a failure by lines, and as many by bytes."""
CODE = re.compile(r"[A-Z]\d{4}|data")


class Refused(Exception):
    """An input was refused as it should be: with codes. `said` is how many diagnostics there were."""

    def __init__(self, code: str, said: int = 1) -> None:
        super().__init__(code)
        self.code = code
        self.said = said


class BrokenRule(Exception):
    """Something that must hold for every input does not. The text begins with what, the same for all like it."""


class Hang(BaseException):
    """An input took too long. No `except Exception` takes this for a mistake of its own."""


@dataclass(frozen=True)
class Target:
    """What is fuzzed: `run` raises nothing for an input that is taken, `Refused` or an error of Tripos with a code for
    one that is not. `write` makes a new input from nothing, by a grammar; `share` is its part of the whole, and `quick`
    how many inputs the tests try."""

    run: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    mutate: Mutator = mutated
    write: Callable[[Random], bytes] | None = None
    share: float = 1.0
    quick: int = 200


@dataclass(frozen=True)
class Outcome:
    """The outcome of an input: `code` of a refusal, empty where it was taken; `sign` is the same for inputs that were
    refused alike."""

    code: str
    said: int
    seconds: float
    sign: str


@dataclass(frozen=True)
class Finding:
    """An input on which a target failed. `cause` is the same for all that fail alike."""

    sort: Sort
    cause: str
    detail: str
    data: bytes


def try_input(target: Target, data: bytes, limit: float = LIMIT) -> Outcome | Finding:
    """Try an input. A process that calls this has called `set_alarm`."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        target.run(data)
        outcome = Outcome("", 0, 0.0, "")
    except (Refused, TriposError) as error:
        try:
            outcome = _refusal(error)
        except BrokenRule as broken:
            return _finding(broken, data)
    except (Exception, Hang) as error:
        return _finding(error, data)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Outcome(outcome.code, outcome.said, time.process_time() - began, outcome.sign)


def set_alarm() -> None:
    """Let an input be stopped that takes too much time of the processor."""

    def too_long(signum: int, frame: FrameType | None) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, too_long)


def smaller(target: Target, found: Finding, note: Callable[[bytes], None], tries: int = TRIES) -> Finding:
    """Return the shortest input found that fails in the same way. `note` is told of each before it is tried."""
    best = found

    until = time.monotonic() + SHRINKING

    def fails(text: str) -> bool:
        nonlocal best
        if time.monotonic() > until:
            return False
        note(text.encode("latin-1"))
        tried = try_input(target, text.encode("latin-1"))
        if isinstance(tried, Finding) and (tried.sort, tried.cause) == (found.sort, found.cause):
            best = tried
            return True
        return False

    shrunk(found.data.decode("latin-1"), fails, tries if found.sort != "hang" else tries // 15)
    return best


def _refusal(error: Any) -> Outcome:
    """Return what an error comes to. Raises `BrokenRule` for one that nobody can do anything with."""
    if isinstance(error, Refused):
        return Outcome(error.code, error.said, 0.0, error.code)
    code = getattr(error, "code", "data")
    message = error.message
    if not CODE.fullmatch(code):
        raise BrokenRule(f"an error with the code {code!r}")
    if not message or not message.strip():
        raise BrokenRule(f"{code} without a message")
    if "internal error" in message:
        raise BrokenRule(f"{code} is an internal error: {message}")
    return Outcome(code, 1, 0.0, f"{code} {re.sub(r'`[^`]*`|[0-9]+', '', message)[:60]}")


def _finding(error: BaseException, data: bytes) -> Finding:
    if isinstance(error, Hang):
        return Finding("hang", f"hang{_place(error)}", _detail(error), data)
    # Rules of the compiler's tests are broken under another name.
    if isinstance(error, BrokenRule) or (type(error).__name__ == "Fault" and "examining" in type(error).__module__):
        return Finding("broken rule", str(error).partition(":")[0], str(error), data)
    if isinstance(error, RecursionError):  # which of the functions that call each other is last is chance
        return Finding("crash", f"RecursionError of {_room(error)}", _detail(error), data)
    return Finding("crash", f"{type(error).__name__}{_place(error)}", _detail(error), data)


def _place(error: BaseException) -> str:
    """Return the innermost function of Tripos that an exception went through; of a hang, the outermost room."""
    frames = _frames(error)
    if not frames:
        return ""
    frame = frames[0] if isinstance(error, Hang) else frames[-1]
    return f" in {frame.name} of {Path(frame.filename).name}"


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames in the packages of Tripos, wherever its repository is and whatever that folder is called."""
    found = traceback.extract_tb(error.__traceback__)
    return [each for each in found if any(Path(each.filename).is_relative_to(place) for place in PACKAGES)]


def _room(error: BaseException) -> str:
    frames = _frames(error)
    return Path(frames[-1].filename).name if frames else "a library"


def _detail(error: BaseException) -> str:
    lines = traceback.format_exception(error, chain=False)
    return "".join(lines if len(lines) < 24 else [*lines[:3], "  …\n", *lines[-18:]]).rstrip()
