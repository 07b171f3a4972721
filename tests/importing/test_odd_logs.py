"""Logs with odd content, drawn at random: no score of them is lost, whatever stands beside it."""

from __future__ import annotations

import json
import math
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.conftest import Command
from tests.lengths import sized
from tripos.importing.logs.formats.inspect import LETTERS, WORDS

NAMES = st.sampled_from(["match", "Match!", "exact", "and", "数学", "a/b", "reply", "mean"])
TEXTS = st.text(max_size=12) | st.sampled_from(["", "\ud800", "绿", "a\nb", "\x00", "{{ x }}", "=1+1"])
EPOCHS = st.integers(0, 3) | st.none() | st.sampled_from([-1, 90, 10**12, 2**70, True, 2.0])
IDS = st.integers(0, 3) | st.sampled_from(["a", "1", "", "\ud800"]) | st.none() | st.booleans()
PLAIN = (
    st.sampled_from([*LETTERS, *WORDS, "B", "0.5", "", None, True, False])
    | st.floats()
    | st.integers(-(10**30), 10**30)
)
VALUES = PLAIN | st.dictionaries(st.sampled_from(["x", "y", "X "]), PLAIN, max_size=2) | st.lists(PLAIN, max_size=2)
SCORES = st.dictionaries(
    NAMES, st.fixed_dictionaries({"value": VALUES}, optional={"explanation": TEXTS, "answer": TEXTS})
)
ODD = st.none() | st.just([]) | st.just("x") | st.just({"choices": [None]}) | st.just(7)
OUTPUTS = ODD | TEXTS.map(lambda said: {"choices": [{"message": {"role": "assistant", "content": said}}]})
SAMPLES = st.fixed_dictionaries(
    {"id": IDS, "epoch": EPOCHS, "input": TEXTS | ODD, "output": OUTPUTS, "scores": SCORES},
    optional={
        "target": TEXTS | st.lists(TEXTS, max_size=2),
        "messages": ODD,
        "model_usage": ODD | st.just({"m/x": {"input_tokens": -1, "output_tokens": 10**40, "total_cost": math.nan}}),
        "error": st.just({"message": "broke"}) | ODD,
        "limit": st.just({"type": "time"}) | ODD,
        "attachments": ODD,
        "choices": st.lists(TEXTS, max_size=2) | ODD,
    },
)


def worth(value: Any) -> float | None:
    """Return the number that Inspect's own rule gives a value."""
    if isinstance(value, str):
        if value in LETTERS or value.lower() in WORDS:
            return LETTERS.get(value, WORDS.get(value.lower()))
        try:
            value = float(value)
        except ValueError:
            return None
    return None if value is None or not abs(value) <= 1e70 else float(value)


def expected(samples: list[dict[str, Any]]) -> tuple[Counter[float], int]:
    """Return the values of all scores, and how many have none."""
    parts: list[Any] = []
    for sample in samples:
        for score in sample["scores"].values():
            value = score["value"]
            parts += value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    found = [worth(part) for part in parts]
    return Counter(value for value in found if value is not None), sum(value is None for value in found)


def write(path: Path, samples: list[dict[str, Any]], packed: bool) -> Path:
    """Write a log, as a zip file or as one JSON value."""
    head = {"version": 2, "status": "success", "eval": {"task": "odd task", "model": "m/x", "eval_id": "e"}}
    if not packed:
        target = path / "odd.json"
        target.write_text(json.dumps({**head, "samples": samples}), "utf-8")
        return target
    target = path / "odd.eval"
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("header.json", json.dumps(head))
        for number, sample in enumerate(samples):
            file.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return target


@settings(deadline=None, max_examples=sized(5, 60), suppress_health_check=list(HealthCheck))
@given(samples=st.lists(SAMPLES, min_size=1, max_size=6), packed=st.booleans())
def test_no_score_is_lost(
    tmp_path_factory: pytest.TempPathFactory, tripos: Command, samples: list[dict[str, Any]], packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        log = write(folder, samples, packed)
        outcome = tripos("import", "logs", str(log), "--json")
        assert outcome.code == 0, outcome.err
        (told,) = outcome.data["logs"]
        values, without = expected(samples)
        assert (told["samples"], told["scores"], told["without_value"]) == (len(samples), values.total(), without)
        # A failed sample without a score has a row of each metric that says so, and is no score of the log.
        told_only = "select value from main.scores where round = 1 and not (value is null and status <> 'scored' and given is null)"
        kept = tripos("sql", told_only, "--format", "json")
        assert Counter(row["value"] for row in kept.data) == values
        assert tripos("report").code == 0
        again = tripos("import", "logs", str(log), "--json")
        assert (again.code, again.data["logs"][0]["run_id"]) == (0, None), again.err
