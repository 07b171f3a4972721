"""The letters of options: their order, and the words that look like one."""

from __future__ import annotations

ALPHABET = 26
GOES_ON = (
    r"(?:is|isn't|was the|because|since|and|or|nor|not|but|which|it|seems?|looks|fits|matches|appears|best|works|wins"
    r"|correctly|says|states|gives)\b"
)
"""Words that go on after the letter of an option, and neither after the pronoun nor after the article."""
PRONOUN = rf"\b[Ii](?=['’][a-z]|,? (?!{GOES_ON})[a-z])"
"""`I` as the word, as in `I think`."""
NUMERAL = r"\b(?!(?:Option|Choice|Answer|Letter|Is|Therefore|So|Thus|Hence|And|Or)\b)[A-Z][a-z]+ I(?![A-Za-z0-9])"
"""`I` as a Roman numeral, as in `World War I`."""
_WORDS = frozenset({"AI", "AL", "DJ", "GI", "HI"})


def letters_at(number: int) -> str:
    """Return the letters of the option at a place, counted from 0: after Z comes AA.

    >>> letters_at(0), letters_at(9), letters_at(26)
    ('A', 'J', 'AA')
    """
    before = letters_at(number // ALPHABET - 1) if number >= ALPHABET else ""
    return before + chr(ord("A") + number % ALPHABET)


def index_of(letters: str) -> int:
    """Return the place of the option that letters stand for.

    >>> index_of("A"), index_of("J"), index_of("AA")
    (0, 9, 26)
    """
    place = 0
    for letter in letters:
        place = place * ALPHABET + ord(letter) - ord("A") + 1
    return place - 1


def are_options(run: str) -> bool:
    """Return true if capital letters that stand together are those of options, and not a word or a name. Up to H they
    are; of others those that are in order, up to L.

    >>> are_options("BD"), are_options("IJ"), are_options("CO"), are_options("DNA"), are_options("AI")
    (True, True, False, False, False)
    """
    if max(run, default="A") <= "H" or len(run) == 1:
        return True
    return list(run) == sorted(set(run)) and max(run) <= "L" and run not in _WORDS
