"""Every command has `--json`, which prints one JSON document and nothing else on standard output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command, Doing
from tripos.settings.option import Parameters
from tripos.settings.options import JSON, PARAMETERS

WITHOUT = {
    "completion": "its output is a script for a shell",
    "lsp": "it speaks the protocol of editors",
    "mcp": "it speaks the protocol of agents",
    "import tree": "its output is a tree in YAML",
}
"""Commands without the option, with the reason."""
NOT_RUN = {
    "teach": "a person types the replies, so the option is refused",
    "import scores": "tests/command/test_import_scores.py",
    "import samples": "tests/command/test_import_samples.py",
    "import logs": "tests/moving",
    "import task": "tests/moving",
    "approve": "tests/command/test_trees.py",
    "export": "tests/warehouse",
    "train sft": "tests/training: it trains a model",
    "train reward": "tests/training: it trains a model",
    "store mirror": "tests/warehouse/test_mirroring.py",
}
"""Commands that this file does not run, with the reason, or the tests that run them with the option."""
RUN = ("run", "quiz.tripos", "--model", "mock/careful,mock/careless", "--role", "judge=mock/fair")
MADE = (RUN, ("release", "quiz.tripos"), ("annotate", "--name", "anna"))
EXAMPLES = {
    "init": ("init", "fresh"),
    "new": ("new", "scenario", "more"),
    "check": ("check", "quiz.tripos"),
    "fmt": ("fmt", "quiz.tripos"),
    "describe": ("describe", "quiz.tripos"),
    "explain": ("explain", "E0201", "E03", "scenario"),
    "docs": ("docs", "--print"),
    "plan": ("plan", "quiz.tripos"),
    "run": RUN,
    "report": ("report",),
    "view": ("view", "--to", "page"),
    "compare": ("compare",),
    "leaderboard": ("leaderboard",),
    "history": ("history", "length"),
    "judges": ("judges",),
    "plot": ("plot", "leaderboard", "--out", "board.vl.json"),
    "sql": ("sql", "select 1 as one"),
    "list": ("list",),
    "show": ("show", "KEY"),
    "why": ("why", "KEY"),
    "annotate": ("annotate", "--take", "anna.xlsx", "--partial"),
    "import dataset": ("import", "dataset", "items.jsonl"),
    "emit": ("emit", "jsonschema", "quiz.tripos", "-o", "schemas"),
    "release": ("release", "quiz.tripos"),
    "fetch": ("fetch", "quiz.tripos"),
    "verify": ("verify", "releases/quiz-1.0.0"),
    "diff": ("diff", "quiz.tripos", "quiz.tripos"),
    "promote": ("promote", "--list"),
    "attest": ("attest",),
    "lock": ("lock", *RUN[1:]),
    "doctor": ("doctor",),
    "store gc": ("store", "gc"),
    "store compact": ("store", "compact"),
    "store merge": ("store", "merge", "results", "--into", "merged"),
    "store check": ("store", "check"),
    "store batches": ("store", "batches"),
}


def _declared() -> dict[str, type[Parameters]]:
    """Return the parameters of every command and action."""
    found: dict[str, type[Parameters]] = {}
    for name, parameters in PARAMETERS.items():
        if isinstance(parameters, dict):
            found |= {f"{name} {action}": inner for action, (_, inner) in parameters.items()}
        else:
            found[name] = parameters
    return found


def test_every_command_has_the_option_or_a_reason() -> None:
    lacking = {name for name, each in _declared().items() if JSON.name not in {option.name for option in each.options}}
    assert lacking == set(WITHOUT)
    assert {*EXAMPLES, *NOT_RUN, *WITHOUT} == set(_declared())
    assert not EXAMPLES.keys() & NOT_RUN.keys()


@pytest.fixture
def folder(quiz: Path, tripos: Command, done_once: Doing) -> Path:
    """A folder with a run of the quiz, a release of it, and a sheet for a person."""
    (quiz / "handbook").mkdir()
    (quiz / "handbook" / "index.html").write_text("", "utf-8")
    (quiz / "handbook" / "redirects.json").write_text("{}", "utf-8")
    text = (quiz / "quiz.tripos").read_text("utf-8")
    (quiz / "quiz.tripos").write_text(text.replace("languages en", 'languages en\n  license "CC-BY-4.0"'), "utf-8")
    done_once(("a run, a release and a sheet",), lambda: [_succeed(tripos, command) for command in MADE])
    return quiz


def _succeed(tripos: Command, command: tuple[str, ...]) -> None:
    done = tripos(*command)
    assert done.code == 0, done.err


@pytest.mark.parametrize("name", EXAMPLES)
def test_one_document_is_printed(name: str, folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos.cli.help.HANDBOOK", folder / "handbook")
    monkeypatch.setattr("tripos.cli.help.BUILDER", folder / "none.py")
    words = EXAMPLES[name]
    if "KEY" in words:
        [key] = tripos("sql", "select sample_id from samples order by all limit 1", "--json").data
        words = tuple(key["sample_id"] if word == "KEY" else word for word in words)
    done = tripos(*words, "--json")
    assert done.code in (0, 1), done.err
    assert json.dumps(json.loads(done.out)), name


@pytest.mark.parametrize(
    "words",
    [
        ("import", "dataset", "items.jsonl", "--name", "another", "--in", "quiz.tripos"),
        *(("export", "distillation", "--format", form, "-o", "t.jsonl") for form in ("chat", "completion")),
    ],
)
def test_other_forms_of_a_command_print_one_document(words: tuple[str, ...], folder: Path, tripos: Command) -> None:
    done = tripos(*words, "--json")
    assert done.code == 0, done.err
    assert done.data


def test_a_failure_after_the_document_leaves_it_whole(folder: Path, tripos: Command) -> None:
    """The grades of a sheet that nobody filled in are refused, and the document says why."""
    done = tripos("annotate", "--take", "anna.xlsx", "--json")
    assert (done.code, "S0705" in done.err) == (1, True)
    assert done.data["faults"]


def test_several_runs_print_a_document_each(folder: Path, tripos: Command) -> None:
    (folder / "other.tripos").write_text((folder / "quiz.tripos").read_text("utf-8"), "utf-8")
    done = tripos("run", "quiz.tripos", "other.tripos", "nothing.tripos", *RUN[2:], "--json")
    documents = [json.loads(line) for line in done.out.splitlines()]
    assert [(each["path"], each["exit_code"]) for each in documents] == [
        ("quiz.tripos", 0),
        ("other.tripos", 0),
        ("nothing.tripos", 2),
    ]
    assert documents[2]["error"]["code"] == "E0108"
