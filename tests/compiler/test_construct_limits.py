"""Constructs that exclude or require each other, and bounds of counts: the table has them, the compiler reports them,
and the reference prints them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import compile_files, compile_text

from tests.each import each
from tripos_compiler.constructs.reference import construct_part
from tripos_compiler.constructs.table import CONSTRUCTS, SETTINGS, Construct

WRITTEN = {
    "prompt": 'prompt "What?"',
    "prompts": 'prompts ("a", "b") at most 2',
    "returns": "returns bool",
    "plain": "plain",
    "likelihood": 'likelihood of ("yes", "no")',
    "tools": "tools look",
    "state": "state 0 at most 2 turns",
    "chat": "chat talk.turns",
    "continue": "continue talk",
    "samples": "samples 2",
} | {
    name: f"{name} {each.words[0] if each.words else {'NUMBER': 0.5, 'COUNT': 1}.get(each.notation, chr(34) * 2)}"
    for name, each in SETTINGS.items()
}
"""Each construct as a line of an ask."""
PAIRS = [
    (construct.name, excluded)
    for construct in CONSTRUCTS
    for exclusion in construct.excludes
    for excluded in exclusion.constructs
]


@pytest.mark.parametrize(("name", "excluded"), PAIRS)
@pytest.mark.parametrize("turned", [False, True])
def test_what_a_construct_excludes_is_reported_once(name: str, excluded: str, turned: bool) -> None:
    lines = [WRITTEN[name], WRITTEN[excluded]]
    asked = [] if {"prompt", "prompts", "chat"} & {name, excluded} else [WRITTEN["prompt"]]
    block = "\n    ".join([*asked, *(lines[::-1] if turned else lines)])
    found = compile_text(
        f"""\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
tool look "Looks." {{ what text }}
scenario one {{
  ask talk by candidate {{ prompt "Hello." }}
  ask reply by candidate {{
    {block}
  }}
  score right = true
}}
"""
    )
    said = [item.message for item in found.diagnostics if item.code == "E0107" and " takes no " in item.message]
    either = {f"an ask with `{one}` takes no `{other}`" for one, other in ((name, excluded), (excluded, name))}
    assert len(said) == 1 and said[0] in either, [item.message for item in found.diagnostics]


def test_the_reference_says_what_a_construct_excludes() -> None:
    (ask,) = (each for each in CONSTRUCTS if each.name == "ask")
    text = construct_part(ask)
    for name, excluded in PAIRS:
        rows = [row for row in text.splitlines() if row.startswith((f"| [`{WRITTEN[name].split()[0]}", f"| `{name}"))]
        assert any(f"`{excluded}`" in row.rpartition("|  ")[2] for row in rows), (name, excluded)


TALK = 'converse talk { candidate { system "a" } helper { system "b" } opens helper, LIMIT }'
COUNTED = {
    "state": 'ask reply by candidate { prompt "a", tools look, state 0 at most # turns }',
    "prompts": 'ask reply by candidate { prompts ("a", "b") at most # }',
    "limit": TALK.replace("LIMIT", "limit # turns"),
    "repeat": TALK.replace("LIMIT", "limit 2 turns, repeat #"),
    "top": "retrieve near from item as each { top # by 1 }",
    "shots": 'ask reply by candidate { prompt "a", shots # from item { prompt "a", reply "b" } }',
    "count": "",
    "digits": 'ask reply by candidate { prompt "{{ item.stem }}" }\n  score right = reply.text == "a"',
    "mark": 'ask reply by candidate { prompt "{{ item.stem }}" }\n  score right = reply.text == "a"',
}
"""A step with each construct that has a count."""
TABLED = {
    "digits": "table one { rows model, column mean(right)\n digits # }",
    "mark": "table one { rows model, column mean(right)\n mark # best }",
}
"""A table with each construct that has a count."""


@each("name", [each.name for each in CONSTRUCTS if each.counts is not None])
def test_a_count_out_of_bounds_is_reported(name: str, tmp_path: Path) -> None:
    (construct,) = (found for found in CONSTRUCTS if found.name == name)
    assert construct.counts is not None
    least, most = construct.counts
    below = [(least - 1, True)] if least > 0 else []  # a number below 0 is no count
    for number, wrong in (*below, (least, False), *((most + more, more > 0) for more in (0, 1) if most)):
        found = compile_files(
            tmp_path,
            {
                "items.jsonl": '{"stem": "a"}',
                "spec.tripos": f"""\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role helper
tool look "Looks." {{ what text }}
dataset item from "items.jsonl" {{ stem text }}
scenario one {{
  over item
  {COUNTED[name].replace("#", str(number))}
}}
dataset made by helper {{ prompt "a", returns {{ b text }}, count {number if name == "count" else 1} }}
{TABLED.get(name, "").replace("#", str(number))}
""",
            },
        )
        said = {(item.code, item.message) for item in found.diagnostics if item.message.startswith(f"`{name}` must be")}
        bounds = f"{least} or more" if most is None else f"between {least} and {most:g}"
        expected = ("E0301" if most is None else "E0803", f"`{name}` must be {bounds}")
        assert said == ({expected} if wrong else set()), (number, [item.message for item in found.diagnostics])


REQUIRED = [construct for construct in CONSTRUCTS if construct.requires is not None]
LACKING = {
    "ends": "until length(reply.text) > 3",
    "state": "state q.shop at most 2 turns",
    "user": 'user helper { system "Go on." }',
    "until": 'until helper says "END"',
    "called": "until candidate calls look",
}
"""Each construct that requires another one, as a line of an ask."""


@pytest.mark.parametrize("construct", REQUIRED, ids=[construct.name for construct in REQUIRED])
def test_what_a_construct_requires_is_reported_once_and_printed(construct: Construct, tmp_path: Path) -> None:
    need = construct.requires
    assert need is not None
    spec = f"""\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role helper
tool look "Looks." {{ what text }}
dataset item from "items.jsonl" {{ question text, shop json }}
scenario one {{
  over item as q
  ask reply by candidate {{
    prompt "{{{{ q.question }}}}"
    {LACKING[construct.name]}
  }}
  score right = length(reply.text) > 3
}}
"""
    items = '{"question": "What?", "shop": {}}\n{"question": "Why?", "shop": {}}\n'
    found = compile_files(tmp_path, {"spec.tripos": spec, "items.jsonl": items})
    errors = [(item.code, item.message, item.help) for item in found.diagnostics if item.severity == "error"]
    assert errors == [(need.code, need.message, need.help)]
    (ask,) = (each for each in CONSTRUCTS if each.name == "ask")
    rows = [row for row in construct_part(ask).splitlines() if f"| {construct.summary} |" in row]
    assert len(rows) == 1 and f", with `{need.construct}` |" in rows[0]
