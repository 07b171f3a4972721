"""`tripos import tree`: a tree for a spec, of an outline in a file or of the outlines that a run has drafted."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.importing import approve, check_suffix, read_outline, sound, tree_text
from tripos.settings import SourceFolder, check_given, trust_of
from tripos.ui import GOOD, Failure, harmless, print_json, show_message, show_text
from tripos_compiler.diagnostics import not_utf8
from tripos_compiler.language import ParsedTree
from tripos_compiler.statements.declarations import DRAFT

if TYPE_CHECKING:
    from tripos.importing import DraftedTree


def approve_main(options: Namespace) -> int:
    """Note the approval beside the tree."""
    by = " ".join((options.name or "").split())
    if not by:
        raise Failure("R0202", "the name of the reviewer is missing", "say who read it: `--name YOU`")
    try:
        done = approve(Path(options.file), by, datetime.now(UTC).replace(microsecond=0), replace=options.replace)
    except OSError as error:
        raise Failure("S0836", f"cannot write beside `{options.file}`: {error.strerror}", "check the folder") from error
    told = {
        "tree": done.path.as_posix(),
        "sha256": done.sha256,
        "approved_by": done.by,
        "approved_at": done.at.isoformat(),
        "leaves": len(done.tree.leaves()),
        "levels": done.tree.depth,
    }
    if options.json:
        print_json(told)
    else:
        show_message(f"{told['tree']}: {told['leaves']:,} leaves, {told['levels']} levels, approved by {by}")
        show_message(f"its digest is {done.sha256[:12]}; once the file is changed it must be approved again")
    return GOOD


def main(options: Namespace) -> int:
    """Write the tree, or print it."""
    if (options.file is None) == (options.run is None):
        hint = "`tripos import tree outline.txt`, or `tripos import tree --run RUN --step NAME`"
        raise Failure("R0202", "an outline comes from a file, or from the step of a run", hint)
    if options.run is not None:
        drafted = _drafted(options)
        return _write(_below(drafted.tree, options.top), options, said=drafted.said, draft=True)
    for name in ("step", "only"):
        if getattr(options, name):
            raise Failure("R0202", f"`--{name}` is said of a run, and none is named", "add `--run RUN`")
    shown = "standard input" if options.file == "-" else options.file
    check_given(trust_of(options), outside=options.allow_outside)
    tree = sound(read_outline(_text(options)), shown, "S0835")
    return _write(_below(tree, options.top), options)


def _text(options: Namespace) -> str:
    path = options.file
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")
    try:
        if path == "-":
            return sys.stdin.read()
        folder = SourceFolder.around(Path(path), trust_of(options), outside=options.allow_outside)
        return folder.file(Path(path)).text()
    except OSError as error:
        raise Failure("S0835", f"cannot read `{path}`: {error.strerror}", "check the path") from error
    except UnicodeDecodeError as error:
        reason, hint = not_utf8(error.object, path)
        raise Failure("S0835", f"cannot read `{path}`: {reason}", hint) from error


def _drafted(options: Namespace) -> DraftedTree:
    from tripos.cli.inputs import open_store
    from tripos.importing import read_draft
    from tripos_warehouse.errors import StoreError

    if not options.step:
        raise Failure("R0202", "which step of the run wrote the outlines?", "add `--step NAME`, such as `reviewed`")
    try:
        return read_draft(open_store(options), options.run or None, options.step, options.only)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error


def _below(tree: ParsedTree, top: str | None) -> ParsedTree:
    return tree if top is None else ParsedTree({top: dict(tree.branches)})


def _write(tree: ParsedTree, options: Namespace, said: str = "", *, draft: bool = False) -> int:
    """Write a tree to where it is wanted. A draft is called one, whatever name it was given."""
    leaves = f"{len(tree.leaves()):,} leaves, {tree.depth} levels"
    if options.output is None:
        show_text(harmless(tree_text(tree, ".yaml", said)), end="")
        return GOOD
    path = Path(options.output)
    suffix = check_suffix(path)
    if draft and not path.stem.endswith(DRAFT):
        path = path.with_name(f"{path.stem}{DRAFT}{path.suffix}")
    if path.exists() and not options.replace:
        raise Failure("S0837", f"`{path}` is there already", "give another name, or `--replace` it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tree_text(tree, suffix, said), "utf-8")
    except OSError as error:
        raise Failure("S0836", f"cannot write `{path}`: {error.strerror}", "check the folder") from error
    show_message(f"{path}: {leaves}")
    if draft:
        show_message(f"a draft: read it, mend it, then `tripos approve {path} --name YOU`")
    return GOOD
