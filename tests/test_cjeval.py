"""The CJEval spec: its tasks are those of the paper, its small data are ours, and all of it runs."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED_DATA, Command
from tripos.command.main import run_command
from tripos.project import find_spec
from tripos_compiler.plan import Plan
from tripos_compiler.semantics.library.likeness import similarity
from tripos_runtime.binding import bind
from tripos_runtime.cases import Case, CaseSource, Selection
from tripos_runtime.lookup import wirings
from tripos_runtime.retrieval.choosing import Chooser
from tripos_runtime.retrieval.retrieving import found
from tripos_runtime.shots import chosen_rows
from tripos_runtime.units import Names, Unit
from tripos_warehouse.store import Store
from tripos_warehouse.views import connect

SPEC = Path(__file__).parent.parent / "specs" / "cjeval"
Told = dict[tuple[str, str], tuple[float, float]]
needs_data = pytest.mark.skipif(not (SHARED_DATA / "cjeval").is_dir(), reason="the real data are not here")


def compiled(spec: Path = SPEC, *data: Path) -> tuple[Plan, CaseSource]:
    spec_found = find_spec(str(spec), [str(each) for each in data])
    compilation = spec_found.compile()
    # Of the real questions nearly all are 较易 or next to it, as the page of the benchmark says.
    assert [each.code for each in compilation.diagnostics] == ["E1001"] * len(data)
    assert compilation.plan is not None
    files = tuple(each.path for each in compilation.sources)
    return compilation.plan, CaseSource(compilation.plan, spec_found.folders, files)


@pytest.fixture(scope="module")
def own() -> tuple[Plan, CaseSource]:
    return compiled()


def units_of(own: tuple[Plan, CaseSource], scenario: str, **arms: str) -> list[Unit]:
    """A unit of every question in one treatment."""
    plan, source = own
    binding = bind(plan, ("a",), {"judge": ("j",)})
    chosen = [each for each in plan.scenarios if each.name == scenario]
    (wiring,) = [each for each in wirings(chosen, plan, binding)[scenario] if each.treatment.arms == arms]
    return [Unit(case, wiring, "a", 0) for case in source.of(chosen[0], Selection())]


def names_after_retrieval(unit: Unit) -> dict[str, Any]:
    """What the question's asks see."""
    names, chooser = Names(unit.case.names), Chooser()
    for step in unit.wiring.treatment.steps:
        if step.step == "retrieve":
            names.values[step.name] = found(chooser, unit, step, names)
    return names.values


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


def shot_before(own: tuple[Plan, CaseSource], unit: Unit, step: str) -> dict[str, Any] | None:
    """The worked example before a question."""
    (shots,) = unit.wiring.asks[step].shots
    rows = chosen_rows(shots, unit.case, names_after_retrieval(unit), own[1].sources)
    row = next(iter(rows), None)
    return None if row is None else dict(row.values)


def test_an_example_of_tagging_shares_subject_and_an_option_and_is_no_near_duplicate(
    own: tuple[Plan, CaseSource],
) -> None:
    shown = 0
    for unit in units_of(own, "kct", shots="one"):
        shot, options = shot_before(own, unit, "tags"), set(names_after_retrieval(unit)["options"])
        if shot is not None:
            shown += 1
            assert shot["subject"] == unit.case.fields["subject"]
            assert shot["concepts"] & options
            assert similarity(shot["stem"], unit.case.fields["stem"]) < 0.8
    assert shown > 10


def test_an_example_of_difficulty_is_of_the_same_subject_and_type_at_medium(own: tuple[Plan, CaseSource]) -> None:
    shots = [(shot_before(own, unit, "level"), unit.case) for unit in units_of(own, "qdp", shots="one")]
    given: list[tuple[dict[str, Any], Case]] = [(shot, case) for shot, case in shots if shot is not None]
    assert len(given) > 5
    for shot, case in given:
        assert (shot["subject"], shot["type"]) == (case.fields["subject"], case.fields["type"])
        assert shot["difficulty"] == "一般"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What a run with mocks comes to: the value and error of every measure that goes by nothing, by model."""
    store = str(tmp_path_factory.mktemp("cjeval") / "results")
    models = "mock/careful,baseline/constant:较易"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        command = ["run", str(SPEC), "--model", models, "--role", "judge=mock/fair", "--store", store, "--json"]
        assert run_command(command) == 0
    connection = connect(Store.open(Path(store), create=False))
    query = "select measure, model, value, standard_error from main.measures where dims = '{}'"
    found = connection.execute(query).fetchall()
    connection.close()
    return {(measure, model): (value, error) for measure, model, value, error in found}


def values(told: Told, model: str) -> dict[str, float]:
    return {measure: value for (measure, own), (value, _) in told.items() if own == model}


def test_the_composite_is_the_formula_of_the_paper(told: Told) -> None:
    got = values(told, "mock/careful")
    quality = (got["qg.concepts"] + got["qg.difficulty"]) / 2
    for shots in ("zero", "one"):
        parts = got[f"f1_{shots}"] + got[f"tolerant_{shots}"] + quality
        score = got["eduscore" if shots == "zero" else "eduscore_one"]
        assert score == pytest.approx(0.4 * got["qa.accuracy"] + 0.2 * parts)


def test_the_composite_has_an_error(told: Told) -> None:
    assert told["eduscore", "mock/careful"][1] > 0


def test_a_constant_gets_much_of_the_tolerant_accuracy(told: Told) -> None:
    got = values(told, "baseline/constant:较易")
    assert got["qdp.tolerant_accuracy"] > 0.6
    assert got["qdp.kappa"] == pytest.approx(0, abs=1e-9)


def test_the_ceiling_and_the_floors_stand_in_the_report(told: Told) -> None:
    got = values(told, "mock/careful")
    assert got["kct.ceiling"] == 1
    assert 0 < got["kct.floor_random"] < 1
    assert 0 < got["kct.floor_all"] < 1


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
