"""A data set that is made, while it is lowered: its fields so far, and what its expressions can name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.language import names_in
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import Ask, Axis, DataField, Derived, Type, Verify, Walk
from tripos_compiler.resolve import Binding, Program, Scope, record_fields
from tripos_compiler.source import Name, Span, dataclass
from tripos_compiler.statements.analysis import StepFingerprints
from tripos_compiler.statements.datasets.files import bare_name
from tripos_compiler.statements.prompts import Question
from tripos_compiler.typing import Elaborator

MadeStep = Ask | Walk | Derived | Verify


@dataclass
class Making:
    """`scope` binds the axes and what the source's rows are known as. Where `open`, the rows may have fields that are
    not known by name, because what would say so was reported; `sound` is False once anything was wrong."""

    program: Program
    statement: Statement
    name: str
    axes: list[Axis]
    scope: dict[str, Binding]
    alias: Name | None = None
    fields: list[DataField] = field(default_factory=list)
    poisoned: list[str] = field(default_factory=list)
    spans: dict[str, Span] = field(default_factory=dict)
    steps: list[MadeStep] = field(default_factory=list)
    mentioned: dict[str, set[str]] = field(default_factory=dict)
    """For every language the names that its prompts print."""
    open: bool = False
    sound: bool = True

    def __post_init__(self) -> None:
        self.prints = StepFingerprints(self.program, self.name, kind="dataset")

    @property
    def own(self) -> str:
        """Return what the spec calls it."""
        return bare_name(self.name)

    def error(
        self,
        code: str,
        message: str,
        *where: Span | Label,
        help: str,
        unknown: str | None = None,
        lacking: Span | None = None,
    ) -> None:
        """Report a mistake."""
        self.program.diagnostics.error(code, message, *where, help=help, unknown=unknown, lacking=lacking)
        self.sound = False

    def add(
        self, kind: str, name: str, span: Span, type_: Type | None, where: Span | None = None, secret: bool = False
    ) -> bool:
        """Add a field, without a type where it is not known; reports a name that is taken, at `where` if that is not
        where it is declared. `kind` is what declares it, empty where it is carried over from a source that did."""
        if name in self.spans:
            label = Label(self.spans[name], "it comes from here")
            help_ = "rename one"
            if any(axis.name == name for axis in self.axes):
                help_ = f"rows that say their `{name}` are made where no context adds it: at the top of the file"
            self.error("E0202", f"the rows have a field `{name}` already", where or span, label, help=help_)
            return False
        self.spans[name] = span
        if kind:
            owner = f"dataset {self.own}"
            self.program.index.define(kind, name, span, owner, type_notation(type_) if type_ is not None else "")
        if type_ is None:
            self.poisoned.append(name)
            self.sound = False
            return True
        self.fields.append(DataField(name=name, type=type_, columns=(), secret=secret))
        return True

    def bindings(self, *path: str) -> dict[str, Binding]:
        """Return the fields so far; `path` is what a row is known as."""
        found = {name: Binding((*path, name)) for name in self.poisoned}
        for each in self.fields:
            span, own = self.spans[each.name], (*path, each.name)
            found[each.name] = Binding(
                own, each.type, record_fields(own, each.type, span), span=span, secret=each.secret
            )
        return found

    def row(self) -> dict[str, Binding]:
        """Return what can be named once the row, or its first part, is there: also the fields so far."""
        fields = {} if self.open else self.bindings(self.own)
        return {**self.scope, self.own: Binding((self.own,), None, fields, span=self.statement.name().span)}

    def too_early(self, names: Iterable[Name]) -> bool:
        """Return true if one of the names is the data set itself, where its rows are not there yet; reports it."""
        own = [name for name in names if name.text == self.own and "." not in self.name and name.text not in self.scope]
        for name in own:
            help_ = "its source and its axes can be named here"
            self.error("E0201", f"the rows of `{self.own}` are not there yet", name.span, help=help_)
        return bool(own)

    def elaborator(self, scope: Scope, span: Span) -> Elaborator:
        """Check an expression at `span`."""
        self.program.index.scopes.append((span, scope))
        return Elaborator(self.program, scope)

    def maker(self, role: Name) -> bool:
        """Return true if a role may make rows, which are the same for every model that is compared."""
        if not self.program.is_declared("role", role):
            self.sound = False
            return False
        declared = self.program.roles.get(role.text)
        if declared is None or declared.kind == "single":
            return declared is not None
        if declared.kind == "compared":
            message = f"`{role.text}` is compared, and each of its models would have rows of its own"
        else:
            message = f"`{role.text}` is a panel, and its members would each make other rows"
        self.error("E0208", message, role.span, help="declare a role of its own: `role author`")
        return False

    def mention(self, question: Question) -> None:
        """Note what a question prints."""
        by_settings = {name for each in question.lowered.expressions for name in names_in(each)}
        for language in self.program.languages:
            self.mentioned.setdefault(language, set()).update(by_settings)
            for part in (question.system, question.prompt):
                for hole in part.holes.get(language, ()) if part is not None else ():
                    self.mentioned.setdefault(language, set()).update(names_in(hole.typed.expr))
