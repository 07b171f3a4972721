"""Lowers scorers whose models write nothing: rewards, and the similarity of two texts by their embeddings."""

from __future__ import annotations

from typing import Literal

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import (
    Call,
    DialogueType,
    Expr,
    Hole,
    NumberType,
    Ref,
    Scorer,
    Settings,
    Template,
    TextType,
    Type,
)
from tripos_compiler.resolve import Program, Scope
from tripos_compiler.source import Name, dataclass
from tripos_compiler.statements.scoring.functions import Parameters
from tripos_compiler.typing import Elaborator

SYSTEM = "Cosine similarity of the embeddings of two texts."
"""Stands before the texts, in the place of what a judge is told: an embedding model is not sent it."""


@dataclass(frozen=True)
class Gives:
    """The verdict type of a judge. `type` None stands for the allocated metrics."""

    type: Type | None
    source: Literal["reply", "reward", "similarity"] = "reply"
    weighted: bool = False

    @property
    def shown(self) -> str:
        """As it is written in a spec."""
        if self.type is None:
            return "allocated metrics"
        return type_notation(self.type) if self.source == "reply" else self.source


def is_fair(program: Program, statement: Statement, role: Name, gives: Gives) -> bool:
    """Return true if this role may give that. A judge that is under test itself is warned of."""
    declared = program.roles.get(role.text)
    compared = declared is not None and declared.kind == "compared"
    if gives.source == "reply":
        if compared:
            message = f"`{role.text}` is under test and judges itself"
            help_ = "let a role of its own judge: `role judge`"
            program.diagnostics.warning("W0703", message, role.span, help=help_)
        return True
    if compared:
        message = f"`{role.text}` is compared, and a reward is given by a model that is not"
        help_ = "declare a role for the reward model: `role critic`"
        program.diagnostics.error("E0705", message, role.span, help=help_)
        return False
    settings = [each for each in statement.body if each.construct in (*Settings.model_fields, "repeats", "unsure")]
    for each in settings:
        message = f"a reward model writes no text, so `{_written(each)}` changes nothing"
        program.diagnostics.error("E0705", message, each.head, help="remove it")
    return not settings


def lower_chat(program: Program, scope: Scope, statement: Statement, gives: Gives | None) -> Expr | bool | None:
    """Return the dialogue that a reward model judges; None where there is none, False where it is wrong."""
    written = statement.one_of("chat")
    if written is None:
        return None
    if gives is not None and gives.source != "reward":
        help_ = "put it into the prompt: `{{ transcript(…) }}`"
        message = "a judge that writes is sent no dialogue as messages: it would go on with it"
        program.diagnostics.error("E0705", message, written.head, help=help_)
        return False
    typed = Elaborator(program, scope).expression(written.syntax("value"), DialogueType(), "what is chatted")
    return False if typed is None else typed.expr


def gives_similarity(statement: Statement) -> bool:
    """Return true if a scorer gives the similarity of two texts by an embedding model."""
    gives = statement.one_of("gives")
    written = gives.syntax("type") if gives is not None and not gives.has("metrics") else None
    return isinstance(written, Name) and written.text == "similarity"


def lower_similarity(program: Program, statement: Statement, name: Name, parameters: Parameters | None) -> None:
    """Declare a scorer that gives the cosine of an embedding model's vectors of its two texts."""
    role = statement.name("role")
    if not program.is_declared("role", role) or parameters is None:
        return
    if program.roles[role.text].kind == "compared":
        message = f"`{role.text}` is compared, and a similarity is given by a model that is not"
        program.diagnostics.error("E0705", message, role.span, help="declare a role for it: `role encoder`")
        return
    for each in statement.body:
        if each.construct != "gives":
            message = f"an embedding model is sent the two texts alone, so `{_written(each)}` changes nothing"
            program.diagnostics.error("E0705", message, each.head, help="remove it")
    if isinstance(statement.find("stronger"), Name):
        message = "a similarity is never unsure, so no stronger role is asked"
        program.diagnostics.error("E0705", message, statement.head, help="remove `then … when unsure`")
    if [each.kind for each in parameters.types.values()] != ["text", "text"]:
        message = f"a similarity is that of two texts, and `{parameters.shown(name.text)}` takes others"
        help_ = f"write `scorer {name.text}(one: text, other: text) by {role.text} {{ gives similarity }}`"
        program.diagnostics.error("E0705", message, name.span, help=help_)
        return
    one, other = (
        Hole(expr=Call(function="json", args=(Ref(path=(each,)),)), type=TextType()) for each in parameters.types
    )
    program.index.define("scorer", name.text, name.span, detail=f"{parameters.shown(name.text)} -> similarity")
    scorer = Scorer(
        name=name.text,
        role=role.text,
        params=parameters.types,
        system={language: Template(parts=(SYSTEM,)) for language in program.languages},
        prompt={language: Template(parts=("[", one, ", ", other, "]")) for language in program.languages},
        gives=NumberType(),
        source="similarity",
    )
    program.scorers.setdefault(name.text, scorer)


def _written(statement: Statement) -> str:
    return "samples" if statement.construct == "repeats" else statement.construct
