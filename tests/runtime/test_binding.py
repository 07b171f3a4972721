"""A role that takes one model is not given several."""

from __future__ import annotations

import pytest

from tests.compiler.compiling import compile_text, plan_of
from tripos_runtime.program.binding import BindingError, bind

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role helper
role judge panel
scorer fine(text: text) by judge { prompt "{{ text }}", gives bool }
scenario sums {
  ask hint by helper { prompt "A hint?" }
  ask answer by candidate { prompt "{{ hint.text }}" }
  score fine = fine(answer.text)
}
"""


def test_two_models_are_too_many_for_a_role_that_takes_one() -> None:
    plan = plan_of(compile_text(SPEC))
    with pytest.raises(BindingError) as caught:
        bind(plan, ("lab/a",), {"helper": ("lab/b", "lab/c"), "judge": ("lab/d",)})
    assert caught.value.code == "R0201" and "`helper`" in caught.value.message
    bound = bind(plan, ("lab/a",), {"helper": ("lab/b",), "judge": ("lab/c", "lab/d")})
    assert (bound.of("helper"), bound.of("judge")) == (("lab/b",), ("lab/c", "lab/d"))
