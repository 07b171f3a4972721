"""Reward models that Tripos trained: a folder with a manifest, whose weights are named by their digest.

`open_reward` is the one place where such a folder becomes a model. What loads weights comes in there, and nothing else
of the runtime has to change.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tripos_runtime.models.base import ModelError
from tripos_runtime.models.rewards import RewardModel

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """What a folder says of itself: `kind` names the engine that loads it, `digest` is the SHA-256 of its weights."""

    path: Path
    kind: str
    digest: str


def read_manifest(path: Path) -> Manifest:
    """The manifest of a folder. Raises `ModelError` R0234 where there is none, or it lacks what it must say."""
    train = "`reward/PATH` names the folder of a trained reward model, which holds its manifest"
    try:
        said = json.loads((path / MANIFEST).read_text("utf-8"))
    except FileNotFoundError as error:
        raise ModelError("R0234", f"there is no reward model in `{path}`", train, fatal=True) from error
    except (OSError, ValueError) as error:
        raise ModelError("R0234", f"`{path / MANIFEST}` cannot be read: {error}", train, fatal=True) from error
    kind, digest = (said.get(key) if isinstance(said, dict) else None for key in ("kind", "digest"))
    if not isinstance(kind, str) or not isinstance(digest, str):
        lacking = f"`{path / MANIFEST}` does not say `kind` and `digest`"
        raise ModelError("R0234", lacking, train, fatal=True)
    return Manifest(path, kind, digest)


def open_reward(path: str) -> RewardModel:
    """The reward model in a folder, ready to score.

    Raises `ModelError` R0234 where the folder holds none, and R0235 where this version has no engine for its kind,
    which today is every kind.

    >>> open_reward("no/such/folder")
    Traceback (most recent call last):
    tripos_runtime.models.base.ModelError: there is no reward model in `no/such/folder`
    """
    manifest = read_manifest(Path(path).expanduser())
    message = f"this version has no engine for reward models of the kind `{manifest.kind}`"
    hint = "serve the model and name the server: `vllm-pooling/NAME` or `tei/NAME`"
    raise ModelError("R0235", message, hint, fatal=True)
