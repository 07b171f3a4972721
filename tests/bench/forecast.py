"""How long a forecast takes: nothing kept, half of it, all of it, all of it under other names.

    python tests/bench/forecast.py [--rows 20000] [--rounds 3] [--folder DIR] [CASE …]

Rows × 2 models each have a hint, an answer that takes it in and a grade; 60 rows of shots lie beside them. Printed is the
CPU time of `tripos run --dry-run` as a process, the least of the rounds, and what it foresees; beside it the time of
`tripos check`. The cases are `nothing` (no store), `half` (half of the rows were run), `all`, `renamed` (all was run,
then the scenario was given another name: every reply is known by what was sent for it alone), `samples` (4 of each,
renamed) and `reworded` (all was run, then a prompt changed by one word).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from processes import take_tripos

SPEC = """\
benchmark forecast "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text, topic text, level choice(easy, hard), answer text secret }
dataset example from "examples.jsonl" { question text, topic text, answer text }
scenario NAME {
  over item
  ask hint by candidate {
    prompt "Give a hint for: {{ item.question }} It is {{ item.level }}."
  }
  ask reply by candidate {
    shots 2 from example where example.topic == item.topic {
      prompt "{{ example.question }}"
      reply "{{ example.answer }}"
    }
    system "You are a teacher of {{ item.topic }}."
    prompt "{{ item.question }}\\nA hint: {{ hint.text }}\\nWORD with one line."SAMPLES
  }
  score right = trim(reply.text) == item.answer
  score marked = marking(item.question, item.answer, reply.text)
}
scorer marking(question: text, truth: text, answer: text) by judge {
  prompt "Question: {{ question }}\\nTruth: {{ truth }}\\nAnswer: {{ answer }}\\nIs it right?"
  gives  bool
}
measure accuracy = mean(right)
"""
ARGUMENTS = ["--model", "mock/careful:a,mock/careful:b", "--role", "judge=mock/careful:c"]
WHY = "Why is {} a number that can be told from all the others, and what would you say to a pupil?"
HOW = "How often does a clock strike within {} days?"
CASES = ("nothing", "half", "all", "renamed", "reworded", "samples")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=[], help=f"of {', '.join(CASES)}; all without")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the stores are left; without it, nothing is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(options.folder or name)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, options.rows)
        print(f"{options.rows:,} rows; the least CPU time of {options.rounds} rounds")
        print(f"{least(['check', 'quiz.tripos'], folder, options.rounds)[0]:7.2f} s   check")
        for case in options.cases or CASES:
            spec, store = prepared(case, folder, options.rows)
            command = ["run", spec, *ARGUMENTS, "--store", store, "--dry-run"]
            seconds, said = least(command, folder, options.rounds)
            told = next(line for line in reversed(said.splitlines()) if "call" in line or "reused" in line)
            print(f"{seconds:7.2f} s   {case}: {told.strip()}", flush=True)
    return 0


def write(folder: Path, rows: int) -> None:
    """The specs and their data."""
    plain = SPEC.replace("NAME", "quiz").replace("WORD", "Answer").replace("SAMPLES", "")
    (folder / "quiz.tripos").write_text(plain, "utf-8")
    (folder / "renamed.tripos").write_text(plain.replace("quiz", "exam"), "utf-8")
    (folder / "reworded.tripos").write_text(plain.replace("Answer with", "Reply with"), "utf-8")
    several = SPEC.replace("NAME", "quiz").replace("WORD", "Answer").replace("SAMPLES", "\n    samples 4")
    (folder / "samples.tripos").write_text(several, "utf-8")
    (folder / "samples_renamed.tripos").write_text(several.replace("quiz", "exam"), "utf-8")
    for name, count, asked in (("items", rows, WHY), ("examples", 60, HOW)):
        lines = (json.dumps(_row(number, asked)) for number in range(count))
        (folder / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")


def _row(number: int, asked: str) -> dict[str, str]:
    level, question = ("easy", "hard")[number % 2], asked.format(number)
    return {"question": question, "topic": f"topic {number % 30}", "level": level, "answer": f"Since it is {number}."}


def prepared(case: str, folder: Path, rows: int) -> tuple[str, str]:
    """Return the spec and the store of a case; what is kept is made where it is not there."""
    if case == "nothing":
        return "quiz.tripos", "nothing"
    spec, store = ("samples.tripos", "several") if case == "samples" else ("quiz.tripos", "whole")
    limit: list[str] = []
    if case == "half":
        store, limit = "half", ["--limit", str(rows // 2)]
    if not (folder / store).exists():
        made = take_tripos(["run", spec, *ARGUMENTS, "--store", store, *limit], folder, (0, 3))
        print(f"            the store `{store}` made in {made.wall_s:.0f} s", flush=True)
    asked = {"renamed": "renamed.tripos", "reworded": "reworded.tripos", "samples": "samples_renamed.tripos"}
    return asked.get(case, spec), store


def least(arguments: list[str], folder: Path, rounds: int) -> tuple[float, str]:
    """Return the least CPU seconds of a command, and what it says; the first time warms what is cached."""
    best = min((take_tripos(arguments, folder, (0, 3)) for _ in range(rounds)), key=lambda each: each.cpu_s)
    return best.cpu_s, best.out


if __name__ == "__main__":
    sys.exit(main())
