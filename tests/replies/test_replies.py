"""Replies as models write them, each with the reading of a careful person, and the readers as users reach them.

`python -m tests.replies.test_replies [READER or CLASS …]` prints a table by reader and class, and what is read wrongly.

Keys of an entry: `readers`, the `text`, what a reader is given (`options`, `names`, `scale`, `parts`, `locale`), and
`want`. A `want` of null is no answer: any value is wrong. With `person`, a person would read it, and no value counts as
unread; without, no value is as good as the wanted one.
"""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from tests.lengths import sized
from tripos_compiler.library import signature
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import BoolType, ChoiceType, IntegerType, Metric, NumberType
from tripos_runtime.reading.judgements import read_metrics
from tripos_runtime.reading.typed import read

FOLDER = Path(__file__).parent
LOCALE = "en"
MOST_UNREAD = 0.03
"""The largest share of replies that a person would read and a reader does not."""
THINKING = "<think>\nThe answer is A, or 12? No, wait: yes, it is true. Score: 3. \\boxed{7}, incorrect.\n</think>\n\n"
FORMS: Mapping[str, Callable[[str], str]] = {
    "behind thinking": lambda text: THINKING + text,
    "decomposed": partial(unicodedata.normalize, "NFD"),
    "curly apostrophes": lambda text: text if "{'" in text else text.replace("'", "’"),
    "trailing blanks": lambda text: text + " \n\n",
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
}
"""Changes of form that are no change of what a reply says."""
EVERY = sized(15, 5)
"""One entry in so many is tried in every form."""
Entry = Mapping[str, Any]
Outcome = Literal["right", "unread", "wrong"]


class Reading(NamedTuple):
    """An entry of the corpus as one reader reads it."""

    entry: Entry
    reader: str
    value: Any
    outcome: Outcome


def entries() -> list[Entry]:
    """Return the corpus, each entry with the name of its file in `kind`."""
    return [
        {"kind": path.stem, **json.loads(line)}
        for path in sorted(FOLDER.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]


def _typed(entry: Entry, type_: Any) -> Any:
    return read(type_, entry["text"], locale=entry.get("locale", LOCALE)).value


def _score(entry: Entry) -> float | None:
    low, high = entry["scale"]
    metric = Metric(name="quality", title={"en": "Quality"}, dimension="d", low=low, high=high, asks={}, levels=())
    return read_metrics([metric], entry["text"], entry.get("locale", LOCALE))["quality"].value


def _range(entry: Entry) -> Any:
    low, high = entry["scale"]
    return _typed(entry, IntegerType(low=low, high=high))


def _function(name: str, entry: Entry) -> Any:
    given = {
        "chosen_option": lambda: (entry["options"],),
        "option_letters": lambda: (entry["parts"],) if "parts" in entry else (),
        "right_or_wrong": lambda: (entry["parts"],) if "parts" in entry else (),
        "boxed": tuple,
        "is_yes": tuple,
    }.get(name, lambda: (entry.get("locale", LOCALE),))
    try:
        return FUNCTIONS[name].python(entry["text"], *given())  # type: ignore[misc]
    except signature.AmbiguousAnswer:
        return None


READERS: dict[str, Callable[[Entry], Any]] = {
    "returns number": lambda entry: _typed(entry, NumberType()),
    "returns integer": lambda entry: _typed(entry, IntegerType()),
    "returns bool": lambda entry: _typed(entry, BoolType()),
    "returns choice": lambda entry: _typed(entry, ChoiceType(values=tuple(entry["names"]))),
    "score": _score,
    "score of a range": _range,
    **{
        name: partial(_function, name)
        for name in (
            "final_number",
            "number",
            "last_number",
            "chosen_option",
            "option_letters",
            "boxed",
            "is_yes",
            "right_or_wrong",
        )
    },
}


def _same(value: Any, want: Any) -> bool:
    if isinstance(value, bool) or isinstance(want, bool) or not isinstance(want, int | float):
        return type(value) is type(want) and bool(value == want)
    return isinstance(value, int | float) and math.isclose(value, want, rel_tol=1e-9)


def judge(entry: Entry, value: Any) -> Outcome:
    """Compare what a reader returned with the reading of a person."""
    if value is None or value == []:
        return "unread" if entry["person"] else "right"
    return "right" if _same(value, entry["want"]) else "wrong"


def readings() -> Iterator[Reading]:
    """Read every entry with each of its readers."""
    for entry in entries():
        for reader in entry["readers"]:
            value = READERS[reader](entry)
            yield Reading(entry, reader, value, judge(entry, value))


@pytest.fixture(scope="module")
def found() -> list[Reading]:
    return list(readings())


def _line(one: Reading) -> str:
    entry = one.entry
    given = {key: entry[key] for key in ("options", "names", "scale", "parts", "locale") if key in entry}
    return f"{entry['id']} {one.reader}: {one.value!r}, not {entry['want']!r}: {entry['text']!r} {given or ''}"


def test_entries_are_whole() -> None:
    found = entries()
    assert len({entry["id"] for entry in found}) == len(found)
    for entry in found:
        assert {"id", "readers", "text", "want", "person", "class"} <= set(entry), entry
        assert entry["want"] not in (None, []) or not entry["person"], entry
        assert set(entry["readers"]) <= set(READERS), entry


@pytest.mark.parametrize("reader", READERS)
def test_no_reply_is_read_wrongly(found: list[Reading], reader: str) -> None:
    wrong = [_line(one) for one in found if one.reader == reader and one.outcome == "wrong"]
    assert wrong == []


@pytest.mark.parametrize("reader", READERS)
def test_few_replies_are_unread(found: list[Reading], reader: str) -> None:
    """Of the replies that a person reads."""
    of_person = [one for one in found if one.reader == reader and one.entry["person"]]
    unread = [_line(one) for one in of_person if one.outcome == "unread"]
    assert len(unread) <= MOST_UNREAD * len(of_person), unread


@pytest.mark.parametrize("form", FORMS)
def test_a_form_changes_no_reading(found: list[Reading], form: str) -> None:
    changed = []
    for one in found[::EVERY]:
        text = FORMS[form](one.entry["text"])
        value = READERS[one.reader]({**one.entry, "text": text})
        if _composed(value) != _composed(one.value):
            changed.append(f"{one.entry['id']} {one.reader}: {value!r}, not {one.value!r}: {text!r}")
    assert changed == []


def _composed(value: Any) -> Any:
    """Compose a text, so that the form of characters does not count."""
    if not isinstance(value, str):
        return value
    return unicodedata.normalize("NFC", value).replace("’", "'").replace("\r\n", "\n")


def main(only: list[str]) -> None:
    """Print what became of every class, the wrong readings and the unread ones."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    shown: dict[str, list[str]] = {"unread": [], "wrong": []}
    for one in readings():
        name = one.entry["class"]
        if only and not {one.reader, name, one.entry["kind"]} & set(only):
            continue
        for row in ((one.reader, name), (one.reader, "*"), ("*", "*")):
            counts[row][one.outcome] += 1
            counts[row]["of person"] += one.entry["person"]
        if one.outcome in shown:
            shown[one.outcome].append(_line(one))
    print(f"{'reader':18}{'class':36}{'right':>6}{'unread':>7}{'wrong':>6}{'unread %':>9}")
    for (reader, name), row in sorted(counts.items()):
        share = 100 * row["unread"] / row["of person"] if row["of person"] else 0
        print(f"{reader:18}{name:36}{row['right']:6}{row['unread']:7}{row['wrong']:6}{share:9.1f}")
    for outcome, lines in shown.items():
        print(f"\n{outcome}: {len(lines)}", *lines, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
