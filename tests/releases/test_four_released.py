"""The four benchmarks are released, alike twice, and verified and run from a copy that lies elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.releases.test_artefacts import make_critic
from tests.releases.test_releases import ROOT, contents
from tripos.cli.main import run_command
from tripos.releases.descriptions import croissant_faults
from tripos.releases.opening import open_release
from tripos.releases.verification import unknown_text
from tripos.runs.compilation import find_spec

SPECS = ROOT / "specs"
TEACH = ("--model", "mock/teacher", "--role", "student=mock/student-40-30", "--role", "tagger=mock/teacher")
WRITE = ("--role", "author=mock/author", "--role", "verifier=mock/author")
Written = Callable[[], Path]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """The store of a whole run of TeachBench, whose worked examples models write: made once, when it is asked for."""
    store = tmp_path_factory.mktemp("written") / "results"

    def run() -> Path:
        if not store.exists():
            assert run_command(["run", str(SPECS / "teachbench"), *TEACH, *WRITE, "--store", str(store)]) == 0
        return store

    yield run


@pytest.mark.parametrize(
    "spec",
    [
        "cjeval",
        pytest.param("mathtutorbench", marks=pytest.mark.long),
        pytest.param("edubench/shipped.tripos", marks=pytest.mark.long),
        pytest.param("teachbench", marks=pytest.mark.long),
    ],
)
def test_each_of_the_four_is_released_alike_twice_and_verified_from_a_copy(
    spec: str, written: Written, tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = str(written() if spec == "teachbench" else tmp_path / "none")
    for to in ("one", "two"):
        done = tripos("release", str(SPECS / spec), "--to", str(tmp_path / to), "--store", store)
        assert done.code == 0, done.err
    [one], [two] = (list((tmp_path / to).iterdir()) for to in ("one", "two"))
    assert contents(one) == contents(two)
    copy = tmp_path / "elsewhere" / one.name
    shutil.copytree(one, copy)
    shutil.rmtree(tmp_path / "one")
    monkeypatch.chdir(copy.parent)
    digest = open_release(copy).digest
    done = tripos("verify", one.name, "--digest", digest, "--json")
    assert done.code == 0, done.out
    assert [each for each in done.data["checks"] if each["outcome"] != "good"] == [
        {"what": "signature", "outcome": "unchecked", "told": "there is none: it is unsigned"}
    ]
    _check_card(copy)
    compilation = find_spec(str(copy)).compile()
    assert compilation.plan is not None
    assert unknown_text(open_release(copy), compilation.plan, compilation.releases) is None


def _check_card(release: Path) -> None:
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(release / "README.md")
    manifest = open_release(release).manifest
    assert [each["config_name"] for each in card.data["configs"]] == [each.scenario for each in manifest.items]
    assert card.data.license == manifest.license.lower()
    assert croissant_faults(release / "croissant.json", manifest) == []


@pytest.mark.long
def test_a_release_of_items_that_were_written_runs_without_their_authors(
    written: Written, tripos: Command, tmp_path: Path
) -> None:
    assert tripos("release", str(SPECS / "teachbench"), "--to", str(tmp_path), "--store", str(written())).code == 0
    [release] = tmp_path.glob("teachbench-*")
    frozen = [json.loads(line) for line in (release / "made/example.jsonl").read_text("utf-8").splitlines()]
    assert frozen and {row["written_by"] for row in frozen} == {"mock/author"}
    data = tripos("run", str(release), *TEACH, "--store", str(tmp_path / "store"), "--dry-run", "--json").data
    assert "author" not in json.dumps(data)


def test_mathtutorbench_is_released_with_the_reward_model_that_scores(tripos: Command, tmp_path: Path) -> None:
    shutil.copytree(SPECS, tmp_path / "specs")
    (tmp_path / "specs/mathtutorbench/release.toml").write_text('[artefacts.critic]\nlicense = "Apache-2.0"\n')
    critic = make_critic(tmp_path / "critic", b"weights")
    spec, to = str(tmp_path / "specs/mathtutorbench"), str(tmp_path / "to")
    done = tripos("release", spec, "--to", to, "--artefact", f"critic={critic}")
    assert done.code == 0 and "W0875" not in done.err
    [release] = (tmp_path / "to").iterdir()
    shutil.rmtree(critic)
    assert tripos("verify", str(release)).code == 0
    done = tripos("run", str(release), "--model", "mock/careful", "--limit", "1", "--dry-run")
    assert done.code == 0, done.err
