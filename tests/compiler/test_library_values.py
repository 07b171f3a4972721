"""Every function and operator gives a value of its type for any arguments of theirs, or says that it has none.

The long form is `TRIPOS_EXAMPLES=20000 pytest tests/compiler/test_library_values.py`.
"""

from __future__ import annotations

import math
import os
import string
from collections.abc import Mapping, Sequence, Set as AbstractSet
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from tests.lengths import sized
from tripos_compiler.language.evaluation import InternalError, NoValue, Unavailable, evaluate
from tripos_compiler.language.intervals import Ranges
from tripos_compiler.language.references import subexpressions
from tripos_compiler.library.definedness import static_facts, undefinedness_of
from tripos_compiler.library.function import Function
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import (
    AnyPattern,
    ExactPattern,
    ListOf,
    OneOf,
    OptionalPattern,
    Pattern,
    PatternKind,
    SetOf,
    TypeParameter,
    Variable,
    in_bounds,
)
from tripos_compiler.library.types import fits, type_notation
from tripos_compiler.plan import (
    TOOL_CALL,
    Binary,
    BoolType,
    Call,
    ChoiceType,
    DialogueType,
    Expr,
    IntegerType,
    Items,
    JsonType,
    ListType,
    Literal_,
    NumberType,
    OptionalType,
    PathType,
    RecordType,
    Ref,
    Scenario,
    SetType,
    TextType,
    Type,
)

LONG = settings(
    max_examples=int(os.environ.get("TRIPOS_EXAMPLES", sized(4, 40))),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
)
NOWHERE = Scenario(name="", title="", axes=(), cells=1, rows=None, row_count=0, treatments=())
UNBOUNDED = "it is past all bounds, which are ±1e70"
TREE = {"Algebra": {"Sets": {}, "Groups": {}}, "Logic": {}}
PATHS = ("Algebra / Sets", "Algebra / Groups", "Logic", "Algebra", "not there", "")
CHOICE = ChoiceType(values=("low", "mid", "high"))
PLAIN: tuple[Type, ...] = (TextType(), IntegerType(), NumberType(), BoolType(), CHOICE, PathType())
ROWS = RecordType(fields={"at": PathType(), "task": TextType(), "note": OptionalType(of=TextType())})
RECORDS: tuple[Type, ...] = (ROWS, RecordType(fields={"n": IntegerType(), "tags": SetType(of=TextType())}))
ANY: tuple[Type, ...] = (
    *PLAIN,
    *RECORDS,
    *(ListType(of=of) for of in (*PLAIN, *RECORDS)),
    *(SetType(of=of) for of in PLAIN),
    ListType(of=ListType(of=TextType())),
    DialogueType(),
)

READ_AS: tuple[Type, ...] = (
    *(TextType(), IntegerType(), IntegerType(low=-1, high=3), NumberType(), BoolType(), JsonType()),
    *(ListType(of=of) for of in (TextType(), NumberType(), JsonType(), ListType(of=BoolType()))),
)
"""The types that a part of JSON is read as."""

TEXTS = st.one_of(
    st.text(max_size=30),
    st.text(alphabet=string.ascii_letters + string.digits + " .,:;%$\n是不A①½٣{}\\/()[]*+?-", max_size=40),
    st.sampled_from(
        ["", " ", "\n", "low", "at", "task", "2", "1e308", "٣", "½", "A", "(", "a+", "\\", "#### 4", "\ud800"]
    ),
)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(),
    st.sampled_from([0, 0.0, -0.0, 1, -1, 0.5, 1e308, -1e308, 1e70, -1.1e70, 5e-324, 2**63, 10**400]),
)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.just("")),
    lambda of: st.one_of(st.lists(of, max_size=3), st.dictionaries(st.sampled_from("abc"), of, max_size=3)),
    max_leaves=5,
)
DESCRIBED = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "float", "boolean", "tuple", "dict", "any"]),
        **dict.fromkeys(("items", "enum", "properties", "required"), JSON),
    },
)
TOOLS = st.builds(
    lambda name, properties, some: {
        "name": name,
        "description": "",
        "parameters": {"type": "object", "properties": properties, "required": list(properties)[:some]},
    },
    st.sampled_from("fg"),
    st.dictionaries(st.sampled_from("ab"), DESCRIBED, max_size=2),
    st.integers(0, 2),
)


def values(type_: Type) -> st.SearchStrategy[Any]:
    """Return values of a type, as rows, replies and functions give them."""
    match type_.kind:
        case "text":
            return TEXTS
        case "integer":
            return st.one_of(st.integers(), st.sampled_from([0, 1, -1, 2, 400, -400, 2**63, 10**400]))
        case "number":
            return NUMBERS
        case "bool":
            return st.booleans()
        case "choice":
            return st.sampled_from(type_.values)
        case "path":
            return st.sampled_from(PATHS)
        case "optional":
            return st.one_of(st.none(), values(type_.of))
        case "list":
            return st.lists(values(type_.of), max_size=5)
        case "set":
            return st.one_of(st.frozensets(values(type_.of), max_size=5), st.sets(values(type_.of), max_size=5))
        case "record":
            if type_ == TOOL_CALL:
                given = st.dictionaries(st.sampled_from("ab"), JSON, max_size=2)
                named = {"name": st.sampled_from("fgh"), "arguments": st.one_of(given, JSON), "readable": st.booleans()}
                return st.fixed_dictionaries(named)
            return st.fixed_dictionaries({name: values(of) for name, of in type_.fields.items()})
        case "dialogue":
            turn = st.fixed_dictionaries({"speaker": TEXTS, "text": TEXTS})
            return st.lists(turn, max_size=4)
        case "json" if type_.form == "tools":
            return st.lists(TOOLS, max_size=2, unique_by=lambda tool: tool["name"])
        case "json" if type_.form == "calls":
            argument = st.dictionaries(st.sampled_from("ab"), st.lists(JSON, max_size=3), max_size=2)
            return st.lists(st.dictionaries(st.sampled_from("fg"), argument, min_size=1, max_size=1), max_size=2)
        case "json":
            return JSON
        case "tree":
            return st.just(TREE)
    raise AssertionError(type_)


def is_of(type_: Type, value: Any) -> bool:
    """Return true if a value is one of a type."""
    match type_.kind:
        case "text" | "path":
            return isinstance(value, str)
        case "integer":
            within = (type_.low is None or type_.low <= value) and (type_.high is None or value <= type_.high)
            return isinstance(value, int) and within
        case "number":
            return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
        case "bool":
            return isinstance(value, bool)
        case "choice":
            return value in type_.values
        case "optional":
            return value is None or is_of(type_.of, value)
        case "list":
            return isinstance(value, list | AbstractSet) and all(is_of(type_.of, each) for each in value)
        case "set":
            return isinstance(value, AbstractSet) and all(is_of(type_.of, each) for each in value)
        case "record":
            return isinstance(value, Mapping) and all(is_of(of, value[name]) for name, of in type_.fields.items())
        case "dialogue":
            return isinstance(value, list) and all(set(turn) == {"speaker", "text"} for turn in value)
        case "json":
            return True
        case "tree":
            return isinstance(value, Mapping)
    raise AssertionError(type_)


@st.composite
def fitting(draw: st.DrawFn, pattern: Pattern, bound: dict[str, Type]) -> Type:
    """Return a type that fits a pattern, its variables as they are bound."""
    from tripos_compiler.plan import TreeType

    match pattern:
        case ExactPattern(type=type_):
            return draw(st.sampled_from([each for each in (*ANY, type_) if fits(each, type_)]))
        case AnyPattern():
            return draw(st.sampled_from(ANY))
        case PatternKind(kind="tree"):
            return TreeType(tree="tree")
        case PatternKind():
            return draw(st.sampled_from(RECORDS))
        case Variable(name=name, limit=limit):
            if name not in bound:
                among = {"number": (IntegerType(), NumberType()), "plain": PLAIN}.get(limit, ANY)
                bound[name] = draw(st.sampled_from(among))
            return bound[name]
        case ListOf(of=of):
            held = draw(fitting(of, bound))
            plain = held.kind in ("text", "integer", "number", "bool", "choice", "path")
            return SetType(of=held) if plain and draw(st.booleans()) else ListType(of=held)
        case SetOf(of=of):
            return SetType(of=draw(fitting(of, bound)))
        case OptionalPattern(of=of):
            inner = draw(fitting(of, bound))
            return OptionalType(of=inner) if draw(st.booleans()) else inner
        case TypeParameter(of=of):
            bound[of.name] = draw(st.sampled_from(READ_AS))
            return bound[of.name]
        case OneOf(patterns=patterns):
            return draw(fitting(draw(st.sampled_from(patterns)), bound))
    raise AssertionError(pattern)


def is_written(value: Any) -> bool:
    """Return whether a value can be written in a spec."""
    scalar = str | bool | int | float
    listed = isinstance(value, list) and bool(value) and all(isinstance(each, scalar) for each in value)
    return isinstance(value, scalar) or listed


def written(value: Any, name: str, names: dict[str, Any]) -> Expr:
    """Return a value as it is written in a spec, where it can be; else a name for it."""
    if is_written(value) and not isinstance(value, list):
        return Literal_(value=value)
    if is_written(value):
        return Items(values=tuple(Literal_(value=each) for each in value))
    names[name] = value
    return Ref(path=(name,))


@st.composite
def calls(draw: st.DrawFn, function: Function) -> tuple[Call, dict[str, Any], Type, dict[str, Type]]:
    """Return a call of a function that passes `check`, the names that it looks up, and the types of what it gives and
    takes."""
    bound: dict[str, Type] = {}
    types: dict[str, Type | Sequence[Type]] = {}
    given: dict[str, Any] = {}
    more: list[Any] = []
    for parameter in function.parameters:
        if not parameter.required and draw(st.booleans()):
            continue
        if parameter.many:
            several = [draw(fitting(parameter.pattern, bound)) for _ in range(draw(st.integers(0, 2)))]
            types[parameter.name] = several
            more = [draw(values(each)) for each in several]
        else:
            type_ = draw(fitting(parameter.pattern, bound))
            if function.values_by_name and parameter.name == function.names[-1]:
                types[parameter.name] = ListType(of=TextType())
                given[parameter.name] = [draw(TEXTS) for _ in given[function.names[-2]]]
                continue
            value = st.just(type_notation(type_)) if parameter.is_type else values(type_)
            types[parameter.name], given[parameter.name] = type_, draw(value)
    returns = function.result(types)
    assume(not isinstance(returns, str))
    assert not isinstance(returns, str)
    literal = {name: value for name, value in given.items() if is_written(value)}
    assume(function.check(literal) is None)
    names: dict[str, Any] = {}
    named = {name: written(value, name, names) for name, value in given.items()}
    for name, value in function.implied(types).items():
        named[name] = written(list(value) if isinstance(value, tuple) else value, name, names)
    if more:  # they follow what comes before them, so none of that is left out
        assume(all(each.many or each.name in named for each in function.parameters))
        positional = tuple(named.pop(each.name) for each in function.parameters if not each.many)
        others = (written(each, f"more{number}", names) for number, each in enumerate(more))
        call = Call(function=function.name, args=(*positional, *others))
    else:
        call = Call(function=function.name, named=named)
    return call, names, returns, {name: of for name, of in types.items() if not isinstance(of, Sequence)}


@pytest.mark.parametrize("name", FUNCTIONS)
@LONG
@given(data=st.data())
def test_a_function_gives_a_value_of_its_type_or_says_that_it_has_none(name: str, data: st.DataObject) -> None:
    call, names, returns, types = data.draw(calls(FUNCTIONS[name]))
    try:
        value = evaluate(call, names)
    except NoValue as error:
        assert UNBOUNDED in str(error) or undefinedness_of(call, types) is not None, (
            "it has no value, and `check` did not say so"
        )
        if UNBOUNDED in str(error) and are_in_bounds([*names.values(), *map(literals, subexpressions(call))]):
            assert FUNCTIONS[name].overflows, "it can be out of bounds, and its entry did not say so"
        return
    except Unavailable as error:  # what it reads may mean two things
        assert name == "readable" or "write `numbers in LOCALE`" in str(error)
        return
    assert is_of(returns, value), f"{value!r} is none of {returns}"
    known = static_facts(call)
    if isinstance(value, int | float):
        low, high = Ranges({}, {}).of(NOWHERE, call)
        assert low <= value <= high or low <= float(value) <= high  # scores are of double precision
        assert known.range.low <= value or known.range.low <= float(value)
    if isinstance(value, list | AbstractSet):
        assert known.items <= len(value)


def literals(expr: Expr) -> Any:
    return expr.value if isinstance(expr, Literal_) else None


def are_in_bounds(value: Any) -> bool:
    """Return true if all numbers in a value are within bounds."""
    match value:
        case int() | float():
            return in_bounds(value)
        case Mapping():
            return all(map(are_in_bounds, value.values()))
        case list() | set() | frozenset():
            return all(map(are_in_bounds, value))
    return True


def float_of(value: Any) -> Any:
    """Return a number as one of double precision, infinite where it is past all bounds; anything else as it is."""
    try:
        return float(value) if isinstance(value, int) else value
    except OverflowError:
        return math.inf


OPERATORS = ("+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=")


@pytest.mark.parametrize("sign", OPERATORS)
@LONG
@given(left=NUMBERS, right=NUMBERS)
def test_an_operator_gives_a_number_or_says_that_it_has_none(sign: Any, left: float, right: float) -> None:
    expr = Binary(operator=sign, left=Literal_(value=left), right=Literal_(value=right))
    try:
        value = evaluate(expr, {})
    except NoValue as error:
        assert UNBOUNDED in str(error) or undefinedness_of(expr) is not None
        return
    assert isinstance(value, bool if sign in OPERATORS[4:] else int | float) and math.isfinite(value)


@pytest.mark.parametrize("sign", ["==", "!=", "in", "not in"])
@LONG
@given(data=st.data())
def test_any_two_values_of_types_that_go_together_are_compared(sign: Any, data: st.DataObject) -> None:
    of = data.draw(st.sampled_from(ANY))
    within = sign.endswith("in")
    other: Type = ListType(of=of) if within else data.draw(st.sampled_from([each for each in ANY if fits(each, of)]))
    names = {
        "a": data.draw(values(OptionalType(of=of))),
        "b": data.draw(values(other if within else OptionalType(of=other))),
    }
    try:
        found = evaluate(Binary(operator=sign, left=Ref(path=("a",)), right=Ref(path=("b",))), names)
    except NoValue as error:  # a number that no column of figures can hold
        assert UNBOUNDED in str(error) and any(not is_of(NumberType(), float_of(each)) for each in names.values())
        return
    assert isinstance(found, bool)


def test_a_failure_that_is_not_declared_names_the_function() -> None:
    with pytest.raises(InternalError, match=r"the function `words` failed: \w+Error"):
        evaluate(Call(function="words", args=(Ref(path=("n",)),)), {"n": 3})
