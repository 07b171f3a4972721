"""`returns json` in the compiler: what goes with it, what has another type, and that what was told flows through it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from compiling import compile_files

from tests.each import each

HEAD = """benchmark demo "1.0.0" { languages en }
role candidate compared
role helper
role judge panel
dataset item from "items.jsonl" { question text, word text secret, key json secret }
scorer good(said: json) by judge { prompt "Is it good? {{ said }}", gives 1..5 }
"""


def mistakes(spec: str) -> list[str]:
    """Return the codes of the mistakes of a spec."""
    row = {"question": "q", "word": "w", "key": {"a": 1}}
    with tempfile.TemporaryDirectory() as folder:
        found = compile_files(Path(folder), {"spec.tripos": spec, "items.jsonl": json.dumps(row)}).diagnostics
    return [each.code for each in found if each.severity == "error"]


@each(
    "step, code",
    [
        ('returns set<json>', "E0302"),
        ('returns { a json, b tools }', "E0302"),
        ('returns calls', "E0302"),
        ('returns json, top_logprobs 2', "E0107"),
        ('returns json, plain', "E0107"),
        ('returns json, likelihood of ("a", "b")', "E0107"),
        ('returns { Answer json, answer json }', "E0202"),
        ('returns { a json secret }', "E0106"),
        ('returns json, system "{{ item.key }}"', "E0501"),
    ],
)  # fmt: skip
def test_an_ask_that_cannot_return_json_says_so(step: str, code: str) -> None:
    spec = (
        HEAD
        + f'scenario one {{\n  over item\n  ask reply by candidate {{ prompt "{{{{ item.question }}}}", {step} }}\n'
    )
    spec += (
        "  score long = words(reply.prompt) > 1\n}\n"
        if "likelihood" in step
        else "  score long = words(reply.text) > 1\n}\n"
    )
    assert code in mistakes(spec)


@each(
    "score, code",
    [
        ("reply", "E0301"),
        ("reply == 3", "E0301"),
        ("reply > 3", "E0301"),
        ('reply.answer == "x"', "E0308"),
        ('contains(reply, "x")', "E0301"),
        ('"x" in reply', "E0301"),
        ('json_part(reply, "n", integer) > 3', "E0306"),
    ],
)
def test_a_value_of_any_json_is_no_value_of_another_type(score: str, code: str) -> None:
    spec = (
        HEAD + 'scenario one {\n  over item\n  ask reply by candidate { prompt "{{ item.question }}", returns json }\n'
    )
    assert mistakes(f"{spec}  score s = {score}\n}}\n") == [code]


def test_what_a_reply_was_told_flows_through_its_json() -> None:
    """A helper that saw the key, and says any JSON, shows the compared role what it saw."""
    for told in ("{{ hint }}", '{{ default(json_part(hint, \\"a\\", text), \\"\\") }}', "{{ json(hint) }}"):
        spec = HEAD + (
            'scenario one {\n  over item\n  ask hint by helper { prompt "{{ item.key }}", returns json }\n'
            f'  ask reply by candidate {{ prompt "{told}" }}\n  score s = contains(reply.text, item.word)\n}}\n'
        )
        assert mistakes(spec) == ["E0501"], told


def test_a_judge_gives_no_json() -> None:
    spec = HEAD.replace("gives 1..5", "gives json")
    assert "E0301" in mistakes(spec)
