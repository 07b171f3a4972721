"""How much of one text is said again in another."""

from __future__ import annotations

from collections.abc import Mapping

from tripos_compiler.semantics.library.partiality import Undefined
from tripos_compiler.semantics.library.tokens import tokens_of

RUN = 8
"""So many words in a row are hardly ever the same by chance."""


def echoed(text: str, source: str, run: int = RUN) -> float:
    """The share of the words of `source` that stand in `text` as part of `run` words in a row that both have.

    Case and punctuation do not matter; in Chinese each character is a word. A source that is shorter than `run` words
    is looked for as a whole. An empty source is never echoed.

    >>> echoed("Find the sum of 17 and 25. Easy!", "Find the sum of 17 and 25.", 5)
    1.0
    >>> echoed("First find the sum of two numbers", "Find the sum of 17 and 25.", 4)
    0.5714285714285714
    """
    if run < 1:
        raise Undefined("a run has one word at least")
    wanted, said = tokens_of(source), tokens_of(text)
    size = min(run, len(wanted))
    if size == 0:
        return 0.0
    runs = {tuple(said[start : start + size]) for start in range(len(said) - size + 1)}
    heard: set[int] = set()
    for start in range(len(wanted) - size + 1):
        if tuple(wanted[start : start + size]) in runs:
            heard.update(range(start, start + size))
    return len(heard) / len(wanted)


def has_no_run(given: Mapping[str, object]) -> str | None:
    """What is wrong with a length of a run that is written out.

    >>> has_no_run({"run": 0})
    'a run has one word at least'
    """
    run = given.get("run")
    return "a run has one word at least" if isinstance(run, int) and run < 1 else None
