"""Sampled tasks of lm-eval, asked by Tripos and by lm-eval over rows that are made up: prompts and figures.

    python tests/bench/peers/tasks/agree.py FOLDER PYTHON [--tasks 40] [--seed 1]

FOLDER has the tasks, `lm_eval/tasks` of the environment whose Python is PYTHON. One task is drawn of each family and
kind, among those without Python: their rows need no more than the columns that templates name. Every prompt must be the
same in each character, and every figure to 1e-9 on the same replies; what differs must be told as approximate by the
report of the import. Worked examples that lm-eval draws are told so, and such a task is asked without any. It ends with
exit code 1 if a difference is not told.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.moving.agreement import Compared, compare
from tripos.importing.tasks.lm_eval import TaskData, TaskFile, read_folder, scenario_of, spec_of
from tripos.importing.tasks.lm_eval_templates import ColumnShape, PythonName

ROWS = 8
WORDS = ("word", "a longer text", "Ünïcode 文字", "two  blanks", " lead", "A", "B", "1", "[in brackets", "line\nbreak")
FUNCTIONS = ("process_docs", "doc_to_text", "doc_to_target", "doc_to_choice", "process_results", "custom_dataset")
INDEX = re.compile(r"\[([^\]]*)\]\.index\((\w+)(?:\.strip\(\))?\)")


def main() -> int:
    """Print what differs in each task, and how many agree; return 1 where a difference is not told."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("python")
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tasks = sampled(options.folder, options.seed, options.tasks, Path(folder))
        found = compare(tasks, options.python, Path(folder))
    for name, differences in found.items():
        said = "; ".join(differences)[:400] or "the same prompts, " + figures(tasks[name])
        told = "; ".join(approximations(tasks[name])) if differences else ""
        print(f"{name}: {said}" + (f"; told: {told}" if told else ""))
    same = sum(not differences for differences in found.values())
    untold = [name for name in found if found[name] and not approximations(tasks[name])]
    print(f"{same} of {len(found)} agree; {len(untold)} differ untold" + (f": {', '.join(untold)}" if untold else ""))
    return int(bool(untold))


def sampled(folder: Path, seed: int, count: int, place: Path) -> dict[str, Compared]:
    """Return tasks without a hole that are drawn by a seed, each with rows of its own below a place."""
    tasks: dict[str, Compared] = {}
    for task in drawn(folder, seed):
        compared = prepared(task, place / str(len(tasks)), seed)
        if compared is not None:
            tasks[task.name] = compared
        if len(tasks) == count:
            break
    return tasks


def approximations(compared: Compared) -> list[str]:
    """Return what the report of the import tells as approximate."""
    return [f"{each.part}: {each.why}" for each in compared.made.notes if each.how == "approximately"]


def figures(compared: Compared) -> str:
    """Return the figures of a task in a line."""
    return ", ".join(f"{name} {value:.4g}" for name, value in compared.figures.items() if value is not None)


def drawn(folder: Path, seed: int) -> Iterator[TaskFile]:
    """Yield tasks in a random order, one of each family, kind and way of examples."""
    tasks = [each for each in read_folder(folder).values() if each.kind == "task"]
    random.Random(seed).shuffle(tasks)
    seen = set()
    for task in tasks:
        family = (task.path.relative_to(folder).parts[0], task.get("output_type"), bool(task.get("num_fewshot")))
        python = any(isinstance(task.get(key), PythonName) for key in FUNCTIONS)
        if not python and family not in seen:
            seen.add(family)
            yield task


def prepared(task: TaskFile, folder: Path, seed: int = 1) -> Compared | None:
    """Return a task with rows that are made up and lie where the spec looks for them; None where it has a hole. Where
    lm-eval draws its worked examples, which the report tells, the task is asked without any."""
    own = task.get("fewshot_config", {})
    shots = 2 if own.get("sampler") == "first_n" and task.get("output_type") != "loglikelihood_rolling" else None
    data = Noting(task.config, task.name)
    if not scenario_of(task, data, shots).is_complete():
        return None
    dice = random.Random(f"{seed} {task.name}")
    rows = {}
    for place, (split, columns, source) in enumerate(data.splits):
        some = [made_up(columns.shapes, number, dice) for number in range(place * ROWS, (place + 1) * ROWS)]
        for row in some:
            aim(row, str(task.get("doc_to_target")), dice)
        rows[split] = some
        path = folder / (f"hf/{source.removeprefix('hf://')}" if "://" in source else source)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(some), path)
        else:
            path.write_text("".join(json.dumps(each) + "\n" for each in some), "utf-8")
    made = spec_of(task, (folder,), shots=shots)
    if " drawn by " in made.text:
        assert any((each.part, each.how) == ("worked examples", "approximately") for each in made.notes), task.name
        made, shots = spec_of(task, (folder,), shots=0), 0
    return Compared(task, made, folder, rows, shots) if made.is_complete else None


class Noting(TaskData):
    """The data of a task, which notes the splits that are looked for."""

    @property
    def splits(self) -> list[tuple[str, Any, str]]:
        """Return name, columns and source of each."""
        return list(self.__dict__.get("found", ()))

    def _split(self, split: str) -> Any:
        found = super()._split(split)
        self.__dict__.setdefault("found", []).append((found.name, found.columns, found.source))
        return found


def made_up(shapes: Mapping[str, ColumnShape], number: int, dice: random.Random) -> dict[str, Any]:
    """Return a row with the columns that a task names, unlike any other."""
    return {name: value(shape, name, number, dice) for name, shape in shapes.items()}


def value(shape: ColumnShape, name: str, number: int, dice: random.Random) -> Any:
    """Return a value of a shape."""
    match shape.kind:
        case "integer":
            return dice.randrange(2)
        case "number":
            return dice.random()
        case "bool":
            return dice.random() < 0.5
        case "list":
            inner = shape.item or ColumnShape("text")
            return [value(inner, f"{name}{place}", number, dice) for place in range(5)]
        case "record":
            return {key: value(each, key, number, dice) for key, each in shape.fields.items()}
    return f"{dice.choice(WORDS)} {number}{name[:3]}"


def aim(row: dict[str, Any], target: str, dice: random.Random) -> None:
    """Let the text that a target looks for be one of those among which it does."""
    named = INDEX.search(target)
    if named is not None:
        row[named[2]] = dice.choice(ast.literal_eval(f"[{named[1]}]"))
    among = re.search(r"([\w.]+)\.index\((\w+)(\.l?strip\(\))?(\[0\])?\)", target)
    if among is not None and not among[1].startswith("."):
        found: Any = row
        for part in among[1].split("."):
            found = found[part]
        if among[3]:  # of a text without its blanks
            found = [each for each in found if each == each.strip()] or [found[0].strip()]
        row[among[2]] = [dice.choice(found)] if among[4] else dice.choice(found)


if __name__ == "__main__":
    sys.exit(main())
