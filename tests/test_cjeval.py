"""The CJEval spec: its tasks are those of the paper, its small data are ours, and all of it runs."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED_DATA, Command
from tripos.cli.main import run_command
from tripos.runs.compilation import find_spec
from tripos_compiler.library.functions.similarity import similarity
from tripos_compiler.plan import Plan
from tripos_runtime.asking.plan_questions import Questions, reply_reader
from tripos_runtime.asking.prompts import ask_messages, chosen_rows
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.lookup import bound_treatments
from tripos_runtime.program.binding import bind
from tripos_runtime.program.retrieval import Chooser
from tripos_runtime.program.units import Unit
from tripos_runtime.program.values import StepValues
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = Path(__file__).parent.parent / "specs" / "cjeval"
Told = dict[tuple[str, str], tuple[float, float]]
needs_data = pytest.mark.skipif(not (SHARED_DATA / "cjeval").is_dir(), reason="the real data are not here")


def compiled(spec: Path = SPEC, *data: Path) -> tuple[Plan, CaseSource]:
    spec_found = find_spec(str(spec), [str(each) for each in data])
    compilation = spec_found.compile()
    # Of the real questions nearly all are 较易 or next to it, and train is not among the real data, as the page says.
    assert [each.code for each in compilation.diagnostics] == ["W1001", "W1011"] * len(data)
    assert compilation.plan is not None
    files = tuple(each.path for each in compilation.sources)
    return compilation.plan, CaseSource(compilation.plan, spec_found.folders, files)


@pytest.fixture(scope="module")
def own() -> tuple[Plan, CaseSource]:
    return compiled()


def units_of(own: tuple[Plan, CaseSource], scenario: str, **arms: str) -> list[Unit]:
    """Return a unit of every question in one treatment."""
    plan, source = own
    binding = bind(plan, ("a",), {"judge": ("j",)})
    chosen = [each for each in plan.scenarios if each.name == scenario]
    (bound,) = [each for each in bound_treatments(chosen, plan, binding)[scenario] if each.treatment.arms == arms]
    return [Unit(case, bound, "a", 0) for case in source.of(chosen[0], Selection())]


def names_after_retrieval(unit: Unit) -> dict[str, Any]:
    """Return what the question's asks see."""
    names, chooser = StepValues(unit.case.names), Chooser()
    for step in unit.bound.treatment.steps:
        if step.step == "retrieve":
            names.values[step.name] = chooser.chosen(step, names.values, unit.case.fields)
    return names.values


@pytest.mark.long
@needs_data
def test_the_real_data_have_the_questions_of_the_paper() -> None:
    plan, _ = compiled(SPEC, SHARED_DATA)
    counts = Counter({each.name: each.row_count for each in plan.scenarios})
    assert counts == dict.fromkeys(("kct", "qdp", "qa", "qg"), 3210)
    assert sum(each.calls for each in plan.calls if each.role == "candidate") == 6 * 3210


def test_the_right_concepts_are_among_the_options_and_no_other_subject_is(own: tuple[Plan, CaseSource]) -> None:
    every: dict[str, set[str]] = {}
    units = units_of(own, "kct", shots="zero")
    for unit in units:
        every.setdefault(unit.case.fields["subject"], set()).update(unit.case.fields["concepts"])
    for unit in units:
        options = set(names_after_retrieval(unit)["options"])
        others = set().union(*(has for subject, has in every.items() if subject != unit.case.fields["subject"]))
        assert unit.case.fields["concepts"] <= options
        assert not options & others


def shots_before(own: tuple[Plan, CaseSource], unit: Unit, step: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the worked examples before a question, each with its data set."""
    names = names_after_retrieval(unit)
    return [
        (shots.dataset, dict(row.values))
        for shots in unit.bound.asks[step].shots
        for row in islice(chosen_rows(shots, unit.case, names, own[1].sources), shots.count)
    ]


def sent_to(own: tuple[Plan, CaseSource], unit: Unit, step: str) -> list[str]:
    """Return what is sent to the candidate, message by message."""
    plan, source = own
    ask, questions = unit.bound.asks[step], Questions(plan, tuple(source.axes.values()))
    names = {**unit.case.names, **names_after_retrieval(unit)}
    return [
        each.content for each in ask_messages(ask, questions.of(ask, "zh", names), unit.case, names, source.sources)
    ]


def test_an_example_of_tagging_shares_subject_and_an_option_and_is_no_near_duplicate(
    own: tuple[Plan, CaseSource],
) -> None:
    shown = 0
    for unit in units_of(own, "kct", shots="one"):
        options = set(names_after_retrieval(unit)["options"])
        for dataset, shot in shots_before(own, unit, "tags"):
            shown += 1
            assert dataset == "dev"
            assert shot["subject"] == unit.case.fields["subject"]
            assert shot["concepts"] & options
            assert similarity(shot["stem"], unit.case.fields["stem"]) < 0.8
    assert shown > 10


def test_an_example_of_tagging_is_asked_with_candidates_and_answered_as_the_question_is_to_be(
    own: tuple[Plan, CaseSource],
) -> None:
    for unit in units_of(own, "kct", shots="one"):
        for _, shot in shots_before(own, unit, "tags"):
            asked, replied, question = sent_to(own, unit, "tags")
            listed = {line[2:] for line in asked.splitlines() if line.startswith("- ")}
            assert set(names_after_retrieval(unit)["options"]) | shot["concepts"] == listed
            read = reply_reader(unit.bound.asks["tags"].returns, (), "zh")(replied)
            assert read.value == shot["concepts"]
            assert question.startswith("题目：") and asked.startswith("题目：")


def test_an_example_of_difficulty_is_of_the_same_subject_and_type_at_medium_and_of_valid_where_that_has_one(
    own: tuple[Plan, CaseSource],
) -> None:
    kinds: dict[str, set[tuple[str, str]]] = {"dev": set(), "train": set()}
    for name, of in kinds.items():
        rows = [row.values for row in own[1].sources.stream(own[0].dataset(name))]
        of.update((row["subject"], row["type"]) for row in rows if row["difficulty"] == "一般")
    drawn: Counter[str] = Counter()
    for unit in units_of(own, "qdp", shots="one"):
        kind = (unit.case.fields["subject"], unit.case.fields["type"])
        found = shots_before(own, unit, "level")
        wanted = [name for name in ("dev", "train") if kind in kinds[name]][:1]
        assert [dataset for dataset, _ in found] == wanted
        drawn.update(wanted)
        for _, shot in found:
            assert (shot["subject"], shot["type"], shot["difficulty"]) == (*kind, "一般")
            _, replied, _ = sent_to(own, unit, "level")
            assert reply_reader(unit.bound.asks["level"].returns, (), "zh")(replied).value == "一般"
    assert drawn["dev"] > 5
    assert drawn["train"] > 2


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """By task, the lines of one export of all four, where train has the questions that come as test, and test others."""
    folder = tmp_path_factory.mktemp("learned")
    data = folder / "cjeval"
    for from_, to in (("test", "train"), ("train", "test"), ("valid", "valid")):
        shutil.copytree(SPEC / "data" / "cjeval" / from_, data / to)
    out, tasks = folder / "all.jsonl", ("kct", "qdp", "qa", "qg")
    named = ",".join(f"{task}_explained" for task in tasks)
    with contextlib.redirect_stdout(io.StringIO()):
        assert run_command(["export", named, "--spec", str(SPEC), "--data", str(folder), "-o", str(out)]) == 0
    said = json.loads((folder / "all.jsonl.provenance.json").read_text("utf-8"))
    lines = [json.loads(line)["messages"] for line in out.read_text("utf-8").splitlines()]
    by_task: dict[str, list[Any]] = {task: [] for task in tasks}
    for line, of in zip(lines, said["lines"], strict=True):
        by_task[of["export"].removesuffix("_explained")].append(line)
    assert said["exports"] == named.split(",")
    assert len({of["export"] for of in said["lines"][:4]}) >= 3  # mixed, and not one task after another
    return by_task


@pytest.mark.parametrize(("task", "step", "arms"), [("qdp", "level", {"shots": "zero"}), ("qa", "answer", {})])
def test_what_is_learned_is_asked_as_the_benchmark_asks_it(
    own: tuple[Plan, CaseSource], learned: dict[str, list[Any]], task: str, step: str, arms: dict[str, str]
) -> None:
    asked = [sent_to(own, unit, step) for unit in units_of(own, task, **arms)]
    note = "\n\n只输出 JSON"  # the form of the reply is that of the export
    told = [[each["content"].partition(note)[0] for each in line[:-1]] for line in learned[task]]
    assert told == [[text.partition(note)[0] for text in texts] for texts in asked]


def test_what_is_learned_of_tagging_has_candidates_with_the_right_ones_among_them(
    own: tuple[Plan, CaseSource], learned: dict[str, list[Any]]
) -> None:
    for unit, (asked, _) in zip(units_of(own, "kct", shots="zero"), learned["kct"], strict=True):
        listed = {line[2:] for line in asked["content"].splitlines() if line.startswith("- ")}
        assert unit.case.fields["concepts"] < listed


def test_what_is_learned_of_making_questions_has_another_question_of_the_same_kind_as_its_reference(
    tmp_path: Path, tripos: Command
) -> None:
    done = tripos("export", "qg_answers", "--spec", str(SPEC), "-o", str(tmp_path / "qg.jsonl"))
    assert done.code == 0, done.err
    lines = [json.loads(line)["messages"] for line in (tmp_path / "qg.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 2
    for asked, replied in lines:
        stem = json.loads(replied["content"])["stem"]
        assert asked["content"].startswith("参考题：")
        assert stem not in asked["content"]
        assert "- 待定系数法" in asked["content"]


def test_what_is_learned_can_be_read_as_a_reply(own: tuple[Plan, CaseSource], learned: dict[str, list[Any]]) -> None:
    for task, step, field in (("kct", "tags", "concepts"), ("qdp", "level", "difficulty")):
        for unit, line in zip(units_of(own, task, shots="zero"), learned[task], strict=True):
            read = reply_reader(unit.bound.asks[step].returns, (), "zh")(line[-1]["content"])
            assert read.value == unit.case.fields[field], line[-1]["content"]


@pytest.mark.parametrize("kind", ["answers", "explained"])
def test_what_is_learned_has_the_form_that_its_prompt_asks_for(kind: str, tmp_path: Path, tripos: Command) -> None:
    named = ",".join(f"{task}_{kind}" for task in ("kct", "qdp", "qa", "qg"))
    done = tripos("export", named, "--spec", str(SPEC), "-o", str(tmp_path / "t.jsonl"))
    assert done.code == 0, done.err
    fields: Counter[tuple[str, ...]] = Counter()
    for line in (tmp_path / "t.jsonl").read_text("utf-8").splitlines():
        asked, replied = (message["content"] for message in json.loads(line)["messages"])
        assert "题目：题目" not in asked
        if "只输出 JSON" in asked:
            reply = json.loads(replied)
            assert all(f'"{field}"' in asked for field in reply)
            fields[tuple(reply)] += 1
        else:
            assert ("不写理由" in asked) == ("\n" not in replied)
    more = ("explanation",) if kind == "explained" else ()
    assert fields == {(*more, "value"): 22, ("stem", "answer", *more): 2}


def test_a_prompt_has_one_label_of_a_question(own: tuple[Plan, CaseSource]) -> None:
    plan, source = own
    for unit in units_of(own, "qa")[:1]:
        for label in ("题目内容: ", "问题描述：", "试题内容:", ""):
            row = {**unit.case.fields, "stem": f"{label}冬冬有几支笔？题目内容: 两支。"}
            names = {**unit.case.names, "q": row}
            ask = unit.bound.asks["answer"]
            question = Questions(plan, ()).of(ask, "zh", names)
            (sent,) = ask_messages(ask, question, unit.case, names, source.sources)
            assert "题目：冬冬有几支笔？题目内容: 两支。\n" in sent.content


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Return what a run with mocks comes to: the value and error of every measure that does not go by subject, by its
    name, with the arm where it goes by that, and by model."""
    store = str(tmp_path_factory.mktemp("cjeval") / "results")
    models = "mock/careful,baseline/constant:较易"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        command = ["run", str(SPEC), "--model", models, "--role", "judge=mock/fair", "--store", store, "--json"]
        assert run_command(command) == 0
    connection = connect(Store.open(Path(store), create=False))
    query = "select measure, dims, model, value, standard_error from main.measures where dims not like '%subject%'"
    found = connection.execute(query).fetchall()
    connection.close()
    shots = {dims: json.loads(dims).get("shots") for _, dims, *_ in found}
    named = [(f"{name}[{arm}]" if (arm := shots[dims]) else name, *rest) for name, dims, *rest in found]
    return {(measure, model): (value, error) for measure, model, value, error in named}


def values(told: Told, model: str) -> dict[str, float]:
    return {measure: value for (measure, own), (value, _) in told.items() if own == model}


def test_the_composite_is_the_formula_of_the_paper(told: Told) -> None:
    got = values(told, "mock/careful")
    quality = (got["qg.concepts"] + got["qg.difficulty"]) / 2
    for shots in ("zero", "one"):
        parts = got[f"kct.macro_f1[{shots}]"] + got[f"qdp.tolerant_accuracy[{shots}]"] + quality
        score = got["eduscore" if shots == "zero" else "eduscore_one"]
        assert score == pytest.approx(0.4 * got["qa.accuracy"] + 0.2 * parts)


def test_the_composite_has_an_error(told: Told) -> None:
    assert told["eduscore", "mock/careful"][1] > 0


def test_a_constant_gets_much_of_the_tolerant_accuracy(told: Told) -> None:
    got = values(told, "baseline/constant:较易")
    for shots in ("zero", "one"):
        assert got[f"qdp.tolerant_accuracy[{shots}]"] > 0.6
        assert got[f"qdp.kappa[{shots}]"] == pytest.approx(0, abs=1e-9)


def test_the_ceiling_and_the_floors_stand_in_the_report(told: Told) -> None:
    got = values(told, "mock/careful")
    assert got["kct.ceiling"] == 1
    assert 0 < got["kct.floor_random"] < 1
    assert 0 < got["kct.floor_all"] < 1


@pytest.mark.long
def test_concepts_can_be_found_by_embeddings_as_planned_and_again_from_a_recording(
    tripos: Command, tmp_path: Path
) -> None:
    spec, store = str(SPEC / "embedded"), str(tmp_path / "r")
    models = ("--model", "mock/careful", "--role", "encoder=mock/embedding")
    planned = tripos("run", spec, *models, "--store", store, "--dry-run", "--json").data
    done = tripos("run", spec, *models, "--store", store, "--json")
    assert done.code == 0, done.err
    foreseen = sum(line["at_most"] for line in planned["calls"])
    assert done.data["calls"]["asked"] == foreseen == 16 + 16 + 24
    again = tripos("run", spec, "--model", f"replay/{store}", "--store", str(tmp_path / "again"), "--json")
    assert again.code == 0, again.err
    assert again.data["calls"]["asked"] == 16 + 16 + 24
