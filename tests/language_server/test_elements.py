"""The name that `each` gives the elements of a list: its meaning, its fields, and another name for it."""

from __future__ import annotations

from talking import Editor

OLD = "  score long"
LOOP = "any(length(part) > 1 each part in [reply.said] where part != item.question)"
STEP = f"  score found = {LOOP}\n  score long"


def test_an_element_is_explained_and_renamed_wherever_it_stands(editor: Editor) -> None:
    with editor.edited("quiz.tripos", OLD, STEP):
        shown = editor.hover("quiz.tripos", "any(length(pa|rt) > 1")
        assert shown is not None
        assert "text" in shown
        changed = editor.renamed("quiz.tripos", "each pa|rt in", "piece")
    assert "any(length(piece) > 1 each piece in [reply.said] where piece != item.question)" in changed["quiz.tripos"]


def test_an_element_is_proposed_in_front_of_each(editor: Editor) -> None:
    with editor.edited("quiz.tripos", OLD, STEP):
        found = editor.completions("quiz.tripos", "any(length(par|t) > 1")
    assert "part" in found
