"""The environment of training: libraries of the extra `train`, devices, reports, and the split of held-out items."""

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

from tripos.releases.manifest import file_digest
from tripos.settings.option import Option
from tripos.settings.options import DEVICE, TrainSftParameters
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import digest
from tripos_warehouse.files import provenance_path, write_lines

REPORT_FILE, DATA = "training.json", "data.jsonl"
"""Names of the report and the exported data in the folder of a model."""
NOT_MODEL_FILES = frozenset((REPORT_FILE, DATA, provenance_path(Path(DATA)).name))


def write_report(folder: Path, report: Mapping[str, Any]) -> Path:
    """Write the report into the model's folder, and return its path. Raises `StoreError` S0604 if it cannot be
    written.
    """
    write_lines(folder / REPORT_FILE, [json.dumps(report, ensure_ascii=False, indent=2).encode()])
    return folder / REPORT_FILE


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a model: of a file, or of the names and bytes of all files of a folder except
    `NOT_MODEL_FILES`.

    A trained model is named by it: the same digest means the same weights, tokenizer and template.
    """
    if path.is_file():
        return file_digest(path)
    whole = hashlib.sha256()
    for file in sorted(each for each in path.rglob("*") if each.is_file() and each.name not in NOT_MODEL_FILES):
        whole.update(f"{file.relative_to(path).as_posix()}\0{file_digest(file)}\n".encode())
    return whole.hexdigest()


KINDS = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Device:
    """A device. `kind` is `cpu` or `cuda`, and `name` the name of the hardware. With `bf16` it multiplies in bfloat16,
    with weights and updates in 32 bits."""

    kind: str
    name: str
    bf16: bool

    @property
    def at_once(self) -> int:
        """Default number of lines in a forward pass."""
        return 8 if self.kind == "cuda" else 1


def choose_device(wanted: str = "auto") -> Device:
    """Return the device of a kind; `auto` prefers a GPU. Raises `TriposError` S0816 if it is not available."""
    import torch

    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise TriposError(
            "S0816", "there is no GPU that torch can use", f"`{DEVICE} cpu`, or a build of torch for the GPU"
        )
    if wanted != "cpu" and there:
        return Device("cuda", str(torch.cuda.get_device_name()), bool(torch.cuda.is_bf16_supported()))
    return Device("cpu", f"{torch.get_num_threads()} threads", False)


@dataclass(frozen=True)
class GroupSplit:
    """The indices of the lines to learn and to hold out, in the order of the data, and the numbers of their groups."""

    learned: tuple[int, ...]
    held_out: tuple[int, ...]
    groups_learned: int
    groups_held_out: int


def split_by_group(groups: Sequence[str], share: float, seed: int) -> GroupSplit:
    """Hold out a `share` of the groups, at least one if it is above 0: those with the smallest seeded digests. `groups`
    has the group of every line. All lines of a group are on one side, so that nothing held out was learned in another
    form. A group keeps its side when others are added, unless it is at the boundary. Raises `TriposError` S0815 if
    nothing is left to learn.

    >>> split_by_group(["a", "a", "b", "c"], 0.3, seed=0)
    GroupSplit(learned=(2, 3), held_out=(0, 1), groups_learned=2, groups_held_out=1)
    """
    order = sorted(set(groups), key=lambda group: digest([seed, group]))
    count = max(1, round(share * len(order))) if share > 0 else 0
    if count >= len(order):
        found = f"{len(order)} item" + ("" if len(order) == 1 else "s")
        hint = f"train on more items, or on all of them: `{TrainSftParameters.held_out} 0`"
        raise TriposError("S0815", f"the data have {found}: nothing is left to learn where {count} is held out", hint)
    held = set(order[:count])
    return GroupSplit(
        tuple(place for place, group in enumerate(groups) if group not in held),
        tuple(place for place, group in enumerate(groups) if group in held),
        len(order) - count,
        count,
    )


LIBRARIES = ("torch", "transformers", "trl", "datasets", "accelerate", "peft")


def require_extra(libraries: Sequence[str] = LIBRARIES) -> None:
    """Raise `TriposError` S0812 if one of `libraries` is missing; its hint is the command that installs them."""
    lacking = [name for name in libraries if importlib.util.find_spec(name) is None]
    if lacking:
        some = ", ".join(f"`{name}`" for name in lacking)
        raise TriposError("S0812", f"training needs {some}", "pip install 'tripos[train]'")


def versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return the versions of the installed `libraries`."""
    found = {}
    for name in ("tripos", *libraries):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def silence_libraries() -> None:
    """Disable progress bars, hints and telemetry of the libraries. Must be called before they are imported, since some
    read the environment only then."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS", "TRANSFORMERS_NO_ADVISORY_WARNINGS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import datasets
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    datasets.disable_progress_bars()


def diverged(learning_rate: Option[Any]) -> TriposError:
    """Return the error of a training whose loss is not a number."""
    message = "the loss is not a number any more: nothing was written"
    return TriposError("S0817", message, f"take a lower `{learning_rate}`", ExitCode.SOME_FAILED)


def changed_after_export(code: str, path: Path) -> TriposError:
    """Return the error of training data that are not those of their provenance."""
    hint = "export again; or, if the change was intended, delete the provenance"
    return TriposError(code, f"`{path}` was changed after `{provenance_path(path).name}` was written", hint)
