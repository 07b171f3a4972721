"""Files of others: what is no regular file is not waited for, and limits hold."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tripos.annotation.sheet import read_grades
from tripos.files import read_untrusted, read_untrusted_json, read_untrusted_lines
from tripos.training.chats import read_chats
from tripos.training.reward_pairs import read_pairs
from tripos_compiler.errors import TriposError

DEEP = b"[" * 100_000
READERS: tuple[Callable[[Path], Any], ...] = (read_grades, read_chats, read_pairs)


def test_the_limit_is_exact(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_untrusted(path, 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_untrusted(path, 4)
    (tmp_path / "link").symlink_to(path)
    assert read_untrusted(tmp_path / "link") == b"12345"


def test_a_line_has_its_own_limit_and_number(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"[1]\n[2]\n[333]")
    assert list(read_untrusted_lines(path)) == [[1], [2], [333]]
    with pytest.raises(OSError, match="line 3 has more than 4 bytes"):
        list(read_untrusted_lines(path, 4))
    path.write_bytes(b"[1]\n[2\n")
    with pytest.raises(ValueError, match="line 2 is not JSON"):
        list(read_untrusted_lines(path))


@pytest.mark.parametrize("reader", READERS)
def test_pipes_and_deep_nesting_are_failures_with_a_code(tmp_path: Path, reader: Callable[[Path], Any]) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TriposError):
        reader(tmp_path / "pipe")
    (tmp_path / "deep").write_bytes(DEEP + b"\n")
    with pytest.raises(TriposError):
        reader(tmp_path / "deep")


@pytest.mark.parametrize("reader", (read_chats, read_pairs))
def test_a_provenance_that_is_nested_deeply_is_a_failure(tmp_path: Path, reader: Callable[[Path], Any]) -> None:
    from tripos_warehouse.files import provenance_path

    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "a", "completion": "b", "chosen": "c", "rejected": "d"}\n')
    provenance_path(path).write_bytes(DEEP)
    with pytest.raises(TriposError, match="provenance"):
        reader(path)


VALUES = st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(), st.lists, max_leaves=8)


@settings(deadline=None)
@given(st.lists(VALUES, max_size=5))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    path = tmp_path_factory.mktemp("files") / "a"
    path.write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    assert list(read_untrusted_lines(path)) == values
    path.write_text(json.dumps(values), "utf-8")
    assert read_untrusted_json(path) == values
