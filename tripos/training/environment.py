"""The libraries that training needs, which come with the extra `train`."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tripos.errors import Failure
from tripos.releases.manifest import file_digest
from tripos_compiler.plan import digest
from tripos_warehouse.files import beside, write_lines

NAME, DATA = "training.json", "data.jsonl"
"""What stands beside a model in its folder: the report, and the data where they were exported for it."""
BESIDE = frozenset((NAME, DATA, beside(Path(DATA)).name))


def write_report(folder: Path, report: Mapping[str, Any]) -> Path:
    """Write the report into the model's folder, and say where. Raises `StoreError` S0604 where the disk refuses."""
    write_lines(folder / NAME, [json.dumps(report, ensure_ascii=False, indent=2).encode()])
    return folder / NAME


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a model: of a file, or of the names and bytes of all files of a folder but `BESIDE`.

    A model that was trained is named by it: the same digest is the same weights, tokenizer and template.
    """
    if path.is_file():
        return file_digest(path)
    whole = hashlib.sha256()
    for file in sorted(each for each in path.rglob("*") if each.is_file() and each.name not in BESIDE):
        whole.update(f"{file.relative_to(path).as_posix()}\0{file_digest(file)}\n".encode())
    return whole.hexdigest()


KINDS = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Device:
    """A device: `kind` is `cpu` or `cuda`, `name` what it is called, and `bf16` whether it multiplies in bfloat16, with
    the weights and their updates in 32 bits."""

    kind: str
    name: str
    bf16: bool

    @property
    def at_once(self) -> int:
        """Lines that go through the model together where nobody says it."""
        return 8 if self.kind == "cuda" else 1


def choose_device(wanted: str = "auto") -> Device:
    """Return the device of that kind; `auto` is a GPU where there is one. Raises `Failure` S0816 for one that is not
    there."""
    import torch

    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise Failure("S0816", "there is no GPU that torch can use", "`--device cpu`, or a build of torch for the GPU")
    if wanted != "cpu" and there:
        return Device("cuda", str(torch.cuda.get_device_name()), bool(torch.cuda.is_bf16_supported()))
    return Device("cpu", f"{torch.get_num_threads()} threads", False)


@dataclass(frozen=True)
class GroupSplit:
    """The places of the lines that are learned and of those that are held out, each in the order of the data; and how
    many groups each has."""

    learned: tuple[int, ...]
    held_out: tuple[int, ...]
    groups_learned: int
    groups_held_out: int


def split_by_group(groups: Sequence[str], share: float, seed: int) -> GroupSplit:
    """Hold out the `share` of the groups, of at least one where it is above 0, whose seeded digests are the smallest.

    `groups` has the group of every line. All lines of a group are on one side, so what is held out was not seen in
    another form; and a group keeps its side when others come, unless it stands at the edge. Raises `Failure` S0815
    where nothing would be left to learn.

    >>> split_by_group(["a", "a", "b", "c"], 0.3, seed=0)
    GroupSplit(learned=(2, 3), held_out=(0, 1), groups_learned=2, groups_held_out=1)
    """
    order = sorted(set(groups), key=lambda group: digest([seed, group]))
    count = max(1, round(share * len(order))) if share > 0 else 0
    if count >= len(order):
        found = f"{len(order)} item" + ("" if len(order) == 1 else "s")
        hint = "train on more items, or on all of them: `--held-out 0`"
        raise Failure("S0815", f"the data have {found}: nothing is left to learn where {count} is held out", hint)
    held = set(order[:count])
    return GroupSplit(
        tuple(place for place, group in enumerate(groups) if group not in held),
        tuple(place for place, group in enumerate(groups) if group in held),
        len(order) - count,
        count,
    )


LIBRARIES = ("torch", "transformers", "trl", "datasets", "accelerate", "peft")


def require_extra(libraries: Sequence[str] = LIBRARIES) -> None:
    """Raise `Failure` S0812, with the command that installs them, where one of `libraries` is lacking."""
    lacking = [name for name in libraries if importlib.util.find_spec(name) is None]
    if lacking:
        some = ", ".join(f"`{name}`" for name in lacking)
        raise Failure("S0812", f"training needs {some}", "pip install 'tripos[train]'")


def versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return the versions of those `libraries` that are installed."""
    found = {}
    for name in ("tripos", *libraries):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def silence_libraries() -> None:
    """Make the libraries print no bars and hints, and send nothing about their use to anybody. To be called before they
    are imported, since some look at the environment only then."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS", "TRANSFORMERS_NO_ADVISORY_WARNINGS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import datasets
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    datasets.disable_progress_bars()
