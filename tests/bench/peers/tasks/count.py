"""How many tasks of lm-eval `tripos import task` translates wholly, into specs that check, and why not the others.

    python tests/bench/peers/tasks/count.py FOLDER [--run-python] [--most N]

FOLDER has the tasks, `lm_eval/tasks` of an installed lm-eval. Nothing is fetched and nothing of a task is executed: a
task is counted if its spec has no hole and compiles over rows that are made up with the columns that the import took
from its templates. With `--run-python` the rows of tasks with Python are taken to be written, as that option writes
them. Specs that differ in names and sources alone are compiled once.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tripos.importing.spec_text import ImportedTask
from tripos.importing.tasks.lm_eval import TaskFile, WrittenRows, read_folder, spec_of
from tripos.runs.compilation import find_spec

sys.setrecursionlimit(10_000)
DATASET = re.compile(r'^dataset (\w+) from "([^"]+)" \{\n(.*?)^\}', re.DOTALL | re.MULTILINE)
FIELD = re.compile(r'(\w+)\s+(.*?)( secret)?\s*( from "(.*)")?')
MOST_ITEMS = 11
MOST_REASONS = 40


def main() -> None:
    """Print the count, and the reasons against the others by frequency."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run-python", action="store_true")
    parser.add_argument("--most", type=int, default=10**9)
    options = parser.parse_args()
    began = time.time()
    tasks = [each for each in read_folder(options.folder).values() if each.kind != "group"][: options.most]
    families: dict[tuple[str, ...], list[str]] = defaultdict(list)
    reasons: Counter[str] = Counter()
    for task in tasks:
        made = spec_of(task, rows=written(task) if options.run_python else None)
        lacking = [each for each in made.notes if each.how == "not"]
        if lacking:
            reasons[f"{lacking[0].part}: {re.sub('`[^`]*`', '…', lacking[0].why)}"] += 1
        else:
            families[family(made)].append(task.name)
    whole = sum(map(len, families.values()))
    good = 0
    for (text, *files), names in families.items():
        said = mistake(text, files)
        if said is None:
            good += len(names)
        else:
            reasons[f"the spec does not check: {said}"] += len(names)
    print(f"{len(tasks):,} tasks; {whole:,} without a hole, in {len(families):,} families; {good:,} check:", end=" ")
    print(f"{good / len(tasks):.1%}, in {time.time() - began:.0f} s")
    for reason, count in reasons.most_common(MOST_REASONS):
        print(f"{count:>6} {reason[:160]}")


def written(task: TaskFile) -> WrittenRows:
    """Return the files that `--run-python` would write; they are not there."""
    return WrittenRows({which: Path(f"{task.name}.{which}.jsonl") for which in ("tested", "shots")})


def family(made: ImportedTask) -> tuple[str, ...]:
    """Return a spec without the names of its task and of its sources, and the files beside it."""
    text = re.sub(r"^#.*\n", "", made.text.replace(made.name, "TASK"), flags=re.MULTILINE)
    text = re.sub(r'benchmark TASK "[^"]*"', 'benchmark TASK "1.0.0"', re.sub(r"title .*", 'title "T"', text))
    for number, source in enumerate(dict.fromkeys(each[2] for each in DATASET.finditer(text))):
        text = text.replace(f'"{source}"', f'"data{number}.jsonl"')
    return (text, *(part for pair in sorted(made.files.items()) for part in pair))


def mistake(text: str, files: list[str]) -> str | None:
    """Return the first mistake of a spec over rows that are made up; None where it has none."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "task.tripos"
        spec.write_text(text, "utf-8")
        for name, content in zip(files[::2], files[1::2], strict=True):
            (Path(folder) / name).write_text(content, "utf-8")
        for source, rows in made_up(text):
            (Path(folder) / source).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        errors = [each for each in find_spec(str(spec)).compile().diagnostics if each.severity == "error"]
    return re.sub("`[^`]*`", "…", f"{errors[0].code} {errors[0].message}") if errors else None


def made_up(text: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield two rows for each source of a spec, with values of the types that it declares."""
    for place, found in enumerate(DATASET.finditer(text)):
        fields = [FIELD.fullmatch(line.strip()) for line in found[3].splitlines()]
        known = [each for each in fields if each is not None]
        numbers = (2 * place, 2 * place + 1)
        yield (
            found[2],
            [{each[5] or each[1]: value(each[2], each[1], n) for each in known} or {"x": n} for n in numbers],
        )


def value(kind: str, name: str, number: int) -> Any:
    """Return a value of a type."""
    kind = kind.strip().removesuffix("?")
    if kind.startswith("list<"):
        return [value(kind[5:-1], f"{name} {item}", number + item) for item in range(MOST_ITEMS)]
    if kind.startswith("{"):
        return {part.split(" ", 1)[0]: value(part.split(" ", 1)[1], name, number) for part in parts(kind[1:-1])}
    known: dict[str, Any] = {"integer": number, "number": number + 0.5, "bool": number % 2 == 0, "json": {"a": number}}
    return known.get(kind, f"{name} {number}")


def parts(text: str) -> Iterator[str]:
    """Yield the fields of a record, as they are written."""
    depth, found = 0, ""
    for character in f"{text},":
        depth += (character in "<{") - (character in ">}")
        if character == "," and depth == 0:
            yield found.strip()
            found = ""
        else:
            found += character


if __name__ == "__main__":
    main()
