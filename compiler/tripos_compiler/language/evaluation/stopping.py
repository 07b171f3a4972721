"""Ends evaluations that go on for long, from a handler of signals: nothing else gets a word in while one runs."""

from __future__ import annotations

from types import FrameType

from tripos_compiler.language.evaluation.absence import EvaluationStopped
from tripos_compiler.language.evaluation.expressions import evaluate

OURS = "tripos_compiler"


class LongEvaluations:
    """Looks at what a thread does, again and again, and ends an evaluation that it finds a second time."""

    def __init__(self) -> None:
        self._last: FrameType | None = None

    def look(self, frame: FrameType | None) -> None:
        """Take note of what is under way in a frame. Raises `EvaluationStopped` in an evaluation that was under way at
        the last look too. One that waits for a function of the user's is left alone: its process would be heard wrong.
        """
        found = _evaluation(frame)
        again, self._last = found is not None and found is self._last, found
        if again:
            self._last = None
            raise EvaluationStopped


def _evaluation(frame: FrameType | None) -> FrameType | None:
    """Return the outermost evaluation that a frame is a part of; None where there is none, or it called others."""
    found = None
    inside = True
    while frame is not None:
        if frame.f_code is evaluate.__code__:
            found = frame
        elif found is None and str(frame.f_globals.get("__name__", "")).startswith("tripos_runtime"):
            inside = False
        frame = frame.f_back
    return found if inside else None
