"""The function library. A Python signature is the Tripos signature; `table.py` lists the functions.

Every function is pure. `Any` takes a value of any type, `T | None` one that may be missing, and a type variable stands
for the same type wherever it occurs. A function that has no value for some arguments raises `Undefined` and declares it
in `table.py` (`partiality`); what depends on it is `undefined` where a reply is the reason, and `not_applicable` where
the item is. Any other exception is a bug.
"""

from tripos_compiler.semantics.library.fitting import fits, join
from tripos_compiler.semantics.library.kinds import Dialogue, Path, Tree, Turn
from tripos_compiler.semantics.library.layout import json
from tripos_compiler.semantics.library.notation import shown
from tripos_compiler.semantics.library.signature import Function, Parameter, define
from tripos_compiler.semantics.library.table import FUNCTIONS, GROUPS

__all__ = [
    "FUNCTIONS",
    "GROUPS",
    "Dialogue",
    "Function",
    "Parameter",
    "Path",
    "Tree",
    "Turn",
    "define",
    "fits",
    "join",
    "json",
    "shown",
]
