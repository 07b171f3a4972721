"""The libraries that releasing needs, which come with the extra `release`; running and reading a release needs none."""

from __future__ import annotations

import importlib.util

from tripos.failure import Failure

LIBRARIES = ("license_expression", "mlcroissant", "huggingface_hub")


def lacking() -> list[str]:
    """Those libraries that are not installed."""
    return [name for name in LIBRARIES if importlib.util.find_spec(name) is None]


def need() -> None:
    """Raises `Failure` W0857, with the command that installs them, where libraries lack."""
    if found := lacking():
        some = ", ".join(f"`{name}`" for name in found)
        raise Failure("W0857", f"releasing needs {some}", "pip install 'tripos[release]'")
