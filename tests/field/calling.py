"""Questions, functions and calls in the form of the Berkeley Function Calling Leaderboard, drawn by dice, and the rules by
which its authors match calls, written out step by step apart from ours."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

CLASSES: Mapping[str, type] = {
    "string": str, "any": str, "integer": int, "float": float, "boolean": bool,
    "array": list, "tuple": list, "dict": dict,
}  # fmt: skip
Call = dict[str, Any]
"""A call as the authors have it: the name of the function, with its arguments."""


def value(of: str, dice: random.Random, items: str = "integer") -> Any:
    """Draw a value of a type."""
    match of:
        case "string" | "any":
            return dice.choice(["New York", "new-york", "San Francisco", "a b", "", "O'Hara", 'O"Hara', "1"])
        case "integer":
            return dice.choice([0, 1, 2, 10])
        case "float":
            return dice.choice([0.5, 1.0, 2.0, 3.25])
        case "boolean":
            return dice.random() < 0.5
        case "dict":
            return {name: value(dice.choice(["string", "integer"]), dice) for name in dice.sample("abc", 2)}
    return [value(items, dice) for _ in range(dice.randint(0, 2))]


def function(name: str, dice: random.Random) -> dict[str, Any]:
    """Draw a function with its parameters."""
    properties: dict[str, Any] = {}
    for each in dice.sample(["city", "days", "unit"], dice.randint(1, 3)):
        of = dice.choice(list(CLASSES))
        properties[each] = {"type": of, "description": f"The {each}."}
        if CLASSES[of] is list:
            properties[each]["items"] = {"type": dice.choice(["string", "integer", "float", "dict"])}
    required = [each for each in properties if dice.random() < 0.6]
    parameters = {"type": "dict", "properties": properties, "required": required}
    return {"name": name, "description": f"Does {name}.", "parameters": parameters}


def arguments(of: Mapping[str, Any], dice: random.Random) -> dict[str, Any]:
    """Draw an argument for every parameter."""
    properties = of["parameters"]["properties"]
    return {
        name: value(each["type"], dice, each.get("items", {}).get("type", "integer"))
        for name, each in properties.items()
    }


def allowed(given: Mapping[str, Any], dice: random.Random) -> dict[str, list[Any]]:
    """Draw the values that are right beside those that are given."""
    found = {}
    for name, each in given.items():
        others = [dice.choice(["Rome", 3, 1.5, True])] * (dice.random() < 0.3 and not isinstance(each, list | dict))
        found[name] = [_written(each), *others, *[""] * (dice.random() < 0.3)]
    return found


def _written(each: Any) -> Any:
    if isinstance(each, dict):
        return {name: [part] for name, part in each.items()}
    return [_written(part) for part in each] if isinstance(each, list) else each


def altered(each: Any, dice: random.Random) -> Any:
    """Draw another value, or the same otherwise written."""
    match each:
        case bool():
            return dice.choice([int(each), not each, each])
        case str():
            return dice.choice([each.upper(), each.replace(" ", "_"), each + "!", 1])
        case int() | float():
            return dice.choice([float(each), int(each), str(each), each + 1])
        case list():
            return dice.choice([each[::-1], each + each[:1], [altered(part, dice) for part in each]])
        case dict():
            return dice.choice([dict(list(each.items())[1:]), {**each, "z": 1}, each])
    return each


# The rules of the authors, in their order.


def matches(functions: Sequence[Mapping[str, Any]], calls: Sequence[Call], answers: Sequence[Call]) -> bool:
    """Return true where each answer has a call of its own that matches it: the first that is left."""
    if len(calls) != len(answers):
        return False
    used: set[int] = set()
    for answer in answers:
        (name,) = answer
        described = next(each for each in functions if each["name"] == name)
        for place, call in enumerate(calls):
            if place not in used and _is_right(described, call, answer[name]):
                used.add(place)
                break
        else:
            return False
    return True


def _is_right(described: Mapping[str, Any], call: Call, answer: Mapping[str, list[Any]]) -> bool:
    if described["name"] not in call:
        return False
    given, parameters = call[described["name"]], described["parameters"]
    if any(name not in given for name in parameters["required"]):
        return False
    for name, each in given.items():
        if name not in parameters["properties"] or name not in answer:
            return False
        if not _has_value(each, parameters["properties"][name], answer[name]):
            return False
    return not any(name not in given and "" not in answer[name] for name in answer)


def _first_class(answers: Sequence[Any]) -> type | None:
    return next((type(each) for each in answers if each != ""), None)


def _has_value(each: Any, described: Mapping[str, Any], answers: list[Any]) -> bool:
    wanted, items = CLASSES[described["type"]], CLASSES.get(described.get("items", {}).get("type"))
    if described["type"] == "float" and type(each) is int:
        each = float(each)
    known = _first_class(answers)
    variable = known is not None and known != wanted
    if type(each) is wanted:
        if items is not None and wanted is list and not _items_fit(each, items, answers):
            return False
    elif known is not None and type(each) is known:
        variable = True
    else:
        return False
    checks: dict[Any, Callable[[], bool]] = {
        str: lambda: plain(each) in [plain(a) for a in answers if isinstance(a, str)],
        dict: lambda: any(a != "" and _is_record(each, a) for a in answers),
        list: lambda: _is_list(each, items, answers),
    }
    return each in answers if variable or wanted not in checks else checks[wanted]()


def _items_fit(each: list[Any], items: type, answers: list[Any]) -> bool:
    for answer in answers:
        if not isinstance(answer, list) or all(type(part) in (items, _first_class(answer)) for part in each):
            return True
    return False


def _is_list(each: list[Any], items: type | None, answers: list[Any]) -> bool:
    if items is dict:
        same = [answer for answer in answers if len(answer) == len(each)]
        return any(all(_is_record(part, a) for part, a in zip(each, answer, strict=True)) for answer in same)
    return [plain(part) for part in each] in [[plain(part) for part in answer] for answer in answers]


def _is_record(each: dict[str, Any], answer: dict[str, list[Any]]) -> bool:
    if any(name not in answer or plain(part) not in map(plain, answer[name]) for name, part in each.items()):
        return False
    return all(name in each or "" in answer[name] for name in answer)


def plain(each: Any) -> Any:
    """Return a text without signs and capitals, anything else as it is."""
    return re.sub(r"[ ,./\-_*^]", "", each).lower().replace("'", '"') if isinstance(each, str) else each
