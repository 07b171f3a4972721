"""The functions as people read them: a page with everything, and a table with a line for each."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import re
from typing import Any

from tripos_compiler.language.library.signature import Function
from tripos_compiler.language.library.table import FUNCTIONS, GROUPS

OPENING = """\
# Functions

Every function of the [expressions](expressions.md) of a spec. All are pure: the same arguments give the
same result. In a signature, `T` is any one type, the same wherever it stands, and `K` one whose values can be told
apart and put in order: texts, numbers, true and false, choices, paths. A type that ends in `?` may be missing, an
optional parameter may be left out, and a name that ends in `…` takes any number of arguments. Whole numbers stay whole
where a function of numbers has nothing to divide.

A text may be a choice or a path too, a number may be an integer, and a list may be a set, which is in order then:
numbers from the least, texts by their characters. Where a function has no value, as the first item of an empty list,
the score is `undefined` if a reply is the reason, and counts as failed; it is `not_applicable` if the item is. `check`
warns of the former ([W0320](../errors.md)). Errors that the compiler can detect are
errors of `tripos check`.

This page is generated: the signatures and texts are those of the code.
"""
WRITING = """\
## Differences of writing

Functions that compare texts or count their words, and the metrics of a corpus, see both sides without differences that
mean nothing: Unicode is in its form NFC, so that `é` is one character however it is stored; quotes and apostrophes are
straight (`It’s` is `It's`); there is one minus; a space that does not break is a space; characters without a width are
left out; and full-width letters and digits are those of ASCII (`Ａ１` is `A1`). Superscripts stay: `10⁵` is not `105`.
This holds of `exact`, `contains`, `starts_with`, `ends_with`, `words`, and all functions of the likeness of texts.
"""


def functions_page() -> str:
    """Return the reference of all functions, in Markdown."""
    contents = " ·\n".join(f"[{title.lower()}](#{title.lower().replace(' ', '-')})" for title in GROUPS)
    parts = [OPENING, f"Contents: {contents}\n", WRITING]
    for title, functions in GROUPS.items():
        parts.append(f"## {title}\n")
        parts.extend(_entry(function) for function in functions)
    return "\n".join(parts)


def functions_table() -> str:
    """Return a Markdown table with the signature of every function and what it gives."""
    rows = "".join(f"| `{function.shown}` | {_gives(function)} |\n" for function in FUNCTIONS.values())
    return "| function | description |\n| --- | --- |\n" + rows


def _gives(function: Function) -> str:
    """Return a summary as the cell of a table.

    >>> _gives(FUNCTIONS["last_number"])
    'the last number in a text; missing where there is none'
    """
    summary = function.summary.removeprefix("Return ").removesuffix(".")
    return summary if re.match(r"\w+[A-Z0-9]", summary) else summary[0].lower() + summary[1:]


def _entry(function: Function) -> str:
    """Return the section of one function."""
    examples = list(doctest.DocTestParser().get_examples(inspect.getdoc(function.python) or ""))
    text = (inspect.getdoc(function.python) or "").split("\n>>> ")[0].strip()
    shown = "".join(_example(example) for example in examples)
    return f"### {function.name}\n\n`{function.shown}`\n\n{text}\n{shown}"


def _example(example: doctest.Example) -> str:
    """Return an example as blocks of Markdown; empty where a spec has no way to write it."""
    expression = ast.parse(example.source.strip()).body[0]
    if not isinstance(expression, ast.Expr):
        return ""
    written = expression.value
    try:
        match written:
            case ast.Call(func=ast.Name(id="print"), args=[inner]):
                return f"\n```tripos fragment\n{_spelt(inner)}\n```\n\n```text\n{example.want}```\n"
            case ast.Tuple(elts=several):
                each = zip(several, ast.literal_eval(example.want), strict=True)
            case _:
                each = zip([written], [ast.literal_eval(example.want)], strict=True)
    except _NotWritable:
        return ""
    lines = "".join(_line(one, result) for one, result in each)
    return f"\n```tripos fragment\n{lines}```\n" if lines else ""


def _line(node: ast.expr, result: Any) -> str:
    try:
        return f"{_spelt(node)}  # {_value(result)}\n"
    except _NotWritable:
        return ""


class _NotWritable(Exception):
    """A spec has no way to write this."""


def _spelt(node: ast.expr) -> str:
    """Return a Python expression as a spec writes it. Raises `_NotWritable`.

    >>> _spelt(ast.parse("square_root(-1.5)", mode="eval").body)
    'sqrt(-1.5)'
    """
    match node:
        case ast.Constant(value=value) if value is not None:
            return _value(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_spelt(operand)}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return f"{_spelt(left)} + {_spelt(right)}"
        case ast.List(elts=items) if items:
            return f"({', '.join(_spelt(item) for item in items)})"
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _names():
            return f"{_names()[name]}({', '.join(_spelt(argument) for argument in arguments)})"
    raise _NotWritable


def _names() -> dict[str, str]:
    """Return the names of functions in specs by those in Python; `round` and `sorted` are also Python's own."""
    names = {function.python.__name__: function.name for function in FUNCTIONS.values()}
    return {"round": "round", "sorted": "sorted"} | names


def _value(value: Any) -> str:
    """Return a Python value as a spec writes it; None is `missing`. Raises `_NotWritable`.

    >>> _value([True, 3.0, "a"]), _value(None)
    ('(true, 3, "a")', 'missing')
    """
    match value:
        case None:
            return "missing"
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case int() | float():
            return str(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"({', '.join(_value(item) for item in value)})"
    raise _NotWritable
