"""The replies of `mock/student`: a student of known ability, who learns at a known rate.

It answers questions of several options that ask for the sum, difference or product of two numbers, and knows the right
one by working it out; how often it says so is a matter of chance alone. Before any lesson it is right with a chance of
its own for every question, spread evenly around the ability. After a lesson, a dialogue in which it took part, a share
of what it lacks is made up for: the rate, more in one lesson and less in another. So what a benchmark should find is
known: a pass@1 of the ability, and a gain of rate · (1 − ability).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tripos_runtime.models.base import Message
from tripos_runtime.models.mocks.mock_values import draw, sentences, value_of

SPREAD = 0.25
"""The largest distance of the chances of questions from the ability."""
UNEVEN = 0.5
"""The distance of the rate of a lesson from the student's, as a share of it."""
ABILITY, RATE = 40, 30
"""In per cent, where the name does not say."""
OPTION = re.compile(r"^([A-H])[.、．:：)）][^\S\n]*+(\S.*)$", re.MULTILINE)
SUM = re.compile(r"(?<!\d)(\d{1,18})\s*([-+×*−])\s*(\d{1,18})(?!\d)")
WORDINGS = (
    "答案是{letter}。",
    "故選{letter}。",
    "\\boxed{{{letter}}}",
    "{letter}. {text}",
    "正确答案：**（{wide}）**",
    "{text}",
)
ENGLISH = (
    "The answer is {letter}.",
    "{letter}",
    "\\boxed{{{letter}}}",
    "{letter}. {text}",
    "Answer: **({wide})**",
    "{text}",
)


@dataclass(frozen=True)
class Student:
    """A student, by name. `ability` and `rate` are shares."""

    name: str
    ability: float
    rate: float

    def text(self, messages: Sequence[Message], schema: dict[str, Any] | None, number: int, *, chinese: bool) -> str:
        """Return what the student replies to a request, `number` telling samples of the same one apart.

        >>> ask = Message("user", "3 + 4 = ?\\nA. 6\\nB. 7\\nC. 8\\nD. 9")
        >>> [Student("s", 1.0, 0.0).text([ask], None, number, chinese=False) for number in range(3)]
        ['The answer is B.', 'B. 7', 'Answer: **(Ｂ)**']
        """
        found = OPTION.findall(messages[-1].content) if messages else []
        options = {letter: said.rstrip() for letter, said in found}
        if len(options) < 2:
            key = json.dumps([self.name, [message.content for message in messages], number], ensure_ascii=False)
            if schema is None:
                return sentences(1, key, chinese=chinese)
            return json.dumps(value_of(schema, key, "kind", chinese=chinese), ensure_ascii=False)
        letter = self._letter(messages, options, number)
        if schema is not None:
            return json.dumps({"value": letter})
        wordings = WORDINGS if chinese else ENGLISH
        wording = wordings[draw(len(wordings), self.name, messages[-1].content, str(number), "wording")]
        return wording.format(letter=letter, text=options[letter], wide=chr(ord(letter) - ord("A") + ord("Ａ")))

    def _letter(self, messages: Sequence[Message], options: dict[str, str], number: int) -> str:
        asked = messages[-1].content
        right = right_option(asked, options)
        lesson = "\n".join(message.content for message in messages[:-1] if message.role != "system")
        luck = share(self.name, asked, lesson, str(number))
        if right is not None and luck < self.chance(
            share(self.name, asked), share(self.name, lesson) if lesson else None
        ):
            return right
        wrong = [letter for letter in options if letter != right]
        return wrong[draw(len(wrong), self.name, asked, lesson, str(number), "wrong")]

    def chance(self, question: float, lesson: float | None) -> float:
        """Return the chance of the right answer; `question` and `lesson`, from 0 to 1, are where these stand among all.

        >>> student = Student("s", 0.5, 0.4)
        >>> student.chance(0.5, None), student.chance(0.5, 0.5), student.chance(1.0, 0.0)
        (0.5, 0.7, 0.8)
        """
        spread = min(SPREAD, self.ability, 1 - self.ability)
        before = self.ability + spread * (2 * question - 1)
        if lesson is None:
            return before
        return before + self.rate * (1 + UNEVEN * (2 * lesson - 1)) * (1 - before)


def student_named(which: str) -> Student | None:
    """Return the student of that name, such as `student`, `student-40-30` or `student-40-30:ada`; ability and rate are
    in per cent, and at most 100 and 66. None for any other name.

    >>> student_named("student-50-20:ada")
    Student(name='mock/student-50-20:ada', ability=0.5, rate=0.2)
    """
    found = re.fullmatch(r"student(?:-(\d{1,3})-(\d{1,3}))?(?::.*)?", which)
    if found is None:
        return None
    ability, rate = (int(told) if told else usual for told, usual in zip(found.groups(), (ABILITY, RATE), strict=True))
    if ability > 100 or rate * (1 + UNEVEN) > 100:
        return None
    return Student(f"mock/{which}", ability / 100, rate / 100)


def right_option(asked: str, options: dict[str, str]) -> str | None:
    """Return the letter of the option that is what the first sum of a question comes to; None where none is.

    >>> right_option("8 − 3 = ?", {"A": "5", "B": "11"})
    'A'
    """
    found = SUM.search(asked)
    if found is None:
        return None
    one, other = int(found[1]), int(found[3])
    result = {"+": one + other, "-": one - other, "−": one - other}.get(found[2], one * other)
    return next((letter for letter, text in options.items() if text.strip() == str(result)), None)


def share(*parts: str) -> float:
    """Return a number from 0 to 1, spread evenly, that depends on the parts alone."""
    name = json.dumps(parts, ensure_ascii=False).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) / 2**64
