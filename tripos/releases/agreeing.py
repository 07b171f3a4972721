"""Whether what a manifest says of a release is what its plan and its files say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tripos.failure import Failure
from tripos.releases.items import Frozen, canary_of
from tripos.releases.licences import check_license
from tripos.releases.manifest import Manifest, ReleasedItems
from tripos.releases.thawing import MADE
from tripos_compiler.plan import Plan


def disagreements(manifest: Manifest, plan: Plan) -> Iterator[str]:
    """What a manifest says otherwise than the plan, each in words. Files are not looked at."""
    benchmark = plan.benchmark
    said = {"benchmark": benchmark.name, "version": benchmark.version, "title": benchmark.title}
    said |= {"canary": canary_of(benchmark.name)}
    for name, value in said.items():
        if getattr(manifest, name) != value:
            yield f"`{name}` is not what the plan says, `{value}`"
    for name in ("languages", "cites"):
        if getattr(manifest, name) != getattr(benchmark, name):
            yield f"`{name}` is not what the plan says"
    if not _same_license(manifest.license, benchmark.license):
        yield f"`license` is not what the plan says, `{benchmark.license}`"
    if [each.scenario for each in manifest.items] != [each.name for each in plan.scenarios]:
        yield "`items` are not those of the plan's scenarios"
    used = {file.sha256 for dataset in plan.datasets for file in dataset.files}
    used |= {each.sha256 for each in plan.trees}
    used |= {file.sha256 for tree in plan.trees for file in tree.files}
    for each in manifest.external:
        if each.sha256 not in used and not each.path.startswith(f"{MADE}/"):
            yield f"`external` has `{each.path}`, which the plan does not read"


def _same_license(said: str, meant: str | None) -> bool:
    """Whether two expressions are one. Where the library that knows lacks, the letters decide."""
    if said == meant:
        return True
    try:
        return check_license(meant, "the plan") == said
    except (Failure, ImportError):
        return False


def fault_of_items(said: ReleasedItems | None, found: Frozen, folder: Path) -> str | None:
    """What is wrong with the items of a scenario, those of its file among them; `None` where nothing is."""
    if said is None or (said.rows, said.digest, said.withheld) != (found.rows, found.digest, found.withheld):
        return "are not those of the manifest"
    if said.path is None:
        return None
    try:
        same = pq.read_table(folder / said.path).equals(found.table)
    except (OSError, pa.ArrowException):
        same = False
    return None if same else f"are not those in `{said.path}`"
