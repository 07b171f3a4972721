"""The runner of Python programs that read an input and write an output, as contests have them.

What a program writes is compared here, outside of its sandbox, which no output that is wanted enters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from tripos_runtime.asking.functions.code.runner import CodeRunner, Guest
from tripos_runtime.asking.functions.protocol import NO_SCORE, Failed, Outcome, Value


class ProgramRunner(CodeRunner):
    """Executes a program for each input, up to the first whose output is not the wanted one."""

    def _passed(self, given: Mapping[str, Any]) -> Outcome:
        inputs, outputs = given["inputs"], given["outputs"]
        if len(inputs) != len(outputs) or not inputs:
            return Failed(NO_SCORE, f"there are {len(inputs)} inputs and {len(outputs)} outputs")
        for said, wanted in zip(inputs, outputs, strict=True):
            found = self.tried(given, ("program.py",), partial(_written, given["code"], said, wanted))
            if found != Value(True):
                return found
        return Value(True)


RUNNERS: Mapping[str, type[CodeRunner]] = {"python-tests": CodeRunner, "python-programs": ProgramRunner}
"""What executes code, by the name of the program that a spec names."""


def _written(code: str, said: str, wanted: str, guests: Sequence[Guest], until: float) -> Outcome:
    (guest,) = guests
    guest.say({"code": code, "input": said}, until)
    answer = guest.hear(until)
    if answer is None or answer.get("raised") is not None or not isinstance(answer.get("said"), str):
        return Value(False)
    return Value(same_output(answer["said"], wanted))


def same_output(said: str, wanted: str) -> bool:
    """Return true if an output is the wanted one as LiveCodeBench sees it: line by line without the space around each,
    the same text or the same numbers.

    >>> same_output("1.50 2\\n", "1.5 2.0"), same_output("yes", "YES"), same_output("1\\n\\n2", "1\\n2")
    (True, False, False)
    """
    lines, expected = _lines(said), _lines(wanted)
    return len(lines) == len(expected) and all(
        one == other or ((numbers := _numbers(one)) is not None and numbers == _numbers(other))
        for one, other in zip(lines, expected, strict=True)
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _numbers(line: str) -> list[Decimal] | None:
    try:
        numbers = [Decimal(part) for part in line.split()]
    except InvalidOperation:
        return None
    return None if any(number.is_snan() for number in numbers) else numbers  # `sNaN` is text: comparing it raises
