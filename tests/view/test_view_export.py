"""A view as a folder and as one file: complete, bounded, and of text alone."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pyarrow.parquet as pq

from tests.conftest import Command
from tripos.view.export import write_report
from tripos.view.files import ViewFiles


def test_a_folder_has_every_file_and_its_twin_for_a_page_from_disk(ran: Path, tripos: Command) -> None:
    outcome = tripos("view", "--to", "site")
    assert outcome.code == 0 and "site/index.html" in outcome.out
    index = json.loads(Path("site/index.json").read_bytes())
    run = index["runs"][0]["run_id"]
    paths = ["index.json", "benchmarks/quiz.json", f"runs/{run}/report.json", f"runs/{run}/judges.json"]
    paths.append(f"runs/{run}/items.json")
    paths.append(f"compare/{run}.0~{run}.1.json")
    tables = json.loads(Path(f"site/runs/{run}/tables.json").read_bytes())["tables"]
    paths += [table["path"] for table in tables.values()]
    for path in paths:
        data = (Path("site") / path).read_bytes()
        twin = re.fullmatch(r'tripos_file\("(.*)","(.*)"\);\n', (Path("site") / f"{path}.js").read_text("ascii"))
        assert twin is not None and twin[1] == path and base64.b64decode(twin[2]) == data
    assert pq.read_table(Path("site") / tables["samples"]["path"]).num_rows == 10


def test_a_folder_with_something_else_is_left_alone(ran: Path, tripos: Command) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("mine")
    outcome = tripos("view", "--to", "mine")
    assert outcome.code != 0 and "S0703" in outcome.err
    assert [path.name for path in Path("mine").iterdir()] == ["thesis.txt"]


def test_a_folder_that_is_a_view_is_written_anew(ran: Path, tripos: Command) -> None:
    assert tripos("view", "--to", "site").code == 0
    Path("site/runs/old.json").write_text("{}")
    Path("site/CNAME").write_text("bench.example.org")
    Path("site/.git").mkdir()
    for own in ("site/own.json", "site/.git/own.json"):
        Path(own).write_text("{}")
    assert tripos("view", "--to", "site").code == 0
    assert not Path("site/runs/old.json").exists()
    assert Path("site/CNAME").read_text() == "bench.example.org"  # which people put beside a published page
    assert not [*Path("site").rglob("own.json.js")]


def test_a_folder_of_one_run_has_no_other(ran: Path, tripos: Command) -> None:
    assert tripos("run", "quiz.tripos", "--model", "mock/student", "--role", "judge=mock/fair").code == 0
    run = tripos("list", "--json").data[0]["run_id"]
    assert tripos("view", run, "--to", "site").code == 0
    assert [each["run_id"] for each in json.loads(Path("site/index.json").read_bytes())["runs"]] == [run]
    assert [path.name for path in Path("site/runs").iterdir()] == [run]


def test_a_report_is_one_file_whose_policy_names_its_script(ran: Path, tripos: Command) -> None:
    outcome = tripos("report", "--html", "report.html")
    assert outcome.code == 0 and "report.html" in outcome.out
    page = Path("report.html").read_text("utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    named = re.search(r"script-src '(sha256-[^']+)'", page)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert named is not None and named[1] == f"sha256-{digest}"
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)


def test_options_that_exclude_each_other_are_refused_and_others_both_work(ran: Path, tripos: Command) -> None:
    assert tripos("view", "--to", "site", "--port", "8000").code == 2
    assert "`--port` must be at most 65535" in tripos("view", "--port", "99999").err
    outcome = tripos("report", "--html", "report.html", "--json")
    assert outcome.data["format"] == "tripos.report/1"
    assert Path("report.html").is_file()


def test_data_cannot_end_the_script_that_holds_it(quiz: Path, tripos: Command) -> None:
    hostile = "</script><script>alert(1)</script><!-- <script>"
    Path("items.jsonl").write_text(json.dumps({"question": hostile, "answer": "2"}) + "\n", "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    assert tripos("report", "--html", "report.html").code == 0
    page = Path("report.html").read_text("utf-8")
    assert page.count("</script>") == 2
    data = re.search(r'id="tripos-data">(.*?)</script>', page, re.DOTALL)
    assert data is not None and "<" not in data[1]
    assert hostile in json.dumps(json.loads(data[1])).replace("\\\\u003c", "<")


def test_what_does_not_fit_is_left_out_and_said(view: ViewFiles) -> None:
    run = json.loads(view.json("index.json") or b"")["runs"][0]["run_id"]
    page = write_report(view, run, most=9_000)
    found = re.search(r'id="tripos-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    kept = len(data["samples"])
    assert 0 < kept < 10
    assert data["index.json"]["left_out"] == [f"{10 - kept} of 10 replies, those with the highest scores"]
    for n, sample in enumerate(data["samples"]):
        start = sample["scores_at"]
        assert [row["n"] for row in data["scores"][start : start + sample["scores"]]] == [n] * sample["scores"]
    whole = json.loads(re.search(r'id="tripos-data">(.*?)</script>', write_report(view, run), re.DOTALL)[1])  # type: ignore[index]
    scores = sorted(sample["score"] for sample in whole["samples"])
    assert sorted(sample["score"] for sample in data["samples"]) == scores[:kept]
    assert whole["index.json"]["left_out"] == []
