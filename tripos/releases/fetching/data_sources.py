"""Data that a spec names and that lies elsewhere: files of the Hub and of the web, and rows of Python functions.

`tripos fetch` brings them beside the spec; `check` and `run` read what is there. A function runs in a process of its
own, without the keys of the environment, and its rows are kept under a name with the digest of its file.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tripos.releases.fetching.download import Web, save_file
from tripos.releases.fetching.hub import fetch_file_from_hub, place_of
from tripos.releases.fetching.reach import Reach
from tripos_compiler.source import DataError
from tripos_runtime.asking.functions import environment
from tripos_runtime.datasets import HUB, PROGRAM

LONGEST_S = 3600.0
_RUNNER = """
import importlib.util, json, os, sys
path, function, out = sys.argv[1:]
spec = importlib.util.spec_from_file_location("rows_of_a_benchmark", path)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
with open(out + ".part", "w", encoding="utf-8") as file:
    for row in getattr(module, function)():
        if not isinstance(row, dict):
            raise TypeError(f"a row is a dict, and this is {type(row).__name__}")
        file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\\n")
os.replace(out + ".part", out)
"""


_COMMIT = re.compile(r"@[0-9a-f]{40}/")


def is_pinned(source: str) -> bool:
    """Return true unless a source is on the Hub and names no commit: what a branch or tag names may change.

    >>> is_pinned("hf://lab/quiz@main/test.jsonl"), is_pinned(f"hf://lab/quiz@{'0a' * 20}/test.jsonl")
    (False, True)
    """
    return not source.startswith(HUB) or _COMMIT.search(source) is not None


@dataclass
class DataFetcher:
    """Brings sources to where they are looked for; `brought` has what was brought, and where it is."""

    reach: Reach
    brought: dict[str, Path] = field(default_factory=dict)

    def bring(self, source: str, beside: Path, target: Path) -> None:
        """Put a source at its path. Raises `DataError`, and `Failure` where it cannot be fetched."""
        program = PROGRAM.fullmatch(source)
        if program is not None:
            self._make(source, beside / f"{program['path']}.py", program["function"], target)
        elif source.startswith(HUB):
            owner, name, path = source.removeprefix(HUB).strip("/").removeprefix("datasets/").split("/", 2)
            folder = target.parents[path.count("/")]
            fetch_file_from_hub(place_of(f"{HUB}{owner}/{name}"), path, folder, self.reach)
        else:
            around, _, name = source.rpartition("/")
            save_file(Web(around, self.reach), name, target)
        self.brought[source] = target

    def _make(self, source: str, program: Path, function: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            out = Path(folder) / "rows.jsonl"
            command = [sys.executable, "-B", "-P", "-c", _RUNNER, program.name, function, str(out.resolve())]
            try:
                ended = subprocess.run(
                    command,
                    cwd=program.parent,
                    env=environment(),
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=LONGEST_S,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                message = f"`{source}` took more than {LONGEST_S / 60:.0f} minutes"
                raise DataError(message, "let it give fewer rows") from error
            if ended.returncode != 0:
                said = (ended.stderr.strip().splitlines() or ["it ended"])[-1]
                raise DataError(f"the program `{source}` failed: {said}", "mend the program")
            if not out.exists():
                raise DataError(f"the program `{source}` ended before its last row", "let it not exit by itself")
            if not out.stat().st_size:
                raise DataError(f"the program `{source}` gives no rows", "let it yield a dict for each row")
            out.replace(target)
