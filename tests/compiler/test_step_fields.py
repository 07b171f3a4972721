"""Whatever reads steps field by field takes in a field that is added, and names no fields of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from tests import changed_fields, sources
from tests.compiler.compiling import compile_files, plan_of
from tests.compiler.test_canonical_form import prints_of
from tripos_compiler.language.plan_diff import reply_changes, step_changes
from tripos_compiler.language.references import (
    CALLING,
    datasets_of,
    direct_dependencies,
    judge_input_names,
    required_inputs,
    uses,
)
from tripos_compiler.lowering import asks, conversations, scores, steps
from tripos_compiler.lowering.call_counts import StepReachability
from tripos_compiler.lowering.folding import fold_part
from tripos_compiler.plan import (
    Ask,
    Binary,
    Data,
    Expr,
    JudgedStep,
    Literal_,
    Loop,
    Part,
    Ref,
    SampleList,
    Scorer,
    Shots,
    Speaker,
    Step,
    Treatment,
    Verdict,
)
from tripos_compiler.plan.steps import FieldMark, field_marks

ARM, OTHER = Ref(path=("arm",)), Ref(path=("other", "text"))
LOOPED = next(step for step in changed_fields.STEPS if isinstance(step, Verdict)).model_copy(
    update={"loops": (Loop(alias="e", of=Ref(path=("item", "list"))),)}
)
STEPS = (*changed_fields.STEPS, LOOPED, SampleList(name="reply.samples", of="reply", fingerprint="f"))


@cache
def widened(kind: type[Part], default: Expr | None = None) -> Any:
    """Return a subclass of a kind of parts with one more field, which has no mark."""
    added: Any = (Expr | None, default)
    return create_model(f"Wide{kind.__name__}", __base__=kind, added=added)


def with_added(step: Step, added: Expr | None) -> Any:
    return widened(type(step))(**{name: getattr(step, name) for name in type(step).model_fields}, added=added)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.step)
def test_an_added_field_is_an_input_that_may_stop_the_step(step: Step) -> None:
    wide = with_added(step, OTHER)
    assert OTHER in [use.expr for use in uses(wide)]
    assert "other" in direct_dependencies(wide) - direct_dependencies(step)
    assert datasets_of(with_added(step, Data(dataset="more"))) == datasets_of(step) | {"more"}
    if isinstance(step, JudgedStep):
        assert "other" in judge_input_names(wide)
    if isinstance(step, CALLING):
        assert OTHER in [use.expr for use in required_inputs(wide)]
        other = Ask(name="other", role="candidate", when=Ref(path=("unknown",)), fingerprint="f")
        reachable = StepReachability((other, wide), frozenset(("item",)))
        assert not reachable.always(wide)
        assert (
            reachable.in_case(wide.model_copy(update={"when": None}), {"item": {"list": [1], "question": "Why?"}})
            is not True
        )


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.step)
def test_an_arm_in_an_added_field_is_replaced(step: Step) -> None:
    folded = fold_part(with_added(step, Binary(operator="==", left=ARM, right=Literal_(value="a"))), {"arm": "a"}, {})
    assert folded is not None and folded.added == Literal_(value=True)
    assert fold_part(step.model_copy(update={"when": Literal_(value=False)}), {"arm": "a"}, {}) is None


@pytest.mark.parametrize("step", changed_fields.STEPS, ids=lambda step: step.step)
def test_an_added_field_determines_the_result_and_is_a_change(step: Step) -> None:
    before, after = with_added(step, None), with_added(step, ARM)
    assert prints_of(before) == prints_of(step) != prints_of(after)
    plan = changed_fields.plan()
    assert reply_changes(before, after, plan, plan) == ["added"]
    [change] = step_changes(
        Treatment.model_construct(steps=(before,)), Treatment.model_construct(steps=(after,)), plan, plan
    )
    assert change.what == "added is other than before" and change.effect == "content"


SPEC = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role helper
dataset item from "items.jsonl" { question text, answer text secret }
dimension quality "Quality" { metric CLEAR "Clarity" { scale 1..5, asks "Is it clear?" } }
scorer judged(response: text) by candidate { prompt "{{ metrics }} {{ response }}", gives allocated metrics }
allocate judged {
  |   | CLEAR |
  | s |   x   |
}
scenario s {
  over item as q
  retrieve near from item as p { top 1 by length(p.question) }
  converse talk {
    candidate { system "Teach." }
    helper { system "Learn." }
    opens helper
    until helper says "END"
    limit 4 turns
  }
  ask reply by candidate {
    shots 1 from item as x { prompt "{{ x.question }}", reply "{{ x.question }}" }
    prompt "{{ q.question }} {{ near.question }}"
  }
  score judged(reply.text)
  score long = length(reply.text)
}
measure m = mean(long)
"""
MAKERS = [
    (asks, "Ask", "q"),
    (asks, "Shots", "x"),
    (conversations, "Converse", "q"),
    (conversations, "Speaker", "q"),
    (steps, "Retrieve", "q"),
    (scores, "Grade", "q"),
]


@pytest.mark.parametrize(("module", "name", "alias"), MAKERS, ids=[name for _, name, _ in MAKERS])
def test_a_secret_in_an_added_field_reaches_the_role_that_is_asked(
    module: Any, name: str, alias: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = '{"question": "Is it warm?", "answer": "yes"}\n'
    rows += '{"question": "Is it cold?", "answer": "no"}\n'
    files = {"spec.tripos": SPEC, "items.jsonl": rows}
    plan_of(compile_files(tmp_path, files))
    monkeypatch.setattr(module, name, widened(getattr(module, name), Ref(path=(alias, "answer"))))
    assert {item.code for item in compile_files(tmp_path, files).diagnostics if item.severity == "error"} == {"E0501"}


KINDS = (*(type(step) for step in STEPS), Shots, Speaker, Scorer)
FIELDS = [set(kind.model_fields) for kind in KINDS]


def lists_of_texts(tree: ast.Module) -> Iterator[tuple[int, set[str]]]:
    """Yield the line and the texts of each list, tuple and set, and of each table of a module, that has three or more
    texts and nothing else."""
    tables = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    for node in ast.walk(tree):
        parts: list[ast.expr | None] = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = [*node.elts]
        elif isinstance(node, ast.Dict) and node in tables:
            parts = [*node.keys]
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if len(parts) == len(texts) > 2:
            yield parts[0].lineno if parts[0] is not None else 0, set(texts)


def test_no_list_of_fields_of_a_step_stands_outside_of_their_declaration() -> None:
    paths = sources.modules("compiler", "runtime")
    found = [
        f"{sources.name_of(path)}:{line} {sorted(texts)}"
        for path in paths
        if path.parent.name != "plan"
        for line, texts in lists_of_texts(sources.tree_of(path))
        if any(texts <= fields for fields in FIELDS)
    ]
    assert len(paths) > 150 and found == []


def test_an_unmarked_field_counts_as_everything() -> None:
    assert field_marks(widened(Ask))["added"] == FieldMark() == FieldMark("other", "content")
