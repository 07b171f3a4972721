"""How replies of MMMU are read: the letter of an option, and the answers that an open reply gives."""

import re

MARKS = (",", ".", "!", "?", ";", ":", "'")
BEFORE = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
NUMBERS = (
    r"-?\b\d{1,3}(?:,\d{3})+\b",
    r"-?\d+(?:\.\d+)?[eE][+-]?\d+",
    r"-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d+)(?![,\d])",
)


def named(reply: str, options: list[str]) -> str | None:
    """The letter that is named last: in brackets, else alone, else, in a longer reply, by the text of its option."""
    for mark in MARKS:
        reply = reply.strip(mark)
    text = f" {reply} "
    letters = [chr(ord("A") + place) for place in range(len(options))]
    ways = [{each: text.rfind(form.format(each)) for each in letters} for form in ("({})", " {} ")]
    if len(text.split()) > 5:
        ways.append({each: text.lower().rfind(option.lower()) for each, option in zip(letters, options, strict=True)})
    for places in ways:
        if max(places.values(), default=-1) >= 0:
            return max(places, key=lambda each: places[each])
    return None


def answers(reply: str, truth: list[str]) -> bool:
    """True if an answer that a reply gives holds one of the true ones, or is the same number to two digits."""
    true = [value for each in truth for value in values(each)]
    given = endings(reply)
    given += [number for each in given for pattern in NUMBERS for number in re.findall(pattern, each)]
    return any(agrees(value, true) for each in given for value in values(each))


def agrees(value: str | float, true: list[str | float]) -> bool:
    if isinstance(value, float):
        return value in true
    return any(isinstance(each, str) and each in value for each in true)


def values(text: str) -> list[str | float]:
    """A number to two digits, or the text; a single letter has a blank on one side, so that it is no part of a word."""
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        low = text.lower()
        return [f" {low}", f"{low} "] if len(low) == 1 else [low]


def endings(reply: str) -> list[str]:
    """What stands behind words that come before an answer, of each line the shortest; or else the whole reply."""
    whole = reply.strip().strip(".").lower()
    found = []
    lines = whole.split("\n")
    for place, line in enumerate(lines):
        before = (*BEFORE, "=") if place == len(lines) - 1 else BEFORE
        tails = [line.split(each)[-1].strip() for each in before if each in line]
        shortest = ""
        for tail in tails:
            shortest = tail if not shortest or len(tail) < len(shortest) else shortest
        if shortest and shortest not in MARKS:
            found.append(shortest)
    return found or [whole]
