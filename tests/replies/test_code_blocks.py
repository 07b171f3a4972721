"""The code of a reply is what a program gets, whatever stands around it."""

from __future__ import annotations

import random

import pytest

from tests.lengths import sized
from tripos_compiler.replies.places import code_block

CODE = "def add(a, b):\n    # a `sum`\n    return a + b"
DOCUMENTED = '''def add(a, b):
    """Add two numbers.

    ```
    add(1, 2)
    ```
    """
    return a + b'''


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
        ("- Run:\n\n\t```\n\tif x:\n\t\ty()\n\t```", "if x:\n\ty()"),
        ("1. Make it:\n    ```make\n    all:\n    \tcc x.c\n    ```", "all:\n\tcc x.c"),
        ("1. It:\n     ```\n     x = 1\n   y = 2\n  ```\nDone.", "x = 1\ny = 2"),
        ("1.  ```python\n    if x:\n        y()\n    ```", "if x:\n    y()"),
        ("- ```\n  x = 1\n  ```\n- Done.", "x = 1"),
        ("  ```\ndef f():\n  return 1\n  ```", "def f():\n  return 1"),
        ("    ```\n  if x:\n    y()", "if x:\n  y()"),
        ("> Run:\n> ```py\n> if x:\n>     y()\n>\n> z()\n> ```\n> It adds.", "if x:\n    y()\n\nz()"),
        ("> > ```\n> > x = 1\n> > ```", "x = 1"),
        (">```\n>x = 1\nIt adds.", "x = 1"),
        ("```\n> x\n```", "> x"),
        (DOCUMENTED, DOCUMENTED),
        (f"```python\n{DOCUMENTED}\n```", DOCUMENTED),
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


def drawn_code(dice: random.Random, depth: int = 0) -> list[str]:
    """Return lines of Python with nested blocks, empty lines and docstrings that have fences of their own."""
    lines: list[str] = []
    for number in range(dice.randint(1, 3)):
        kind = dice.choice(("plain", "block", "empty", "docstring")) if depth < 3 else "plain"
        if kind == "block":
            lines += [f"if x{number}:", *(f"    {line}" if line else "" for line in drawn_code(dice, depth + 1))]
        elif kind == "empty":
            lines += ["", f"y = {number}"]
        elif kind == "docstring" and depth:
            lines += ['"""', "```py", "z()", "```", '"""']
        else:
            lines.append(f"x{number} = {dice.randint(0, 99)}")
    return lines


def test_an_indented_block_keeps_the_indent_of_its_code() -> None:
    for seed in range(sized(100, 3000)):
        dice = random.Random(seed)
        lines = drawn_code(dice)
        indent = dice.choice(("", "  ", "   ", "    ", " " * 6, " " * 8, "\t"))
        fence = dice.choice(("```", "~~~~"))
        before = dice.choice(("1. First, write this:", "- Then:\n\n  * and:", "Here:", ""))
        indented = [f"{indent}{line}" if line or dice.random() < 0.5 else "" for line in lines]
        block = "\n".join([f"{indent}{fence}python", *indented, f"{indent}{fence}"])
        after = dice.choice(("", "\n2. Run it.", f"\n{indent}It adds."))
        reply = f"{before}\n{block}{after}"
        if dice.random() < 0.3:
            reply = "\n".join(f"> {line}" if line else ">" for line in reply.split("\n"))
        assert code_block(reply) == "\n".join(lines), seed
