"""The libraries that training needs, which come with the extra `train`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from tripos.failure import Failure

LIBRARIES = ("torch", "transformers", "trl", "datasets", "accelerate", "peft")


def need(libraries: Sequence[str] = LIBRARIES) -> None:
    """Raises `Failure` W0812, with the command that installs them, where one of `libraries` is lacking."""
    lacking = [name for name in libraries if importlib.util.find_spec(name) is None]
    if lacking:
        some = ", ".join(f"`{name}`" for name in lacking)
        raise Failure("W0812", f"training needs {some}", "pip install 'tripos[train]'")


def versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """The versions of those `libraries` that are installed."""
    found = {}
    for name in ("tripos", *libraries):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def quieten() -> None:
    """Makes the libraries print no bars and hints, and send nothing about their use to anybody. To be called before
    they are imported, since some look at the environment only then."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS", "TRANSFORMERS_NO_ADVISORY_WARNINGS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import datasets
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    datasets.disable_progress_bars()
