"""A reward model that `tripos train reward` made, on this machine: an encoder, in a thread of its own."""

from __future__ import annotations

import asyncio
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path

from tripos_compiler.source import dataclass
from tripos_runtime.models.base import FREE, ModelError, Price
from tripos_runtime.models.reward.reward_network import RewardNetwork, packed, parted, read_network
from tripos_runtime.models.reward.rewards import Chat, as_text, before_and_reply

KIND = "tripos.reward/1"
"""The kind of a manifest that this loads."""
OUTSIDE = ("manifest.json", "training.json")
"""Files that are no part of the model: notes about it, and the files that the training left beside it as `data*`."""


@dataclass
class LocalReward(ABC):
    """A reward model on this machine. It is loaded at the first question, and asked in one thread, which torch parts
    over the cores."""

    name: str
    price: Price | None = field(default=FREE, kw_only=True)
    most: int = field(default=64, kw_only=True)
    batches: int = field(default=1, kw_only=True)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "reward"), kw_only=True)

    @property
    def endpoint(self) -> str:
        """A place of its own."""
        return self.name

    async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
        """Return the rewards. Raises `ModelError` R0239 where the model cannot be loaded, R0107 where a chat is too
        long."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._score, chats)

    async def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()

    @abstractmethod
    def _score(self, chats: Sequence[Chat]) -> list[float]:
        """Return the rewards, in the thread."""


@dataclass
class TrainedReward(LocalReward):
    """The reward model in a folder that `tripos train reward` made."""

    folder: Path
    _network: RewardNetwork | None = None

    def _score(self, chats: Sequence[Chat]) -> list[float]:
        if self._network is None:
            self._network = _loaded(self.name, self.folder)
        marker = self._network.shape.marker
        return self._network.rewards([before_and_reply(chat) or parted(as_text(chat), marker) for chat in chats])


def open_trained(folder: Path, digest: str, pinned: str | None) -> TrainedReward:
    """Return the reward model in a folder whose manifest says `digest`; `pinned` is the beginning of the one that is
    wanted.

    Raises `ModelError` R0237 where the files are not those of the digest, R0238 where the libraries are lacking.
    """
    if pinned is not None and not digest.startswith(pinned):
        message = f"`{folder}` holds the reward model {digest[:12]}, and {pinned} is named"
        raise ModelError("R0237", message, "name the folder alone, or train that model again", fatal=True)
    if digest_of(folder) != digest:
        message = f"the files in `{folder}` are not those that its manifest names"
        raise ModelError("R0237", message, "copy the folder again, or train again", fatal=True)
    need_libraries("a trained reward model")
    return TrainedReward(f"reward/{folder}@{digest[:12]}", folder)


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of a reward model: of the names and bytes of all its files.

    The same digest is the same weights, tokenizer and head, and gives the same rewards.
    """
    whole = hashlib.sha256()
    for file in model_files(folder):
        with file.open("rb") as opened:
            content = hashlib.file_digest(opened, "sha256").hexdigest()
        whole.update(f"{file.relative_to(folder).as_posix()}\0{content}\n".encode())
    return whole.hexdigest()


def model_files(folder: Path) -> list[Path]:
    """Return the files of a reward model: its weights, tokenizer and head, without what is said of it and the data that
    it learned."""
    found = []
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        inside = file.relative_to(folder)
        if inside.name not in OUTSIDE and not (len(inside.parts) == 1 and inside.name.startswith("data")):
            found.append(file)
    return found


def need_libraries(what: str) -> None:
    """Raise `ModelError` R0238 where torch or transformers is not installed; `what` needs them."""
    import importlib.util

    lacking = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if lacking:
        some = " and ".join(f"`{name}`" for name in lacking)
        raise ModelError("R0238", f"{what} needs {some}", "pip install 'tripos[train]'", fatal=True)


def quieten() -> None:
    """Keep transformers silent, and its threads from taking the cores of the run that goes on beside them."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Threads that spin while they wait for each other take cores for nothing.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def _loaded(name: str, folder: Path) -> RewardNetwork:
    quieten()
    try:
        return packed(read_network(folder))
    except Exception as error:  # of whatever kind, from the libraries
        told = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError("R0239", f"cannot load `{name}`: {told}", "train it again", fatal=True) from error
