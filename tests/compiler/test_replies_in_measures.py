"""A measure outside of its scenario that takes a reply is told where it belongs."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.compiling import compile_files

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, gold choice(yes, no) secret }
scenario asked {
  over item
  ask reply by candidate { prompt "{{ item.question }}", returns choice(yes, no) }
  score right = reply == item.gold
}
measure balanced = balanced_accuracy(asked.reply, item.gold)
"""


def test_the_help_leads_into_the_scenario(tmp_path: Path) -> None:
    rows = '{"question": "a?", "gold": "yes"}\n{"question": "b?", "gold": "no"}\n'
    made = compile_files(tmp_path, {"spec.tripos": SPEC, "items.jsonl": rows})
    assert [each.help for each in made.diagnostics] == [
        f"if `{name}` is a name inside of a scenario, write the measure there" for name in ("reply", "item")
    ]
