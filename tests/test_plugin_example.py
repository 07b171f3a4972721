"""The plug-in of docs/examples/plugin, found by the entry points of an installed package and used by the command line."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import Command
from tests.each import each
from tests.runtime.contract_server import Server, in_its_form, serving
from tripos.exporting import EMITTERS
from tripos.exporting.exporters import EXPORTERS
from tripos.importing.logs.opening import IMPORTERS
from tripos.testing import check_exporter, check_importer
from tripos_compiler.source.entry_points import Registry
from tripos_runtime.models.base import Endpoint, Message, Request
from tripos_runtime.models.catalog import DIRECT
from tripos_runtime.models.families import identity_of, open_model

EXAMPLE = Path(__file__).parents[1] / "docs/examples/plugin"
REGISTRIES: tuple[Registry[object], ...] = (IMPORTERS, EXPORTERS, EMITTERS, DIRECT)  # type: ignore[assignment]
BROKEN = {
    "an import that fails": ("raise RuntimeError('no')", "RuntimeError: no"),
    "an exit": ("raise SystemExit(3)", "SystemExit: 3"),
    "a name that is not there": ("", "AttributeError"),
    "another type": ("SHEET = SCORES = ACME = 1", "is not a"),
}


def install(folder: Path, source: Path = EXAMPLE, version: str | None = None, name: str | None = None) -> None:
    """Install a project of one module, as pip does: the module, and the metadata with its entry points."""
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = name or project["name"], version or project["version"]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    groups = (
        f"[{group}]\n" + "".join(f"{entry} = {value}\n" for entry, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups), "utf-8")
    for module in source.glob("*.py"):
        shutil.copy(module, folder)


def forget() -> None:
    """Let the registries look for plug-ins anew."""
    for registry in REGISTRIES:
        registry.__dict__.pop("plugins", None)
        for name in set(registry._loaded) - set(registry.builtin):
            del registry._loaded[name]
    sys.modules.pop("acme_tripos", None)
    importlib.invalidate_caches()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages on the path."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    forget()
    yield folder
    forget()


@pytest.fixture
def acme(site: Path) -> ModuleType:
    install(site)
    return importlib.import_module("acme_tripos")


def test_the_example_passes_the_checks_of_plugins(acme: ModuleType, tmp_path: Path) -> None:
    [log] = check_importer(acme.SHEET, EXAMPLE / "quiz.csv")
    assert log.header.name == "quiz"
    written = check_exporter(acme.SCORES, tmp_path / "scores.csv")
    assert written.summary["rows"] == 12


def test_an_importer_is_used_and_recorded(acme: ModuleType, quiz: Path, tripos: Command) -> None:
    shutil.copy(EXAMPLE / "quiz.csv", quiz / "sheet.csv")
    for path in ("sheet.csv", "."):
        done = tripos("import", "logs", path, "--dry-run", "--json")
        [log] = done.data["logs"]
        assert (log["format"], log["samples"], log["scores"]) == ("acme", 4, 4), done.err
        assert log["left_out"] == [{"what": "row without a mark", "count": 1, "first": "line 4"}]
    assert tripos("import", "logs", "sheet.csv").code == 0
    [run] = tripos("sql", "select options from runs", "--json").data
    assert json.loads(run["options"])["log"]["plugin"] == "acme-tripos 1.0.0"


def test_an_exporter_is_used_and_recorded(acme: ModuleType, quiz: Path, tripos: Command) -> None:
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    done = tripos("export", "acme-scores", "-o", "scores.csv", "--json")
    assert done.data["plugin"] == "acme-tripos 1.0.0"
    assert Path("scores.csv").read_text("utf-8").count("\n") == done.data["rows"] + 1
    refused = tripos("export", "acme-scores", "-o", "scores.csv", "--raw")
    assert "`--raw` has no meaning for `acme-scores`" in refused.err
    assert "`acme-scores`" in tripos("export", "nosuch", "-o", "x").err


def test_a_provider_is_used_and_recorded(
    acme: ModuleType, quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "contract-secret")
    assert open_model("acme/small").endpoint == "https://models.acme.example/v1 ACME_API_KEY"
    assert identity_of("acme/small", environ={}) == "acme/small"

    async def use(server: Server) -> list[str]:
        place = server.endpoint("ACME_API_KEY")
        model = open_model("acme/small", {"acme": place})
        reply = await model.ask(Request("acme/small", (Message("user", "hi"),)))
        await model.close()
        return [reply.text]

    replies, sent = serving(in_its_form, use)
    assert replies and sent[0].path.endswith("/chat/completions")
    monkeypatch.setenv("ACME_BASE_URL", "http://127.0.0.1:9")
    done = tripos("run", "quiz.tripos", "--model", "acme/small", "--role", "judge=mock/fair", "--max-retries", "0")
    assert done.code != 0
    [run] = tripos("sql", "select options from runs", "--json").data
    assert json.loads(run["options"])["plugins"] == {"acme": "acme-tripos 1.0.0"}


def test_a_process_of_its_own_finds_the_package(site: Path, quiz: Path) -> None:
    install(site)
    shutil.copy(EXAMPLE / "quiz.csv", quiz / "sheet.csv")
    words = [sys.executable, "-m", "tripos", "import", "logs", "sheet.csv", "--dry-run"]
    environ = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    assert "4 replies to 2 items by acme/small, acme/large" in done.stdout, done.stderr


@each("words", ["import logs sheet.csv", "export acme-scores -o x.csv", "run quiz.tripos --model acme/small"])
def test_an_untrusted_command_loads_no_plugin(site: Path, words: str, quiz: Path, tripos: Command) -> None:
    install(site)
    shutil.copy(EXAMPLE / "quiz.csv", quiz / "sheet.csv")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    more = ("--role", "judge=mock/fair") if words.startswith("run") else ()
    done = tripos(*words.split(), *more, "--untrusted")
    assert done.code != 0 and (words.startswith("import") or "acme-tripos 1.0.0" in done.err)
    assert "acme_tripos" not in sys.modules


@each("fault", BROKEN)
@each("words", ["import logs sheet.csv", "export acme-scores -o x.csv", "run quiz.tripos --model acme/small", "doctor"])
def test_a_broken_plugin_is_named_with_its_package(
    site: Path, words: str, fault: str, quiz: Path, tripos: Command
) -> None:
    text, reason = BROKEN[fault]
    install(site)
    forget()
    (site / "acme_tripos.py").write_text(text, "utf-8")
    shutil.copy(EXAMPLE / "quiz.csv", quiz / "sheet.csv")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    done = tripos(*words.split(), *(("--role", "judge=mock/fair") if words.startswith("run") else ()))
    said = " ".join((done.out + done.err).split())
    assert done.code != 0 and "R0280" in said and "acme-tripos 1.0.0" in said and reason in said, said
    assert "Traceback" not in said and "internal error" not in said


def test_a_plugin_that_fails_at_work_is_named(site: Path, quiz: Path, tripos: Command) -> None:
    install(site)
    text = (EXAMPLE / "acme_tripos.py").read_text("utf-8")
    text = text.replace("query = f", "query = None.x + f").replace(
        "def samples(", "raise KeyError(3)\n    def samples("
    )
    (site / "acme_tripos.py").write_text(text, "utf-8")
    shutil.copy(EXAMPLE / "quiz.csv", quiz / "sheet.csv")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    for words in ("export acme-scores -o x.csv", "import logs sheet.csv"):
        done = tripos(*words.split())
        assert "error[R0280]: the " in done.err and "acme-tripos 1.0.0" in done.err, done.err


def test_a_builtin_wins_and_two_packages_of_one_name_are_refused(site: Path, quiz: Path, tripos: Command) -> None:
    folder = quiz / "other"
    folder.mkdir()
    text = (EXAMPLE / "pyproject.toml").read_text("utf-8").replace("acme-scores", "csv")
    (folder / "pyproject.toml").write_text(text, "utf-8")
    install(site)
    install(site, folder, name="other-tripos")
    assert "csv" not in EXPORTERS.plugins and EXPORTERS.package("csv") == ""
    checks = {check["name"]: check for check in tripos("doctor", "--json").data["checks"]}
    assert "not used" in checks["plug-in csv"]["told"]
    assert "acme-tripos and other-tripos" in checks["plug-in acme"]["told"]


def test_the_doctor_lists_plugins(acme: ModuleType, quiz: Path, tripos: Command) -> None:
    told = {check["name"]: check["told"] for check in tripos("doctor", "--json").data["checks"]}
    assert told["plug-in acme-sheet"] == "importer of acme-tripos 1.0.0"
    assert told["plug-in acme-scores"] == "exporter of acme-tripos 1.0.0"
    assert told["plug-in acme"] == "provider of acme-tripos 1.0.0"


def test_no_metadata_is_read_for_what_is_built_in(quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading it takes 20 ms."""
    forget()

    def refuse(_: str) -> None:
        raise AssertionError("entry points were read")

    monkeypatch.setattr("tripos_compiler.source.entry_points.entry_points_by_name", refuse)
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    assert tripos("export", "csv", "-o", "out").code == 0
    assert tripos("export", "inspect", "-o", "logs", "--secrets").code == 0
    [log] = Path("logs").glob("*.eval")
    assert tripos("import", "logs", str(log), "--dry-run").code == 0
    assert tripos("emit", "jsonschema", "quiz.tripos", "-o", "emitted").code in (0, 1)
    assert open_model("openai/gpt-4o", {"openai": Endpoint("http://127.0.0.1:9/v1")}).name == "openai/gpt-4o"
    assert not os.environ.get("ACME_API_KEY")
