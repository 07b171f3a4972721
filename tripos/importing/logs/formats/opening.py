"""Finds the logs at a path: a file, or a folder with logs in it, of whichever format."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from pathlib import Path

from tripos.importing.logs.entries import Log
from tripos.importing.logs.formats.every_eval_ever_logs import (
    SAMPLES as EEE_SAMPLES,
    is_every_eval_ever,
    open_every_eval_ever,
)
from tripos.importing.logs.formats.helm_logs import BESIDE, RUN_SPEC, STATE, open_helm
from tripos.importing.logs.formats.inspect_logs import is_inspect, open_eval, open_json
from tripos.importing.logs.formats.lm_eval_logs import RESULTS, SAMPLES, is_lm_eval, open_results
from tripos.importing.logs.formats.openai_evals_logs import is_openai_evals, open_openai_evals
from tripos.importing.logs.formats.promptfoo_logs import is_promptfoo, open_promptfoo
from tripos.importing.logs.untrusted import read_json_file, read_lines
from tripos.settings import MOST_DATA_BYTES

SUFFIXES = (".eval", ".json", ".jsonl")


def find_logs(path: Path) -> Iterator[Path]:
    """Yield the files that may be logs: the path itself, or those below a folder. Raises `OSError` where there is
    none."""
    if path.is_dir():
        yield from sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file())
    elif not path.is_file() and path.exists():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    else:
        path.stat()
        yield path


def open_logs(path: Path) -> list[Log] | None:
    """Return the logs of a file, none for one that is read with another; None where it is no log that is known. Raises
    `OSError` and `ValueError` where it cannot be read."""
    if path.suffix == ".eval":
        return [open_eval(path)]
    if path.suffix == ".jsonl":
        if _is_beside(path):
            return []
        first = next(read_lines(path), (None, None))[0]
        return open_openai_evals(path) if is_openai_evals(first) else None
    if path.name == RUN_SPEC:
        return open_helm(path)
    if path.name in BESIDE and path.with_name(RUN_SPEC).is_file():
        return []
    value = read_json_file(path, MOST_DATA_BYTES)
    if is_inspect(value):
        return [open_json(path, value)]
    return next((opened(path, value) for is_one, opened in JSON_LOGS if is_one(value)), None)


JSON_LOGS = (
    (is_lm_eval, open_results),
    (is_promptfoo, open_promptfoo),
    (is_every_eval_ever, open_every_eval_ever),
)
"""The formats of one JSON value: whether it is one, and its logs."""


def _is_beside(path: Path) -> bool:
    """Return true if the samples of a file are read with the file of results beside it."""
    if path.name.startswith(SAMPLES) and _results_of(path):
        return True
    return path.name.endswith(EEE_SAMPLES) and path.with_name(path.name.removesuffix(EEE_SAMPLES) + ".json").is_file()


def _results_of(samples: Path) -> bool:
    """Return true if the file of results is beside one of samples: it ends in the same time."""
    times = (each.stem.removeprefix(RESULTS) for each in samples.parent.glob(f"{RESULTS}*.json"))
    return any(samples.stem.endswith(time) for time in times)


def source_of(log: Log) -> str:
    """Return a log as a column of the store says it: the name of its file, and the beginning of its SHA-256."""
    path = Path(log.path)
    if path.is_dir():
        path /= STATE
    with path.open("rb") as file:
        return f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"
