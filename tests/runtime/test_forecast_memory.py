"""A forecast counts units and holds none: its memory does not grow with them."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import tripos

SPEC = """\
benchmark counted "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text }
scenario echo {
  over item
  ask reply by candidate {
    prompt "{{ item.question }}"
    samples SAMPLES
  }
  score length = words(reply.text)
}
measure words = mean(length)
"""
MODELS = ["mock/careful:a", "mock/careful:b"]
GROWTH = 1_000_000
"""So many bytes more are taken for ninety thousand units more; a list of their names alone would take three times as
many."""


def peak(folder: Path, rows: int, samples: int) -> int:
    """Return the most memory of a forecast, in bytes."""
    folder.mkdir()
    (folder / "counted.tripos").write_text(SPEC.replace("SAMPLES", str(samples)), "utf-8")
    questions = (json.dumps({"question": f"Why is {number} a number?"}) for number in range(rows))
    (folder / "items.jsonl").write_text("\n".join(questions), "utf-8")
    spec = tripos.compile(folder / "counted.tripos")
    spec.plan(MODELS, store=folder / "results")  # what is imported and kept for good is there before
    tracemalloc.start()
    try:
        plan = spec.plan(MODELS, store=folder / "results")
        assert plan.calls.high == 2 * rows * samples
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_forecast_of_ten_times_as_many_units_takes_no_more_memory(tmp_path: Path) -> None:
    few = peak(tmp_path / "few", 10, 500)
    many = peak(tmp_path / "many", 100, 500)
    assert many - few < GROWTH
