"""The card of a release, and the file that has what the tool cannot know."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from huggingface_hub import DatasetCard

from tripos.cli.main import run_command
from tripos.releases.release_toml import read_release_toml
from tripos.ui.failure import Failure

LESSONS = Path(__file__).parents[2] / "tests/compat/previous/title"


@pytest.mark.parametrize(
    ("spdx", "said", "named"),
    [
        ("CC-BY-4.0", "cc-by-4.0", None),
        ("GPL-3.0-or-later", "other", "GPL-3.0-or-later"),
        ("MIT AND CC0-1.0", "other", "MIT AND CC0-1.0"),
        ("LicenseRef-Mine", "other", "LicenseRef-Mine"),
    ],
)
def test_a_licence_that_the_hub_has_no_name_for_is_another(
    tmp_path: Path, spdx: str, said: str, named: str | None
) -> None:
    shutil.copytree(LESSONS, tmp_path / "spec")
    spec = tmp_path / "spec/spec.tripos"
    spec.write_text(spec.read_text("utf-8").replace("CC-BY-4.0", spdx), "utf-8")
    assert run_command(["release", str(spec), "--to", str(tmp_path / "to")]) == 0
    data = DatasetCard.load(tmp_path / "to/lessons-1.2.3/README.md").data.to_dict()
    assert (data["license"], data.get("license_name")) == (said, named)


@pytest.mark.parametrize("text", ["data = 3", "data = [1]", "[[data]]\na = 1", "[data]\nx = 3", "limits = 'one'"])
def test_a_file_about_a_release_that_says_something_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "release.toml").write_text(text, "utf-8")
    with pytest.raises(Failure) as caught:
        read_release_toml(tmp_path)
    assert caught.value.code == "R0203"
