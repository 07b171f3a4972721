"""The benchmarks that come with Tripos tell no secret in any pair of worlds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tripos.cli.secrecy_trial import check_secrecy
from tripos.runs.compilation import find_spec

ROOT = Path(__file__).parents[2]
LARGE = pytest.param("edubench", marks=pytest.mark.long)


@pytest.mark.parametrize(
    "name",
    ["cjeval", LARGE, "edubench/shipped.tripos", "mathtutorbench", pytest.param("teachbench", marks=pytest.mark.long)],
)
def test_a_benchmark_tells_no_secret_in_any_pair_of_worlds(name: str) -> None:
    spec = find_spec(str(ROOT / "specs" / name))
    compilation = spec.compile()
    assert compilation.plan is not None
    found = check_secrecy(compilation, spec.folders, 4)
    assert found.diagnostics == []
    assert {scenario.name for scenario in compilation.plan.scenarios} == {
        name for name, n in found.trial.units.items() if n
    }
    assert found.trial.undecided == set()
