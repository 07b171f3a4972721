"""Training a reward model of some thousand weights, and asking it as a scorer's role does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.training.tiny_encoder import make_encoder
from tripos.training.environment import Device
from tripos.training.reward import AuditSize, train_reward
from tripos.training.reward_learners import RewardRecipe
from tripos.training.reward_pairs import read_pairs
from tripos_runtime.models.base import Message, ModelError
from tripos_runtime.models.rewards import RewardModel
from tripos_runtime.models.trained_rewards import load_base, open_reward, packed_network, pinned_name, read_network

pytestmark = pytest.mark.filterwarnings("ignore")
CPU = Device("cpu", "test", bf16=False)
GOOD, BAD = "why is that ?", "no . try again ."

SPEC = """\
benchmark talk "1.0.0" { languages en }
role teacher compared
role critic
dataset item from "items.jsonl" { asked text, told text }
scorer taught(asked: text, reply: text) by critic {
  prompt "Student: {{ asked }}\\nTeacher: {{ reply }}"
  gives reward
}
scenario turn {
  over item as d
  ask reply by teacher { prompt "{{ d.asked }}" }
  score win = taught(d.asked, reply) > taught(d.asked, d.told)
  measure win_rate = mean(win)
}
"""


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(tmp_path_factory.mktemp("encoder"))


def write_preferences(path: Path, count: int = 24) -> Path:
    lines = [
        {"prompt": f"so {n} ?", "chosen": f"{GOOD} {n}", "rejected": f"{BAD} {n}", "margin": 1} for n in range(count)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


def train(folder: Path, encoder: Path, **more: Any) -> dict[str, Any]:
    data = read_pairs(write_preferences(folder.parent / "pairs.jsonl"))
    recipe = RewardRecipe(str(encoder), max_tokens=32, **more)
    return train_reward(data, None, recipe, AuditSize(2, 2), CPU, folder, lambda line: None)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, encoder: Path) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "critic"
    train(folder, encoder, context=0)
    return folder


def rewards(model: RewardModel, *texts: str) -> list[float]:
    async def scored() -> list[float]:
        try:
            return list(await model.score([(Message("user", text),) for text in texts]))
        finally:
            await model.close()

    return asyncio.run(scored())


def test_what_was_trained_is_loaded_as_a_scorers_role_and_prefers_the_better(trained: Path) -> None:
    good, bad = rewards(open_reward(str(trained)), f"Student: so ?\nTeacher: {GOOD}", f"Student: so ?\nTeacher: {BAD}")
    assert good > bad


def test_the_report_has_figure_audit_and_data(trained: Path) -> None:
    report = json.loads((trained / "training.json").read_text("utf-8"))
    assert report["accuracy"]["mean"] == 1.0
    assert report["data"]["tested"]["topics"] + report["data"]["learned"]["topics"] == 24
    assert [each["learned"] for each in report["audit"]["variants"]] == ["all"]
    assert any("a bag of words does as well" in each for each in report["audit"]["warnings"])


def test_the_manifest_names_the_model_its_base_recipe_and_data(trained: Path) -> None:
    manifest = json.loads((trained / "manifest.json").read_text("utf-8"))
    report = json.loads((trained / "training.json").read_text("utf-8"))
    assert manifest["digest"] == report["model_sha256"]
    assert manifest["base"]["sha256"] is not None
    assert manifest["data"]["sha256"] == report["data"]["sha256"]
    assert manifest["recipe"]["tune"] == "head"


def test_one_step_with_all_weights_changes_the_base_and_prefers_the_better(tmp_path: Path, encoder: Path) -> None:
    import torch

    report = train(tmp_path / "critic", encoder, tune="all", epochs=3, learning_rate=1e-2, batch=4)
    assert report["accuracy"]["mean"] == 1.0
    before, after = load_base(str(encoder), read_network(tmp_path / "critic").shape), read_network(tmp_path / "critic")
    assert any(
        not torch.equal(one, two) for one, two in zip(before.model.parameters(), after.model.parameters(), strict=True)
    )


def test_the_same_recipe_makes_the_same_model(tmp_path: Path, encoder: Path, trained: Path) -> None:
    again = train(tmp_path / "critic", encoder, context=0)["model_sha256"]
    assert again == json.loads((trained / "manifest.json").read_text("utf-8"))["digest"]


def test_a_reward_depends_neither_on_its_batch_nor_on_its_place_in_it(trained: Path) -> None:
    texts = [f"Teacher: {'why ' * n}" for n in range(1, 9)]
    together = rewards(open_reward(str(trained)), *texts)
    alone = [rewards(open_reward(str(trained)), text)[0] for text in texts]
    assert together == pytest.approx(alone, abs=1e-4)


def test_what_stands_before_the_reply_is_not_read_without_context(trained: Path) -> None:
    one, two = rewards(open_reward(str(trained)), f"Student: yes\nTeacher: {GOOD}", f"Student: no\nTeacher: {GOOD}")
    assert one == two


def test_what_stands_before_the_reply_is_read_as_far_as_the_base_reads(tmp_path: Path, encoder: Path) -> None:
    report = train(tmp_path / "critic", encoder)
    assert report["recipe"]["context"] == 64 - 32 - 3
    critic = str(tmp_path / "critic")
    one, two = rewards(open_reward(critic), f"Student: yes\nTeacher: {GOOD}", f"Student: no\nTeacher: {GOOD}")
    assert one != two


def test_without_margins_the_better_reply_is_less_far_ahead(tmp_path: Path, encoder: Path) -> None:
    with_, without = (train(tmp_path / str(margins), encoder, margins=margins) for margins in (True, False))
    assert 0 < without["average_margin"] < with_["average_margin"]
    assert without["recipe"]["margins"] is False


def test_a_folder_whose_weights_were_changed_is_refused(tmp_path: Path, encoder: Path) -> None:
    train(tmp_path / "critic", encoder)
    head = tmp_path / "critic" / "head.safetensors"
    head.write_bytes(head.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ModelError) as failed:
        open_reward(str(tmp_path / "critic"))
    assert failed.value.code == "R0237"


def test_another_model_than_the_one_that_is_named_is_refused(trained: Path) -> None:
    with pytest.raises(ModelError) as failed:
        open_reward(f"{trained}@{'0' * 12}")
    assert failed.value.code == "R0237"


def test_the_name_of_a_folder_is_pinned_to_its_digest(trained: Path) -> None:
    name = pinned_name(f"reward/{trained}")
    assert name.startswith(f"reward/{trained}@")
    assert pinned_name(name) == name
    assert open_reward(name.removeprefix("reward/")).name == name
    digest = json.loads((trained / "manifest.json").read_text("utf-8"))["digest"]
    assert {pinned_name(f"reward/{trained}@{digest[:shown]}") for shown in (8, 12, 64)} == {name}


def test_a_second_run_with_the_same_model_asks_nothing_and_another_model_is_asked(
    tripos: Command, tmp_path: Path, trained: Path, encoder: Path
) -> None:
    (tmp_path / "talk.tripos").write_text(SPEC, "utf-8")
    rows = [{"asked": f"so {n} ?", "told": BAD} for n in range(3)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")

    def run(critic: Path) -> str:
        given = ("--model", "mock/careful", "--role", f"critic=reward/{critic}", "--store", str(tmp_path / "results"))
        done = tripos("run", str(tmp_path / "talk.tripos"), *given)
        assert done.code == 0, done.err
        return done.err

    assert "9 calls asked" in run(trained)
    assert " asked" not in run(trained).replace("0 calls asked", "").replace("nothing asked", "")
    train(tmp_path / "other", encoder, seed=1, held_out=0.3)
    assert "6 calls asked" in run(tmp_path / "other")


def test_the_command_trains_on_a_spec_and_prints_the_audit_and_its_warnings(
    tripos: Command, tmp_path: Path, encoder: Path
) -> None:
    root = Path(__file__).parents[2]
    given = ("--export", "mrbench_pairs", "--test", "bridge_pairs", "--model", str(encoder), "--max-tokens", "32")
    less = ("--seeds", "2", "--shuffled", "2", "-o", str(tmp_path / "critic"))
    done = tripos("train", "reward", str(root / "specs" / "mathtutorbench" / "reward"), *given, *less)
    assert done.code == 0, done.err
    assert "without Novice" in done.out
    assert "contains a question mark" in done.out
    assert "warning[W0824]" in done.err
    assert max(map(len, done.out.splitlines())) <= 80 + len(str(tmp_path))


def test_a_folder_that_is_not_empty_is_not_written_into(tripos: Command, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("kept", "utf-8")
    done = tripos("train", "reward", "pairs.jsonl", "-o", str(tmp_path))
    assert done.code == 2
    assert "S0818" in done.err


def test_packed_weights_give_the_same_rewards(trained: Path) -> None:
    import torch

    network = read_network(trained)
    texts = [("", f"{GOOD} {'why ' * n}") for n in range(9)]
    faster = packed_network(network)
    assert faster is not network or not torch.backends.mkldnn.is_available()
    assert faster.rewards(texts) == pytest.approx(network.rewards(texts), abs=1e-4)


def test_a_network_that_cannot_be_packed_is_asked_as_it_is(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_: object) -> None:
        raise AttributeError("weight")

    monkeypatch.setattr("torch.utils.mkldnn.to_mkldnn", refuses)
    network = read_network(trained)
    assert packed_network(network) is network


@pytest.mark.parametrize("option", ["--epochs", "--learning-rate", "--batch"])
def test_a_setting_of_whole_bases_is_refused_for_a_head(tripos: Command, option: str) -> None:
    refused = tripos("train", "reward", "pairs.jsonl", "-o", "model", option, "2")
    assert refused.code == 2
    assert f"`{option}` has no meaning with `--tune head`" in refused.err
