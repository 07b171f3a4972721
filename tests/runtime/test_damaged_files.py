"""Files that are damaged, and names that no file can have: a diagnostic names the data file, and nothing is raised."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
from pyarrow import ipc

from tests.compiler.compiling import compile_files
from tests.lengths import sized

SPEC = 'benchmark demo "1.0.0" { languages en }\nrole candidate compared\ndataset item from "FILE" { q text }\n'


def found(folder: Path, name: str) -> list[str]:
    """The messages of what is wrong with a data file."""
    diagnostics = compile_files(folder, {"spec.tripos": SPEC.replace("FILE", name)}).diagnostics
    return [item.message for item in diagnostics if item.code == "E0307"]


@pytest.mark.parametrize(
    "name", ["a" * 300 + ".jsonl", "b/" + "中" * 100 + ".jsonl", "a" * 300 + "/*.jsonl", "*/" + "c" * 300, "d/" * 2_000 + "e.jsonl"]
)  # fmt: skip
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    (message,) = found(tmp_path, name)
    assert "is the name of no file" in message or "is no path" in message


def test_a_name_of_300_characters_of_a_tree_and_a_used_file(tmp_path: Path) -> None:
    long = "a" * 300
    spec = f'use "{long}.tripos"\n{SPEC.splitlines()[0]}\ntree t from "{long}.yaml"\n'
    codes = [item.code for item in compile_files(tmp_path, {"spec.tripos": spec}).diagnostics]
    assert "E0307" in codes
    assert "E0108" in codes


def test_a_damaged_workbook(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    assert workbook.active is not None
    workbook.active.append(["q"])
    workbook.active.append(["What?"])
    workbook.save(tmp_path / "whole.xlsx")
    dice = random.Random(1)
    whole = zipfile.ZipFile(tmp_path / "whole.xlsx")
    for damaged in whole.namelist():
        for number in range(sized(3, 40)):
            with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as packed:
                for name in whole.namelist():
                    content = bytearray(whole.read(name))
                    if name == damaged:
                        content = content[: len(content) // 2] if number == 0 else content
                        content[dice.randrange(len(content))] = dice.randrange(256)
                    packed.writestr(name, bytes(content))
            for message in found(tmp_path, "x.xlsx"):
                assert "x.xlsx" in message


def test_a_damaged_arrow_file(tmp_path: Path) -> None:
    table = pa.table({"q": ["What?", "Why?"] * 50})
    with ipc.new_file(tmp_path / "whole.arrow", table.schema) as writer:
        writer.write_table(table)
    whole = (tmp_path / "whole.arrow").read_bytes()
    for seed in range(sized(60, 2_000)):
        dice = random.Random(seed)
        content = bytearray(whole)
        for _ in range(6):
            content[dice.randrange(len(content))] = dice.randrange(256)
        (tmp_path / "x.arrow").write_bytes(content)
        for message in found(tmp_path, "x.arrow"):
            assert "x.arrow" in message
