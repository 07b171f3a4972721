"""Free replies of the mock models: texts that end in the letter of an option or in a verdict, or fill a form in.

The mocks know no key and see none. So a share of right letters is that of chance, and every reply can be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tripos_runtime.models.mocks.mock_values import draw, sentences

LINE = re.compile(r"^[^\S\n]*[(（\[【]?([^\W\d_]{1,4})(?:[.．、)）\]】]|[:：](?=\s))[^\S\n]*(\S.*)$")
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
BARE = re.compile(
    r"(?i)\b(?:only|just|nothing but|single|one)\s+(?:the\s+)?letter\b|\bletter\s+(?:only|alone)\b"
    r"|\b(?:answer|reply)\s+with\s+(?:a|the)\s+letter\b|只.{0,6}字母"
)
"""Asks for a letter, and for no more."""


BRACKETED = re.compile(r"\[\[([^\[\]\n]{1,16})\]\]")
"""What a judge may say in double brackets, as those of MT-Bench and Arena-Hard do: `[[rating]]`, `[[A>B]]`."""
SCALE = re.compile(r"\b(\d+) (?:to|and) (\d+)\b")
FORM = re.compile(r"^\S+ <([^<>\n]+)>$", re.MULTILINE)
"""A line of a form to be filled in, as judges of StrongREJECT fill one in: `2.b <an answer, 1 to 5>`."""


def letters_shown(text: str) -> list[str]:
    """Return the letters of the options that a text shows on lines that follow each other, the last such block; none
    where it shows none.

    >>> letters_shown("What is 2 + 2?\\n(A) 3\\n(B) 4"), letters_shown("哪个？\\n甲. 三\\n乙. 四")
    (['A', 'B'], ['甲', '乙'])
    >>> letters_shown("Q: What is 2 + 2?\\nA: 4"), letters_shown("1. Read.\\n2. Write.")
    ([], [])
    """
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        found = LINE.match(line)
        if found is None:
            blocks += [[]] if line.strip() else []
        elif _follows(blocks[-1], found[1]):
            blocks[-1].append(found[1])
        else:
            blocks.append([found[1]] if _follows([], found[1]) else [])
    return next((block for block in reversed(blocks) if len(block) > 1), [])


def _follows(before: Sequence[str], letter: str) -> bool:
    """Return true if a letter may be the next of options. Those of the Latin alphabet and Roman numerals come in their
    order, others in any."""
    place = len(before)
    if letter.isascii():
        orders = (ROMAN, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
        return any(list(order[: place + 1]) == [*before, letter] for order in orders)
    return len(letter) == 1 and letter not in before and not any(each.isascii() for each in before)


def answered(text: str, asked: str, key: str, *, plain: bool, chinese: bool) -> str:
    """Return a free reply with the letter of an option at its end, where what is `asked` shows options; a letter alone
    where that is asked for, and of a text to go on with.

    >>> asked = "What is 2 + 2?\\nA. 3\\nB. 4\\nExplain it."
    >>> answered("Let us see.", asked, "k", plain=False, chinese=False)
    'Let us see. The answer is A.'
    >>> answered("Let us see.", "Why?", "k", plain=False, chinese=False)
    'Let us see.'
    """
    letters = letters_shown(asked)
    if not letters:
        return text
    letter = letters[draw(len(letters), key, "letter")]
    if plain or BARE.search(asked):
        return letter
    return f"{text}答案是{letter}。" if chinese else f"{text} The answer is {letter}."


def in_brackets(text: str, asked: str, key: str) -> str:
    """Return a free reply with a verdict in double brackets at its end, where what is `asked` shows the form: of
    `[[rating]]` a number of the first scale that it names, or of 1 to 10; of several verdicts one.

    >>> in_brackets("Good.", "Rate it from 1 to 5 so: [[rating]].", "k"), in_brackets("Good.", "Rate it.", "k")
    ('Good. [[1]]', 'Good.')
    >>> in_brackets("Good.", "Say [[A>B]], [[A=B]] or [[B>A]].", "k")
    'Good. [[A>B]]'
    """
    shown = sorted(set(BRACKETED.findall(asked)))
    if any(each.lower() == "rating" for each in shown):
        low, high = map(int, scale.groups() if (scale := SCALE.search(asked)) else ("1", "10"))
        return f"{text} [[{low + draw(max(high - low + 1, 1), key, 'rating')}]]"
    return f"{text} [[{shown[draw(len(shown), key, 'verdict')]}]]" if len(shown) > 1 else text


def filled_form(text: str, asked: str, key: str) -> str:
    """Return a free reply in the form that what is `asked` shows, if it shows one of two lines or more: a number where
    a hole names a scale, and the text in every other.

    >>> filled_form("Well.", "Write so:\\n1.a <why>\\n1.b <how good, 1 to 5>\\nBe fair.", "k")
    '1.a Well.\\n1.b 5'
    >>> filled_form("Well.", "Write <why>.", "k")
    'Well.'
    """
    lines = [*FORM.finditer(asked)]
    if len(lines) < 2:
        return text

    def filled(line: re.Match[str]) -> str:
        named = SCALE.search(line[1])
        low, high = map(int, named.groups() if named else (0, 0))
        said = str(low + draw(max(high - low + 1, 1), key, line[0])) if named else text
        return line[0].replace(f"<{line[1]}>", said)

    return FORM.sub(filled, asked[lines[0].start() : lines[-1].end()])


def carelessly_answered(asked: str, key: str, *, plain: bool, chinese: bool) -> str:
    """Return a careless free reply: where options are shown, one in eight names none, and one in eight names two.

    >>> asked = "What is 2 + 2?\\nA. 3\\nB. 4\\nExplain it."
    >>> len({carelessly_answered(asked, f"{key}", plain=False, chinese=False)[-16:] for key in range(40)}) > 3
    True
    """
    text = sentences(1, key, chinese=chinese)
    letters = letters_shown(asked)
    match draw(8, key, "answer") if letters else 0:
        case 0:
            return text
        case 1:
            one, other = letters[:2]
            return f"{text}答案是{one}或{other}。" if chinese else f"{text} The answer is {one} or {other}."
    return answered(text, asked, key, plain=plain, chinese=chinese)
