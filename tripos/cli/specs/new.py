"""`tripos new`: a scenario, a metric or a data set for a spec, added where it belongs, or printed."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.cli.inputs import show_diagnostics
from tripos.cli.specs.additions import CODE, below, metric_insertions, metric_text, scenario_text, texts_with
from tripos.cli.specs.columns import dataset_text
from tripos.cli.specs.fmt import write_spec
from tripos.settings import chosen_settings
from tripos.ui import GOOD, USAGE, Failure, show_message, show_output
from tripos_compiler.editing import Unparsable, format_text

if TYPE_CHECKING:
    from tripos.api import SpecSource
    from tripos_compiler.compile import Compilation
    from tripos_compiler.plan import Plan

NAME = re.compile(r"[^\W\d]\w*")
OPTIONS = {"file": ("--from", "dataset"), "over": ("--over", "scenario"), "dimension": ("--dimension", "metric")}
"""The options that one kind of statement has alone."""


def main(options: Namespace) -> int:
    """Add a statement to a spec, which stays well formed, or print it."""
    _check(options)
    if options.path is None:
        show_output(_printed(options))
        return GOOD
    from tripos.api import find_spec

    if not Path(options.path).exists():  # else one of those that come with Tripos would be changed
        raise Failure(
            "E0108", f"there is no spec at `{options.path}`", "give a .tripos file or a folder that holds one"
        )
    config = chosen_settings(options).config
    spec = find_spec(options.path, options.data, config.data, config.releases)
    if spec.release is not None:
        raise Failure(CODE, f"`{options.path}` is a release, which stays as it is", "extend it: `tripos explain use`")
    before = spec.compile()
    if before.plan is None:
        show_diagnostics(before.diagnostics)
        show_message("nothing was added: mend the spec first", stderr=True)
        return USAGE
    texts, where, secrets = _added(options, spec, before)
    laid_out = {path: _laid_out(path, text, before) for path, text in texts.items()}
    after = replace(spec, texts=laid_out).compile()
    if after.plan is None:
        first = next(each for each in after.diagnostics if each.severity == "error")
        raise Failure(CODE, f"with `{options.name}` the spec would not be well formed: {first.message}", first.help)
    for path, text in laid_out.items():
        write_spec(Path(path), text)
    added = f"added {options.kind} `{options.name}` to {', '.join(laid_out)}"
    show_message(f"{added}: {where}" if where else added)
    if options.kind == "metric":
        _tell_grades(config.store, after.plan, options.name)
    if secrets:
        show_message(f"kept from the models under test: {', '.join(f'`{each}`' for each in secrets)}")
    known = {(each.code, each.message) for each in before.diagnostics}
    show_diagnostics(each for each in after.diagnostics if (each.code, each.message) not in known)
    return GOOD


def _tell_grades(root: str, plan: Plan, metric: str) -> None:
    """Say how many grades by people a rubric leaves behind that has a metric more; nothing without a store."""
    from tripos_compiler.plan import Grade
    from tripos_warehouse.errors import StoreError
    from tripos_warehouse.store import HUMAN, Store, address_of
    from tripos_warehouse.views import connect

    if address_of(root) or not Path(root).expanduser().exists():
        return
    query = """select count(distinct (sample_id, evaluator, metric)) from main.scores
      where benchmark = ? and status = 'scored' and starts_with(evaluator, ?) and list_contains(?, scorer)"""
    steps = (step for each in plan.scenarios for treatment in each.treatments for step in treatment.steps)
    scorers = sorted({step.scorer for step in steps if isinstance(step, Grade) and metric in step.metrics})
    try:
        with connect(Store.open(root, create=False)) as connection:
            [(count,)] = connection.execute(query, [plan.benchmark.name, HUMAN, scorers]).fetchall()
    except StoreError:
        return
    if count:
        show_message(f"the rubric is another one now: grades by people that the next run leaves out: {count:,}")
        show_message("  to keep them, take the metric out again, or give it a scorer of its own")


def _check(options: Namespace) -> None:
    if not NAME.fullmatch(options.name):
        raise Failure("R0202", f"`{options.name}` is no name", "a name has letters, digits and `_`")
    for option, (shown, kind) in OPTIONS.items():
        if getattr(options, option) is not None and options.kind != kind:
            raise Failure("R0202", f"`{shown}` has no meaning for a {options.kind}", f"it is for a {kind}")
    if options.scenario and options.kind != "metric":
        raise Failure("R0202", f"`--scenario` has no meaning for a {options.kind}", "it is for a metric")
    if options.kind == "dataset" and options.file is None:
        raise Failure("R0202", "which file holds the rows?", "name it: --from FILE")


def _printed(options: Namespace) -> str:
    match options.kind:
        case "scenario":
            text = scenario_text(options.name, None, options.over)
        case "metric":
            text = metric_text(options.name, None, options.dimension)
        case _:
            text, _ = dataset_text(options.name, Path(options.file), Path(options.file).as_posix())
    return format_text(text, options.name)


def _added(options: Namespace, spec: SpecSource, before: Compilation) -> tuple[Mapping[str, str], str, list[str]]:
    """Return the texts of the files that change, words on the place, and the fields that are kept secret."""
    plan = before.plan
    assert plan is not None
    frozen = [Path(release.folder) for release in before.releases]
    sources = [each for each in before.sources if not any(Path(each.path).is_relative_to(one) for one in frozen)]
    main = sources[0]
    match options.kind:
        case "scenario":
            text = scenario_text(options.name, plan, options.over)
            return texts_with([below(main, text, "scenario", "dataset", "role")]), "", []
        case "metric":
            dimension, insertions = metric_insertions(options.name, plan, sources, options.dimension, options.scenario)
            return texts_with(insertions), f"in the dimension `{dimension}`, with a column in its table", []
        case _:
            axes = [each.name for each in plan.axes]
            shown = Path(os.path.relpath(options.file, spec.path.parent)).as_posix()
            text, secrets = dataset_text(options.name, Path(options.file), shown, axes)
            return texts_with([below(main, text, "dataset", "axis", "role", "benchmark")]), "", secrets


def _laid_out(path: str, text: str, before: Compilation) -> str:
    """Return a text in the one layout, where the file was in it before; any other keeps its own."""
    was = next(each.text for each in before.sources if each.path == path)
    try:
        return format_text(text, path) if format_text(was, path) == was else text
    except Unparsable as error:
        raise Failure(CODE, f"{path} would not be read: {error}", "print it without --in") from error
