"""`tripos approve`: a person has read a tree that a model drafted, and stands for it as it is."""

from __future__ import annotations

import json
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from tripos.failure import GOOD, Failure
from tripos.importing.trees import approve
from tripos.terminal_text import harmless


def main(options: Namespace) -> int:
    """Notes the approval beside the tree."""
    by = " ".join((options.name or "").split())
    if not by:
        raise Failure("R0202", "nobody is named who approves it", "say who read it: `--name YOU`")
    try:
        done = approve(Path(options.file), by, datetime.now(UTC).replace(microsecond=0), replace=options.replace)
    except OSError as error:
        raise Failure("W0836", f"cannot write beside `{options.file}`: {error.strerror}", "check the folder") from error
    told = {
        "tree": done.path.as_posix(),
        "sha256": done.sha256,
        "approved_by": done.by,
        "approved_at": done.at.isoformat(),
        "leaves": len(done.tree.leaves()),
        "levels": done.tree.depth,
    }
    if options.json:
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        print(harmless(f"{told['tree']}: {told['leaves']:,} leaves, {told['levels']} levels, approved by {by}"))
        print(f"its digest is {done.sha256[:12]}; once the file is changed it must be approved again")
    return GOOD
