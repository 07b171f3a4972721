"""Worlds in which rows that a role wrote exchange their secrets: a row gets all its secrets from one row."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.lengths import sized
from tests.unproved import Unproved, unproved, written
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.secrecy_trial.playthrough import RevealedValues, TrialRun
from tripos_runtime.secrecy_trial.scripted_models import Script
from tripos_runtime.secrecy_trial.secrets import SecretChange
from tripos_runtime.secrecy_trial.tables import DataFiles
from tripos_runtime.secrecy_trial.world import TrialWorld

SPEC = """benchmark demo "1.0.0" { languages en }
role candidate compared
role author
dataset raw from "raw.jsonl" { stem text }
dataset item by author from raw {
  prompt "Write an exercise: {{ raw.stem }}"
  returns {
    question text
    solution text secret
    reason   text secret
  }
}
scenario solving {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = reply == item.solution
}
"""
SECRETS = ("solution", "reason")


@pytest.mark.parametrize("kind", ["permuted", "exchanged"])
def test_a_row_gets_all_its_secrets_from_one_row(kind: Literal["permuted", "exchanged"], tmp_path: Path) -> None:
    spec = unproved(written(tmp_path, SPEC, {"raw.jsonl": [{"stem": f"task {number}"} for number in range(8)]}))
    before = _secrets(spec, None)
    assert len(set(before)) == 8
    for seed in range(sized(4, 60)):
        after = _secrets(spec, SecretChange(kind, seed))
        assert sorted(after) == sorted(before)
        assert all(old != new for old, new in zip(before, after, strict=True)) or kind == "exchanged"


def _secrets(spec: Unproved, change: SecretChange | None) -> list[tuple[object, ...]]:
    files = tuple(source.path for source in spec.compilation.sources)
    tables = DataFiles(spec.plan, DataFolders(), files)
    world = TrialWorld(spec.plan, DataFolders(), files, tables=tables)
    run = TrialRun(world, Script(0, False, False), change, change is None, {}, RevealedValues())
    run.go(spec.plan.scenarios, {scenario.name: None for scenario in spec.plan.scenarios}, 100)
    rows = world.sources.generated.rows["item"]
    return [tuple(row.values[name] for name in SECRETS) for row in rows]
