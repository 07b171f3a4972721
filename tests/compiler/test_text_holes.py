"""Texts of expressions with holes: what models are sent is what the holes print."""

from __future__ import annotations

from pathlib import Path

from tests.field.running import figures_in

SPEC = """
benchmark holes "1.0.0" { languages en }
role candidate compared
role judge
scorer about(said: text, asked: text) by judge { prompt "{{ asked }} {{ said }}", gives bool }
dataset item from "items.jsonl" { topic text }
scenario holes {
  over item
  let told = "You are asked of {{ item.topic }}."
  ask reply by candidate { system "{{ told }}", prompt "Go on." }
  score about = about(reply.text, "Is it of {{ upper(item.topic) }} alone?")
  score same  = "{{ reply.text }}!" == "{{ item.topic }}!"
  score open  = contains(reply.text, "{{")
  measure about = mean(about)
  measure same  = mean(same)
  measure open  = mean(open)
}
"""


def test_a_let_and_an_argument_of_a_judge_print_what_their_holes_say(tmp_path: Path) -> None:
    sent: list[str] = []

    def says(messages: list[str]) -> str:
        sent.append(messages[0])
        return messages[0].removeprefix("You are asked of ").removesuffix(".")

    items = '{"topic": "ice"}\n{"topic": "{{ item.topic }}"}\n'
    judge = {"judge": lambda messages: sent.append(messages[0]) or "true"}
    figures = figures_in(tmp_path, SPEC, {"items.jsonl": items}, says, judge)
    assert "You are asked of ice." in sent
    assert "Is it of ICE alone? ice" in "\n".join(sent)
    assert figures["holes.same"].value == 1
    assert figures["holes.open"].value == 0.5, "what a row says is never read as a template"
