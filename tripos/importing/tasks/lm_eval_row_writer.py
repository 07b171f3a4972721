"""A program that writes the rows of a task, with what each of its fields gives for every row.

It runs in the environment of lm-eval, in a process of its own, and imports nothing of Tripos: it is given JSON on
standard input. It executes the Python of the task.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any

FIELDS = ("doc_to_text", "doc_to_choice", "doc_to_target", "gen_prefix", "description")


def main() -> None:
    """Write the files that are asked for."""
    asked = json.load(sys.stdin)
    task = _task(asked)
    folder = Path(asked["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / f"{asked['name']}.tested.jsonl", task, task.eval_docs, None)
    if asked["shots"]:
        _write(folder / f"{asked['name']}.shots.jsonl", task, task.fewshot_docs(), task.fewshot_cfg)


def _task(asked: dict[str, Any]) -> Any:
    """Return the task, as lm-eval makes it of its file and of what a group says of it."""
    made = import_module("lm_eval.api.task").ConfigurableTask
    try:
        config = import_module("lm_eval.tasks._yaml_loader").load_yaml(asked["path"], resolve_func=True)
    except ImportError:  # of earlier versions
        config = import_module("lm_eval.utils").load_yaml_config(asked["path"], mode="full")
    config = {**config, **asked["changes"]}
    for key in ("tag", "group", "task_list", "group_alias"):
        config.pop(key, None)
    if "class" in config:
        raise SystemExit("the task is a class in Python, and no configuration")
    return made(config=config)


def _write(path: Path, task: Any, docs: Iterable[dict[str, Any]], own: Any) -> None:
    with path.with_suffix(".part").open("w", encoding="utf-8") as file:
        for number, doc in enumerate(docs):
            row = {"_row": number, **_made(task, doc, own), **dict(doc)}
            file.write(json.dumps(_plain(row), ensure_ascii=False, allow_nan=False) + "\n")
    path.with_suffix(".part").replace(path)


def _made(task: Any, doc: dict[str, Any], own: Any) -> dict[str, Any]:
    """Return what the fields of a task give for a row; of worked examples, what their own fields give."""
    made: dict[str, Any] = {}
    for name in FIELDS:
        given = getattr(own, name, None) if own is not None else None
        if given is None:
            given = getattr(task.config, name, None)
        if given is None or given == "":
            continue
        if name in ("gen_prefix", "description"):
            made[f"_{name}"] = task.resolve_field(doc, given)
        else:
            made[f"_{name}"] = getattr(task, name)(doc, given)
    return made


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what it cannot say, such as an image, is left out."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value) if hasattr(value, "isoformat") else None


if __name__ == "__main__":
    main()
