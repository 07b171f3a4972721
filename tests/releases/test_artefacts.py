"""The reward models that a release names: copied or pinned, verified, and in their roles in every run of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.releases.test_releases import contents
from tripos.releases.manifest import Manifest
from tripos_runtime.models.rewards import open_mock_reward
from tripos_runtime.models.trained_rewards import KIND, MANIFEST, digest_of
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """\
benchmark talk "1.0.0" {
  license "MIT"
  languages en
}
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
ABOUT = '[artefacts.critic]\nlicense = "Apache-2.0"\nsource = "hf://lab/critic"\n'
RUN = ("--model", "mock/careful")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "items.jsonl").write_text('{"asked": "Why?", "told": "Think."}\n', "utf-8")
    (tmp_path / "release.toml").write_text(ABOUT, "utf-8")
    return tmp_path


@pytest.fixture
def critic(folder: Path) -> Path:
    return make_critic(folder / "critic", b"weights")


def make_critic(folder: Path, weights: bytes) -> Path:
    """Return a folder as `tripos train reward` leaves one, of weights that no engine is asked to load."""
    (folder / "base").mkdir(parents=True)
    (folder / "head.safetensors").write_bytes(weights)
    (folder / "base/config.json").write_text("{}")
    (folder / "data.jsonl").write_text("what it learned")
    (folder / "training.json").write_text('{"kind": "reward"}')
    (folder / MANIFEST).write_text(json.dumps({"kind": KIND, "digest": digest_of(folder)}))
    return folder


def manifest_of(release: Path) -> Manifest:
    return Manifest.model_validate_json((release / "manifest.json").read_bytes())


def evaluators(store: Path) -> list[tuple[Any, ...]]:
    with connect(Store.open(store, create=False)) as connection:
        return connection.execute("select distinct evaluator, model_served from main.judgements").fetchall()


def test_a_reward_model_is_copied_without_the_data_that_it_learned(folder: Path, critic: Path, tripos: Command) -> None:
    done = tripos("release", "talk.tripos", "--artefact", "critic=critic")
    assert done.code == 0, done.err
    assert "W0875" not in done.err
    release = folder / "releases/talk-1.0.0"
    copied = {name for name in contents(release) if name.startswith("artefacts/")}
    names = ("base/config.json", "head.safetensors", "manifest.json", "training.json")
    assert copied == {f"artefacts/critic/{name}" for name in names}
    [said] = manifest_of(release).artefacts
    size = sum((release / name).stat().st_size for name in copied)
    assert (said.role, said.path, said.bytes) == ("critic", "artefacts/critic", size)
    assert (said.digest, said.license, said.source) == (digest_of(critic), "Apache-2.0", "hf://lab/critic")
    assert said.digest in (release / "README.md").read_text("utf-8")
    assert copied <= {file.path for file in manifest_of(release).files}


def test_two_builds_with_a_reward_model_are_equal(folder: Path, critic: Path, tripos: Command) -> None:
    with (folder / "release.toml").open("a") as about:
        about.write('path = "critic"\n')
    assert tripos("release", "talk.tripos", "--to", "one").code == 0
    assert tripos("release", "talk.tripos", "--to", "two").code == 0
    assert contents(folder / "one/talk-1.0.0") == contents(folder / "two/talk-1.0.0")


def test_verifying_says_which_file_of_a_reward_model_was_changed(folder: Path, critic: Path, tripos: Command) -> None:
    assert tripos("release", "talk.tripos", "--artefact", "critic=critic").code == 0
    assert tripos("verify", "releases/talk-1.0.0").code == 0
    head = folder / "releases/talk-1.0.0/artefacts/critic/head.safetensors"
    head.chmod(0o644)
    head.write_bytes(b"Weights")
    done = tripos("verify", "releases/talk-1.0.0")
    assert done.code == 1
    assert "wrong: artefacts/critic/head.safetensors was changed" in done.out


def test_a_manifest_that_names_another_reward_model_than_it_holds_is_found(
    folder: Path, critic: Path, tripos: Command
) -> None:
    from tripos.releases.manifest import canonical, checksum_line
    from tripos.releases.verification import verify

    assert tripos("release", "talk.tripos", "--artefact", "critic=critic").code == 0
    release = folder / "releases/talk-1.0.0"
    said = json.loads((release / "manifest.json").read_bytes())
    said["artefacts"][0]["digest"] = hashlib.sha256(b"another").hexdigest()
    raw = canonical(said)
    for name, content in (("manifest.json", raw), ("manifest.sha256", checksum_line(raw))):
        (release / name).chmod(0o644)
        (release / name).write_bytes(content)
    assert [each.what for each in verify(release).wrong] == ["artefact critic"]


def test_a_reward_model_that_is_only_named_is_held_against_its_digest(
    folder: Path, critic: Path, tripos: Command
) -> None:
    assert tripos("release", "talk.tripos", "--artefact", f"critic={digest_of(critic)}").code == 0
    release = "releases/talk-1.0.0"
    assert not (folder / release / "artefacts").exists()
    alone = tripos("verify", release)
    assert alone.code == 0 and "not checked: artefact critic" in alone.out
    given = tripos("verify", release, "--artefact", "critic=critic")
    assert given.code == 0 and "not checked: artefact" not in given.out
    make_critic(folder / "other", b"other weights")
    other = tripos("verify", release, "--artefact", "critic=other")
    assert other.code == 1 and "wrong: artefact critic has the digest" in other.out


@pytest.mark.parametrize("pinned", [False, True])
def test_a_run_of_a_release_takes_its_reward_model(
    folder: Path, critic: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, pinned: bool
) -> None:
    opened: list[str] = []

    def open_here(path: str) -> Any:
        opened.append(path)
        return open_mock_reward("mock/reward")

    monkeypatch.setattr("tripos.releases.artefacts.open_reward", open_here)
    digest = digest_of(critic)
    assert tripos("release", "talk.tripos", "--artefact", f"critic={digest if pinned else 'critic'}").code == 0
    given = ("--role", "critic=reward/critic") if pinned else ()
    done = tripos("run", "releases/talk-1.0.0", *RUN, *given)
    assert done.code == 0, done.err
    where = "critic" if pinned else "releases/talk-1.0.0/artefacts/critic"
    assert opened == [f"{where}@{digest[:12]}"]
    assert [evaluator for evaluator, _ in evaluators(folder / "results")] == [f"reward/critic@{digest[:12]}"]


def test_a_run_with_another_reward_model_than_the_release_has_is_refused(
    folder: Path, critic: Path, tripos: Command
) -> None:
    make_critic(folder / "other", b"other weights")
    assert tripos("release", "talk.tripos", "--artefact", "critic=critic").code == 0
    for other in ("mock/reward", "reward/other"):
        done = tripos("run", "releases/talk-1.0.0", *RUN, "--role", f"critic={other}")
        assert (done.code, "R0262" in done.err) == (2, True)
    assert tripos("run", "releases/talk-1.0.0", *RUN, "--role", "critic=reward/critic", "--dry-run").code == 0


def test_settings_of_a_project_do_not_change_the_reward_model_of_a_release(
    folder: Path, critic: Path, tripos: Command
) -> None:
    (folder / "tripos.toml").write_text('[roles]\ncritic = "mock/reward"\n')
    assert tripos("release", "talk.tripos", "--artefact", "critic=critic").code == 0
    done = tripos("lock", "releases/talk-1.0.0", *RUN)
    assert done.code == 0, done.err
    assert json.loads((folder / "tripos.lock").read_text())["roles"]["critic"] == [
        f"reward/critic@{digest_of(critic)[:12]}"
    ]


def test_a_reward_model_that_is_not_there_is_asked_for(folder: Path, critic: Path, tripos: Command) -> None:
    assert tripos("release", "talk.tripos", "--artefact", f"critic={digest_of(critic)}").code == 0
    done = tripos("run", "releases/talk-1.0.0", *RUN)
    assert done.code == 2
    assert "R0263" in done.err and "hf://lab/critic" in done.err


def test_a_damaged_reward_model_is_not_run(folder: Path, critic: Path, tripos: Command) -> None:
    assert tripos("release", "talk.tripos", "--artefact", "critic=critic").code == 0
    head = folder / "releases/talk-1.0.0/artefacts/critic/head.safetensors"
    head.chmod(0o644)
    head.write_bytes(b"Weights")
    done = tripos("run", "releases/talk-1.0.0", *RUN)
    assert (done.code, "S0855" in done.err) == (1, True)


def test_a_release_that_leaves_its_reward_model_open_warns(folder: Path, tripos: Command) -> None:
    (folder / "release.toml").unlink()
    done = tripos("release", "talk.tripos")
    assert done.code == 0
    assert "warning[W0875]" in done.err
    assert "does not say which" in (folder / "releases/talk-1.0.0/README.md").read_text("utf-8")
    assert tripos("run", "releases/talk-1.0.0", *RUN, "--role", "critic=mock/reward").code == 0


@pytest.mark.parametrize(
    ("about", "given", "code"),
    [
        (ABOUT, "critc=critic", "S0881"),
        (ABOUT, "critic=nowhere", "S0882"),
        (ABOUT, "critic=changed", "S0882"),
        ('[artefacts.critic]\nlicense = "MIT"\n', f"critic={'0' * 64}", "S0882"),
        (ABOUT + f'digest = "{"0" * 64}"\n', "critic=critic", "S0882"),
        ("", "critic=critic", "S0852"),
        (ABOUT, "critic", "R0202"),
        ('[artefacts.critic]\ndigest = "short"\n', "critic=critic", "R0203"),
    ],
)
def test_a_reward_model_that_cannot_be_released_is_told_so(
    folder: Path, critic: Path, tripos: Command, about: str, given: str, code: str
) -> None:
    (folder / "release.toml").write_text(about)
    (make_critic(folder / "changed", b"weights") / "head.safetensors").write_bytes(b"Weights")
    done = tripos("release", "talk.tripos", "--artefact", given)
    assert (done.code, code in done.err) == (2, True), done.err
    assert not list((folder / "releases").glob("*"))


def test_a_version_that_hides_another_reward_model_is_refused(folder: Path, critic: Path, tripos: Command) -> None:
    make_critic(folder / "other", b"other weights")
    assert tripos("release", "talk.tripos", "--artefact", "critic=critic").code == 0
    (folder / "talk.tripos").write_text(SPEC.replace('"1.0.0"', '"1.0.1"').replace('"MIT"', '"Apache-2.0"'), "utf-8")
    done = tripos("release", "talk.tripos", "--artefact", "critic=other")
    assert (done.code, "E0901" in done.err, "another reward model" in done.err) == (2, True, True)
    elsewhere = ("--to", "elsewhere", "--parent", "releases/talk-1.0.0")
    assert "E0901" in tripos("release", "talk.tripos", "--artefact", "critic=other", *elsewhere).err
    assert tripos("release", "talk.tripos", "--artefact", "critic=critic").code == 0
    (folder / "talk.tripos").write_text(SPEC.replace('"1.0.0"', '"2.0.0"').replace('"MIT"', '"Apache-2.0"'), "utf-8")
    assert tripos("release", "talk.tripos", "--artefact", "critic=other").code == 0
