"""Specs of any length: with so many declarations of one kind, and a few of each other kind around them, drawn by a
seed."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

HEAD = 'benchmark grown "1.0.0" { languages en }\nrole candidate compared\nrole judge panel\n'
FIELDS = "{ question text, answer text secret, topic text, level integer }"
ITEM = f'dataset item from "items.jsonl" {FIELDS}\n'
SCENARIO = """scenario {name} {{
{before}  ask reply by candidate {{ prompt "{name}: {{{{ {told} }}}}" }}
  score {score} = {value}
{after}}}
"""
RIGHT = "contains(reply.text, item.answer)"
Write = Callable[[int], str]
"""Writes the declaration of that number."""


def scenario(
    name: str, before: str = "  over item as item\n", told: str = "item.question", value: str = RIGHT, after: str = ""
) -> str:
    """Return a scenario, by default over the rows of the one data set."""
    return SCENARIO.format(name=name, before=before, told=told, value=value, score=f"right_{name}", after=after)


def _scenarios() -> tuple[Write, ...]:
    own = f'  dataset item from "items.jsonl" {FIELDS}\n  over item\n'
    return (
        lambda n: scenario(f"s{n}"),
        lambda n: scenario(f"s{n}", f"  over item as item where item.level < {n + 1}\n"),
        lambda n: scenario(f"s{n}", own),
        lambda n: scenario(f"s{n}", "  context stage\n", "stage", 'contains(reply.text, "a")'),
        lambda n: scenario(f"s{n}", after=f"  measure m{n} = mean(right_s{n})\n"),
        lambda n: scenario(f"s{n}", after=_by_row(n)),
    )


def _by_row(number: int) -> str:
    """Return a further ask, whose settings depend on the row, and a score of its reply."""
    lines = "".join(f"    max_tokens {level + 9} when item.level == {level}\n" for level in (1, 2))
    ask = f'  ask more by candidate {{\n    prompt "{number}: {{{{ item.question }}}}"\n{lines}    max_tokens 9\n  }}\n'
    return f"{ask}  score more{number} = words(more.text) > {number}\n"


def _dataset(number: int, file: str) -> str:
    over = scenario(f"over_rows{number}", f"  over rows{number} as item\n")
    return f'dataset rows{number} from "{file}" {FIELDS}\n{over}'


def _judge(number: int) -> str:
    judge = f'scorer judged{number}(t: text) by judge {{\n  prompt "{number}: {{{{ t }}}}"\n  gives 1..5\n}}\n'
    return judge + scenario(f"graded{number}", value=f"judged{number}(reply.text)")


def _let(number: int) -> str:
    used = scenario(f"told{number}", told=f"text{number}(item.question)")
    return f'let text{number}(t: text) = "{number}: {{{{ t }}}}"\n{used}'


def _dimension(number: int) -> str:
    metric = f'  metric M{number} "{number}" {{\n    scale 1..5\n    asks "Is it good {number}?"\n  }}\n'
    return f'dimension side{number} "{number}" {{\n{metric}}}\n'


KINDS: dict[str, tuple[Write, ...]] = {
    "scenario": _scenarios(),
    "dataset": (lambda n: _dataset(n, "items.jsonl"), lambda n: _dataset(n, f"items{n}.jsonl")),
    "scorer": (_judge, lambda n: f'scorer formula{n}(t: text) = contains(t, "{n}")\n'),
    "let": (_let,),
    "role": (lambda n: f"role helper{n}\n",),
    "axis": (lambda n: f"axis axis{n} {{ x{n}, y{n} }}\n",),
    "arm": (lambda n: f"arm arm{n} {{ p{n}, q{n} }}\n",),
    "dimension": (_dimension,),
    "measure": (lambda n: f"measure figure{n} = mean(right_first)\n", lambda n: f"measure figure{n} = first / 2\n"),
    "expect": (
        lambda n: f"expect first > 0.{n + 1}\n",
        lambda n: f"expect lower(first) > 0.{n + 1}\n",
        lambda n: f"expect first >= first / 2 + 0.{n + 1}\n",
    ),
    "subset": (lambda n: f"subset part{n} {{ take {n + 1} }}\n",),
    "export": (lambda n: f"export file{n} {{\n  best of candidate by first\n  rows reply\n}}\n",),
}
"""The kinds of declarations at the top of a file, each in all shapes."""


def grown(kind: str, shape: int, count: int, seed: int) -> dict[str, str]:
    """Return the files of a spec with so many declarations of a kind in one shape, and two of each other kind, whose
    shape is drawn."""
    text = HEAD + "axis stage { low, high }\n" + ITEM + scenario("first") + "measure first = mean(right_first)\n"
    for each, shapes in KINDS.items():
        write = shapes[shape] if each == kind else Random(f"{seed} {each}").choice(shapes)
        text += "".join(write(number) for number in range(count if each == kind else 2))
    files = {f"items{number}.jsonl": _rows(number + 1) for number in range(count)}
    return {"spec.tripos": text, "items.jsonl": _rows(0), **files}


def _rows(of: int) -> str:
    """Return the rows of a file: no two files have a value in common."""
    rows = [
        {
            "question": f"How is {of * 100 + number}?",
            "answer": f"so{of}w{number}",
            "topic": "ab"[number % 2],
            "level": number % 3,
        }
        for number in range(24)
    ]
    return "".join(f"{json.dumps(row)}\n" for row in rows)
