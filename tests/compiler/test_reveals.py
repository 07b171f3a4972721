"""The list of what a benchmark reveals: every use of `reveal` through which a secret goes."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.compiler.compiling import compile_files, plan_of

HEAD = """benchmark shown "1.0.0" { languages en }
role candidate compared
let wrong(text: text) = reveal(text) != "yes"
dataset item from "items.jsonl" { question text, answer text secret, topic text }
"""
WHERE = {
    'reveal(item.answer) == "no"': "item.answer",
    'item.topic == "a" and reveal(item.answer) == "no"': "item.answer",
    "wrong(item.answer)": "item.answer",
    "reveal(length(item.answer)) > 2": "length(item.answer), which tells item.answer",
}
BESIDE = {
    "nothing": "",
    "all rows": 'scenario other {\n  over item\n  ask reply by candidate { prompt "{{ item.question }}" }\n  score ok = words(reply.text) > 1\n}',
    "other rows": 'scenario other {\n  over item where reveal(item.answer) == "yes"\n  ask reply by candidate { prompt "{{ item.question }}" }\n  score ok = words(reply.text) > 1\n}',
}
ROWS = '{"question": "A?", "answer": "no", "topic": "a"}\n{"question": "B?", "answer": "yes", "topic": "b"}\n'


@pytest.mark.parametrize(("where", "beside"), list(product(WHERE, BESIDE)))
def test_a_secret_that_chooses_rows_is_listed_whatever_other_scenarios_ask(
    where: str, beside: str, tmp_path: Path
) -> None:
    own = f"""scenario some {{
  over item where {where}
  ask reply by candidate {{ prompt "{{{{ item.question }}}}" }}
  score right = contains(reply.text, item.answer)
}}
{BESIDE[beside]}
measure right = mean(right)
"""
    plan = plan_of(compile_files(tmp_path, {"spec.tripos": HEAD + own, "items.jsonl": ROWS}))
    found = [(each.step, each.shown) for each in plan.reveals if each.scenario == "some"]
    assert found == [("where", WHERE[where])]
