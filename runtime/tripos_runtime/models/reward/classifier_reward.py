"""Reward models in the form of transformers: sequence classifiers with one label, in a folder or on the Hugging Face
Hub. A model with a chat template is given the chat as messages, the system message among them; another one a text.

Texts go through one by one, so that a reward does not depend on what it was batched with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from tripos_compiler.source import dataclass
from tripos_runtime.models.base import ModelError
from tripos_runtime.models.over_http import without_system
from tripos_runtime.models.reward.rewards import Chat, as_text
from tripos_runtime.models.reward.trained_reward import LocalReward, digest_of, need_libraries, quieten

HUB = "hf:"
CONFIG = "config.json"
DIGITS = 4
COMMIT = re.compile(r"[0-9a-f]{40}")
SHORT = 12
"""The number of digits of a digest or a commit that name a model."""


@dataclass
class ClassifierReward(LocalReward):
    """The classifier at `where`, a folder or a name of the Hub."""

    where: str
    revision: str | None = None
    _loaded: tuple[Any, Any] | None = None

    def _score(self, chats: Sequence[Chat]) -> list[float]:
        import torch

        if self._loaded is None:
            self._loaded = self._load()
        tokenizer, model = self._loaded
        most = getattr(model.config, "max_position_embeddings", None)
        found = []
        for chat in chats:
            inputs = tokenized(tokenizer, chat)
            count = inputs["input_ids"].shape[1]
            if most is not None and count > most:
                message = f"`{self.name}` reads {most:,} tokens, and a text has {count:,}"
                raise ModelError("R0107", message, "leave out the item, or take a model that reads more")
            with torch.inference_mode():
                logits = model(**{key: value.to(model.device) for key, value in inputs.items()}).logits
            found.append(round(float(logits[0, 0]), DIGITS))
        return found

    def _load(self) -> tuple[Any, Any]:
        quieten()
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        gpu = torch.cuda.is_available()
        given = {"revision": self.revision, "local_files_only": Path(self.where).is_dir()}
        try:
            tokenizer = AutoTokenizer.from_pretrained(self.where, **given)
            model = AutoModelForSequenceClassification.from_pretrained(
                self.where, dtype="auto" if gpu else torch.float32, **given
            )
        except Exception as error:  # of whatever kind, from the libraries
            told = (str(error).strip().splitlines() or [type(error).__name__])[0]
            hint = "see that the folder is whole, or that the Hub can be reached and knows the name"
            raise ModelError("R0239", f"cannot load `{self.name}`: {told}", hint, fatal=True) from error
        if model.config.num_labels != 1:
            message = f"`{self.name}` has {model.config.num_labels} labels, and a reward model has one"
            raise ModelError("R0239", message, "take a model that was trained to give rewards", fatal=True)
        return tokenizer, model.to("cuda" if gpu else "cpu").eval()


def tokenized(tokenizer: Any, chat: Chat) -> Mapping[str, Any]:
    """Return a chat as tokens: in the model's chat template, or as one text where it has none."""
    if not tokenizer.chat_template:
        return dict(tokenizer(as_text(chat), return_tensors="pt"))
    try:
        return _in_template(tokenizer, chat)
    except Exception:  # a template that knows no system message says so in words of its own
        if not any(message.role == "system" for message in chat):
            raise
        return _in_template(tokenizer, without_system(chat))


def _in_template(tokenizer: Any, chat: Chat) -> Mapping[str, Any]:
    messages = [{"role": message.role, "content": message.content} for message in chat]
    return dict(tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, return_tensors="pt"))


def is_classifier(folder: Path) -> bool:
    """Return true if a folder holds a sequence classifier of transformers."""
    try:
        said = orjson.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError):
        return False
    names = said.get("architectures") if isinstance(said, dict) else None
    return any(str(name).endswith("ForSequenceClassification") for name in names or ())


def folder_name(folder: Path, path: str) -> str:
    """Return the name of the classifier in a folder, `reward/PATH@DIGEST`."""
    return f"reward/{path}@{folder_digest(folder)[:SHORT]}"


def folder_digest(folder: Path) -> str:
    """Return the SHA-256 of a folder's files, which are read again only after one of them changed."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return _digest(folder, tuple((str(each), each.stat().st_mtime_ns, each.stat().st_size) for each in files))


@lru_cache(maxsize=32)
def _digest(folder: Path, files: tuple[tuple[str, int, int], ...]) -> str:
    return digest_of(folder)


def open_classifier(folder: Path, path: str, pinned: str | None) -> ClassifierReward:
    """Return the classifier in a folder; `pinned` is the beginning of the digest that is wanted. Raises `ModelError`
    R0237 and R0238."""
    digest = folder_digest(folder)
    if pinned is not None and not digest.startswith(pinned):
        message = f"`{folder}` holds the reward model {digest[:SHORT]}, and {pinned} is named"
        raise ModelError("R0237", message, "name the folder alone, or copy that model again", fatal=True)
    need_libraries("this reward model")
    return ClassifierReward(folder_name(folder, path), str(folder))


def open_hub(name: str) -> ClassifierReward:
    """Return the classifier `OWNER/NAME` of the Hub, or `OWNER/NAME@REVISION`. Raises `ModelError` R0234 for what is no
    such name, and R0238."""
    owner_name, _, revision = name.partition("@")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", owner_name):
        message = f"`reward/{HUB}{name}` names no model of the Hugging Face Hub"
        raise ModelError("R0234", message, f"write `reward/{HUB}OWNER/NAME`", fatal=True)
    need_libraries("a reward model of the Hugging Face Hub")
    commit = commit_of(owner_name, revision or "main")
    return ClassifierReward(hub_name(name), owner_name, commit or revision or None)


def hub_name(name: str) -> str:
    """Return the name of a model of the Hub with its commit, where that can be told: by that its rewards are kept."""
    owner_name, _, revision = name.partition("@")
    commit = commit_of(owner_name, revision or "main")
    return f"reward/{HUB}{owner_name}@{commit[:SHORT]}" if commit else f"reward/{HUB}{name}"


@lru_cache(maxsize=32)
def commit_of(owner_name: str, revision: str) -> str | None:
    """Return the commit that a revision is: as it lies in the cache of this machine, or else as the Hub says; None
    where neither tells."""
    if COMMIT.fullmatch(revision):
        return revision
    try:
        from huggingface_hub import HfApi, constants
    except ImportError:
        return None
    cached = Path(constants.HF_HUB_CACHE) / f"models--{owner_name.replace('/', '--')}"
    ref = cached / "refs" / revision
    if ref.is_file():
        return ref.read_text("utf-8").strip()
    begun = [each.name for each in (cached / "snapshots").glob(f"{revision}*")] if len(revision) >= 7 else []
    if len(begun) == 1:
        return begun[0]
    try:
        sha: str | None = HfApi().model_info(owner_name, revision=revision, timeout=10).sha
    except Exception:  # no network, or no such model, which is told when it is loaded
        return None
    return sha
