"""Packaging: the Pythons that are claimed and tried, the workflow of a release, the container."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tests.placeholders import PUBLISHED, placeholders
from tripos.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
JOBS: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]
CONTAINER = (ROOT / "Containerfile").read_text("utf-8")
INSTRUCTION = re.compile(r"^([A-Z]+) ((?:.*\\\n)*.*)$", re.MULTILINE)


def claimed() -> list[str]:
    """Return the versions of Python that the package claims to run on."""
    prefix = "Programming Language :: Python :: "
    return [each.removeprefix(prefix) for each in PROJECT["project"]["classifiers"] if each.startswith(prefix)]


def commands(job: str) -> list[str]:
    """Return the commands of a job in order; a step that uses an action counts as the name of the action."""
    return [step.get("run", step.get("uses", "")) for step in JOBS[job]["steps"]]


def test_the_pythons_that_are_claimed_are_tried_before_a_release() -> None:
    assert PROJECT["project"]["requires-python"] == f">={claimed()[0]}"
    assert JOBS["try"]["strategy"]["matrix"]["python"] == claimed() == ["3.11", "3.12", "3.13", "3.14"]
    assert any("tests/bench/installed.py --wheel dist/*.whl" in each for each in commands("try"))
    assert [JOBS[job]["needs"] for job in ("try", "publish", "attach")] == ["build", "try", "publish"]


def test_a_release_has_the_documentation_in_its_wheel_and_the_extension_beside_it() -> None:
    steps = commands("build")

    def place(text: str) -> int:
        return next(index for index, each in enumerate(steps) if text in each)

    assert place("make docs") < place("hatchling build") < place("attest-build-provenance")
    assert place("make vscode") < place("tripos.vsix") < place("attest-build-provenance")
    assert PROJECT["tool"]["hatch"]["build"]["artifacts"] == ["tripos/handbook"]
    assert "tripos/handbook/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()
    [attach] = [each for each in commands("attach") if "gh release" in each]
    assert attach.endswith("extras/*")


def test_the_page_on_installing_has_every_extra_and_every_python() -> None:
    page = (ROOT / "docs/how-to/install.md").read_text("utf-8")
    named = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert named == sorted(named) and {*named} == {*PROJECT["project"]["optional-dependencies"]}
    assert all(version in page for version in claimed())


def test_no_step_of_a_release_takes_an_expression_into_its_command() -> None:
    for name in JOBS:
        assert not [each for each in commands(name) if "${{" in each], name


def test_the_container_has_a_fixed_python_and_a_user_without_rights() -> None:
    found = INSTRUCTION.findall(CONTAINER)
    images = [value.split()[0] for name, value in found if name == "FROM"]
    assert {re.fullmatch(r"docker\.io/library/python:([\d.]+)-slim-\w+", each)[1] for each in images} <= {*claimed()}  # type: ignore[index]
    last = len(found) - 1 - [name for name, _ in reversed(found)].index("FROM")
    names = [name for name, _ in found[last:]]
    assert names.index("USER") > names.index("RUN")
    assert dict(found)["USER"].isdigit() and dict(found)["USER"] != "0"
    assert dict(found)["ENTRYPOINT"] == '["tripos"]'
    assert "ADD" not in names and "--no-cache-dir" in CONTAINER


def test_the_container_is_built_without_what_git_and_tools_leave_behind() -> None:
    ignored = (ROOT / ".containerignore").read_text("utf-8").split()
    assert {".git", ".venv", "results", "**/node_modules"} <= set(ignored)
    kept = {"README.md", "LICENSE", "pyproject.toml", "specs", "docs", "tripos", "compiler", "runtime", "warehouse"}
    assert not kept & set(ignored)


def test_what_a_workflow_makes_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    made = {
        (path.name, target)
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for target in re.findall(r"\bmake (?:[A-Z]+=\S+ )*([a-z-]+)", path.read_text("utf-8"))
    }
    assert {("nightly.yml", "test-long"), ("release.yml", "audit")} <= made
    assert sorted(each for each in made if each[1] not in targets) == []


def test_every_action_is_pinned_by_the_hash_of_a_commit() -> None:
    files = [*(ROOT / ".github").rglob("*.yml"), ROOT / "action.yml"]
    uses = [line.strip() for path in files for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    assert len(uses) > 15
    assert not [line for line in uses if not re.search(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v[\d.]+$", line)]


def test_links_of_the_page_of_the_package_lead_to_files_of_the_repository() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    local = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    for rule in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    targets = re.findall(r"\]\(([^)]+)\)", text)
    linked = [target.split("/main/")[1].split("#")[0] for target in targets if "OWNER/tripos" in target]
    assert all(target.startswith("https://") for target in targets)
    assert sorted(linked) == sorted(local)
    assert len(linked) > 10
    assert [name for name in linked if not (ROOT / name).exists()] == []


def test_a_release_is_refused_while_a_placeholder_is_left(tmp_path: Path) -> None:
    steps = commands("build")
    assert steps.index("python -m tests.placeholders") < steps.index("make LOCKED=1 test")
    for name in PUBLISHED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("https://github.com/somebody/tripos\n", "utf-8")
    assert not list(placeholders(tmp_path))
    for name in PUBLISHED:
        (tmp_path / name).write_text("\nhttps://github.com/OWNER/tripos, write to X-CONTACT\n", "utf-8")
    assert len(list(placeholders(tmp_path))) == 2 * len(PUBLISHED)


def test_the_citation_and_the_changelog_are_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == PROJECT["project"]["version"] == __version__
    assert citation["license"] == PROJECT["project"]["license"]
    assert {"title", "authors", "message", "cff-version"} <= citation.keys()
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^### (.*)$", changes, re.MULTILINE)
    assert set(heads) <= {"Added", "Changed", "Deprecated", "Fixed", "Removed", "Security", "Scores"}
    assert re.findall(r"^## (.*)$", changes, re.MULTILINE)[0] == "Unreleased"


def test_issue_forms_ask_for_what_a_wrong_figure_needs() -> None:
    folder = ROOT / ".github/ISSUE_TEMPLATE"
    forms = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in folder.glob("*.yml")}
    assert forms.keys() == {"bug", "config", "feature", "wrong-figure"}
    labels = [part["attributes"].get("label", "") for part in forms["wrong-figure"]["body"]]
    assert {"Spec", "Run", "The query", "Figure that Tripos gives", "Figure that you expect"} <= set(labels)


def test_the_top_of_the_repository_holds_no_spec_or_rows() -> None:
    listed = subprocess.run(["git", "ls-files", "*"], cwd=ROOT, capture_output=True, text=True, check=False)
    at_top = [name for name in listed.stdout.splitlines() if "/" not in name]
    assert not listed.returncode and at_top
    assert not [name for name in at_top if name.endswith((".tripos", ".jsonl", ".csv", ".parquet"))]
