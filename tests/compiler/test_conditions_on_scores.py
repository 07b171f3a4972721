"""`where:` on what a judge gives is told how it is written, and the figure of the help compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.compiler.compiling import compile_files
from tests.lengths import spread

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
arm tone { plain, warm }
dataset item from "items.jsonl" { text text, kind text, level integer }
dimension style "Style" {
  metric CLEAR "Clarity" { scale 1..5, asks "Is it clear?" }
}
scorer clear(reply: text) by judge { prompt "How clear? {{ reply }}", gives 1..5 }
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
scorer better(one: text, other: text) by judge { prompt "{{ one }} or {{ other }}", gives choice(A, B, tie) }
allocate rubric {
  |       | CLEAR |
  | asked | x     |
}
scenario asked {
  over item
  arms tone
  ask reply by candidate { prompt "{{ item.text }} {{ tone }}" }
  score judged = clear(reply.text)
  score twice  = clear(reply.text) * 2
  score each_of = clear(w) each w in split(reply.text, " ") at most 3
  score rubric(reply.text)
  compare preferred using better(first.reply.text, second.reply.text)
  IN
}
TOP
"""
ITEMS = '{"text": "a", "kind": "sum", "level": 1}\n{"text": "b", "kind": "part", "level": 2}\n'
SCORES = ("mean(judged", "mean(twice", "mean(each_of", "mean(rubric", "mean(CLEAR", "win_rate(preferred")
CONDITIONS = ('item.kind == "sum"', "item.level == 2", "tone == warm", "item.level > 1")


def helps(folder: Path, place: str, statements: str) -> list[str | None]:
    text = SPEC.replace(place, statements).replace("IN\n", "\n").replace("TOP\n", "\n")
    made = compile_files(folder, {"spec.tripos": text, "items.jsonl": ITEMS})
    return [each.help for each in made.diagnostics if each.severity == "error"]


@pytest.mark.parametrize("place", ["IN", "TOP"])
def test_the_figure_of_the_help_compiles(place: str, tmp_path: Path) -> None:
    for score in SCORES:
        for condition in spread(CONDITIONS, 2):
            (help_,) = helps(tmp_path, place, f"measure m = {score}, where: {condition})")
            assert help_ is not None
            if sliced := re.search(r"`measure each = … (by .*)`, then `(each\[.*\])`", help_):
                right = f"measure each = {score}) {sliced[1]}\n  measure m = {sliced[2]}"
                assert helps(tmp_path, place, right) == [], right
            elif scored := re.search(r"`score NAME = … (when .*)`;", help_):
                right = f"score own = clear(reply.text) {scored[1]}\n  measure m = mean(own)"
                assert helps(tmp_path, "IN", right) == [], right
            elif compared := re.search(r"`compare NAME using SCORER\(…\) (when .*)`", help_):
                right = f"compare own using better(first.reply.text, second.reply.text) {compared[1]}"
                assert helps(tmp_path, "IN", f"{right}\n  measure m = win_rate(own)") == [], right
            else:
                assert "field of the rows" in help_
                assert score in ("mean(rubric", "mean(CLEAR")
