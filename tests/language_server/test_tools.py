"""Tools in editors: proposed where a step offers them, explained, renamed, and with the arguments of their calls."""

from __future__ import annotations

from talking import Editor

TOP, ASKED, SCORED = (
    "scenario sums en",
    '    prompt "Shout',
    "  score rubric(task: item.question, response: reply.text)\n}\n\nmeasure",
)
TOOL = f'tool look_up "Look a word up." {{ word text "The word", much 1..5? }}\n\n{TOP}'
OFFER = f"    tools look_up\n{ASKED}"
LOOKED = f"  score looked = any(call.word == item.question each call in reply.look_up)\n{SCORED}"


def test_tools_are_proposed_explained_and_renamed(editor: Editor) -> None:
    with (
        editor.edited("quiz.tripos", TOP, TOOL),
        editor.edited("quiz.tripos", ASKED, OFFER),
        editor.edited("quiz.tripos", SCORED, LOOKED),
    ):
        assert editor.messages("quiz.tripos") == []
        assert "look_up" in editor.completions("quiz.tripos", "    tools loo|k_up")
        assert "look_up" in editor.completions("quiz.tripos", "each call in reply.loo|k_up")
        assert "word" in editor.completions("quiz.tripos", "any(call.wo|rd ==")
        shown = editor.hover("quiz.tripos", "    tools look|_up")
        assert shown is not None
        assert "Look a word up." in shown and "much 1..5?" in shown
        changed = editor.renamed("quiz.tripos", "    tools look|_up", "find_word")["quiz.tripos"]
    assert "tool find_word" in changed and "tools find_word" in changed and "in reply.find_word)" in changed
    assert "look_up" not in changed
