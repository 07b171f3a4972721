"""Trees: reads their files, reports what is wrong in them, and tells whether a person has approved a draft.

A draft is a file `NAME.draft.yaml` or `.json`. Approving it makes `NAME.yaml` and, beside it, `NAME.approved.json`,
which has the SHA-256 of what was approved and who approved it. A tree that a person wrote needs neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from tripos_compiler.constructs import Statement
from tripos_compiler.language import ParsedTree, TreeFault, joined_trees, read_tree
from tripos_compiler.plan import Tree, TreeFile, digest
from tripos_compiler.resolve import Program
from tripos_compiler.source import DataError, FoundFile, Text

DRAFT = ".draft"
APPROVED = ".approved"


def approval_name(path: str) -> str:
    """Return where the approval of a tree's file lies.

    >>> approval_name("syllabus/history.yaml")
    'syllabus/history.approved.json'
    """
    own = PurePosixPath(path)
    return own.with_name(f"{own.stem}{APPROVED}.json").as_posix()


def approved_name(path: str) -> str | None:
    """Return what a draft is called once it is approved; None where the file is no draft.

    >>> approved_name("syllabus/history.draft.yaml"), approved_name("syllabus/history.yaml")
    ('syllabus/history.yaml', None)
    """
    own = PurePosixPath(path)
    if not own.stem.endswith(DRAFT):
        return None
    return own.with_name(f"{own.stem.removesuffix(DRAFT)}{own.suffix}").as_posix()


def tree_files(program: Program, path: Text, found: Sequence[FoundFile]) -> tuple[TreeFile, ...]:
    """Return the files of a tree, how far each is approved among them; what is not is reported. A draft is passed over
    where the approved file is there too, and so are approvals. Raises `DataError` where nothing is left, or an approval
    cannot be read."""
    names = {file.path for file in found}
    files: list[TreeFile] = []
    for file in found:
        if PurePosixPath(file.path).stem.endswith(APPROVED) or approved_name(file.path) in names:
            continue
        if approved_name(file.path) is not None:
            message = f"{file.path} is a draft that nobody has approved"
            help_ = f"read it, mend it, then `tripos approve {file.location} --name YOU`"
            program.diagnostics.warning("W0399", message, path.span, help=help_)
            files.append(TreeFile(path=file.path, sha256=file.sha256, draft=True))
            continue
        approval = _approval(program, path, file)
        if approval is None:
            files.append(TreeFile(path=file.path, sha256=file.sha256))
            continue
        same = approval[0] == file.sha256
        if not same:
            message = f"{file.path} is not what {approval[1]} approved: it was changed since"
            help_ = f"read it again, then `tripos approve {file.location} --name YOU`"
            program.diagnostics.warning("W0399", message, path.span, help=help_)
        by = approval[1] if same else None
        files.append(TreeFile(path=file.path, sha256=file.sha256, draft=not same, approved_by=by))
    if not files:
        raise DataError(f"`{path.value}` means no tree", "name the file")
    return tuple(files)


def _approval(program: Program, path: Text, file: FoundFile) -> tuple[str, str] | None:
    """Return the SHA-256 that was approved, and by whom; None where there is no approval. Raises `DataError`."""
    own = file.location if PurePosixPath(path.value).is_absolute() else file.path
    try:
        (beside,) = program.data.find(approval_name(own), path.span.source.path)
    except (DataError, ValueError):
        return None
    said = program.data.document(beside)
    match said:
        case {"sha256": str(sha256), "approved_by": str(by)}:
            return sha256, by
    raise DataError(f"{beside.path} is no approval", "remove it, or approve the tree again: `tripos approve`")


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


def branches_of(program: Program, name: str) -> Mapping[str, Any] | None:
    """Return the branches of a tree, read once more: few data sets are made from one, and a tree is small. None where
    it is not there as it was."""
    tree = program.trees.get(name)
    statement = next((each for each in program.of("tree") if each.name().text == name), None)
    if tree is None or statement is None:
        return None
    try:
        found = {file.path: file for file in program.data.find(tree.source, statement.span.source.path)}
        read = [read_tree(program.data.document(found[file.path])).tree for file in tree.files if file.path in found]
    except DataError:
        return None
    joined = joined_trees(read)
    return joined.branches if isinstance(joined, ParsedTree) else None


def _tree(program: Program, statement: Statement) -> Tree | None:
    name, path = statement.name(), statement.text("path")
    try:
        found = {file.path: file for file in program.data.find(path.value, statement.span.source.path)}
        files = tree_files(program, path, list(found.values()))
        read = [_read(program, path, found[file.path]) for file in files]
    except DataError as error:
        program.diagnostics.error("E0307", error.message, path.span, help=error.help)
        return None
    trees = [each for each in read if each is not None]
    if len(trees) < len(read):
        return None
    joined = joined_trees(trees)
    if isinstance(joined, str):
        places = [file.path for file, tree in zip(files, trees, strict=True) if joined in tree.branches]
        message = f"`{joined}` is at the top of {places[0]} and of {places[1]}"
        program.diagnostics.error("E0315", message, path.span, help="a branch stands in one file: put the two together")
        return None
    leaves = len(joined.leaves())
    detail = f"{leaves} leaves, {joined.depth} levels"
    program.index.define("tree", name.text, name.span, detail=detail)
    several = len(files) > 1
    return Tree(
        name=name.text,
        source=path.value,
        path=files[0].path,
        sha256=digest([file.sha256 for file in files], size=32) if several else files[0].sha256,
        files=files,
        leaves=leaves,
        inner=joined.inner,
        depth=joined.depth,
    )


def _read(program: Program, path: Text, file: FoundFile) -> ParsedTree | None:
    """Return the tree of one file; None where something in it was reported."""
    read = read_tree(program.data.document(file))
    if not read.faults:
        return read.tree
    # Lines take longer to find out, so they are asked for once there is something to say of one.
    faults = read_tree(program.data.placed(file)).faults
    for fault in faults[:REPORTED]:
        program.diagnostics.error("E0315", _where(file, fault), path.span, help=fault.help)
    if len(faults) > REPORTED:
        message = f"{file.path}: {len(faults) - REPORTED} more branches are out of shape"
        program.diagnostics.error("E0315", message, path.span, help="mend the file")
    return None


def _where(file: FoundFile, fault: TreeFault) -> str:
    line = "" if fault.line is None else f", line {fault.line}"
    return f"{file.path}{line}: {fault.message}"
