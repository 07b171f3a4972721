"""The contract of import-linter that rooms are imported by their face, which is the `__init__` of their package."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class FaceContract(Contract):
    """No module outside of a room imports a module of it; a name is imported from the room itself.

    `rooms` are packages. A room inside a room has a face of its own. Modules of one room import each other directly.
    The modules of `open_rooms` are imported from everywhere.
    """

    type_name = "faces"

    rooms = fields.ListField(subfield=fields.StringField())
    open_rooms = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Return the imports that pass a face, and the rooms that are no package."""
        rooms: list[str] = self.rooms  # type: ignore[assignment]
        open_rooms: list[str] = self.open_rooms  # type: ignore[assignment]
        unknown = [room for room in rooms if not graph.find_children(room)]
        past = [
            f"{importer} imports {module}, and not from {room}"
            for module in sorted(graph.modules)
            if not any(is_in(module, room) for room in open_rooms)
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if (room := room_between(importer, module, rooms)) not in (None, module)
        ]
        found = [*(f"{room} is no package" for room in unknown), *past]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for every import that passes a face."""
        for line in check.metadata["found"]:
            output.print_error(f"- {line}")


def room_between(importer: str, module: str, rooms: list[str]) -> str | None:
    """Return the innermost room that holds `module` and not `importer`.

    >>> room_between("a.b.c", "a.d.e.f", ["a.b", "a.d", "a.d.e"]), room_between("a.d.c", "a.d.f", ["a.d"])
    ('a.d.e', None)
    """
    holding = [room for room in rooms if is_in(module, room) and not is_in(importer, room)]
    return max(holding, key=len, default=None)


def is_in(module: str, room: str) -> bool:
    """Return whether a module is a room's face or one of its modules."""
    return f"{module}.".startswith(f"{room}.")
