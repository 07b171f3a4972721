"""The action for GitHub: which benchmarks it trusts, what it runs, and that no input becomes part of a command."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tripos_runtime.datasets.formats import DOCUMENT_READERS, PACKED, ROW_READERS

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
SCRIPT = ROOT / ".github/actions/check.sh"
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))


def run(tmp_path: Path, code: int = 0, said: str = "", **environ: str) -> tuple[int, list[str], str]:
    """Run the script with a stand-in for `tripos`, that says what it was called with and whether it trusts."""
    bin_ = tmp_path / "bin"
    bin_.mkdir(exist_ok=True)
    for name, text in (
        (
            "tripos",
            f'printf "%s" "$TRIPOS_UNTRUSTED" >>"$LOG"; printf "|%s" "$@" >>"$LOG"; echo >>"$LOG"; printf "{said}"; [ -z "{said}" ] || echo; exit {code}',
        ),
        ("git", "exit 0"),
    ):
        (bin_ / name).write_text(f"#!/bin/bash\n{text}\n")
        (bin_ / name).chmod(0o755)
    log = tmp_path / "log"
    log.write_text("")
    given = {"REPOSITORY": "lab/quiz", "SPECS": "specs/a\nspecs/b c\n", "LOG": str(log)} | environ
    path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(SCRIPT)], env={"PATH": path, **given}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    return done.returncode, log.read_text().splitlines(), done.stdout + done.stderr


def test_a_pull_request_from_a_fork_is_not_trusted_by_default() -> None:
    assert ACTION["inputs"]["untrusted"]["default"] == "auto"
    check = ACTION["runs"]["steps"][-1]
    assert check["env"]["UNTRUSTED"] == "${{ inputs.untrusted }}"
    assert check["env"]["HEAD_REPOSITORY"] == "${{ github.event.pull_request.head.repo.full_name }}"
    assert check["run"].endswith('.github/actions/check.sh"')


@pytest.mark.parametrize(
    ("environ", "untrusted"),
    [
        ({"EVENT": "pull_request", "HEAD_REPOSITORY": "stranger/quiz"}, "1"),
        ({"EVENT": "pull_request_target", "HEAD_REPOSITORY": "stranger/quiz"}, "1"),
        ({"EVENT": "pull_request", "HEAD_REPOSITORY": ""}, "1"),
        ({"EVENT": "issue_comment"}, "1"),
        ({}, "1"),
        ({"EVENT": "pull_request", "HEAD_REPOSITORY": "lab/quiz"}, "0"),
        ({"EVENT": "push"}, "0"),
        ({"EVENT": "push", "UNTRUSTED": "true"}, "1"),
        ({"EVENT": "pull_request", "HEAD_REPOSITORY": "stranger/quiz", "UNTRUSTED": "false"}, "0"),
    ],
)
def test_who_is_trusted(tmp_path: Path, environ: dict[str, str], untrusted: str) -> None:
    code, calls, _ = run(tmp_path, **environ)
    assert code == 0
    assert calls == [f"{untrusted}|check|--format|github|--|specs/a|specs/b c"]


def test_a_word_that_is_no_choice_is_refused(tmp_path: Path) -> None:
    code, calls, said = run(tmp_path, UNTRUSTED="perhaps\n::stop-commands::x")
    assert (code, calls) == (2, []) and "::stop-commands" not in said
    assert run(tmp_path, SPECS="\n")[0] == 2


def test_a_pull_request_is_checked_and_its_changes_are_shown(tmp_path: Path) -> None:
    summary = tmp_path / "summary"
    environ = {"EVENT": "pull_request", "HEAD_REPOSITORY": "x/y", "BASE_SHA": "abc", "DATA": "d", "DENY": "warnings"}
    code, calls, _ = run(tmp_path, **environ, GITHUB_STEP_SUMMARY=str(summary))
    assert code == 0 and calls == [
        "1|check|--format|github|--data=d|--deny=warnings|--|specs/a|specs/b c",
        "1|diff|--format|github|--data=d|--|abc:specs/a|specs/a",
        "1|diff|--format|github|--data=d|--|abc:specs/b c|specs/b c",
    ]
    assert len(run(tmp_path, **environ, DIFF="false")[1]) == 1
    assert run(tmp_path, 2, **environ)[0] == 2


def test_changes_are_shown_with_the_figures_of_a_store_and_written_as_a_comment(tmp_path: Path) -> None:
    environ = {"EVENT": "pull_request", "HEAD_REPOSITORY": "lab/quiz", "BASE_SHA": "abc", "SPECS": "a", "STORE": "kept"}
    gh = tmp_path / "bin/gh"
    gh.parent.mkdir()
    gh.write_text('#!/bin/bash\nprintf "gh" >>"$LOG"; printf "|%s" "$@" >>"$LOG"; echo >>"$LOG"\n')
    gh.chmod(0o755)
    summary = str(tmp_path / "summary")
    _, calls, _ = run(tmp_path, **environ, GITHUB_STEP_SUMMARY=summary)
    assert calls[1:] == ["0|diff|--format|github|--store=kept|--|abc:a|a"]
    _, calls, _ = run(tmp_path, **environ, COMMENT="true", NUMBER="7", GITHUB_STEP_SUMMARY=summary)
    assert len(calls) == 2  # nothing changed that could be told: the stand-in prints nothing
    stand_in = tmp_path / "bin/tripos"
    assert stand_in.read_text().startswith("#!")
    _, calls, _ = run(tmp_path, said="changes", **environ, COMMENT="true", NUMBER="7", GITHUB_STEP_SUMMARY=summary)
    asked = [call for call in calls if call.startswith("gh")]
    assert asked[0].startswith("gh|api|--paginate|repos/lab/quiz/issues/7/comments|--jq|")
    assert asked[1].startswith("gh|api|--silent|repos/lab/quiz/issues/7/comments|-F|body=@")


def test_two_runs_are_compared(tmp_path: Path) -> None:
    given = {"EVENT": "push", "SPECS": "a", "STORE": "kept", "COMPARE": "one two", "JUNIT": "x.xml"}
    code, calls, _ = run(tmp_path, **given)
    assert code == 0 and calls[1:] == ["0|compare|--junit=x.xml|--store=kept|--|one|two"]
    code, calls, _ = run(tmp_path, **given, WITHIN="right=0.02 0.3")
    assert code == 0
    assert calls[1:] == ["0|compare|--junit=x.xml|--store=kept|--within=right=0.02|--within=0.3|--|one|two"]


def test_no_input_becomes_part_of_a_command(tmp_path: Path) -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "") and "python -m" not in step.get("run", "")
    code, calls, _ = run(tmp_path, EVENT="push", SPECS="$(touch made)\n; touch made\n--allow-outside")
    assert code == 0 and not (tmp_path / "made").exists()
    assert calls == ["0|check|--format|github|--|$(touch made)|; touch made|--allow-outside"]


def test_the_words_of_the_action_are_those_of_the_command_line(tmp_path: Path) -> None:
    from tripos.cli.parser import build_parser

    said = build_parser("check").parse_args(["check", "--format", "github", "--data=d", "--deny=x", "--", "a", "-b"])
    assert (said.paths, said.data, said.deny) == (["a", "-b"], ["d"], ["x"])
    given = ["diff", "--format", "github", "--data=d", "--store=s", "--", "abc:a", "a"]
    said = build_parser("diff").parse_args(given)
    assert (said.before, said.after, said.store) == ("abc:a", "a", "s")
    given = ["compare", "--junit=x.xml", "--store=s", "--within=right=0.02", "--", "one", "two"]
    said = build_parser("compare").parse_args(given)
    assert (said.runs, said.junit, said.store) == (["one", "two"], "x.xml", "s")
    assert said.within == [("right", 0.02)]


def test_the_hooks_call_verbs_that_are_there() -> None:
    from tripos.cli.parser import COMMANDS

    assert {each["entry"].split()[1] for each in HOOKS} == {"fmt", "check"} <= set(COMMANDS)
    assert all(re.search(each["files"], "specs/mine.tripos") for each in HOOKS)


@pytest.mark.parametrize("packed", ["", *PACKED])
def test_the_hook_that_checks_runs_for_every_kind_of_file_that_a_spec_reads(packed: str) -> None:
    [check] = (each for each in HOOKS if each["id"] == "tripos-check")
    for suffix in (".tripos", ".py", *ROW_READERS, *DOCUMENT_READERS):
        assert re.search(check["files"], f"data/items{suffix}{packed}"), suffix
    assert not re.search(check["files"], "README.md")


def test_what_the_action_installs_is_cached() -> None:
    steps = ACTION["runs"]["steps"]
    cached = next(each["with"] for each in steps if each.get("uses", "").startswith("actions/cache@"))
    assert cached["path"] == "~/.cache/pip" and "github.action_ref" in cached["key"]
    for name in ("ci", "nightly"):
        workflow = (ROOT / f".github/workflows/{name}.yml").read_text("utf-8")
        assert workflow.count("cache: pip") == workflow.count("actions/setup-python@")


def test_the_page_names_the_inputs() -> None:
    page = (ROOT / "docs/how-to/run-in-ci.md").read_text("utf-8")
    assert all(f"`{name}`" in page for name in ACTION["inputs"])
    assert all(each["id"] in page for each in HOOKS)
