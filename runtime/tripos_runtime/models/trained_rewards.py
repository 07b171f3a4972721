"""Reward models on this machine: one trained by `tripos train reward`, or a sequence classifier of transformers in a
folder or on the Hugging Face Hub.

All are named by the digest of their weights. `open_reward` is the only place where such a name becomes a model; a new
kind of model is added there. Training and scoring use the same network code, so that they agree on the features of a
text. A trained model scores the reply and reads at most `context` tokens before it. A classifier with a chat template
gets the chat as messages; it scores chats one by one, so that a reward does not depend on its batch."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import orjson

from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import FREE, ModelError, Price
from tripos_runtime.models.chat_completions import without_system
from tripos_runtime.models.rewards import Chat, RewardModel, as_text, before_and_reply

BASE, HEAD = "base", "head.safetensors"
"""The folder of the base model, and the weights of the head, next to the manifest."""
AT_ONCE = 32
"""The number of texts that the network reads at once."""
MOST_PACKED = 500_000_000
"""The largest number of weights of a model that is packed: the weights are in memory twice meanwhile."""
DIGITS = 4
"""The number of decimals of a reward."""

Pool = Literal["layers", "mean", "last"]


@dataclass(frozen=True)
class Shape:
    """The shape of the network: how texts become features.

    `pool` says what the head sees: the mean over the reply's tokens in every layer or in the last one, or the last
    token of the last layer. `marker` precedes a reply in a scored text; `context` is the number of tokens read before
    the reply, `most` the largest number of tokens of the reply."""

    pool: Pool = "layers"
    marker: str = "Teacher:"
    context: int = 0
    most: int = 256

    def to_json(self) -> dict[str, Any]:
        """Return the shape as JSON values."""
        return asdict(self)


def split_reply(text: str, marker: str) -> tuple[str, str]:
    """Return the text before the reply, and the reply, which follows the last `marker` at the start of a line. A text
    without a marker is all reply.

    >>> split_reply("Student: 4?\\nTeacher: Why 4?", "Teacher:")
    ('Student: 4?', 'Why 4?')
    >>> split_reply("Why 4?", "Teacher:")
    ('', 'Why 4?')
    """
    before, found, reply = ("\n" + text).rpartition("\n" + marker)
    return (before.strip(), reply.strip()) if found else ("", text.strip())


@dataclass
class RewardNetwork:
    """A base model with its tokenizer and a head.

    The head maps features to one number: `weight` of shape `[features]`; `mean` and `scale` of that shape standardise
    the features first. With a `bias` of shape `[criteria]` it is a set of classifiers with `weight` `[features,
    criteria]`, and the number is the sum of their probabilities."""

    model: Any
    tokenizer: Any
    shape: Shape
    head: Any = None

    def ids(self, before: str, reply: str) -> tuple[list[int], int]:
        """Return the tokens of a reply and its context, and how many of them are context."""
        tokenizer, shape = self.tokenizer, self.shape
        tail = tokenizer(before, add_special_tokens=False)["input_ids"][-shape.context :] if shape.context else []
        reply_ids = tokenizer(reply, add_special_tokens=False)["input_ids"][: shape.most]
        first = [tokenizer.cls_token_id] if tokenizer.cls_token_id is not None else []
        last = [tokenizer.sep_token_id] if tokenizer.sep_token_id is not None else [tokenizer.eos_token_id]
        context = [*first, *tail, *(last if tail and tokenizer.sep_token_id is not None else [])]
        return [*context, *reply_ids, *last], len(context)

    def pooled(self, rows: Sequence[tuple[list[int], int]]) -> Any:
        """Return the features of the results of `ids`, of shape `[rows, features]`, in 32 bits. They have gradients
        where these are enabled."""
        import torch

        device = next(self.model.parameters()).device
        longest = max(len(ids) for ids, _ in rows)
        pad = self.tokenizer.pad_token_id or 0
        inputs = torch.full((len(rows), longest), pad, dtype=torch.long)
        mask = torch.zeros((len(rows), longest))
        in_reply = torch.zeros((len(rows), longest))
        for row, (ids, context) in enumerate(rows):
            inputs[row, : len(ids)] = torch.tensor(ids)
            mask[row, : len(ids)] = 1
            in_reply[row, (context if len(ids) > context else 0) : len(ids)] = 1
        layers = self.shape.pool == "layers"
        output = self.model(input_ids=inputs.to(device), attention_mask=mask.to(device), output_hidden_states=layers)
        weights = (in_reply / in_reply.sum(1, keepdim=True)).to(device)[..., None]
        if layers:
            return torch.cat([(hidden_state.float() * weights).sum(1) for hidden_state in output.hidden_states], 1)
        last = output.last_hidden_state.float()
        if self.shape.pool == "mean":
            return (last * weights).sum(1)
        ends = torch.tensor([len(ids) - 1 for ids, _ in rows], device=device)
        return last[torch.arange(len(rows), device=device), ends]

    def features(self, texts: Sequence[tuple[str, str]], at_once: int = AT_ONCE) -> Any:
        """Return the features of replies with their contexts, of shape `[texts, features]`, on the CPU. Texts of
        similar length are batched."""
        import torch

        rows = [self.ids(before, reply) for before, reply in texts]
        features: list[Any] = [None] * len(rows)
        self.model.eval()
        with torch.inference_mode():
            for batch in by_length([len(ids) for ids, _ in rows], at_once):
                for place, feature in zip(batch, self.pooled([rows[each] for each in batch]).cpu(), strict=True):
                    features[place] = feature
        return torch.stack(features)

    def rewards(self, texts: Sequence[tuple[str, str]], at_once: int = AT_ONCE) -> list[float]:
        """Return the rewards of replies with their contexts, in order.

        They are rounded to `DIGITS` decimals: the same text in another batch must get the same reward, although the
        sums differ in their last bits."""
        if not texts:
            return []
        values = ((self.features(texts, at_once) - self.head["mean"]) / self.head["scale"]) @ self.head["weight"]
        if "bias" in self.head:
            values = (values + self.head["bias"]).sigmoid().sum(1)
        return [round(float(value), DIGITS) for value in values]


def by_length(lengths: Sequence[int], at_once: int) -> Iterator[list[int]]:
    """Yield indices in batches of similar length, so that little is computed on padding.

    >>> list(by_length([5, 1, 4, 2], 2))
    [[1, 3], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    for start in range(0, len(order), at_once):
        yield order[start : start + at_once]


def load_base(where: str, shape: Shape) -> RewardNetwork:
    """Return the network of a base model of transformers, without a head, in 32 bits, on the CPU. `where` is a folder
    or a name on the Hub. Raises the errors of transformers."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    local = Path(where).exists()
    tokenizer = AutoTokenizer.from_pretrained(where, local_files_only=local)
    model = AutoModel.from_pretrained(where, dtype=torch.float32, local_files_only=local)
    model.eval()
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return RewardNetwork(model, tokenizer, shape)


def packed_network(network: RewardNetwork) -> RewardNetwork:
    """Return the same network with the weights of its linear layers in oneDNN's layout, which gives the same rewards on
    a CPU in two thirds of the time. Return the network itself if it cannot be packed."""
    import torch

    weights = sum(parameter.numel() for parameter in network.model.parameters())
    if not torch.backends.mkldnn.is_available() or weights > MOST_PACKED:
        return network
    trial = [("", "What did you do first?"), ("", "No. It is 12.")]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the import already warns
            from torch.utils.mkldnn import to_mkldnn

            packed = replace(network, model=to_mkldnn(copy.deepcopy(network.model)))
            same = torch.allclose(network.features(trial), packed.features(trial), rtol=1e-3, atol=1e-4)
    except Exception:  # some layers access their weights directly, and cannot be packed
        return network
    return packed if same else network


def write_network(network: RewardNetwork, folder: Path) -> None:
    """Write base model, tokenizer and head. Raises `OSError`."""
    from safetensors.torch import save_file

    network.model.save_pretrained(folder / BASE)
    network.tokenizer.save_pretrained(folder / BASE)
    save_file({name: each.contiguous() for name, each in network.head.items()}, folder / HEAD)
    for file in folder.rglob("*.safetensors"):  # safetensors makes them readable for the owner only
        file.chmod(0o644)


def read_network(folder: Path) -> RewardNetwork:
    """Return the network that `write_network` wrote, with the shape in its manifest. Raises `OSError`, `ValueError` and
    the errors of transformers."""
    from safetensors.torch import load_file

    manifest = orjson.loads((folder / "manifest.json").read_bytes())
    network = load_base(str(folder / BASE), Shape(**manifest["shape"]))
    network.head = load_file(folder / HEAD)
    return network


KIND = "tripos.reward/1"
"""The kind of manifest that this module loads."""
OUTSIDE = ("manifest.json", "training.json")
"""Files that are not part of the model, besides the files `data*` of the training."""


@dataclass
class LocalReward(ABC):
    """A reward model on this machine. It is loaded when it is first asked. It computes in one thread, whose work torch
    spreads over the cores."""

    name: str
    price: Price | None = field(default=FREE, kw_only=True)
    most: int = field(default=64, kw_only=True)
    batches: int = field(default=1, kw_only=True)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "reward"), kw_only=True)

    @property
    def endpoint(self) -> str:
        """An endpoint of its own."""
        return self.name

    async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
        """Return the rewards. Raises `ModelError` R0239 if the model cannot be loaded, R0107 if a chat is too long."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._score, chats)

    async def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()

    @abstractmethod
    def _score(self, chats: Sequence[Chat]) -> list[float]:
        """Return the rewards. It is called in the thread."""


@dataclass
class TrainedReward(LocalReward):
    """The reward model in a folder that `tripos train reward` made."""

    folder: Path
    _network: RewardNetwork | None = None

    def _score(self, chats: Sequence[Chat]) -> list[float]:
        if self._network is None:
            self._network = _load_network(self.name, self.folder)
        marker = self._network.shape.marker
        return self._network.rewards([before_and_reply(chat) or split_reply(as_text(chat), marker) for chat in chats])


def open_trained(folder: Path, digest: str, pinned: str | None) -> TrainedReward:
    """Return the reward model in a folder whose manifest says `digest`; `pinned` is the required beginning of it.

    Raises `ModelError` R0237 if the files do not have the digest, R0238 if libraries are missing."""
    if pinned is not None and not digest.startswith(pinned):
        message = f"`{folder}` holds the reward model {digest[:12]}, and {pinned} is named"
        raise ModelError("R0237", message, "name the folder alone, or train that model again", fatal=True)
    if digest_of(folder) != digest:
        message = f"the files in `{folder}` are not those that its manifest names"
        raise ModelError("R0237", message, "copy the folder again, or train again", fatal=True)
    need_libraries("a trained reward model")
    return TrainedReward(f"reward/{folder}@{digest[:12]}", folder)


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of a reward model, over the names and bytes of all its files.

    Equal digests mean equal weights, tokenizer and head, and so equal rewards."""
    digest = hashlib.sha256()
    for file in model_files(folder):
        with file.open("rb") as opened:
            content = hashlib.file_digest(opened, "sha256").hexdigest()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def model_files(folder: Path) -> list[Path]:
    """Return the files of a reward model: weights, tokenizer and head, without notes and training data."""
    paths = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        inside = file.relative_to(folder)
        if inside.name not in OUTSIDE and not (len(inside.parts) == 1 and inside.name.startswith("data")):
            paths.append(file)
    return paths


def need_libraries(what: str) -> None:
    """Raise `ModelError` R0238 if torch or transformers is not installed; `what` needs them."""
    import importlib.util

    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        names = " and ".join(f"`{name}`" for name in missing)
        raise ModelError("R0238", f"{what} needs {names}", "pip install 'tripos[train]'", fatal=True)


def silence_transformers() -> None:
    """Silence transformers, and keep its threads from taking the cores of the run."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads sleep instead of spinning
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def _load_network(name: str, folder: Path) -> RewardNetwork:
    silence_transformers()
    try:
        return packed_network(read_network(folder))
    except Exception as error:  # the libraries may raise anything
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError("R0239", f"cannot load `{name}`: {text}", "train it again", fatal=True) from error


HUB = "hf:"
"""The prefix of names on the Hugging Face Hub, after `reward/`."""
CONFIG = "config.json"
COMMIT = re.compile(r"[0-9a-f]{40}")
SHORT = 12
"""The number of digits of a digest or a commit in the name of a model."""


@dataclass
class ClassifierReward(LocalReward):
    """The classifier at `where`, a folder or a name on the Hub."""

    where: str
    revision: str | None = None
    _loaded: tuple[Any, Any] | None = None

    def _score(self, chats: Sequence[Chat]) -> list[float]:
        import torch

        if self._loaded is None:
            self._loaded = self._load()
        tokenizer, model = self._loaded
        most = getattr(model.config, "max_position_embeddings", None)
        rewards = []
        for chat in chats:
            inputs = tokenized(tokenizer, chat)
            count = inputs["input_ids"].shape[1]
            if most is not None and count > most:
                message = f"`{self.name}` reads {most:,} tokens, and a text has {count:,}"
                raise ModelError("R0107", message, "leave out the item, or take a model that reads more")
            with torch.inference_mode():
                logits = model(**{key: value.to(model.device) for key, value in inputs.items()}).logits
            rewards.append(round(float(logits[0, 0]), DIGITS))
        return rewards

    def _load(self) -> tuple[Any, Any]:
        silence_transformers()
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        gpu = torch.cuda.is_available()
        source = {"revision": self.revision, "local_files_only": Path(self.where).is_dir()}
        try:
            tokenizer = AutoTokenizer.from_pretrained(self.where, **source)
            model = AutoModelForSequenceClassification.from_pretrained(
                self.where, dtype="auto" if gpu else torch.float32, **source
            )
        except Exception as error:  # the libraries may raise anything
            text = (str(error).strip().splitlines() or [type(error).__name__])[0]
            hint = "see that the folder is whole, or that the Hub can be reached and knows the name"
            raise ModelError("R0239", f"cannot load `{self.name}`: {text}", hint, fatal=True) from error
        if model.config.num_labels != 1:
            message = f"`{self.name}` has {model.config.num_labels} labels, and a reward model has one"
            raise ModelError("R0239", message, "take a model that was trained to give rewards", fatal=True)
        return tokenizer, model.to("cuda" if gpu else "cpu").eval()


def tokenized(tokenizer: Any, chat: Chat) -> Mapping[str, Any]:
    """Return a chat as tokens: in the model's chat template, or as one text if it has none."""
    if not tokenizer.chat_template:
        return dict(tokenizer(as_text(chat), return_tensors="pt"))
    try:
        return _in_template(tokenizer, chat)
    except Exception:  # some templates raise an error for a system message
        if not any(message.role == "system" for message in chat):
            raise
        return _in_template(tokenizer, without_system(chat))


def _in_template(tokenizer: Any, chat: Chat) -> Mapping[str, Any]:
    messages = [{"role": message.role, "content": message.content} for message in chat]
    return dict(tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, return_tensors="pt"))


def is_classifier(folder: Path) -> bool:
    """Return true if a folder holds a sequence classifier of transformers."""
    try:
        config = orjson.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError):
        return False
    names = config.get("architectures") if isinstance(config, dict) else None
    return any(str(name).endswith("ForSequenceClassification") for name in names or ())


def folder_name(folder: Path, path: str) -> str:
    """Return the name of the classifier in a folder, `reward/PATH@DIGEST`."""
    return f"reward/{path}@{folder_digest(folder)[:SHORT]}"


def folder_digest(folder: Path) -> str:
    """Return the digest of a folder (`digest_of`). The files are read again only after one of them has changed."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return _digest(folder, tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files))


@lru_cache(maxsize=32)
def _digest(folder: Path, files: tuple[tuple[str, int, int], ...]) -> str:
    return digest_of(folder)


def open_classifier(folder: Path, path: str, pinned: str | None) -> ClassifierReward:
    """Return the classifier in a folder; `pinned` is the required beginning of its digest. Raises `ModelError` R0237
    and R0238."""
    digest = folder_digest(folder)
    if pinned is not None and not digest.startswith(pinned):
        message = f"`{folder}` holds the reward model {digest[:SHORT]}, and {pinned} is named"
        raise ModelError("R0237", message, "name the folder alone, or copy that model again", fatal=True)
    need_libraries("this reward model")
    return ClassifierReward(folder_name(folder, path), str(folder))


def open_hub(name: str) -> ClassifierReward:
    """Return the classifier `OWNER/NAME` on the Hub, or `OWNER/NAME@REVISION`. Raises `ModelError` R0234 if the name
    has another form, and R0238."""
    owner_name, _, revision = name.partition("@")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", owner_name):
        message = f"`reward/{HUB}{name}` names no model of the Hugging Face Hub"
        raise ModelError("R0234", message, f"write `reward/{HUB}OWNER/NAME`", fatal=True)
    need_libraries("a reward model of the Hugging Face Hub")
    commit = commit_of(owner_name, revision or "main")
    return ClassifierReward(hub_name(name), owner_name, commit or revision or None)


def hub_name(name: str) -> str:
    """Return the full name of the model `OWNER/NAME` or `OWNER/NAME@REVISION` on the Hub, with its commit if that is
    known. Its rewards are kept under that name."""
    owner_name, _, revision = name.partition("@")
    commit = commit_of(owner_name, revision or "main")
    return f"reward/{HUB}{owner_name}@{commit[:SHORT]}" if commit else f"reward/{HUB}{name}"


@lru_cache(maxsize=32)
def commit_of(owner_name: str, revision: str) -> str | None:
    """Return the commit of a revision: from the cache of this machine, else from the Hub; None if neither knows it."""
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
    commits = [path.name for path in (cached / "snapshots").glob(f"{revision}*")] if len(revision) >= 7 else []
    if len(commits) == 1:
        return commits[0]
    try:
        sha: str | None = HfApi().model_info(owner_name, revision=revision, timeout=10).sha
    except Exception:  # no network or no such model: reported when it is loaded
        return None
    return sha


MANIFEST = "manifest.json"
PINNED = re.compile(r"[0-9a-f]{8,64}")
"""The beginning of a digest, as it follows the `@` of a name."""


@dataclass(frozen=True)
class RewardManifest:
    """The manifest of a folder: `kind` determines how the model is loaded, `digest` is the SHA-256 of its files
    (`digest_of`)."""

    path: Path
    kind: str
    digest: str


def read_manifest(path: Path) -> RewardManifest:
    """Return the manifest of a folder. Raises `ModelError` R0234 if there is none, or it lacks a required field."""
    hint = "`reward/PATH` names the folder of a trained reward model, or of a sequence classifier of transformers"
    try:
        content = orjson.loads((path / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        raise ModelError("R0234", f"there is no reward model in `{path}`", hint, fatal=True) from error
    except (OSError, ValueError) as error:
        raise ModelError("R0234", f"`{path / MANIFEST}` cannot be read: {error}", hint, fatal=True) from error
    kind, digest = (content.get(key) if isinstance(content, dict) else None for key in ("kind", "digest"))
    if not isinstance(kind, str) or not isinstance(digest, str):
        message = f"`{path / MANIFEST}` does not say `kind` and `digest`"
        raise ModelError("R0234", message, hint, fatal=True)
    return RewardManifest(path, kind, digest)


def pinned_name(name: str) -> str:
    """Return the name of a reward model with its digest, `reward/PATH@DIGEST`. Its rewards are kept under that name, so
    that those of another model that is later in the same folder differ. Other names, and names of unreadable folders,
    are returned unchanged.

    >>> pinned_name("mock/reward"), pinned_name("reward/no/such/folder")
    ('mock/reward', 'reward/no/such/folder')
    """
    if not name.startswith("reward/"):
        return name
    if name.startswith(f"reward/{HUB}"):
        return hub_name(name.removeprefix(f"reward/{HUB}"))
    path, pinned = _split_digest(name.removeprefix("reward/"))
    folder = Path(path).expanduser()
    if _holds_classifier(folder):
        full_name = folder_name(folder, path)
        return full_name if pinned is None or full_name.rpartition("@")[2].startswith(pinned[:SHORT]) else name
    try:
        manifest = read_manifest(folder)
    except ModelError:
        return name
    if pinned is not None and not manifest.digest.startswith(pinned):
        return name  # `open_reward` will refuse it
    return f"reward/{path}@{manifest.digest[:SHORT]}"


def _split_digest(path: str) -> tuple[str, str | None]:
    """Return the folder, and the beginning of the digest after an `@`; None if there is no digest."""
    folder, at, pinned = path.rpartition("@")
    return (folder, pinned) if at and PINNED.fullmatch(pinned) else (path, None)


def _holds_classifier(folder: Path) -> bool:
    return not (folder / MANIFEST).exists() and is_classifier(folder)


def manifest_at(path: str) -> RewardManifest:
    """Return the manifest of the folder that `FOLDER` or `FOLDER@DIGEST` names. Raises `ModelError` R0234."""
    return read_manifest(Path(_split_digest(path)[0]).expanduser())


def check_reward(path: str) -> None:
    """Raise `ModelError` R0234 if a name cannot be that of a reward model: its folder holds none. Names on the Hub are
    checked when the model is opened."""
    if not path.startswith(HUB) and not _holds_classifier(Path(_split_digest(path)[0]).expanduser()):
        manifest_at(path)


def open_reward(path: str) -> RewardModel:
    """Return a reward model, ready to score: that in a folder, `FOLDER` or `FOLDER@DIGEST` with the beginning of its
    digest, or one of the Hub, `hf:OWNER/NAME` or `hf:OWNER/NAME@REVISION`.

    Raises `ModelError` R0234 if the folder has none, R0235 if this version cannot load its kind, R0237 if its digest is
    not the given one, and R0238 if the libraries are not installed.

    >>> open_reward("no/such/folder")
    Traceback (most recent call last):
    tripos_runtime.models.base.ModelError: R0234: there is no reward model in `no/such/folder`
      help: `reward/PATH` names the folder of a trained reward model, or of a sequence classifier of transformers
    """
    if path.startswith(HUB):
        return open_hub(path.removeprefix(HUB))
    text, pinned = _split_digest(path)
    folder = Path(text).expanduser()
    if _holds_classifier(folder):
        return open_classifier(folder, text, pinned)
    manifest = manifest_at(path)
    if manifest.kind == KIND:
        return open_trained(manifest.path, manifest.digest, pinned)
    message = f"this version has no engine for reward models of the kind `{manifest.kind}`"
    hint = "serve the model and name the server: `vllm-pooling/NAME` or `tei/NAME`"
    raise ModelError("R0235", message, hint, fatal=True)
