"""Discovery of logs of any known format in a file or folder."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

from tripos.importing.logs.every_eval_ever import SAMPLES as EEE_SAMPLES, is_every_eval_ever, open_every_eval_ever
from tripos.importing.logs.helm import RUN_FILES, RUN_SPEC, STATE, open_helm
from tripos.importing.logs.inspect import is_inspect, open_eval, open_json
from tripos.importing.logs.lm_eval import RESULTS, SAMPLES, is_lm_eval, open_results
from tripos.importing.logs.log import Log
from tripos.importing.logs.openai_evals import is_openai_evals, open_openai_evals
from tripos.importing.logs.promptfoo import is_promptfoo, open_promptfoo
from tripos.source_files import SourceFile, SourceFolder
from tripos_runtime.datasets.trust import TRUSTED, Trust

SUFFIXES = (".eval", ".json", ".jsonl")


def find_logs(path: Path, trust: Trust = TRUSTED, *, outside: bool = False) -> Iterator[SourceFile]:
    """Yield the files that may be logs: the path itself, or all files below a folder. Links out of the folder are
    followed only if `outside` is true. Raises `OSError` if there is no such path."""
    folder = SourceFolder.around(path, trust, outside=outside)
    if path.is_dir():
        yield from (file for file in folder.files("**/*") if file.path.suffix in SUFFIXES)
    elif not path.is_file() and path.exists():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    else:
        path.stat()
        yield folder.file(path)


def open_logs(file: SourceFile) -> list[Log] | None:
    """Return the logs of a file: an empty list if they are read together with another file, and None if the format is
    unknown. Raises `OSError` and `ValueError` if the file cannot be read."""
    path = file.path
    if path.suffix == ".eval":
        return [open_eval(file)]
    if path.suffix == ".jsonl":
        if _is_read_with_results(file):
            return []
        first = next(file.json_lines(), (None, None))[0]
        return open_openai_evals(file) if is_openai_evals(first) else None
    if path.name == RUN_SPEC:
        return open_helm(file)
    if path.name in RUN_FILES and file.sibling(RUN_SPEC).is_there:
        return []
    value = file.json()
    if is_inspect(value):
        return [open_json(file, value)]
    return next((opened(file, value) for is_one, opened in JSON_LOGS if is_one(value)), None)


JSON_LOGS = (
    (is_lm_eval, open_results),
    (is_promptfoo, open_promptfoo),
    (is_every_eval_ever, open_every_eval_ever),
)
"""Formats that are a single JSON value: a test, and a function that opens the logs."""


def _is_read_with_results(file: SourceFile) -> bool:
    """Return true if the samples of a file are read with its file of results."""
    name = file.path.name
    if name.startswith(SAMPLES) and _results_of(file.path):
        return True
    return name.endswith(EEE_SAMPLES) and file.sibling(name.removesuffix(EEE_SAMPLES) + ".json").is_there


def _results_of(samples: Path) -> bool:
    """Return true if the folder has the results for these samples: both names end in the same time."""
    times = (path.stem.removeprefix(RESULTS) for path in samples.parent.glob(f"{RESULTS}*.json"))
    return any(samples.stem.endswith(time) for time in times)


def source_of(file: SourceFile) -> str:
    """Return the name of a log's file and the first 12 digits of its SHA-256, as the store records them."""
    source_file = file.sibling(STATE) if file.path.name == RUN_SPEC else file
    return f"{source_file.path.name} {source_file.sha256()[:12]}"
