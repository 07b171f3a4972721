"""Plays a benchmark of the gallery: its spec as it ships, over rows of a test, with a function for each model."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.field.running import Answers, Figures, figures_at, lines
from tripos_compiler.replies.text import ReplyText
from tripos_runtime.asking.functions.settings import ProgramLimits

SPECS = Path(__file__).parents[2] / "specs"
GALLERY = SPECS / "gallery"
FACTS = Path(__file__).parent / "facts"
VERDICTS = Path(__file__).parent / "verdicts"
TABLES = "tables.tripos"
"""The file of a benchmark that declares its tables, which are no part of what the original script does."""


def names() -> list[str]:
    """Return the names of the benchmarks of the gallery."""
    return sorted(path.name for path in GALLERY.iterdir() if path.is_dir())


def play(
    folder: Path,
    name: str,
    files: Mapping[str, Iterable[Mapping[str, Any]] | str | bytes],
    answers: Answers,
    roles: Mapping[str, Answers] | None = None,
    *,
    models: Mapping[str, Answers] | None = None,
    programs: Mapping[str, ProgramLimits] = {},
    spec: str | None = None,
) -> Figures:
    """Run a benchmark of the gallery in a copy below `folder`, and return its figures and scores.

    `files` take the place of its data files, or stand beside them: rows, or text as it is. `answers` is given the texts
    of all messages and returns the reply of the model under test; `roles` do so for the other roles, and `models` for
    several models under test. `spec` names another spec file of its folder than the main one.
    """
    copy = folder / "specs" / "gallery" / name
    if not copy.exists():
        shutil.copytree(SPECS / "common", folder / "specs" / "common", dirs_exist_ok=True)
        shutil.copytree(GALLERY / name, copy)
    for path, content in files.items():
        place = copy / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.write_text(content if isinstance(content, str) else lines(content), "utf-8")
    return figures_at(copy / (spec or f"{name}.tripos"), answers, roles, programs, models)


def table_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV, with the names of the first as its head."""
    found, file = list(rows), io.StringIO()
    writer = csv.DictWriter(file, [*found[0]])
    writer.writeheader()
    writer.writerows(found)
    return file.getvalue()


@dataclass(frozen=True)
class Slip:
    """A mistake of a naive transcription: `old` stands as `new` in the spec, and `check` says `code`."""

    what: str
    old: str
    new: str
    code: str


@dataclass(frozen=True)
class Facts:
    """The facts of a benchmark that stand in docs/gallery/index.md beside what is measured: see `facts/README.md`."""

    group: str
    title: str
    original: str
    original_lines: int
    replies: int
    apart: float
    against: str
    slips: tuple[Slip, ...]
    options: tuple[str, ...] = ()


def facts_of(name: str) -> Facts:
    """Return the facts of a benchmark."""
    table = tomllib.loads((FACTS / f"{name}.toml").read_text("utf-8"))
    slips = tuple(Slip(**slip) for slip in table.pop("slips"))
    options = tuple(table.pop("options", ()))
    return Facts(slips=slips, options=options, **table)


def verdicts_of(name: str) -> list[dict[str, Any]]:
    """Return the rows, replies and verdicts that `originals/NAME.py` stored: what the original's scorer said."""
    text = (VERDICTS / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def is_answer(reply: str) -> bool:
    """Return true if a reply says something.

    One that is empty, or nothing but thinking, is a `parse_failure` and has no value. Originals count it as wrong, or as
    right where nothing is to be said: its scores are asserted to be missing, and figures compared over all others.
    """
    return ReplyText.parse(reply).answer.strip() != ""


def answered(said: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of `verdicts_of` whose reply says something."""
    return [each for each in said if is_answer(str(each["reply"]))]
