"""Functions that keep what they were told, and tell it to whoever asks later."""

SEEN: list[str] = []


def told(text: str, key: str) -> bool:
    SEEN.append(key)
    return key in text


def last_told(question: str) -> str:
    return SEEN[-1] if SEEN else question


def noted(text: str, notes: list[str] = []) -> str:  # noqa: B006
    notes.append(text)
    return notes[0]


def counted(text: str) -> int:
    counted.calls = getattr(counted, "calls", 0) + len(text)
    return counted.calls


LAST = ""


def kept(text: str) -> str:
    global LAST
    before, LAST = LAST, text
    return before
