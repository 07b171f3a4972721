"""Reward models on this machine: a folder with a manifest, which Tripos trained; a folder with a sequence classifier
of transformers; or the name of such a one on the Hugging Face Hub. All are named by the digest of their weights.

`open_reward` is the one place where such a name becomes a model. What loads weights comes in there, and nothing else
of the runtime has to change.
"""

from __future__ import annotations

import re
from pathlib import Path

import orjson

from tripos_compiler.source import dataclass
from tripos_runtime.models.base import ModelError
from tripos_runtime.models.reward.classifier_reward import (
    HUB,
    folder_name,
    hub_name,
    is_classifier,
    open_classifier,
    open_hub,
)
from tripos_runtime.models.reward.rewards import RewardModel
from tripos_runtime.models.reward.trained_reward import KIND, open_trained

MANIFEST = "manifest.json"
SHORT = 12
"""The number of digits of a digest that name a model."""
PINNED = re.compile(r"[0-9a-f]{8,64}")


@dataclass(frozen=True)
class RewardManifest:
    """The manifest of a folder: `kind` names the engine that loads it, `digest` is the SHA-256 of its weights."""

    path: Path
    kind: str
    digest: str


def read_manifest(path: Path) -> RewardManifest:
    """Return the manifest of a folder. Raises `ModelError` R0234 where there is none, or it lacks what it must say."""
    train = "`reward/PATH` names the folder of a trained reward model, or of a sequence classifier of transformers"
    try:
        said = orjson.loads((path / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        raise ModelError("R0234", f"there is no reward model in `{path}`", train, fatal=True) from error
    except (OSError, ValueError) as error:
        raise ModelError("R0234", f"`{path / MANIFEST}` cannot be read: {error}", train, fatal=True) from error
    kind, digest = (said.get(key) if isinstance(said, dict) else None for key in ("kind", "digest"))
    if not isinstance(kind, str) or not isinstance(digest, str):
        lacking = f"`{path / MANIFEST}` does not say `kind` and `digest`"
        raise ModelError("R0234", lacking, train, fatal=True)
    return RewardManifest(path, kind, digest)


def pinned_name(name: str) -> str:
    """Return the name of a reward model with its digest, `reward/PATH@DIGEST`: by that its rewards are kept, so another
    model in the same folder is asked anew. Names of other models, and of folders that cannot be read, are given back.

    >>> pinned_name("mock/reward"), pinned_name("reward/no/such/folder")
    ('mock/reward', 'reward/no/such/folder')
    """
    if not name.startswith("reward/"):
        return name
    if name.startswith(f"reward/{HUB}"):
        return hub_name(name.removeprefix(f"reward/{HUB}"))
    path, pinned = _parted(name.removeprefix("reward/"))
    folder = Path(path).expanduser()
    if _holds_classifier(folder):
        found = folder_name(folder, path)
        return found if pinned is None or found.rpartition("@")[2].startswith(pinned[:SHORT]) else name
    try:
        manifest = read_manifest(folder)
    except ModelError:
        return name
    if pinned is not None and not manifest.digest.startswith(pinned):
        return name  # which is refused when it is opened
    return f"reward/{path}@{manifest.digest[:SHORT]}"  # one name, however much of the digest was written


def _parted(path: str) -> tuple[str, str | None]:
    """Return the folder, and the beginning of the digest behind its `@`."""
    folder, found, pinned = path.rpartition("@")
    return (folder, pinned) if found and PINNED.fullmatch(pinned) else (path, None)


def _holds_classifier(folder: Path) -> bool:
    return not (folder / MANIFEST).exists() and is_classifier(folder)


def manifest_at(path: str) -> RewardManifest:
    """Return the manifest of the folder that `FOLDER` or `FOLDER@DIGEST` names. Raises `ModelError` R0234."""
    return read_manifest(Path(_parted(path)[0]).expanduser())


def check_reward(path: str) -> None:
    """Raise `ModelError` R0234 where a name cannot be that of a reward model: a folder that holds none. What lies on
    the Hub is looked at when it is opened."""
    if not path.startswith(HUB) and not _holds_classifier(Path(_parted(path)[0]).expanduser()):
        manifest_at(path)


def open_reward(path: str) -> RewardModel:
    """Return the reward model in a folder, ready to score; the beginning of its digest may follow, `FOLDER@DIGEST`. So
    is one of the Hub, `hf:OWNER/NAME` or `hf:OWNER/NAME@REVISION`.

    Raises `ModelError` R0234 where the folder holds none, R0235 where this version has no engine for its kind, R0237
    where it is another than its digest says, and R0238 where the libraries are lacking.

    >>> open_reward("no/such/folder")
    Traceback (most recent call last):
    tripos_runtime.models.base.ModelError: there is no reward model in `no/such/folder`
    """
    if path.startswith(HUB):
        return open_hub(path.removeprefix(HUB))
    written, pinned = _parted(path)
    folder = Path(written).expanduser()
    if _holds_classifier(folder):
        return open_classifier(folder, written, pinned)
    manifest = manifest_at(path)
    if manifest.kind == KIND:
        return open_trained(manifest.path, manifest.digest, pinned)
    message = f"this version has no engine for reward models of the kind `{manifest.kind}`"
    hint = "serve the model and name the server: `vllm-pooling/NAME` or `tei/NAME`"
    raise ModelError("R0235", message, hint, fatal=True)
