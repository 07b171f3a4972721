"""What of a benchmark stays out of its release, because a subset of it is withheld."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tripos.failure import Failure
from tripos.releases.items import withheld_of
from tripos_compiler.data import DataError
from tripos_compiler.plan import Data, Made, Plan
from tripos_runtime.datasets.cases import CaseSource, Selection
from tripos_runtime.datasets.slots import looked_into


def held_files(plan: Plan, source: CaseSource, held_back: frozenset[str] = frozenset()) -> set[str]:
    """The data files, by SHA-256, that have items which are withheld, here or in a release that is extended: those in
    `held_back`. Raises `Failure` W0853 where what was made from such items would tell them."""
    if not held_back and not any(subset.withheld for subset in plan.subsets):
        return set()
    held = held_sets(source, held_back)
    for made in plan.made:
        of = next(iter(sorted(_made_from(made, plan) & held)), None)
        if of is not None:
            message = f"`{made.name}` is made from `{of}`, of which items are withheld"
            raise Failure("W0853", message, "what was made from them would tell them: withhold the items that it makes")
    return {file.sha256 for dataset in plan.datasets if dataset.name in held for file in dataset.files}


def _made_from(made: Made, plan: Plan) -> set[str]:
    """The data sets that one is made from, at first or second hand."""
    own = {made.source.dataset} if isinstance(made.source, Data) else set()
    near = (own | looked_into(made)) - {made.name}
    return near.union(*(_made_from(each, plan) for each in plan.made if each.name in near))


def held_sets(source: CaseSource, held_back: frozenset[str] = frozenset()) -> set[str]:
    """The data sets that have items which are withheld, here or in a release that is extended."""
    try:
        held = withheld_of(source) | held_back
        return {
            scenario.rows.dataset
            for scenario in source.plan.scenarios
            if scenario.rows is not None and any(case.item_id in held for case in source.of(scenario, Selection()))
        }
    except DataError as error:
        raise Failure("W0853", error.message, error.help) from error


def put_aside(private: Path, release: Path) -> Path:
    """Gives the folder with what is withheld its name, beside the release that it belongs to."""
    target = release.with_name(f"{release.name}.withheld")
    shutil.rmtree(target, ignore_errors=True)
    private.chmod(0o700)
    os.rename(private, target)  # noqa: PTH104 - to a name that is free now
    return target
