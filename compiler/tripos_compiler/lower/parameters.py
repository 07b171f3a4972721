"""Lowers the parameters of scorers: `response: text, n: 1..5`."""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.diagnostics import Label
from tripos_compiler.plan import Type
from tripos_compiler.program import Program
from tripos_compiler.scope import Binding, Scope
from tripos_compiler.semantics.library import shown
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import Argument, Name
from tripos_compiler.types import read_type


@dataclass(frozen=True)
class Parameters:
    """Parameters with the places of their names and types."""

    types: dict[str, Type]
    names: dict[str, Name]
    places: dict[str, Span]

    @property
    def scope(self) -> Scope:
        """What expressions in the scorer see."""
        return {name: Binding((name,), of, span=self.names[name].span) for name, of in self.types.items()}

    def shown(self, name: str) -> str:
        """The signature as people read it, without what is returned: `near(a: text, b: number)`."""
        return f"{name}({', '.join(f'{key}: {shown(of)}' for key, of in self.types.items())})"


def lower_parameters(program: Program, owner: str, arguments: tuple[Argument, ...]) -> Parameters | None:
    """The parameters; None, reported, where one is wrong."""
    types: dict[str, Type] = {}
    names: dict[str, Name] = {}
    places: dict[str, Span] = {}
    good = True
    for argument in arguments:
        if argument.name is None or len(argument.elements) != 1:
            help_ = "it is written `name: type`"
            program.diagnostics.error("E0106", "a parameter needs a name and a type", argument.span, help=help_)
            good = False
            continue
        name, written = argument.name, argument.elements[0]
        type_ = read_type(program, written)
        earlier = names.setdefault(name.text, name)
        if earlier is not name:
            message = f"parameter `{name.text}` is declared twice"
            label = Label(earlier.span, "first declared here")
            program.diagnostics.error("E0202", message, name.span, label, help="rename one")
            continue
        good = good and type_ is not None
        if type_ is not None:
            types[name.text] = type_
            places[name.text] = written.span
            program.index.define("parameter", name.text, name.span, owner, shown(type_))
            program.value_spans.setdefault((owner, name.text), name.span)
    return Parameters(types, names, places) if good else None
