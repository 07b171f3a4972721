"""The Python API: specs, plans, runs, releases, and the exceptions that they raise."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tripos
from tests.conftest import Command
from tests.lengths import spread
from tripos_runtime.models.mocks import MockModel

LESSONS = Path(__file__).parents[1] / "compat/previous/prompt_reworded"
JUDGES = {"judge": ("mock/careful:a", "mock/careless:b")}
MODELS = ("--model", "mock/careful", "--role", "judge=mock/careful:a,mock/careless:b")


def test_a_spec_says_what_it_is(quiz: Path) -> None:
    spec = tripos.compile("quiz.tripos")
    assert (spec.name, spec.version, spec.roles) == ("quiz", "1.0.0", ("candidate", "judge"))
    assert spec.scenarios == ("sums", "words")
    assert spec.digest == tripos.compile(quiz).digest == spec.compiled_plan.digest


def test_a_spec_with_mistakes_is_an_exception_that_has_all_of_them(quiz: Path) -> None:
    text = (quiz / "quiz.tripos").read_text("utf-8")
    (quiz / "quiz.tripos").write_text(
        text.replace("reply.said", "reply.sad").replace("mean(long)", "mean(lang)"), "utf-8"
    )
    with pytest.raises(tripos.SpecError) as caught:
        tripos.compile("quiz.tripos")
    assert len([each for each in caught.value.diagnostics if each.severity == "error"]) == 2
    assert "2 errors" in caught.value.message and "reply.sad" in str(caught.value)
    with pytest.raises(tripos.SpecError, match="E0108: there is no spec at `nothing`"):
        tripos.compile("nothing")


def test_a_warning_can_be_denied(quiz: Path) -> None:
    with pytest.raises(tripos.SpecError) as caught:
        tripos.compile("quiz.tripos", deny=["E9999"])
    assert caught.value.message == "deny: there is no code `E9999` of a warning"
    spec = tripos.compile("quiz.tripos", deny="W1205", data=".")
    with pytest.raises(tripos.RunError) as denied:
        spec.run("mock/careful", roles={"judge": "mock/careful"})
    assert denied.value.code == "W1205" and 'roles={"NAME": "PROVIDER/MODEL"}' in denied.value.hint
    found = tripos.compile("quiz.tripos").plan("mock/careful", roles={"judge": "mock/careful"})
    assert [each.code for each in found.warnings] == ["W1205"]


def test_a_plan_bounds_the_run_that_follows(quiz: Path) -> None:
    spec = tripos.compile("quiz.tripos")
    planned = spec.plan("mock/careful", roles=JUDGES, scenarios="sums", limit=2)
    assert planned.items == {"sums": 2} and planned.reused == 0
    assert planned.cost_usd is not None and planned.cost_usd.high == 0
    run = spec.run("mock/careful", roles=JUDGES, scenarios="sums", limit=2)
    assert planned.calls.low <= run.asked <= planned.calls.high
    again = spec.plan("mock/careful", roles=JUDGES, scenarios="sums", limit=2)
    assert again.reused == run.asked and again.calls.high == 0
    assert not (quiz / "tripos.toml").exists()


def test_a_plan_without_models_has_one_in_each_role(quiz: Path) -> None:
    planned = tripos.compile("quiz.tripos").plan()
    assert planned.items == {"sums": 3, "words": 2}
    assert (planned.calls.low, planned.calls.high) == (5, 10)
    assert planned.cost_usd is None and planned.forecast is None
    assert {each["role"] for each in planned.to_json()["calls"]} == {"candidate", "judge"}
    assert not (quiz / "results").exists()


def test_a_run_has_its_report_and_its_measures_and_is_that_of_the_command_line(quiz: Path, tripos: Command) -> None:
    import tripos as package

    told: list[package.Progress] = []

    spec = package.compile("quiz.tripos")
    planned = spec.plan("mock/careful", roles=JUDGES).to_json()
    assert json.loads(json.dumps(planned)) == tripos("run", "quiz.tripos", *MODELS, "--dry-run", "--json").data
    run = spec.run("mock/careful", roles=JUDGES, progress=told.append)
    assert (told[-1].done, told[-1].asked, told[-1].run) == (told[-1].total, run.asked, run)
    assert (run.status, run.failed, run.cost_usd, run.store.name) == ("finished", 0, 0.0, "results")
    assert run.models == {"candidate": ("mock/careful",), **JUDGES}
    rows = run.measures.fetchall()
    assert run.measures.columns[:4] == ["measure", "model", "metric", "value"]
    assert [row[:3] for row in rows] == [
        ("by_metric", "mock/careful", "CLEAR"),
        ("by_metric", "mock/careful", "RIGHT"),
        ("length", "mock/careful", None),
    ]
    with run.results() as results:
        kept = results.sql("select measure, value from main.measures where run_id = ?", [run.id]).fetchall()
        assert results.report(run.id).to_json() == run.report().to_json()
    assert sorted(kept) == sorted((row[0], row[3]) for row in rows)
    said = tripos("run", "quiz.tripos", *MODELS, "--json").data["calls"]
    assert (said["asked"], said["reused"]) == (0, run.asked) and run.asked > 0


def test_cases_are_chosen_by_keyword(quiz: Path) -> None:
    spec = tripos.compile("quiz.tripos")
    assert spec.plan(scenarios=["words"], limit=1).items == {"words": 1}
    assert spec.plan(only={"language": "en"}).items == {"sums": 3, "words": 2}
    nothing = {"roles": None, "only": None, "scenarios": None, "limit": None, "subset": None}
    assert spec.plan(None, **nothing).items == spec.plan().items  # type: ignore[arg-type]
    with pytest.raises(tripos.RunError, match="axis `language` has no value `de`"):
        spec.plan(only={"language": "de"})
    with pytest.raises(tripos.RunError) as caught:
        spec.plan(seed=3)
    assert (caught.value.message, caught.value.hint) == (
        "`seed` draws items, but their number is missing",
        "give limit=N too",
    )
    with pytest.raises(tripos.RunError, match="R0202: `limit` must be at least 1"):
        spec.plan(limit=0)
    with pytest.raises(TypeError, match="no keyword `limt`; did you mean `limit`"):
        spec.plan(limt=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no keyword `locked`"):
        spec.plan(locked="tripos.lock")  # type: ignore[call-arg]
    with pytest.raises(tripos.RunError, match="R0202: `max_connections` must be at least 1"):
        spec.run("mock/careful", max_connections=0)


def test_settings_are_those_of_the_project(quiz: Path) -> None:
    (quiz / "tripos.toml").write_text(
        'models = "mock/careful"\nstore = "kept"\n[roles]\njudge = "mock/careless"\n', "utf-8"
    )
    run = tripos.compile("quiz.tripos").run()
    assert run.models == {"candidate": ("mock/careful",), "judge": ("mock/careless",)}
    assert run.store == quiz / "kept"


def test_a_progress_callback_can_stop_a_run(quiz: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos.runs.job.POLL_S", 0)
    ask = MockModel.ask

    async def slowly(model: MockModel, request: object) -> object:
        await asyncio.sleep(0.01)
        return await ask(model, request)  # type: ignore[arg-type]

    monkeypatch.setattr(MockModel, "ask", slowly)

    def stop(progress: tripos.Progress) -> None:
        if progress.asked:
            progress.stop()

    spec = tripos.compile("quiz.tripos")
    run = spec.run("mock/careful", roles=JUDGES, progress=stop, max_connections=1)
    assert run.status == "interrupted" and run.asked
    again = spec.run("mock/careful", roles=JUDGES)
    assert again.status == "finished" and again.reused == run.asked


def test_an_exception_of_a_callback_ends_the_run_and_is_raised(quiz: Path) -> None:
    def wrong(_: tripos.Progress) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        tripos.compile("quiz.tripos").run("mock/careful", roles=JUDGES, progress=wrong)
    with tripos.open("results") as results:
        assert len(results.runs()) == 1


def test_a_stop_that_comes_after_the_last_call_changes_nothing(quiz: Path) -> None:
    def stop(progress: tripos.Progress) -> None:
        if progress.done == progress.total and progress.total:
            progress.stop()

    assert tripos.compile("quiz.tripos").run("mock/careful", roles=JUDGES, progress=stop).status == "finished"


def test_a_notebook_awaits_a_run_or_calls_it(quiz: Path) -> None:
    spec = tripos.compile("quiz.tripos")
    threads: list[str] = []

    async def cell() -> tuple[tripos.Run, tripos.Run]:
        first = await spec.run_async("mock/careful", roles=JUDGES)
        second = spec.run(
            "mock/careless", roles=JUDGES, progress=lambda _: threads.append(threading.current_thread().name)
        )
        return first, second

    first, second = asyncio.run(cell())
    assert first.status == second.status == "finished" and first.asked and second.asked
    assert set(threads) == {"tripos-run"}


def test_runs_go_on_side_by_side(quiz: Path) -> None:
    spec = tripos.compile("quiz.tripos")

    async def both() -> list[tripos.Run]:
        return await asyncio.gather(
            spec.run_async("mock/careful", roles=JUDGES), spec.run_async("mock/careless", roles=JUDGES)
        )

    runs = asyncio.run(both())
    assert [run.status for run in runs] == ["finished", "finished"]
    alone = spec.run("mock/careful", roles=JUDGES, store="alone")
    assert runs[0].measures.fetchall() == alone.measures.fetchall()


def test_a_cancelled_run_is_recorded_and_goes_on_later(quiz: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tripos.compile("quiz.tripos")
    ask = MockModel.ask
    reached = asyncio.Event()

    async def stuck(model: MockModel, request: object) -> object:
        reached.set()
        await asyncio.Event().wait()
        return await ask(model, request)  # type: ignore[arg-type]

    async def cell() -> None:
        task = asyncio.create_task(spec.run_async("mock/careful", roles=JUDGES))
        await reached.wait()
        task.cancel()
        await task

    monkeypatch.setattr(MockModel, "ask", stuck)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cell())
    monkeypatch.setattr(MockModel, "ask", ask)
    with tripos.open("results") as results:
        assert [each.run.status for each in results.runs()] == ["interrupted"]
    assert spec.run("mock/careful", roles=JUDGES).status == "finished"


@pytest.mark.parametrize("where", spread(["script", "notebook"], 1))
def test_an_interrupt_is_raised_and_the_run_recorded(quiz: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr("tripos.runs.job.POLL_S", 0)
    pressed, stopped = threading.Event(), threading.Event()
    ask, stop = MockModel.ask, tripos.Run.stop

    def interrupt(progress: tripos.Progress) -> None:
        """Press Ctrl-C once calls were made."""
        if progress.asked and not pressed.is_set():
            pressed.set()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    async def held_up(model: MockModel, request: object) -> object:
        while pressed.is_set() and not stopped.is_set():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        return await ask(model, request)  # type: ignore[arg-type]

    def stop_and_say(run: tripos.Run) -> None:
        stop(run)
        stopped.set()

    monkeypatch.setattr(MockModel, "ask", held_up)
    monkeypatch.setattr(tripos.Run, "stop", stop_and_say)
    spec = tripos.compile("quiz.tripos")

    async def cell() -> None:
        spec.run("mock/careful", roles=JUDGES, progress=interrupt, max_connections=1)

    loop = asyncio.new_event_loop()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
    with pytest.raises(KeyboardInterrupt):
        if where == "script":
            spec.run("mock/careful", roles=JUDGES, progress=interrupt, max_connections=1)
        else:
            loop.run_until_complete(cell())
    loop.close()
    signal.signal(signal.SIGINT, before)
    with tripos.open("results") as results:
        assert [each.run.status for each in results.runs()] == ["interrupted"]


def test_a_run_that_has_to_stop_raises_and_keeps_what_it_has(quiz: Path) -> None:
    spec = tripos.compile("quiz.tripos")
    with pytest.raises(tripos.RunError) as caught:
        spec.run("mock/careful", roles=JUDGES, budget="3calls", max_connections=1)
    run = caught.value.run
    assert caught.value.code == "R0402" and run is not None
    assert run.status == "stopped" and run.asked == 3
    assert spec.run("mock/careful", roles=JUDGES).reused == 3


def test_a_run_is_held_to_a_lock(quiz: Path, tripos: Command) -> None:
    import tripos as package

    assert tripos("lock", "quiz.tripos", *MODELS).code == 0
    spec = package.compile("quiz.tripos")
    assert spec.run("mock/careful", roles=JUDGES, locked="tripos.lock").status == "finished"
    with pytest.raises(package.RunError, match="R0260"):
        spec.run("mock/careless", roles=JUDGES, locked="tripos.lock")


def test_nothing_is_printed(quiz: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tripos.compile("quiz.tripos")
    spec.plan("mock/careful", roles={"judge": "mock/careful"})
    run = spec.run("mock/careful", roles={"judge": "mock/careful"})
    with pytest.raises(tripos.RunError):
        spec.run()
    assert [each.code for each in run.warnings] == ["W1205"]
    assert capsys.readouterr() == ("", "")


def test_a_release_is_made_run_and_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = tripos.compile(LESSONS)
    made = tripos.release(spec, "releases", zip=True)
    assert made.path.name == f"{spec.name}-{spec.version}" and not made.was_there
    assert [Path(copy).name for copy in made.copies] == [f"{made.path.name}.zip"]
    assert tripos.release(LESSONS).was_there
    found = tripos.verify(made.path, digest=made.digest)
    assert not found.wrong and found.digest == made.digest
    assert tripos.compile(made.path).digest == spec.digest
    changed = made.path / "LICENSE"
    changed.chmod(0o644)
    changed.write_text("mine", "utf-8")
    assert [each.what for each in tripos.verify(made.path).wrong] == ["LICENSE"]


def test_mistakes_are_told_in_the_words_of_python_and_without_keys(quiz: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "pass-phrase-of-mine")
    with pytest.raises(tripos.RunError) as wrong:
        tripos.compile("quiz.tripos").run("mock/careful", roles={"pass-phrase-of-mine": "mock/careful"})
    assert wrong.value.message == "the benchmark has no role `(hidden)`"
    with pytest.raises(tripos.RunError) as wrong:
        tripos.compile("quiz.tripos").run(["openai/a", "openai/b"])
    assert (wrong.value.hint, wrong.value.run) == ('give one: roles={"judge": "PROVIDER/MODEL"}', None)
    with pytest.raises(tripos.ReleaseError, match="S0852"):
        tripos.release("quiz.tripos")
    with pytest.raises(tripos.ReleaseError, match="S0851: there is no release at `nothing`"):
        tripos.verify("nothing")
    with pytest.raises(tripos.ReleaseError) as caught:
        tripos.verify(quiz, digest="12")
    assert caught.value.message == '`digest="12"` is no SHA-256'
    with pytest.raises(tripos.SpecError):
        tripos.release("nothing")


def test_importing_and_looking_at_names_loads_nothing_heavy() -> None:
    code = (
        "import sys, tripos; dir(tripos)\n"
        "print([m for m in sys.modules if m.startswith('tripos')]); print('asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['tripos']\nFalse\n"
    assert all(getattr(tripos, name) is not None for name in tripos.__all__)
    with pytest.raises(AttributeError, match="has no attribute"):
        tripos.nothing  # noqa: B018
