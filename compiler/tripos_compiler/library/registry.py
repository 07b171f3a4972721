"""Registry of the library's functions in groups, their versions, and functions added for a run.

A stored result is valid as long as the versions are unchanged. Raise the number of a function here if its result for
the same arguments changes, and `RETRIEVAL_VERSION` if the result of a retrieval changes; all dependent results are then
requested or scored again. Version 1 is not part of a fingerprint, so results from before versions existed stay valid.
`tests/compiler/test_library_versions.py` and `tests/runtime/test_ranking.py` compare the results with the versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from tripos_compiler.library import signature
from tripos_compiler.library.functions import (
    answers,
    dialogues,
    lists,
    multiple_choice,
    numbers,
    similarity,
    texts,
    texts as layout,
    tools,
    trees,
)
from tripos_compiler.library.signature import Function, define
from tripos_compiler.plan import Call
from tripos_compiler.replies import number_tokens, places, text

# Versions

VERSIONS: Mapping[str, int] = {
    "bleu": 2,
    "bm25": 2,
    "boxed": 2,
    "choice_letters": 2,
    "chosen_option": 3,
    "chrf": 2,
    "contains": 2,
    "drawn": 2,
    "echoed": 2,
    "edit_similarity": 2,
    "ends_with": 2,
    "exact": 2,
    "final_number": 3,
    "is_yes": 2,
    "last_number": 3,
    "nearest": 2,
    "number": 3,
    "option_letters": 4,
    "right_or_wrong": 4,
    "rouge": 2,
    "rouge_n": 2,
    "similarity": 2,
    "starts_with": 2,
    "words": 2,
}
"""Versions of library functions by name; the default is 1. The versions of the ranking functions `bm25` and
`similarity` also cover their indexes."""

RETRIEVAL_VERSION = 2
"""Version of retrieval steps with any ranking: which elements are omitted, how ties are broken, and where included
elements are placed."""

READER_VERSION = 2
"""Version of reading replies. It is part of scores that are read from a reply or a judge's reply, but not of requests,
so that a change does not repeat requests."""


def version_of(function: str, versions: Mapping[str, int] = VERSIONS) -> int:
    """Return the version of a library function.

    >>> version_of("bleu", {}), version_of("bleu", {"bleu": 2})
    (1, 2)
    """
    return versions.get(function, 1)


def version_fingerprint(name: str, version: int) -> list[object]:
    """Return the contribution of a version to a fingerprint: nothing for version 1.

    >>> version_fingerprint("bleu", 1), version_fingerprint("bleu", 2)
    ([], [['bleu', 2]])
    """
    return [] if version == 1 else [[name, version]]


# Functions

GROUPS: dict[str, tuple[Function, ...]] = {
    "Reading answers": (
        define(numbers.last_number, check=number_tokens.is_no_locale),
        define(numbers.number, check=number_tokens.is_no_locale),
        define(numbers.same_number),
        define(answers.final_number, check=number_tokens.is_no_locale),
        define(answers.choice_letters),
        define(multiple_choice.chosen_option),
        define(multiple_choice.option_letters),
        define(multiple_choice.right_or_wrong),
        define(places.boxed),
        define(answers.after, check=texts.is_empty, partial=signature.NO_MARKER),
        define(answers.is_yes),
    ),
    "Texts": (
        define(texts.exact),
        define(texts.contains),
        define(texts.starts_with),
        define(texts.ends_with),
        define(texts.matches, check=texts.is_no_pattern, partial=signature.NO_PATTERN),
        define(texts.regex, check=texts.is_no_pattern, partial=signature.NO_PATTERN),
        define(texts.regex_all, check=texts.is_no_pattern, partial=signature.NO_PATTERN),
        define(texts.regex_replace, check=texts.lacks_group, partial=signature.NO_GROUP),
        define(texts.words),
        define(texts.byte_count, "bytes"),
        define(texts.lower),
        define(texts.upper),
        define(text.simplified),
        define(texts.trim),
        define(texts.replace, check=texts.is_empty, partial=signature.NOTHING_OLD),
        define(texts.split, check=texts.is_empty, partial=signature.NO_SEPARATOR),
        define(dialogues.each_before, check=texts.is_empty, partial=signature.NO_MARKER),
        define(texts.lines),
        define(texts.join),
    ),
    "Numbers": (
        define(numbers.absolute, "abs"),
        define(numbers.rounded, "round"),
        define(numbers.floor),
        define(numbers.ceiling, "ceil"),
        define(numbers.smallest, "min", rule=numbers.end_type, partial=signature.NO_LEAST),
        define(numbers.largest, "max", rule=numbers.end_type, partial=signature.NO_GREATEST),
        define(numbers.total, "sum"),
        define(numbers.square_root, "sqrt", check=numbers.has_no_root, partial=signature.NO_ROOT),
        define(numbers.logarithm, "log", check=numbers.has_no_logarithm, partial=signature.NO_LOGARITHM),
        define(numbers.exponential, "exp"),
        define(numbers.power, partial=signature.NO_POWER),
    ),
    "Lists and sets": (
        define(lists.length),
        define(lists.first, partial=signature.NO_FIRST),
        define(lists.last, partial=signature.NO_LAST),
        define(lists.nth, check=lists.is_negative, partial=signature.NO_ITEM),
        define(lists.without_last),
        define(lists.flat),
        define(lists.distinct),
        define(numbers.expected_value, partial=signature.NO_EXPECTATION),
        define(numbers.option_probabilities, partial=signature.NO_OPTION_SEEN),
        define(numbers.perplexity, partial=signature.NO_PERPLEXITY),
        define(lists.picked, partial=signature.NOT_ALIKE),
        define(lists.slice_, "slice", rule=lists.slice_type),
        define(numbers.majority),
        define(numbers.best_of, partial=signature.NO_BEST),
        define(lists.drawn),
        define(lists.shuffled),
        define(multiple_choice.key_place, partial=signature.NO_KEY),
        define(multiple_choice.shuffled_place, partial=signature.NO_SHUFFLED_PLACE),
        define(lists.in_sequence, "sorted"),
        define(lists.sorted_by, partial=signature.NOT_OF_ONE_LENGTH),
        define(lists.zipped, "zip", rule=lists.zip_type, partial=signature.NO_PAIRS),
        define(lists.some, "any"),
        define(lists.every, "all"),
    ),
    "Agreement of lists and sets": (
        define(lists.precision),
        define(lists.recall),
        define(lists.f1),
        define(lists.jaccard),
        define(lists.overlap),
    ),
    "Likeness of texts": (
        define(similarity.bleu, partial=signature.NO_REFERENCE),
        define(similarity.chrf, partial=signature.NO_REFERENCE),
        define(similarity.rouge, partial=signature.NO_REFERENCE),
        define(similarity.rouge_n, check=similarity.has_no_run, partial=signature.NO_RUN_OR_REFERENCE),
        define(similarity.edit_similarity),
        define(similarity.similarity),
        define(similarity.bm25),
        define(similarity.nearest),
        define(similarity.echoed, check=similarity.has_no_run, partial=signature.NO_RUN),
        define(dialogues.best_bleu, partial=signature.NO_REFERENCES),
        define(dialogues.coverage, partial=signature.NO_REFERENCES),
    ),
    "Calls of tools": (
        define(tools.calls_match, partial=signature.NO_TOOL),
        define(tools.calls_fit),
    ),
    "Values of JSON": (define(answers.json_part, check=answers.is_no_path),),
    "Layout": (
        define(layout.bullets),
        define(layout.numbered, check=layout.has_no_sign, partial=signature.NO_SIGN),
        define(layout.lettered, check=layout.has_no_sign, partial=signature.NO_SIGN),
        define(layout.letters_for),
        define(layout.json),
    ),
    "Choices and missing values": (
        define(lists.default),
        define(lists.readable),
        define(lists.choose),
        define(lists.reveal),
        define(lists.rank, rule=lists.rank_type, partial=signature.NOT_IN_ORDER),
    ),
    "Dialogues": (
        define(dialogues.turns),
        define(dialogues.speaker_turns),
        define(dialogues.with_turn),
        define(dialogues.renamed),
        define(dialogues.transcript),
    ),
    "Trees": (
        define(trees.leaves),
        define(trees.leaf),
        define(trees.parent),
        define(trees.depth),
        define(trees.examples_for, rule=trees.examples_type, partial=signature.NO_FIELD),
        define(trees.siblings, rule=trees.siblings_type, partial=signature.NO_PLACE),
    ),
}
"""Functions in groups."""

FUNCTIONS: dict[str, Function] = {function.name: function for group in GROUPS.values() for function in group}
"""Library functions by the name that a spec uses."""


# Functions and reveals of a run

Functions = Mapping[str, Callable[..., Any]]
_functions: ContextVar[Functions] = ContextVar("functions", default=MappingProxyType({}))


@contextmanager
def with_functions(functions: Functions) -> Iterator[None]:
    """Context in which expressions can call these functions by name, in addition to the library. It applies to code and
    tasks started inside, and to nothing else in the process.

    >>> with with_functions({"twice": lambda value: 2 * value}):
    ...     user_functions()["twice"](4)
    8
    """
    token = _functions.set(functions)
    try:
        yield
    finally:
        _functions.reset(token)


def user_functions() -> Functions:
    """Return the additional functions that expressions can call."""
    return _functions.get()


RevealHandler = Callable[[Call, Callable[[], Any]], Any]
"""Handler of `reveal`: maps the call and a function that evaluates it to the value to use."""
_shown: ContextVar[RevealHandler | None] = ContextVar("shown", default=None)


@contextmanager
def override_reveal(shown: RevealHandler) -> Iterator[None]:
    """Context in which `shown` determines the value of every `reveal`."""
    token = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(token)


def reveal_handler() -> RevealHandler | None:
    """Return the active handler of `reveal`, or None if a `reveal` has its own value."""
    return _shown.get()
