"""Questions, functions and calls in the form of the Berkeley Function Calling Leaderboard, drawn by dice."""

from __future__ import annotations

import random
from collections.abc import Mapping
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
