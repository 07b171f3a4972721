"""The package as a whole: what it costs to import, and that its page names everything."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tripos_warehouse.statistics.estimate import Estimate

PAGES = Path(__file__).parents[3] / "docs/reference/statistics"
PAGE = "\n".join(path.read_text("utf-8") for path in sorted(PAGES.glob("*.md")))
MODULES = [
    import_module(f"tripos_warehouse.statistics.{name}")
    for name in (
        *("agreement", "intervals", "metrics", "multiple_tests", "power", "preferences", "prediction_powered"),
        *("sequences", "validity", "variance"),
    )
]
NOT_FOR_PEOPLE = {
    *(
        "CellDesign",
        "CellMeans",
        "Counts",
        "Fit",
        "FamilyBias",
        "Squares",
        "SummedMetric",
        "TauByItem",
        "are_probabilities",
        "bets_of",
        "corpus_metric",
        "isotonic",
        "item_codes",
        "NotEstimable",
        "least_whole",
        "matthews",
        "shares_between",
        "why_no_strengths",
        "Calibration",
        "CalibrationBin",
        "CorrectedMean",
        "CorrectedPrevalence",
        "JudgeDrift",
        "JudgeNoise",
        "JudgeStability",
        "LearnedThreshold",
        "LengthControlled",
        "RankedTruths",
        "MOST_ITEMS",
        "Level",
        "InfluencedEstimate",
        "Weights",
        "Paired",
        "Pairwise",
        "Rank",
        "Ranking",
        "RepeatedVerdict",
        "TestedThreshold",
        "bin_of",
        "family_bias",
        "least_share",
        "mid_ranks",
        "stacked_tau_by_item",
        "kendall_w_without",
        "weighted_medians",
        "with_t_interval",
    ),
    *(
        "NO_SPREAD",
        "NO_SPREAD_IN_A_CELL",
        "FEWEST_GRADED",
        "MIN_CLASS_ITEMS",
        "NO_OTHER_JUDGE",
        "SINGLE_CLUSTER",
        "SINGLE_CLUSTER_CELL",
        "SINGLE_ITEM_CELL",
        "SINGLE_ITEM",
        "ROUNDING",
    ),
}
"""What the functions are made of, or return."""


def public(module: ModuleType) -> list[str]:
    """Return the functions and classes that a module defines for people."""
    names = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return [name for name in names if not name.startswith("_") and name not in NOT_FOR_PEOPLE]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_the_page_names_every_function(module: ModuleType) -> None:
    assert f"`{module.__name__}`" in PAGE
    missing = [name for name in public(module) if f"`{name}" not in PAGE and f"{name}(" not in PAGE]
    assert public(module)
    assert not missing


def test_the_page_names_every_field_of_a_figure() -> None:
    assert not [field.name for field in fields(Estimate) if f"`{field.name}`" not in PAGE]


def test_importing_the_statistics_imports_no_scipy() -> None:
    names = ", ".join(module.__name__ for module in MODULES)
    script = f"import sys, {names}; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_shares_means_and_power_do_without_the_heavy_part_of_scipy() -> None:
    script = """
import sys
from tripos_warehouse.statistics.agreement import cohen_kappa, intraclass, kendall_w, krippendorff_alpha
from tripos_warehouse.statistics.intervals import clopper_pearson, mean, wilson
from tripos_warehouse.statistics.power import detectable_difference
rows = [[1, 2, 3, 4], [1, 2, 4, 3]]
wilson(1, 3), clopper_pearson(1, 3), mean([1, 2, 3]), detectable_difference(9, 1), kendall_w(rows)
krippendorff_alpha(rows, "ordinal"), intraclass(rows), cohen_kappa(*rows)
sys.exit("scipy.stats" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
