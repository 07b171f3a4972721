"""Words and signs of other languages are met by what is written here for them, not by a name of similar spelling."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.compiler.compiling import compile_files
from tripos_compiler.constructs.statements import places_of, read_statements
from tripos_compiler.constructs.table import FILE, constructs_in
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Diagnostics
from tripos_compiler.diagnostics.habits import MISPLACED, NOTATIONS, Kind
from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse
from tripos_compiler.typecheck.types import GENERIC, SIMPLE

SPEC = """benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { low, high }
arm shots { zero, one }
TOP
dataset item from "q.jsonl" {
  question text
  options  list<text>
  answer   TYPE secret
}
scenario s {
  over item
  CONTEXT
  ask reply by candidate { prompt "PROMPT"ASK }
  score right = SCORE
  measure acc = MEASURE
}
"""
PARTS = {
    "TOP": "",
    "TYPE": "text",
    "CONTEXT": "",
    "PROMPT": "{{ item.question }}",
    "ASK": "",
    "SCORE": "reply.text == item.answer",
    "MEASURE": "mean(right)",
}
DATA = '{"question": "q1", "options": ["a", "b"], "answer": "a"}\n{"question": "q2", "options": ["c"], "answer": "d"}\n'


def diagnosed(folder: Path, **parts: str) -> list[Diagnostic]:
    """Return the errors of a small spec with some of its parts replaced."""
    text = SPEC
    for name, part in {**PARTS, **parts}.items():
        text = text.replace(name, part, 1)
    compilation = compile_files(folder, {"spec.tripos": text, "q.jsonl": DATA})
    return [each for each in compilation.diagnostics if each.severity == "error"]


@pytest.mark.parametrize(
    ("parts", "help_"),
    [
        ({"TYPE": "str"}, "here it is written `text`"),
        ({"TYPE": "float"}, "here it is written `number`"),
        ({"SCORE": "len(reply.text)"}, "here it is written `length(x)`"),
        ({"SCORE": "extract(reply.text, item.answer) == item.answer"}, "here it is written `regex(x, pattern)`"),
        ({"SCORE": "search(reply.text, item.answer)"}, "here it is written `matches(x, pattern)`"),
        ({"SCORE": "if(reply.text == item.answer, 1, 0)"}, "here it is written `choose(condition, this, other)`"),
        ({"SCORE": "1 if reply.text == item.answer else 0"}, "here it is written `choose(condition, this, other)`"),
        ({"SCORE": "reply.text.lower() == item.answer"}, "write `lower(reply.text)`"),
        ({"SCORE": "re.sub(reply.text, item.answer)"}, "here it is written `regex_replace(x, pattern, new)`"),
        ({"SCORE": "reply.text == None"}, "here it is written `default(x, fallback)`"),
        ({"SCORE": "reply.text is null"}, "here it is written `x == y`"),
        ({"SCORE": '"a" in reply.text'}, "a part of a text is found by `contains(text, part)`, which ignores case"),
        ({"SCORE": "reply.text == item.options[0]"}, "an element of a list is `nth(list, 0)`, its first `first(list)`"),
        ({"SCORE": "length([x for x in item.options])"}, "here it is written `VALUE each NAME in LIST`"),
        ({"SCORE": 'reply.text == "a" && reply.text == item.answer'}, "here it is written `and`"),
        ({"SCORE": 'reply.text == "a" || reply.text == item.answer'}, "here it is written `or`"),
        ({"SCORE": "!(reply.text == item.answer)"}, "here it is written `not`"),
        ({"SCORE": "length(reply.text) // 2"}, "here it is written `floor(x / y)`"),
        ({"PROMPT": "{{ item.options | join }}"}, "a filter is written as a function: `name(x)`"),
        ({"MEASURE": "avg(right)"}, "here it is written `mean(x)`"),
        ({"MEASURE": "f1_macro(right)"}, "here it is written `f1(x, gold, average: macro)`"),
        ({"MEASURE": "mean(right) group by level"}, "here it is written `mean(x) by DIMENSION`"),
        ({"MEASURE": "mean(right) where level == low"}, "here it is written `mean(x, where: CONDITION)`"),
        ({"ASK": ', messages "x"'}, 'here it is written `prompt "…"`'),
        ({"ASK": ", n 3"}, "here it is written `samples 5`"),
        ({"TOP": 'import "x.tripos"'}, 'here it is written `use "other.tripos"`'),
        (
            {"TOP": 'scorer good(r: text) by judge { prompt "{{ r }}", returns bool }'},
            "in a `scorer` it is written `gives 1..5`",
        ),
        ({"CONTEXT": "arms level"}, "`level` is an axis: write `context level`"),
        ({"CONTEXT": "context shots"}, "`shots` is an arm: write `arms shots`"),
    ],
)
def test_a_habit_is_met_by_one_error_that_says_what_to_write(parts: dict[str, str], help_: str, tmp_path: Path) -> None:
    (error, *others) = diagnosed(tmp_path, **parts)
    assert error.help == help_
    assert others == []


@pytest.mark.parametrize(
    ("parts", "far"),
    [
        ({"MEASURE": "weird_accuracy_rate(right)"}, "accuracy"),
        ({"MEASURE": "marco(right)"}, "auroc"),
        ({"TOP": 'inport "x.tripos"'}, "export"),
    ],
)
def test_no_name_of_another_meaning_is_suggested(parts: dict[str, str], far: str, tmp_path: Path) -> None:
    assert far not in (diagnosed(tmp_path, **parts)[0].help or "").removeprefix("did you mean").split("`")[1::2][:1]


MISPLACED_HABITS = sorted(
    (keyword, notation.partition(" ")[0], body)
    for keyword, notation in NOTATIONS["statement"].items()
    for body in places_of(notation.partition(" ")[0])
    if places_of(keyword) and body not in places_of(keyword) and (body, keyword) not in MISPLACED
)


@pytest.mark.parametrize(("keyword", "meant", "body"), MISPLACED_HABITS)
def test_a_habit_that_is_a_statement_elsewhere_is_met_where_it_is_written(keyword: str, meant: str, body: str) -> None:
    diagnostics = Diagnostics()
    source = Source("spec.tripos", f'{keyword} "x"\n' if body == FILE else f'outer {{\n  {keyword} "x"\n}}\n')
    block = parse(source, diagnostics)
    inner = block if body == FILE else next(iter(block.entries())).block
    assert inner is not None
    read_statements(inner, diagnostics, body)
    [item] = diagnostics.items
    assert item.code == "E0107"
    assert f"it is written `{meant} " in (item.help or "")
    assert f"`{keyword}` stands" in (item.help or "")


def test_no_habit_is_a_word_of_the_language() -> None:
    """Such a habit would never be asked about, or hide what the language has."""
    own: dict[Kind, set[str]] = {
        "type": {*SIMPLE, *GENERIC},
        "function": {*FUNCTIONS},
        "aggregate": {*AGGREGATES},
        "statement": {word for word in NOTATIONS["statement"] if FILE in places_of(word)},
    }
    for kind, words in own.items():
        assert words.isdisjoint(NOTATIONS[kind]), kind
    assert all(word == word.casefold() for words in NOTATIONS.values() for word in words)


VALUES = {"x": "reply.text", "y": "reply.text", "list": "item.options", "condition": "true"}


@pytest.mark.parametrize("notation", sorted(set(NOTATIONS["function"].values())))
def test_the_notation_of_a_function_compiles(notation: str, tmp_path: Path) -> None:
    def argument(match: re.Match[str]) -> str:
        numbers = {"start", "count", "this", "other"}
        return VALUES.get(match[0], "1" if match[0] in numbers else '"a"')

    head, bracket, arguments = notation.partition("(")
    if notation.startswith('"'):
        call = notation.replace("x", "reply.text")
    elif head == "json_part":
        call = 'json_part(json_value, "a", text)'
    else:
        call = head + bracket + re.sub(r"(?<![\w\"])[a-z]+(?![\w(\"])", argument, arguments)
    codes = {error.code for error in diagnosed(tmp_path, SCORE=call)}
    assert codes.isdisjoint({"E0101", "E0106", "E0205", "E0303"}), call


@pytest.mark.parametrize("notation", sorted(set(NOTATIONS["aggregate"].values())))
def test_the_notation_of_an_aggregate_compiles(notation: str, tmp_path: Path) -> None:
    """Types are those of the author, so only the form is checked: the name, the arguments, and what follows them."""
    figure = notation.replace("ROLE", "judge").replace("gold", "item.answer").replace("references", "item.options")
    figure = re.sub(r"\b[xy]\b", "kind", figure)
    spec = {
        "TOP": 'scorer kind_of(r: text) by judge { prompt "{{ r }}", gives choice(a, d) }',
        "SCORE": "reply.text == item.answer\n  score kind = kind_of(reply.text)",
        "ASK": ", samples 3",
    }
    codes = {error.code for error in diagnosed(tmp_path, MEASURE=figure, **spec)}
    assert codes.isdisjoint({"E0101", "E0106", "E0201", "E0205", "E0303"}), (figure, codes)


@pytest.mark.parametrize("kind", ["statement"])
def test_the_notation_of_a_statement_begins_with_one(kind: Kind) -> None:
    for notation in {*NOTATIONS[kind].values(), *MISPLACED.values()}:
        assert places_of(notation.partition(" ")[0]), notation
    assert all(keyword not in constructs_in(body) for body, keyword in MISPLACED)


@pytest.mark.parametrize(("cell", "has_help"), [("2,5", True), ("1.500,25", True), ("1,500", True), ("two", False)])
def test_a_number_with_a_comma_is_met_by_how_to_write_it(cell: str, has_help: bool, tmp_path: Path) -> None:
    spec = SPEC.replace("q.jsonl", "q.csv").replace("  options  list<text>\n", "")
    for name, part in {**PARTS, "TYPE": "number", "SCORE": "length(reply.text) > item.answer"}.items():
        spec = spec.replace(name, part, 1)
    compilation = compile_files(tmp_path, {"spec.tripos": spec, "q.csv": f'question,answer\nq,"{cell}"\n'})
    (error,) = (each for each in compilation.diagnostics if each.severity == "error")
    assert error.code == "E0305"
    assert ((error.help or "").startswith("write a decimal point")) is has_help
