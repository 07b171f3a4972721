"""Which benchmarks a file is part of, and when a file on disk is looked at again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tripos.lsp.documents import DataCache
from tripos.lsp.session import EditorSession
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.data_files import DataFolders

MAIN = 'benchmark {name} "1.0.0" {{ languages en }}\nuse "{used}"\n'


def session(folder: Path, *, open_folder: bool = True) -> EditorSession:
    return EditorSession("utf-16", (folder.as_posix(),) if open_folder else ())


def mains(here: EditorSession, path: Path) -> list[str]:
    return [Path(each).name for each in here.membership.mains(path.as_posix())]


def test_a_file_is_part_of_every_benchmark_that_uses_it_by_way_of_others_too(tmp_path: Path) -> None:
    (tmp_path / "a.tripos").write_text(MAIN.format(name="a", used="deep/b.tripos"))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/b.tripos").write_text('use "../c.tripos"')
    (tmp_path / "c.tripos").write_text("role x")
    (tmp_path / "d.tripos").write_text(MAIN.format(name="d", used="c.tripos"))
    here = session(tmp_path)
    assert mains(here, tmp_path / "c.tripos") == ["a.tripos", "d.tripos"]
    assert mains(here, tmp_path / "deep/b.tripos") == ["a.tripos"]
    assert mains(here, tmp_path / "a.tripos") == ["a.tripos"]


def test_a_benchmark_or_use_in_prose_or_a_comment_is_none(tmp_path: Path) -> None:
    text = '# benchmark x\nscenario s {\n  ask a by b {\n    prompt """\nbenchmark x "1.0.0"\nuse "c.tripos"\n"""\n  }\n}\n'
    (tmp_path / "a.tripos").write_text(text)
    assert mains(session(tmp_path), tmp_path / "a.tripos") == []


def test_files_that_use_each_other_end_the_search(tmp_path: Path) -> None:
    (tmp_path / "a.tripos").write_text('use "b.tripos"')
    (tmp_path / "b.tripos").write_text('use "a.tripos"')
    assert mains(session(tmp_path), tmp_path / "a.tripos") == []


@pytest.mark.parametrize("name", ["node_modules", ".git", "venv"])
def test_folders_that_hold_no_specs_of_the_project_are_passed_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "a.tripos").write_text(MAIN.format(name="a", used="../c.tripos"))
    (tmp_path / "c.tripos").write_text("role x")
    assert mains(session(tmp_path), tmp_path / "c.tripos") == []


def test_without_an_open_folder_those_above_are_looked_through_up_to_that_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "outside.tripos").write_text(MAIN.format(name="outside", used="project/deep/c.tripos"))
    (tmp_path / "project/deep").mkdir(parents=True)
    (tmp_path / "project/tripos.toml").touch()
    (tmp_path / "project/a.tripos").write_text(MAIN.format(name="a", used="deep/c.tripos"))
    (tmp_path / "project/deep/c.tripos").write_text("role x")
    here = session(tmp_path, open_folder=False)
    assert mains(here, tmp_path / "project/deep/c.tripos") == ["a.tripos"]


def test_what_an_open_document_uses_counts_and_not_what_is_on_disk(tmp_path: Path) -> None:
    (tmp_path / "a.tripos").write_text(MAIN.format(name="a", used="b.tripos"))
    (tmp_path / "c.tripos").write_text("role x")
    here = session(tmp_path)
    assert mains(here, tmp_path / "c.tripos") == []
    uri = (tmp_path / "a.tripos").as_uri()
    here.put(uri, MAIN.format(name="a", used="c.tripos"), 1)
    assert mains(here, tmp_path / "c.tripos") == ["a.tripos"]
    here.put(uri, "# nothing", 2)
    assert mains(here, tmp_path / "c.tripos") == []


def test_a_change_that_tells_nothing_of_it_leaves_the_membership_alone(tmp_path: Path) -> None:
    uri = (tmp_path / "a.tripos").as_uri()
    here = session(tmp_path)
    here.put(uri, MAIN.format(name="a", used="c.tripos"), 1)
    header = here.membership.header((tmp_path / "a.tripos").as_posix())
    here.put(uri, MAIN.format(name="a", used="c.tripos") + "role x", 2)
    assert here.membership.header((tmp_path / "a.tripos").as_posix()) is header


def test_files_that_came_are_found_once_the_session_is_told(tmp_path: Path) -> None:
    (tmp_path / "c.tripos").write_text("role x")
    here = session(tmp_path)
    assert mains(here, tmp_path / "c.tripos") == []
    (tmp_path / "a.tripos").write_text(MAIN.format(name="a", used="c.tripos"))
    assert mains(here, tmp_path / "c.tripos") == []
    here.refresh()
    assert mains(here, tmp_path / "c.tripos") == ["a.tripos"]


# --- data ---


@pytest.fixture
def data(tmp_path: Path) -> DataCache:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"a": 1}))
    return DataCache(DataFolders())


def rows(data: DataCache, folder: Path) -> list[dict[str, object]]:
    [file] = data.find("rows.jsonl", (folder / "x.tripos").as_posix())
    return list(data.rows(file))


def test_a_reader_stays_the_same_as_long_as_its_data_does(data: DataCache, tmp_path: Path) -> None:
    assert rows(data, tmp_path) == [{"a": 1}]
    assert data.renewed() is data


def test_saving_a_file_beside_the_data_changes_nothing(data: DataCache, tmp_path: Path) -> None:
    rows(data, tmp_path)
    (tmp_path / "new").write_text("x")
    (tmp_path / "new").unlink()
    os.utime(tmp_path, (1, 1))
    assert data.renewed() is data


def test_data_that_changed_makes_another_reader(data: DataCache, tmp_path: Path) -> None:
    rows(data, tmp_path)
    (tmp_path / "rows.jsonl").write_text(json.dumps({"a": 22}))
    renewed = data.renewed()
    assert renewed is not data
    assert rows(renewed, tmp_path) == [{"a": 22}]


def test_a_file_that_comes_later_makes_another_reader(data: DataCache, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").unlink()
    with pytest.raises(DataError):
        rows(data, tmp_path)
    assert data.renewed() is data
    (tmp_path / "rows.jsonl").write_text(json.dumps({"a": 3}))
    assert rows(data.renewed(), tmp_path) == [{"a": 3}]


def test_a_file_is_read_once(data: DataCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = rows(data, tmp_path)
    monkeypatch.setattr("tripos_runtime.datasets.data_files.rows_in", None)
    assert rows(data, tmp_path) == first


def test_what_could_not_be_read_is_not_tried_again(data: DataCache, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{broken")
    for _ in range(2):
        with pytest.raises(DataError):
            rows(data, tmp_path)
    assert data.renewed() is data
