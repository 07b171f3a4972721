"""The library: every function by the name that a spec uses, in groups, and the version of what it gives.

A result that was kept stands as long as the versions are what they were. A change of what a function gives for the same
arguments, or of what a step that retrieves finds, raises its number here, and every result that builds on it is asked
for or scored anew. A number of 1 is in no fingerprint, so results from before there was a number stand.
`tests/compiler/test_library_versions.py` and `tests/runtime/test_ranking.py` hold the results to the numbers.

The additions of a run to expressions: functions of the user's, and what stands in the place of a `reveal`.
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
"""Of the functions of the library, by name; one that is not here is at 1. Those that rank, `bm25` and `similarity`,
stand for their indexes too."""

RETRIEVING = 2
"""Of a step that retrieves, whatever it ranks by: what it leaves out, what comes first of two alike, where what is
included is put."""

READER = 2
"""Of the reading of replies: of scores that a reply, or what a judge says, is read for. Not of what is asked, so that
nothing is asked again if replies are read otherwise."""


def version_of(function: str, versions: Mapping[str, int] = VERSIONS) -> int:
    """Return the version of a function of the library.

    >>> version_of("bleu", {}), version_of("bleu", {"bleu": 2})
    (1, 2)
    """
    return versions.get(function, 1)


def raised_version(name: str, version: int) -> list[object]:
    """Return what a fingerprint has of a version: nothing of the first.

    >>> raised_version("bleu", 1), raised_version("bleu", 2)
    ([], [['bleu', 2]])
    """
    return [] if version == 1 else [[name, version]]


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
"""The functions in groups."""

FUNCTIONS: dict[str, Function] = {function.name: function for group in GROUPS.values() for function in group}
"""The library, by the name that a spec uses."""


Functions = Mapping[str, Callable[..., Any]]
_functions: ContextVar[Functions] = ContextVar("functions", default=MappingProxyType({}))


@contextmanager
def with_functions(functions: Functions) -> Iterator[None]:
    """Let expressions call these functions, by name, beside those of the library. It holds for what runs inside, tasks
    that are started there included, and for nothing else in the process.

    >>> with with_functions({"twice": lambda value: 2 * value}):
    ...     added_functions()["twice"](4)
    8
    """
    token = _functions.set(functions)
    try:
        yield
    finally:
        _functions.reset(token)


def added_functions() -> Functions:
    """Return the functions that expressions may call beside those of the library."""
    return _functions.get()


Shown = Callable[[Call, Callable[[], Any]], Any]
"""What a `reveal` comes to: given the call, and what evaluates it."""
_shown: ContextVar[Shown | None] = ContextVar("shown", default=None)


@contextmanager
def with_revealed(shown: Shown) -> Iterator[None]:
    """Let `shown` say what every `reveal` comes to, inside."""
    token = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(token)


def shown_instead() -> Shown | None:
    """Return what says what a `reveal` comes to; None where it comes to its value."""
    return _shown.get()
