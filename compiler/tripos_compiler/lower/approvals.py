"""Which files of a tree count, and whether a person has approved what a model drafted.

A draft is a file `NAME.draft.yaml` or `.json`. Approving it makes `NAME.yaml` and, beside it, `NAME.approved.json`,
which has the SHA-256 of what was approved and who approved it. A tree that a person wrote needs neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from tripos_compiler.data import DataError, FoundFile
from tripos_compiler.plan import TreeFile
from tripos_compiler.program import Program
from tripos_compiler.syntax.tree import Text

DRAFT = ".draft"
APPROVED = ".approved"


def approval_name(path: str) -> str:
    """Where the approval of a tree's file lies.

    >>> approval_name("syllabus/history.yaml")
    'syllabus/history.approved.json'
    """
    own = PurePosixPath(path)
    return own.with_name(f"{own.stem}{APPROVED}.json").as_posix()


def approved_name(path: str) -> str | None:
    """What a draft is called once it is approved; None where the file is no draft.

    >>> approved_name("syllabus/history.draft.yaml"), approved_name("syllabus/history.yaml")
    ('syllabus/history.yaml', None)
    """
    own = PurePosixPath(path)
    if not own.stem.endswith(DRAFT):
        return None
    return own.with_name(f"{own.stem.removesuffix(DRAFT)}{own.suffix}").as_posix()


def tree_files(program: Program, path: Text, found: Sequence[FoundFile]) -> tuple[TreeFile, ...]:
    """The files of a tree, how far each is approved among them; what is not is reported. A draft is passed over where
    the approved file is there too, and so are approvals. Raises `DataError` where nothing is left, or an approval
    cannot be read."""
    names = {file.path for file in found}
    files: list[TreeFile] = []
    for file in found:
        if PurePosixPath(file.path).stem.endswith(APPROVED) or approved_name(file.path) in names:
            continue
        if approved_name(file.path) is not None:
            message = f"{file.path} is a draft that nobody has approved"
            help_ = f"read it, mend it, then `tripos approve {file.location} --name YOU`"
            program.diagnostics.warning("E0399", message, path.span, help=help_)
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
            program.diagnostics.warning("E0399", message, path.span, help=help_)
        by = approval[1] if same else None
        files.append(TreeFile(path=file.path, sha256=file.sha256, draft=not same, approved_by=by))
    if not files:
        raise DataError(f"`{path.value}` means no tree", "name the file")
    return tuple(files)


def _approval(program: Program, path: Text, file: FoundFile) -> tuple[str, str] | None:
    """The SHA-256 that was approved, and by whom; None where there is no approval. Raises `DataError`."""
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
