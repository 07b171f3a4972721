"""Items that a mock author writes: how many a second, and whether memory depends on how many.

    python tests/bench/making.py [ITEMS]

Two runs, of a tenth of the items and of all, over 200 contexts. The mock answers at once, so the rate is that of
everything but the model; both figures are told as ratios, since machines differ.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ITEMS = 20_000
CONTEXTS = 200
SPEC = """\
benchmark written "1.0.0" {{ languages en, zh }}
role candidate compared
role author
axis level {{ {levels} }}
axis subject {{ {subjects} }}
dataset item by author {{
  context language * level * subject
  count   {count}
  prompt  en "Write an exercise on {{{{ subject }}}} that is {{{{ level }}}}." zh "写一道题：{{{{ subject }}}}，{{{{ level }}}}。"
  returns {{ question text, solution text secret }}
  unique  item.question
  retries 5
}}
scenario exercises {{
  context language * level * subject
  over item
  ask reply by candidate {{ prompt en "{{{{ item.question }}}}" zh "{{{{ item.question }}}}" }}
  score right = contains(reply.text, item.solution)
}}
"""


def main() -> None:
    """Run both and print a table."""
    items = int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS
    with tempfile.TemporaryDirectory() as folder:
        some, every = (measured(Path(folder) / str(count), count) for count in (items // 10, items))
    for each in (some, every):
        print(
            f"{each['items']:>7,} items: {each['rate']:.0f} calls a second, {each['peak_mib']:.0f} MiB, {each['made']}"
        )
    print(f"the rate of the larger is {every['rate'] / some['rate']:.2f} of that of the smaller,")
    print(f"its memory {every['peak_mib'] / some['peak_mib']:.2f} times as much")


def measured(folder: Path, items: int) -> dict[str, Any]:
    """Return one run, in a process of its own."""
    folder.mkdir()
    levels, subjects = (", ".join(f"{name}{number}" for number in range(10)) for name in ("l", "s"))
    spec = SPEC.format(levels=levels, subjects=subjects, count=items // CONTEXTS)
    (folder / "written.tripos").write_text(spec, "utf-8")
    command = [sys.executable, "-m", "tripos", "run", "written.tripos", "--model", "mock/careful", "--json"]
    command += ["--role", "author=mock/author", "--store", "results"]
    started = time.perf_counter()
    with (folder / "out.json").open("w") as out, (folder / "err.txt").open("w") as err:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit((folder / "err.txt").read_text("utf-8"))
    done = json.loads((folder / "out.json").read_text("utf-8"))
    calls = done["calls"]["asked"]
    seconds = time.perf_counter() - started
    return {"items": items, "rate": calls / seconds, "peak_mib": used.ru_maxrss / 1024, "made": done["made"]["item"]}


if __name__ == "__main__":
    main()
