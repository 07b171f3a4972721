"""Targets: commit files, journals and every other file of a store; plans and recordings that lie in one."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import shutil
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import orjson
from pydantic import ValidationError

from tests.fuzz.data_files import folder, put
from tests.fuzz.mutators import mutated, mutated_json, mutated_lines, written
from tests.fuzz.trying import BrokenRule, Refused
from tests.warehouse.bound import bound
from tests.warehouse.keeping import unit
from tests.warehouse.rewriting import change_parts
from tests.warehouse.small_run import START, rows_of_run, small_plan
from tripos.cli.main import run_command
from tripos.runs.records import open_recording
from tripos_compiler.plan import Plan
from tripos_warehouse.store.commits import read_commit
from tripos_warehouse.store.digests import SEAL, sealed
from tripos_warehouse.store.journal import JOURNAL_FORMAT, read_segment, to_line
from tripos_warehouse.store.parts import to_arrow
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store

AT = "# at "
KEPT = "journal/kept.jsonl"
VERBS = (
    ("list",), ("list", "--json"), ("report",), ("report", "--json"), ("leaderboard",), ("compare", "r1", "r2"),
    ("show", "r1"), ("store", "check"), ("store", "gc", "--grace", "0s"), ("store", "compact"),
    ("sql", "select scenario, count(*), avg(value) from edubench.scores group by all"),
    ("sql", "--run", "r1", "from edubench.items"), ("sql", "from main.samples"),
)  # fmt: skip
CRASHED = 70
"""The exit code of an internal error."""


def say(*words: str) -> None:
    """Run a command in this process. Raises `Refused` where it ends with an error, and `BrokenRule` for one of ours."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(list(words))
    told = err.getvalue()
    if code == CRASHED or "internal error" in told or "Traceback" in told:
        raise BrokenRule(f"{words[0]} ends in an internal error: {told[-2000:]}")
    if code not in (0, 100):
        raise Refused(told.partition("[")[2].partition("]")[0] or f"exit {code}", told.count("error["))


# --- commits and journals by themselves ---


def commit_seeds() -> Sequence[bytes]:
    """Return commit files of both formats."""
    parts = [
        {"table": "scores", "path": f"parts/scores/first.{'a' * 12}.parquet", "rows": 2, "bytes": 900, "version": 1}
    ]
    body = {
        "format": "tripos.commit/1",
        "name": "first",
        "written_at": "2026-03-01T08:00:00.000000+00:00",
        "parts": parts,
    }
    replacing = {
        **body,
        "format": "tripos.commit/2",
        "name": "compaction-000002",
        "replaces": ["compaction-000001", "a"],
    }
    return [written(body), written({**body, "parts": []}), written(replacing)]


def read_any_commit(data: bytes) -> None:
    """Read a commit file, by the name that it gives itself."""
    try:
        name = json.loads(data)["name"]
        named = isinstance(name, str) and name.startswith("compaction-") and name[11:].isdigit() and len(name) < 40
    except (ValueError, KeyError, TypeError, RecursionError):
        named = False
    path = put(f"{name if named else 'first'}.json", data)
    try:
        commit = read_commit(path)
    finally:
        path.unlink()
    for part in commit.parts:
        if part.path.startswith("/") or ".." in part.path.split("/"):
            raise BrokenRule(f"a part outside of the store: {part.path}")


@cache
def journal_seeds() -> Sequence[bytes]:
    """Return a journal segment with every table of a run."""
    head = orjson.dumps({"format": JOURNAL_FORMAT, "versions": dict.fromkeys(("samples", "scores"), 1)}) + b"\n"
    rows = bound(rows_of_run(small_plan(), "r3", items=1))
    lines = [to_line({table: some}) for table, some in rows.items()]
    return [head + to_line(unit(1)) + to_line(unit(2)), head + b"".join(lines)]


def read_journal(data: bytes) -> None:
    """Read a segment, and make of its rows what a commit holds."""
    segment = read_segment(put("segment.jsonl", data))
    for line in segment.lines:
        for table, rows in line.items():
            to_arrow(table, rows)
    if segment.damaged or segment.newer:
        raise Refused("S0404")


# --- a whole store ---


@cache
def template() -> Path:
    """Return a store with two runs and a journal that a process left behind, the same bytes in every process."""
    ticks = itertools.count()
    root = folder() / "template"
    store = Store.open(root, create=True, clock=lambda: START + timedelta(seconds=next(ticks)))
    store.append(bound(rows_of_run(small_plan(), "r1")), "first")
    store.append(bound(rows_of_run(small_plan(), "r2", minutes=9, value=lambda model, item: 7.0 - model)), "second")
    for commit in sorted((root / "commits").glob("*.json")):
        stem = commit.stem

        def rename(part: dict[str, Any], stem: str = stem) -> None:
            name = f"parts/{part['table']}/{stem}.{'0' * 12}.parquet"
            (root / part["path"]).rename(root / name)
            part["path"] = name

        change_parts(commit, rename)
    (root / KEPT).parent.mkdir(exist_ok=True)
    (root / KEPT).write_bytes(journal_seeds()[0])
    return root


def store_seeds() -> Sequence[bytes]:
    """Return every file of that store, with a line that says where it lies."""
    root = template()
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size)
    made = [f"{AT}{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes() for path in files]
    return [*made, *[each for each in made if b".json" in each[:60]] * 3]


def mutated_file(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a file of a store with changes; its place stays."""
    head, _, body = data.partition(b"\n")
    mutate = mutated_lines if b".jsonl" in head else mutated_json if b".json" in head else mutated
    return head + b"\n" + _sealed_again(random, mutate(random, body, [body]))


def _sealed_again(random: Random, body: bytes) -> bytes:
    """Return a file with a seal that fits, half of the time where it has one: or every change would be refused by the
    same line."""
    try:
        found = orjson.loads(body)
        return sealed({name: found[name] for name in found if name != SEAL}) if random.random() < 0.5 else body
    except (ValueError, TypeError):
        return body


def open_store(data: bytes) -> None:
    """Put a file into the store, and run some verbs on it, which the file draws."""
    head, _, body = data.partition(b"\n")
    name = head.decode("utf-8", "replace").removeprefix(AT)
    root = folder() / "store"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template(), root)
    known = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    path = root / (name if name in known else KEPT)
    path.chmod(0o644)
    path.write_bytes(body)
    refused: list[Refused] = []
    for words in Random(data).sample(VERBS, 3):
        try:
            say(*words, "--store", str(root))
        except Refused as error:
            refused.append(error)
    if refused:
        raise refused[0]


# --- plans and recordings ---


def plan_seeds() -> Sequence[bytes]:
    """Return a plan as a run keeps it."""
    return [small_plan().to_json().encode()]


def keep_plan(data: bytes) -> None:
    """Read a plan, and report a run that has it."""
    try:
        plan = Plan.model_validate_json(data)
    except ValidationError as error:
        if Random(data).random() < 0.95:
            raise Refused("S0104") from error
    else:
        if Plan.model_validate_json(plan.to_json()) != plan:
            raise BrokenRule("a plan does not come back from JSON")
    rows = rows_of_run(small_plan(), "r1", items=2)
    rows["runs"][0]["plan"] = data.decode("utf-8", "replace")
    root = folder() / "planned"
    shutil.rmtree(root, ignore_errors=True)
    Store.open(root, create=True).append(bound(rows), "first")
    words = Random(data).choice(
        (("report",), ("report", "--json"), ("leaderboard",), ("show", "r1"), VERBS[10], VERBS[11])
    )
    say(*words, "--store", str(root))


def recording_seeds() -> Sequence[bytes]:
    """Return calls as a recording has them."""
    told = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
    return [
        written(
            [{"messages": json.dumps(told), "reply": "two", "error": None, "status": "ok", "model_served": "gpt-1"}]
        )
    ]


CALLED = ("messages", "reply", "error", "status", "model_served", "finish_reason", "tokens_in", "tokens_out")


def replay(data: bytes) -> None:
    """Keep calls of a run whose columns say that, and open the recording."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Refused("data") from error
    rows: dict[str, list[dict[str, Any]]] = rows_of_run(small_plan(), "r1", items=2)
    for row, told in zip(rows["samples"], said if isinstance(said, list) else [said], strict=False):
        row.update({name: value for name, value in told.items() if name in CALLED} if isinstance(told, dict) else {})
    root = folder() / "recorded"
    shutil.rmtree(root, ignore_errors=True)
    Store.open(root, create=True).append(bound(rows), "first")
    recording = open_recording(f"replay/{root}", root)
    assert recording is not None
    try:
        recording.find(b"0" * 16)
    except Exception as error:  # the command looks into the store then, and says what is damaged
        raise Store.open(root, create=False, tolerant=True).first_damage() or error from error
    finally:
        recording.close()


assert set(CALLED) <= set(TABLES["samples"].schema.names)
