"""Program that writes the rows of a task of lm-eval, with the value of each field for every row.

It runs in a process of the environment with lm-eval and imports nothing of Tripos. It reads its request as JSON from
standard input, and executes the Python of the task.
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
    """Write the requested files."""
    asked = json.load(sys.stdin)
    task = _task(asked)
    folder = Path(asked["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / f"{asked['name']}.tested.jsonl", task, task.eval_docs, None)
    if asked["shots"]:
        _write(folder / f"{asked['name']}.shots.jsonl", task, task.fewshot_docs(), task.fewshot_cfg)


def _task(asked: dict[str, Any]) -> Any:
    """Return the task as lm-eval builds it from its file and from a group's overrides."""
    made = import_module("lm_eval.api.task").ConfigurableTask
    try:
        config = import_module("lm_eval.tasks._yaml_loader").load_yaml(asked["path"], resolve_func=True)
    except ImportError:  # earlier versions of lm-eval
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
    """Return the values of a task's fields for a row. Worked examples use their own fields."""
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
    """Return a value in JSON's types. Values without one, such as images, become None."""
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
