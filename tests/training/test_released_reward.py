"""A reward model that was trained scores in runs of a release that holds a copy of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.training.test_reward_model import BAD, GOOD, SPEC, train
from tests.training.tiny_encoder import make_encoder
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_copied_reward_model_scores_a_run_without_being_named(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    train(tmp_path / "critic", make_encoder(tmp_path / "encoder"))
    Path("talk.tripos").write_text(SPEC.replace("{ languages en }", '{\n  license "MIT"\n  languages en\n}'), "utf-8")
    Path("items.jsonl").write_text(json.dumps({"asked": GOOD, "told": BAD}), "utf-8")
    Path("release.toml").write_text('[artefacts.critic]\nlicense = "MIT"\n')
    done = tripos("release", "talk.tripos", "--artefact", "critic=critic", "--zip")
    assert done.code == 0, done.err
    (tmp_path / "critic").rename(tmp_path / "gone")
    for given in ("releases/talk-1.0.0", "releases/talk-1.0.0.zip"):
        done = tripos("run", given, "--model", "mock/careful", "--json")
        assert done.code == 0, done.err
    assert done.data["calls"]["asked"] == 0, "what was scored from the folder is found again from the zip"
    digest = json.loads((tmp_path / "gone/manifest.json").read_text("utf-8"))["digest"]
    with connect(Store.open(tmp_path / "results", create=False)) as connection:
        rows = connection.execute("select distinct evaluator, model_served from main.judgements").fetchall()
    assert rows == [(f"reward/critic@{digest[:12]}",) * 2]
