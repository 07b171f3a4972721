"""Logs that `tripos export` wrote: the statuses of their replies and scores, which other tools have no words for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tripos.importing.logs.log_values import mapping, text
from tripos_compiler.plan import FUNCTION_ERROR
from tripos_runtime.asking import FAILED, NOT_ASKED, OK, PARSE_FAILURE, REFUSED, TRUNCATED
from tripos_warehouse.views import NOT_GIVEN

MEAN = "mean of scores"
"""The kind of a figure that is the mean of a score, and no measure."""
OF_REPLIES = frozenset({OK, PARSE_FAILURE, TRUNCATED, REFUSED, FAILED, *NOT_ASKED})
OF_SCORES = OF_REPLIES - {OK} | {FUNCTION_ERROR, NOT_GIVEN}
"""The statuses of scores without a value."""


def reply_status(said: Any, reply: str | None) -> str | None:
    """Return the status that a log has of a reply, where it may have that.

    >>> reply_status("refused", None), reply_status("ok", None), reply_status("fine", "yes")
    ('refused', None, None)
    """
    status = text(said)
    return status if status in OF_REPLIES and (reply is not None or status != OK) else None


def score_status(about: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the status and the error of a score without a value, given what the log says of it.

    >>> score_status({"status": "undefined", "error": "no number"}), score_status({"status": "scored"})
    (('undefined', 'no number'), (None, None))
    """
    status = text(about.get("status"))
    return (status, text(about.get("error"))) if status in OF_SCORES else (None, None)


def task_of(about: Mapping[str, Any]) -> str | None:
    """Return the task that a sample of Inspect belongs to: its scenario, apart for each of its arms.

    >>> task_of({"scenario": "sums", "arm hint": "none"}), task_of({"scenario": "sums"}), task_of({})
    ('sums [hint: none]', 'sums', None)
    """
    scenario = text(about.get("scenario"))
    arms = [f"{name.removeprefix('arm ')}: {value}" for name, value in about.items() if name.startswith("arm ")]
    return f"{scenario} [{', '.join(arms)}]" if scenario and arms else scenario


def is_own_log(head: Mapping[str, Any]) -> bool:
    """Return true if Tripos wrote a log of Inspect, given its header."""
    told = mapping(head.get("eval"))
    return "tripos" in mapping(told.get("packages")) and "tripos_run" in mapping(told.get("metadata"))


def are_own_results(head: Mapping[str, Any]) -> bool:
    """Return true if Tripos wrote results of lm-eval."""
    return "run_id" in mapping(head.get("tripos"))
