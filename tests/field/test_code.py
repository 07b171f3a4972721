"""Programs by functional tests, as HumanEval and MBPP have them: figures equal to a count apart, whatever code tries."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.each import each
from tests.field.running import lines
from tripos_runtime.asking.functions import code_runner
from tripos_runtime.asking.functions.code_runner import CodeRunner, Guest
from tripos_runtime.asking.functions.protocol import Broken, Failed, Outcome, ScorerRequest, Value

HERE = Path(code_runner.__file__).parent / "inside"


def has_sandbox() -> bool:
    try:
        code_runner.sandbox_command(unsandboxed=False)
    except Broken:
        return False
    return True


needs_sandbox = pytest.mark.skipif(not has_sandbox(), reason="bubblewrap does not work here")
SPEC = """
benchmark code "1.0.0" { languages en }
role candidate compared
scorer passes(code: text, tests: text, entry: text, seconds: number) -> bool from program "python-tests 2"
scenario tasks {
  dataset task from "tasks.jsonl" { prompt text, test text secret, entry_point text }
  ask reply by candidate { prompt "{{ task.prompt }}", samples 5 }
  score passed = passes(
    code: join((task.prompt, reply.text), ""), tests: join((task.prompt, task.test), "\\n"), entry: task.entry_point,
    seconds: 2)
}
measure share  = mean(passed)
"""
TASK = {
    "prompt": "def double(n):\n    '''Twice a number.'''\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    "entry_point": "double",
}
TESTS = "def check(candidate):\n    assert candidate(2) == 4\n    assert list(map(candidate, [3])) == [6]\n"
RIGHT = "def f(n): return 2 * n"


def outcome(code: str, tests: str = TESTS, entry: str | None = "f", *, unsandboxed: bool = False) -> Outcome:
    arguments = {"code": code, "tests": tests, "seconds": 1, "memory_mb": 256}
    runner = CodeRunner(unsandboxed=unsandboxed)
    (found,) = runner.answer([ScorerRequest("python-tests", arguments | ({} if entry is None else {"entry": entry}))])
    return found


FORGED = '{"passed": true}'
EQUAL = "class Equal:\n    def __eq__(self, other): return True\n    __hash__ = None\n"
TRICKS = {
    "an endless loop": "def f(n):\n    while True: pass",
    "a syntax error": "def f(n) return 4",
    "no function": "g = 1",
    "too much memory": "def f(n):\n    return len(bytearray(2 ** 34)) and 2 * n",
    "the exit before the tests": "import sys\nsys.exit(0)",
    "the end before the tests": "import os\nos._exit(0)",
    "the exit in the tests": "import os\ndef f(n): os._exit(0)",
    "a printed result": f"print('{FORGED}')\ndef f(n):\n    print('{FORGED}'); return 0",
    "a result on every pipe": (
        f"import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'{FORGED}\\n' * 9)\n    except OSError: pass\n"
        "def f(n): return 0"
    ),
    "what equals everything": f"{EQUAL}def f(n): return Equal()",
    "an int that equals everything": "class I(int):\n    __eq__ = lambda a, b: True\n    __hash__ = None\ndef f(n): return I()",
    "another assert": "import builtins\nbuiltins.AssertionError = ZeroDivisionError\ndef f(n): return 0",
    "other names": "import builtins\nlist = map = lambda *a: [6]\nbuiltins.list = list\ndef f(n): return 4",
    "the tests' source in a frame": (
        "import sys, gc\ndef f(n):\n    frame = sys._getframe()\n    while frame:\n"
        "        if 'check' in frame.f_globals: return 2 * n\n        frame = frame.f_back\n    return 0"
    ),
    "the tests' source in memory": (
        "import gc\ndef f(n):\n    seen = [o for o in gc.get_objects() if isinstance(o, dict)]\n"
        "    found = any('assert candidate(2)' in str(v) for d in seen for v in d.values() if isinstance(v, str))\n"
        "    return 2 * n if found else 0"
    ),
    "the tests' source in a file": (
        "import glob\ndef f(n):\n    for name in glob.glob('/proc/*/cmdline') + glob.glob('/tmp/*'):\n"
        "        try: text = open(name, 'rb').read()\n        except OSError: continue\n"
        "        if b'assert candidate' in text: return 2 * n\n    return 0"
    ),
    "the end of iteration": "def f(n):\n    if n == 2: return 4\n    raise StopIteration",
    "the network": "import socket\nsocket.create_connection(('127.0.0.1', 22), 1)\n" + RIGHT,
    "a world of its own": "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000): raise OSError\n" + RIGHT,
    "another process": "import os\nos.fork()\n" + RIGHT,
    "another program": "import subprocess\nsubprocess.run(['true'])\n" + RIGHT,
    "a written file": "open('/tmp/written', 'w').write('x')\n" + RIGHT,
    "a long answer": "def f(n): return 'x' * 2 ** 25",
    "a deep answer": "def f(n):\n    a = []\n    for _ in range(10 ** 5): a = [a]\n    return a",
}


@needs_sandbox
@each("trick", TRICKS)
def test_code_cannot_say_that_it_passed(trick: str) -> None:
    assert outcome(TRICKS[trick]) == Value(False)


@needs_sandbox
def test_what_code_may_do_it_can() -> None:
    assert outcome(RIGHT) == Value(True)
    assert outcome("import threading\nt = threading.Thread(target=print); t.start(); t.join()\n" + RIGHT) == Value(True)
    kinds = "def check(candidate):\n    for x in VALUES:\n        assert candidate(x) == x and type(candidate(x)) is type(x)\n"
    values = (
        "import collections, decimal, fractions\nVALUES = [None, True, -5, 2**200, 1.5, float('inf'), 3j, 'é\\ud800',"
    )
    values += " b'x', bytearray(b'y'), [1, (2, {3: {4}})], frozenset({5}), range(3), collections.deque([6]),"
    values += " decimal.Decimal('1.10'), fractions.Fraction(1, 3)]\n"
    assert outcome("def f(x): return x", values + kinds) == Value(True)
    made = "class Stack:\n    def __init__(self): self.items = []\n    def push(self, x): self.items.append(x); return self"
    assert outcome(made, "s = Stack()\nassert list(s.push(1).push(2).items) == [1, 2]", None) == Value(True)


def test_tests_may_call_the_function_by_its_own_name() -> None:
    # As HumanEval/33 does: its prompt stands before the tests, with the function's head and no body.
    tests = "def f(n):\n    'Twice n.'\n\ndef check(candidate):\n    assert candidate(2) == f(2) == 4\n"
    assert outcome(RIGHT, tests, unsandboxed=True) == Value(True)
    assert outcome("def f(n): return 3 * n", tests, unsandboxed=True) == Value(False)


@needs_sandbox
def test_mbpp_asserts_see_the_functions_of_the_code_and_none_of_pythons() -> None:
    asserts = "assert set(near((1, 2), (2, 3))) == {2}\nassert near((1,), (2,)) == ()"
    right = "def near(a, b): return tuple(set(a) & set(b))"
    assert outcome(right, asserts, None) == Value(True)
    assert outcome("def near(a, b): return ()\ndef set(a): return {2}", asserts, None) == Value(False)


@needs_sandbox
def test_tests_that_cannot_be_run_are_no_failure_of_the_code() -> None:
    for tests in ("def check(candidate:", "x = 1", "check = len"):
        found = outcome(RIGHT, tests)
        assert isinstance(found, Failed)
        assert found.code == "R0308"
        assert outcome("no Python", tests) == found


CHECKING_NOTHING = {
    "no tests": "",
    "a check that nobody calls": TESTS,
    "imports and constants": "import math\nx = 3",
    "a main program": "def test():\n    assert f(2) == 4\nif __name__ == '__main__':\n    test()",
    "classes": "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): self.assertEqual(f(2), 4)\n",
}


@needs_sandbox
@each("tests", CHECKING_NOTHING)
def test_tests_without_entry_that_execute_nothing_are_passed_by_no_code(tests: str) -> None:
    found = outcome(RIGHT, CHECKING_NOTHING[tests], None)
    assert isinstance(found, Failed)
    assert (found.code, "no `entry` is given" in found.reason) == ("R0308", True)


THEIR_OWN = {
    "a function handed over": ("def check(f):\n    assert f(lambda: 2) == 4", "NotHanded"),
    "a function handed over, and every error taken": (
        "def check(f):\n    try: f(len)\n    except Exception: pass",
        "NotHanded",
    ),
    "a package that is not there": ("import numpy_of_nobody\ndef check(f): pass", "ModuleNotFoundError"),
    "a name without its import": ("def check(f):\n    assert math.isclose(f(2), 4)", "NameError"),
    "the end of Python": ("import sys\ndef check(f):\n    sys.exit()", "SystemExit"),
}


@needs_sandbox
@each("case", THEIR_OWN)
def test_an_error_of_the_tests_themselves_is_no_failure_of_the_code(case: str) -> None:
    tests, error = THEIR_OWN[case]
    found = outcome(RIGHT, tests)
    assert isinstance(found, Failed)
    assert (found.code, error in found.reason) == ("R0308", True)


@needs_sandbox
@each("error", ("NameError", "ImportError", "SystemExit", "BaseException"))
def test_code_that_raises_such_an_error_has_failed(error: str) -> None:
    assert outcome(f"def f(n): raise {error}") == Value(False)
    assert outcome(f"def f(n): raise {error}", "assert f(2) == 4", None) == Value(False)


@needs_sandbox
def test_a_sandbox_that_is_ended_from_outside_says_nothing_about_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    receive = Guest.receive

    def ended(guest: Guest, until: float) -> dict[str, Any] | None:
        message = receive(guest, until)
        if message is not None and "names" in message:  # a cluster ends what it started
            guest._process.terminate()
            guest._process.wait()
        return message

    monkeypatch.setattr(Guest, "receive", ended)
    found = outcome(RIGHT)
    assert isinstance(found, Failed)
    assert (found.code, found.reason) == ("R0305", "its sandbox was ended by signal 15")
    monkeypatch.undo()
    assert outcome("import os\ndef f(n): os.kill(os.getpid(), 9)") == Value(False)


def test_a_sandbox_that_cannot_start_leaves_no_process_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        if started:
            raise OSError("Cannot allocate memory")
        started.append(popen(*arguments, **options))
        return started[0]

    popen = subprocess.Popen
    monkeypatch.setattr(code_runner, "sandbox_command", lambda *, unsandboxed: [])
    monkeypatch.setattr(code_runner.subprocess, "Popen", start)
    with pytest.raises(OSError, match="memory"):
        CodeRunner().run({}, ("tester.py", "candidate.py"), lambda *_: Value(True))
    assert started[0].poll() is not None


@needs_sandbox
def test_what_is_in_the_sandbox_is_read_and_not_written() -> None:
    words = code_runner.sandbox_command(unsandboxed=False)
    text = (
        "import os\n"
        "for place in ('/', '/tmp', '/dev', '/dev/shm', '/usr', os.path.expanduser('~'), '/proc/1'):\n"
        "    try: open(place + '/x', 'w'); print('wrote', place)\n"
        "    except OSError: pass\n"
        "print(sorted(os.environ), os.path.exists('/etc/passwd'), os.path.exists('/work'))\n"
    )
    ended = subprocess.run([*words, *code_runner.python_command(text)], capture_output=True, text=True, check=False)
    told = {"LC_ALL", "PWD", "PYTHONHASHSEED", "PYTHONIOENCODING"}
    assert ended.stdout == f"{sorted(told)} False False\n", ended.stderr


def test_without_a_sandbox_nothing_runs_unless_the_user_says_so(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    (tmp_path / "tasks.jsonl").write_text(lines([TASK]))
    (tmp_path / "code.tripos").write_text(SPEC)
    run = ("run", str(tmp_path / "code.tripos"), "--model", "mock/careful", "--store", str(tmp_path / "results"))
    assert "R0303" in tripos(*run).err
    refused = tripos(*run, "--allow-program", "python-tests")
    assert "R0309" in refused.err
    assert "--allow-unsandboxed python-tests" in refused.err
    assert outcome(RIGHT, unsandboxed=True) == Value(True)
    assert outcome("import os\nos.fork()\n" + RIGHT, unsandboxed=True) == Value(False)


def test_what_runs_in_the_sandbox_has_the_version_of_its_text() -> None:
    """Another text may give other scores: then `python-tests` needs another version in `SHIPPED`, and a new digest."""
    texts = [(HERE / name).read_bytes() for name in ("confined.py", "candidate.py", "tester.py")]
    assert hashlib.sha256(b"\0".join(texts)).hexdigest()[:16] == DIGEST


DIGEST = "a0274d4e48b74b8f"
