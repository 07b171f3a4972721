"""`tripos export hub`: files that huggingface_hub parses, with the figures of the report and no secrets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import SpaceCard, parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results

from tests.conftest import Command
from tests.interchange.logged import run_exam
from tripos_warehouse.exports.hub import task_ids
from tripos_warehouse.exports.units import ExportedFigure

ARGUMENTS = ("export", "hub", "-o", "out", "--dataset", "school/exam")


@pytest.fixture(autouse=True)
def ran(quiz: Path, once: Command) -> None:
    run_exam(once)


def read(path: str) -> Any:
    return yaml.safe_load(Path(path).read_text("utf-8"))


def reported(tripos: Command) -> dict[tuple[str, str], float]:
    """Return every value of the report by its model and its task."""
    return {
        (row["model"], ".".join([measure["name"], *([row["metric"]] if "metric" in row else [])])): row["value"]
        for measure in tripos("report", "--json").data["measures"]
        for row in measure["rows"]
    }


def test_huggingface_hub_parses_the_results_of_every_model(tripos: Command) -> None:
    assert tripos(*ARGUMENTS, "--source", "https://example.org/exam", "--organization", "school").code == 0
    found = {}
    for model in ("mock/careful", "mock/careless", "mock/refuses"):
        folder = f"out/models/{model.replace('/', '__')}"
        for entry in parse_eval_result_entries(read(f"{folder}/.eval_results/exam.yaml")):
            found[model, entry.task_id] = entry.value
            assert (entry.dataset_id, entry.source_url, entry.source_org) == (
                "school/exam",
                "https://example.org/exam",
                "school",
            )
            assert "scores of" in (entry.notes or "") and "exam 1.0.0" in (entry.notes or "")
        name, results = model_index_to_eval_results(read(f"{folder}/model-index.yaml")["model-index"])
        assert name == model
        assert {(model, each.metric_type): each.metric_value for each in results} == {
            key: value for key, value in found.items() if key[0] == model
        }
    assert found == reported(tripos) and len(found) == 9


def test_eval_yaml_has_a_task_for_each_value_of_a_measure(tripos: Command) -> None:
    assert tripos(*ARGUMENTS).code == 0
    told = read("out/dataset/eval.yaml")
    assert list(told) == ["name", "description", "evaluation_framework", "tasks"]
    assert {each["id"] for each in told["tasks"]} == {task for _, task in reported(tripos)}
    assert all(each.keys() == {"id", "config", "split"} for each in told["tasks"])


def texts_of_store(tripos: Command) -> set[str]:
    """Return every text that a board of figures must not have: of items, messages, replies, judgements and the spec."""
    found = {line.strip() for line in Path("exam.tripos").read_text("utf-8").splitlines() if len(line.strip()) > 12}
    for query in (
        "select unnest(json_extract_string(fields, ['$.question', '$.answer'])) as t from exam.items",
        "select reply as t from exam.samples union select messages ->> '$[-1].content' from exam.samples",
        "select reply as t from exam.judgements union select messages ->> '$[-1].content' from exam.judgements",
        "select reason as t from exam.rationales union select item_id from exam.items",
    ):
        done = tripos("sql", query, "--format", "json")
        assert done.code == 0, done.err
        found |= {row["t"] for row in done.data if row["t"] and len(row["t"]) > 3}
    return found


def shown_by(folder: Path) -> str:
    """Return the data of a board as text, with what JSON escapes as it is meant."""
    page = (folder / "index.html").read_text("utf-8")
    data = re.search(r'<script type="application/json" id="tripos-data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    return json.dumps(json.loads(data[1]), ensure_ascii=False)


def test_the_board_shows_figures_alone_unless_more_is_chosen(tripos: Command) -> None:
    texts = texts_of_store(tripos)
    assert len(texts) > 60
    assert tripos("run", "exam.tripos", "--model", "mock/noisy", "--role", "judge=mock/careful:j").code == 0
    runs = [row["run_id"] for row in tripos("list", "--json").data]
    first = next(row["run_id"] for row in tripos("list", "--json").data if "mock/refuses" in row["models"])
    for more in ((), ("--content",)):  # a secret field is shown by --secrets alone
        done = tripos(*ARGUMENTS[:2], first, *ARGUMENTS[2:], *more)
        assert done.code == 0 and "the board shows figures alone" in done.out
        assert SpaceCard.load(Path("out/space/README.md")).data.sdk == "static"
        assert {path.name for path in Path("out/space").iterdir()} == {"README.md", "index.html", "tripos-view.json"}
        shown = shown_by(Path("out/space"))
        escaped = json.dumps(shown, ensure_ascii=False)
        assert [text for text in texts if text in shown or text in escaped] == []
        assert [run for run in runs if run in shown] == [first] and "mock/noisy" not in shown
        assert all(f'"value": {value}' in shown for value in reported_of(tripos, first) if value is not None)
    assert tripos(*ARGUMENTS, "--secrets").code == 0
    assert (Path("out/space") / "view.js").is_file()


def test_a_board_without_secrets_shows_replies_when_asked(tripos: Command) -> None:
    spec = Path("exam.tripos").read_text("utf-8").replace("answer    text secret", "answer    text")
    Path("open.tripos").write_text(spec, "utf-8")
    assert tripos("run", "open.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:j").code == 0
    assert "`--content` shows items and replies too" in tripos(*ARGUMENTS).out
    assert not list(Path("out/space").rglob("*.parquet"))
    assert "every item, reply and judgement" in tripos(*ARGUMENTS, "--content").out
    assert list(Path("out/space").rglob("samples.parquet"))


def reported_of(tripos: Command, run: str) -> list[float]:
    report = tripos("report", run, "--json").data["measures"]
    return [row["value"] for measure in report for row in measure["rows"]]


@pytest.mark.parametrize("name", ["exam", "a/b/c", "../x", "a b/c", ""])
def test_what_is_no_data_set_of_the_hub_is_refused(tripos: Command, name: str) -> None:
    done = tripos("export", "hub", "-o", "out", "--dataset", name)
    assert done.code == 2 and "is no data set of the Hub" in done.err and not Path("out").exists()


def test_results_belong_to_a_data_set(tripos: Command) -> None:
    done = tripos("export", "hub", "-o", "out")
    assert done.code == 2 and "--dataset OWNER/NAME" in done.err


def test_values_whose_names_differ_in_marks_alone_have_tasks_of_their_own() -> None:
    rows = [
        ExportedFigure(1.0, n=1, name=f"m [{value}]", source="m", items=1, without_value=0, by={"level": value})
        for value in ("a b", "a-b", "a_b")
    ]
    assert len(set(task_ids(rows).values())) == 3
