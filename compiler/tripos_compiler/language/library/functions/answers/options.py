"""Which option of a question a reply chooses."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from tripos_compiler.language.library.functions.layout import letters_for
from tripos_compiler.language.library.functions.lists import shuffled
from tripos_compiler.language.library.partiality import Undefined
from tripos_compiler.language.replies.choices import chosen_letter
from tripos_compiler.language.replies.letters import index_of, letters_at
from tripos_compiler.language.replies.text import answer_of


def chosen_option(text: str, options: Sequence[str], letters: str = "") -> str | None:
    """Return the letter of the option that a reply chooses, `A` for the first; missing where it chooses none, or
    several.

    Looked for is, in this order: a field of JSON called `answer` or the like; the last `\\\\boxed{…}`; an `<answer>`; a
    reply that is a letter, with the text of its option or without; what follows the last `答案是`, `故选`, `选`,
    `the answer is` and the like, before the reasons; a first line that is a letter, or a last one; the only letter that
    the reply affirms; the only option whose whole text it affirms. Options that are denied, asked, quoted, compared or
    supposed are not affirmed. A letter may be full-width, in brackets or inside emphasis, and the text of an option in
    traditional characters or simplified ones. Several letters where one is asked for, and a letter that no option has,
    are no choice. `letters` are those that `lettered` was given, and one of them is what is returned.

    >>> options = ["3", "5", "8", "13"]
    >>> chosen_option("由题意，**正确答案是（Ｃ）**。", options), chosen_option("8", options)
    ('C', 'C')
    >>> chosen_option("答案是A或B", options), chosen_option("不知道", options)
    (None, None)
    >>> chosen_option("答案是丙。", options, "甲乙丙丁"), chosen_option("Ответ: б", options, "абвг")
    ('丙', 'б')
    """
    if letters:
        named = letters_for(options, letters)
        letter = chosen_option(_latin(answer_of(text), named), [_latin(option, named) for option in options])
        return None if letter is None else named[index_of(letter)]
    return chosen_letter(text, options)


def key_place(key: str, items: Collection[Any], letters: str = "") -> int:
    """Return the position of the option that a letter names, counted from 0: one of `letters`, or else one from A on.

    >>> key_place("B", ["3", "5"]), key_place("乙", ["3", "5"], "甲乙丙丁"), key_place(" b ", ["3", "5"], "甲乙丙丁")
    (1, 1, 1)
    """
    for named in (letters_for(items, letters), letters_for(items)):
        for letter in (key.strip(), key.strip().upper()):
            if letter in named:
                return named.index(letter)
    raise Undefined("no option has that letter")


def shuffled_place(place: int, items: Collection[Any], by: str) -> int:
    """Return where the item of a position stands in `shuffled(items, by)`, counted from 0.

    >>> shuffled(["a", "b", "c"], "seed 1"), shuffled_place(0, ["a", "b", "c"], "seed 1")
    (['c', 'a', 'b'], 1)
    """
    if not 0 <= place < len(items):
        raise Undefined("the list has no item at that position")
    return shuffled(range(len(items)), by).index(place)


def _latin(text: str, letters: Sequence[str]) -> str:
    """Return a text with Latin letters in place of others, where these stand alone. A Latin letter that stands alone
    names no option then, but where it is one of them."""
    latin = {letter: letters_at(place) for place, letter in enumerate(letters)}
    some = "|".join(re.escape(letter) for letter in sorted(latin, key=len, reverse=True))
    alone = rf"(?<![^\W\u2e80-\uffff])(?:{some})(?![^\W\u2e80-\uffff])|(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])"
    return re.sub(alone, lambda found: latin.get(found[0], found[0].lower()), text)
