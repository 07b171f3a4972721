"""`tripos init`: a folder with a benchmark that runs at once, for each template, and what it refuses."""

from __future__ import annotations

import io
import json
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.conftest import Command
from tripos.cli.project_files import TEMPLATES

FILES = {"tripos.toml", ".env.example", ".gitignore", ".github/workflows/tripos.yml"}


class Terminal(io.StringIO):
    """Standard input at which somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(text))


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_is_well_formed_and_its_mocks_give_figures_that_differ(
    template: str, tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tripos("init", "my-bench", "--template", template, "--yes")
    assert (made.code, made.err) == (0, "")
    folder = tmp_path / "my-bench"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert FILES | {"my_bench.tripos"} < files
    lines = (folder / "my_bench.tripos").read_text("utf-8").splitlines()
    assert 15 <= len(lines) <= 48
    assert max(map(len, lines)) <= 120
    assert sum("# " in line for line in lines) >= 3
    monkeypatch.chdir(folder)
    checked = tripos("check", "my_bench.tripos", "--deny", "warnings")
    assert (checked.code, checked.err) == (0, "")
    assert tripos("fmt", "--check", ".").code == 0
    assert tripos("plan", "my_bench.tripos").code == 0
    run = tripos("run", "my_bench.tripos", "--json")
    assert run.code == 0, run.err
    assert "warning" not in run.err
    measures = tripos("report", "--json").data["measures"]
    values = [row["value"] for measure in measures for row in measure["rows"]]
    assert None not in values
    assert len({round(value, 6) for value in values}) > 1
    assert tripos("report").code == 0


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_commands_of_the_workflow_succeed(
    template: str, tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tripos("init", "quiz", "--template", template, "--yes", "--model", "openai/gpt-4o-mini")
    monkeypatch.chdir(tmp_path / "quiz")
    workflow = yaml.safe_load(Path(".github/workflows/tripos.yml").read_text("utf-8"))
    steps = workflow["jobs"]["check"]["steps"]
    [given] = [step["with"] for step in steps if "tripos@" in step.get("uses", "")]
    inputs = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text("utf-8"))["inputs"]
    assert set(given) <= set(inputs)
    assert tripos("check", "--deny", given["deny"], given["specs"]).code == 0
    commands = [shlex.split(step["run"]) for step in steps if "run" in step]
    assert [words[:2] for words in commands] == [["tripos", "fmt"], ["tripos", "run"], ["tripos", "report"]]
    for words in commands:
        done = tripos(*words[1:])
        assert done.code == 0, done.err


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_settings_have_models_for_every_role_in_every_profile(
    template: str, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    tripos("init", "quiz", "--template", template, "--yes")
    settings = tomllib.loads(Path("quiz/tripos.toml").read_text("utf-8"))
    roles = set(settings.get("roles", {}))
    assert set(settings["profiles"]) == {"local", "hosted"}
    assert set(settings["profiles"]["hosted"].get("roles", {})) == roles
    assert "local/smollm2-135m" in settings["profiles"]["local"]["models"]
    monkeypatch.chdir("quiz")
    planned = tripos("plan", "quiz.tripos", "--json", "--profile", "hosted")
    assert planned.code == 0, planned.err


def test_three_questions_are_asked_and_an_answer_that_is_none_is_asked_for_again(
    tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "fourth\n2\nletters\nmock/fair\n")
    done = tripos("init")
    assert done.code == 0
    assert "there is no template `fourth`" in done.out
    assert "benchmark letters " in Path("letters/letters.tripos").read_text("utf-8")
    assert tomllib.loads(Path("letters/tripos.toml").read_text("utf-8"))["models"] == ["mock/fair"]
    assert Path("letters/tasks.jsonl").is_file()  # of the second template, `judge`


def test_an_empty_answer_takes_what_the_brackets_show_and_what_was_given_is_not_asked_for(
    tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "\n\n\n")
    done = tripos("init")
    assert "template [qa]: " in done.out
    assert "name of the benchmark [qa]: " in done.out
    assert Path("qa/qa.tripos").is_file()
    typed(monkeypatch, "")
    assert tripos("init", "quiz", "--template", "rag", "--model", "mock/careful").code == 0
    assert tripos("init", "other", "--yes").code == 0


def test_an_end_of_the_answers_interrupts_and_writes_nothing(
    tripos: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    typed(monkeypatch, "1\n")
    assert tripos("init").code == 130
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_the_defaults_are_taken_and_said(tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n"))
    done = tripos("init")
    assert done.code == 0
    assert "no terminal to ask on: name `qa`, template `qa`" in done.err
    assert Path("qa/qa.tripos").is_file()


def test_the_next_commands_are_printed(tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tripos("init", "a b/my quiz", "--yes").out
    assert max(map(len, out.splitlines())) <= 80
    told = out.partition("next:\n")[2].splitlines()
    assert told[0].strip() == "cd 'a b/my quiz'"
    monkeypatch.chdir("a b/my quiz")
    for line in told[1:4]:
        words = shlex.split(line.strip().partition("  ")[0])
        assert tripos(*words[1:]).code == 0, line


def test_nothing_is_overwritten_and_nothing_is_written_where_a_file_is_in_the_way(
    tripos: Command, tmp_path: Path
) -> None:
    (tmp_path / "quiz").mkdir()
    (tmp_path / "quiz/tripos.toml").write_text("mine", "utf-8")
    done = tripos("init", "quiz", "--yes")
    assert done.code == 2
    assert "error[R0208]: `quiz` has `tripos.toml` already" in done.err
    assert [path.name for path in (tmp_path / "quiz").iterdir()] == ["tripos.toml"]
    assert (tmp_path / "quiz/tripos.toml").read_text("utf-8") == "mine"
    (tmp_path / "other").write_text("mine", "utf-8")
    done = tripos("init", "other", "--yes")
    assert (done.code, "`other` is a file" in done.err) == (2, True)


def test_a_folder_that_exists_is_filled_where_nothing_is_in_the_way(tripos: Command, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", "utf-8")
    done = tripos("init", ".", "--yes")
    assert done.code == 0
    assert "cd " not in done.out
    [spec] = tmp_path.glob("*.tripos")
    assert tripos("check", spec.name).code == 0


@pytest.mark.parametrize("name", ["2024", "a+b", "…", "-"])
def test_a_folder_that_cannot_name_a_benchmark_is_refused(name: str, tripos: Command, tmp_path: Path) -> None:
    done = tripos("init", "--yes", "--", name)
    assert done.code == 2
    assert "cannot name a benchmark" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_name_in_another_script_names_the_benchmark_and_a_key_in_an_env_file_is_not_committed(
    tripos: Command,
) -> None:
    assert tripos("init", "测验", "--yes").code == 0
    assert tripos("check", "测验/测验.tripos").code == 0
    assert ".env" in Path("测验/.gitignore").read_text("utf-8").splitlines()
    lines = Path("测验/.env.example").read_text("utf-8").splitlines()
    assert all(line.startswith("#") or line.endswith("=") for line in lines)


def test_inside_a_repository_the_workflow_has_the_path_from_its_root(tripos: Command, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    done = tripos("init", "specs/quiz", "--yes")
    assert "move `.github` to" in done.out
    text = Path("specs/quiz/.github/workflows/tripos.yml").read_text("utf-8")
    assert "specs: " + json.dumps("specs/quiz/quiz.tripos") in text
    assert tripos("fmt", "--check", "specs/quiz/quiz.tripos").code == 0


def test_a_benchmark_that_ships_is_copied_with_what_it_uses(
    tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tripos("init", "my-exam", "--from", "cjeval", "--yes", "--model", "openai/gpt-4o-mini")
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("made `my-exam` from `cjeval`: CJEval\n")
    folder = tmp_path / "my-exam"
    assert (folder / "my_exam.tripos").read_text("utf-8").count("benchmark my_exam ") == 1
    assert 'use "shared/choices.tripos"' in (folder / "tasks.tripos").read_text("utf-8")
    assert not list(folder.glob("*/embedded.tripos"))
    assert tomllib.loads((folder / "tripos.toml").read_text("utf-8"))["models"] == ["openai/gpt-4o-mini"]
    monkeypatch.chdir(folder)
    checked = tripos("check", ".")
    assert (checked.code, checked.err) == (0, "")
    assert tripos("fmt", "--check", ".").code == 0


def test_the_mock_models_of_a_benchmark_that_ships_come_along(tripos: Command, tmp_path: Path) -> None:
    assert tripos("init", "mine", "--from", "gallery/simpleqa", "--yes").code == 0
    settings = tomllib.loads((tmp_path / "mine/tripos.toml").read_text("utf-8"))
    assert (settings["models"], settings["roles"]) == (["mock/careful", "mock/careless"], {"judge": ["mock/fair"]})


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("gallery/nothing",), "E0108"),
        (("../tests/cases",), "E0108"),
        (("/etc",), "E0108"),
        (("cjeval", "--template", "qa"), "R0202"),
    ],
)
def test_only_what_ships_is_copied_and_no_template_beside_it(
    given: tuple[str, ...], code: str, tripos: Command, tmp_path: Path
) -> None:
    refused = tripos("init", "mine", "--from", *given, "--yes")
    assert (refused.code, code in refused.err) == (2, True)
    assert not (tmp_path / "mine").exists()


def test_a_benchmark_that_ships_runs_with_its_own_mock_models_where_no_model_is_given(
    tripos: Command, tmp_path: Path
) -> None:
    run = tripos("run", "gallery/simpleqa")
    assert run.code == 0
    assert "no model is given: mock models reply" in run.err
    assert "judge: mock/fair" in run.err
    named = tripos("run", "gallery/simpleqa", "--model", "mock/careful:ada", "--role", "judge=mock/severe")
    assert "no model is given" not in named.err
    assert "mock/fair" not in named.err
    copied = tmp_path / "copied"
    tripos("init", "copied", "--from", "gallery/simpleqa", "--yes")
    alone = tripos("run", str(copied))
    assert (alone.code, "R0201" in alone.err) == (2, True)
