"""Lowers trees: reads their files, and reports what is wrong in them."""

from __future__ import annotations

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.data import DataError
from tripos_compiler.plan import Tree
from tripos_compiler.program import Program
from tripos_compiler.semantics.trees import read_tree

REPORTED = 3
"""After so many mistakes in a tree the rest are counted, not listed."""


def lower_trees(program: Program) -> None:
    """Every `tree NAME from PATH`."""
    for statement in program.of("tree"):
        tree = _tree(program, statement)
        if tree is not None:
            program.trees.setdefault(tree.name, tree)
        else:
            program.diagnostics.lost_names.add(statement.name().text)  # uses of it are passed over


def _tree(program: Program, statement: Statement) -> Tree | None:
    name, path = statement.name(), statement.text("path")
    try:
        files = program.data.find(path.value, statement.span.source.path)
        if len(files) > 1:
            raise DataError(f"`{path.value}` means {len(files)} files, and a tree is one", "name the file")
        document = program.data.document(files[0])
    except DataError as error:
        program.diagnostics.error("E0307", error.message, path.span, help=error.help)
        return None
    read = read_tree(document)
    for fault in read.faults[:REPORTED]:
        program.diagnostics.error("E0315", f"{files[0].path}: {fault.message}", path.span, help=fault.help)
    if len(read.faults) > REPORTED:
        message = f"{files[0].path}: {len(read.faults) - REPORTED} more branches are out of shape"
        program.diagnostics.error("E0315", message, path.span, help="mend the file")
    if read.faults:
        return None
    found = read.tree
    leaves = len(found.leaves())
    detail = f"{leaves} leaves, {found.depth} levels"
    program.index.define("tree", name.text, name.span, detail=detail)
    return Tree(
        name=name.text,
        source=path.value,
        path=files[0].path,
        sha256=files[0].sha256,
        leaves=leaves,
        inner=found.inner,
        depth=found.depth,
    )
