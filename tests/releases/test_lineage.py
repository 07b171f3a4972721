"""One name and version measures one thing: which releases a version may stand beside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tripos.cli.main import run_command

LESSONS = Path(__file__).parents[2] / "tests/compat/previous/title"
PROMPT = "A {{ level }} question"


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A folder with release 1.2.3 and room for more."""
    assert run_command(["release", str(LESSONS), "--to", str(tmp_path / "to")]) == 0
    return tmp_path / "to"


def release(to: Path, version: str, prompt: str = PROMPT, *more: str) -> int:
    spec = to.parent / f"spec-{version}"
    shutil.copytree(LESSONS, spec, dirs_exist_ok=True)
    text = (LESSONS / "spec.tripos").read_text("utf-8")
    (spec / "spec.tripos").write_text(text.replace("1.2.3", version).replace(PROMPT, prompt), "utf-8")
    return run_command(["release", str(spec), "--to", str(to), *more])


def test_an_earlier_parent_does_not_hide_a_release_of_the_same_major(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(released, "2.0.0", "One {{ level }} question") == 0
    first = str(released / "lessons-1.2.3")
    assert release(released, "2.1.0", "Another {{ level }} question", "--parent", first) == 2
    assert "E0901" in capsys.readouterr().err
    assert release(released, "3.0.0", "Another {{ level }} question", "--parent", first) == 0


def test_versions_that_differ_in_their_build_alone_do_not_differ_in_what_they_measure(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(released, "2.0.0+a", "One {{ level }} question") == 0
    assert release(released, "2.0.0+b", "Another {{ level }} question") == 2
    assert "E0901" in capsys.readouterr().err


def test_a_release_that_goes_back_is_held_against_the_later_one(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(released, "2.1.0", "One {{ level }} question") == 0
    assert release(released, "2.0.0", "Another {{ level }} question") == 2
    assert "compare with those of 2.1.0" in " ".join(capsys.readouterr().err.split())


def test_a_change_under_a_version_that_is_released_is_told_with_the_least_version(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(released, "1.2.3", "Another {{ level }} question") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "E0901" in said and "prompt" in said and "call it 2.0.0 or higher" in said
    assert release(released, "1.2.3") == 0


def test_a_candidate_becomes_the_release_without_a_change(released: Path) -> None:
    assert release(released, "2.0.0-rc1", "One {{ level }} question") == 0
    assert release(released, "2.0.0", "One {{ level }} question") == 0


def test_the_same_under_a_version_that_is_not_higher_is_refused(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(released, "1.2.2", PROMPT, "--parent", str(released / "lessons-1.2.3")) == 2
    assert "E0902" in capsys.readouterr().err


def test_the_tenth_candidate_follows_the_ninth(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("2.0.0-rc9", "2.0.0-rc10"):
        assert release(released, version, "One {{ level }} question") == 0
    assert "follows 2.0.0-rc9" in capsys.readouterr().out
