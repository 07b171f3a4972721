"""Files appear whole or not at all, by one mechanism."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.sources import modules, name_of, nodes_of
from tripos_compiler.files import atomic_path, write_atomically

MOVES = {
    "compiler/tripos_compiler/files.py": "the mechanism",
    "tripos/importing/tasks/lm_eval_row_writer.py": "a program that runs without Tripos",
    "tripos/importing/trees.py": "a draft becomes the tree",
    "tripos/releases/contents.py": "a folder that is complete",
    "tripos/releases/locations.py": "rows that a program wrote",
    "tripos/releases/publish.py": "a folder that is complete, and its signatures",
    "warehouse/tripos_warehouse/ledger/ledger.py": "a file that grows during a run",
    "warehouse/tripos_warehouse/store/derived.py": "the name has the digest of the content",
}
"""The modules that move a file, and why `atomic_path` does not do it."""


def _moves(path: Path) -> Iterator[ast.Call]:
    """Yield the calls that give a file another name, or make a temporary file that has one."""
    for node in nodes_of(path):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, owner = node.func.attr, ast.unparse(node.func.value)
        renames = name in ("replace", "rename") and len(node.args) == 1 and not node.keywords
        if (
            renames
            or (owner in ("os", "shutil") and name in ("replace", "rename", "renames", "link", "move"))
            or name in ("mkstemp", "NamedTemporaryFile")
        ):
            yield node


def test_no_module_makes_its_own_atomic_write() -> None:
    found = {name_of(path) for path in modules() if any(_moves(path))}
    assert found == set(MOVES)


@given(before=st.none() | st.binary(max_size=20), parts=st.lists(st.binary(max_size=20)), fails=st.integers(0, 4))
def test_a_file_has_its_old_content_or_all_of_the_new(
    tmp_path_factory: pytest.TempPathFactory, before: bytes | None, parts: list[bytes], fails: int
) -> None:
    folder = tmp_path_factory.mktemp("atomic")
    path = folder / "a.json"
    if before is not None:
        path.write_bytes(before)
    failed = False
    try:
        with atomic_path(path) as new, new.open("wb") as file:
            for number, part in enumerate(parts):
                if number == fails:
                    raise OSError("no room")
                file.write(part)
                assert (path.read_bytes() if path.exists() else None) == before
    except OSError:
        failed = True
    assert failed == (fails < len(parts))
    assert (path.read_bytes() if path.exists() else None) == (before if failed else b"".join(parts))
    assert [each.name for each in folder.iterdir()] == ([] if failed and before is None else ["a.json"])


def test_a_durable_file_is_flushed_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[tuple[bool, bool]] = []
    fsync, path = os.fsync, tmp_path / "a"

    def record(handle: int) -> None:
        flushed.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", record)
    write_atomically(path, b"whole", durable=True)
    assert flushed == [(False, False), (True, True)]  # the file, then its folder


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o444, None])
def test_a_file_has_its_mode(tmp_path: Path, mode: int | None) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"", mode=mode)
    (tmp_path / "b").write_bytes(b"")
    expected = stat.S_IMODE((tmp_path / "b").stat().st_mode) if mode is None else mode
    assert stat.S_IMODE(path.stat().st_mode) == expected
