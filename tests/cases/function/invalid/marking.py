# ruff: noqa
import asyncio
from math import sqrt
from typing import Any, Generic, Literal, TypeVar

LIMIT = 3
T = TypeVar("T")


class Marks:
    def inner(self) -> int:
        return LIMIT


def has_units(text: str) -> bool:
    return " km" in text


def listed(text: str) -> list[str]:
    return text.split()


def words(text: str) -> int:
    return len(text.split())


def no_type(text) -> bool:
    return bool(text)


def no_return(text: str):
    return bool(text)


def nothing(text: str) -> None:
    return None


def anything(text: Any) -> bool:
    return bool(text)


def mapping(text: str) -> dict[str, int]:
    return {text: 1}


def bare_list(text: list) -> bool:
    return bool(text)


def list_of_sets(text: set[list[str]]) -> bool:
    return bool(text)


def either(text: str | int) -> bool:
    return bool(text)


def own_type(marks: Marks) -> bool:
    return bool(marks)


def variable(item: T) -> bool:
    return bool(item)


def many(*texts: str) -> bool:
    return bool(texts)


def options(text: str, **rest: str) -> bool:
    return bool(rest)


def positional(text: str, /) -> bool:
    return bool(text)


async def later(text: str) -> bool:
    await asyncio.sleep(0)
    return bool(text)


def numbered(text: str) -> Literal[1, 2]:
    return 1


def single(text: str) -> Literal["yes"]:
    return "yes"


def quoted(text: "str or int") -> bool:
    return bool(text)


Endless = "list[Endless]"


def endless(text: Endless) -> bool:
    return bool(text)
