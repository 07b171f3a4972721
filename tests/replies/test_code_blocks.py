"""The code of a reply is what a program gets, whatever stands around it."""

from __future__ import annotations

import random

import pytest

from tests.lengths import sized
from tripos_compiler.replies.places import code_block

CODE = "def add(a, b):\n    # a `sum`\n    return a + b"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (CODE, CODE),
        (f"\n{CODE}\n", CODE),
        (f"```python\n{CODE}\n```", CODE),
        (f"Here it is:\r\n```py\r\n{CODE}\r\n```\r\nDone.", CODE),
        (f"~~~\n{CODE}\n~~~", CODE),
        (f"````md\n{CODE}\n```\ninner\n```\n````", f"{CODE}\n```\ninner\n```"),
        (f"```python\n{CODE}", CODE),
        (
            f"<think>```\nwrong = 1  # a longer draft of the answer, which is not given\n```</think>```\n{CODE}\n```",
            CODE,
        ),
        (f"First `pip install x`:\n```sh\npip install x\n```\nthen\n```python\n{CODE}\n```\nIt adds.", CODE),
        ("```\n```", ""),
        ("Use ```inline``` code.", "Use ```inline``` code."),
    ],
)
def test_the_code_is_read_whatever_stands_around_it(reply: str, code: str) -> None:
    assert code_block(reply) == code


def test_code_is_read_from_any_frame() -> None:
    for seed in range(sized(50, 2000)):
        dice = random.Random(seed)
        lines = [
            dice.choice(("x = 1", "    y = `2`", "", "# ## text", "print('~~')")) for _ in range(dice.randint(1, 8))
        ]
        code = "\n".join(lines)
        fence = dice.choice(("```", "````", "~~~"))
        before, after = (dice.choice(("", "Here is the code.\n", "1. First\n2. Then\n")) for _ in range(2))
        language = dice.choice(("", "python", " py", "python title"))
        assert code_block(f"{before}{fence}{language}\n{code}\n{fence}\n{after}") == code, seed
