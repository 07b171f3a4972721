"""Table of constructs: every kind of statement, where it may stand, its signature, and the contents of its block.

The settings of a request repeat the fields of `plan.Settings`, because importing those is slow; a test compares the
two.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from tripos_compiler.constructs.signature import Signature
from tripos_compiler.source.data_classes import dataclass

FILE = "file"
"""Body of a file."""
REPEATED = "for each"
"""Body of a `for each`, with the statements of a file but those of `ONCE_A_FILE`."""
ONCE_A_FILE = frozenset({"benchmark", "use", "use_release", "row_table", "for_each"})
"""Constructs at the top of a file that cannot be repeated."""


@dataclass(frozen=True)
class Exclusion:
    """Constructs that may not stand beside another one in its block, and the help for a spec that has both."""

    constructs: tuple[str, ...]
    help: str


@dataclass(frozen=True)
class Requirement:
    """Construct without which another one may not stand in a block, and the error where it is missing."""

    construct: str
    message: str
    help: str
    code: str = "E0107"


USER_HELP = "write a `state`, and `user ROLE { … }`"


@dataclass(frozen=True)
class Construct:
    """Kind of statement. `keyword` is empty for free entries of a body, such as fields or values of an axis.

    `body` is the table with which its block is read, or None if the construct interprets the block itself. `once`
    forbids a second one in the same block.
    """

    name: str
    inside: tuple[str, ...]
    signature: str
    summary: str
    body: str | None = None
    keyword: str | None = None
    once: bool = False
    for_each_condition: bool = False
    """Whether a block may have further ones with a condition."""
    counts: tuple[int, int | None] | None = None
    """Least and greatest number in its `COUNT`."""
    excludes: tuple[Exclusion, ...] = ()
    requires: Requirement | None = None
    """The construct that the block of an `ask` must have too."""
    change: Literal["adds", "leaves out"] | None = None
    """What it does to the statements that its block inherits by `like`."""
    inherited: bool = True
    """Whether a declaration that is `like` another one has its statement of this kind."""

    @property
    def starts_with(self) -> str:
        """First word of such a statement; empty for a free entry."""
        return self.name if self.keyword is None else self.keyword

    @cached_property
    def shape(self) -> Signature:
        """Parsed signature."""
        return Signature(self.signature)


EXPORTS: tuple[Construct, ...] = (
    Construct(
        "export",
        (FILE,),
        "export NAME [like BASE] BLOCK",
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
"""`export` and the contents of its block."""

TABLES: tuple[Construct, ...] = (
    Construct(
        "table",
        (FILE,),
        "table NAME [LABELS] [like BASE] BLOCK",
        "a table of figures, as a paper prints it",
        body="table",
    ),
    Construct("row_keys", ("table",), "rows DIMS...", "a row for each value of these", keyword="rows", once=True),
    Construct(
        "column_keys", ("table",), "columns DIMS...", "a column for each value of these", keyword="columns", once=True
    ),
    Construct(
        "figure_column",
        ("table",),
        "column VALUE [under STRING] [LABELS] [by DIMS...]",
        "a column of a figure, or one for each value that only the figure goes by",
        keyword="column",
    ),
    Construct(
        "figure_row",
        ("table",),
        "row VALUE [under STRING] [LABELS] [by DIMS...]",
        "a row of a figure, or one for each value that only the figure goes by",
        keyword="row",
    ),
    Construct(
        "table_values", ("table",), "values DIMS BLOCK", "the values to show, in this order", "table values", "values"
    ),
    Construct("named_value", ("table values",), "NAME [LABELS]", "a value, and what the table calls it", keyword=""),
    Construct("quoted_value", ("table values",), "STRING [LABELS]", "a value that is no name", keyword=""),
    Construct(
        "line_group",
        ("table",),
        "group DIMS",
        "figures that go by this stand together for each of its values",
        keyword="group",
        once=True,
    ),
    Construct("short", ("table",), "short DIMS...", "shows the names of the spec in place of titles", once=True),
    Construct("digits", ("table",), "digits COUNT", "decimals of all figures", once=True, counts=(0, 6)),
    Construct("points", ("table",), "points", "figures between -1 and 1 are shown times 100", once=True),
    Construct(
        "mark", ("table",), "mark [COUNT] best", "marks the best values, one by default", once=True, counts=(1, 2)
    ),
    Construct(
        "mark_significant",
        ("table",),
        "mark significant [at NUMBER]",
        "marks values that differ significantly from the best, or from the row of `differences`",
        keyword="mark",
        once=True,
    ),
    Construct(
        "differences",
        ("table",),
        "differences from VALUE [beside values]",
        "shows the difference from the row, or the column, of this name",
        once=True,
    ),
    Construct("note", ("table",), "note LABELS", "a sentence below the table"),
    Construct(
        "published",
        ("table",),
        "published [LABELS] BLOCK",
        "published figures, as further rows or columns",
        once=True,
        inherited=False,
    ),
)
"""`table` and the contents of its block."""


@dataclass(frozen=True)
class Setting:
    """Value of a setting in the notation of a signature, and the range of its numbers."""

    notation: str
    summary: str
    least: float | None = None
    most: float | None = None
    places: tuple[str, ...] = ()
    """Constructs that have it; empty if all that call a model have it."""
    one: bool = False
    """Whether it must be equal in all requests of a step because it determines how replies are read."""
    excludes: tuple[Exclusion, ...] = ()

    @property
    def signature(self) -> str:
        """Value and condition in the notation of a signature."""
        condition = "" if self.one else "[when COND]"
        parts = (condition, self.notation) if self.notation == "BLOCK" else (self.notation, condition)
        return " ".join(filter(None, parts))

    @property
    def words(self) -> tuple[str, ...]:
        """Alternatives if its value is one of several words; empty otherwise."""
        return () if self.notation.isupper() else tuple(self.notation.split("|"))


PROVIDER_FIELDS = frozenset(
    {"repetition_penalty", "length_penalty", "min_p", "typical_p", "logprobs", "logit_bias"}
    | {"enable_thinking", "thinking", "service_tier", "response_format"}
)
"""Request fields of some providers that are not settings."""


def place_of_setting(name: str) -> str | None:
    """Return where a request setting belongs that the user gave elsewhere, or None if the name is not a setting.

    >>> place_of_setting("--top-p")
    'it is set in the spec, as part of the request: `top_p …` inside of `ask`, beside its `prompt`'
    >>> place_of_setting("--budget")
    """
    bare = name.lstrip("-").replace("-", "_")
    if bare not in SETTINGS and bare not in PROVIDER_FIELDS:
        return None
    text = f"{bare} …" if bare in SETTINGS else f"provider {{ {bare} … }}"
    return f"it is set in the spec, as part of the request: `{text}` inside of `ask`, beside its `prompt`"


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "temperature": Setting("NUMBER", "sampling temperature", 0, 2),
        "max_tokens": Setting("COUNT", "longest reply, in tokens", 1),
        "stop": Setting("LABELS", "text at which the reply ends, maybe one for each language"),
        "top_p": Setting("NUMBER", "nucleus sampling: share of the probability mass to sample from", 0, 1),
        "top_k": Setting("COUNT", "number of most likely tokens to sample from", 1),
        "seed": Setting("COUNT", "seed of the sampling; the next sample has the next number"),
        "presence_penalty": Setting("NUMBER", "penalty for tokens that have occurred", -2, 2),
        "frequency_penalty": Setting("NUMBER", "penalty for tokens by their frequency so far", -2, 2),
        "reasoning_effort": Setting("none|minimal|low|medium|high|xhigh", "amount of reasoning before the reply"),
        "top_logprobs": Setting(
            "COUNT",
            "the probabilities of so many tokens at each place of the reply",
            0,
            20,
            places=("ask", "scorer"),
            one=True,
            excludes=(
                Exclusion(
                    ("plain", "tools", "prompts"),
                    "remove one of the two: probabilities of tokens are those of one reply of a chat",
                ),
            ),
        ),
        "image_detail": Setting("low|high|auto", "how closely the model looks at images", places=("ask", "scorer")),
        "chat_template": Setting(
            "own", "puts a plain text into the template of a chat that the model's file has", places=("ask",), one=True
        ),
        "provider": Setting("BLOCK", "fields for the provider, sent unchanged"),
    }
)
"""Settings by field name. `stop` may be repeated; any other setting may be given once for each condition."""


LIKE_ANOTHER = ("scenario", "made", "export", "table")
"""Bodies of declarations that can be `like` another one with changes."""
NOUNS = {"made": "data set", "dataset": "data set"}
"""What a declaration is called, by its body or its first word, if it is not called like that."""
NO_CHAT = Exclusion(
    ("chat", "continue", "returns"), "remove one of the two: a plain text has no turns, and no form of a reply"
)
SETTINGS_BODIES = ("ask", "scorer", "made", "verify", "walk", "speaker")
"""Bodies with the settings of a model call."""

CONSTRUCTS: tuple[Construct, ...] = (
    # the file
    Construct(
        "benchmark", (FILE,), "benchmark NAME VERSION BLOCK", "the benchmark; exactly one", body="benchmark", once=True
    ),
    Construct("title", ("benchmark",), "title LABELS", "its name for people", once=True),
    Construct("license", ("benchmark",), "license STRING", "an SPDX expression", once=True),
    Construct("cites", ("benchmark",), "cites STRING", "a publication"),
    Construct("languages", ("benchmark",), "languages LANGUAGES...", "the languages of its texts", once=True),
    Construct(
        "numbers",
        ("benchmark", "scenario"),
        "numbers in LOCALE",
        "the number format of texts, if it differs from their language",
        once=True,
    ),
    Construct("headline", ("benchmark",), "headline MEASURES...", "the main measures of the benchmark", once=True),
    Construct(
        "settling",
        ("benchmark",),
        "until settled [within NUMBER]",
        "a run stops once its models are distinguished in every headline, or known to that",
        keyword="until",
        once=True,
    ),
    Construct("use", (FILE,), "use PATH", "imports the declarations of another file"),
    Construct(
        "use_release",
        (FILE,),
        "use release STRING [from PLACE] [sha256 DIGEST] [BLOCK]",
        "imports the declarations, data and generated items of a release of another benchmark",
        body="use release",
        keyword="use",
    ),
    Construct(
        "taken",
        ("use release",),
        "take scenarios|measures|axes|arms|metrics|scorers|datasets|trees|functions|subsets|exports|tables NAMES...",
        "only these, and their dependencies (default: all)",
        keyword="take",
    ),
    Construct(
        "row_table", (FILE,), "rows NAME BLOCK", "a table for `for each`: a row for each repetition", keyword="rows"
    ),
    Construct(
        "for_each",
        (FILE,),
        "for each ELEMENTS BLOCK",
        "declarations for each row of a table, or for each value of an axis or arm",
        body=REPEATED,
        keyword="for",
    ),
    Construct(
        "role",
        (FILE,),
        "role NAME [compared|panel] [with people] [defaults to ROLE]",
        "a part that a model or a person plays",
    ),
    Construct("axis", (FILE,), "axis NAME [LABELS] BLOCK", "a dimension of context", body="axis"),
    Construct(
        "group",
        ("axis",),
        "group NAME [LABELS] [when COND] BLOCK",
        "values of an axis that belong together and may be restricted",
        body="axis group",
    ),
    Construct("value", ("axis", "axis group", "arm"), "NAME [LABELS]", "a value, and its label in prompts", keyword=""),
    Construct(
        "arm", (FILE,), "arm NAME [LABELS] BLOCK", "conditions of an experiment, each applied to every item", body="arm"
    ),
    Construct("added", ("use release",), "add to AXIS BLOCK", "further values of an axis", body="axis", keyword="add"),
    Construct("tree", (FILE,), "tree NAME from PATH", "a hierarchy, such as a syllabus, read from a file"),
    Construct("function", (FILE,), "function NAME from PATH [pure]", "a function of your own, in Python"),
    # metrics
    Construct("dimension", (FILE,), "dimension NAME LABELS BLOCK", "a group of metrics", body="dimension"),
    Construct("metric", ("dimension",), "metric NAME LABELS BLOCK", "one criterion of a rubric", body="metric"),
    Construct(
        "scale",
        ("metric",),
        "scale RANGE [outside refuse|keep|clip]",
        "the lowest and the highest score, and the rule for scores outside",
        once=True,
    ),
    Construct("asks", ("metric",), "asks LABELS", "the question that the metric asks"),
    Construct("level", ("metric",), "level RANGE LABELS", "the meaning of a score in this range"),
    # data sets
    Construct(
        "dataset",
        (FILE, "scenario"),
        "dataset NAME from PATH BLOCK",
        "typed rows read from a file; inside a scenario, its own rows",
        body="dataset",
    ),
    Construct(
        "like",
        (FILE, "scenario"),
        "dataset NAME from PATH like DATASET",
        "rows of another file with the fields of a data set",
        keyword="dataset",
    ),
    Construct(
        "made",
        (FILE, "scenario"),
        "dataset NAME [by ROLE] [from SOURCE] [as ALIAS] [where FILTER] BLOCK",
        "rows that a role writes, or that come from the rows of another data set or the leaves of a tree",
        body="made",
        keyword="dataset",
    ),
    Construct(
        "made_like",
        (FILE,),
        "dataset NAME like BASE BLOCK",
        "rows that are made as those of another data set, with some statements changed",
        body="made",
        keyword="dataset",
    ),
    Construct(
        "field",
        ("dataset",),
        "NAME [TYPE] [secret] [from COLUMNS] [BLOCK]",
        "a column; the name of an axis alone has the type of that axis, a block lists the fields of a record",
        body="record",
        keyword="",
    ),
    Construct(
        "join",
        ("dataset",),
        "join PATH on COLUMN [to OTHER]",
        "columns of other files: of each row, those of the row there that has the same in this column",
    ),
    Construct("key", ("dataset", "made"), "key VALUE", "rows of one key belong together", once=True),
    Construct(
        "count", ("made",), "count COUNT", "rows for each cell and row of the source", once=True, counts=(1, None)
    ),
    Construct("retries", ("made",), "retries COUNT", "further attempts after a rejected row", once=True),
    Construct("require", ("made", "verify"), "require COND", "rejects a row if this does not hold"),
    Construct("unique", ("made",), "unique VALUE", "rejects a row if another row has this value"),
    Construct(
        "distinct",
        ("made",),
        "distinct VALUE from OTHERS [above NUMBER]",
        "rejects a row if its text is a near duplicate of another",
    ),
    Construct("verify", ("made",), "verify by ROLE BLOCK", "a role verifies every row", body="verify"),
    Construct(
        "walk",
        ("made",),
        "walk NAME through TREE [below START] by ROLE BLOCK",
        "classifies a row in a tree, level by level, and keeps every chosen path",
        body="walk",
    ),
    Construct(
        "tool",
        (FILE,),
        "tool NAME [from PATH] [pure] LABELS BLOCK",
        "a function that a model may call; with a path a run calls it for the model",
        body="tool",
    ),
    Construct(
        "tool_parameter",
        ("tool",),
        "NAME [TYPE] [LABELS] [BLOCK]",
        "a parameter and its description; one whose type ends in `?` may be left out, a block lists fields of a record",
        body="record",
        keyword="",
    ),
    # the scenario
    Construct(
        "scenario", (FILE,), "scenario NAME [LABELS] [like BASE] BLOCK", "one task: prompts and scores", body="scenario"
    ),
    Construct(
        "context", ("scenario", "made"), "context AXES", "the axes whose combinations the scenario covers", once=True
    ),
    Construct("over", ("scenario",), "over DATASET [as ALIAS] [where FILTER]", "the rows of the scenario", once=True),
    Construct("arms", ("scenario",), "arms ARMS", "the arms of the scenario", once=True),
    Construct(
        "ask",
        ("scenario",),
        "ask NAME by ROLE [each ELEMENTS [where CONDITION] [at most COUNT]] [when COND] BLOCK",
        "one model call for each row and sample, or for each element of a list",
        body="ask",
    ),
    Construct(
        "converse", ("scenario",), "converse NAME [when COND] BLOCK", "a conversation of two roles", body="converse"
    ),
    Construct(
        "retrieve",
        ("scenario",),
        "retrieve NAME from SOURCE [as ALIAS] [when COND] BLOCK",
        "the nearest of many rows or values",
        body="retrieve",
    ),
    Construct("let", ("scenario", "made"), "let NAME = VALUE", "a named value"),
    Construct(
        "options",
        ("scenario",),
        "options NAME from OPTIONS with key KEY [shuffled by DRAW] [lettered LETTERS] [marked MARK]",
        "the options of a question as they are shown, and the place and letter of the right one",
    ),
    Construct("named", (FILE,), "let CALL = VALUE", "a named value with parameters, for every file", keyword="let"),
    Construct(
        "score",
        ("scenario",),
        "score NAME = VALUE [each ELEMENTS [where CONDITION] [at most COUNT]] [when COND]",
        "a score computed by an expression or given by a scorer, of a reply or of each element of a list",
    ),
    Construct("grade", ("scenario",), "score CALL [when COND]", "a scorer applied to a response", keyword="score"),
    Construct(
        "compare",
        ("scenario",),
        "compare NAME using CALL [when COND]",
        "a scorer applied to the replies of every two models under test",
    ),
    Construct(
        "system",
        ("ask", "scorer", "made", "verify", "walk", "speaker"),
        "system LABELS [when COND]",
        "the system message",
    ),
    Construct(
        "prompt",
        ("ask", "scorer", "made", "verify", "walk"),
        "prompt LABELS [when COND]",
        "the user message",
    ),
    Construct(
        "prompts",
        ("ask",),
        "prompts LIST at most COUNT",
        "the user messages of a chat, each after the reply to the one before",
        once=True,
        counts=(1, 20),
        excludes=(
            Exclusion(
                ("prompt", "returns", "plain", "likelihood", "tools", "state"),
                "remove one of the two, or ask in two steps",
            ),
        ),
    ),
    Construct(
        "ends",
        ("ask",),
        "until COND",
        "a condition after which no more prompts follow",
        keyword="until",
        requires=Requirement(
            "prompts",
            "`until` ends an ask with several `prompts`",
            "write `prompts LIST at most COUNT`, or leave it out",
        ),
    ),
    Construct("shot_prompt", ("shots",), "prompt LABELS", "the question of a worked example", keyword="prompt"),
    Construct("reply", ("shots",), "reply LABELS", "the answer of a worked example"),
    Construct(
        "chat",
        ("ask", "scorer"),
        "chat VALUE",
        "a dialogue as messages: before the prompt of an `ask`, after that of a reward model",
        once=True,
    ),
    Construct(
        "continue",
        ("ask",),
        "continue STEP",
        "continues a conversation, or the chat of an `ask`",
        once=True,
        excludes=(Exclusion(("chat",), "remove one of the two: a question goes on from one dialogue"),),
    ),
    Construct(
        "shots",
        ("ask",),
        "shots COUNT from DATASET [as ALIAS] [where FILTER] [drawn by DRAW] [when COND] [BLOCK]",
        "worked examples before the question",
        body="shots",
        counts=(1, None),
    ),
    Construct(
        "plain",
        ("ask",),
        "plain [parted by SEPARATOR] [answers after LINK]",
        "one text without a chat: the text between examples, and that before an answer",
        once=True,
        excludes=(NO_CHAT,),
    ),
    Construct(
        "likelihood",
        ("ask",),
        "likelihood of OPTIONS",
        "the probability of each of these texts after the prompt, in place of a reply",
        once=True,
        excludes=(
            NO_CHAT,
            Exclusion(
                ("samples", *(name for name in SETTINGS if name not in ("provider", "chat_template"))),
                "remove it: nothing is written, so there is nothing to draw or to end",
            ),
        ),
    ),
    Construct(
        "tools",
        ("ask",),
        "tools TOOLS...",
        "the tools that the model may call",
        once=True,
        excludes=(
            Exclusion(
                ("plain", "likelihood", "returns"), "remove one of the two: a reply with calls has a form of its own"
            ),
        ),
    ),
    Construct(
        "state",
        ("ask",),
        "state VALUE at most COUNT turns",
        "the state that the tools read and change, from turn to turn",
        once=True,
        counts=(1, 50),
        requires=Requirement(
            "tools",
            "no tool reads or changes this state",
            "name tools that have functions: `tools find_order, cancel_order`",
            "E0206",
        ),
    ),
    Construct(
        "user",
        ("ask",),
        "user ROLE BLOCK",
        "a role that answers each turn without a call",
        body="speaker",
        once=True,
        requires=Requirement("state", "only an ask with a `state` has a user", USER_HELP),
    ),
    Construct(
        "returns",
        ("ask", "made", "verify", "walk", "export"),
        "returns [TYPE] [BLOCK]",
        "the type of the parsed reply",
        body="record",
        once=True,
    ),
    Construct(
        "samples",
        ("ask",),
        "samples COUNT [after each STEP]",
        "replies for each row, or after each sample of a step that this one builds on",
        once=True,
    ),
    Construct(
        "repeats", ("scorer",), "samples COUNT", "verdicts of each judge on each reply", keyword="samples", once=True
    ),
    *(
        Construct(
            name,
            setting.places or SETTINGS_BODIES,
            f"{name} {setting.signature}",
            setting.summary,
            body=name if setting.notation == "BLOCK" else None,
            once=setting.notation != "LABELS",
            for_each_condition=not setting.one,
            excludes=setting.excludes,
        )
        for name, setting in SETTINGS.items()
    ),
    Construct(
        "extra",
        ("provider", "extra"),
        "NAME [VALUE] [BLOCK]",
        "a field: a text, a number, `true` or `false`; a block is a record",
        body="extra",
        keyword="",
    ),
    Construct(
        "record_field",
        ("record",),
        "NAME [TYPE] [secret] [BLOCK]",
        "a field of a record; a block lists the fields of a record in it",
        body="record",
        keyword="",
    ),
    # conversations and retrieval
    Construct("speaker", ("converse",), "NAME BLOCK", "a role that talks", body="speaker", keyword=""),
    Construct("opens", ("converse",), "opens ROLE", "the role that speaks first", once=True),
    Construct(
        "until",
        ("converse", "ask"),
        "until ROLE says STRING",
        "the text that ends the conversation",
        requires=Requirement("user", "this ask has no user", USER_HELP),
    ),
    Construct(
        "called",
        ("ask",),
        "until ROLE calls TOOL",
        "a tool whose call ends the conversation",
        keyword="until",
        requires=Requirement(
            "state", "no call is made here, so none ends anything", "write a `state`, or remove this line"
        ),
    ),
    Construct("limit", ("converse",), "limit COUNT turns", "the largest number of turns", once=True, counts=(1, 1000)),
    Construct("repeat", ("converse",), "repeat COUNT", "conversations for each row", once=True, counts=(1, 1000)),
    Construct("where", ("retrieve",), "where FILTER", "the rows to consider", once=True),
    Construct(
        "top",
        ("retrieve",),
        "top COUNT by VALUE [using ROLE]",
        "the number of results, and their ranking",
        once=True,
        counts=(1, None),
    ),
    Construct("include", ("retrieve",), "include VALUE", "values that are always included"),
    # scoring and measuring
    Construct(
        "scorer",
        (FILE,),
        "scorer CALL by ROLE [then STRONGER when unsure] BLOCK",
        "a judge, or a model that gives a number: a reward, or the similarity of texts",
        body="scorer",
    ),
    Construct(
        "unsure", ("scorer",), "unsure below NUMBER", "the agreement below which the stronger role is asked", once=True
    ),
    Construct("formula", (FILE,), "scorer CALL = VALUE", "a scorer that is an expression", keyword="scorer"),
    Construct("python_scorer", (FILE,), "scorer CALL -> TYPE from PATH [pure]", "a scorer in Python", keyword="scorer"),
    Construct(
        "program_scorer",
        (FILE,),
        "scorer CALL -> TYPE from program PATH",
        "a scorer that is a program of its own",
        keyword="scorer",
    ),
    Construct(
        "gives",
        ("scorer",),
        "gives [TYPE] [metrics] [weighted] [in [first|last] LABELS] [as stated] [BLOCK]",
        "`allocated metrics`, `reward`, `similarity`, or the type of the verdict, maybe in a form that the prompt "
        "states; a block is a record with the verdict; a scale may be `weighted` by token probabilities",
        body="gives",
        once=True,
    ),
    Construct(
        "reply_field",
        ("gives",),
        "FIELD [TYPE]",
        "a field of the judge's reply, whose name may be any text in quotation marks: the verdict, or reasons for it",
        keyword="",
    ),
    Construct(
        "input_title",
        ("scorer",),
        "title PARAMETER LABELS",
        "the heading of an input for people who grade",
        keyword="title",
    ),
    Construct(
        "blind", ("scorer",), "blind to model", "the judge sees nothing of the model except its reply", once=True
    ),
    Construct("allocate", (FILE,), "allocate SCORER BLOCK", "the metrics of each scenario, and their weights"),
    Construct("aggregate", (FILE,), "aggregate CALL -> TYPE from PATH", "an aggregate of measures, in Python"),
    Construct(
        "measure",
        (FILE, "scenario"),
        "measure NAME [LABELS] = VALUE [lower|higher is better] [corrected by people] [across ROLE]"
        " [across FACETS as sample] [until settled [within NUMBER]] [by DIMS...]",
        "a figure from scores, for each model under test",
    ),
    Construct(
        "expect", (FILE, "scenario"), "expect COND [coverage NUMBER] [until settled]", "a condition on a measure"
    ),
    Construct("subset", (FILE,), "subset NAME BLOCK", "a stratified sample of the items", body="subset"),
    Construct("take", ("subset",), "take COUNT [per DIMS...]", "the number of items from each stratum", once=True),
    Construct(
        "spread",
        ("subset",),
        "spread over DIMS...",
        "the dimensions over which the items of a stratum are spread evenly",
        once=True,
    ),
    Construct("subset_seed", ("subset",), "seed COUNT", "the seed of the draw", keyword="seed", once=True),
    Construct("withheld", ("subset",), "withheld", "keeps the items out of public releases", once=True),
    *EXPORTS,
    *TABLES,
    *(
        change
        for body in LIKE_ANOTHER
        for change in (
            Construct(
                f"{body}_added",
                (body,),
                "add BLOCK",
                f"with `like`: statements beside those of the other {NOUNS.get(body, body)}",
                body=body,
                keyword="add",
                change="adds",
            ),
            Construct(
                f"{body}_without",
                (body,),
                "without STATEMENT [NAME]",
                f"with `like`: a statement of the other {NOUNS.get(body, body)} that this one lacks",
                keyword="without",
                change="leaves out",
            ),
        )
    ),
)


def constructs_in(body: str) -> dict[str, list[Construct]]:
    """Return the constructs of a body by first word (empty for free entries)."""
    by_word: dict[str, list[Construct]] = {}
    for construct in CONSTRUCTS:
        repeated = body == REPEATED and FILE in construct.inside and construct.name not in ONCE_A_FILE
        if body in construct.inside or repeated:
            by_word.setdefault(construct.starts_with, []).append(construct)
    return by_word


def places_of(keyword: str) -> list[str]:
    """Return the bodies in which a keyword may stand."""
    return sorted({place for construct in CONSTRUCTS if construct.starts_with == keyword for place in construct.inside})


PLACES = {
    FILE: "at the top of a file",
    "axis group": "in a `group` of an axis",
    "made": "in a `dataset` that is made",
    "record": "in a record",
    "speaker": "in the block of a role that talks",
    "table values": "in `values` of a table",
    "use release": "in a `use release`",
    "gives": "in a record of `gives`",
    "extra": "in a record of `provider`",
}
"""The place of statements whose body is not named after their construct."""


def place_of(body: str) -> str:
    """Return the place of the statements of a body in words.

    >>> place_of("scenario")
    'in a `scenario`'
    """
    return PLACES.get(body, f"in {'an' if body[0] in 'aeiou' else 'a'} `{body}`")
