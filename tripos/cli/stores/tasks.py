"""`tripos import task`: a task of lm-eval, Inspect or promptfoo as a spec, and what was translated."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.settings import SourceFolder, check_given, trust_of
from tripos.ui import (
    GOOD,
    SOME_FAILED,
    Failure,
    columns_of,
    print_json,
    show_message,
    show_text,
    table_lines,
)

if TYPE_CHECKING:
    from tripos.importing.tasks import ImportedTask
    from tripos.importing.tasks.lm_eval import TaskFile

CODE = "R0246"


def main(options: Namespace) -> int:
    """Write the spec and the files beside it; exit code 1 where a part is left as a hole."""
    from tripos.importing.tasks import is_promptfoo, name_of, promptfoo_spec

    if options.python is not None and not options.run_python:
        raise Failure("R0202", "`--python` says what runs the Python of a task", "add `--run-python`")
    path = Path(options.file)
    trust = trust_of(options)
    check_given(trust, outside=options.allow_outside)
    given = tuple(Path(each) for each in options.data)
    source = SourceFolder.around(path, trust, outside=options.allow_outside, folders=given)
    if path.suffix == ".py":
        made = _of_inspect(path, options)
        folder, name = Path(options.output or made.name), made.name
    elif path.suffix in (".yaml", ".yml") and is_promptfoo(path, source):
        made = promptfoo_spec(path, options.language, source)
        folder, name = Path(options.output or made.name), made.name
    else:
        if options.argument:
            raise Failure("R0202", "`--argument` is for a task of Inspect", "leave it out")
        task, others = _task(path, options.task, source)
        folder, name = Path(options.output or name_of(task.name)), task.name
        made = _made(task, others, folder, options)
    _write(folder, made, replace=options.replace)
    told = {
        "task": name,
        "spec": (folder / f"{made.name}.tripos").as_posix(),
        "whole": made.whole,
        "parts": [{"part": each.part, "translated": each.how, "why": each.why} for each in made.notes],
    }
    if options.json:
        print_json(told)
    else:
        _show(made, str(told["spec"]))
    return GOOD if made.whole else SOME_FAILED


def _made(task: TaskFile, others: Mapping[str, TaskFile], folder: Path, options: Namespace) -> ImportedTask:
    """Return a task or a group as a spec, once its Python was run where that is asked for."""
    from tripos.importing.tasks.lm_eval import WrittenRows, group_of, spec_of, spec_of_group, write_rows

    folders = (task.path.parent, Path.cwd(), *(Path(each) for each in options.data))
    if options.run_python:
        _check_trust(options)
    if task.kind != "group":
        rows = write_rows(task, folder, options.python, options.shots) if options.run_python else WrittenRows()
        return spec_of(task, folders, rows, options.shots, options.language)
    group = group_of(task, others)
    written = {}
    if options.run_python:
        written = {each.name: write_rows(each, folder, options.python, options.shots) for each in group.leaves()}
    return spec_of_group(group, task, folders, written, options.shots, options.language)


def _of_inspect(path: Path, options: Namespace) -> ImportedTask:
    """Return a task of Inspect as a spec; its module is executed, which the user has to ask for."""
    from tripos.importing.tasks.inspect import inspect_spec, read_inspect_task

    if not options.run_python:
        hint = "read it, then add `--run-python`"
        raise Failure(CODE, f"`{path}` is a program, and only running it tells what the task is", hint)
    if options.shots is not None:
        raise Failure("R0202", "`--shots` is for a task of the Harness", "leave it out")
    _check_trust(options)
    arguments = {}
    for each in options.argument:
        name, equals, value = each.partition("=")
        if not equals:
            raise Failure("R0202", f"`--argument {each}` has no value", "write it as NAME=VALUE")
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    told = read_inspect_task(path, options.task, Path(options.python or sys.executable), arguments)
    return inspect_spec(told, path.name, options.language)


def _check_trust(options: Namespace) -> None:
    from tripos_runtime.datasets import TrustError

    try:
        trust_of(options).check("the Python of a task", "import it without `--run-python`")
    except TrustError as error:
        raise Failure(error.code, error.message, error.hint) from error


def _task(path: Path, name: str | None, source: SourceFolder) -> tuple[TaskFile, Mapping[str, TaskFile]]:
    """Return the task that is meant, and those among which the members of a group are looked up."""
    from tripos.importing.tasks.lm_eval import read_folder, read_task, tagged

    if not path.is_dir():
        if name is not None:
            raise Failure("R0202", "`--task` chooses a task of a folder, and a file is given", "leave one of them out")
        task = read_task(path, source)
        return task, read_folder(path.parent, source) if task.kind == "group" else {}
    if name is None:
        raise Failure("R0202", f"`{path}` is a folder", "name the task: `--task NAME`")
    found = read_folder(path, source)
    if name in found:
        return found[name], found
    some = tagged(found, name)
    if some:
        config = {"group": name, "task": [each.name for each in some]}
        return replace(some[0], name=name, kind="group", config=config), found
    from tripos_compiler.diagnostics import nearest

    close = nearest(name, found)
    hint = f"did you mean `{close}`?" if close else "give the folder that has it"
    raise Failure(CODE, f"no task `{name}` in `{path}`", hint)


def _write(folder: Path, made: ImportedTask, *, replace: bool) -> None:
    from tripos_compiler.editing import Unparsable, format_text

    try:
        text = format_text(made.text, f"{made.name}.tripos")
    except Unparsable:
        text = made.text
    files = {f"{made.name}.tripos": text, **made.files}
    try:
        there = sorted(name for name in (*files, *made.copies) if (folder / name).exists())
        if there and not replace:
            raise Failure("R0208", f"`{folder}` has {', '.join(there)} already", "use `--replace`, or another `-o DIR`")
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, "utf-8")
        for name, file in made.copies.items():
            file.copy(folder / name)
    except OSError as error:
        raise Failure("R0208", f"cannot write in `{folder}`: {error.strerror}", "give another `-o DIR`") from error


def _show(made: ImportedTask, spec: str) -> None:
    rows = [(each.part, each.how, each.why) for each in made.notes]
    for line in table_lines(columns_of(("part", "translated", "remark"), rows, ("part", "translated", "remark"))):
        show_text(line)
    show_text("")
    show_message(f"{spec} is written" if made.whole else f"{spec} is written, with holes: look for HOLE in it")
    if "hf://" in made.text or "https://" in made.text:
        show_message(f"its data is fetched with: tripos fetch {spec}")
    if made.whole:
        show_message(f"it is checked with: tripos check {spec}")
