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


def with_turn(dialogue: Dialogue, speaker: str, text: str) -> Dialogue:
    """A dialogue with one more turn at its end.

    >>> with_turn([{"speaker": "student", "text": "It is 18."}], "teacher", "Why?")[-1]
    {'speaker': 'teacher', 'text': 'Why?'}
    """
    return [*dialogue, {"speaker": speaker, "text": text}]


def renamed(dialogue: Dialogue, speaker: str, name: str) -> Dialogue:
    """A dialogue in which a speaker has another name; the old one is compared in capitals or not.

    >>> renamed([{"speaker": "tutor", "text": "Why?"}, {"speaker": "student", "text": "Because."}], "Tutor", "Teacher")
    [{'speaker': 'Teacher', 'text': 'Why?'}, {'speaker': 'student', 'text': 'Because.'}]
    """
    old = speaker.casefold()
    return [{**turn, "speaker": name} if turn["speaker"].casefold() == old else turn for turn in dialogue]


def transcript(dialogue: Dialogue) -> str:
    """A dialogue with a line for each turn, the speaker first.

    >>> print(transcript([{"speaker": "teacher", "text": "Why?"}, {"speaker": "student", "text": "Because."}]))
    teacher: Why?
    student: Because.
    """
    return "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in dialogue)
