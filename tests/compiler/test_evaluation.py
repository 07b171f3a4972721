"""Compiled expressions: the value, or the reason why there is none, is that of an interpreter of ten lines a construct.

The interpreter walks the tree, names no shared part and keeps nothing between two evaluations.
"""

from __future__ import annotations

import gc
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import ref

from tests.lengths import sized
from tripos_compiler.language import evaluation
from tripos_compiler.language.evaluation import (
    DATA,
    DIVIDED,
    REPLIES,
    TREES,
    CalledInRunsOnly,
    DividedVerdict,
    InternalError,
    MissingValue,
    NoValue,
    PartialRecord,
    Unavailable,
    decide,
    evaluate,
    is_condition,
    status_of,
    status_of_call,
)
from tripos_compiler.library.registry import FUNCTIONS, override_reveal, user_functions, with_functions
from tripos_compiler.library.signature import OUT_OF_BOUNDS, AmbiguousAnswer, Undefined, in_bounds
from tripos_compiler.library.types import are_equal
from tripos_compiler.plan import (
    AtElement,
    Binary,
    Branches,
    Call,
    Data,
    Each,
    Expr,
    Get,
    Items,
    Literal_,
    Loop,
    RecordValue,
    Ref,
    Unary,
)

NA, UNDEFINED = "not_applicable", "undefined"
OPERATORS = {
    "==": are_equal,
    "!=": lambda a, b: not are_equal(a, b),
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


# The interpreter
def plain(expr: Expr, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression."""
    if isinstance(expr, Unary | Binary) and names.get(DIVIDED) and is_condition(expr):
        voted = decide(expr, names, lambda own: plain(expr, own))
        if voted is not None:
            return voted
    match expr:
        case Literal_(value=value):
            return bounded(value, expr, names, "the expression")
        case Ref(path=path):
            value = names
            for part in path:
                value = there(value[part])
            return bounded(whole(value) if isinstance(value, PartialRecord) else value, expr, names, "the expression")
        case Items(values=values):
            return together(values, names)
        case RecordValue(fields=fields):
            return record(fields, names)
        case Get(of=of, field=name):
            value = plain(of, names)
            if isinstance(value, list):
                return of_each(value, name)
            return bounded(there(value[name]), expr, names, "the expression")
        case Data(dataset=dataset, field=name):
            return [row if name is None else row[name] for row in names[DATA][dataset]]
        case Branches(tree=tree):
            return names[TREES][tree]
        case AtElement(of=of, loops=loops):
            return there(plain(of, names)[tuple(names[f"#{alias}"] for alias in loops)])
        case Each():
            return together(list(inside(expr.loop, names)), names, expr)
        case Unary(operator=operator, value=of):
            return not plain(of, names) if operator == "not" else -plain(of, names)
        case Binary(operator="and" | "or"):
            return joined(expr, names)
        case Binary():
            return operated(expr, names)
        case Call(function=name) if name in ("choose", "default", "readable") and name not in user_functions():
            return guarded(expr, names)
        case Call() if expr.is_reveal and evaluation.reveal_handler() is not None:
            return evaluation.reveal_handler()(expr, lambda: called(expr, names))  # type: ignore[misc]
        case Call():
            return called(expr, names)
    raise TypeError(expr)


def there(value: Any) -> Any:
    return value.resolve() if isinstance(value, MissingValue) else value


def whole(value: Any) -> Any:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, PartialRecord):
            for field in one.values():
                there(field)
    return value


def of_each(values: list[Any], name: str) -> list[Any]:
    return [of_each(each, name) if isinstance(each, list) else whole(there(each[name])) for each in values]


def bounded(value: Any, expr: Expr, names: Mapping[str, Any], what: str) -> Any:
    if isinstance(value, int | float) and not in_bounds(value):
        raise NoValue(status_of(expr, names), f"{what} has no value: {OUT_OF_BOUNDS}")
    return value


def together(exprs: Any, names: Mapping[str, Any], each: Each | None = None) -> list[Any]:
    """Return the values of all `exprs`, or of `each` in all of these names. A value that lacks for every model decides
    at once, and else the first one that lacks."""
    values: list[Any] = []
    lacking: list[Unavailable] = []
    for one in exprs:
        try:
            if each is None:
                values.append(plain(one, names))
            elif each.loop.where is None or plain(each.loop.where, one):
                values.append(
                    plain(each.value, one) if each.loop.where is None else after(each.loop.where, each.value, one)
                )
        except Unavailable as error:
            if error.status == NA:
                raise
            lacking.append(error)
    if lacking:
        raise lacking[0]
    return values


def inside(loop: Loop, names: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    listed = plain(loop.of, names)
    if loop.most is not None and len(listed) > loop.most:
        raise NoValue(status_of(loop.of, names), f"the list has {len(listed)} elements, more than {loop.most}")
    replies = {*names.get(REPLIES, ()), *([loop.alias] if status_of(loop.of, names) == UNDEFINED else [])}
    for place, element in enumerate(sorted(listed) if isinstance(listed, set | frozenset) else listed):
        yield {**names, REPLIES: replies, loop.alias: element, f"#{loop.alias}": place}


def after(condition: Expr, branch: Expr, names: Mapping[str, Any]) -> Any:
    """Return the value of a branch. A value that lacks only for models with such a reply is undefined."""
    try:
        return plain(branch, names)
    except Unavailable as error:
        if error.status == NA and status_of(condition, names) == UNDEFINED:
            kind = NoValue(UNDEFINED, error.reason) if isinstance(error, NoValue) else None
            raise kind or Unavailable(error.step, UNDEFINED, error.reason) from error
        raise


def record(fields: Mapping[str, Expr], names: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in fields.items():
        try:
            made[name] = plain(value, names)
        except Unavailable as error:
            made[name] = MissingValue(error.step, error.status, error.reason)
    return PartialRecord(made) if any(isinstance(value, MissingValue) for value in made.values()) else made


def joined(expr: Binary, names: Mapping[str, Any]) -> bool:
    decides = expr.operator == "or"
    try:
        left = bool(plain(expr.left, names))
    except Unavailable as error:
        if error.status != NA and status_of(expr.right, names) == NA:
            try:
                if bool(plain(expr.right, names)) == decides:
                    return decides
            except Unavailable:
                pass
        raise
    return left if left == decides else bool(after(expr.left, expr.right, names))


def operated(expr: Binary, names: Mapping[str, Any]) -> Any:
    operator = expr.operator
    try:
        left, right = together((expr.left, expr.right), names)
    except Unavailable as error:
        of_item = error.status != NA and status_of(expr.right, names) == NA
        if operator == "/" and of_item and not isinstance(expr.left, Literal_):
            plain(Binary(operator="/", left=Literal_(value=1), right=expr.right), names)
        raise
    try:
        value = OPERATORS[operator](left, right)
    except ZeroDivisionError:
        raise NoValue(status_of(expr.right, names), "`/` has no value: division by zero") from None
    except OverflowError:
        raise NoValue(status_of(expr, names), f"`{operator}` has no value: {OUT_OF_BOUNDS}") from None
    return bounded(value, expr, names, f"`{operator}`")


def guarded(expr: Call, names: Mapping[str, Any]) -> Any:
    given = dict(zip(FUNCTIONS[expr.function].names, expr.args, strict=False)) | expr.named
    if expr.function == "choose":
        condition = given["condition"]
        return after(condition, given["this" if plain(condition, names) else "other"], names)
    reads = expr.function == "readable"
    try:
        value = plain(given["value"], names)
    except NoValue as error:
        if reads and error.status == UNDEFINED:
            raise Unavailable("the expression", "parse_failure", str(error)) from error
        if reads:
            raise
        if error.status == NA:
            return plain(given["fallback"], names)
        value = None
    if value is not None:
        return value
    if reads:
        raise Unavailable("the expression", "parse_failure", "nothing that could be read")
    return after(given["value"], given["fallback"], names)


def called(expr: Call, names: Mapping[str, Any]) -> Any:
    name, function = expr.function, FUNCTIONS.get(expr.function)
    values = together((*expr.args, *expr.named.values()), names)
    for value in values:
        if (function is None or not function.takes_missing_fields) and isinstance(value, PartialRecord | list):
            whole(value)
    arguments, keywords = values[: len(expr.args)], dict(zip(expr.named, values[len(expr.args) :], strict=True))
    if name in user_functions():
        return user_functions()[name](*arguments, **keywords)
    if function is None and not user_functions():
        raise CalledInRunsOnly(name)
    try:
        value = FUNCTIONS[name](*arguments, **keywords)
    except AmbiguousAnswer as error:
        raise Unavailable("the expression", "parse_failure", str(error)) from error
    except (Undefined, OverflowError) as error:
        text = str(error) if isinstance(error, Undefined) else OUT_OF_BOUNDS
        raise NoValue(status_of_call(expr, names), f"`{name}` has no value: {text}") from error
    except Exception as error:
        raise InternalError(f"the function `{name}` failed: {type(error).__name__}: {error}") from error
    return bounded(value, expr, names, f"`{name}`")


# Expressions and rows
def names_of(dice: random.Random) -> dict[str, Any]:
    """Return a row, replies and verdicts, of which some have no value and some are divided."""
    missing = MissingValue("reply", dice.choice(["refused", UNDEFINED, NA]), "it lacks")
    divided = DividedVerdict("kind(1)", "kind", dice.choices(["a", "b", 1, 0], k=dice.randint(2, 4)))
    verdicts = {(0,): divided, (1,): "a", (2,): missing}
    rows = [{"n": dice.randint(-1, 2), "t": "a b"}, PartialRecord(n=missing, t="b"), {"n": 2, "t": "a"}]
    names: dict[str, Any] = {
        "n": dice.choice([0, 1, 2.5, -3, True, 1e69]),
        "t": dice.choice(["a", "A, b", "", "12", "yes or no"]),
        "many": dice.choice([[1, 2, 3], [], {1, 2}, [1e69, 5]]),
        "item": {"n": dice.randint(0, 2), "none": None, "rows": rows[: dice.choice([1, 3])]},
        "reply": {"text": dice.choice(["4", "four", "a", ""]), "field": dice.choice([missing, 3])},
        "part": PartialRecord(n=1, t=missing) if dice.random() < 0.5 else {"n": 1, "t": "a"},
        "kind": dice.choice([divided, "a"]),
        "kinds": verdicts,
        DATA: {"d": [{"n": 1, "t": "a"}, {"n": 0, "t": "b"}]},
        TREES: {"tree": {"a": ["b"]}},
    }
    names[REPLIES] = {name for name in ("reply", "kind", "kinds", "part", "many") if dice.random() < 0.6}
    names[DIVIDED] = {
        name: frozenset([name]) for name in ("kind", "kinds") if evaluation.divided_verdict_in(names[name])
    }
    return names


REFERENCES = (
    "n", "t", "many", "item.n", "item.none", "item.rows", "reply.text", "reply.field", "part", "part.n", "kind",
)  # fmt: skip
NUMBERS = ("n", "item.n", "part.n", "reply.field")
CALLS = {
    "length": 1, "nth": 2, "sum": 1, "sqrt": 1, "trim": 1, "split": 2, "last_number": 1, "yes_or_no": 1, "max": 1,
    "join": 2, "choose": 3, "default": 2, "readable": 1, "reveal": 1, "mine": 2, "unknown": 1, "json": 1, "contains": 2,
}  # fmt: skip


def drawn(dice: random.Random, depth: int, scope: tuple[str, ...] = (), number: bool = False) -> Expr:
    """Return an expression of any construct; with `number`, one that mostly is a number."""
    if depth == 0 or dice.random() < 0.2:
        values: list[Any] = [0, 1, 2, 1.5, *([] if number else ["a", ",", None, True, 1e71])]
        paths = [*(NUMBERS if number else REFERENCES), *scope, *scope]
        path = tuple(dice.choice(paths).split("."))
        return Literal_(value=dice.choice(values)) if dice.random() < 0.3 else Ref(path=path)

    def part(*more: str, number: bool = False) -> Expr:
        return drawn(dice, depth - 1, (*scope, *more), number=number or dice.random() < 0.3)

    several = ["unary", "items", "record", "get", "each", "at", "rows"]
    match dice.choice(["binary"] * 4 + ["call"] * 4 + (["minus"] if number else several)):
        case "binary":
            chosen: Any = dice.choice([*"+-*/"] if number else [*OPERATORS, "and", "or"])
            typed = chosen in (*"+-*/", "<", "<=", ">", ">=") and dice.random() < 0.9
            return Binary(operator=chosen, left=part(number=typed), right=part(number=typed))
        case "call" if number:
            name = dice.choice(["length", "sum", "default", "choose", "last_number", "max"])
            texts = {"length": ("t",), "sum": ("many",), "max": ("many",), "last_number": ("reply", "text")}
            if name in texts and dice.random() < 0.7:
                return Call(function=name, args=(Ref(path=texts[name]),))
            return Call(function=name, args=tuple(part(number=name in "default choose") for _ in range(CALLS[name])))
        case "call":
            name = dice.choice([*CALLS])
            args = [part() for _ in range(CALLS[name])]
            if name in FUNCTIONS and dice.random() < 0.2:
                return Call(function=name, named=dict(zip(FUNCTIONS[name].names, args, strict=False)))
            return Call(function=name, args=tuple(args))
        case "minus":
            return Unary(operator="-", value=part(number=True))
        case "unary":
            return Unary(operator="not", value=part())
        case "items":
            return Items(values=(part(), part()))
        case "record":
            return RecordValue(fields={"n": part(), "t": part()})
        case "get":
            record = RecordValue(fields={"n": part(), "t": part()})
            return Get(of=dice.choice([Ref(path=("item", "rows")), record, part()]), field=dice.choice(["n", "t"]))
        case "each":
            alias = dice.choice("xyz")
            lists = [Ref(path=("many",)), Ref(path=("item", "rows")), Data(dataset="d"), part()]
            where = part(alias) if dice.random() < 0.5 else None
            loop = Loop(alias=alias, of=dice.choice(lists), where=where, most=dice.choice([None, 2]))
            return Each(loop=loop, value=part(alias))
        case "at":
            loop = Loop(alias="x", of=Items(values=tuple(Literal_(value=place) for place in range(dice.randint(1, 3)))))
            at = AtElement(of=Ref(path=("kinds",)), loops=("x",))
            return Each(loop=loop, value=Binary(operator="==", left=at, right=part("x")))
    return dice.choice([Data(dataset="d", field="n"), Branches(tree="tree")])


def shown(value: Any) -> Any:
    """Return a value with its type, and the whole of what lacks in it."""
    if isinstance(value, MissingValue):
        return vars(value)
    if isinstance(value, dict):
        return type(value), {name: shown(inner) for name, inner in value.items()}
    return (type(value), [*map(shown, value)]) if isinstance(value, list) else (type(value), value)


def outcome(value: Any, expr: Expr, names: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a value, or the whole of why there is none."""
    try:
        return ("there", shown(value(expr, names)))
    except Unavailable as error:
        return type(error), error.step, error.status, error.reason
    except Exception as error:
        return type(error), str(error)


def outcomes(seed: int, value: Any) -> list[tuple[Any, ...]]:
    """Return the outcomes of an expression for three rows, with functions of the user and without."""
    dice = random.Random(seed)
    expr, rows = drawn(dice, 4), [names_of(dice) for _ in range(3)]
    found = [outcome(value, expr, names) for names in rows]
    with with_functions({"mine": lambda a, b: [a, b], "trim": lambda a: a}):
        found.append(outcome(value, expr, rows[0]))
    with override_reveal(lambda call, of: [of()]):
        found.append(outcome(value, expr, rows[0]))
    return found


def test_a_compiled_expression_comes_to_what_an_interpreter_finds() -> None:
    seen: Counter[Any] = Counter()
    for seed in range(sized(1_500, 100_000)):
        expected = outcomes(seed, plain)
        assert outcomes(seed, evaluate) == expected, seed
        seen.update(end[1][0] if end[0] == "there" else end[2] if len(end) > 2 else end[0] for end in expected)
    assert {bool, list, dict, UNDEFINED, NA, "parse_failure", "refused", "unknown", InternalError} <= seen.keys()


def test_a_compiled_expression_is_dropped_with_its_expression() -> None:
    exprs = [Binary(operator="+", left=Ref(path=("n",)), right=Literal_(value=number)) for number in range(3)]
    exprs += [Ref(path=("n",)), Binary(operator="*", left=exprs[0], right=exprs[0])]  # type: ignore[list-item]
    for expr in exprs:
        evaluate(expr, {"n": 1})
    alive = [ref(expr) for expr in exprs]
    exprs.clear()
    del expr
    gc.collect()
    assert [each() for each in alive] == [None] * 5
