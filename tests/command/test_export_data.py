"""Tables, workbooks and Every Eval Ever: what is in them, what is not, and that it is whole."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl.utils.escape import unescape

from tests.conftest import QUIZ, Command
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.every_eval_ever import AGGREGATE, INSTANCES, VERSION, check
from tripos_warehouse.exports.tables import MOST_UNITS, TableSource, write_csv, write_workbook
from tripos_warehouse.statistics.intervals import mean_of_cells

MODELS = ("--model", "mock/careful,mock/careful:b", "--role", "judge=mock/careful:j,mock/careful:k")
HELPED = QUIZ.replace("role judge panel", "role judge panel\nrole helper").replace(
    "  score long =",
    '  ask hint by helper { prompt "Solve {{ item.question }}: {{ item.answer }}" }\n  score long =',
    1,
)


@pytest.fixture
def ran(quiz: Path, once: Command) -> str:
    done = once("run", "quiz.tripos", *MODELS, "--json")
    assert done.code == 0, done.err
    return str(done.data["run_id"])


def source(name: str, **columns: list[Any]) -> TableSource:
    table = pa.table(columns)
    return TableSource(name, table.schema, table.to_batches())


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def count(tripos: Command, view: str) -> int:
    assert tripos("sql", f"select count(*) as n from quiz.{view}", "-o", "n.json").code == 0
    return int(json.loads(Path("n.json").read_text())[0]["n"])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_table_is_written_whole(ran: str, tripos: Command, kind: str) -> None:
    done = tripos("export", kind, "-o", "out", "--json")
    told = {each["table"]: each["rows"] for each in done.data["tables"]}
    assert told == {view: count(tripos, view) for view in ("items", "samples", "scores")} | {"measures": 6}
    for name, expected in told.items():
        path = f"out/{name}.{kind}"
        assert (len(rows(path)) if kind == "csv" else pq.read_table(path).num_rows) == expected


def test_measures_and_judges_are_told_as_the_report_has_them(ran: str, tripos: Command) -> None:
    assert tripos("export", "csv", "--table", "measures", "-o", "m.csv").code == 0
    assert tripos("export", "eee", "-o", "eee").code == 0
    [wanted] = [
        row
        for measure in tripos("report", "--json").data["measures"]
        for row in measure["rows"]
        if row.get("metric") == "CLEAR" and row["model"] == "mock/careful"
    ]
    [found] = [row for row in rows("m.csv") if row["metric"] == "CLEAR" and row["model"] == "mock/careful"]
    for name in ("value", "low", "high"):
        assert float(found[name]) == wanted[name]
    [document] = [each for each in documents("eee")[0] if each["model_info"]["name"] == "mock/careful"]
    results = {each["evaluation_result_id"]: each for each in document["evaluation_results"]}
    details = results["quiz/measure/by_metric[metric: CLEAR]"]["score_details"]
    assert details["score"] == wanted["value"]
    assert details["uncertainty"]["confidence_interval"]["lower"] == wanted["low"]
    config = results["quiz/sums/CLEAR"]["metric_config"]
    told = config["llm_scoring"]
    assert [judge["model_info"]["name"] for judge in told["judges"]] == ["mock/careful:j", "mock/careful:k"]
    assert told["input_prompt"] == "{{ metrics }} Task: {{ task }} Reply: {{ response }}"
    assert (config["min_score"], config["max_score"], told["aggregation_method"]) == (1.0, 10.0, "average")


def test_what_is_secret_is_written_only_when_asked_for(quiz: Path, tripos: Command, once: Command) -> None:
    Path("quiz.tripos").write_text(HELPED, "utf-8")
    assert once("run", "quiz.tripos", *MODELS, "--role", "helper=mock/careful").code == 0
    done = tripos("export", "csv", "-o", "out")
    assert "left out as secret: item.answer" in done.out
    assert "what helper wrote and was shown" in done.out
    assert "answer" not in rows("out/items.csv")[0]
    assert {row["messages"] == "" for row in rows("out/samples.csv") if row["role"] == "helper"} == {True}
    assert {row["messages"] == "" for row in rows("out/samples.csv") if row["role"] == "candidate"} == {False}
    assert tripos("export", "csv", "-o", "out", "--secrets").code == 0
    assert {row["answer"] for row in rows("out/items.csv")} == {"2", "42", "4.5"}
    assert {row["messages"] == "" for row in rows("out/samples.csv")} == {False}


def test_a_text_that_begins_like_a_formula_is_made_harmless_in_csv_and_counted(tmp_path: Path) -> None:
    texts = ["=1+1", "+1 for that", "-5", "- no", "@sum", "plain", "\t=1"]
    table = write_csv(source("samples", reply=texts, n=[-1] * 7), tmp_path / "a.csv", raw=False)
    assert [row["reply"] for row in rows(str(tmp_path / "a.csv"))] == [
        "'=1+1",
        "'+1 for that",
        "-5",
        "'- no",
        "'@sum",
        "plain",
        "'\t=1",
    ]
    assert table.notes == ("5 texts begin like a formula: an apostrophe stands before them",)
    assert [row["n"] for row in rows(str(tmp_path / "a.csv"))] == ["-1"] * 7
    raw = write_csv(source("samples", reply=texts), tmp_path / "b.csv", raw=True)
    assert [row["reply"] for row in rows(str(tmp_path / "b.csv"))] == texts and raw.notes == ()


def test_a_text_of_a_workbook_is_no_formula_link_or_number(tmp_path: Path) -> None:
    texts = ["=1+1", "{=A1}", "@sum", "007", "https://example.org", "bell \x07", "a_x0007_b", "mailto:a@example.org"]
    write_workbook([source("samples", reply=texts)], tmp_path / "a.xlsx", lambda name: {})
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["samples"]
    cells = [row[0] for row in sheet.iter_rows(min_row=2)]
    assert {cell.data_type for cell in cells} <= {"s", "inlineStr"}
    assert [unescape(cell.value) for cell in cells] == texts
    assert not any(cell.hyperlink for cell in cells)


@pytest.mark.parametrize("text", ["a" * 70_000, "😀" * 40_000, "x" + "😀" * 20_000])
def test_a_text_longer_than_a_cell_goes_on_beside_it(tmp_path: Path, text: str) -> None:
    units = len(text.encode("utf-16-le")) // 2
    longest = {"samples": {"reply": units}}
    tables = [source("samples", reply=[text, "short"], model=["m", "n"])]
    [told] = write_workbook(tables, tmp_path / "a.xlsx", longest.__getitem__)
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["samples"]
    head, first, second = sheet.iter_rows(values_only=True)
    parts = [value for name, value in zip(head, first, strict=True) if str(name).startswith("reply")]
    assert "".join(value for value in parts if value) == text
    assert all(len(value.encode("utf-16-le")) // 2 <= MOST_UNITS for value in parts if value)
    assert (head[-1], first[-1], second[-1]) == ("model", "m", "n")
    assert told.notes == ("1 texts are longer than a cell: they go on in the columns beside reply",)


def test_a_table_longer_than_a_sheet_goes_on_in_another(tmp_path: Path) -> None:
    tables = [source("scores", value=[float(n) for n in range(25)])]
    [told] = write_workbook(tables, tmp_path / "a.xlsx", lambda name: {}, most_rows=11)
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert book.sheetnames == ["scores", "scores 2", "scores 3"]
    values = [row[0] for sheet in book for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert values == [float(n) for n in range(25)]
    assert told.notes == ("more rows than a sheet has: they go on in `scores 2`, `scores 3`",)


def test_a_workbook_has_a_sheet_for_each_table(ran: str, tripos: Command) -> None:
    assert tripos("export", "xlsx", "-o", "quiz.xlsx").code == 0
    book = openpyxl.load_workbook("quiz.xlsx")
    assert book.sheetnames == ["items", "samples", "scores", "measures"]
    assert book["scores"].max_row == 1 + count(tripos, "scores")


def test_a_long_reply_of_a_run_is_whole_in_the_workbook(quiz: Path, tripos: Command, once: Command) -> None:
    items = [{"question": "long " * 9000, "answer": "2"}, {"question": "1+1", "answer": "2"}]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    assert once("run", "quiz.tripos", *MODELS).code == 0
    done = tripos("export", "xlsx", "-o", "quiz.xlsx")
    assert "longer than a cell" in done.out
    head, *found = openpyxl.load_workbook("quiz.xlsx")["items"].iter_rows(values_only=True)
    places = [place for place, name in enumerate(head) if str(name).startswith("question")]
    assert "long " * 9000 in {"".join(row[place] or "" for place in places) for row in found}


def documents(folder: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    aggregates = [json.loads(path.read_text("utf-8")) for path in sorted(Path(folder).rglob("*.json"))]
    found = [path.read_text("utf-8").splitlines() for path in sorted(Path(folder).rglob("*.jsonl"))]
    return aggregates, [json.loads(line) for lines in found for line in lines]


def test_every_eval_ever_fits_its_schemas_and_joins_up(ran: str, tripos: Command) -> None:
    for folder in ("eee", "again"):
        assert tripos("export", "eee", "-o", folder, "--organization", "Us").code == 0
    one, two = ({p.relative_to(f): p.read_bytes() for p in Path(f).rglob("*.json*")} for f in ("eee", "again"))
    assert one == two and len(one) == 4
    aggregates, instances = documents("eee")
    assert [each["model_info"]["name"] for each in aggregates] == ["mock/careful", "mock/careful:b"]
    for each in aggregates:
        check(each, AGGREGATE)
        assert each["schema_version"] == VERSION == "0.3.0"
        assert each["source_metadata"]["source_organization_name"] == "Us"
        details = each["detailed_evaluation_results"]
        content = Path("eee", details["file_path"]).read_bytes()
        assert details["checksum"] == hashlib.sha256(content).hexdigest()
        assert details["total_rows"] == content.count(b"\n")
    results = {
        (each["evaluation_id"], result["evaluation_result_id"]): result["score_details"]
        for each in aggregates
        for result in each["evaluation_results"]
    }
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in instances:
        check(each, INSTANCES)
        groups.setdefault((each["evaluation_id"], each["evaluation_result_id"]), []).append(each)
    assert groups.keys() == {key for key in results if "/measure/" not in key[1]}
    for key, lines in groups.items():
        found = mean_of_cells([line["evaluation"]["score"] for line in lines], [line["sample_id"] for line in lines])
        assert results[key]["score"] == pytest.approx(found.value)
        assert results[key]["uncertainty"]["num_samples"] == len(lines)


def test_reference_answers_are_in_every_eval_ever_only_when_asked_for(ran: str, tripos: Command) -> None:
    assert tripos("export", "eee", "-o", "closed").code == 0
    assert {tuple(each["input"]["reference"]) for each in documents("closed")[1]} == {()}
    assert tripos("export", "eee", "-o", "open", "--secrets").code == 0
    assert {tuple(each["input"]["reference"]) for each in documents("open")[1]} == {("2",), ("42",), ("4.5",)}


def test_arms_are_results_of_their_own(quiz: Path, tripos: Command, once: Command) -> None:
    spec = QUIZ.replace("role judge panel", "role judge panel\narm hint { none, some }").replace(
        'over item\n  ask reply by candidate {\n    prompt "{{ item.question }}"',
        'over item\n  arms hint\n  ask reply by candidate {\n    system "Think." when hint == some\n'
        '    prompt "{{ item.question }}"',
        1,
    )
    Path("quiz.tripos").write_text(spec, "utf-8")
    assert once("run", "quiz.tripos", *MODELS).code == 0
    assert tripos("export", "eee", "-o", "eee").code == 0
    _, lines = documents("eee")
    counts = dict.fromkeys(("quiz/sums/long[hint: none]", "quiz/sums/long[hint: some]"), 0)
    for line in lines:
        if "/long" in line["evaluation_result_id"]:
            counts[line["evaluation_result_id"]] += 1
            assert ("formatted" in line["input"]) == (line["metadata"]["hint"] == "some")
    assert set(counts.values()) == {6}


def test_a_document_that_does_not_fit_is_refused_and_says_where() -> None:
    with pytest.raises(StoreError, match=r"S0605.*evaluation_id"):
        check({"schema_version": VERSION}, AGGREGATE)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("csv", "-o", "a.csv"), "S0202", "4 tables do not fit into `a.csv`"),
        (("xlsx", "-o", "a.csv"), "S0202", "end the name in `.xlsx`"),
        (("csv", "--table", "score", "-o", "out"), "R0202", "did you mean `scores`?"),
        (("parquet", "-o", "taken"), "S0604", "is a file"),
        (("eee", "-o", "taken"), "S0604", "is a file"),
        (("eee", "-o", "quiz.tripos"), "R0202", "would write over a spec"),
        (("parquet", "--raw", "-o", "out"), "R0202", "`--raw` has no meaning for `parquet`"),
    ],
)
def test_what_cannot_be_written_is_said(
    ran: str, tripos: Command, arguments: tuple[str, ...], code: str, said: str
) -> None:
    Path("taken").write_text("", "utf-8")
    done = tripos("export", *arguments)
    assert done.code == 2
    assert code in done.err and said in done.err
