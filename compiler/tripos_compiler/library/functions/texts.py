"""Functions of texts: comparison, regular expressions, words and terms, and the layout of values in prompts."""

from __future__ import annotations

import json as jsonlib
import re
from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet
from functools import cache
from itertools import count, islice, product
from operator import add
from typing import Any

from tripos_compiler.library.functions.regular_expressions import NotLinearError, PatternMatch, finder, searcher
from tripos_compiler.library.signature import ArgumentError, Undefined
from tripos_compiler.library.types import ordered, sorted_items
from tripos_compiler.replies.choices import letters_at
from tripos_compiler.replies.text import comparable, late_pattern

# Words and terms

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts without spaces between words."""
WORD = rf"[[\p{{L}}\p{{N}}\p{{M}}]--[{UNSPACED}]]+"
INSIDE = r"(?:['’_-]|(?<=\p{Nd})[.,](?=\p{Nd}))"
"""Characters that may join two runs of letters and digits in a word: `don't`, `well-known`, `3.14`."""
PATTERN = rf"(?V1)[{UNSPACED}]\p{{M}}*|{WORD}(?:{INSIDE}{WORD})*"


def words_of(text: str) -> list[str]:
    """Return the words of a text in the form of `comparable`. In a script without spaces between words, each character
    is a word.

    >>> words_of("It’s 3.5 well-known words: 两个字。")
    ["It's", '3.5', 'well-known', 'words', '两', '个', '字']
    """
    return _words_in(comparable(text))


def _words_in(text: str) -> list[str]:
    """Return the words of a text in the form of `comparable`."""
    found: list[str] = _word_pattern().findall(text)
    return found


def separated(text: str) -> str:
    """Return a text with spaces around each character of a script without spaces between words.

    >>> separated("BLEUは良い").split()
    ['BLEU', 'は', '良', 'い']
    """
    return text if text.isascii() else _unspaced_pattern().sub(r" \g<0> ", text)


def is_unspaced(text: str) -> bool:
    """Return true if a text has characters of a script without spaces between words.

    >>> is_unspaced("두 단어"), is_unspaced("สองคำ")
    (False, True)
    """
    return not text.isascii() and _unspaced_pattern().search(text) is not None


def tokens_of(text: str) -> list[str]:
    """Return the words of a text, case-folded.

    >>> tokens_of("Ein GROSSER Fuß")
    ['ein', 'grosser', 'fuss']
    """
    return [word.casefold() for word in words_of(text)]


@cache
def _word_pattern() -> Any:
    import regex

    return regex.compile(PATTERN)


@cache
def _unspaced_pattern() -> Any:
    import regex

    return regex.compile(rf"(?V1)[{UNSPACED}]\p{{M}}*")


VERSION = "2"
"""Version of the terms, part of the identity of a stored index."""


def terms_of(text: str) -> list[str]:
    """Return the terms of a text for BM25, with repetitions.

    >>> terms_of("The cat sat")
    ['the', 'cat', 'sat']
    >>> terms_of("一次函数 y=kx")
    ['一', '次', '函', '数', 'y', 'kx', '一次', '次函', '函数']
    """
    plain = comparable(text)
    pairs = [pair for run in _runs().findall(plain) for pair in map(add, run, run[1:])]
    return [word.casefold() for word in _words_in(plain)] + pairs


@cache
def _runs() -> Any:
    import regex

    return regex.compile(rf"(?V1)[{UNSPACED}]{{2,}}")


# Comparison and regular expressions


def caseless(text: str) -> str:
    """Return the form in which texts are compared: without irrelevant differences of writing and of case.

    >>> caseless("It’s Ａ GROSSER Fuß")
    "it's a grosser fuss"
    """
    return comparable(text).casefold()


def exact(a: str, b: str) -> bool:
    """Return true if two texts are equal, ignoring case and the space around and between words.

    [Differences of writing](functions.md#differences-of-writing) do not count.

    >>> exact(" The  Answer", "the answer"), exact("It’s １０", "it's 10")
    (True, True)
    """
    return caseless(a).split() == caseless(b).split()


def contains(text: str, part: str) -> bool:
    """Return true if a text contains another, ignoring case.

    [Differences of writing](functions.md#differences-of-writing) do not count.

    >>> contains("Teach DONE.", "teach done")
    True
    """
    return caseless(part) in caseless(text)


def starts_with(text: str, part: str) -> bool:
    """Return true if a text begins with another, ignoring case.

    [Differences of writing](functions.md#differences-of-writing) do not count.

    >>> starts_with("Yes, it is.", "yes")
    True
    """
    return caseless(text).startswith(caseless(part))


def ends_with(text: str, part: str) -> bool:
    """Return true if a text ends with another, ignoring case.

    [Differences of writing](functions.md#differences-of-writing) do not count.

    >>> ends_with("So it is TRUE", "true")
    True
    """
    return caseless(text).endswith(caseless(part))


def matches(text: str, pattern: str) -> bool:
    """Return true if a regular expression matches a part of a text.

    The syntax is that of Python's `re`. The search takes linear time, so an expression must not look ahead or behind,
    refer back to a group, or be possessive or atomic (E0316). `^` and `$` match at the ends of the text, and after
    `(?m)` at the ends of its lines; `(?i)` ignores case.

    >>> matches("step 12", "step [0-9]+")
    True
    """
    try:
        return searcher(pattern)(text)
    except (re.error, OverflowError, RecursionError, NotLinearError) as error:
        raise Undefined("the pattern is not a regular expression") from error


def is_no_pattern(given: Mapping[str, object]) -> str | ArgumentError | None:
    """Return the error of a literal pattern.

    >>> is_no_pattern({"pattern": "(a"})
    'this pattern is not a regular expression: missing ), unterminated subpattern'
    """
    pattern = given.get("pattern")
    if not isinstance(pattern, str):
        return None
    try:
        searcher(pattern)
    except re.error as error:
        return f"this pattern is not a regular expression: {error.msg}"
    except (OverflowError, RecursionError) as error:
        return f"this pattern is not a regular expression: {error}"
    except NotLinearError as error:
        return ArgumentError("E0316", f"this pattern cannot be searched for in linear time: it {error}", error.fix)
    return None


def regex(text: str, pattern: str, which: int = 0) -> str | None:
    """Return the text that a regular expression matches; missing if nothing matches.

    If the expression has groups, it is the first non-empty group. `which` counts the matches from 0; negative numbers
    count from the end, so -1 is the last. Empty matches are ignored. The syntax is that of `matches`.

    >>> regex("So 3 + 4 is 7.", "[0-9]+"), regex("So 3 + 4 is 7.", "[0-9]+", -1), regex("#### 12", "#### ([0-9]+)")
    ('3', '7', '12')
    """
    found = regex_all(text, pattern)
    return found[which] if -len(found) <= which < len(found) else None


def regex_all(text: str, pattern: str) -> list[str]:
    """Return all texts that a regular expression matches, from left to right, each as `regex` returns it.

    >>> regex_all("x = 3, y = -4", "= (-?[0-9]+)")
    ['3', '-4']
    """
    held = (_held(text, place) for place in _places(text, pattern))
    return [each for each in held if each]


def regex_replace(text: str, pattern: str, new: str) -> str:
    """Return the text with every match of a regular expression replaced by `new`.

    In `new`, `\\1` to `\\9` are the groups of the expression. Empty matches are ignored. The syntax is that of
    `matches`.

    >>> regex_replace("1,200 and 30,000", "([0-9]),([0-9])", r"\\1\\2"), regex_replace("a  b", " +", " ")
    ('1200 and 30000', 'a b')
    """
    pieces: list[str] = []
    at = 0
    for place in _places(text, pattern):
        pieces += [text[at : place.start], _filled(new, place)]
        at = place.end
    return "".join([*pieces, text[at:]])


def _places(text: str, pattern: str) -> list[PatternMatch]:
    try:
        return finder(pattern)(text)
    except (re.error, OverflowError, RecursionError, NotLinearError) as error:
        raise Undefined("the pattern is not a regular expression") from error


def _held(text: str, found: PatternMatch) -> str | None:
    return next(filter(None, found.groups), None) if found.groups else text[found.start : found.end]


def _filled(new: str, found: PatternMatch) -> str:
    def group(number: re.Match[str]) -> str:
        place = int(number[1]) - 1
        if place >= len(found.groups):
            raise Undefined("the expression has fewer groups than are put in")
        return found.groups[place] or ""

    return _GROUP_NUMBER.sub(group, new)


def lacks_group(given: Mapping[str, object]) -> str | ArgumentError | None:
    """Return the error of a literal pattern, or of a literal text with more groups than it has.

    >>> lacks_group({"pattern": "(a)b", "new": r"\\2"})
    'the pattern has 1 group, and the text takes group 2'
    """
    wrong = is_no_pattern(given)
    pattern, new = given.get("pattern"), given.get("new")
    if wrong is not None or not isinstance(pattern, str) or not isinstance(new, str):
        return wrong
    groups = re.compile(pattern).groups
    asked = max((int(number) for number in _GROUP_NUMBER.findall(new)), default=0)
    has = "1 group" if groups == 1 else f"{groups} groups"
    return f"the pattern has {has}, and the text takes group {asked}" if asked > groups else None


_GROUP_NUMBER = re.compile(r"\\([1-9])")


def words(text: str) -> int:
    """Return the number of words of a text.

    `it's`, `it’s`, `well-known` and `3.14` are one word each. In scripts without spaces between words, such as Chinese,
    Japanese and Thai, each character is a word.

    >>> words("two words"), words("两个字")
    (2, 3)
    """
    return len(words_of(text))


def byte_count(text: str) -> int:
    """Return the number of bytes of a text in UTF-8.

    >>> byte_count("word"), byte_count("字")
    (4, 3)
    """
    return len(text.encode("utf-8", "replace"))


def lower(text: str) -> str:
    """Return the text in lower case.

    >>> lower("ABC")
    'abc'
    """
    return text.lower()


def upper(text: str) -> str:
    """Return the text in upper case.

    >>> upper("abc")
    'ABC'
    """
    return text.upper()


def trim(text: str) -> str:
    """Return the text without the space around it.

    >>> trim("  a ")
    'a'
    """
    return text.strip()


def replace(text: str, old: str, new: str) -> str:
    """Return the text with every `old` replaced by `new`.

    >>> replace("1.000.000", ".", "")
    '1000000'
    """
    if not old:
        raise Undefined("what is replaced is empty")
    return text.replace(old, new)


def split(text: str, separator: str) -> list[str]:
    """Return the parts of a text between separators, unchanged; there is one part more than separators.

    >>> split("a, b,", ",")
    ['a', ' b', '']
    """
    if not separator:
        raise Undefined("the separator is empty")
    return text.split(separator)


def is_empty(given: Mapping[str, object]) -> str | None:
    """Return the error of a literal text to search for.

    >>> is_empty({"text": "", "separator": ""})
    '`separator` is empty'
    """
    empty = (name for name in ("separator", "old", "marker") if given.get(name) == "")
    name = next(empty, None)
    return None if name is None else f"`{name}` is empty"


def lines(text: str) -> list[str]:
    """Return the lines of a text that are not blank, without the space around them.

    >>> lines("one\\n\\n  two\\n")
    ['one', 'two']
    """
    return [line.strip() for line in text.splitlines() if line.strip()]


def join(items: Collection[str], separator: str) -> str:
    """Return the texts of a list joined by a separator; those of a set in order.

    >>> join(["a", "b"], ", ")
    'a, b'
    """
    return separator.join(ordered(items))


# Layout for prompts


def bullets(items: Collection[str]) -> str:
    """Return a line for each item, with a dash; those of a set in order.

    >>> print(bullets(["a", "b"]))
    - a
    - b
    """
    return "\n".join(f"- {item}" for item in ordered(items))


SIGN = "{}"
"""Placeholder in a mark for the letter or number."""
MARK = f"{SIGN}. "


def numbered(items: Collection[str], mark: str = MARK) -> str:
    """Return a line for each item, numbered from 1; those of a set in order.

    `mark` is the text before an item, with `{}` in place of the number: `"({}) "`, `"Step {}: "`.

    >>> print(numbered(["a", "b"]))
    1. a
    2. b
    >>> print(numbered(["a", "b"], "({}) "))
    (1) a
    (2) b
    """
    return _marked([str(number) for number in range(1, len(items) + 1)], items, mark)


def lettered(items: Collection[str], letters: str = "", mark: str = MARK) -> str:
    """Return a line for each item, lettered from A, after Z from AA; those of a set in order.

    `letters` has other letters, in order: its characters, or its words if there are several. `mark` is the text before
    an item, with `{}` in place of the letter: `"({}) "`, `"{}) "`, `"{}: "`, `"[{}] "`.

    >>> print(lettered(["a", "b"]))
    A. a
    B. b
    >>> print(lettered(["3", "5"], "I II III IV"))
    I. 3
    II. 5
    >>> print(lettered(["3", "5"], "", "({}) "))
    (A) 3
    (B) 5
    """
    return _marked(letters_for(items, letters), items, mark)


def _marked(signs: Collection[str], items: Collection[str], mark: str) -> str:
    if mark.count(SIGN) != 1:
        raise Undefined(NO_SIGN)
    before, after = mark.split(SIGN)
    return "\n".join(f"{before}{sign}{after}{item}" for sign, item in zip(signs, ordered(items), strict=True))


NO_SIGN = f"the mark must have `{SIGN}` once, where the letter or the number stands"


def has_no_sign(given: Mapping[str, object]) -> str | None:
    """Return the error of a literal mark.

    >>> has_no_sign({"mark": "A) "}), has_no_sign({"mark": "{}) "})
    ('the mark must have `{}` once, where the letter or the number stands', None)
    """
    mark = given.get("mark")
    return NO_SIGN if isinstance(mark, str) and mark.count(SIGN) != 1 else None


def letters_for(items: Collection[str], letters: str = "") -> list[str]:
    """Return the letter of each item, as `lettered` shows it.

    After the last letter come pairs of letters, as AA after Z.

    >>> letters_for(["3", "5"]), letters_for(["3", "5"], "I II III IV")
    (['A', 'B'], ['I', 'II'])
    """
    named = letters.split() if len(letters.split()) > 1 else list(letters.strip())
    if not named:
        return [letters_at(number) for number in range(len(items))]
    longer = ("".join(each) for size in count(1) for each in product(named, repeat=size))
    return list(islice(longer, len(items)))


# Templates in the notation of others

_HOLE_NAME = r"[^\W\d]\w*"
_NOTATIONS = (
    *(("{{", r"\s*", "}}"), ("${", "", "}"), ("%(", "", ")s"), ("<<", "", ">>"), ("[[", "", "]]")),
    *(("{", "", "}"), ("<", "", ">"), ("[", "", "]"), ("$", "", "")),
)
"""Signs before the name of a hole, space allowed around the name, and signs after it; longer signs come first."""
_HOLES = late_pattern(
    "|".join(
        [rf"{re.escape(before)}{space}({_HOLE_NAME}){space}{re.escape(after)}" for before, space, after in _NOTATIONS]
        + [r"(%[sdi]|\{\})"]
    )
)
OTHER_HOLES = "the holes of the template do not match the given values"


def fill(template: str, holes: Sequence[str], values: Sequence[str]) -> str:
    """Return a template whose holes have values: `fill(template, question: q.text)`.

    It is for published templates, in a file or a field of the rows. A hole is written `{{name}}`, `${name}`,
    `%(name)s`, `<<name>>`, `[[name]]`, `{name}`, `<name>`, `[name]` or `$name`. All holes have one notation: the one in
    which the template has all the given names. Values without a name fill `%s` or `{}`, in order. Every hole in this
    notation must have a value, and every value a hole. Otherwise `check` reports an error that names the row, if the
    template is known before a run; else what depends on it has no value. The rest of the template is unchanged, and
    values are not searched for holes.

    >>> fill("{q} Say <yes> or <no>: {q}", ["q"], ["Is {x} 2?"])
    'Is {x} 2? Say <yes> or <no>: Is {x} 2?'
    >>> fill("%s or %s?", ["", ""], ["A", "%s"])
    'A or %s?'
    """
    found = _filled_holes(template, holes)
    if isinstance(found, str) or len(holes) != len(values):
        raise Undefined(OTHER_HOLES)
    named, in_order, parts, end = dict(zip(holes, values, strict=True)), iter(values), list[str](), 0
    for hole in found:
        parts += [template[end : hole.start()], named[_name(hole)] if "" not in named else next(in_order)]
        end = hole.end()
    return "".join([*parts, template[end:]])


FILL_BY_NAME = "give each hole of the template a value, by its name: `fill(template, question: q.text)`"
FILL_IN_ORDER = "give as many values as the template has holes, in their order: `fill(template, q.text, q.hint)`"


def other_holes(given: Mapping[str, object]) -> ArgumentError | None:
    """Return the error of a template with other holes than those that have a value; None if it has not, or is not
    known.

    >>> other_holes({"template": "{q} and {a}", "holes": ["q"]}).message
    'the hole `{a}` of the template has no value'
    >>> other_holes({"template": "{q} and {q}", "holes": ["q", "a"]}).message
    'the template has no hole `a`'
    >>> other_holes({"template": "%s", "holes": ["", ""]}).message
    'the template has 1 `%s`, and 2 values are given'
    """
    template, holes = given.get("template"), given.get("holes")
    if not isinstance(template, str) or not isinstance(holes, list):
        return None
    found = _filled_holes(template, holes)
    if not isinstance(found, str):
        return None
    return ArgumentError("E0406", found, FILL_IN_ORDER if "" in holes else FILL_BY_NAME)


def _filled_holes(template: str, holes: Sequence[str]) -> list[re.Match[str]] | str:
    """Return the holes of a template, or why they are not those named; all names are empty for values in order."""
    by_notation: dict[int, list[re.Match[str]]] = {}
    for hole in _HOLES.finditer(template):
        assert hole.lastindex is not None
        place = hole.lastindex if hole.lastindex <= len(_NOTATIONS) else -1 - (hole[0] == "{}")
        by_notation.setdefault(place, []).append(hole)
    if "" in holes:
        return _holes_in_order(by_notation, len(holes))
    wanted = set(holes)
    fitting = [found for place, found in by_notation.items() if place > 0 and wanted <= {_name(hole) for hole in found}]
    if not fitting:
        written = {_name(hole) for place, found in by_notation.items() if place > 0 for hole in found}
        lacking = [name for name in holes if name not in written]
        named = f"no hole `{lacking[0]}`" if lacking else "its holes in several notations"
        return f"the template has {named}"
    if len(fitting) > 1:
        one, other = (next(hole[0] for hole in found if _name(hole) == holes[0]) for found in fitting[:2])
        return f"`{one}` and `{other}` may both be the hole"
    left = next((hole[0] for hole in fitting[0] if _name(hole) not in wanted), None)
    return fitting[0] if left is None else f"the hole `{left}` of the template has no value"


def _holes_in_order(by_notation: Mapping[int, list[re.Match[str]]], count: int) -> list[re.Match[str]] | str:
    found = {sign: by_notation.get(place, []) for place, sign in ((-1, "%s"), (-2, "{}"))}
    fitting = [holes for holes in found.values() if len(holes) == count]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        return "`%s` and `{}` may both be the holes"
    numbers = " and ".join(f"{len(holes)} `{sign}`" for sign, holes in found.items() if holes)
    given = "1 value is given" if count == 1 else f"{count} values are given"
    return f"the template has {numbers or 'no `%s`'}, and {given}"


def _name(hole: re.Match[str]) -> str:
    assert hole.lastindex is not None
    return hole[hole.lastindex]


def json(value: Any) -> str:
    """Return the value as JSON on one line; a set is a list in order.

    >>> json({"a": [1, "é"], "b": {3, 2}})
    '{"a": [1, "é"], "b": [2, 3]}'
    """
    return jsonlib.dumps(value, ensure_ascii=False, default=_json_default)


def _json_default(value: Any) -> Any:
    if isinstance(value, AbstractSet):
        return sorted_items(value)
    raise TypeError(f"not a JSON value: {type(value).__name__}")
