"""Functions of dialogues."""

from __future__ import annotations

from tripos_compiler.semantics.library.kinds import Dialogue


def turns(dialogue: Dialogue) -> int:
    """The number of turns of a dialogue.

    >>> turns([{"speaker": "teacher", "text": "Why?"}, {"speaker": "student", "text": "Because."}])
    2
    """
    return len(dialogue)


def speaker_turns(dialogue: Dialogue, speaker: str) -> Dialogue:
    """The turns of one speaker, a dialogue too; the name is compared in capitals or not.

    >>> speaker_turns([{"speaker": "teacher", "text": "Why?"}, {"speaker": "student", "text": "Because."}], "student")
    [{'speaker': 'student', 'text': 'Because.'}]
    """
    return [turn for turn in dialogue if turn["speaker"].casefold() == speaker.casefold()]


def transcript(dialogue: Dialogue) -> str:
    """A dialogue with a line for each turn, the speaker first.

    >>> print(transcript([{"speaker": "teacher", "text": "Why?"}, {"speaker": "student", "text": "Because."}]))
    teacher: Why?
    student: Because.
    """
    return "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in dialogue)
