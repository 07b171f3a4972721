"""The library: every function by the name that a spec uses, in groups, and the version of what it gives.

A result that was kept stands as long as the versions are what they were. A change of what a function gives for the same
arguments, or of what a step that retrieves finds, raises its number here, and every result that builds on it is asked
for or scored anew. A number of 1 is in no fingerprint, so results from before there was a number stand.
`tests/compiler/test_library_versions.py` and `tests/runtime/test_ranking.py` hold the results to the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from tripos_compiler.language.library import partiality
from tripos_compiler.language.library.functions import (
    arithmetic,
    dialogues,
    layout,
    likeness,
    lists,
    numerals,
    texts,
    trees,
)
from tripos_compiler.language.library.functions.answers import (
    calls,
    exams,
    extraction,
    final_numbers,
    json_parts,
    options,
)
from tripos_compiler.language.library.signature import Function, define
from tripos_compiler.language.replies import locales, places, text

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
        define(numerals.last_number, check=locales.is_no_locale),
        define(numerals.number, check=locales.is_no_locale),
        define(numerals.same_number),
        define(final_numbers.final_number, check=locales.is_no_locale),
        define(extraction.choice_letters),
        define(options.chosen_option),
        define(exams.option_letters),
        define(exams.right_or_wrong),
        define(places.boxed),
        define(extraction.after, check=texts.is_empty, partial=partiality.NO_MARKER),
        define(extraction.is_yes),
    ),
    "Texts": (
        define(texts.exact),
        define(texts.contains),
        define(texts.starts_with),
        define(texts.ends_with),
        define(texts.matches, check=texts.is_no_pattern, partial=partiality.NO_PATTERN),
        define(texts.regex, check=texts.is_no_pattern, partial=partiality.NO_PATTERN),
        define(texts.regex_all, check=texts.is_no_pattern, partial=partiality.NO_PATTERN),
        define(texts.regex_replace, check=texts.lacks_group, partial=partiality.NO_GROUP),
        define(texts.words),
        define(texts.byte_count, "bytes"),
        define(texts.lower),
        define(texts.upper),
        define(text.simplified),
        define(texts.trim),
        define(texts.replace, check=texts.is_empty, partial=partiality.NOTHING_OLD),
        define(texts.split, check=texts.is_empty, partial=partiality.NO_SEPARATOR),
        define(dialogues.each_before, check=texts.is_empty, partial=partiality.NO_MARKER),
        define(texts.lines),
        define(texts.join),
    ),
    "Numbers": (
        define(arithmetic.absolute, "abs"),
        define(arithmetic.rounded, "round"),
        define(arithmetic.floor),
        define(arithmetic.ceiling, "ceil"),
        define(arithmetic.smallest, "min", rule=arithmetic.end_type, partial=partiality.NO_LEAST),
        define(arithmetic.largest, "max", rule=arithmetic.end_type, partial=partiality.NO_GREATEST),
        define(arithmetic.total, "sum"),
        define(arithmetic.square_root, "sqrt", check=arithmetic.has_no_root, partial=partiality.NO_ROOT),
        define(arithmetic.logarithm, "log", check=arithmetic.has_no_logarithm, partial=partiality.NO_LOGARITHM),
        define(arithmetic.exponential, "exp"),
        define(arithmetic.power, partial=partiality.NO_POWER),
    ),
    "Lists and sets": (
        define(lists.length),
        define(lists.first, partial=partiality.NO_FIRST),
        define(lists.last, partial=partiality.NO_LAST),
        define(lists.nth, check=lists.is_negative, partial=partiality.NO_ITEM),
        define(lists.without_last),
        define(lists.flat),
        define(lists.distinct),
        define(arithmetic.expected_value, partial=partiality.NO_EXPECTATION),
        define(arithmetic.option_probabilities, partial=partiality.NO_OPTION_SEEN),
        define(arithmetic.perplexity, partial=partiality.NO_PERPLEXITY),
        define(lists.picked, partial=partiality.NOT_ALIKE),
        define(lists.slice_, "slice", rule=lists.slice_type),
        define(arithmetic.majority),
        define(arithmetic.best_of, partial=partiality.NO_BEST),
        define(lists.drawn),
        define(lists.shuffled),
        define(options.key_place, partial=partiality.NO_KEY),
        define(options.shuffled_place, partial=partiality.NO_SHUFFLED_PLACE),
        define(lists.in_sequence, "sorted"),
        define(lists.sorted_by, partial=partiality.NOT_OF_ONE_LENGTH),
        define(lists.zipped, "zip", rule=lists.zip_type, partial=partiality.NO_PAIRS),
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
        define(likeness.bleu, partial=partiality.NO_REFERENCE),
        define(likeness.chrf, partial=partiality.NO_REFERENCE),
        define(likeness.rouge, partial=partiality.NO_REFERENCE),
        define(likeness.rouge_n, check=likeness.has_no_run, partial=partiality.NO_RUN_OR_REFERENCE),
        define(likeness.edit_similarity),
        define(likeness.similarity),
        define(likeness.bm25),
        define(likeness.nearest),
        define(likeness.echoed, check=likeness.has_no_run, partial=partiality.NO_RUN),
        define(dialogues.best_bleu, partial=partiality.NO_REFERENCES),
        define(dialogues.coverage, partial=partiality.NO_REFERENCES),
    ),
    "Calls of tools": (
        define(calls.calls_match, partial=partiality.NO_TOOL),
        define(calls.calls_fit),
    ),
    "Values of JSON": (define(json_parts.json_part, check=json_parts.is_no_path),),
    "Layout": (
        define(layout.bullets),
        define(layout.numbered, check=layout.has_no_sign, partial=partiality.NO_SIGN),
        define(layout.lettered, check=layout.has_no_sign, partial=partiality.NO_SIGN),
        define(layout.letters_for),
        define(layout.json),
    ),
    "Choices and missing values": (
        define(lists.default),
        define(lists.readable),
        define(lists.choose),
        define(lists.reveal),
        define(lists.rank, rule=lists.rank_type, partial=partiality.NOT_IN_ORDER),
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
        define(trees.examples_for, rule=trees.examples_type, partial=partiality.NO_FIELD),
        define(trees.siblings, rule=trees.siblings_type, partial=partiality.NO_PLACE),
    ),
}
"""The functions in groups."""

FUNCTIONS: dict[str, Function] = {function.name: function for group in GROUPS.values() for function in group}
"""The library, by the name that a spec uses."""
