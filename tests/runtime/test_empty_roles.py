"""Roles that nobody was given for: what fills them, and what is said where nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tripos.project import find_spec
from tripos_compiler.plan import Plan
from tripos_runtime.binding import BindingError, bind

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
