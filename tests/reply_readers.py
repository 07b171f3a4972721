"""The readers of replies and the library functions that read one, by name: what replies of every shape are tried on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import (
    BoolType,
    ChoiceType,
    DialogueType,
    IntegerType,
    JsonType,
    ListType,
    Metric,
    NumberType,
    OptionalType,
    RecordType,
    SetType,
    TextType,
    Type,
)
from tripos_runtime.reading.json_values import find_json_values
from tripos_runtime.reading.judgements import read_metrics
from tripos_runtime.reading.plain_text import is_refusal
from tripos_runtime.reading.typed import read

LETTER = ChoiceType(values=("A", "B", "C", "D"))
RECORD = RecordType(fields={"a": IntegerType(), "b": TextType()})
TYPES: tuple[Type, ...] = (
    TextType(),
    IntegerType(low=1, high=10),
    NumberType(),
    BoolType(),
    LETTER,
    ChoiceType(values=("high", "low")),
    DialogueType(),
    OptionalType(of=IntegerType()),
    RECORD,
    RecordType(fields={"a": LETTER}),
    ListType(of=TextType()),
    ListType(of=IntegerType()),
    ListType(of=LETTER),
    ListType(of=BoolType()),
    ListType(of=RECORD),
    SetType(of=TextType()),
    SetType(of=RecordType(fields={"a": ListType(of=TextType())})),
    JsonType(),
    RecordType(fields={"a": TextType(), "b": JsonType()}),
)
METRICS = [
    Metric(name=name, title={"en": name}, dimension="d", low=1, high=10, asks={}, levels=())
    for name in ("depth", "clarity")
]
OPTIONS = ["red apples", "green ones", "8", "x"]
GIVEN: dict[str, tuple[Any, ...]] = {
    "final_number": (),
    "last_number": (),
    "number": (),
    "choice_letters": (),
    "chosen_option": (OPTIONS,),
    "option_letters": (3,),
    "right_or_wrong": (3,),
    "boxed": (),
    "after": ("####",),
    "is_yes": (),
    "words": (),
    "lines": (),
    "simplified": (),
    "echoed": ("Find the sum of 17 and 25.", 3),
}
"""The functions of the library that read replies, and their other arguments."""
READERS: dict[str, Callable[[str], Any]] = {
    **{f"read {type_.kind} {number}": partial(read, type_) for number, type_ in enumerate(TYPES)},
    "read numbers in German": lambda text: read(ListType(of=NumberType()), text, locale="de"),
    "final_number in German": lambda text: FUNCTIONS["final_number"].python(text, "de"),
    "option_letters of one part": FUNCTIONS["option_letters"].python,
    "right_or_wrong of one part": FUNCTIONS["right_or_wrong"].python,
    "one metric": lambda text: read_metrics(METRICS[:1], text),
    "two metrics": lambda text: read_metrics(METRICS, text),
    "JSON": find_json_values,
    "refusal": is_refusal,
    **{
        name: lambda text, name=name, more=more: FUNCTIONS[name].python(text, *more)  # type: ignore[misc]
        for name, more in GIVEN.items()
    },
}
