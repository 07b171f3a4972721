"""`tripos import task`: a task of lm-eval as a spec, and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.each import each
from tripos.cli.main import run_command
from tripos.importing.tasks.lm_eval import read_task, spec_of
from tripos_compiler.errors import TriposError

QUIZ = """
task: quiz
dataset_path: json
dataset_kwargs: {data_files: {test: items.jsonl, train: worked.jsonl}}
output_type: multiple_choice
test_split: test
training_split: train
doc_to_text: "{{question}}"
doc_to_choice: "{{[first, second]}}"
doc_to_target: right
metric_list:
  - {metric: acc}
  - {metric: acc_norm}
  - {metric: acc_bytes}
  - {metric: brier_score}
  - {metric: mcc}
"""
ROWS = [
    {"question": "Which is a river?", "first": "the Rhine", "second": "Mont Blanc", "right": 0},
    {"question": "Which is a bird?", "first": "a trout", "second": "a wren", "right": 1},
    {"question": "Which is a tree?", "first": "an oak", "second": "a stone", "right": 0},
]


def put(folder: Path, task: str, rows: list[dict[str, Any]] = ROWS) -> Path:
    """Write a task and its rows into a folder."""
    worked = [{"question": "Which is a fish?", "first": "a carp", "second": "a cart", "right": 0}]
    for name, some in (("items", rows), ("worked", worked)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in some), "utf-8")
    (folder / "task.yaml").write_text(task, "utf-8")
    return folder / "task.yaml"


def imported(folder: Path, *words: str) -> int:
    """Run `tripos import task` for the task of a folder."""
    return run_command(["import", "task", str(folder / "task.yaml"), "-o", str(folder / "out"), *words])


def checked(folder: Path) -> int:
    """Return the exit code of `tripos check` of the only spec that was written."""
    [spec] = (folder / "out").glob("*.tripos")
    return run_command(["check", str(spec)])


def test_a_target_within_a_record_is_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = """task: quiz
dataset_path: json
dataset_kwargs: {data_files: {test: items.jsonl}}
output_type: generate_until
test_split: test
doc_to_text: "{{question}}"
doc_to_target: "{{answer.value}}"
metric_list: [{metric: exact_match}]
"""
    put(tmp_path, task, [{"question": "Which is a river?", "answer": {"value": "the Rhine"}}])
    assert imported(tmp_path) == 0
    assert checked(tmp_path) == 0, capsys.readouterr().err
    assert "answer secret { value text }" in " ".join((tmp_path / "out" / "quiz.tripos").read_text("utf-8").split())
    (tmp_path / "items.jsonl").unlink()
    capsys.readouterr()
    assert imported(tmp_path, "--replace", "--json") == 0
    told = json.loads(capsys.readouterr().out)["parts"]
    assert "the target `{{answer.value}}` is a text, and no list" in [each.get("why") for each in told]


def test_a_spec_checks_and_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, QUIZ)
    assert imported(tmp_path, "--shots", "1") == 0
    assert "approximately" in capsys.readouterr().out  # the worked examples are drawn
    assert checked(tmp_path) == 0
    assert imported(tmp_path) == 2
    assert "has items.jsonl, quiz.tripos already" in capsys.readouterr().err
    assert imported(tmp_path, "--replace", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["task"], told["whole"]) == ("quiz", True)
    assert "shots" not in (tmp_path / "out" / "quiz.tripos").read_text("utf-8")


def test_includes_are_read_and_the_nearer_file_counts(tmp_path: Path) -> None:
    put(tmp_path, QUIZ)
    (tmp_path / "mine.yaml").write_text("include: task.yaml\ntask: mine\ntask_alias: 'My {{quiz}}'\n", "utf-8")
    made = spec_of(read_task(tmp_path / "mine.yaml"), (tmp_path,))
    assert made.name == "mine" and 'title "My {quiz}"' in made.text and made.is_complete
    (tmp_path / "circle.yaml").write_text("include: circle.yaml\ntask: circle\n", "utf-8")
    with pytest.raises(TriposError, match="includes itself"):
        read_task(tmp_path / "circle.yaml")


@each(
    "change,part",
    [
        ('doc_to_text: !function "utils.text"', "question"),
        ("doc_to_text: '{{question.title()}}'", "question"),
        ("process_docs: !function utils.rows", "data"),
        ("process_results: !function utils.results", "scores"),
        ("metric_list: [{metric: wer}]", "scores"),
        (
            "output_type: loglikelihood\nmetric_list: [{metric: acc, aggregation: !function utils.f}, {metric: x}]",
            "metric x",
        ),
    ],
)
def test_a_part_without_counterpart_is_a_hole_that_does_not_check(
    change: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, QUIZ + change + "\n")
    assert imported(tmp_path, "--json", "--replace") == 1
    told = json.loads(capsys.readouterr().out)
    assert next(each["part"] for each in told["parts"] if each["translated"] == "not") == part
    text = (tmp_path / "out" / "quiz.tripos").read_text("utf-8")
    if part in ("question", "scores"):
        assert "HOLE" in text and change.partition(":")[0] in text
    if not part.startswith("metric"):
        assert checked(tmp_path) == 2


def test_a_secret_stays_one_unless_it_is_shown(tmp_path: Path) -> None:
    put(tmp_path, QUIZ)
    text = spec_of(read_task(tmp_path / "task.yaml"), (tmp_path,)).text
    assert "right    integer secret" in text and "first    text\n" in text


def test_without_data_types_come_from_the_templates(tmp_path: Path) -> None:
    task = QUIZ.replace("json\ndataset_kwargs", "ours/quiz\nx").replace(
        '"{{question}}"', '"{{question.strip()}} {% for o in others %}{{o}}{% endfor %} {{made.label[0]}}"'
    )
    put(tmp_path, task)
    made = spec_of(read_task(tmp_path / "task.yaml"))
    assert '"hf://ours/quiz@~parquet/default/test/0000.parquet"' in made.text
    for line in ("others   list<text>", "made     { label list<text> }", "right    integer secret"):
        assert line in made.text
    assert any("the target `right` is a position" in each.why for each in made.notes)


@each(
    "content,says",
    [("a: [", "no YAML"), ("- a", "no mapping"), ("a: 1", "neither `task` nor `group`")],
)
def test_a_file_that_is_no_task_is_refused(
    content: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "task.yaml").write_text(content, "utf-8")
    assert imported(tmp_path) == 2
    assert says in capsys.readouterr().err


def test_a_task_of_a_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, QUIZ)
    assert run_command(["import", "task", str(tmp_path), "--task", "quizz"]) == 2
    assert "did you mean `quiz`" in capsys.readouterr().err
    assert run_command(["import", "task", str(tmp_path), "--task", "quiz", "-o", str(tmp_path / "out")]) == 0


GROUP = """
group: every
group_alias: Every task
num_fewshot: 1
fewshot_config: {sampler: first_n}
task:
  - quiz
  - {group: inner, task: [{task: other, doc_to_text: "Other: {{question}}"}], aggregate_metric_list: [{metric: acc}]}
  - tagged
aggregate_metric_list:
  - {metric: acc, weight_by_size: true}
  - {metric: acc_norm, weight_by_size: false}
"""


def test_a_group_is_one_spec_with_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, QUIZ)
    (tmp_path / "other.yaml").write_text("include: task.yaml\ntask: other\n", "utf-8")
    (tmp_path / "third.yaml").write_text("include: task.yaml\ntask: third\ntag: [tagged]\n", "utf-8")
    (tmp_path / "every.yaml").write_text(GROUP, "utf-8")
    out = tmp_path / "out"
    assert run_command(["import", "task", str(tmp_path / "every.yaml"), "-o", str(out)]) == 0
    assert "question (3 of 3 tasks)" in capsys.readouterr().out
    text = (out / "every.tripos").read_text("utf-8")
    assert text.count("shots 1 from") == 3 and text.count('"Other: {{ doc.question }}"') == 1
    assert 'measure every_acc "Every task"' in text and text.count("score every_acc ") == 3
    assert "mean(mean(every_acc_norm) by scenario)" in text and text.count("score inner_acc ") == 1
    store = str(tmp_path / "store")
    assert run_command(["run", str(out / "every.tripos"), "--model", "mock/careful", "--store", store]) == 0
    capsys.readouterr()
    assert run_command(["report", "--store", store, "--json"]) == 0
    figures = {each["name"]: each["rows"][0] for each in json.loads(capsys.readouterr().out)["measures"]}
    parts = [figures[f"{name}.acc_norm"]["value"] for name in ("quiz", "other", "third")]
    assert figures["every_acc_norm"]["value"] == pytest.approx(sum(parts) / 3)
    assert figures["inner_acc"]["value"] == figures["other.acc"]["value"]
    (tmp_path / "every.yaml").write_text(GROUP.replace("- quiz", "- missing"), "utf-8")
    assert run_command(["import", "task", str(tmp_path / "every.yaml"), "-o", str(out), "--replace"]) == 2
    assert "has a member `missing`" in capsys.readouterr().err


def test_python_is_run_if_it_is_asked_for_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, QUIZ + "process_docs: !function marks.rows\n")
    (tmp_path / "marks.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", "utf-8")
    assert imported(tmp_path) == 1 and not (tmp_path / "ran").exists()
    assert "--run-python writes its rows" in " ".join(capsys.readouterr().out.split())
    assert imported(tmp_path, "--replace", "--python", "python") == 2
    assert "`--python` needs `--run-python`" in capsys.readouterr().err
    assert imported(tmp_path, "--replace", "--run-python", "--python", str(tmp_path / "none")) == 2
    assert "could not run" in capsys.readouterr().err
    monkeypatch.setenv("TRIPOS_UNTRUSTED", "1")
    assert imported(tmp_path, "--replace", "--run-python") == 2
    assert "R0270" in capsys.readouterr().err and not (tmp_path / "ran").exists()
