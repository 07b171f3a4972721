"""The program that executes functions of tools: it answers JSON Lines, and calls each function twice.

Its text is started with the text of a file of functions behind it, in a Python of its own, so it imports the standard
library alone. What a function prints goes to standard error.
"""

import json
import sys
import types
from typing import Any

TRIPOS = 1


class _NoData(Exception):
    """A function left what JSON cannot hold."""


def serve(source: str, name: str) -> None:
    """Answer requests until there are no more. A state and a result are told as JSON, or the reason why not."""
    out, sys.stdout = sys.stdout, sys.stderr
    sys.stdin.readline()  # the greeting
    module = types.ModuleType("_tripos_tools")
    sys.modules[module.__name__] = module
    exec(compile(source, name, "exec"), module.__dict__)
    print(json.dumps({"tripos": TRIPOS}), file=out, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"id": request["id"], "value": _twice(module, request["scorer"], request["arguments"])}
        print(json.dumps(answer), file=out, flush=True)


def _twice(module: types.ModuleType, function: str, given: dict[str, object]) -> dict[str, object]:
    told = json.dumps(given)
    try:
        first, second = _once(module, function, json.loads(told)), _once(module, function, json.loads(told))
    except _NoData as error:
        return {"wrong": str(error)}
    return json.loads(first) if first == second else {"differs": True}


def _once(module: types.ModuleType, function: str, given: dict[str, Any]) -> str:
    """Return the state after a call and its result, as JSON whose keys are in order."""
    state, arguments = given["state"], given["arguments"]
    before = json.dumps(state)
    try:
        result, failed = getattr(module, function)(state, **arguments), False
    except (Exception, SystemExit) as error:
        result, failed = f"Error: {error}" if str(error) else f"Error: {type(error).__name__}", True
        state = json.loads(before)  # a call that fails changes nothing
    text = result if isinstance(result, str) else _written(result, f"`{function}` returned a value")
    if json.loads(_written(state, f"`{function}` left a state")) != state:
        raise _NoData(f"`{function}` left a state that is no JSON: keys are texts, and a list is no tuple")
    return _written({"state": state, "text": text, "failed": failed}, "")


def _written(value: object, what: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _NoData(f"{what} that is no JSON: {error}") from None
