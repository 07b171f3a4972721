"""Functions of dialogues, and comparison of the lines of a reply with several references."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tripos_compiler.library.functions.similarity import bleu, rouge
from tripos_compiler.library.functions.texts import lines
from tripos_compiler.library.signature import Undefined
from tripos_compiler.library.types import Dialogue, ordered


def each_before(items: Collection[str], marker: str) -> list[str]:
    """Return the part of each text before a marker, without the space around it; texts without the marker are left out.

    >>> each_before(["How many? ** 2 + 3 = 5", "And now? ** 5 - 1 = 4", "#### 4"], "**")
    ['How many?', 'And now?']
    """
    if not marker:
        raise Undefined("the marker is empty")
    return [item.partition(marker)[0].strip() for item in ordered(items) if marker in item]


def best_bleu(items: str | Collection[str], references: Collection[str]) -> float:
    """Return the greatest BLEU of several texts, or of the lines of a text, against all references, 0 to 100.

    Each is `bleu`: sentence BLEU by sacreBLEU. Without texts it is 0. One good line suffices; see `coverage` for a
    score that needs a line for each reference.

    >>> round(best_bleu("Well.\\nHow many eggs does she sell?", ["How many eggs are sold?", "What is left?"]), 1)
    26.3
    """
    wanted = ordered(references)
    return max((bleu(item, wanted) for item in _texts(items)), default=0.0)


def coverage(items: str | Collection[str], references: Collection[str]) -> float:
    """Return how well several texts, or the lines of a text, cover several references, 0 to 1.

    Every reference is paired with at most one text and every text with at most one reference, so that the sum of their
    ROUGE-L is greatest (Kuhn, 1955); the value is that sum divided by the number of references. So 1 requires a line
    for each reference, and a repeated line covers only one.

    >>> coverage(["How many eggs?", "How many eggs?"], ["How many eggs?", "What does she earn?"])
    0.5
    """
    from scipy.optimize import linear_sum_assignment

    wanted = ordered(references)
    if not wanted:
        raise Undefined("there is no reference")
    texts = list(dict.fromkeys(_texts(items)))
    if not texts:
        return 0.0
    alike = [[rouge(one, other) for other in wanted] for one in texts]
    rows, columns = linear_sum_assignment(alike, maximize=True)
    total = sum(alike[row][column] for row, column in zip(rows, columns, strict=True))
    return float(total / len(wanted))


def _texts(items: str | Collection[str]) -> Sequence[str]:
    return lines(items) if isinstance(items, str) else ordered(items)


def turns(dialogue: Dialogue) -> int:
    """Return the number of turns of a dialogue.

    >>> turns([{"speaker": "teacher", "text": "Why?"}, {"speaker": "student", "text": "Because."}])
    2
    """
    return len(dialogue)


def speaker_turns(dialogue: Dialogue, speaker: str) -> Dialogue:
    """Return the turns of one speaker as a dialogue; the case of the name does not count.

    >>> speaker_turns([{"speaker": "teacher", "text": "Why?"}, {"speaker": "student", "text": "Because."}], "student")
    [{'speaker': 'student', 'text': 'Because.'}]
    """
    return [turn for turn in dialogue if turn["speaker"].casefold() == speaker.casefold()]


def with_turn(dialogue: Dialogue, speaker: str, text: str) -> Dialogue:
    """Return a dialogue with one more turn at its end.

    >>> with_turn([{"speaker": "student", "text": "It is 18."}], "teacher", "Why?")[-1]
    {'speaker': 'teacher', 'text': 'Why?'}
    """
    return [*dialogue, {"speaker": speaker, "text": text}]


def renamed(dialogue: Dialogue, speaker: str, name: str) -> Dialogue:
    """Return a dialogue in which a speaker has another name; the case of the old name does not count.

    >>> renamed([{"speaker": "tutor", "text": "Why?"}, {"speaker": "student", "text": "Because."}], "Tutor", "Teacher")
    [{'speaker': 'Teacher', 'text': 'Why?'}, {'speaker': 'student', 'text': 'Because.'}]
    """
    old = speaker.casefold()
    return [{**turn, "speaker": name} if turn["speaker"].casefold() == old else turn for turn in dialogue]


def transcript(dialogue: Dialogue) -> str:
    """Return a dialogue as text with a line for each turn, the speaker first.

    >>> print(transcript([{"speaker": "teacher", "text": "Why?"}, {"speaker": "student", "text": "Because."}]))
    teacher: Why?
    student: Because.
    """
    return "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in dialogue)
