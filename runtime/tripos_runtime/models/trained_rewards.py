"""Reward models in the form of transformers: sequence classifiers with one label, in a folder or on the Hugging Face
Hub. A model with a chat template is given the chat as messages, the system message among them; another one a text.

Texts go through one by one, so that a reward does not depend on what it was batched with.

Reward models on this machine: a folder with a manifest, which Tripos trained; a folder with a sequence classifier
of transformers; or the name of such a one on the Hugging Face Hub. All are named by the digest of their weights.

`open_reward` is the one place where such a name becomes a model. What loads weights comes in there, and nothing else
of the runtime has to change.

The network of a trained reward model: an encoder or a causal model of transformers, what is taken of its layers, and
a linear head. Training and scoring go through the same code, so a text gets the number that it was trained to.

What is scored is the reply: the tokens before it are read along, `context` of them, and the rest is left out.

A reward model that `tripos train reward` made, on this machine: an encoder, in a thread of its own.
"""

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
"""Beside the manifest: the folder of the base model, and the weights of the head."""
AT_ONCE = 32
MOST_PACKED = 500_000_000
"""Larger models are not packed, for their weights are in memory twice then."""
DIGITS = 4

Pool = Literal["layers", "mean", "last"]


@dataclass(frozen=True)
class Shape:
    """The shape of the network that makes numbers of texts. `pool` says what the head sees: the means of a reply's
    tokens in every layer, in the last one, or the last token of the last layer. `marker` is what stands before a reply
    in a text that is scored, `context` how many tokens before the reply are read, `most` how many of the reply at
    most."""

    pool: Pool = "layers"
    marker: str = "Teacher:"
    context: int = 0
    most: int = 256

    def to_json(self) -> dict[str, Any]:
        """Return the shape as JSON values."""
        return asdict(self)


def parted(text: str, marker: str) -> tuple[str, str]:
    """Return what comes before the reply, and the reply: what follows the last `marker` that begins a line. A text
    without one is all reply.

    >>> parted("Student: 4?\\nTeacher: Why 4?", "Teacher:")
    ('Student: 4?', 'Why 4?')
    >>> parted("Why 4?", "Teacher:")
    ('', 'Why 4?')
    """
    before, found, reply = ("\n" + text).rpartition("\n" + marker)
    return (before.strip(), reply.strip()) if found else ("", text.strip())


@dataclass
class RewardNetwork:
    """A base model with its tokenizer and a head. `head` maps features to one number: `weight` of shape `[features]`
    and a `mean` and `scale` of that shape, by which features are brought to one size first. With a `bias` of shape
    `[criteria]` it is classifiers, of `weight` `[features, criteria]`, and the number is the sum of their chances."""

    model: Any
    tokenizer: Any
    shape: Shape
    head: Any = None

    def ids(self, before: str, reply: str) -> tuple[list[int], int]:
        """Return the tokens of a reply and what comes before it, and how many of them are before the reply."""
        tokenizer, shape = self.tokenizer, self.shape
        tail = tokenizer(before, add_special_tokens=False)["input_ids"][-shape.context :] if shape.context else []
        said = tokenizer(reply, add_special_tokens=False)["input_ids"][: shape.most]
        first = [tokenizer.cls_token_id] if tokenizer.cls_token_id is not None else []
        last = [tokenizer.sep_token_id] if tokenizer.sep_token_id is not None else [tokenizer.eos_token_id]
        given = [*first, *tail, *(last if tail and tokenizer.sep_token_id is not None else [])]
        return [*given, *said, *last], len(given)

    def pooled(self, rows: Sequence[tuple[list[int], int]]) -> Any:
        """Return the features of token rows, of shape `[rows, features]`, in 32 bits; gradients flow where they are
        on."""
        import torch

        device = next(self.model.parameters()).device
        longest = max(len(ids) for ids, _ in rows)
        pad = self.tokenizer.pad_token_id or 0
        inputs = torch.full((len(rows), longest), pad, dtype=torch.long)
        mask = torch.zeros((len(rows), longest))
        said = torch.zeros((len(rows), longest))
        for row, (ids, given) in enumerate(rows):
            inputs[row, : len(ids)] = torch.tensor(ids)
            mask[row, : len(ids)] = 1
            said[row, (given if len(ids) > given else 0) : len(ids)] = 1
        layers = self.shape.pool == "layers"
        found = self.model(input_ids=inputs.to(device), attention_mask=mask.to(device), output_hidden_states=layers)
        weights = (said / said.sum(1, keepdim=True)).to(device)[..., None]
        if layers:
            return torch.cat([(each.float() * weights).sum(1) for each in found.hidden_states], 1)
        last = found.last_hidden_state.float()
        if self.shape.pool == "mean":
            return (last * weights).sum(1)
        ends = torch.tensor([len(ids) - 1 for ids, _ in rows], device=device)
        return last[torch.arange(len(rows), device=device), ends]

    def features(self, texts: Sequence[tuple[str, str]], at_once: int = AT_ONCE) -> Any:
        """Return the features of replies with what comes before them, each given once, of shape `[texts, features]`, on
        the CPU. Texts of like length go through together."""
        import torch

        rows = [self.ids(before, reply) for before, reply in texts]
        found: list[Any] = [None] * len(rows)
        self.model.eval()
        with torch.inference_mode():
            for batch in by_length([len(ids) for ids, _ in rows], at_once):
                for place, feature in zip(batch, self.pooled([rows[each] for each in batch]).cpu(), strict=True):
                    found[place] = feature
        return torch.stack(found)

    def rewards(self, texts: Sequence[tuple[str, str]], at_once: int = AT_ONCE) -> list[float]:
        """Return the rewards of replies with what comes before them, in their order.

        They are rounded to what 32 bits can tell: the same text in another batch must tie with itself, and not win by
        the order in which sums were taken.
        """
        if not texts:
            return []
        values = ((self.features(texts, at_once) - self.head["mean"]) / self.head["scale"]) @ self.head["weight"]
        if "bias" in self.head:
            values = (values + self.head["bias"]).sigmoid().sum(1)
        return [round(float(value), DIGITS) for value in values]


def by_length(lengths: Sequence[int], at_once: int) -> Iterator[list[int]]:
    """Yield places in batches of neighbours in length, so that little is computed on padding.

    >>> list(by_length([5, 1, 4, 2], 2))
    [[1, 3], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    for start in range(0, len(order), at_once):
        yield order[start : start + at_once]


def load_base(where: str, shape: Shape) -> RewardNetwork:
    """Return a base model of transformers without its own head, in 32 bits, on the CPU. Raises what transformers
    raises."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    local = Path(where).exists()
    tokenizer = AutoTokenizer.from_pretrained(where, local_files_only=local)
    model = AutoModel.from_pretrained(where, dtype=torch.float32, local_files_only=local)
    model.eval()
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return RewardNetwork(model, tokenizer, shape)


def packed(network: RewardNetwork) -> RewardNetwork:
    """Return the same network for a processor, with the weights of its linear layers laid out as oneDNN wants them,
    which gives the same rewards in two thirds of the time. The network itself where it cannot be packed."""
    import torch

    weights = sum(each.numel() for each in network.model.parameters())
    if not torch.backends.mkldnn.is_available() or weights > MOST_PACKED:
        return network
    trial = [("", "What did you do first?"), ("", "No. It is 12.")]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # already on import
            from torch.utils.mkldnn import to_mkldnn

            other = replace(network, model=to_mkldnn(copy.deepcopy(network.model)))
            same = torch.allclose(network.features(trial), other.features(trial), rtol=1e-3, atol=1e-4)
    except Exception:  # a layer that looks into its weights takes no packed ones
        return network
    return other if same else network


def write_network(network: RewardNetwork, folder: Path) -> None:
    """Write base, tokenizer and head. Raises `OSError`."""
    from safetensors.torch import save_file

    network.model.save_pretrained(folder / BASE)
    network.tokenizer.save_pretrained(folder / BASE)
    save_file({name: each.contiguous() for name, each in network.head.items()}, folder / HEAD)
    for file in folder.rglob("*.safetensors"):  # which are written for their owner only
        file.chmod(0o644)


def read_network(folder: Path) -> RewardNetwork:
    """Return the network that `write_network` wrote, of the shape in its manifest. Raises `OSError`, `ValueError` and
    what transformers raises."""
    from safetensors.torch import load_file

    said = orjson.loads((folder / "manifest.json").read_bytes())
    network = load_base(str(folder / BASE), Shape(**said["shape"]))
    network.head = load_file(folder / HEAD)
    return network


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


HUB = "hf:"
CONFIG = "config.json"
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


MANIFEST = "manifest.json"
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
