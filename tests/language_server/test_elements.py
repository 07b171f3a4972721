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


ASKED = """\
  ask parts by candidate { prompt en "Parts of {{ item.question }}" zh "部分", returns { parts list<text> } }
  ask told by candidate each piece in parts.parts where length(piece) > 1 at most 4 {
    prompt en "Say {{ piece }}." zh "说 {{ piece }}。"
  }
  score said = words(t.text) > words(t.piece) each t in told
  score long"""


def test_an_element_that_is_asked_about_is_known_in_its_ask_and_beside_its_reply(editor: Editor) -> None:
    with editor.edited("quiz.tripos", OLD, ASKED):
        assert "piece" in editor.completions("quiz.tripos", 'prompt en "Say {{ pie|ce }}."')
        assert {"piece", "text"} <= set(editor.completions("quiz.tripos", "score said = words(t.|text)", "."))
        assert "told" in editor.completions("quiz.tripos", "each t in to|ld")
        assert "parts" in editor.completions("quiz.tripos", "each piece in par|ts.parts")
        shown = editor.hover("quiz.tripos", "where length(pie|ce) > 1")
        assert shown is not None and "text" in shown
    with editor.edited("quiz.tripos", OLD, ASKED.replace("words(t.piece)", "1")):
        changed = editor.renamed("quiz.tripos", "each pie|ce in", "bit")
    assert "each bit in parts.parts where length(bit) > 1" in changed["quiz.tripos"]
    assert "Say {{ bit }}." in changed["quiz.tripos"]


NEW = """\
  ask first by candidate { prompt en "One." zh "一。" }
  ask second by candidate { continue first, prompt en "Two." zh "二。" }
  ask game by candidate { prompts (item.question, "So?") at most 2, until words(game.text) > 3 }
  score played = words(t.text) > 1 each t in game.turns
  score long"""


def test_steps_that_go_on_are_proposed_in_their_places(editor: Editor) -> None:
    with editor.edited("quiz.tripos", OLD, NEW):
        assert "first" in editor.completions("quiz.tripos", "continue fir|st")
        assert "item" in editor.completions("quiz.tripos", "prompts (it|em.question")
        assert {"text", "replies", "turns"} <= set(editor.completions("quiz.tripos", "each t in game.|turns", "."))
        assert {"text", "replies", "turns"} <= set(editor.completions("quiz.tripos", "until words(game.|text)", "."))
        block = editor.completions("quiz.tripos", "by candidate { |continue first")
    assert {"continue", "prompts", "until", "tools", "prompt"} <= set(block)


def test_tools_are_proposed_behind_the_word(editor: Editor) -> None:
    tool = 'tool find "Finds." { name text "A name." }\nmeasure overall'
    step = '  ask called by candidate { prompt en "Call." zh "叫。", tools find }\n  score n = length(called.calls)\n  score long'
    with editor.edited("quiz.tripos", "measure overall", tool), editor.edited("quiz.tripos", OLD, step):
        assert "find" in editor.completions("quiz.tripos", "tools fi|nd")
        assert "calls" in editor.completions("quiz.tripos", "length(called.|calls)", ".")
