"""A function of the library that gives something else than before: what was made of it is made anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.compiler.compiling import compile_text
from tripos_compiler.lower import fingerprints
from tripos_compiler.semantics.library import FUNCTIONS

SPEC = """benchmark b "1.0.0" { languages en }
role candidate compared
axis tone { warm, formal }
scenario s {
  context tone
  ask reply by candidate { prompt "say a {{ tone }}" }
  score long  = words(reply.text) > 3
  score lined = contains(reply.text, "a")
}
"""


def printed(monkeypatch: pytest.MonkeyPatch, functions: Mapping[str, Any]) -> dict[str, str]:
    """The fingerprints of a scenario's steps, where these are the functions of the library."""
    monkeypatch.setattr(fingerprints, "FUNCTIONS", functions)
    plan = compile_text(SPEC).plan
    assert plan is not None
    [treatment] = plan.scenarios[0].treatments
    return {step.name: step.fingerprint for step in treatment.steps}


def test_only_what_takes_a_function_that_was_changed_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = printed(monkeypatch, FUNCTIONS)
    after = printed(monkeypatch, {**FUNCTIONS, "words": replace(FUNCTIONS["words"], version=2)})
    assert {name for name in before if before[name] != after[name]} == {"long"}
