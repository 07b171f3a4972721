"""Registry of the library functions with all facts about them, and the functions and `reveal` handler of a run.

A stored result is valid as long as the versions of the functions in its fingerprint are unchanged. Raise the version of
a function here if its result for the same arguments changes, and `RETRIEVAL_VERSION` if the result of a retrieval
changes; all dependent results are then requested or scored again. Version 1 is not part of a fingerprint, so results
that are older than versions stay valid. `tests/compiler/test_library_versions.py` and `tests/runtime/test_ranking.py`
fail if a result changes and its version does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from tripos_compiler.library import rules
from tripos_compiler.library.function import Evaluation, Function, SearchIndex, Shape
from tripos_compiler.library.functions import (
    answers,
    dialogues,
    lists,
    multiple_choice,
    numbers,
    similarity,
    texts,
    tools,
    trees,
)
from tripos_compiler.library.ranges import ANY, NO_LESS_THAN_ZERO, PERCENT, SHARE, Interval
from tripos_compiler.plan import REVEAL, Call
from tripos_compiler.replies import number_tokens, places, text

# Versions

RETRIEVAL_VERSION = 2
"""Version of retrieval steps, whatever their ranking: which elements are left out, how ties are broken, and where the
elements that are always included are placed."""

READER_VERSION = 5
"""Version of reading replies. It is part of the fingerprints of scores that are read from a reply or a judge's reply,
but not of the fingerprints of requests, so a new version repeats no request."""


def version_of(function: str) -> int:
    """Return the version of a library function; for a ranking function, it also covers the search index."""
    return FUNCTIONS[function].version


def version_fingerprint(name: str, version: int) -> list[object]:
    """Return the contribution of a version to a fingerprint, which is empty for version 1.

    >>> version_fingerprint("bleu", 1), version_fingerprint("bleu", 2)
    ([], [['bleu', 2]])
    """
    return [] if version == 1 else [[name, version]]


# Functions

LETTERS = ("A", "B", "C", "D")
"""Replies with the letter of an option. Any question has the first two."""
GROUPS: dict[str, tuple[Function, ...]] = {
    "Reading answers": (
        Function(
            numbers.last_number,
            version=6,
            check=number_tokens.is_no_locale,
            overflows=True,
            replies=("The answer is #.",),
        ),
        Function(numbers.number, version=6, check=number_tokens.is_no_locale, overflows=True, replies=("#",)),
        Function(numbers.same_number, compares_answers=True),
        Function(
            answers.final_number,
            version=6,
            check=number_tokens.is_no_locale,
            overflows=True,
            replies=("The answer is #.",),
        ),
        Function(answers.choice_letters, version=2, replies=LETTERS),
        Function(multiple_choice.chosen_option, version=6, reads_option_of="options", replies=LETTERS[:2]),
        Function(multiple_choice.option_letters, version=7, replies=LETTERS),
        Function(multiple_choice.right_or_wrong, version=7, replies=("Right.", "Wrong.")),
        Function(places.boxed, version=4, no_longer_than_arguments=True, replies=(r"The answer is \boxed{#}.",)),
        Function(places.code_block, version=3, no_longer_than_arguments=True, replies=("```\nprint(#)\n```",)),
        Function(
            answers.after,
            check=texts.is_empty,
            partial=rules.NO_MARKER,
            no_longer_than_arguments=True,
            replies=("{marker} #",),
        ),
        Function(answers.is_yes, version=5, replies=("Yes.", "No.")),
    ),
    "Texts": (
        Function(texts.exact, version=2, compares_answers=True),
        Function(texts.contains, version=2),
        Function(texts.starts_with, version=2),
        Function(texts.ends_with, version=2),
        Function(texts.matches, check=texts.is_no_pattern, partial=rules.NO_PATTERN),
        Function(texts.regex, check=texts.is_no_pattern, partial=rules.NO_PATTERN),
        Function(texts.regex_all, check=texts.is_no_pattern, partial=rules.NO_PATTERN),
        Function(texts.regex_replace, check=texts.lacks_group, partial=rules.NO_GROUP),
        Function(texts.words, version=2, gives=NO_LESS_THAN_ZERO),
        Function(texts.byte_count, "bytes", gives=NO_LESS_THAN_ZERO),
        Function(texts.lower, no_longer_than_arguments=True),
        Function(texts.upper, no_longer_than_arguments=True),
        Function(text.simplified, no_longer_than_arguments=True),
        Function(texts.trim, no_longer_than_arguments=True),
        Function(texts.replace, check=texts.is_empty, partial=rules.NOTHING_OLD),
        Function(
            texts.split,
            check=texts.is_empty,
            partial=rules.NO_SEPARATOR,
            least_items=rules.one_item,
            no_longer_than_arguments=True,
        ),
        Function(dialogues.each_before, check=texts.is_empty, partial=rules.NO_MARKER, no_longer_than_arguments=True),
        Function(texts.lines, no_longer_than_arguments=True),
        Function(texts.join, no_longer_than_arguments=True),
    ),
    "Numbers": (
        Function(numbers.absolute, "abs", gives=rules.absolute),
        Function(numbers.in_range, gives=rules.between_ends),
        Function(numbers.rounded, "round", gives=rules.rounded, overflows=True),
        Function(numbers.floor, gives=rules.mapped(math.floor)),
        Function(numbers.ceiling, "ceil", gives=rules.mapped(math.ceil)),
        Function(
            numbers.smallest,
            "min",
            rule=numbers.end_type,
            partial=rules.NO_END,
            gives=rules.end(Interval.minimum),
            ignores_order=True,
            no_longer_than_arguments=True,
        ),
        Function(
            numbers.largest,
            "max",
            rule=numbers.end_type,
            partial=rules.NO_END,
            gives=rules.end(Interval.maximum),
            ignores_order=True,
            no_longer_than_arguments=True,
        ),
        Function(numbers.total, "sum", gives=ANY, ignores_order=True, overflows=True),
        Function(
            numbers.square_root, "sqrt", check=numbers.has_no_root, partial=rules.NO_ROOT, gives=rules.curved("sqrt")
        ),
        Function(
            numbers.logarithm,
            "log",
            check=numbers.has_no_logarithm,
            partial=rules.NO_LOGARITHM,
            gives=rules.curved("log"),
        ),
        Function(numbers.exponential, "exp", gives=rules.curved("exp"), overflows=True),
        Function(numbers.power, partial=rules.NO_POWER, gives=ANY, overflows=True),
    ),
    "Lists and sets": (
        Function(
            lists.length, gives=rules.number_of_items, shape=Shape.LENGTH, ignores_order=True, takes_missing_fields=True
        ),
        Function(
            lists.first,
            partial=rules.EMPTY,
            gives=rules.item_of("items"),
            shape=Shape.ITEM,
            takes_missing_fields=True,
            no_longer_than_arguments=True,
        ),
        Function(
            lists.last,
            partial=rules.EMPTY,
            gives=rules.item_of("items"),
            shape=Shape.ITEM,
            takes_missing_fields=True,
            no_longer_than_arguments=True,
        ),
        Function(
            lists.nth,
            check=lists.is_negative,
            partial=rules.NO_ITEM,
            gives=rules.item_of("items"),
            shape=Shape.ITEM,
            takes_missing_fields=True,
            no_longer_than_arguments=True,
        ),
        Function(
            lists.without_last,
            least_items=rules.one_fewer,
            shape=Shape.SLICE,
            takes_missing_fields=True,
            no_longer_than_arguments=True,
        ),
        Function(lists.flat, least_items=rules.all_inner, shape=Shape.FLAT),
        Function(
            lists.distinct,
            least_items=rules.one_if_known,
            shape=Shape.ORDERED,
            ignores_order=True,
            no_longer_than_arguments=True,
        ),
        Function(numbers.expected_value, partial=rules.NO_EXPECTATION, gives=rules.item_of("values"), overflows=True),
        Function(numbers.option_probabilities, partial=rules.NO_OPTION_SEEN, gives=SHARE),
        Function(numbers.perplexity, partial=rules.NO_PERPLEXITY, gives=NO_LESS_THAN_ZERO, overflows=True),
        Function(
            lists.picked,
            partial=rules.NOT_ALIKE,
            shape=Shape.MATCHING,
            takes_missing_fields=True,
            no_longer_than_arguments=True,
        ),
        Function(
            lists.slice_,
            "slice",
            rule=lists.slice_type,
            least_items=rules.rest,
            shape=Shape.SLICE,
            takes_missing_fields=True,
        ),
        Function(numbers.majority),
        Function(numbers.best_of, partial=rules.NO_BEST, gives=rules.item_of("items")),
        Function(
            lists.drawn,
            version=2,
            least_items=rules.one_if_drawn,
            shape=Shape.SAMPLE,
            ignores_order=True,
            no_longer_than_arguments=True,
        ),
        Function(lists.shuffled, least_items=rules.same_number),
        Function(multiple_choice.key_place, partial=rules.NO_KEY, gives=rules.position_in("items")),
        Function(multiple_choice.shuffled_place, partial=rules.NO_SHUFFLED_PLACE, gives=rules.position_in("items")),
        Function(
            lists.in_sequence,
            "sorted",
            least_items=rules.same_number,
            shape=Shape.ORDERED,
            ignores_order=True,
            no_longer_than_arguments=True,
        ),
        Function(lists.sorted_by, partial=rules.NOT_OF_ONE_LENGTH, least_items=rules.same_number, shape=Shape.SORTED),
        Function(
            lists.zipped,
            "zip",
            rule=lists.zip_type,
            partial=rules.NO_PAIRS,
            least_items=rules.fewest,
            takes_missing_fields=True,
        ),
        Function(lists.some, "any", ignores_order=True),
        Function(lists.every, "all", ignores_order=True),
    ),
    "Agreement of lists and sets": (
        Function(lists.precision, gives=SHARE, ignores_order=True),
        Function(lists.recall, gives=SHARE, ignores_order=True),
        Function(lists.f1, gives=SHARE, ignores_order=True),
        Function(lists.jaccard, gives=SHARE, ignores_order=True),
        Function(lists.overlap, gives=SHARE, ignores_order=True),
    ),
    "Likeness of texts": (
        Function(similarity.bleu, version=2, partial=rules.NO_REFERENCE, gives=PERCENT),
        Function(similarity.chrf, version=2, partial=rules.NO_REFERENCE, gives=PERCENT),
        Function(similarity.rouge, version=2, partial=rules.NO_REFERENCE, gives=SHARE),
        Function(
            similarity.rouge_n, version=2, check=similarity.has_no_run, partial=rules.NO_RUN_OR_REFERENCE, gives=SHARE
        ),
        Function(similarity.edit_similarity, version=2, gives=SHARE),
        Function(similarity.similarity, version=2, gives=SHARE, index=SearchIndex.GRAMS),
        Function(similarity.bm25, version=2, gives=NO_LESS_THAN_ZERO, index=SearchIndex.TERMS),
        Function(similarity.nearest, version=2),
        Function(similarity.echoed, version=2, check=similarity.has_no_run, partial=rules.NO_RUN, gives=SHARE),
        Function(dialogues.best_bleu, partial=rules.NO_REFERENCES, gives=PERCENT),
        Function(dialogues.coverage, partial=rules.NO_REFERENCES, gives=SHARE),
    ),
    "Calls of tools": (
        Function(tools.calls_match, partial=rules.NO_TOOL),
        Function(tools.calls_fit),
    ),
    "Values of JSON": (
        Function(answers.json_part, check=answers.is_no_path, overflows=True, no_longer_than_arguments=True),
    ),
    "Layout": (
        Function(texts.bullets, no_longer_than_arguments=True),
        Function(texts.numbered, check=texts.has_no_sign, partial=rules.NO_SIGN, no_longer_than_arguments=True),
        Function(
            texts.lettered,
            check=texts.has_no_sign,
            partial=rules.NO_SIGN,
            no_longer_than_arguments=True,
            prints_options="items",
        ),
        Function(texts.fill, check=texts.other_holes, partial=rules.OTHER_HOLES, values_by_name=True),
        Function(texts.letters_for, least_items=rules.same_number),
        Function(texts.json, no_longer_than_arguments=True),
    ),
    "Choices and missing values": (
        Function(
            lists.default,
            evaluation=Evaluation.FALLBACK,
            gives=rules.either("value", "fallback"),
            no_longer_than_arguments=True,
        ),
        Function(
            lists.readable,
            evaluation=Evaluation.READING,
            gives=rules.same_range,
            shape=Shape.SAME,
            no_longer_than_arguments=True,
        ),
        Function(
            lists.choose,
            evaluation=Evaluation.CHOICE,
            gives=rules.either("this", "other"),
            no_longer_than_arguments=True,
        ),
        Function(lists.reveal, REVEAL, gives=rules.same_range, shape=Shape.SAME),
        Function(lists.rank, rule=lists.rank_type, partial=rules.NOT_IN_ORDER, gives=rules.position_in("order")),
    ),
    "Dialogues": (
        Function(dialogues.turns, gives=NO_LESS_THAN_ZERO),
        Function(dialogues.speaker_turns, no_longer_than_arguments=True),
        Function(dialogues.with_turn, no_longer_than_arguments=True),
        Function(dialogues.renamed, no_longer_than_arguments=True),
        Function(dialogues.transcript, no_longer_than_arguments=True),
    ),
    "Trees": (
        Function(trees.leaves),
        Function(trees.leaf, no_longer_than_arguments=True),
        Function(trees.parent, no_longer_than_arguments=True),
        Function(trees.depth, gives=NO_LESS_THAN_ZERO),
        Function(trees.examples_for, rule=trees.examples_type, partial=rules.NO_FIELD, shape=Shape.EXAMPLES),
        Function(trees.siblings, rule=trees.siblings_type, partial=rules.NO_PLACE),
    ),
}
"""Library functions by the heading of their group in the reference."""

FUNCTIONS: dict[str, Function] = {function.name: function for group in GROUPS.values() for function in group}
"""Library functions by the name that a spec uses."""


# Additional functions, and the handler of `reveal`

Functions = Mapping[str, Callable[..., Any]]
"""Functions by the name that expressions use."""
_user_functions: ContextVar[Functions] = ContextVar("functions", default=MappingProxyType({}))


@contextmanager
def with_functions(functions: Functions) -> Iterator[None]:
    """Return a context in which expressions can also call these functions. It applies to the code and the asyncio tasks
    that start in it, and to nothing else in the process.

    >>> with with_functions({"twice": lambda value: 2 * value}):
    ...     user_functions()["twice"](4)
    8
    """
    token = _user_functions.set(functions)
    try:
        yield
    finally:
        _user_functions.reset(token)


def user_functions() -> Functions:
    """Return the additional functions that expressions can call."""
    return _user_functions.get()


RevealHandler = Callable[[Call, Callable[[], Any]], Any]
"""Handler of `reveal`: returns the value of a call, given the call and a function that evaluates it."""
_reveal_handler: ContextVar[RevealHandler | None] = ContextVar("reveal_handler", default=None)


@contextmanager
def override_reveal(handler: RevealHandler) -> Iterator[None]:
    """Return a context in which a handler determines the value of every `reveal`."""
    token = _reveal_handler.set(handler)
    try:
        yield
    finally:
        _reveal_handler.reset(token)


def reveal_handler() -> RevealHandler | None:
    """Return the active handler of `reveal`, or None if calls of `reveal` are evaluated as usual."""
    return _reveal_handler.get()
