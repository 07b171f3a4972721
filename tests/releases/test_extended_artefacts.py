"""The reward model of a release scores what is taken of it in every benchmark that extends the release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.releases.test_artefacts import ABOUT, RUN, SPEC, evaluators, make_critic, manifest_of
from tests.releases.test_extending import digest_of, loosen
from tripos.releases.manifest import checksum_line
from tripos.releases.verification import verify
from tripos_runtime.models.rewards import open_mock_reward
from tripos_runtime.models.trained_rewards import digest_of as model_digest

OWN = """
scenario own {
  ask reply by teacher { prompt "What is 2 * 21?" }
  score right = contains(reply.text, "42")
}
"""
USED = "reward/critic@"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark that a reward model scores, the model, and nothing released."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "talk", SPEC)
    make_critic(tmp_path / "critic", b"weights")
    return tmp_path


def write(folder: Path, spec: str) -> None:
    folder.mkdir()
    (folder / "spec.tripos").write_text(spec, "utf-8")
    (folder / "items.jsonl").write_text('{"asked": "Why?", "told": "Think."}\n', "utf-8")
    (folder / "release.toml").write_text(ABOUT, "utf-8")


def extend(folder: Path, *names: str, own: str = OWN) -> Path:
    """Write a spec that extends releases."""
    head = 'benchmark more "1.0.0" {\n  license "MIT"\n  languages en\n}\n'
    uses = [f'use release "{name}@1.0" sha256 "{digest_of(folder / f"releases/{name}-1.0.0")}"\n' for name in names]
    (folder / "more").mkdir()
    (folder / "more/more.tripos").write_text(head + "".join(uses) + own, "utf-8")
    return folder / "more"


def listen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the folders of models that runs open from now on; no weights are loaded."""
    opened: list[str] = []

    def open_here(path: str) -> Any:
        opened.append(path)
        return open_mock_reward("mock/reward")

    monkeypatch.setattr("tripos.releases.artefacts.open_reward", open_here)
    return opened


def test_a_run_of_an_extension_scores_by_the_reward_model_of_the_release(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tripos("release", "talk", "--artefact", "critic=critic").code == 0
    (folder / "tripos.toml").write_text('[roles]\ncritic = "mock/reward"\n')
    opened = listen(monkeypatch)
    done = tripos("run", str(extend(folder, "talk")), *RUN)
    assert done.code == 0, done.err
    digest = model_digest(folder / "critic")[:12]
    assert [Path(each).parts[-2:] for each in opened] == [("artefacts", f"critic@{digest}")]
    assert [evaluator for evaluator, _ in evaluators(folder / "results")] == [f"{USED}{digest}"]


def test_a_spec_that_extends_may_be_run_with_another_reward_model_by_hand(folder: Path, tripos: Command) -> None:
    assert tripos("release", "talk", "--artefact", "critic=critic").code == 0
    done = tripos("run", str(extend(folder, "talk")), *RUN, "--role", "critic=mock/reward")
    assert done.code == 0, done.err


def test_the_release_of_an_extension_names_and_runs_the_reward_model_that_it_holds(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tripos("release", "talk", "--artefact", "critic=critic").code == 0
    done = tripos("release", str(extend(folder, "talk")), "--to", "out")
    assert (done.code, "W0875" in done.err) == (0, False), done.err
    released = folder / "out/more-1.0.0"
    [said] = manifest_of(released).artefacts
    assert (said.path, said.digest) == ("releases/talk-1.0.0/artefacts/critic", model_digest(folder / "critic"))
    assert said.digest in (released / "README.md").read_text("utf-8")
    assert verify(released).wrong == ()
    alone = released.rename(folder / "more-1.0.0")
    (folder / "releases").rename(folder / "gone")
    opened = listen(monkeypatch)
    assert tripos("run", str(alone), *RUN).code == 0
    assert [Path(each.partition("@")[0]).resolve() for each in opened] == [alone / str(said.path)]
    assert "R0262" in tripos("run", str(alone), *RUN, "--role", "critic=mock/reward").err


def test_an_extension_of_an_extension_scores_by_the_same_reward_model(folder: Path, tripos: Command) -> None:
    assert tripos("release", "talk", "--artefact", "critic=critic").code == 0
    assert tripos("release", str(extend(folder, "talk"))).code == 0
    (folder / "releases/talk-1.0.0").rename(folder / "gone")
    (folder / "more").rename(folder / "former")
    spec = extend(folder, "more", own="") / "more.tripos"
    spec.write_text(spec.read_text("utf-8").replace("benchmark more", "benchmark most"), "utf-8")
    done = tripos("release", "more", "--to", "out")
    assert done.code == 0, done.err
    [said] = manifest_of(folder / "out/most-1.0.0").artefacts
    assert said.path == "releases/more-1.0.0/releases/talk-1.0.0/artefacts/critic"
    assert verify(folder / "out/most-1.0.0").wrong == ()


def test_a_reward_model_that_a_release_only_names_is_asked_for_by_what_extends_it(
    folder: Path, tripos: Command
) -> None:
    assert tripos("release", "talk", "--artefact", f"critic={model_digest(folder / 'critic')}").code == 0
    spec = str(extend(folder, "talk"))
    done = tripos("run", spec, *RUN)
    assert (done.code, "R0263" in done.err, "hf://lab/critic" in done.err) == (2, True, True)
    assert tripos("run", spec, *RUN, "--role", "critic=reward/critic", "--dry-run").code == 0
    assert tripos("release", spec, "--to", "out").code == 0
    [said] = manifest_of(folder / "out/more-1.0.0").artefacts
    assert (said.path, said.source) == (None, "hf://lab/critic")


def test_a_release_that_scores_by_another_reward_model_than_what_it_extends_is_refused(
    folder: Path, tripos: Command
) -> None:
    assert tripos("release", "talk", "--artefact", "critic=critic").code == 0
    make_critic(folder / "other", b"other weights")
    spec = extend(folder, "talk")
    (spec / "release.toml").write_text(ABOUT)
    done = tripos("release", str(spec), "--to", "out", "--artefact", "critic=other")
    assert (done.code, "S0882" in done.err) == (2, True)
    assert "talk 1.0.0 scores by another" in done.err


def test_two_releases_with_two_reward_models_for_one_role_are_not_extended_together(
    folder: Path, tripos: Command
) -> None:
    chat = SPEC.replace("benchmark talk", "benchmark chat").replace("scenario turn", "scenario answer")
    chat = (
        chat.replace("taught", "told_well").replace("dataset item", "dataset heard").replace("over item", "over heard")
    )
    write(folder / "chat", chat.replace("win_rate", "won"))
    make_critic(folder / "other", b"other weights")
    assert tripos("release", "talk", "--artefact", "critic=critic").code == 0
    assert tripos("release", "chat", "--artefact", "critic=other").code == 0
    spec = str(extend(folder, "talk", "chat"))
    for command in (("run", spec, *RUN), ("release", spec, "--to", "out")):
        done = tripos(*command)
        assert (done.code, "S0878" in done.err) == (2, True), done.err


def test_a_manifest_that_leaves_out_a_reward_model_which_it_extends_is_found(folder: Path, tripos: Command) -> None:
    assert tripos("release", "talk", "--artefact", "critic=critic").code == 0
    assert tripos("release", str(extend(folder, "talk")), "--to", "out").code == 0
    released = folder / "out/more-1.0.0"
    loosen(released)
    raw = manifest_of(released).model_copy(update={"artefacts": ()}).to_bytes()
    (released / "manifest.json").write_bytes(raw)
    (released / "manifest.sha256").write_bytes(checksum_line(raw))
    told = [f"{each.what} {each.told}" for each in verify(released).wrong]
    assert told == [f"artefact critic is not that of talk 1.0.0, {model_digest(folder / 'critic')}"]
