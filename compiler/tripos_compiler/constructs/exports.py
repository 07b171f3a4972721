"""The part of the table of constructs that is about exports."""

from __future__ import annotations

from tripos_compiler.constructs.construct import FILE, Construct

EXPORTS: tuple[Construct, ...] = (
    Construct(
        "export",
        (FILE,),
        "export NAME BLOCK",
        "training data from replies or from the rows of a data set",
        body="export",
    ),
    Construct("best", ("export",), "best of ROLE by MEASURE [per DIMS...]", "the replies of the best model", once=True),
    Construct(
        "every", ("export",), "every reply", "all replies of a model that is best in any cell of `per`", once=True
    ),
    Construct("pairs", ("export",), "pairs of ROLE by MEASURE [margin NUMBER]", "better and worse replies", once=True),
    Construct(
        "pairs_from",
        ("export",),
        "pairs from DATASET [as ALIAS] [where FILTER] [margin NUMBER]",
        "better and worse texts of the rows of a data set",
        keyword="pairs",
        once=True,
    ),
    Construct(
        "examples_from",
        ("export",),
        "examples from DATASET [as ALIAS] [where FILTER]",
        "examples for training, from the rows of a data set",
        keyword="examples",
        once=True,
    ),
    Construct(
        "asked_as",
        ("export",),
        "asks STEP of SCENARIO [about ALIAS] [when COND]",
        "the prompt is that of this step for the row, or for its partner, as if the scenario ran over it",
        keyword="asks",
        once=True,
    ),
    Construct(
        "partner",
        ("export",),
        "beside DATASET [as ALIAS] [where FILTER]",
        "a partner of each row: one of the rows for which the condition holds, drawn by the row",
        keyword="beside",
        once=True,
    ),
    Construct("pair_group", ("export",), "group VALUE", "rows with the same value belong together", keyword="group"),
    Construct(
        "pair_prompt",
        ("export",),
        "prompt LABELS [when COND]",
        "the prompt that the texts of a row answer",
        keyword="prompt",
    ),
    Construct(
        "pair_reply",
        ("export",),
        "reply VALUE [from LIST as ALIAS] [by WHO] [worth WORTH] [when COND]",
        "a text, or one for each element of a list, with its worth and its author",
        keyword="reply",
    ),
    Construct(
        "pair_use",
        ("export",),
        "for training|test",
        "the default use of the pairs in `tripos train reward`: training or test",
        keyword="for",
        once=True,
    ),
    Construct("rows", ("export",), "rows STEP", "the step whose replies are exported", once=True),
    Construct("only", ("export",), "where FILTER", "a condition on the exported replies", once=True, keyword="where"),
    Construct(
        "holds",
        ("export",),
        "holds out SUBSETS...",
        "subsets whose items are left out (default: all); for rows of data, data sets whose texts are left out",
        once=True,
    ),
    Construct("format", ("export",), "format chat|completion", "the format of a line", once=True),
)
"""`export`, and what its block holds."""
