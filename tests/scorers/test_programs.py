"""Scorers that are programs: every way in which one fails is a status with a code, and no score is lost or mixed up."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.each import each
from tests.field.running import figures_of
from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import BoolType, NumberType, Plugin, TextType
from tripos_runtime.asking.functions.external import ExternalScorer, ScorerPool
from tripos_runtime.asking.functions.process import ScorerProcess
from tripos_runtime.asking.functions.protocol import Broken, Failed, Outcome, ScorerRequest, Value
from tripos_runtime.asking.functions.settings import ProgramLimits

GREETING = """
import json, os, sys, time
json.loads(sys.stdin.readline())
print(json.dumps({"tripos": 1}), flush=True)
def say(**answer):
    print(json.dumps(answer), flush=True)
"""
LENGTHS = (
    GREETING
    + """
for line in sys.stdin:
    request = json.loads(line)
    id, text = request["id"], request["arguments"]["text"]
    if text == "die":
        os._exit(3)
    elif text == "raise":
        raise RuntimeError("out of order")
    elif text == "hang":
        time.sleep(600)
    elif text == "noise":
        print("no JSON", flush=True)
    elif text == "twice":
        say(id=id, value=1); say(id=id, value=2)
    elif text == "stranger":
        say(id="f" * 16, value=1)
    elif text == "nan":
        print('{"id": "%s", "value": NaN}' % id, flush=True)
    elif text == "memory":
        bytearray(2 ** 31)
    elif text == "refuse":
        say(id=id, error="no such thing")
    elif text == "huge":
        print('{"id": "%s", "value": 1%s}' % (id, "0" * 400), flush=True)
    elif text == "infinite":
        print('{"id": "%s", "value": 1e999}' % id, flush=True)
    else:
        say(id=id, value=len(text))
"""
)
BACKWARDS = (
    GREETING
    + """
requests = [json.loads(sys.stdin.readline()) for _ in range(4)]
for request in reversed(requests):
    say(id=request["id"], value=len(request["arguments"]["text"]))
"""
)
PLUGIN = Plugin(
    name="length",
    path="length.py",
    function="length",
    version="",
    parameters={"text": TextType()},
    returns=BoolType(),
    external="file",
)


def opened(text: str, timeout_s: float = 30.0) -> ScorerProcess:
    return ScorerProcess("length.py", text, [PLUGIN], ProgramLimits(timeout_s=timeout_s, memory_mb=512))


def asked(texts: Sequence[str], timeout_s: float = 30.0, processes: int = 1) -> list[str]:
    """Return what comes of some texts that one program is asked about, all at once: a value, or a code."""
    pool = ScorerPool(lambda: opened(LENGTHS, timeout_s), processes, 8)
    try:
        futures = [pool.submit(ScorerRequest("length", {"text": text})) for text in texts]
        outcomes = [future.result(60) for future in futures]
    finally:
        pool.close()
    return [str(each.value) if isinstance(each, Value) else each.code for each in outcomes]


@each(
    "text, code",
    [
        ("die", "R0305"),
        ("raise", "R0305"),
        ("noise", "R0307"),
        ("stranger", "R0307"),
        ("nan", "R0307"),
        ("memory", "R0305"),
        ("refuse", "R0308"),
    ],
)
def test_one_that_fails_costs_no_other_its_score(text: str, code: str) -> None:
    assert asked(["a", text, "bbb", "cc"]) == ["1", code, "3", "2"]


@each("text", ["huge", "infinite", "nan"])
def test_a_number_out_of_bounds_is_a_missing_value(text: str) -> None:
    plugin = Plugin(
        name="length",
        path="length.py",
        function="length",
        version="1",
        parameters={"text": TextType()},
        returns=NumberType(),
        external="file",
    )
    pool = ScorerPool(lambda: opened(LENGTHS), 1, 8)
    try:
        scorer = ExternalScorer(plugin, len, pool=pool)
        value = scorer.request_value(ScorerRequest("length", {"text": text}))
    finally:
        pool.close()
    assert isinstance(value, Unavailable)
    assert value.status == "function_error"


def test_a_cancelled_request_is_not_asked_and_one_being_answered_cannot_be_cancelled() -> None:
    asked: list[str] = []
    begun, may_end = threading.Event(), threading.Event()

    class Slow:
        def start(self) -> None:
            """It needs no start."""

        def answer(self, requests: Sequence[ScorerRequest]) -> list[Outcome]:
            asked.extend(request.arguments["text"] for request in requests)
            begun.set()
            assert may_end.wait(30)
            return [Value(1.0) for _ in requests]

        def close(self) -> None:
            """It has no process."""

    pool = ScorerPool(Slow, 1, 1)
    first, second, third = (pool.submit(ScorerRequest("length", {"text": text})) for text in ("a", "b", "c"))
    assert begun.wait(30)
    assert not first.cancel()
    assert second.cancel()
    may_end.set()
    assert (first.result(30), third.result(30)) == (Value(1.0), Value(1.0))
    pool.close()
    assert asked == ["a", "c"]


def test_one_that_never_answers_costs_no_other_its_score() -> None:
    assert asked(["a", "hang", "bbb"], timeout_s=1.5) == ["1", "R0306", "3"]


def test_of_one_that_answers_twice_the_others_are_asked_again() -> None:
    assert asked(["aa", "twice", "bbb"])[::2] == ["2", "3"]


def test_answers_in_another_order_belong_to_their_requests() -> None:
    process = opened(BACKWARDS)
    try:
        outcomes = process.answer([ScorerRequest("length", {"text": "x" * n}) for n in (5, 1, 4, 2)])
    finally:
        process.close()
    assert outcomes == [Value(5), Value(1), Value(4), Value(2)]


def test_several_processes_share_the_requests() -> None:
    assert asked(["x" * n for n in range(1, 20)], processes=3) == [str(n) for n in range(1, 20)]


@each(
    "text, reason",
    [
        ("raise SystemExit(4)", "exit code 4"),
        ("print('hello', flush=True)", "`hello`"),
        ("print('{}', flush=True)", "must have"),
        ("import nosuch", "nosuch"),
    ],
)
def test_one_without_a_greeting_is_not_started(text: str, reason: str) -> None:
    process = opened(text)
    try:
        process.start()
    except Broken as error:
        assert error.failure.code == "R0304"
        assert reason in error.failure.reason
    else:
        raise AssertionError("it started")
    finally:
        process.close()


def test_a_long_reason_is_cut() -> None:
    assert len(Failed("R0308", "x" * 999).shown) < 320


ECHO = (
    GREETING
    + """
assert not [name for name in os.environ if "KEY" in name], "a key"
for line in sys.stdin:
    request = json.loads(line)
    text = request["arguments"]["text"]
    if "refuse" in text:
        say(id=request["id"], error="no such thing")
    elif "odd" in text:
        say(id=request["id"], value="yes")
    else:
        say(id=request["id"], value="good" in text)
"""
)
SPEC = """
benchmark marks "1.0.0" { languages en }
role candidate compared
scorer right(text: text) -> bool from program "marks.py"
scorer also(text: text) = right(text) or words(text) > 900
scenario s "S" {
  dataset item from "items.jsonl" { question text }
  ask reply by candidate { prompt "{{ item.question }}" }
  score right(reply.text)
  score also(reply.text)
  score words = right(word) each word in split(reply.text, " ")
}
measure share_right = mean(right)
measure share_also = mean(also)
measure good_words = mean(words)
"""


def written(folder: Path, program: str = ECHO, spec: str = SPEC) -> Path:
    rows = [{"question": text} for text in ("good one", "bad one", "odd one", "refuse one")]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "marks.py").write_text(program)
    (folder / "spec.tripos").write_text(spec)
    return folder / "spec.tripos"


def test_values_are_held_to_their_type_and_failures_are_statuses(tmp_path: Path) -> None:
    written(tmp_path)
    limits = {"marks.py": ProgramLimits(processes=2)}
    files = {"marks.py": ECHO, "items.jsonl": (tmp_path / "items.jsonl").read_text()}
    figures = figures_of(tmp_path, SPEC, files, lambda text: text, programs=limits)
    assert (figures["share_right"].value, figures["share_right"].n) == (0.5, 2)
    words = figures["good_words"]
    assert (words.value, words.n, words.total) == (1 / 6, 6, 8), "the words `odd` and `refuse` have no value"
    assert (figures["share_also"].value, figures["share_also"].n) == (0.5, 2)


def test_nothing_starts_unless_it_is_allowed_by_name(tmp_path: Path, tripos: Command) -> None:
    program = ECHO.replace(GREETING, "open(__import__('os').path.dirname(__file__) + '/started', 'w')" + GREETING)
    path = written(tmp_path, program)
    run = ("run", str(path), "--model", "mock/careful", "--store", str(tmp_path / "results"))
    for words in (("check", str(path)), ("plan", str(path)), ("check", str(path), "--worlds", "1")):
        assert tripos(*words).code == 0
    refused = tripos(*run)
    assert refused.code != 0
    assert "R0303" in refused.err
    assert "--allow-program marks.py" in refused.err
    assert "R0303" in tripos(*run, "--allow-program", "other.py").err
    assert "R0270" in tripos(*run, "--allow-program", "marks.py", "--untrusted").err


def test_a_changed_program_scores_again_and_asks_no_model(tmp_path: Path, tripos: Command) -> None:
    path = written(tmp_path)
    run = ("run", str(path), "--model", "mock/careful", "--store", str(tmp_path / "r"), "--allow-program", "marks.py")
    assert tripos(*run, "--json").data["calls"]["asked"] == 4
    written(tmp_path, ECHO.replace('"good" in text', "True"))
    again = tripos(*run, "--json").data["calls"]
    assert (again["asked"], again["reused"]) == (0, 4)
    query = "select count(*) as n from marks.scores where metric = 'right' and value = 1"
    assert tripos("sql", query, "--store", str(tmp_path / "r"), "--format", "json").data[0]["n"] == 4


def test_settings_of_the_project_allow_a_program_too(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tripos.toml").write_text('[programs."marks.py"]\ntimeout_s = 20\nprocesses = 1\n')
    run = tripos("run", str(path), "--model", "mock/careful", "--store", str(tmp_path / "r"))
    assert run.code == 0, run.err


def test_a_release_has_the_program_and_runs_no_other(tmp_path: Path, tripos: Command) -> None:
    path, store, to = written(tmp_path), str(tmp_path / "r"), tmp_path / "releases"
    path.write_text(SPEC.replace("languages en }", 'languages en\n  license "CC0-1.0" }'))
    assert tripos("release", str(path), "--store", store, "--to", str(to)).code == 0
    (plan,) = to.rglob("plan.json")
    (program,) = to.rglob("marks.py")
    assert program.read_text() == ECHO
    run = ("run", str(plan.parent), "--model", "mock/careful", "--store", store)
    assert "R0303" in tripos(*run).err
    program.write_text("open('/dev/null')\n" + ECHO)
    refused = tripos(*run, "--allow-program", "marks.py")
    assert refused.code != 0
    assert "marks.py" in refused.err
    program.write_text(ECHO)
    assert "asked" in tripos(*run, "--allow-program", "marks.py").err


def test_a_program_that_is_not_there_is_told_as_a_program(tmp_path: Path, tripos: Command) -> None:
    path = written(tmp_path)
    (tmp_path / "marks.py").unlink()
    told = tripos("check", str(path)).err
    assert "E0310" in told and '`"file.py"`' in told
    assert "file.py:function" not in told


def test_a_program_without_a_type_is_told_its_own_form(tmp_path: Path, tripos: Command) -> None:
    path = written(tmp_path, spec=SPEC.replace("-> bool from", "from"))
    assert "`scorer CALL -> TYPE from program PATH`" in tripos("check", str(path)).err


def test_a_name_of_a_scenario_outside_of_it_is_told_where_it_means_something(tmp_path: Path, tripos: Command) -> None:
    path = written(tmp_path, spec=SPEC.replace("mean(words)", "weighted_mean(words, item.question)"))
    told = tripos("check", str(path)).err
    assert "there is no scenario `item`" in told
    assert "write the measure there" in told
