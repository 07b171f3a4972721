"""Parts of values of JSON: each is found at its path, is of the type that it is read as, and is missing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiling import compile_files, compile_text
from hypothesis import given, strategies as st

from tests.each import each
from tripos_compiler.library.functions.answers import json_part
from tripos_compiler.library.types import parse_type_notation, type_notation
from tripos_compiler.plan import IntegerType, JsonType, ListType, RecordType, fit_arguments

NAMES = st.text(alphabet="ab.0 é", min_size=1, max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=3) | st.just(10**400),
    lambda of: st.lists(of, max_size=3) | st.dictionaries(NAMES, of, max_size=3),
    max_leaves=8,
)
TYPES = (
    "text", "integer", "0..3", "number", "bool", "json", "list<text>", "list<integer>", "list<list<json>>",
    "list<{ a number, b text? }>", "list<{ a list<{ b json? }> }>", "{ a json }",
)  # fmt: skip


def parts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every part of a value below it, with the names on the way."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inside:
        yield (*path, str(name)), part
        yield from parts(part, (*path, str(name)))


FIELDS = {
    "{ a number, b text? }": (("a", "number", False), ("b", "text", True)),
    "{ a list<{ b json? }> }": (("a", "list<{ b json? }>", False),),
    "{ b json? }": (("b", "json", True),),
    "{ a json }": (("a", "json", False),),
}
"""The fields of records: their names, their types, and whether they may be missing."""


def cut(notation: str, value: Any) -> Any:
    """Return a value as a type has it: of an object the fields of a record."""
    if notation.startswith("list<"):
        return [cut(notation[5:-1], each) for each in value]
    if notation.startswith("{") and value is not None:
        return {name: cut(of, value.get(name)) for name, of, _ in FIELDS[notation]}
    return value


def is_a(notation: str, value: Any) -> bool:
    """Return true if a value of JSON is of a type, as `docs/language/types.md` has it."""
    if notation.startswith("{"):
        return isinstance(value, dict) and all(
            (is_a(of, value.get(name)) and value.get(name) is not None) or (may and value.get(name) is None)
            for name, of, may in FIELDS[notation]
        )
    if notation.startswith("list<"):
        return isinstance(value, list) and all(is_a(notation[5:-1], item) for item in value)
    whole = type(value) is int or (type(value) is float and value == round(value))
    return {
        "text": type(value) is str,
        "integer": whole,
        "0..3": whole and 0 <= value <= 3,
        "number": type(value) in (int, float),
        "bool": type(value) is bool,
        "json": True,
    }[notation]


@given(VALUES, st.sampled_from(TYPES))
def test_every_part_is_there_in_its_type_and_missing_in_others(value: Any, notation: str) -> None:
    for path, part in parts(value):
        found = json_part(value, path, notation)
        assert found == (cut(notation, part) if is_a(notation, part) else None)
        assert isinstance(found, bool) == (found is not None and isinstance(part, bool))
        if not any("." in name for name in path):
            assert json_part(value, ".".join(path), notation) == found


@given(VALUES, st.lists(NAMES | st.sampled_from(["0", "1", "-1", "00", "٣", "1.0"]), min_size=1, max_size=3))
def test_what_is_at_no_path_is_missing(value: Any, path: list[str]) -> None:
    if tuple(path) not in {names for names, _ in parts(value)}:
        assert json_part(value, path, "json") is None


def test_a_value_that_is_null_has_no_parts() -> None:
    assert json_part(None, "a", "json") is None
    assert json_part({"a": None}, "a", "json") is None


@each("notation", TYPES)
def test_a_notation_is_that_of_its_type(notation: str) -> None:
    found = parse_type_notation(notation)
    assert found is not None and type_notation(found) == notation


@each(
    "notation",
    ["dialogue", "text?", "set<text>", "{ a path }", "list<{ a text, b tools }>", "list<path>", "choice(a, b)", ""],
)
def test_no_other_type_is_one_of_json(notation: str) -> None:
    assert parse_type_notation(notation) is None


def test_an_argument_of_any_json_that_is_not_given_is_none() -> None:
    of = RecordType(fields={"a": JsonType()})
    assert fit_arguments(of, {"a": [None]}) == {"a": [None]}
    assert fit_arguments(of, {}) is fit_arguments(of, {"a": None}) is None


def test_a_whole_number_of_any_length_fits() -> None:
    """A model may write one of hundreds of digits as an argument."""
    of = RecordType(fields={"n": IntegerType(), "more": ListType(of=IntegerType(low=0, high=9))})
    assert fit_arguments(of, {"n": 10**400, "more": []}) == {"n": 10**400, "more": []}
    assert fit_arguments(of, {"n": 1, "more": [10**400]}) is None
    assert fit_arguments(of, json.loads('{"n": 1e999, "more": []}')) is None


SPEC = """benchmark b "1.0.0" {{ languages en }}
role candidate compared
dataset item from "items.jsonl" {{ question text, tags list<text>?, about json, key json secret }}
scenario s {{
  over item
  let told = {told}
  ask reply by candidate {{ prompt "{{{{ item.question }}}} {{{{ told }}}}" }}
  score right = {score}
}}
"""


@pytest.mark.parametrize(
    ("told", "score", "codes"),
    [
        ('default(json_part(item.about, "a.b", text), "")', "true", []),
        ('json_part(item.about, "a.b", text)', "true", ["E0306"]),
        ('default(json_part(item.key, "a.b", text), "")', "true", ["E0501"]),
        ('default(json_part(reveal(item.key), "a.b", text), "")', "true", []),
        ('reveal(default(json_part(item.key, "a.b", text), ""))', "true", []),
        ("item.question", 'json_part(item.key, "a", text) == reply.text', []),
        ("item.question", 'json_part(item.key, "a", integer) == reply.text', ["E0301"]),
        ("item.question", 'json_part(item.key, "a", number) > 1', ["E0306"]),
        ("item.question", "json_part(item.key, item.question, text) == reply.text", ["E0303"]),
        ("item.question", "json_part(item.key, (item.question,), text) == reply.text", []),
        ("item.question", 'json_part(item.key, "a..b", text) == reply.text', ["E0303"]),
        ("item.question", 'json_part(item.key, "a", dialogue) == reply.text', ["E0302"]),
        ("item.question", 'json_part(item.key, "a", text?) == reply.text', ["E0302"]),
        ("item.question", 'json_part(item.key, "a", item.question) == reply.text', ["E0302"]),
        ("item.question", 'json_part(item.key, "a", list<{ b path }>) == reply.text', ["E0302"]),
        ("item.question", 'sum(default(json_part(item.key, "a", list<{ b integer, c text? }>), []).b) > 1', []),
        (
            "item.question",
            'any(e.c == reply.text each e in default(json_part(item.key, "a", list<{ c text? }>), []))',
            [],
        ),
        ("item.question", 'json_part(item.key, "a") == reply.text', ["E0303"]),
        ("item.question", 'json_part(item.question, "a", text) == reply.text', ["E0301"]),
        ("item.question", "item.key.a == reply.text", ["E0308"]),
        ("item.question", 'length(default(json_part(item.key, "a", list<text>), [])) == words(reply.text)', []),
        ("item.question", "length(default(item.tags, [])) == words(reply.text)", []),
        ("item.question", "length(choose(item.question == reply.text, lines(reply.text), ())) > 0", []),
        ("item.question", 'json_part(item.key, "a", text) == json_part(item.about, "a", text)', ["E0306"]),
        ("item.question", 'json_part(item.key, "a", text) != regex(reply.text, "a")', ["E0306"]),
        ("item.question", 'regex(reply.text, "a") in [json_part(item.key, n, text) each n in lines("a")]', ["E0303"]),
        (
            "item.question",
            'regex(reply.text, "a") in [json_part(item.key, (n,), text) each n in lines("a")]',
            ["E0306"],
        ),
        ("item.question", 'reply.text in [json_part(item.key, (n,), text) each n in lines("a")]', []),
        ("item.question", "length([]) == words(reply.text)", ["E0301"]),
        ("item.question", 'default(json_part(item.key, "a", text), []) == reply.text', ["E0301"]),
    ],
)
def test_a_part_is_typed_and_as_secret_as_the_whole(told: str, score: str, codes: list[str], tmp_path: Path) -> None:
    score = score if "reply" in score or codes else "words(reply.text) > 1"
    score = score if "reply" in score else f"{score} and words(reply.text) > 1"
    rows = {"question": "q", "about": {"a": {"b": "c"}}, "key": {"a": "k"}}
    files = {"spec.tripos": SPEC.format(told=told, score=score), "items.jsonl": json.dumps(rows)}
    found = compile_files(tmp_path, files).diagnostics
    assert [each.code for each in found if each.severity == "error"] == codes


def test_a_field_of_json_is_told_how_it_is_read() -> None:
    spec = SPEC.format(told="item.question", score="item.key.a == reply.text")
    (mistake,) = [each for each in compile_text(spec).diagnostics if each.code == "E0308"]
    assert mistake.help == 'write the type that it has: `json_part(item.key, "a", text)`'
