"""Stores with results that nobody chose: replies, raters, rounds, samples, statuses and texts as they are drawn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.compiler.compiling import compile_text, plan_of
from tests.warehouse.keeping import AT, sample
from tests.warehouse.synthetic import Results, digest
from tripos_compiler.plan import Ask, Plan
from tripos_warehouse.store.store import Store

SPEC = """\
benchmark drawn "1.0.0" { languages en }
role candidate compared
role judge panel
dimension quality "Quality" {
  metric CLEAR "Clarity" { scale 1..10, asks "Is it clear?" }
  metric TRUE "Truth" { scale 1..10, asks "Is it true?" }
}
scorer rubric(response: text) by judge {
  prompt "{{ metrics }} {{ response }}"
  gives  allocated metrics
}
allocate rubric {
  |      | CLEAR | TRUE |
  | says |   x   |  x   |
}
axis tone { formal, warm }
scenario says {
  context tone
  ask reply by candidate { prompt "Write a {{ tone }} sentence.", samples 3 }
  score long = words(reply.text)
  score rubric(response: reply.text)
}
measure quality = mean(rubric)
"""
MODELS, JUDGES = ("mock/one", "mock/二:b"), ("mock/j", "mock/k:é")
RATERS = (*JUDGES, "human/Zoë 王")
FAILED = (
    *("parse_failure", "refused", "truncated", "provider_error", "function_error"),
    *("undefined", "not_applicable"),
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)


@dataclass(frozen=True)
class DrawnScore:
    """A score of a reply."""

    metric: str
    evaluator: str | None
    round: int | None
    value: float | None
    status: str
    error: str | None


@dataclass(frozen=True)
class DrawnReply:
    """A reply with its scores."""

    model: str
    item: int
    number: int
    text: str | None
    status: str
    scores: tuple[DrawnScore, ...]


@cache
def plan() -> Plan:
    """Return the plan of the spec."""
    return plan_of(compile_text(SPEC))


@st.composite
def scores(draw: st.DrawFn) -> tuple[DrawnScore, ...]:
    """Return scores of one reply, of which no two have one name."""
    places: list[tuple[str, str | None, int | None]] = [("long", None, None)]
    places += [(metric, rater, None) for metric in ("CLEAR", "TRUE") for rater in RATERS]
    places += [(metric, RATERS[-1], number) for metric in ("CLEAR", "TRUE") for number in (1, 2)]
    found = []
    for metric, evaluator, number in draw(st.lists(st.sampled_from(places), unique=True)):
        numbers = st.floats(-1e9, 1e9, allow_subnormal=False) if metric == "long" else st.floats(1, 10)
        value = draw(st.none() | numbers | st.integers(1, 10).map(float))
        status = "scored" if value is not None else draw(st.sampled_from(FAILED))
        error = None if value is not None else draw(st.none() | TEXTS)
        found.append(DrawnScore(metric, evaluator, number, value, status, error))
    return tuple(found)


def possible(reply: DrawnReply) -> DrawnReply:
    """Return a reply as it can be: without a text it is neither read nor cut off."""
    return (
        reply if reply.text is not None or reply.status not in ("ok", "truncated") else replace(reply, status="refused")
    )


REPLIES = st.lists(
    st.builds(
        DrawnReply,
        st.sampled_from(MODELS),
        st.integers(0, 3),
        st.integers(0, 2),
        st.none() | TEXTS,
        st.sampled_from(
            ("ok", "refused", "parse_failure", "truncated", "provider_error", "undefined", "not_applicable")
        ),
        scores(),
    ).map(possible),
    min_size=1,
    max_size=12,
    unique_by=lambda each: (each.model, each.item, each.number),
)


def write_store(store: Store, replies: Iterable[DrawnReply]) -> None:
    """Write a run with these replies and their scores."""
    spec = plan()
    ask = next(step for step in spec.scenarios[0].steps if isinstance(step, Ask))
    results = Results(spec, MODELS, JUDGES)
    rows: list[Mapping[str, Any]] = []
    for reply in replies:
        item = f"item {reply.item}"
        results.item("says", item, {"題": reply.item}, {"tone": ("formal", "warm")[reply.item % 2]})
        name = digest("sample", "says", item, reply.model, reply.number, [])
        more = {
            "run_id": "r1",
            "benchmark": "drawn",
            "scenario": "says",
            "step": ask.name,
            "fingerprint": ask.fingerprint,
            "binding": reply.model,
            "item_id": item,
            "context": {"tone": ("formal", "warm")[reply.item % 2]},
            "role": "candidate",
            "model": reply.model,
            "sample_number": reply.number,
            "messages": json.dumps([{"role": "user", "content": f"{reply.text} 😀"}]),
            "reply": reply.text,
            "status": reply.status,
            "error": None if reply.status in ("ok", "truncated") else f"why: {reply.text}",
            "sample_id": name,
            "created_at": AT + timedelta(seconds=reply.number),
        }
        rows.append(sample(name, **more))
        for score in reply.scores:
            step = "long" if score.metric == "long" else "rubric"
            more = {"model": reply.model, "number": reply.number, "status": score.status, "round": score.round}
            results.add("says", step, item, score.value, metric=score.metric, evaluator=score.evaluator, **more)
            results.scores[-1]["error"] = score.error
    results.write(store, samples=rows)
