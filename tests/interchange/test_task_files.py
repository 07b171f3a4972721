"""Tasks of an export for lm-eval whose names differ in punctuation alone have files of their own."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tripos_warehouse.exports.lm_eval import _ResultsWriter


def test_tasks_of_one_name_have_a_file_each(tmp_path: Path) -> None:
    writer: Any = object.__new__(_ResultsWriter)
    writer.run, writer.stamp, writer.tasks = SimpleNamespace(benchmark="exam"), "now", {}
    with ExitStack() as files:
        for hint in ("a b", "a-b", "a.b", "a_b"):
            unit: Any = SimpleNamespace(scenario="ask", arms={"hint": hint})
            writer._task(unit, tmp_path, files).file.write(hint.encode())
    assert {path.read_text("utf-8") for path in tmp_path.glob("samples_*.jsonl")} == {"a b", "a-b", "a.b", "a_b"}
