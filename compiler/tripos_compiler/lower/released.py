"""Holds what a release declares to what it was released with, and leaves its warnings to those who released it."""

from __future__ import annotations

from tripos_compiler.diagnostics import Diagnostic
from tripos_compiler.plan import Dataset, Tree
from tripos_compiler.program import Program
from tripos_compiler.releases import FoundRelease


def check_released(program: Program) -> None:
    """Reports data that is not that of the release, and takes back the warnings about what a release declares."""
    if not program.releases:
        return
    by_name = program.releases
    for dataset in program.datasets.values():
        home = by_name.get(program.home("dataset", dataset.name))
        if home is not None:
            _check(program, home, dataset)
    trees = {each.name().text: program.release_of(each.span) for each in program.of("tree")}
    for tree in program.trees.values():
        home = trees.get(tree.name)
        if home is not None:
            _check(program, home, tree)
    items = program.diagnostics.items
    # A release compiled when it was made, so that what is wrong in it follows from what is wrong in the spec.
    follows = any(item.severity == "error" and not _is_theirs(program, item) for item in items)
    program.diagnostics.items = [
        item for item in items if not _is_theirs(program, item) or (item.severity == "error" and not follows)
    ]


def _check(program: Program, release: FoundRelease, found: Dataset | Tree) -> None:
    files = found.files or ()
    other = [file for file in files if (file.path, file.sha256) not in release.data]
    if not other:
        return
    uses = [use for use in program.of("use_release") if program.release_of(use.span) is None]
    where = next((use for use in uses if use.text("string").value.startswith(f"{release.name}@")), uses[0])
    named = dict(release.data)
    wanted = f", and was released with {named[other[0].path][:12]}…" if other[0].path in named else ""
    message = f"`{other[0].path}` is not the file of {release.title}: its digest is {other[0].sha256[:12]}…{wanted}"
    help_ = "give the folder that has the one that was released with --data DIR"
    program.diagnostics.error("E0916", message, where.text("string").span, help=help_)


def _is_theirs(program: Program, item: Diagnostic) -> bool:
    return bool(item.labels) and program.release_of(item.labels[0].span) is not None
