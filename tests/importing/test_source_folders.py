"""An import reads regular files of a bounded size in the folder that the user named, and no other: for every
importer, by one object."""

from __future__ import annotations

import ast
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.importing.odd_values import LM_EVAL
from tests.sources import modules, nodes_of
from tripos import source_files
from tripos.files import opened_regular
from tripos.importing.datasets import rows_of_files
from tripos.importing.logs.opening import find_logs, open_logs
from tripos.importing.tasks.lm_eval import read_task, spec_of
from tripos.importing.tasks.promptfoo import promptfoo_spec
from tripos.source_files import SourceFolder
from tripos_compiler.errors import TriposError
from tripos_runtime.datasets.trust import UNTRUSTED

IMPORTING = Path(__file__).parents[2] / "tripos" / "importing"
OPENERS = {
    *("open", "fdopen", "read_text", "read_bytes", "safe_load", "safe_load_all", "full_load", "unsafe_load", "ZipFile"),
    *("read_untrusted", "read_untrusted_json", "read_untrusted_lines", "read_untrusted_raw_lines", "opened_regular"),
    *(
        "rows_in",
        "document_in",
        "DataFolders",
        "document_with_lines",
        "read_csv",
        "TarFile",
        "connect",
        "input_stream",
        "copyfile",
    ),
}
"""Names of what opens files."""
ALLOWED = {
    ("logs/runs.py", "open"): "the items of the import itself, in the folder that it writes; and the store",
    ("rows.py", "open"): "writes the rejected rows",
    ("tasks/lm_eval_row_writer.py", "open"): "runs in the environment of lm-eval and writes rows",
    ("replies.py", "open"): "opens the store",
    ("logs/runs.py", "read_untrusted_lines"): "the items of earlier imports, in the folder that it writes",
    ("datasets.py", "connect"): "a database that its folder opened before; no other file is read",
    ("replies.py", "connect"): "queries the store",
}
"""Calls in importers of names that may open files, with why they open none of a stranger's."""


def calls_in(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the names that a module calls, with their lines."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            yield name, node.lineno


def test_no_importer_opens_a_path_by_itself() -> None:
    found = {
        (path.relative_to(IMPORTING).as_posix(), name)
        for path in modules("tripos/importing")
        for name, _ in calls_in(path)
        if name in OPENERS
    }
    assert sorted(found - ALLOWED.keys()) == []
    assert sorted(ALLOWED.keys() - found) == [], "no module calls these any more"
    assert [path for path in modules("tripos/importing") if "yaml.load" in path.read_text("utf-8")] == []


# --- what is really opened ---


class Opened:
    """The files that this process opens for reading while it is on."""

    def __init__(self) -> None:
        self.on = self.added = False
        self.paths: list[str] = []

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            self.paths.append(os.path.realpath(os.fsdecode(arguments[0])))

    @contextmanager
    def listening(self) -> Iterator[list[str]]:
        """Collect paths."""
        if not self.added:  # no hook is ever removed, and it slows the tests of all other files
            sys.addaudithook(self._hear)
        self.paths, self.on, self.added = [], True, True
        try:
            yield self.paths
        finally:
            self.on = False


OPENED = Opened()


def _logs(path: Path, **given: Any) -> None:
    from tripos.importing.logs.log import Skipped

    for file in find_logs(path, **given):
        opened = open_logs(file)
        for log in opened.logs if opened is not None else ():
            list(log.samples(Skipped()))


def _dataset(path: Path, **given: Any) -> None:
    rows_of_files(f"{path.parent.name}/{path.name}", path.parent.parent / "spec.tripos", [], **given)


def _promptfoo(path: Path, **given: Any) -> None:
    promptfoo_spec(path, folder=SourceFolder.around(path, **given))


def _task(path: Path, **given: Any) -> None:
    task = read_task(path, SourceFolder.around(path, **given))
    made = spec_of(task, (path.parent,))
    for file in made.copies.values():
        file.content()
    assert "private" not in made.text


IMPORTERS: dict[str, tuple[str, Callable[..., None]]] = {
    "promptfoo, prompt": ("p.yaml", _promptfoo),
    "promptfoo, tests": ("p.yaml", _promptfoo),
    "promptfoo, defaultTest": ("p.yaml", _promptfoo),
    "lm-eval, include": ("t.yaml", _task),
    "lm-eval, data": ("t.yaml", _task),
    "lm-eval, function": ("t.yaml", _task),
    "lm-eval, samples of a log": ("results_1.json", _logs),
    "helm, state of a log": ("run_spec.json", _logs),
    "dataset": ("rows.jsonl", _dataset),
}
"""Importers by what they read besides the file that is named, with that file."""
NAMED = {  # the file that another one names, with its content
    "promptfoo, prompt": ("prompt.md", "private"),
    "promptfoo, tests": ("tests.jsonl", '{"vars": {"a": "private"}}'),
    "promptfoo, defaultTest": ("shared.yaml", "vars: {a: private}"),
    "lm-eval, include": ("above.yaml", "doc_to_text: private"),
    "lm-eval, data": ("data.jsonl", '{"question": "private", "answer": "1"}'),
    "lm-eval, function": ("utils.py", "def agg(items):\n    return f1_score(golds, preds)\n"),
    "lm-eval, samples of a log": ("samples_sums_1.jsonl", '{"doc_id": 0, "private": 1}'),
    "helm, state of a log": ("scenario_state.json", "{}"),
    "dataset": ("rows.jsonl", '{"a": "private"}'),
}


def written(folder: Path, kind: str, named: str) -> Path:
    """Write the file of an importer that names another one by the path `named`; it lies beside it where that is none
    that a file can name."""
    task = {**LM_EVAL, "include": "none.yaml", "num_fewshot": 0, "fewshot_config": None, "filter_list": None}
    del task["include"]
    task["metric_list"] = [{"metric": "exact_match"}]
    texts: dict[str, Any] = {
        "promptfoo, prompt": {"prompts": [f"file://{named}"], "tests": [{"vars": {"a": "x"}}]},
        "promptfoo, tests": {"prompts": ["{{a}}"], "tests": f"file://{named}"},
        "promptfoo, defaultTest": {"prompts": ["{{a}}"], "tests": [{}], "defaultTest": f"file://{named}"},
        "lm-eval, include": {**task, "include": named},
        "lm-eval, data": {**task, "dataset_kwargs": {"data_files": {"test": named}}},
        "lm-eval, samples of a log": {"results": {"sums": {}}, "configs": {"sums": {}}, "n-shot": {}},
        "helm, state of a log": {"name": "a", "adapter_spec": {"model": "m"}},
    }
    path = folder / IMPORTERS[kind][0]
    if kind == "lm-eval, function":
        task = {**task, "output_type": "multiple_choice", "doc_to_choice": ["a", "b"], "metric_list": None}
        path.write_text(f"{json.dumps(task)[:-1]}, metric_list: [{{metric: f1, aggregation: !function utils.agg}}]}}")
    elif kind in texts:
        path.write_text(json.dumps(texts[kind]), "utf-8")
    return path


WAYS = ["above", "absolute", "link", "link to a folder"]


def _by(way: str, folder: Path, victim: Path) -> str:
    """Return the path by which a folder names a file outside of it."""
    if way == "link":
        (folder / victim.name).symlink_to(victim)
        return victim.name
    if way == "link to a folder":
        (folder / "inside").symlink_to(victim.parent)
        return f"inside/{victim.name}"
    return str(victim) if way == "absolute" else f"../victim/{victim.name}"


BESIDE = ("lm-eval, function", "lm-eval, samples of a log", "helm, state of a log", "dataset")
"""What is looked for beside a file, under a name of its own: only a link leads elsewhere."""


@pytest.mark.parametrize("untrusted", [False, True])
@pytest.mark.parametrize(
    ("kind", "way"), [(kind, way) for kind in IMPORTERS for way in WAYS if way == "link" or kind not in BESIDE]
)
def test_no_file_outside_of_the_folder_is_opened(kind: str, way: str, untrusted: bool, tmp_path: Path) -> None:
    folder, victim = tmp_path / "stranger", tmp_path / "victim" / NAMED[kind][0]
    folder.mkdir()
    victim.parent.mkdir()
    victim.write_text(NAMED[kind][1], "utf-8")
    path = written(folder, kind, _by(way, folder, victim))
    given = {"trust": UNTRUSTED} if untrusted else {}
    importer = IMPORTERS[kind][1]
    named_by_user = kind == "dataset" and not untrusted  # the link itself is what the user named
    with OPENED.listening() as opened:
        try:
            importer(path, **given)
        except (TriposError, OSError, ValueError):
            assert not named_by_user
    assert (str(victim) in opened) == named_by_user
    assert [each for each in opened if "/victim/" in each and each != str(victim)] == []


@pytest.mark.parametrize("kind", IMPORTERS)
def test_what_lies_beside_or_is_allowed_is_read(kind: str, tmp_path: Path) -> None:
    folder, other = tmp_path / "own", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    name, content = NAMED[kind]
    (folder / name).write_text(content, "utf-8")
    path = written(folder, kind, name)
    with OPENED.listening() as opened:
        _ignoring(IMPORTERS[kind][1], path)
    assert str(folder / name) in opened
    (folder / name).rename(other / name)
    (folder / name).symlink_to(other / name)
    with OPENED.listening() as opened:
        _ignoring(IMPORTERS[kind][1], path, outside=True)
    assert str(other / name) in opened
    (folder / name).unlink()
    (other / name).rename(folder / name)
    (folder / "deep").mkdir()
    (tmp_path / "tripos.toml").write_text("", "utf-8")
    if kind not in BESIDE:  # in the project around it
        path = written(folder / "deep", kind, f"../{name}")
        with OPENED.listening() as opened:
            _ignoring(IMPORTERS[kind][1], path)
        assert str(folder / name) in opened


def _ignoring(importer: Callable[..., None], path: Path, **given: Any) -> None:
    """Import; that the private text shows is what is wanted here, and some files say little."""
    with suppress(AssertionError, TriposError, ValueError):
        importer(path, **given)


@pytest.mark.parametrize("kind", IMPORTERS)
def test_a_pipe_is_not_waited_for(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path, kind, NAMED[kind][0])
    os.mkfifo(tmp_path / NAMED[kind][0])
    _ignoring(IMPORTERS[kind][1], path)
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with pytest.raises(TriposError, match="no regular file"):
        promptfoo_spec(pipe)
    with pytest.raises(TriposError, match="no regular file"):
        read_task(pipe)


def test_a_device_and_a_folder_are_no_files() -> None:
    for place in (Path("/dev/zero"), Path("/dev/tty"), Path("/proc")):
        with pytest.raises(OSError, match=r"no regular file|directory|No such device|Is a directory"):
            SourceFolder.around(place.parent / "x").file(place).content()


def test_sizes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("prompts: [a]\ntests: []\n" + "#" * 100, "utf-8")
    monkeypatch.setattr(source_files, "MOST_BYTES", 100)
    with pytest.raises(TriposError, match="more than 100 bytes"):
        promptfoo_spec(path)
    with (tmp_path / "log.json").open("wb") as file:
        file.truncate(2**31 + 1)
    [found] = find_logs(tmp_path / "log.json")
    with pytest.raises(OSError, match="more than"):
        open_logs(next(find_logs(tmp_path / "log.json", UNTRUSTED)))
    assert found.is_there


def test_a_file_that_is_replaced_while_it_is_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, victim = tmp_path / "stranger", tmp_path / "victim.txt"
    folder.mkdir()
    victim.write_text("private", "utf-8")
    path = folder / "a.txt"
    path.write_text("open", "utf-8")
    whole = opened_regular

    def swapped(place: Path) -> Any:
        path.unlink()
        path.symlink_to(victim)
        return whole(place)

    monkeypatch.setattr(source_files, "opened_regular", swapped)
    with pytest.raises(OSError, match="replaced while it was opened"):
        SourceFolder.around(path).file(path).content()


MEMBERS = {
    "a path above": ("samples/../../x.json", "is no path in it"),
    "an absolute path": ("/samples/x.json", None),
    "a name twice": ("samples/1_epoch_1.json", "is one of two members of that name"),
    "other capitals": ("samples/1_EPOCH_1.json", "is one of two members of that name"),
    "a drive": ("C:/samples/x.json", None),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("attack", MEMBERS)
def test_members_that_lead_out_or_stand_twice_are_left_out(attack: str, tmp_path: Path, tripos: Command) -> None:
    name, told = MEMBERS[attack]
    sample = {"id": 1, "epoch": 1, "input": "a", "output": {}, "scores": {"m": {"value": 1}}}
    with zipfile.ZipFile(tmp_path / "odd.eval", "w") as file:
        file.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m/x", "eval_id": "e"}}))
        file.writestr("samples/0_epoch_1.json", json.dumps({**sample, "id": 0}))
        file.writestr("samples/1_epoch_1.json", json.dumps(sample))
        file.writestr(name, json.dumps({**sample, "id": 2}))
    done = tripos("import", "logs", str(tmp_path / "odd.eval"), "--dry-run", "--json", "-o", str(tmp_path / "out"))
    [log] = done.data["logs"]
    assert log["samples"] == (1 if told and "two" in told else 2)
    assert any(told in each["what"] for each in log["left_out"]) if told else log["left_out"] == []


def test_an_archive_that_grows_beyond_all_reason_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "ALWAYS_ALLOWED_BYTES", 1_000)
    monkeypatch.setattr(source_files, "MAX_EXPANSION", 100)
    path = tmp_path / "bomb.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", " " * 4_000_000)
    with pytest.raises(ValueError, match="bytes once it is unpacked"):
        open_logs(next(find_logs(path)))


def test_the_cases_of_the_command_are_refused(tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("victim/notes.md", "private"), ("stranger/p.yaml", 'prompts: ["file://../victim/notes.md"]')):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(f"{text}\ntests: [{{vars: {{a: x}}}}]\n" if "yaml" in name else text, "utf-8")
    for more in ((), ("--untrusted",)):
        done = tripos("import", "task", "stranger/p.yaml", "-o", "out", *more)
        assert (done.code, Path("out").exists()) == (2, False)
        assert "error[R0246]" in done.err and "--allow-outside" in done.err
    assert tripos("import", "task", "stranger/p.yaml", "-o", "out", "--allow-outside", "--untrusted").code == 2
    assert tripos("import", "task", "stranger/p.yaml", "-o", "out", "--allow-outside").code == 0
    assert "private" in Path("out/p.tripos").read_text("utf-8")
