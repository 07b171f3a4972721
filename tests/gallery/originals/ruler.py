"""The scores of RULER on the samples and replies of test_ruler.py.

NVIDIA/RULER, commit c3f5e3b4f87f97e048793bb510a3a6b19a46bf3a: the metrics of scripts/eval/synthetic/constants.py, and
`postprocess_pred` of scripts/eval/evaluate.py, whose other imports are not loaded. The samples are those of the program
of the gallery, at other lengths.

    python -P tests/gallery/originals/ruler.py CHECKOUT > tests/gallery/verdicts/ruler.jsonl
"""

from __future__ import annotations

import json
import random
import runpy
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

PROGRAM = Path(__file__).parents[3] / "specs" / "gallery" / "ruler" / "ruler.py"
SHIPPED, TESTED = "LENGTHS, SAMPLES = (120, 400), 1\n", "LENGTHS, SAMPLES = (40, 90), 8\n"


def rows() -> list[dict[str, Any]]:
    """Return the samples of the program that ships, at two lengths and eight times each."""
    text = PROGRAM.read_text("utf-8")
    assert SHIPPED in text
    program: dict[str, Any] = {}
    exec(compile(text.replace(SHIPPED, TESTED), "ruler.py", "exec"), program)
    return list(program["rows"]())


def reply(row: dict[str, Any]) -> str:
    """Return the reply to a sample: some of what must be found, in all the forms that models give it."""
    dice = random.Random(f"{row['task']} {row['length']} {row['index']}")
    some = dice.sample(row["outputs"], dice.randint(0, len(row["outputs"])))
    found = [
        each for each in some for each in [dice.choice([each, each, each.upper(), each + "!", each[:-1], f"x{each}x"])]
    ]
    dice.shuffle(found)
    text = dice.choice([", ", " and ", "\n", "\t", "；", ""]).join(found)
    return dice.choice(
        ["{}", " {}.", "They are: {}", "**{}**", "\x00{}\x1f", "1. {}\n\n", "我找到 {}", "{} ({})", ""]
    ).format(text, "none other")


def main(checkout: str) -> None:
    """Print the score of each reply, and of the tasks, in per cent."""
    nemo = "nemo.collections.asr.parts.utils.manifest_utils"
    parts = nemo.split(".")
    for name in ("nltk", "pandas", "tqdm", "yaml", *(".".join(parts[:n]) for n in range(1, len(parts) + 1))):
        sys.modules[name] = MagicMock()
    sys.argv = ["evaluate.py", "--data_dir", "."]
    scripts = Path(checkout) / "scripts" / "eval"
    tasks = runpy.run_path(str(scripts / "synthetic" / "constants.py"))["TASKS"]
    postprocess = runpy.run_path(str(scripts / "evaluate.py"))["postprocess_pred"]
    names = {"vt": "variable_tracking", "cwe": "common_words_extraction", "fwe": "freq_words_extraction", "qa": "qa"}
    by_task: dict[str, tuple[list[str], list[list[str]]]] = {}
    for row in rows():
        said, metric = postprocess(reply(row), {}), tasks[names.get(row["task"], "niah")]["metric_fn"]
        print(json.dumps({"id": [row["task"], row["length"], row["index"]], "score": metric([said], [row["outputs"]])}))
        replies, references = by_task.setdefault(row["task"], ([], []))
        replies.append(said)
        references.append(row["outputs"])
    print(json.dumps({task: tasks[names.get(task, "niah")]["metric_fn"](*each) for task, each in by_task.items()}))


if __name__ == "__main__":
    main(sys.argv[1])
