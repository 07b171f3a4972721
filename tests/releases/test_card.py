"""The card of a release, and the file that has what the tool cannot know."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from huggingface_hub import DatasetCard

from tests.conftest import Command
from tripos.cli.main import run_command
from tripos.releases.descriptions import croissant_faults
from tripos.releases.manifest import ResponsibleUse, read_release_toml
from tripos.releases.opening import open_release
from tripos_compiler.errors import TriposError

LESSONS = Path(__file__).parents[2] / "tests/compat/previous/title"


@pytest.mark.parametrize(
    ("spdx", "said", "named"),
    [
        ("CC-BY-4.0", "cc-by-4.0", None),
        ("GPL-3.0-or-later", "other", "GPL-3.0-or-later"),
        ("MIT AND CC0-1.0", "other", "MIT AND CC0-1.0"),
        ("LicenseRef-Mine", "other", "LicenseRef-Mine"),
    ],
)
def test_a_licence_that_the_hub_has_no_name_for_is_another(
    tmp_path: Path, spdx: str, said: str, named: str | None
) -> None:
    shutil.copytree(LESSONS, tmp_path / "spec")
    spec = tmp_path / "spec/spec.tripos"
    spec.write_text(spec.read_text("utf-8").replace("CC-BY-4.0", spdx), "utf-8")
    assert run_command(["release", str(spec), "--to", str(tmp_path / "to")]) == 0
    data = DatasetCard.load(tmp_path / "to/lessons-1.2.3/README.md").data.to_dict()
    assert (data["license"], data.get("license_name")) == (said, named)


@pytest.mark.parametrize("text", ["data = 3", "data = [1]", "[[data]]\na = 1", "[data]\nx = 3", "limits = 'one'"])
def test_a_file_about_a_release_that_says_something_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "release.toml").write_text(text, "utf-8")
    with pytest.raises(TriposError) as caught:
        read_release_toml(tmp_path)
    assert caught.value.code == "R0203"


def test_what_is_declared_of_the_data_stands_in_the_croissant_file_under_the_names_of_its_vocabulary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    shutil.copytree(LESSONS, tmp_path / "spec")
    monkeypatch.chdir(tmp_path)
    plain = tripos("release", "spec", "--to", "plain", "--json")
    assert plain.code == 0, plain.err
    said = {
        name: "one" if kind == "str | None" else ["one", "two"] for name, kind in ResponsibleUse.__annotations__.items()
    }
    lines = [f"{name} = {json.dumps(text)}" for name, text in said.items()]
    Path("spec/release.toml").write_text("limits = ['few']\n[rai]\n" + "\n".join(lines) + "\n", "utf-8")
    assert tripos("release", "spec", "--to", "rai").code == 0
    [without], [found] = (list(Path(name).glob("*/croissant.json")) for name in ("plain", "rai"))
    assert "rai:" not in json.dumps(
        {k: v for k, v in json.loads(without.read_text("utf-8")).items() if k != "@context"}
    )
    made = json.loads(found.read_text("utf-8"))
    for name, text in said.items():
        first, *rest = name.split("_")
        assert made["rai:" + first + "".join(each.capitalize() for each in rest)] == text, name
    assert made["rai:dataLimitations"] in ("few", ["few"])
    assert made["conformsTo"] == ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
    assert croissant_faults(found, open_release(found.parent).manifest) == []
    Path("spec/release.toml").write_text("[rai]\nbiases = 'none'\n", "utf-8")
    assert "R0203" in tripos("release", "spec", "--to", "other").err


CITED = """\
[citation]
doi = "10.5281/zenodo.1234567"
url = "https://example.org/lessons"
authors = [
  { family_names = "Noether", given_names = "Emmy", orcid = "https://orcid.org/0000-0001-2345-678X" },
  { name = "A school" },
]
"""
CITATION = {
    "cff-version": "1.2.0",
    "type": "dataset",
    "message": "Cite this benchmark as below.",
    "title": "Lessons",
    "version": "1.2.3",
    "abstract": "Lessons: Explain.",
    "authors": [
        {"family-names": "Noether", "given-names": "Emmy", "orcid": "https://orcid.org/0000-0001-2345-678X"},
        {"name": "A school"},
    ],
    "license": "CC-BY-4.0",
    "doi": "10.5281/zenodo.1234567",
    "url": "https://example.org/lessons",
    "date-released": "2026-11-24",
}
"""What the schema of CFF 1.2.0 accepted when this test was written."""


def test_a_citation_comes_with_a_release_that_names_its_authors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    shutil.copytree(LESSONS, tmp_path / "spec")
    monkeypatch.chdir(tmp_path)
    assert tripos("release", "spec", "--to", "plain").code == 0
    assert list(Path("plain").glob("*/CITATION.cff")) == []
    Path("spec/release.toml").write_text(CITED, "utf-8")
    assert tripos("release", "spec", "--to", "cited", "--date", "2026-11-24").code == 0
    [found] = Path("cited").glob("*/CITATION.cff")
    assert yaml.load(found.read_text("utf-8"), Loader=yaml.BaseLoader) == CITATION
    assert tripos("verify", str(found.parent)).code == 0
    found.write_text(found.read_text("utf-8").replace("Emmy", "Emma"), "utf-8")
    assert "CITATION.cff" in tripos("verify", str(found.parent)).out


@pytest.mark.parametrize("text", ["authors = []", "authors = [{}]", "authors = [{name='a'}]\ndoi='x'"])
def test_a_citation_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "release.toml").write_text(f"[citation]\n{text}\n", "utf-8")
    with pytest.raises(TriposError) as caught:
        read_release_toml(tmp_path)
    assert caught.value.code == "R0203"


TABLE = """
table main "Table 1: the marks" {
  rows   model
  column accuracy "marks"
  published "As printed" {
    | model     | marks |
    | lab/large | 0.5   |
  }
}
table other { rows model, column accuracy, differences from "a" beside values }
"""


def test_a_release_has_the_tables_that_its_benchmark_declares_in_any_language_of_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    shutil.copytree(LESSONS, tmp_path / "spec")
    spec = tmp_path / "spec/spec.tripos"
    monkeypatch.chdir(tmp_path)
    assert tripos("release", "spec", "--to", "plain").code == 0
    [plain] = Path("plain").glob("*-*")
    assert not (plain / "result-tables.json").exists() and "## Tables" not in (plain / "README.md").read_text("utf-8")
    spec.write_text(spec.read_text("utf-8") + TABLE, "utf-8")
    digests = set()
    for language in ("en", "zh"):
        monkeypatch.setenv("TRIPOS_LANG", language)
        made = tripos("release", "spec", "--to", language)
        assert made.code == 0, made.err
        [folder] = Path(language).glob("*-*")
        digests.add((folder / "manifest.json").read_bytes())
    assert len(digests) == 1
    tables = json.loads((folder / "result-tables.json").read_text("utf-8"))["tables"]
    assert [table["caption"] for table in tables] == ["Table 1: the marks", "other"]
    assert [row["model"] for row in tables[0]["rows"]] == ["…", "lab/large"]
    assert tables[0]["rows"][1]["marks"]["value"] == 0.5
    assert [column["heading"] for column in tables[1]["columns"]][-1] == "Δ"
    page = (folder / "result-tables.md").read_text("utf-8")
    assert "| lab/large | 0.500 |" in page and "As printed" in page
    card = (folder / "README.md").read_text("utf-8")
    assert "- `main`: Table 1: the marks" in card and "$ tripos report --table main" in card
    assert tripos("verify", str(folder)).code == 0
