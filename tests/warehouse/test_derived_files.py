"""What is derived from a store is read as it was written, for the state it was made for, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tripos_warehouse.store.derived import DerivedFiles, is_as_named, write_named

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


def _same(body: dict[str, Any]) -> dict[str, Any]:
    return body


@given(body=st.dictionaries(WORDS.filter(lambda name: name not in ("state", "sha256")), VALUES), data=st.data())
def test_an_object_is_what_was_written_or_none(
    tmp_path_factory: pytest.TempPathFactory, body: dict[str, Any], data: st.DataObject
) -> None:
    files = DerivedFiles(tmp_path_factory.mktemp("store"))
    files.write("a.json", "one", body)
    assert files.read("a.json", "one", _same) == body
    assert files.read("a.json", "another", _same) is None
    path = files.root / "cache" / "a.json"
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.none() | st.integers(0, len(content) - 1))
    path.write_bytes(bytes(content[:cut]))
    read = files.read("a.json", "one", _same)
    assert read is None or json.dumps(read) == json.dumps(body)


@given(content=st.binary(max_size=40), data=st.data())
def test_a_file_has_the_content_that_its_name_says(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("store")
    path = write_named(folder / "part", lambda new: new.write_bytes(content), ".parquet")
    assert is_as_named(path, "part", ".parquet") and path.read_bytes() == content
    assert [*folder.iterdir()] == [path]
    assert not is_as_named(path, "other", ".parquet")
    changed = data.draw(st.binary(max_size=40).filter(lambda other: other != content))
    path.write_bytes(changed)
    assert not is_as_named(path, "part", ".parquet")
    (folder / "elsewhere").write_bytes(content)
    path.unlink()
    path.symlink_to(folder / "elsewhere")
    assert not is_as_named(path, "part", ".parquet")


def test_an_object_that_makes_no_sense_counts_as_none(tmp_path: Path) -> None:
    files = DerivedFiles(tmp_path)
    files.write("a.json", "", {"parts": 7})
    assert files.read("a.json", "", lambda body: frozenset(body["parts"])) is None
    assert files.read("a.json", "", lambda body: body["missing"]) is None


@pytest.mark.parametrize("value", [float("nan"), 2**70, "\ud800", object()])
def test_what_json_cannot_hold_is_never_read_back_as_something_else(tmp_path: Path, value: object) -> None:
    files = DerivedFiles(tmp_path)
    files.write("a.json", "", {"value": value})
    read = files.read("a.json", "", _same)
    assert read in (None, {"value": None})  # JSON has no NaN: who writes figures refuses it before


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    files = DerivedFiles(tmp_path)
    files.write("a.json", "", {})
    assert files.read("a.json", "", _same) is None
