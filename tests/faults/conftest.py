"""A small benchmark whose calls go to an address that a test says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

SPEC = """\
benchmark faults "1.0.0" {
  languages en
}
role candidate compared
dataset item from "items.jsonl" {
  question text
}
scenario one {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score long = words(reply.text) > 1
}
measure m = mean(long)
"""
MODEL = ("--model", "hosted_vllm/m", "--max-connections", "1", "--max-retries", "1", "--patience", "0.05")
RUN = ("run", "faults.tripos", *MODEL, "--json")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the benchmark, which is also the working directory. Retries come at once."""
    (tmp_path / "faults.tripos").write_text(SPEC, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tripos_runtime.scheduling.calling.FIRST_DELAY_S", 0.001)
    return tmp_path


def write(bench: Path, address: str, *questions: str) -> None:
    """Write the rows, and where the model is."""
    (bench / "items.jsonl").write_text("\n".join(json.dumps({"question": each}) for each in questions), "utf-8")
    endpoint = f'[endpoints."hosted_vllm"]\nbase_url = "{address}"\nname = "the same wherever it is"\n'
    (bench / "tripos.toml").write_text(endpoint, "utf-8")


def rows_of(tripos: Command, store: str = "results") -> list[dict[str, Any]]:
    """Return the question, the status, the error and the usage of each sample."""
    query = "select messages->>'$[0].content' as question, status, error, tokens_in, cost_usd from samples"
    told = tripos("sql", query, "-o", "answer.json", "--store", store)
    assert told.code == 0, told.err
    rows: list[dict[str, Any]] = json.loads(Path("answer.json").read_text("utf-8"))
    Path("answer.json").unlink()
    return rows
