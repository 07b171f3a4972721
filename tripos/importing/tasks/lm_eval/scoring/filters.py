"""Filters of replies, as expressions of the reply."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos.importing.tasks.lm_eval.scoring.figures import FIGURES, KnownFigure
from tripos.importing.tasks.lm_eval.templates import TaskFields
from tripos.importing.tasks.spec_text import Untranslated, listed, name_of, quoted

REGEX = r"#### (\-?[0-9\.\,]+)"
INVALID = "[invalid]"


@dataclass
class Filtered:
    """The text that a filter makes of a reply, under the name of the filter."""

    name: str
    code: str
    functions: dict[str, KnownFigure] = field(default_factory=dict)
    """The functions in Python that it takes."""


def filtered(config: Mapping[str, Any], reply: str, fields: TaskFields) -> list[Filtered]:
    """Return what every filter of a task makes of a reply. Raises `Untranslated`."""
    given = config.get("filter_list") or [{"name": "none", "filter": [{"function": "take_first"}]}]
    return [_one(each, reply, fields) for each in given]


def _one(given: Mapping[str, Any], reply: str, fields: TaskFields) -> Filtered:
    found = Filtered(name_of(str(given["name"])), reply)
    for step in given["filter"]:
        function = step["function"]
        match function:
            case "take_first":
                continue
            case "take_first_k" | "majority_vote":
                raise Untranslated(f"the filter `{function}`, which takes several replies")
            case "remove_whitespace":
                found.code = f"trim({found.code})"
            case "lowercase":
                found.code = f"lower({found.code})"
            case "uppercase":
                found.code = f"upper({found.code})"
            case "map":
                found.code = _mapped(step, found.code)
            case "regex":
                _regex(step, found)
            case "multi_choice_regex":
                _choice(step, found, fields)
            case _:
                raise Untranslated(f"the filter `{function}`")
    return found


def _mapped(step: Mapping[str, Any], code: str) -> str:
    table, other = step.get("mapping_dict") or {}, step.get("default_value")
    chosen = quoted("" if other is None else str(other))
    for key, value in reversed(list(table.items())):
        chosen = f"choose({code} == {quoted(str(key))}, {quoted(str(value))}, {chosen})"
    return chosen


def _regex(step: Mapping[str, Any], found: Filtered) -> None:
    """Add a regular expression: by the function of the language where that finds the same in every text, else by one in
    Python."""
    pattern = str(step.get("regex_pattern") or REGEX)
    which, other = int(step.get("group_select") or 0), step.get("fallback", INVALID)
    if is_plain(pattern):
        place = f", {which}" if which else ""
        found.code = f"trim(default(regex({found.code}, {quoted(pattern)}{place}), {quoted(str(other))}))"
        return
    found.functions["found"] = FIGURES["found"]
    found.code = f"found({found.code}, {quoted(pattern)}, {which}, {quoted(str(other))})"


def _choice(step: Mapping[str, Any], found: Filtered, fields: TaskFields) -> None:
    """Add the filter that looks for a letter, and then for the texts of the options of a row."""
    pattern, other = str(step.get("regex_pattern") or REGEX), str(step.get("fallback", INVALID))
    options = fields.value("choices", "{{choices}}", shows=False)
    options.shape.items().want("text")
    if options.shape.items().kind != "text":
        raise Untranslated("the filter `multi_choice_regex` where `choices` is no list of texts")
    ignored = [quoted(str(each)) for each in step.get("regexes_to_ignore") or []]
    flags = [str(bool(step.get(each, False))).lower() for each in ("ignore_case", "ignore_punctuation")]
    words = [found.code, options.code, quoted(pattern), str(int(step.get("group_select") or 0)), quoted(other), *flags]
    found.functions["multi_choice"] = FIGURES["multi_choice"]
    found.code = f"multi_choice({', '.join([*words, listed(ignored or [quoted('')])])})"


def is_plain(pattern: str) -> bool:
    """Return true if an expression finds the same texts in the language as in Python: it neither looks ahead nor
    behind, nor refers back, and each match has a group that is not empty, or has no group and is not empty.

    >>> is_plain("answer is ([A-D])"), is_plain("(-?[0-9.]{2,})|(-?[0-9]+)"), is_plain("(.*)x"), is_plain("(?<=a)b")
    (True, True, False, False)
    """
    from re import _parser  # the only tree of an expression that Python has

    try:
        groups = re.compile(pattern).groups
        tree = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    if any(str(operation) in _BEYOND for operation, _ in _nodes(tree)):
        return False
    return bool(tree.getwidth()[0] > 0) if groups == 0 else _holds(tree)


_BEYOND = ("ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS", "ATOMIC_GROUP", "POSSESSIVE_REPEAT")


def _holds(tree: Any) -> bool:
    """Return true if every match has a group that is not empty."""
    for operation, argument in tree:
        match str(operation):
            case "SUBPATTERN" if argument[0] is not None and argument[-1].getwidth()[0] > 0:
                return True
            case "SUBPATTERN" if argument[0] is None and _holds(argument[-1]):
                return True
            case "BRANCH" if all(_holds(branch) for branch in argument[1]):
                return True
    return False


def _nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    for operation, argument in tree:
        yield operation, argument
        match str(operation):
            case "SUBPATTERN" | "ATOMIC_GROUP":
                yield from _nodes(argument[-1])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                yield from _nodes(argument[-1])
            case "BRANCH":
                for branch in argument[1]:
                    yield from _nodes(branch)
