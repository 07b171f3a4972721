"""Answers in LaTeX, as the authors of MATH compare them: written in one way, and then letter by letter."""

GONE = ("\\left", "\\right", "^{\\circ}", "^\\circ", "\\$")


class Odd(ValueError):
    """A text that the rules do not know how to write."""


def last_box(text: str) -> str | None:
    """The content of the last box, `\\boxed{…}` or `\\boxed …` as far as a dollar sign; none of a box that is open."""
    if "\\boxed " in text:
        return text.rsplit("\\boxed ", maxsplit=1)[-1].split("$", maxsplit=1)[0]
    start = text.rfind("\\boxed")
    depth = 0
    for place in range(start, len(text)) if start >= 0 else ():
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if text[place] == "}" and depth == 0:
            found = text[start : place + 1]
            return found.removeprefix("\\boxed{")[:-1] if found.startswith("\\boxed{") else None
    return None


def same_latex(one: str, other: str) -> bool:
    """True if two answers are one; of a text that cannot be written, if both are the same text."""
    try:
        return written(one) == written(other)
    except Odd:
        return one == other


def written(text: str) -> str:
    text = text.replace("\n", "").replace("\\!", "").replace("\\\\", "\\")
    text = text.replace("tfrac", "frac").replace("dfrac", "frac")
    for each in GONE:
        text = text.replace(each, "")
    text = without_unit(text).replace("\\%", "")
    text = text.replace(" .", " 0.").replace("{.", "{0.")
    if not text:
        return text
    text = "0" + text if text[0] == "." else text
    sides = text.split("=")
    text = sides[1] if len(sides) == 2 and len(sides[0]) <= 2 else text
    text = with_fractions(with_roots(text).replace(" ", ""))
    return with_slash("\\frac{1}{2}" if text == "0.5" else text)


def without_unit(text: str) -> str:
    parts = text.split("\\text{ ")
    if len(parts) > 2:
        raise Odd(text)
    return parts[0]


def with_roots(text: str) -> str:
    """Braces around what a root is of: `\\sqrt3` is `\\sqrt{3}`."""
    first, *others = text.split("\\sqrt")
    if not all(others):
        raise Odd(text)
    return first + "".join("\\sqrt" + (each if each[0] == "{" else f"{{{each[0]}}}{each[1:]}") for each in others)


def with_fractions(text: str) -> str:
    """Braces around the parts of a fraction: `\\frac12` is `\\frac{1}{2}`."""
    first, *others = text.split("\\frac")
    found = first
    for each in others:
        if not each:
            raise Odd(text)
        if each[0] != "{" and len(each) < 2:
            return text
        found += "\\frac" + (each if each[0] == "{" else braced(each[0], each[1:]))
    return found


def braced(above: str, rest: str) -> str:
    return f"{{{above}}}" + (rest if rest[0] == "{" else f"{{{rest[0]}}}{rest[1:]}")


def with_slash(text: str) -> str:
    """`1/2` is `\\frac{1}{2}`, of whole numbers alone."""
    parts = text.split("/")
    if len(parts) != 2:
        return text
    try:
        above, below = (int(each) for each in parts)
    except ValueError:
        raise Odd(text) from None
    return f"\\frac{{{above}}}{{{below}}}" if text == f"{above}/{below}" else text
