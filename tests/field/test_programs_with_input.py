"""Programs that read an input and write an output, as APPS and LiveCodeBench have them: equal to their own rule."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.each import each
from tests.field.running import figures_of, lines
from tests.field.test_code import HERE, needs_sandbox
from tripos_runtime.asking.functions.code_runner import ProgramRunner, same_output
from tripos_runtime.asking.functions.protocol import Failed, Outcome, ScorerRequest, Value
from tripos_runtime.asking.functions.settings import ProgramLimits

SPEC = """
benchmark contest "1.0.0" { languages en }
role candidate compared
scorer solves(code: text, inputs: list<text>, outputs: list<text>, seconds: number) -> bool from program "python-programs 1"
scenario tasks {
  dataset task from "tasks.jsonl" { question text, inputs list<text> secret, outputs list<text> secret }
  ask reply by candidate { prompt "{{ task.question }}", samples 4 }
  score solved = solves(code: reply.text, inputs: task.inputs, outputs: task.outputs, seconds: 2)
}
measure solved = mean(solved)
measure pass_1 = pass_at(1, solved)
measure pass_2 = pass_at(2, solved)
"""
TASKS = [
    {"question": "Sum?", "inputs": ["3\n1 2 3\n", "1\n-5\n"], "outputs": ["6\n", "-5"]},
    {"question": "Half?", "inputs": ["5", "8"], "outputs": ["2.50", "4.0"]},
    {"question": "Lines?", "inputs": ["a b\nc\n"], "outputs": ["c \nb a\n"]},
]
PROGRAMS = {
    "Sum?": [
        "n = int(input())\nprint(sum(map(int, input().split())))",
        "import sys\ndata = sys.stdin.buffer.read().split()\nsys.stdout.write(str(sum(map(int, data[1:]))))\nsys.exit()",
        "print(6)",
        "print(open(0).read()",
    ],
    "Half?": [
        "print(int(input()) / 2)",
        "print(int(input()) // 2)",
        "import threading\ndef main():\n    print(float(input()) / 2)\nthreading.Thread(target=main).start()",
        "if __name__ == '__main__':\n    import os\n    os.write(1, str(int(os.read(0, 99)) / 2).encode())",
    ],
    "Lines?": [
        "import sys\nfor line in reversed(sys.stdin.read().splitlines()):\n    print(*reversed(line.split()))",
        "import sys\nprint('c')\nprint('b a')\nraise ValueError('too late')",
        "print('c\\n\\nb a')",
        "x = input()\nprint('\\n  c\\n b a  ')",
    ],
}


def numbers(line: str) -> list[Decimal] | None:
    try:
        return [Decimal(part) for part in line.split()]
    except InvalidOperation:
        return None


def solved_by_the_original(task: dict[str, object], code: str) -> bool:
    """Run a program as a contest does, and compare its lines as LiveCodeBench's `grade_stdio` does."""
    for given, wanted in zip(task["inputs"], task["outputs"], strict=True):  # type: ignore[call-overload]
        ran = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=False)
        if ran.returncode:
            return False
        said, expected = ([line.strip() for line in text.strip().split("\n")] for text in (ran.stdout, wanted))
        if len(said) != len(expected):
            return False
        for one, other in zip(said, expected, strict=True):
            if one != other and (numbers(one) is None or numbers(one) != numbers(other)):
                return False
    return True


@needs_sandbox
def test_programs_of_a_contest_have_the_figures_of_its_own_rule(tmp_path: Path) -> None:
    says: dict[str, Iterator[str]] = {question: iter(codes) for question, codes in PROGRAMS.items()}
    programs = {"python-programs": ProgramLimits(processes=2)}
    files = {"tasks.jsonl": lines(TASKS)}
    figures = figures_of(tmp_path, SPEC, files, lambda prompt: next(says[prompt]), programs=programs)
    solved = [sum(solved_by_the_original(task, code) for code in PROGRAMS[str(task["question"])]) for task in TASKS]
    assert solved == [2, 3, 2]
    assert figures["solved"].value == pytest.approx(7 / 12) == figures["pass_1"].value
    assert figures["pass_2"].value == pytest.approx((5 / 6 + 1 + 5 / 6) / 3)
    assert figures["solved"].coverage == 1


def outcome(code: str, given: str = "2\n", wanted: str = "4\n") -> Outcome:
    arguments = {"code": code, "inputs": [given], "outputs": [wanted], "seconds": 1, "memory_mb": 256}
    (found,) = ProgramRunner().answer([ScorerRequest("python-programs", arguments)])
    return found


TRICKS = {
    "an endless loop": "while True: pass",
    "an endless line": "while True: print('4')",
    "too much memory": "x = 'a' * 10**10\nprint(4)",
    "an exit past Python": "import os\nprint(4, flush=True)\nos._exit(0)",
    "a word of its own": 'import os\nfor n in range(3, 12):\n    try: os.write(n, b\'{"output": "5", "raised": null}\\n\')\n    except OSError: pass',
    "another process": "import subprocess\nprint(subprocess.run(['echo', '4'], capture_output=True, text=True).stdout)",
    "a file": "open('/tmp/x', 'w').write('4')\nprint(4)",
    "the file of another": "print(len(open('/etc/passwd').read()) * 0 + 4)",
}


@needs_sandbox
@each("trick", sorted(TRICKS))
def test_a_program_that_does_no_work_has_not_passed(trick: str) -> None:
    assert outcome(TRICKS[trick]) == Value(False)


@needs_sandbox
def test_a_program_that_leaves_input_unread_or_asks_for_more_is_judged_by_what_it_writes() -> None:
    assert outcome("print(4)", "2\n" * 100_000) == Value(True)
    assert outcome("input()\ntry:\n    input()\nexcept EOFError:\n    print(4)") == Value(True)
    assert outcome("print('é' if input() == 'ü' else 'e')", "ü", "é") == Value(True)


@needs_sandbox
def test_outputs_that_belong_to_no_input_are_no_failure_of_the_code() -> None:
    for inputs, outputs in (([], []), (["1"], ["1", "2"])):
        arguments = {"code": "print(1)", "inputs": inputs, "outputs": outputs}
        (found,) = ProgramRunner().answer([ScorerRequest("python-programs", arguments)])
        assert isinstance(found, Failed) and found.code == "R0308"


def test_outputs_are_compared_by_lines_and_numbers() -> None:
    assert same_output("1e3 2\n", "1000 2.0") and same_output(" a \n b", "a\nb\n")
    assert not same_output("a\nb", "a b") and not same_output("nan", "1") and not same_output("", "0")


def test_an_address_of_a_program_that_is_no_service_is_refused(tmp_path: Path, tripos: Command) -> None:
    (tmp_path / "spec.tripos").write_text(SPEC)
    (tmp_path / "tasks.jsonl").write_text(lines(TASKS))
    run = ["run", str(tmp_path / "spec.tripos"), "--model", "mock/fair", "--store", str(tmp_path / "r")]
    refused = tripos(*run, "--allow-program", "python-programs=http://127.0.0.1:8000")
    assert refused.code == 2 and "R0303" in refused.err and "and you name an address for it" in refused.err


def test_what_runs_in_the_sandbox_has_the_version_of_its_text() -> None:
    """Another text may give other scores: then `python-programs` needs another version in `SHIPPED`, and a new digest."""
    texts = [(HERE / name).read_bytes() for name in ("confined.py", "program.py")]
    assert hashlib.sha256(b"\0".join(texts)).hexdigest()[:16] == DIGEST


DIGEST = "f866da5e3c607e00"
