"""What stands in the place of a plan's Python functions: values that follow from the arguments, since checking runs no
Python of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tripos_compiler.plan import Plan, Plugin, Type
from tripos_runtime.asking import dumps
from tripos_runtime.models.mock_values import draw, value_of
from tripos_runtime.reading import schema_of


def stand_ins(plan: Plan, world: str) -> Mapping[str, Callable[..., Any]]:
    """A function for each of the plan's, by name. One that is not pure may have read the files: in every `world` it
    gives something else."""
    return {plugin.name: partial(_stand_in, plugin, "" if plugin.pure else world) for plugin in plan.plugins}


def _stand_in(plugin: Plugin, world: str, *args: Any, **named: Any) -> Any:
    return _value(plugin.returns, dumps([plugin.name, world, list(args), named]))


def _value(type: Type, key: str) -> Any:
    match type.kind:
        case "text":
            return _text(key)
        case "optional":
            return None if draw(4, key) == 0 else _value(type.of, key)
        case "set":
            return frozenset(_value(type.of, f"{key}{i}") for i in range(1 + draw(3, key)))
        case "list":
            return [_value(type.of, f"{key}{i}") for i in range(draw(4, key))]
        case "dialogue":
            return [{"speaker": "a", "text": _text(key)}]
    schema = schema_of(type)
    return value_of(schema, key, "mixed")["value"] if type.kind != "record" else value_of(schema, key, "mixed")


def _text(key: str) -> str:
    """A text that says nothing, and is another for other arguments."""
    return f"{draw(10**9, key)}"
