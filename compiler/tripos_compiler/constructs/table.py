"""The table of constructs: every statement, where it may stand, how it is written and what its block holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tripos_compiler.constructs.signature import Signature


@dataclass(frozen=True)
class Construct:
    """A kind of statement. `keyword` is empty for the free entries of a body: fields, values of an axis.

    `body` names the table its own block is read with; None where the block is data for the construct itself. `once`
    says that a second one in the same block is a mistake.
    """

    name: str
    inside: tuple[str, ...]
    signature: str
    summary: str
    body: str | None = None
    keyword: str | None = None
    once: bool = False

    @property
    def starts_with(self) -> str:
        """The word a statement of this kind begins with; empty for a free entry."""
        return self.name if self.keyword is None else self.keyword

    @cached_property
    def shape(self) -> Signature:
        """The parsed signature."""
        return Signature(self.signature)


FILE = "file"

CONSTRUCTS: tuple[Construct, ...] = (
    # the file
    Construct(
        "benchmark", (FILE,), "benchmark NAME VERSION BLOCK", "the benchmark; exactly one", body="benchmark", once=True
    ),
    Construct("title", ("benchmark",), "title STRING", "its name for people", once=True),
    Construct("license", ("benchmark",), "license STRING", "an SPDX expression", once=True),
    Construct("cites", ("benchmark",), "cites STRING", "a publication"),
    Construct("languages", ("benchmark",), "languages LANGUAGES...", "the languages of its texts", once=True),
    Construct("use", (FILE,), "use PATH", "brings another file's declarations in"),
    Construct("role", (FILE,), "role NAME [compared|panel]", "someone who produces text"),
    Construct("axis", (FILE,), "axis NAME BLOCK", "a dimension of context", body="axis"),
    Construct(
        "group",
        ("axis",),
        "group NAME [LABELS] [when COND] BLOCK",
        "values of an axis that belong together and may be restricted",
        body="axis group",
    ),
    Construct("value", ("axis", "axis group"), "NAME [LABELS]", "a value of an axis, labelled", keyword=""),
    Construct("dimension", (FILE,), "dimension NAME LABELS BLOCK", "groups metrics", body="dimension"),
    Construct("metric", ("dimension",), "metric NAME LABELS BLOCK", "one criterion of a rubric", body="metric"),
    Construct("scale", ("metric",), "scale RANGE", "the lowest and the highest score", once=True),
    Construct("asks", ("metric",), "asks LABELS", "the question that the metric asks"),
    Construct("level", ("metric",), "level RANGE LABELS", "what a score in this band means"),
    Construct(
        "dataset",
        (FILE, "scenario"),
        "dataset NAME from PATH BLOCK",
        "typed rows read from a file; inside a scenario, its own rows",
        body="dataset",
    ),
    Construct(
        "field",
        ("dataset",),
        "NAME [TYPE] [secret] [from COLUMNS]",
        "a column; a name of an axis alone is typed by that axis",
        keyword="",
    ),
    # the scenario
    Construct("scenario", (FILE,), "scenario NAME [LABELS] BLOCK", "one task: asked and scored", body="scenario"),
    Construct("context", ("scenario",), "context AXES", "the axes whose combinations are covered", once=True),
    Construct("over", ("scenario",), "over DATASET [as ALIAS] [where COND]", "the rows", once=True),
    Construct(
        "ask", ("scenario",), "ask NAME by ROLE [when COND] BLOCK", "one model call a row and sample", body="ask"
    ),
    Construct("let", ("scenario",), "let NAME = VALUE", "a named value"),
    Construct(
        "score",
        ("scenario",),
        "score NAME = VALUE [when COND]",
        "a score computed by an expression or given by a scorer",
    ),
    Construct("grade", ("scenario",), "score CALL [when COND]", "a scorer applied to a response", keyword="score"),
    Construct("system", ("ask", "scorer"), "system LABELS", "the system message"),
    Construct("prompt", ("ask", "scorer"), "prompt LABELS", "the user message"),
    Construct(
        "returns", ("ask",), "returns [TYPE] [BLOCK]", "the type that the reply is read as", body="record", once=True
    ),
    Construct("samples", ("ask",), "samples COUNT", "replies for each row", once=True),
    Construct("temperature", ("ask", "scorer"), "temperature NUMBER", "sampling temperature", once=True),
    Construct("max_tokens", ("ask", "scorer"), "max_tokens COUNT", "longest reply, in tokens", once=True),
    Construct("stop", ("ask", "scorer"), "stop STRING", "text at which the reply ends"),
    Construct("record_field", ("record",), "NAME TYPE", "a field of the reply", keyword=""),
    # scoring and measuring
    Construct("scorer", (FILE,), "scorer CALL by ROLE BLOCK", "a judge", body="scorer"),
    Construct(
        "gives", ("scorer",), "gives TYPE [metrics]", "`allocated metrics`, or the type of the verdict", once=True
    ),
    Construct("allocate", (FILE,), "allocate SCORER BLOCK", "which metric applies to which scenario"),
    Construct("measure", (FILE,), "measure NAME = VALUE [by DIMS...]", "an aggregate, compiled to SQL"),
)


def constructs_in(body: str) -> dict[str, list[Construct]]:
    """The constructs that may stand in a body, by the word they start with (empty for free entries)."""
    found: dict[str, list[Construct]] = {}
    for construct in CONSTRUCTS:
        if body in construct.inside:
            found.setdefault(construct.starts_with, []).append(construct)
    return found


def places_of(keyword: str) -> list[str]:
    """The bodies in which a keyword may stand."""
    return sorted({place for construct in CONSTRUCTS if construct.starts_with == keyword for place in construct.inside})
