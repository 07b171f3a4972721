"""`tripos check`: its formats, warnings that are denied or silenced, colours; `tripos explain`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import ITEMS, QUIZ, Command
from tests.each import each
from tripos.terminal import escape_controls
from tripos_compiler.diagnostics.codes import CODES, find_page
from tripos_compiler.diagnostics.text_format import display_width

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json").read_text("utf-8"))
ALLOW = "# allow W0309: the published file repeats a row"
DATASET = 'dataset item from "items.jsonl" {'
CAREFUL = ("--model", "mock/careful", "--role", "judge=mock/careful")


@pytest.fixture(autouse=True)
def uncoloured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repeated(quiz: Path) -> Path:
    """The quiz with a row that stands twice, which is a warning on line 6."""
    with (quiz / "items.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(ITEMS[1]))
    return quiz


@pytest.fixture
def quiet(repeated: Path) -> Path:
    """The quiz with a warning that is silenced."""
    (repeated / "quiz.tripos").write_text(QUIZ.replace(DATASET, f"{DATASET}  {ALLOW}"), "utf-8")
    return repeated


def test_a_warning_leaves_the_exit_code_at_0_where_another_code_is_denied_too(repeated: Path, tripos: Command) -> None:
    done = tripos("check", "quiz.tripos")
    assert done.code == 0
    assert "warning[W0309]" in done.err
    assert done.err.endswith("1 warning\n")
    denying = tripos("check", "quiz.tripos", "--deny", "W0110")
    assert (denying.code, denying.out, denying.err) == (0, done.out, done.err)


@pytest.mark.parametrize("denied", ["W0309", "w0309", "W0401,W0309", "warnings"])
@pytest.mark.parametrize("verb", ["check", "plan", "run"])
def test_a_denied_warning_is_an_error_of_every_verb(repeated: Path, tripos: Command, verb: str, denied: str) -> None:
    models = CAREFUL if verb == "run" else ()
    done = tripos(verb, "quiz.tripos", *models, "--deny", denied)
    assert done.code == 2
    assert "error[W0309]: row 4 of items.jsonl says what row 2 says" in done.err
    assert " = note: denied by --deny\n" in done.err
    assert not (repeated / "results").exists()


@pytest.mark.parametrize("denied", ["W0309", "warnings"])
def test_a_project_file_denies_too(repeated: Path, tripos: Command, denied: str) -> None:
    (repeated / "tripos.toml").write_text(f'[check]\ndeny = ["{denied}"]\n')
    done = tripos("check", "quiz.tripos")
    assert done.code == 2
    assert " = note: denied by `deny` in tripos.toml\n" in done.err
    (repeated / "tripos.toml").write_text('[check]\ndeny = ["W039"]\n')
    assert tripos("check", "quiz.tripos").err.startswith("error[R0202]: `deny` in tripos.toml: there is no code `W039`")


@pytest.mark.parametrize(("given", "hint"), [("W039", "W0399"), ("warning", "warnings"), ("R0101", None)])
def test_an_unknown_code_denied_is_answered_with_the_nearest(
    repeated: Path, tripos: Command, given: str, hint: str | None
) -> None:
    done = tripos("check", "quiz.tripos", "--deny", given)
    assert done.code == 2
    assert done.err.startswith(f"error[R0202]: --deny: there is no code `{given}` of a warning\n")
    assert hint is None or f"did you mean `{hint}`?" in done.err


def test_check_ends_with_what_is_silenced_and_plan_and_run_do_not_show_it(quiet: Path, tripos: Command) -> None:
    done = tripos("check", "quiz.tripos")
    told = "1 warning silenced: W0309 at quiz.tripos:6 (the published file repeats a row)\n"
    assert (done.code, done.err) == (0, told)
    assert tripos("check", "quiz.tripos", "--deny", "warnings").code == 0
    done = tripos("check", "quiz.tripos", "--format", "json")
    [item] = done.data
    assert (done.code, done.err) == (0, "")
    assert (item["code"], item["silenced"]) == ("W0309", {"reason": "the published file repeats a row"})
    assert tripos("plan", "quiz.tripos").err == ""
    assert "W0309" not in tripos("run", "quiz.tripos", *CAREFUL).err


def test_a_comment_in_vain_can_be_denied(quiz: Path, tripos: Command) -> None:
    (quiz / "quiz.tripos").write_text(QUIZ.replace(DATASET, f"{DATASET}  {ALLOW}"), "utf-8")
    assert tripos("check", "quiz.tripos").code == 0
    done = tripos("check", "quiz.tripos", "--deny", "W0110")
    assert (done.code, "error[W0110]" in done.err) == (2, True)


def sarif(done: Any) -> list[dict[str, Any]]:
    jsonschema.Draft7Validator(SCHEMA).validate(done.data)
    results: list[dict[str, Any]] = done.data["runs"][0]["results"]
    return results


def test_sarif_is_valid_and_has_results_of_every_path(quiz: Path, tripos: Command) -> None:
    (quiz / "one.tripos").write_text(QUIZ.replace("by judge", "by jugde"), "utf-8")
    (quiz / "two.tripos").write_text(QUIZ.replace("item.question }}", "item.questin }}"), "utf-8")
    done = tripos("check", "one.tripos", "two.tripos", "--format", "sarif")
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in sarif(done)]
    assert (done.code, done.err) == (2, "")
    assert places == ["one.tripos", "two.tripos", "two.tripos"]
    done = tripos("check", "quiz.tripos", "--format", "sarif")
    assert (done.code, sarif(done)) == (0, [])


def test_sarif_tells_what_is_denied_and_what_is_silenced(quiet: Path, tripos: Command) -> None:
    [silenced] = sarif(tripos("check", "quiz.tripos", "--format", "sarif"))
    assert (silenced["level"], silenced["suppressions"][0]["kind"]) == ("warning", "inSource")
    (quiet / "quiz.tripos").write_text(QUIZ, "utf-8")
    [denied] = sarif(tripos("check", "quiz.tripos", "--format", "sarif", "--deny", "warnings"))
    assert (denied["level"], denied["suppressions"]) == ("error", [])


def test_github_annotations_have_paths_from_the_workspace_or_from_here(
    repeated: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("quiz.tripos", str(repeated / "quiz.tripos")):
        assert "file=quiz.tripos," in tripos("check", path, "--format", "github").out
    monkeypatch.setenv("GITHUB_WORKSPACE", str(repeated.parent))
    done = tripos("check", "quiz.tripos", "--format", "github")
    assert done.code == 0
    assert done.out.startswith(f"::warning file={repeated.name}/quiz.tripos,line=6,endLine=6,col=19,")
    assert done.out.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": ""}, False),
    ],
)
def test_colours_are_shown_where_they_are_wanted(
    repeated: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], coloured: bool
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in tripos("check", "quiz.tripos").err) is coloured


def test_a_terminal_is_shown_colours_unless_it_is_told_not_to(
    repeated: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in tripos("check", "quiz.tripos").err
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in tripos("check", "quiz.tripos").err


def test_words_are_wrapped_at_the_width_of_the_terminal(
    repeated: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    lines = tripos("check", "quiz.tripos").err.splitlines()
    assert max(display_width(line) for line in lines) <= 44


@each("code", CODES)
def test_a_page_fits_80_columns_but_for_its_code(tripos: Command, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = tripos("explain", code).out
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert max(map(display_width, prose.splitlines())) <= 80
    page = find_page(code)
    assert page is not None
    assert text.split() == escape_controls(page).split()


def test_a_page_on_a_terminal_is_drawn_and_names_the_files_of_its_example(
    tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    text = re.sub(r"\x1b\[[\d;]*m", "", tripos("explain", "w0309").out)
    assert "```" not in text
    assert re.search(r"^items\.jsonl\s*$", text, re.MULTILINE)
    assert max(map(display_width, text.splitlines())) <= 80


def test_codes_are_explained_one_after_the_other_listed_or_answered_with_the_nearest(tripos: Command) -> None:
    text = tripos("explain", "e0501", "R0101").out
    assert re.findall(r"^# (\w+)", text, re.MULTILINE) == ["E0501", "R0101"]
    done = tripos("explain", "e06")
    assert done.out.splitlines() == [f"{code}  {CODES[code]}" for code in CODES if code.startswith("E06")]
    done = tripos("explain", "E05001")
    assert done.code == 2
    assert done.err.startswith(
        "error[R0202]: there is no code or word of the language `E05001`\n  = help: did you mean E0501?"
    )
