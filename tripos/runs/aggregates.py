"""The aggregates in Python of a benchmark that its user runs or names: measures may execute them from then on."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from tripos_compiler.plan import Plan
from tripos_warehouse.statistics import admit_python


def admit_aggregates(plan: Plan, folder: Path, releases: Mapping[str, str]) -> None:
    """Let measures execute the aggregates of a plan. `folder` holds the main file of its spec, and `releases` are the
    folders of releases that it extends, by `NAME-VERSION`. A file that is not there, or is another than was compiled,
    is passed over: its figures then say that it is lacking."""
    for plugin in plan.plugins:
        if plugin.aggregate and plugin.path is not None:
            beside = folder if plugin.release is None else Path(releases.get(plugin.release, folder))
            try:
                text = (beside / plugin.path).read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if sha256(text.encode()).hexdigest() == plugin.version:
                admit_python(text, plugin.function)
