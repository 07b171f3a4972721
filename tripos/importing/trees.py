"""Files of trees, as JSON or YAML: written from branches, and approved by a person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from tripos.settings import SourceFolder
from tripos.ui import Failure
from tripos_compiler.language import ParsedTree, TreeFault, TreeRead, read_tree
from tripos_compiler.source import DataError
from tripos_compiler.statements.declarations import APPROVED, DRAFT

SUFFIXES = (".yaml", ".yml", ".json")
SHOWN = 5


def tree_text(tree: ParsedTree, suffix: str, said: str = "") -> str:
    """Return a tree as the text of a file with that suffix. `said` stands above it as a comment, where the format has
    any.

    >>> print(tree_text(read_tree({"Algebra": ["Sets", "Groups"], "Logic": None}).tree, ".yaml", "own"), end="")
    # own
    Algebra:
    - Sets
    - Groups
    Logic: null
    """
    document = _document(tree.branches)
    if suffix == ".json":
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    import yaml

    head = "".join(f"# {line}\n" for line in said.splitlines())
    return head + str(yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=10_000))


def _document(branches: Mapping[str, Any]) -> Any:
    """Branches as a list of names, where each of them is a leaf, and else as a mapping; as nodes where a mapping would
    be read as one node, since one of them is called `name`."""
    if not any(branches.values()):
        return [str(name) for name in branches]
    if "name" in branches:
        each = ((str(name), _document(below) if below else None) for name, below in branches.items())
        return [{"name": name, "children": below} for name, below in each]
    return {str(name): _document(below) if below else None for name, below in branches.items()}


def check_suffix(path: Path) -> str:
    """Return the suffix of a file of a tree. Raises `Failure` S0836 where it has none that is one."""
    if path.suffix.casefold() not in SUFFIXES:
        raise Failure("S0836", f"`{path}` is no file of a tree", f"call it {', '.join(f'`NAME{s}`' for s in SUFFIXES)}")
    return path.suffix.casefold()


def get_tree(path: Path) -> ParsedTree:
    """Return the tree of a file. Raises `Failure` S0836 where it cannot be read or something in it is no branch."""
    check_suffix(path)
    file = SourceFolder.around(path).file(path)
    if not file.is_there:
        draft = path.with_name(f"{path.stem}{DRAFT}{path.suffix}")
        hint = f"the draft is `{draft}`" if draft.is_file() else "name the draft that you have read"
        raise Failure("S0836", f"there is no file `{path}`", hint)
    try:
        read = read_tree(file.placed())
    except DataError as error:
        raise Failure("S0836", error.message, error.help) from error
    except OSError as error:
        raise Failure("S0836", f"cannot read `{path}`: {error.strerror}", "check the path") from error
    return sound(read, str(path), "S0836")


def sound(read: TreeRead, shown: str, code: str) -> ParsedTree:
    """Return the tree that was read. Raises `Failure` with all that is wrong in it."""
    if not read.faults:
        return read.tree
    lines = [_fault_text(fault, shown) for fault in read.faults[:SHOWN]]
    if len(read.faults) > SHOWN:
        lines.append(f"and {len(read.faults) - SHOWN} more")
    raise Failure(code, "\n".join(lines), read.faults[0].help)


def _fault_text(fault: TreeFault, shown: str) -> str:
    where = shown if fault.line is None else f"{shown}, line {fault.line}"
    return f"{where}: {fault.message}"


@dataclass(frozen=True)
class Approval:
    """A person's approval: the file, the SHA-256 of its bytes, and the tree in it."""

    path: Path
    sha256: str
    tree: ParsedTree
    by: str
    at: datetime


def approve(path: Path, by: str, at: datetime, *, replace: bool = False) -> Approval:
    """Note beside a tree that `by` approved it as it is; a draft takes its name without `.draft`.

    Raises `Failure`: S0836 where it is no sound tree, S0837 where another tree has that name already, unless it may
    `replace` that.
    """
    tree = get_tree(path)
    content = _content(path)
    draft = path.stem.endswith(DRAFT)
    target = path.with_name(path.stem.removesuffix(DRAFT) + path.suffix)
    if draft and target.exists() and _content(target) != content and not replace:
        hint = f"compare the two; `--replace` puts the draft in the place of `{target.name}`"
        raise Failure("S0837", f"there is a tree `{target}` already, and it is another", hint)
    approval = Approval(target, sha256(content).hexdigest(), tree, by, at)
    said = {"tree": target.name, "sha256": approval.sha256, "approved_by": by, "approved_at": at.isoformat()}
    # The approval is there first: without its tree it says nothing, and a tree never stands there as if it were own.
    beside = target.with_name(f"{target.stem}{APPROVED}.json")
    _put(beside, (json.dumps(said, ensure_ascii=False, indent=2) + "\n").encode())
    if draft:
        path.replace(target)
    return approval


def _content(path: Path) -> bytes:
    return SourceFolder.around(path).file(path).content()


def _put(path: Path, content: bytes) -> None:
    """Write a file whole, or not at all."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.replace(path)
