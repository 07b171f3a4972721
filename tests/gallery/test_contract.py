"""Every benchmark of the gallery: a page of spec that checks, rows that run without a key, slips that are found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.each import each
from tests.gallery.playing import FACTS, GALLERY, TABLES, facts_of, names
from tripos.runs.compilation import find_spec
from tripos_compiler.editing.formatter import format_text

MOST_LINES = 120
MOST_OF_README = 16
SOURCED = re.compile(r"^- \*\*(Source|Data|Score|Differs|Run)\*\*", re.MULTILINE)


def test_every_benchmark_has_facts_and_a_test() -> None:
    here = Path(__file__).parent
    assert sorted(path.stem for path in FACTS.glob("*.toml")) == names()
    assert [name for name in names() if not (here / f"test_{name}.py").is_file()] == []


@each("name", names)
def test_a_benchmark_is_a_page(name: str) -> None:
    folder = GALLERY / name
    specs = sorted(folder.rglob("*.tripos"))
    texts = {path: path.read_text("utf-8") for path in specs}
    assert folder / f"{name}.tripos" in texts
    assert sum(text.count("\n") for path, text in texts.items() if path.name != TABLES) <= MOST_LINES
    for path, text in texts.items():
        assert format_text(text, path.as_posix()) == text, path
    readme = (folder / "README.md").read_text("utf-8")
    assert len(readme.splitlines()) <= MOST_OF_README
    assert {"Source", "Data", "Differs", "Run"} <= set(SOURCED.findall(readme))
    compilation = find_spec(str(folder)).compile()
    assert compilation.plan is not None
    assert [found.message for found in compilation.diagnostics] == []
    about = compilation.plan.benchmark
    assert about.title
    assert about.cites
    assert about.license
    assert about.headline


@each("name", names)
def test_its_slips_are_found(name: str, tmp_path: Path) -> None:
    spec = find_spec(str(GALLERY / name))
    text = spec.path.read_text("utf-8")
    slips = facts_of(name).slips
    assert slips
    for slip in slips:
        assert text.count(slip.old) >= 1, slip
        texts = {spec.path.as_posix(): text.replace(slip.old, slip.new, 1)}
        found = type(spec)(spec.path, spec.folders, texts=texts).compile().diagnostics
        assert slip.code in {each.code for each in found}, (slip, [each.message for each in found])


@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_a_copy_of_it_runs_with_mock_models(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tripos("init", "copied", "--from", f"gallery/{name}", "--yes").code == 0
    copied = tripos("check", "copied")
    assert copied.code == 0, copied.err
    assert "warning[" not in copied.err
    monkeypatch.chdir(tmp_path / "copied")
    options = facts_of(name).options
    if options:
        refused = tripos("run", ".")
        assert (refused.code, options[0] in refused.err) == (2, True), refused.err
    lines = json.loads(tripos("run", ".", "--dry-run", "--json", *options).out)["calls"]
    done = tripos("run", ".", "--json", *options)
    assert done.code == 0, done.err
    run = json.loads(done.out)
    least, most = (sum(line["calls"][end] for line in lines) for end in ("low", "high"))
    assert least <= run["calls"]["asked"] <= most, (least, run["calls"], most)
    measures = json.loads(tripos("report", "--json").out)["measures"]
    assert [row for measure in measures for row in measure["rows"] if row["value"] is not None]
    again = json.loads(tripos("run", ".", "--json", *options).out)["calls"]
    assert (again["asked"], again["reused"]) == (0, again["planned"] - again["skipped"])  # a judge asked of some alone
