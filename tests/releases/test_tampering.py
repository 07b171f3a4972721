"""Releases that somebody made to look right: `verify` sees that they are not, and nothing outside of one is read."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Command
from tripos.cli.main import run_command
from tripos.files import MOST_BYTES
from tripos.releases.locations import open_location, pack
from tripos.releases.manifest import canonical, check_license, checksum_line
from tripos.releases.opening import open_release
from tripos.releases.publish import ReleaseInput, make_release
from tripos.releases.verification import verify
from tripos.runs.compilation import find_spec
from tripos_compiler.errors import TriposError

ROOT = Path(__file__).parents[2]
LESSONS = ROOT / "tests/compat/previous/title"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_spec(str(LESSONS))
    compilation = found.compile()
    assert compilation.plan is not None
    return make_release(
        ReleaseInput(compilation, compilation.plan, found.folders), tmp_path_factory.mktemp("releases")
    ).path


def wrong(folder: Path) -> list[str]:
    return [f"{each.what} {each.told}" for each in verify(folder).wrong]


def forged(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest so that it is canonical and fits its checksum."""
    said = json.loads((folder / "manifest.json").read_bytes())
    change(said)
    raw = canonical(said)
    (folder / "manifest.json").write_bytes(raw)
    (folder / "manifest.sha256").write_bytes(checksum_line(raw))


def redigested(folder: Path, name: str) -> None:
    """Have the manifest say of a file what it is now."""
    raw = (folder / name).read_bytes()

    def change(said: dict[str, Any]) -> None:
        for each in said["files"]:
            if each["path"] == name:
                each |= {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}

    forged(folder, change)


def _file(said: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the entry of a file in a manifest."""
    return next(each for each in said["files"] if each["path"] == path)


FORGERIES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    **{
        name: (lambda said, name=name, value=value: said.update({name: value}), "")  # type: ignore[misc]
        for value, names in (("0" * 64, "plan spec"), ("9.9.9", "version"), ("other", "title license_of_nobody"))
        for name in names.split()
    },
    "license": (lambda said: said.update(license="MIT"), "`license` is not what the plan says"),
    "languages": (lambda said: said.update(languages=["zh"]), "`languages` is not"),
    "cites": (lambda said: said.update(cites=["Another"]), "`cites` is not"),
    "canary": (lambda said: said.update(canary="none"), "`canary` is not"),
    "a scenario more": (
        lambda said: said["items"].append({**said["items"][0], "scenario": "ghost"}),
        "`items` are not those of the plan's scenarios",
    ),
    "external data": (
        lambda said: said.update(external=[{"path": "x", "source": "y", "sha256": "0" * 64}]),
        "`external` has `x`, which the plan does not read",
    ),
    "the bytes of a file": (lambda said: said["files"][0].update(bytes=7), "bytes, and the manifest says 7"),
    "the rows of items": (lambda said: _file(said, "items/explain.parquet").update(rows=9), "rows, not 9"),
    "the rows of data": (
        lambda said: next(each for each in said["files"] if each["path"][:5] == "spec/" and "rows" in each).update(
            rows=9
        ),
        "rows, not 9",
    ),
    "a main file outside": (lambda said: said.update(main="../spec.tripos"), "is none of its files"),
    "items elsewhere": (lambda said: said["items"][0].update(path="items/none.parquet"), "is none of its files"),
    "a file twice": (lambda said: said["files"].append(said["files"][0]), "named twice"),
    "a file outside": (lambda said: said["files"].append({**said["files"][0], "path": "../x"}), "no path below"),
    "a path in other words": (lambda said: said["files"].append({**said["files"][0], "path": "./x"}), "no path below"),
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_manifest_that_says_what_its_plan_does_not_is_wrong(copy: Path, kind: str) -> None:
    change, told = FORGERIES[kind]
    forged(copy, change)
    assert any(told in each for each in wrong(copy)), wrong(copy)


def test_a_release_whose_main_file_lies_outside_is_not_opened(copy: Path) -> None:
    forged(copy, lambda said: said.update(main="../spec.tripos"))
    with pytest.raises(TriposError) as caught:
        open_release(copy)
    assert caught.value.code == "S0851"


def test_an_item_file_that_says_something_else_than_the_data_is_wrong(copy: Path) -> None:
    path = copy / "items/explain.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("question")
    pq.write_table(table.set_column(at, "question", pa.array(["Another?"] * table.num_rows)), path)
    redigested(copy, "items/explain.parquet")
    assert "items of explain are not those in `items/explain.parquet`" in wrong(copy)


def test_a_croissant_file_that_describes_another_file_is_wrong(copy: Path) -> None:
    text = (copy / "croissant.json").read_text("utf-8")
    digest = hashlib.sha256((copy / "items/explain.parquet").read_bytes()).hexdigest()
    (copy / "croissant.json").write_text(text.replace(digest, "0" * 64), "utf-8")
    redigested(copy, "croissant.json")
    assert "croissant.json describes `items/explain.parquet` otherwise than the manifest" in wrong(copy)


def test_one_letter_of_a_file_that_nothing_reads_is_seen(copy: Path) -> None:
    text = (copy / "LICENSE").read_text("utf-8")
    (copy / "LICENSE").write_text(text.swapcase(), "utf-8")
    assert wrong(copy) == ["LICENSE was changed"]


def test_a_file_that_was_added_is_named(copy: Path) -> None:
    (copy / "spec" / "more.txt").write_text("more", "utf-8")
    assert wrong(copy) == ["spec/more.txt is not in the manifest: it was added"]


def test_a_pipe_in_the_place_of_a_file_is_named_and_not_waited_for(copy: Path) -> None:
    (copy / "LICENSE").unlink()
    os.mkfifo(copy / "LICENSE")
    assert "LICENSE is no file" in wrong(copy)


@pytest.mark.parametrize("name", ["manifest.json", "manifest.sha256"])
def test_a_pipe_in_the_place_of_a_manifest_is_not_waited_for(copy: Path, name: str) -> None:
    (copy / name).unlink()
    os.mkfifo(copy / name)
    assert any(name in told for told in wrong(copy))


@pytest.mark.parametrize("name", ["manifest.json", "manifest.sha256"])
def test_a_manifest_that_is_a_link_is_wrong(copy: Path, tmp_path: Path, name: str) -> None:
    (copy / name).rename(tmp_path / name)
    (copy / name).symlink_to(tmp_path / name)
    assert wrong(copy) == [f"{name} is a link in the place of a file"]


def test_a_licence_that_stops_short_is_refused() -> None:
    with pytest.raises(TriposError) as caught:
        check_license("CC-BY-4.0 AND", "it")
    assert caught.value.code == "S0852"


def test_what_was_not_tampered_with_is_as_it_was_released(made: Path) -> None:
    assert run_command(["verify", str(made)]) == 0


def test_a_zip_at_a_url_is_a_release(made: Path, tmp_path: Path) -> None:
    shutil.copy(pack(made), tmp_path / "given.zip")
    found = open_location(f"file://{tmp_path}/given.zip")
    assert found is not None
    assert open_release(found).digest == open_release(made).digest


def test_a_plan_that_is_another_than_the_manifest_names_is_neither_run_nor_good(copy: Path) -> None:
    path = copy / "plan.json"
    path.write_text(path.read_text("utf-8").replace('"temperature": 0.0', '"temperature": 1.0'), "utf-8")
    redigested(copy, "plan.json")
    assert [each for each in wrong(copy) if each.endswith("`plan.json` is another plan than its manifest says")]
    with pytest.raises(TriposError) as caught:
        open_release(copy).plan()
    assert caught.value.code == "S0855"


def test_a_manifest_or_a_plan_that_is_too_large_or_a_pipe_is_refused(
    made: Path, tmp_path: Path, tripos: Command
) -> None:
    for name in ("manifest.json", "plan.json"):
        folder = tmp_path / name
        shutil.copytree(made, folder)
        with (folder / name).open("ab") as file:
            file.truncate(MOST_BYTES + 1)
        done = tripos("plan", str(folder))
        assert done.code != 0 and "internal error" not in done.err and "Traceback" not in done.err
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert tripos("plan", str(folder)).code != 0
