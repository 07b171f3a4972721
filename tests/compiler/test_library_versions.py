"""What a function of the library gives is held to its version: kept results stand on both.

`tests/golden/library.json` has what every function gave, for the examples of its docstring and for texts that are hard
to read. Where it gives something else now, raise its version in `library/registry.py`; then `TRIPOS_UPDATE_GOLDEN=1`
writes the file anew. Without a higher number it refuses.
"""

from __future__ import annotations

import ast
import doctest
import json
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from compiling import compile_files, plan_of

from tests.each import each
from tripos_compiler.library import registry as versions
from tripos_compiler.library.function import Function
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import Undefined
from tripos_compiler.lowering import fingerprints

GOLDEN = Path(__file__).parents[1] / "golden" / "library.json"
UPDATING = bool(os.environ.get("TRIPOS_UPDATE_GOLDEN"))
TEXTS = (
    *("", "42", "The answer is 1,234.5.", "A", "答案是 B 和 D。", "选 AC", "\\boxed{\\frac{3}{4}}", "x = -7 or x = 7"),
    *("对", "错误", "√", "yes, of course", "No.", "二分之一", "12 eggs\n- 3 eggs\n= 9", "①②③", "Ａ．正确", "50%"),
)
"""Texts that are hard to read, for functions of one text and of two."""


def gives(function: Function, source: str) -> Any:
    """Return what a piece of Python gives beside the function, as JSON has it; the name of the error where it gives
    none."""
    names = dict(vars(sys.modules[function.python.__module__]))
    *before, last = ast.parse(source).body
    assert isinstance(last, ast.Expr)
    try:
        exec(compile(ast.Module(before, []), "before", "exec"), names)
        return plain(eval(compile(ast.Expression(last.value), "example", "eval"), names))
    except (Undefined, ArithmeticError) as error:
        return type(error).__name__


def plain(value: Any) -> Any:
    """Return a value as JSON has it, the same on every machine."""
    match value:
        case float():
            return round(value, 9)
        case list() | tuple():
            return [plain(each) for each in value]
        case set() | frozenset():
            return sorted((plain(each) for each in value), key=str)
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
    return value if value is None or isinstance(value, bool | int | str) else repr(value)


def examples(function: Function) -> list[str]:
    """Return what is tried of a function: the expressions of its docstring, each after the statements before it, and
    calls with one text or two."""
    found: list[str] = []
    before = ""
    for example in doctest.DocTestParser().get_examples(function.python.__doc__ or ""):
        if isinstance(ast.parse(example.source).body[-1], ast.Expr):
            found.append(f"{before}{example.source}".strip())
        else:
            before += example.source
    name = function.python.__name__
    takes = [each.shown.partition(": ")[2] for each in function.parameters if each.required]
    if takes == ["text"]:
        found += [f"{name}({text!r})" for text in TEXTS]
    if takes == ["text", "text"] and function.name != "matches":  # most of them are no pattern
        found += [f"{name}({one!r}, {two!r})" for one, two in pairwise(TEXTS)]
        found += [f"{name}({text!r}, {text!r})" for text in TEXTS]
    return list(dict.fromkeys(found))


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {}
    return found


def test_the_golden_has_every_function() -> None:
    if UPDATING:
        kept = read()
        written = {}
        for name, function in FUNCTIONS.items():
            now = {source: gives(function, source) for source in examples(function)}
            before, version = kept.get(name, {}), versions.version_of(name)
            if before.get("version") == version:  # what is there already is not put in order by writing it anew
                now |= before["gave"]
            written[name] = {"version": version, "gave": now}
        GOLDEN.write_text(json.dumps(written, ensure_ascii=False, indent=1, sort_keys=True) + "\n", "utf-8")
    assert read().keys() == FUNCTIONS.keys()
    assert [name for name, each in read().items() if not each["gave"]] == []


@each("name", FUNCTIONS)
def test_a_function_gives_what_its_version_gave(name: str) -> None:
    kept = read()[name]
    assert versions.version_of(name) == kept["version"], "TRIPOS_UPDATE_GOLDEN=1 writes what this version gives"
    now = {source: gives(FUNCTIONS[name], source) for source in kept["gave"]}
    assert now == kept["gave"], f"`{name}` gives something else: raise its version in library/registry.py"


SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { stem text, answer text }
scenario one {
  over item
  retrieve near from item as each { top 3 by bm25(item.stem, each.stem) }
  ask reply by candidate { prompt "{{ item.stem }} {{ json(near) }}" }
  score like = bleu(reply.text, item.stem)
  score same = exact(reply.text, item.stem)
}
"""


def prints(folder: Path) -> dict[str, str]:
    """Return the fingerprint of every step, by name."""
    plan = plan_of(compile_files(folder, {"spec.tripos": SPEC, "items.jsonl": '{"stem": "a", "answer": "b"}'}))
    return {step.name: step.fingerprint for step in plan.scenarios[0].steps}


def test_a_function_of_a_higher_version_makes_what_builds_on_it_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prints(tmp_path)
    monkeypatch.setattr(fingerprints, "version_of", lambda name: versions.version_of(name) + (name == "bleu"))
    assert {name for name, each in prints(tmp_path).items() if each != before[name]} == {"like"}


def test_a_measure_of_a_higher_version_makes_what_is_found_by_it_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prints(tmp_path)
    monkeypatch.setattr(fingerprints, "version_of", lambda name: versions.version_of(name) + (name == "bm25"))
    assert {name for name, each in prints(tmp_path).items() if each != before[name]} == {
        "near",
        "reply",
        "like",
        "same",
    }


def test_retrieving_of_a_higher_version_makes_what_is_found_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prints(tmp_path)
    monkeypatch.setattr(fingerprints, "RETRIEVAL_VERSION", fingerprints.RETRIEVAL_VERSION + 1)
    assert {name for name, each in prints(tmp_path).items() if each != before[name]} == {
        "near",
        "reply",
        "like",
        "same",
    }
