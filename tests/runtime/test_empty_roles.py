"""Roles that nobody was given for: what fills them, and what is said where nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan
from tripos_runtime.program.binding import BindingError, bind

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def plan() -> Plan:
    found = find_spec(str(ROOT / "specs" / "teachbench")).compile().plan
    assert found is not None
    return found


def test_of_several_mock_models_the_first_fills_what_is_empty(plan: Plan) -> None:
    models = bind(plan, ("mock/a", "mock/b"), {"student": ("mock/s",)}).models
    assert models == {
        "teacher": ("mock/a", "mock/b"),
        "student": ("mock/s",),
        "tagger": ("mock/a",),
        "author": ("mock/a",),
        "verifier": ("mock/a",),
    }


def test_all_empty_roles_are_told_where_one_of_several_models_is_real(plan: Plan) -> None:
    with pytest.raises(BindingError) as caught:
        bind(plan, ("mock/a", "openai/b"), {"student": ("mock/s",), "author": ("mock/s",)})
    assert caught.value.code == "R0201"
    assert caught.value.message == "no model fills the roles `tagger`, `verifier`"
    assert caught.value.hint == "give each one: --role tagger=PROVIDER/MODEL --role verifier=PROVIDER/MODEL"


@pytest.fixture(scope="module")
def with_default() -> Plan:
    found = find_spec(str(ROOT / "specs" / "cjeval")).compile().plan
    assert found is not None
    return found


def test_a_role_takes_the_models_of_its_default(with_default: Plan) -> None:
    models = bind(with_default, ("a/one", "b/two"), {"judge": ("c/j",)}).models
    assert models == {"candidate": ("a/one", "b/two"), "judge": ("c/j",), "reviewer": ("c/j",)}


def test_a_role_that_is_given_a_model_leaves_its_default_alone(with_default: Plan) -> None:
    models = bind(with_default, ("a/one", "b/two"), {"judge": ("c/j",), "reviewer": ("d/r",)}).models
    assert models == {"candidate": ("a/one", "b/two"), "judge": ("c/j",), "reviewer": ("d/r",)}


def test_where_the_default_is_empty_too_both_are_told(with_default: Plan) -> None:
    with pytest.raises(BindingError) as caught:
        bind(with_default, ("a/one", "b/two"), {})
    assert caught.value.message == "no model fills the roles `judge`, `reviewer`"
