"""Constructs that exclude each other: the table of constructs says so, the compiler reports it, and the reference prints
it.
"""

from __future__ import annotations

import pytest
from compiling import compile_text

from tripos_compiler.constructs.reference import construct_part
from tripos_compiler.constructs.table import CONSTRUCTS, SETTINGS

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
    name: f"{name} {each.words[0] if each.words else {'NUMBER': 0.5, 'COUNT': 1}.get(each.written, chr(34) * 2)}"
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
