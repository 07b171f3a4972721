"""Targets: the readers of replies, and functions of the library that take a reply."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from tests.fuzz.mutators import LONGEST, mutated_text, odd_value, written
from tests.fuzz.trying import BrokenRule, Refused
from tests.looping import BEGINNINGS, REPEATED
from tests.reply_readers import READERS
from tripos_compiler.library.signature import AmbiguousAnswer, Undefined
from tripos_runtime.reading.typed import ReadReply

SAID = (
    "8", "I'd give it 8/10.", "The answer is B.", "**Answer:** (C)", "yes", "No, it is not.", "A, B and D", "选A和C",
    "答案是：二分之一", '```json\n{"a": 8, "b": "clear"}\n```', '{"depth": {"score": 8, "reason": "x"}, "clarity": 7}',
    "Teacher: What is 2+2?\nStudent: 4\n", "1. red apples\n2. green ones\n", "- a\n- b\n- c\n", '["A", "B"]',
    "\\boxed{\\frac{1}{2}}", "#### 42", "<think>A or B? 3 of 4</think>\nThe result is 1,234.5", "I'm sorry, I cannot help.",
    "depth: 8\nclarity: 5\n", "Depth - 8/10: good\nClarity - 5/10: fair", "true", "1 and 2: right; 3: wrong", "null",
    "Step 1. add\nStep 2. carry\nFinal answer: 3/4", '{"value": 9}', '[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]', "",
)  # fmt: skip


@cache
def reply_seeds() -> Sequence[bytes]:
    """Return replies as models give them."""
    return [text.encode() for text in SAID]


def new_reply(random: Random) -> bytes:
    """Return a reply that is put together from what readers look for, or JSON of odd values."""
    if random.random() < 0.3:
        names = random.sample(("a", "b", "depth", "clarity", "value", "answer", "score", "reason", "result"), 3)
        return written({name: odd_value(random) for name in names})
    parts = [random.choice(BEGINNINGS)]
    for _ in range(random.randint(1, 12)):
        parts.append(random.choice((*REPEATED, *SAID)) * random.choice((1, 1, 1, 2, 5)))
    if random.random() < 0.02:
        parts.append(random.choice(REPEATED) * random.randint(100, 4000))
    return "".join(parts).encode("utf-8", "surrogatepass")[:LONGEST]


def mutated_reply(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a reply with changes, and now and then with what models say put in."""
    if random.random() < 0.5:
        return mutated_text(random, data, others)
    place = random.randint(0, len(data))
    return data[:place] + random.choice((*REPEATED, *SAID)).encode("utf-8", "surrogatepass") + data[place:]


def read_any(data: bytes) -> None:
    """Read a reply with two readers, which the reply itself draws; one for a reply that is short costs least."""
    text = data.decode("utf-8", "surrogatepass" if _is_passed(data) else "replace")
    random = Random(data)
    failed = 0
    for name in random.sample(sorted(READERS), 3):
        try:
            found = READERS[name](text)
        except (Undefined, AmbiguousAnswer):
            failed += 1
            continue
        if isinstance(found, ReadReply):
            _check(name, found)
            failed += found.status != "ok"
    if failed == 3:
        raise Refused("unread")


def _check(name: str, found: ReadReply) -> None:
    if (found.status == "ok") != (found.error is None):
        raise BrokenRule(f"{name} gives a status and an error that do not fit: {found}")
    if found.error is not None and (not found.error.strip() or found.value is not None):
        raise BrokenRule(f"{name} gives an error without a word, or with a value: {found}")


def _is_passed(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True
