"""Python equivalents of Inspect's standard scorers, which `tripos import task` copies next to a spec.

The source of these functions, docstrings included, becomes part of the generated file.
"""

import math
import re
import string
from collections import Counter


def includes_target(reply: str, targets: list[str], ignore_case: bool) -> bool:
    """Return true if the reply contains one of the targets."""
    if ignore_case:
        return any(target.casefold() in reply.casefold() for target in targets)
    return any(target in reply for target in targets)


def matches_target(reply: str, targets: list[str], location: str, ignore_case: bool, numeric: bool) -> bool:
    """Return true if the reply begins or ends with a target, contains it, or equals it, also as a number."""
    return any(_matches(reply.strip(), target.strip(), location, ignore_case, numeric) for target in targets)


def _matches(said: str, target: str, location: str, ignore_case: bool, numeric: bool) -> bool:
    if ignore_case:
        said, target = said.casefold(), target.casefold()
    if numeric:
        target = _bare(target)
        if _number(target) is not None:
            return _shown(target) in _numbers(_bare(said), location)
    marks = string.whitespace + string.punctuation
    said, target = said.strip(marks), target.strip(marks)
    found = {"begin": said.startswith(target), "end": said.endswith(target), "exact": said == target}
    return found.get(location, target in said)


def _bare(text: str) -> str:
    """Return a text without signs of money, separators and marks around numbers."""
    text = re.sub(r"\\([$,£€*_])", r"\1", text)
    return re.sub(r"\.(?=\s|$|\D)", "", re.sub(r"[$,£€*_]", "", text))


def _numbers(text: str, location: str) -> list[str]:
    """Return the numbers to compare: the first, the last, the whole text, or all."""
    if location == "exact":
        return [_shown(text) if _number(text, edges="") is not None else text]
    found = [_shown(part) for part in re.split(r"\s+", text) if _number(part) is not None]
    return found[:1] if location == "begin" else found[-1:] if location == "end" else found


def _number(text: str, edges: str = "!?:;()[]{}'\"`") -> float | None:
    try:
        value = float(text.strip(edges) if edges else text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _shown(text: str) -> str:
    return format(_number(text) or 0.0, ".5g")


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case, without articles and punctuation; a number in one form."""
    words = []
    for part in re.split(" |-", text):
        word = part.casefold()
        edges = word.strip(string.whitespace + string.punctuation)
        if (number := _number(word, edges="")) is None and (number := _number(edges, edges="")) is None:
            word = "".join(each for each in word if each not in string.punctuation)
            number = _number(word, edges="")
        word = word if number is None else str(number)
        words += re.sub(r"\b(a|an|the)\b", " ", word).split()
    return words


def same_words(reply: str, targets: list[str]) -> bool:
    """Return true if the reply has the words of a target, in their order, and no others."""
    return any(_words(target) == _words(reply) for target in targets if _words(target))


def shared_words(reply: str, targets: list[str]) -> float:
    """Return the best F1 of the words of the reply and of a target, with two digits."""
    best = 0.0
    said = Counter(_words(reply))
    for target in targets:
        wanted = Counter(_words(target))
        if not wanted:
            continue
        both = sum((said & wanted).values())
        precision = both / sum(said.values()) if said else 1.0
        recall = both / sum(wanted.values())
        best = max(best, 2 * precision * recall / (precision + recall) if both else 0.0)
    return round(best, 2)


def finds(reply: str, targets: list[str], pattern: str, ignore_case: bool, all_groups: bool) -> bool:
    """Return true if a group of the pattern, or each of them, is a target."""
    match = re.search(pattern, reply, re.IGNORECASE if ignore_case else 0)
    if match is None:
        return False
    groups = [group for group in match.groups() or (match[0],) if isinstance(group, str)]
    wanted = [target.lower() for target in targets] if ignore_case else targets
    hits = [(group.lower() if ignore_case else group) in wanted for group in groups]
    if all_groups:
        return bool(hits) and all(hits) and bool("".join(targets))
    return any(hit and group != "" for hit, group in zip(hits, groups, strict=True))


def answers(reply: str, targets: list[str], kind: str) -> bool:
    """Return true if a target follows the last "ANSWER:"."""
    kinds = {
        "letter": r"(?is)ANSWER\s*:\s*([A-Za-z])(?:[^\w]|\n|$)(?!.*ANSWER\s*:)",
        "word": r"(?is)ANSWER\s*:\s*(\S+?)(?=[.,;:!?]?\s*(?:\n|$))(?!.*ANSWER\s*:)",
        "line": r"(?i)ANSWER\s*:\s*([^\n]+)\s*\Z",
    }
    return finds(reply, targets, kinds[kind], True, False)


def chooses(reply: str, targets: list[str], options: int, several: bool) -> bool:
    """Return true if the options after "ANSWER:" are those of the target."""
    known = [chr(65 + place) if place < 26 else str(place - 25) for place in range(options)]
    wanted = {
        each.upper()
        for target in targets
        for word in target.replace(",", " ").split()
        for each in ([word] if word.isnumeric() else word)
    }
    return _chosen(reply, known, several) == wanted


def _chosen(reply: str, known: list[str], several: bool) -> set[str]:
    for mark in (r"\x24\s*([A-Za-z\d][A-Za-z\d ,]*?)\s*\x24", r"\*\*\s*([A-Za-z\d][A-Za-z\d ,]*?)\s*\*\*"):
        reply = re.sub(mark, r"\1", reply)
    reply = re.sub(r"(?i)(^|[:,])(\s*)\(([A-Za-z\d])\)(?=\s*(?:,|\.|\n|\Z))", r"\1\2\3", reply)
    found = re.findall(r"(?im)^ANSWER\s*:\s*([A-Za-z\d ,]+)\s*(?:$|\n|\.)", reply)
    found = found or re.findall(r"(?i)ANSWER\s*:\s*([A-Za-z\d ,]+)(?:[^\w]|\n|$|\.)", reply)
    if not found:
        return set()
    said = found[-1].strip().upper()
    if not several:
        one = [part for part in said.split(",") if part]
        return {one[0]} if len(one) == 1 and one[0] in known else set()
    said = said.replace(" AND ", ",").replace(" ", "")
    listed = {part for part in said.split(",") if part}
    return listed if listed <= set(known) else set(said) if set(said) <= set(known) else set()


def unmarked(text: str) -> str:
    """Return a text in which nothing ends the data of a grader's prompt: `[END DATA]` becomes `[END-DATA]`."""
    return re.sub(r"(?i)\[(BEGIN|END) DATA\]", lambda match: match[0].replace(" ", "-"), text)


def grade(said: str, menu: str, own: bool) -> float | None:
    """Return the value of the last grade that a grader gives; None if it gives none of the menu."""
    grades = {"c": 1.0, "correct": 1.0, "p": 0.5, "partial": 0.5, "i": 0.0, "incorrect": 0.0}
    gap = r"[\s\u200b\u200c\u200d\u200e\u200f\u2060\u2063\ufeff]*"
    match = re.search(rf"(?is).*(?<!\w)GRADE(?!\w){gap}:{gap}" + ("([CPI])" if own else r"(\w*)"), said)
    word = match[1].strip().lower() if match is not None else ""
    return grades[word] if word in grades and word[0].upper() in menu else None
