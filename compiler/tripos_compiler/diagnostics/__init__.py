"""What the compiler has to say to people: diagnostics, their catalogue and their renderings."""

from tripos_compiler.diagnostics.model import Diagnostic, Diagnostics, Edit, Label, nearest

__all__ = ["Diagnostic", "Diagnostics", "Edit", "Label", "nearest"]
