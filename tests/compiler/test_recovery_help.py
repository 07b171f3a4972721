"""What the parser says of mistakes that people bring from other languages."""

from __future__ import annotations

import pytest
from compiling import compile_text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("returns { hint: text }", "`hint text`"),
        ("returns { sure : 1..5 }", "`sure 1..5`"),
        ('prompt: "Say it."', "`prompt …`"),
    ],
)
def test_a_colon_behind_a_name_is_told_to_go(line: str, shown: str) -> None:
    found = compile_text(f"scenario s {{\n  ask reply by candidate {{\n    {line}\n  }}\n}}\n")
    [mistake] = [each for each in found.diagnostics if each.code == "E0101"]
    assert mistake.help == f"names and what they have stand side by side, without a colon: {shown}"
