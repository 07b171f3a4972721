"""The program that executes functions of tools: it answers JSON Lines, and calls each function twice.

It runs in a Python process of its own, without Tripos, so it imports only the standard library. A call of `serve` with
the text of a file of functions is appended to its text. The output of functions goes to standard error.
"""

import json
import sys
import types
from typing import Any

TRIPOS = 1


class _NoData(Exception):
    """A function returned a value or left a state that JSON cannot represent."""


def serve(source: str, name: str) -> None:
    """Answer requests to the functions in `source` until standard input ends; `name` is the file's. An answer has the
    state and the result, or says why there are none."""
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


def _twice(module: types.ModuleType, function: str, arguments: dict[str, object]) -> dict[str, object]:
    """Return the result of calling a function twice: that of both calls, `differs`, or `wrong` with the reason."""
    text = json.dumps(arguments)
    try:
        first, second = _once(module, function, json.loads(text)), _once(module, function, json.loads(text))
    except _NoData as error:
        return {"wrong": str(error)}
    return json.loads(first) if first == second else {"differs": True}


def _once(module: types.ModuleType, function: str, request: dict[str, Any]) -> str:
    """Call a function. Return the state after the call and the result, as JSON text."""
    state, arguments = request["state"], request["arguments"]
    before = json.dumps(state)
    try:
        result, failed = getattr(module, function)(state, **arguments), False
    except (Exception, SystemExit) as error:
        result, failed = f"Error: {error}" if str(error) else f"Error: {type(error).__name__}", True
        state = json.loads(before)  # a call that fails changes nothing
    text = result if isinstance(result, str) else _json_text(result, f"`{function}` returned a value")
    if json.loads(_json_text(state, f"`{function}` left a state")) != state:
        raise _NoData(f"`{function}` left a state that is no JSON: keys are texts, and a list is no tuple")
    return _json_text({"state": state, "text": text, "failed": failed}, "")


def _json_text(value: object, what: str) -> str:
    """Return a value as JSON text. Raises `_NoData`, with `what` the value is, if it has none."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _NoData(f"{what} that is no JSON: {error}") from None
