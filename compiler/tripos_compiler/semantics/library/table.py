"""The library: every function by the name that a spec uses, in the groups in which people look for them."""

from __future__ import annotations

from tripos_compiler.semantics.library import (
    answers,
    arithmetic,
    choices,
    dialogues,
    exam_answers,
    final_numbers,
    guiding,
    layout,
    likeness,
    lists,
    numerals,
    sets,
    texts,
    trees,
)
from tripos_compiler.semantics.library.signature import Function, define

GROUPS: dict[str, tuple[Function, ...]] = {
    "Reading answers": (
        define(numerals.last_number),
        define(numerals.number),
        define(numerals.same_number),
        define(final_numbers.final_number),
        define(answers.choice_letters),
        define(exam_answers.option_letters),
        define(exam_answers.right_or_wrong),
        define(answers.boxed),
        define(answers.after, check=texts.is_empty),
        define(answers.is_yes),
    ),
    "Texts": (
        define(texts.exact),
        define(texts.contains),
        define(texts.starts_with),
        define(texts.ends_with),
        define(texts.matches, check=texts.is_no_pattern),
        define(texts.words),
        define(texts.lower),
        define(texts.upper),
        define(texts.trim),
        define(texts.replace, check=texts.is_empty),
        define(texts.split, check=texts.is_empty),
        define(guiding.each_before, check=texts.is_empty),
        define(texts.lines),
        define(texts.join),
    ),
    "Numbers": (
        define(arithmetic.absolute, "abs"),
        define(arithmetic.rounded, "round"),
        define(arithmetic.floor),
        define(arithmetic.ceiling, "ceil"),
        define(arithmetic.smallest, "min"),
        define(arithmetic.largest, "max"),
        define(arithmetic.total, "sum"),
        define(arithmetic.square_root, "sqrt", check=arithmetic.has_no_root),
        define(arithmetic.logarithm, "log", check=arithmetic.has_no_logarithm),
        define(arithmetic.power),
    ),
    "Lists and sets": (
        define(lists.length),
        define(lists.first),
        define(lists.last),
        define(lists.nth, check=lists.is_negative),
        define(lists.without_last),
        define(lists.distinct),
        define(lists.picked),
        define(lists.drawn),
        define(lists.in_sequence, "sorted"),
        define(lists.some, "any"),
        define(lists.every, "all"),
    ),
    "Agreement of lists and sets": (
        define(sets.precision),
        define(sets.recall),
        define(sets.f1),
        define(sets.jaccard),
        define(sets.overlap),
    ),
    "Likeness of texts": (
        define(likeness.bleu),
        define(likeness.chrf),
        define(likeness.rouge),
        define(likeness.edit_similarity),
        define(likeness.similarity),
        define(likeness.bm25),
        define(guiding.best_bleu),
        define(guiding.coverage),
    ),
    "Layout": (
        define(layout.bullets),
        define(layout.numbered),
        define(layout.lettered),
        define(layout.json),
    ),
    "Choices and missing values": (
        define(choices.default),
        define(choices.choose),
        define(choices.rank, rule=choices.rank_type),
    ),
    "Dialogues": (
        define(dialogues.turns),
        define(dialogues.speaker_turns),
        define(dialogues.transcript),
    ),
    "Trees": (
        define(trees.leaves),
        define(trees.leaf),
        define(trees.parent),
        define(trees.depth),
        define(trees.examples_for, rule=trees.examples_type),
    ),
}
"""The functions in groups."""

FUNCTIONS: dict[str, Function] = {function.name: function for group in GROUPS.values() for function in group}
"""The library, by the name that a spec uses."""
