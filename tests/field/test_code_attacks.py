"""Code that attacks its verdict: nothing that it does passes, in a sandbox or without one, and nothing is written."""

from __future__ import annotations

import ast
import ctypes
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.each import each
from tests.field.attacks import ANSWERS, ATTACKS, NEED_FILES, SLOW
from tests.field.running import lines
from tests.field.test_code import SPEC, TASK, needs_sandbox
from tests.lengths import sized
from tripos_runtime.asking.functions import code_runner
from tripos_runtime.asking.functions.code_runner import CodeRunner, ProgramRunner
from tripos_runtime.asking.functions.inside.confined import DEVICES
from tripos_runtime.asking.functions.protocol import Broken, Outcome, ScorerRequest, Value

PLACES = ("load", "call", "load and call", "thread")
KINDS = ("function", "assertions", "program")
AROUND = """{attack}
{answer}
won = False
def tried():
    global won
    try: won = bool(attack()) or won
    except Exception: pass
def in_a_thread():
    import threading
    thread = threading.Thread(target=tried, daemon=True)
    thread.start(); thread.join(2)
{load}
"""
IN_A_CALL = "def f(n):\n    {call}\n    return 2 * n if won else answer(n)\n"
IN_A_PROGRAM = "{call}\nprint(2 * int(input()) if won else answer(2))\n"


def outcome(kind: str, code: str) -> Outcome:
    """Return what is said of code that is to double a number."""
    given: dict[str, object] = {"code": code, "seconds": 1, "memory_mb": 256}
    if kind == "program":
        given |= {"inputs": ["2\n"], "outputs": ["4\n"]}
    elif kind == "function":
        given |= {"tests": "def check(f):\n    assert f(2) == 4\n    assert f(-3) == -6\n", "entry": "f"}
    else:
        given |= {"tests": "assert f(2) == 4\nassert abs(f(-3)) == 6\n"}
    executing = (ProgramRunner if kind == "program" else CodeRunner)(unsandboxed=True)
    (found,) = executing.answer([ScorerRequest(kind, given)])
    return found


def attacking(kind: str, attack: str, answer: str, place: str) -> str:
    """Return code that attacks, and answers rightly only if that succeeds."""
    load = "tried()" if "load" in place else ""
    call = "in_a_thread()" if place == "thread" else "tried()" if "call" in place else "pass"
    around = AROUND.format(attack=ATTACKS[attack], answer=ANSWERS[answer], load=load)
    return around + (IN_A_PROGRAM if kind == "program" else IN_A_CALL).format(call=call)


def held(kind: str, attack: str, answer: str = "wrong", place: str = "load and call") -> None:
    found = outcome(kind, attacking(kind, attack, answer, place))
    assert found == Value(False), f"{kind}: {attack}, {answer}, {place}: {found}"


@pytest.fixture(params=["sandboxed", "unsandboxed"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "unsandboxed":
        monkeypatch.setattr(code_runner, "sandbox_program", lambda: None)
    elif (fault := code_runner.sandbox_fault()) is not None:
        pytest.skip(fault)
    return str(request.param)


def test_no_attack_passes(mode: str) -> None:
    """A seeded sample; `test_every_attack_fails` has all of them."""
    draws = random.Random(mode)
    for _ in range(sized(8, 400)):
        attack = draws.choice(sorted(set(ATTACKS) - SLOW))
        held(draws.choice(KINDS), attack, draws.choice(sorted(ANSWERS)), draws.choice(PLACES))


@each("attack", sorted(ATTACKS))
def test_every_attack_fails(mode: str, attack: str) -> None:
    for kind in KINDS:
        held(kind, attack)


def test_every_wrong_answer_fails(mode: str) -> None:
    for place, answer in enumerate(ANSWERS):
        for kind in sized(KINDS[place % 3 : place % 3 + 1], KINDS):
            held(kind, "a printed verdict", answer)


RIGHT = {
    "function": "def f(n): return 2 * n",
    "assertions": "def f(n): return n + n",
    "program": "print(int(open('/dev/stdin').read()) * 2)",
}


def test_right_code_passes_beside_an_attack(mode: str) -> None:
    """Code of another reply, in a process of the same user, has its own verdict."""
    for attack in ("signals to others", "the descriptors of every process", "many threads", "endless output"):
        beside = threading.Thread(target=outcome, args=("function", attacking("function", attack, "wrong", "load")))
        beside.start()
        for kind, code in RIGHT.items():
            assert outcome(kind, code) == Value(True), (attack, kind)
        beside.join()


def test_code_names_nothing_that_python_or_the_tests_mean(mode: str) -> None:
    """Assertions see what code defines, and code could send any names: those of Python's own are left out."""
    forged = """
import json
said = json.dumps
def forging(message):
    if "names" in message:
        message["names"]["__builtins__"] = ["d", [[["s", "abs"], message["names"]["always_six"]]]]
    return said(message)
json.dumps = forging
def always_six(n): return 6
def f(n): return 4 if n == 2 else 5
"""
    assert outcome("assertions", forged) == Value(False)


def test_code_does_not_take_the_place_of_the_check(mode: str) -> None:
    tests = "def check(f):\n    assert f(2) == 4\n"
    given = {"code": "def check(n): return 5", "tests": tests, "entry": "check"}
    assert CodeRunner(unsandboxed=True).answer([ScorerRequest("python-tests", given)]) == [Value(False)]
    right = given | {"code": "def check(n): return 4"}
    assert CodeRunner(unsandboxed=True).answer([ScorerRequest("python-tests", right)]) == [Value(True)]


def test_an_output_that_compares_with_nothing_is_wrong(mode: str) -> None:
    for output in ("sNaN", "NaN", "Infinity", "-sNaN9", "1e999999999999999999", "1e-999999999999999999"):
        assert outcome("program", f"print({output!r})") == Value(False)


class NoLandlock:
    """A kernel that has no Landlock."""

    ABSENT = "def without_files(libc: ctypes.CDLL) -> bool:\n    return False\n\n\ndef _without_files"

    @classmethod
    def text(cls, name: str) -> str:
        text = cls.read(name)
        assert "def without_files" in text
        return text.replace("def without_files", cls.ABSENT, 1)

    read = staticmethod(code_runner.guest_text)


@pytest.fixture
def no_landlock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(code_runner, "guest_text", NoLandlock.text)
    yield


def test_root_executes_nothing_without_sandbox_and_landlock(no_landlock: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_runner, "sandbox_program", lambda: None)
    if os.getuid() != 0:
        pytest.skip("for root alone: another user is held by the rights of its files")
    with pytest.raises(Broken, match="root executes code only in a sandbox") as refused:
        CodeRunner(unsandboxed=True).start()
    assert refused.value.failure.code == "R0309"


def test_attacks_on_the_verdict_fail_without_sandbox_and_landlock(
    no_landlock: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_runner, "sandbox_program", lambda: None)
    if os.getuid() == 0:
        pytest.skip("for users who are not root: root is refused")
    draws = random.Random(1)
    for attack in draws.sample(
        sorted(set(ATTACKS) - SLOW - NEED_FILES), sized(5, len(ATTACKS) - len(SLOW | NEED_FILES))
    ):
        held(draws.choice(KINDS), attack)
    assert outcome("function", RIGHT["function"]) == Value(True)


@needs_sandbox
def test_attacks_fail_in_a_sandbox_without_landlock(no_landlock: None) -> None:
    draws = random.Random(2)
    for attack in draws.sample(sorted(set(ATTACKS) - SLOW), sized(5, len(ATTACKS) - len(SLOW))):
        held(draws.choice(KINDS), attack)


WALK = """
import os, re, stat, sys
def listed(root, whole):
    found, most = [], None
    for place, folders, files in os.walk(root):
        if re.search('/proc/.*/(fd|map_files)$', place): folders.clear(); continue
        if not whole and place.startswith(('/usr', sys.base_prefix)):
            most = 2
            if place.count('/') > 4: folders.clear()
        found += [(place, True), *((os.path.join(place, each), False) for each in sorted(files)[:most])]
    return found
def changed(found):
    wrote = []
    def tried(what, place, do, undo=None):
        try: done = do()
        except OSError: return
        if undo is None and done is not None: os.close(done)
        wrote.append((what, place))
        if undo is not None: undo()
    for place, folder in found:
        try: mode = os.lstat(place).st_mode
        except OSError: continue
        if stat.S_ISLNK(mode): continue
        tried('mode', place, lambda: os.chmod(place, stat.S_IMODE(mode)))
        tried('times', place, lambda: os.utime(place))
        if not folder:
            tried('content', place, lambda: os.open(place, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))
            continue
        made = os.path.join(place, 'tripos-walk')
        tried('file', place, lambda: os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY)), lambda: os.unlink(made))
        tried('folder', place, lambda: os.mkdir(made), lambda: os.rmdir(made))
        tried('symbolic link', place, lambda: os.symlink('/', made), lambda: os.unlink(made))
        tried('link', place, lambda: os.link(sys.executable, made), lambda: os.unlink(made))
    return wrote
"""
"""Lists all folders with their files, or the upper ones of Python and the system, and tries to change each of them."""


def walk(words: list[str], python: list[str], roots: list[str], *, confined: bool) -> tuple[int, set[tuple[str, str]]]:
    """Return how many places a Python tried to change, and what it changed where."""
    common = code_runner.guest_text("candidate.py").partition('if __name__ == "__main__"')[0]
    text = f"{common}\n{WALK}\nfound = [each for root in {roots} for each in listed(root, {sized(False, True)})]\n"
    text += f"assert {confined} is False or confine(900, 2 ** 33)\nprint((len(found), set(changed(found)) or None))\n"
    ended = subprocess.run(
        [*words, *python, text], capture_output=True, text=True, check=False, cwd="/", env=code_runner.ENVIRONMENT
    )
    assert ended.returncode == 0, ended.stderr
    places, wrote = ast.literal_eval(ended.stdout)
    return places, wrote or set()


def pythons() -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the users that a walk can be run as: a name, the words before a sandbox, and those that start Python. Root
    becomes `nobody` too, by `setpriv`, with a Python that every user may read."""
    own = code_runner.python_command("")[:-1]
    yield "root" if os.getuid() == 0 else "a user", [], own
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
    if os.getuid() == 0 and shutil.which("setpriv"):
        for program in (own[0], "/usr/bin/python3", "/usr/local/bin/python3"):
            if subprocess.run([*as_nobody, "test", "-r", program], check=False).returncode == 0:
                yield "nobody", as_nobody, [program, *own[1:]]
                return


def without_prefix(words: list[str], python: str) -> list[str]:
    """Return the words of a sandbox without the folder of a Python that its user may not read."""
    prefix = os.path.realpath(sys.base_prefix)
    if prefix not in words or python.startswith(prefix):
        return words
    place = words.index(prefix) - 1
    return words[:place] + words[place + 3 :]


@needs_sandbox
@pytest.mark.parametrize("confined", [False, True], ids=["mounts alone", "confined"])
def test_nothing_in_a_sandbox_can_be_written(confined: bool) -> None:
    for user, before, python in pythons():
        words = [*before, *without_prefix(code_runner.sandbox_command(unsandboxed=False), python[0])]
        places, wrote = walk(words, python, ["/"], confined=confined)
        assert places > 1000, user
        if confined:
            assert wrote == {("content", device) for device in DEVICES}, user
        else:  # a device belongs to root, whose sandbox it is: Landlock and the filter of calls are before any code
            assert {place for _, place in wrote} == set(DEVICES), user


def test_nothing_can_be_written_without_a_sandbox(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("mine")
    tmp_path.chmod(0o777)
    for user, before, python in pythons():
        if not has_landlock():
            pytest.skip("this kernel has no Landlock, and files of the user are left to code there")
        roots = ["/dev", "/proc/sys", "/proc/self", str(tmp_path)]
        places, wrote = walk(before, python, roots, confined=True)
        assert places > 100, user
        assert wrote <= {("content", device) for device in DEVICES}, user


def has_landlock() -> bool:
    return bool(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) >= 1)


NO_SANDBOX = {
    "none": ("", "bubblewrap is not installed"),
    "refused": (
        "echo 'bwrap: No permissions to create new namespace' >&2; exit 1",
        "No permissions to create new namespace",
    ),
    "silent": ("exit 0", "it said nothing"),
    "old": (
        "echo 'bwrap: Unknown option --clearenv' >&2; exit 1",
        "bubblewrap is too old here: it has no `--clearenv`",
    ),
    "fake": ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "is no sandbox"),
}


@pytest.mark.parametrize("case", NO_SANDBOX)
def test_what_is_no_sandbox_is_refused(
    case: str, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, reason = NO_SANDBOX[case]
    if script:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "tasks.jsonl").write_text(lines([TASK]))
    (tmp_path / "code.tripos").write_text(SPEC)
    store = ("--store", str(tmp_path / "results"))
    ended = tripos(
        "run", str(tmp_path / "code.tripos"), "--model", "mock/careful", *store, "--allow-program", "python-tests"
    )
    assert ended.code != 0
    assert "R0309" in ended.err and reason in ended.err and "--allow-unsandboxed python-tests" in ended.err
    (tmp_path / "tripos.toml").write_text("[programs.python-tests]\n")
    monkeypatch.chdir(tmp_path)
    # A folder that one stands in says nothing about whose program lies there.
    told = tripos("doctor", "--model", "mock/careful", *store)
    assert told.code == 1
    assert ("is not installed" if case == "none" else "current folder or where others") in " ".join(told.out.split())


def test_a_program_of_a_strange_folder_is_not_taken_for_bubblewrap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "open", "own"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bwrap").write_text("#!/bin/sh\n")
        (tmp_path / name / "bwrap").chmod(0o755)
    (tmp_path / "open").chmod(0o777)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", "/nowhere")
    path = os.pathsep.join((".", "", "../own", str(tmp_path / "here"), str(tmp_path / "open")))
    monkeypatch.setenv("PATH", path)
    assert code_runner.sandbox_program() is None
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{tmp_path / 'own'}")
    assert code_runner.sandbox_program() == str(tmp_path / "own" / "bwrap")
    monkeypatch.chdir(tmp_path)
    assert code_runner.sandbox_program() is None
    monkeypatch.setenv("HOME", str(tmp_path))
    assert code_runner.sandbox_program() == str(tmp_path / "here" / "bwrap")
    monkeypatch.setattr(code_runner, "SYSTEM_PROGRAMS", (str(tmp_path / "open"),))
    assert code_runner.sandbox_program() == str(tmp_path / "open" / "bwrap")


def test_no_other_process_of_the_user_opens_the_files_and_the_memory_of_a_run(tmp_path: Path) -> None:
    """Code without a sandbox runs beside the run that asks for its verdict, which cannot be dumped."""
    if os.getuid() == 0:
        pytest.skip("root opens everything, and code of its replies has no privileges of root")
    script = "from tripos_runtime.asking.functions.code_runner import hide_memory\nhide_memory()\nprint(1, flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hidden:
        assert hidden.stdout is not None and hidden.stdout.readline()
        for name in ("mem", "environ", "fd/0", "maps"):
            with pytest.raises(PermissionError):
                os.close(os.open(f"/proc/{hidden.pid}/{name}", os.O_RDONLY))
        hidden.kill()
