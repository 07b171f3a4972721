"""Students who answer after a lesson: how many a second, and whether memory depends on how many.

    python tests/bench/lessons.py [ANSWERS]

Two runs, of a quarter of the answers and of all: each item is taught three times, and a student sits 192 times after the
lessons and 192 times without. The mocks answer at once, so the rate is that of everything but the models; both figures
are told as ratios, since machines differ. Memory is the median while calls are made: the report that follows is DuckDB's.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from million import watched
from processes import TRIPOS

ANSWERS = 200_000
SAMPLES = 192
SPEC = """\
benchmark lessons "1.0.0" { languages en }
role teacher compared
role student
arm teaching { none, lesson }
dataset item from "items.jsonl" { topic text, question text secret, answer text secret }
scenario gain {
  over item as q
  arms teaching
  converse talk when teaching == lesson {
    teacher { system "Teach {{ q.topic }}. When it is understood, say LESSON OVER." }
    student { system "You know nothing of {{ q.topic }} yet." }
    opens  teacher
    until  teacher says "lesson over"
    limit  30 turns
    repeat 3
  }
  ask sitting by student {
    continue talk
    prompt  "{{ q.question }}"
    returns choice(A, B, C, D)
    samples SAMPLES
  }
  score correct = sitting == q.answer
  measure right = mean(correct)
  measure gain  = right - right[teaching: none]
}
""".replace("SAMPLES", str(SAMPLES))


def main() -> None:
    """Run both and print a table."""
    answers = int(sys.argv[1]) if len(sys.argv) > 1 else ANSWERS
    with tempfile.TemporaryDirectory() as folder:
        some, every = (measured(Path(folder) / str(count), count) for count in (answers // 4, answers))
    for each in (some, every):
        print(f"{each['asked']:>9,} calls: {each['rate']:.0f} a second, {each['mb']:.0f} MB")
    print(f"the rate of the larger is {every['rate'] / some['rate']:.2f} of that of the smaller,")
    print(f"its memory {every['mb'] / some['mb']:.2f} times as much")


def measured(folder: Path, answers: int) -> dict[str, Any]:
    """Return one run, in a process of its own."""
    folder.mkdir()
    rows = (
        {"topic": f"topic {number}", "question": f"Question {number}?", "answer": "ABCD"[number % 4]}
        for number in range(-(-answers // (2 * SAMPLES)))
    )
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (folder / "lessons.tripos").write_text(SPEC, "utf-8")
    command = [*TRIPOS, "run", "lessons.tripos", "--model", "mock/teacher", "--json"]
    looks, done, wall_s, _ = watched([*command, "--role", "student=mock/careful", "--store", "results"], folder)
    asked = done["calls"]["asked"]
    return {"asked": asked, "rate": asked / wall_s, "mb": median(look.rss_mb for look in looks)}


if __name__ == "__main__":
    main()
