"""The part that code and tests have in common inside a sandbox: limits, lines, and values as plain data.

Its text is put before that of `candidate.py` and `tester.py`; nothing of Tripos is there.
"""

import collections
import ctypes
import decimal
import fractions
import json
import os
import resource
import sys
from collections.abc import Callable
from typing import Any

LONGEST = 2**24
MOST_ITEMS = 100_000
X86_64 = (57, 58, 59, 322, 41, 101, 310, 311, 425, 272, 308, 165, 248, 249, 250, 298, 321, 323)
AARCH64 = (221, 281, 198, 117, 270, 271, 425, 97, 268, 40, 217, 218, 219, 241, 280, 282)
"""The system calls that are refused, by machine: those that start a program, open a connection, reach into another
process, or make and mount a world of their own, and those of keys and of the insides of the kernel. Threads are
allowed."""


def connect() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Return how messages come and go, over pipes that `print` does not reach."""
    given, taken = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)

    def hear() -> Any:
        line = given.readline(LONGEST + 1)
        if not line:
            os._exit(0)
        return json.loads(line)

    def say(message: Any) -> None:
        taken.write(json.dumps(message).encode() + b"\n")
        taken.flush()

    return hear, say


def confine(seconds: int, memory: int) -> bool:
    """Hold this process to time and memory, and keep it from starting another; false where that cannot be had."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    return without_processes()


def without_processes() -> bool:
    """Have the kernel refuse fork, exec and the like: a filter of system calls."""
    machine = os.uname().machine
    numbers = {"x86_64": (0xC000003E, 56, X86_64), "aarch64": (0xC00000B7, 220, AARCH64)}
    if machine not in numbers or sys.maxsize < 2**32:
        return False
    arch, clone, refused = numbers[machine]
    load, equal, at_least, bits, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, perm, nosys = 0x7FFF0000, 0x00050001, 0x00050026
    # What a jump skips is counted from the instruction after it.
    code = [(load, 0, 0, 4), (equal, 1, 0, arch), (give, 0, 0, perm), (load, 0, 0, 0)]
    code += [(at_least, 0, 1, 0x40000000), (give, 0, 0, perm)]
    for number in refused:
        code += [(equal, 0, 1, number), (give, 0, 0, perm)]
    code += [(equal, 0, 1, 435), (give, 0, 0, nosys)]
    code += [(equal, 0, 3, clone), (load, 0, 0, 16), (bits, 1, 0, 0x10000), (give, 0, 0, perm), (give, 0, 0, allow)]

    class Filter(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Filters(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("first", ctypes.POINTER(Filter))]

    table = (Filter * len(code))(*(Filter(*each) for each in code))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(38, ctypes.c_ulong(1), zero, zero, zero) != 0:
        return False
    program = Filters(len(code), table)
    return bool(libc.prctl(22, ctypes.c_ulong(2), ctypes.byref(program), zero, zero) == 0)


def encoded(value: Any, kept: Callable[[Any], Any]) -> Any:
    """Return a value as plain data with its type; what is none is `kept`, and its number stands for it."""

    def each(values: Any) -> list[Any]:
        return [encoded(one, kept) for one in values]

    if value is None or isinstance(value, bool):
        return ["k", value]
    if isinstance(value, int):
        return ["i", format(int(value), "x")]
    if isinstance(value, float):
        return ["f", float.hex(float(value))]
    if isinstance(value, complex):
        return ["c", [float.hex(value.real), float.hex(value.imag)]]
    if isinstance(value, str):
        return ["s", str.__str__(value)]
    if isinstance(value, bytes | bytearray):
        return ["y" if isinstance(value, bytes) else "Y", bytes(value).hex()]
    for tag, kind in (("l", list), ("t", tuple), ("e", set), ("z", frozenset), ("q", collections.deque)):
        if isinstance(value, kind):
            return [tag, each(value)]
    if isinstance(value, dict):
        return ["d", [each(pair) for pair in value.items()]]
    if isinstance(value, range):
        return ["r", each((value.start, value.stop, value.step))]
    if isinstance(value, decimal.Decimal):
        return ["D", str(value)]
    if isinstance(value, fractions.Fraction):
        return ["F", each((value.numerator, value.denominator))]
    return ["h", kept(value)]


def decoded(data: Any, found: Callable[[Any], Any]) -> Any:
    """Return the value that plain data stand for, of a built-in type; `found` gives what a number stands for."""
    tag, told = data
    if tag == "k" and (told is None or told is True or told is False):
        return told
    if tag in ("i", "f", "s", "y", "Y", "D") and type(told) is str:
        of: dict[str, Callable[[str], Any]] = {
            "i": lambda text: int(text, 16),
            "f": float.fromhex,
            "s": str,
            "y": bytes.fromhex,
            "Y": bytearray.fromhex,
            "D": decimal.Decimal,
        }
        return of[tag](told)
    if tag == "c":
        return complex(*map(float.fromhex, told))
    many = {"l": list, "t": tuple, "e": set, "z": frozenset, "q": collections.deque}
    if tag in many:
        return many[tag](decoded(one, found) for one in told)
    if tag == "d":
        return {decoded(key, found): decoded(one, found) for key, one in told}
    if tag == "r":
        return range(*(decoded(one, found) for one in told))
    if tag == "F":
        return fractions.Fraction(*(decoded(one, found) for one in told))
    if tag == "h":
        return found(told)
    raise ValueError("no such type")
