"""Releases of benchmarks that `use` files beside their folder, and of trees of several files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command
from tests.lengths import spread
from tripos.releases.contents import contents_of
from tripos.releases.manifest import ReleaseToml
from tripos.runs.compilation import find_spec

SPECS = Path(__file__).parents[2] / "specs"


@pytest.mark.parametrize(
    ("name", "release", "shared"),
    spread(
        [
            ("cjeval", "cjeval-2.0.0", {"choices", "judging"}),
            ("mathtutorbench", "mathtutorbench-2.0.0", {"transcripts"}),
            ("mathtutorbench/reward", "tutor_reward-2.0.0", {"judging", "transcripts"}),
        ],
        1,
    ),
)
def test_a_release_holds_what_its_benchmark_uses_of_the_shared_files_and_is_verified(
    name: str, release: str, shared: set[str], tmp_path: Path, tripos: Command
) -> None:
    done = tripos("release", str(SPECS / name), "--to", str(tmp_path))
    assert done.code == 0, done.err
    assert {path.stem for path in (tmp_path / release / "spec" / "common").iterdir()} == shared
    assert tripos("verify", str(tmp_path / release)).code == 0


def test_every_file_of_a_tree_is_copied() -> None:
    spec = find_spec(str(SPECS / "teachbench"))
    compilation = spec.compile()
    assert compilation.plan is not None
    contents = contents_of(compilation, compilation.plan, spec.folders, ReleaseToml())
    subjects = sorted(Path(each.path).name for each in contents.copied if "/syllabus/" in each.path)
    assert subjects == sorted(path.name for path in (SPECS / "teachbench/syllabus").iterdir())
    assert len(subjects) == 7
