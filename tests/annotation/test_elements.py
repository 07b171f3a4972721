"""People who label each element of a list, as a judge does: handed out one by one, counted apart from the models, and
held against them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from openpyxl import load_workbook

from tests.annotation.conftest import Rows, cells, grades_sheet
from tests.annotation.test_page import AT, PATH, TOKEN, got, posted
from tests.conftest import Command
from tripos.annotation.assignment import AssignmentDesk, AssignmentOptions
from tripos.annotation.sheet import GradesFile
from tripos.plots.plot import make_picture
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan

LABELS = ("SUPPORTED", "REFUTED", "UNKNOWN")
SPEC = """
benchmark claims "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" {
  question  text
  claims    list<{ text text, label choice(SUPPORTED, REFUTED, UNKNOWN) }> secret
}
scorer label(reply: text, claim: text) by judge {
  prompt "A reply: {{ reply }} Does it say this? {{ claim }}"
  gives  choice(SUPPORTED, REFUTED, UNKNOWN)
}
scenario claims {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score verdict = label(reply.text, c.text) each c in item.claims
  measure macro    = f1(verdict, c.label)
  measure by_rater = f1(verdict, c.label) by evaluator
  measure right    = accuracy(verdict, c.label) by evaluator
}
measure agreed = cohen_kappa(claims.verdict) across judge
"""
CLAIMS = [{"text": f"claim {n}.{m}", "label": LABELS[(n * m + n) % 3]} for n in range(5) for m in range(1 + n % 3)]


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Command) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("spec.tripos").write_text(SPEC, "utf-8")
    rows = [
        {"question": f"What of {n}?", "claims": [c for c in CLAIMS if c["text"].startswith(f"claim {n}.")]}
        for n in range(5)
    ]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(once)
    return tmp_path


def run(tripos: Command, judges: str = "mock/careful:a") -> None:
    done = tripos("run", "spec.tripos", "--model", "mock/careful", "--role", f"judge={judges}")
    assert done.code == 0, done.err


def given(claim: str) -> str:
    """Return the label that Anna gives."""
    return LABELS[sum(map(ord, claim)) % 3]


def fill(path: str) -> list[str]:
    """Label every claim of a sheet; return the claims in its order."""
    book = load_workbook(path)
    sheet = grades_sheet(book)
    shown = [str(cell.value) for row in sheet.iter_rows(3) for cell in row if str(cell.value).startswith("claim ")]
    for claim, cell in zip(shown, cells(sheet, "mark:verdict"), strict=True):
        cell.value = given(claim)
    book.save(path)
    return shown


def figures(tripos: Command) -> dict[str, dict[str, float]]:
    report = tripos("report", "--json").data
    return {
        each["name"]: {row.get("evaluator", ""): row["value"] for row in each["rows"]} for each in report["measures"]
    }


def macro(labels: dict[str, str]) -> float:
    """Return the mean of the F-measures of the classes that stand in the claims, by its definition."""
    scores = []
    for name in sorted({each["label"] for each in CLAIMS} | set(labels.values())):
        hit = sum(each["label"] == labels[each["text"]] == name for each in CLAIMS)
        said, true = sum(each == name for each in labels.values()), sum(each["label"] == name for each in CLAIMS)
        scores.append(2 * hit / (said + true))
    return float(np.mean(scores))


def test_a_person_labels_each_element_and_no_figure_of_models_moves(claims: Path, tripos: Command, ask: Rows) -> None:
    before = figures(tripos)
    done = tripos("annotate", "--name", "anna")
    assert done.code == 0, done.err
    shown = fill("anna.xlsx")
    assert sorted(shown) == sorted(each["text"] for each in CLAIMS)
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    after = figures(tripos)
    assert after["claims.macro"] == before["claims.macro"]
    labels = {each["text"]: given(each["text"]) for each in CLAIMS}
    assert after["claims.by_rater"]["human/anna"] == pytest.approx(macro(labels))
    assert {k: v for k, v in after["claims.by_rater"].items() if k != "human/anna"} == before["claims.by_rater"]
    right = np.mean([each["label"] == labels[each["text"]] for each in CLAIMS])
    assert after["claims.right"]["human/anna"] == pytest.approx(right)
    rows = ask(
        "select element_value ->> '$.text' as claim, choice, status from claims.scores where evaluator = 'human/anna'"
    )
    assert {row["claim"]: row["choice"] for row in rows} == labels and len(rows) == len(labels)
    assert tripos("annotate", "--name", "anna").code != 0  # all of it is graded
    assert figures(tripos) == after
    assert tripos("store", "check").code == 0


def test_agreement_holds_raters_against_each_other_element_by_element(claims: Path, tripos: Command, ask: Rows) -> None:
    counted = SPEC[: SPEC.index("  measure macro")] + "  measure level = mean(verdict)\n}\n"
    counted = counted.replace(
        "  gives  choice(SUPPORTED, REFUTED, UNKNOWN)", "  gives  choice(SUPPORTED: 1, REFUTED: 2, UNKNOWN: 3)"
    )
    Path("spec.tripos").write_text(counted, "utf-8")
    run(tripos, "mock/fair:a,mock/noisy:b")
    for name in ("anna", "ben"):  # who get the claims in different orders, and label them alike
        assert tripos("annotate", "--name", name).code == 0
        fill(f"{name}.xlsx")
        assert tripos("annotate", "--take", f"{name}.xlsx").code == 0
    of_people = "evaluator_a = 'human/anna' and evaluator_b = 'human/ben'"
    (row,) = ask(f"select n, exact, correlation from claims.agreement() where {of_people}")
    assert (row["n"], row["exact"], row["correlation"]) == (len(CLAIMS), 1.0, pytest.approx(1.0))
    ranges = """select item_id, sample_id, element_place, (max(value) - min(value)) / 2 as apart from claims.scores
      where {} group by all having count(distinct evaluator) > 1"""
    of_judges = ranges.format("starts_with(evaluator, 'mock/')")
    of_items = ask(f"select item_id, avg(apart) as apart from ({of_judges}) group by all order by all")
    assert len(of_items) == 5
    assert ask("select item_id, apart from claims.item_analysis() where apart is not null order by all") == of_items
    widest = ask(f"select sample_id, max(apart) as apart from ({ranges.format('true')}) group by all order by all")
    assert tripos("view", "--to", "site").code == 0
    last = tripos("list", "--json").data[0]["run_id"]
    (shown,) = Path("site").glob(f"runs/{last}/*/samples.parquet")
    rows = sorted(pq.read_table(shown, columns=["sample_id", "spread"]).to_pylist(), key=lambda row: row["sample_id"])
    assert [row["spread"] for row in rows] == pytest.approx([row["apart"] for row in widest])
    picture = make_picture("judges", Store.open("results", create=False))
    of_anna = [row["scores"] for row in picture.rows if row["human"] == "human/anna"]
    assert sum(of_anna) == len(CLAIMS) * len({row["judge"] for row in picture.rows})
    apart = ask("select element_place, given from claims.disagreements(n := 100)")
    assert apart and all(row["element_place"] is not None for row in apart)
    same = [dict(part.rsplit(" ", 1) for part in row["given"].split(", ")) for row in apart]
    assert all(grades["human/anna"] == grades["human/ben"] for grades in same)


def test_people_beside_the_models_agree_by_element(claims: Path, tripos: Command, ask: Rows) -> None:
    Path("spec.tripos").write_text(SPEC.replace("role judge panel", "role judge panel with people"), "utf-8")
    run(tripos)
    assert tripos("annotate", "--name", "anna").code == 0
    fill("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    kept = ask("select element_value ->> '$.text' as claim, choice from claims.scores where evaluator like 'mock/%'")
    model = {row["claim"]: row["choice"] for row in kept}
    pairs = [(model[each["text"]], given(each["text"])) for each in CLAIMS]
    same = float(np.mean([one == other for one, other in pairs]))
    shares = [[np.mean([pair[side] == name for pair in pairs]) for name in LABELS] for side in (0, 1)]
    chance = float(np.dot(shares[0], shares[1]))
    assert figures(tripos)["agreed"][""] == pytest.approx((same - chance) / (1 - chance))


def test_elements_that_a_reply_lists_are_handed_out_and_a_share_of_them_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, ask: Rows
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = SPEC.replace(
        'prompt "{{ item.question }}" }', 'prompt "{{ item.question }}", returns { facts list<text> } }'
    )
    spec = spec.replace(
        "label(reply.text, c.text) each c in item.claims", "label(c, c) each c in reply.facts at most 9"
    )
    spec = "".join(line for line in spec.splitlines(keepends=True) if "measure" not in line)
    Path("spec.tripos").write_text(spec + "measure share = share(claims.verdict == SUPPORTED) by evaluator\n", "utf-8")
    Path("items.jsonl").write_text(
        "".join(json.dumps({"question": f"q{n}", "claims": []}) + "\n" for n in range(6)), "utf-8"
    )
    run(tripos)
    listed = len(ask("select * from claims.scores where element_place is not null"))
    assert listed > 6
    done = tripos("annotate", "--name", "ben", "--sample", "4")
    assert done.code == 0, done.err
    book = load_workbook("ben.xlsx")
    sheet = grades_sheet(book)
    marks = list(cells(sheet, "mark:verdict"))
    assert len(marks) == 4
    for cell in marks:
        cell.value = "REFUTED"
    book.save("ben.xlsx")
    assert tripos("annotate", "--take", "ben.xlsx").code == 0
    assert figures(tripos)["share"]["human/ben"] == 0
    assert len(ask("select score_id from claims.scores where evaluator = 'human/ben'")) == 4


@pytest.mark.long
def test_a_second_round_is_apart_from_the_first(claims: Path, tripos: Command, ask: Rows) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    fill("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    assert tripos("annotate", "--name", "anna", "--round", "2").code == 0
    fill("anna-round2.xlsx")
    assert tripos("annotate", "--take", "anna-round2.xlsx").code == 0
    rows = [row["round"] for row in ask("select round from claims.scores where evaluator = 'human/anna'")]
    assert (rows.count(None), rows.count(2)) == (len(CLAIMS), len(CLAIMS))


TONES = {"warm": 1.0, "even": 0.5, "cold": 0.0}
CORRECTED = """
benchmark tones "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text, parts list<text> }
scorer how(reply: text, part: text) by judge {
  prompt "How warm is the reply {{ reply }} in this? {{ part }}"
  gives  choice(warm: 1, even: 0.5, cold: 0)
}
scenario tones {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score tone = how(reply.text, p) each p in item.parts
  score some = how(reply.text, p) == warm each p in item.parts
}
measure plain  = mean(tones.tone)
measure warmth = mean(tones.tone) corrected by people
"""


def toned(part: str) -> str:
    return list(TONES)[sum(map(ord, part)) % 3]


def grade_tones(tripos: Command, *more: str) -> list[str]:
    """Have a person label some parts; return those."""
    done = tripos("annotate", "--name", "anna", *more)
    assert done.code == 0, done.err
    book = load_workbook("anna.xlsx")
    sheet = grades_sheet(book)
    shown = [str(cell.value) for row in sheet.iter_rows(3) for cell in row if str(cell.value).startswith("part ")]
    for part, cell in zip(shown, cells(sheet, "mark:tone"), strict=True):
        cell.value = toned(part)
    book.save("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    return shown


@pytest.fixture
def tones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Command) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Path("spec.tripos").write_text("\n".join(line for line in CORRECTED.splitlines() if "score some" not in line))
    parts = [[f"part {n}.{m}" for m in range(1 + n % 4)] for n in range(12)]
    rows = ({"question": f"q{n}", "parts": each} for n, each in enumerate(parts))
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(once)
    return [part for each in parts for part in each]


def warmth(tripos: Command) -> dict[str, object]:
    [found] = [each["rows"][0] for each in tripos("report", "--json").data["measures"] if each["name"] == "warmth"]
    return dict(found)


def test_a_mean_over_elements_that_people_correct_is_theirs_where_they_label_all(
    tones: list[str], tripos: Command
) -> None:
    assert warmth(tripos)["value"] is None
    plain = figures(tripos)["plain"]
    assert sorted(grade_tones(tripos)) == sorted(tones)
    assert warmth(tripos)["value"] == pytest.approx(np.mean([TONES[toned(part)] for part in tones]))
    assert figures(tripos)["plain"] == plain


def test_a_mean_over_elements_is_corrected_by_those_that_were_drawn(
    tones: list[str], tripos: Command, ask: Rows
) -> None:
    from tripos_compiler.plan import Plan
    from tripos_warehouse.measures.evaluation import corrected_inputs

    drawn = grade_tones(tripos, "--sample", "15")
    assert len(drawn) == 15
    query = "select element_value ->> '$' as part, value from tones.scores where evaluator like 'mock/%'"
    judge = {row["part"]: row["value"] for row in ask(query)}
    assert judge.keys() == set(tones)
    plan = Plan.model_validate_json(tripos("plan", "spec.tripos", "--json").out)
    [measure] = [each for each in plan.measures if each.name == "warmth"]
    connection, _ = connect_run(Store.open(Path("results"), create=False))
    with connection:
        [found] = corrected_inputs(connection, plan, measure).values()
    assert found.judge.value == pytest.approx(np.mean([judge[part] for part in tones]))
    assert found.judge_labelled.value == pytest.approx(np.mean([judge[part] for part in drawn]))
    assert found.people.value == pytest.approx(np.mean([TONES[toned(part)] for part in drawn]))


def test_what_an_expression_makes_of_a_verdict_is_not_corrected(tmp_path: Path, tripos: Command) -> None:
    (tmp_path / "items.jsonl").write_text('{"question": "q", "parts": ["a"]}\n')
    (tmp_path / "spec.tripos").write_text(CORRECTED.replace("mean(tones.tone) corrected", "mean(tones.some) corrected"))
    done = tripos("check", str(tmp_path / "spec.tripos"))
    assert done.code == 2 and "E0624" in done.err


def test_judges_are_held_against_people_element_by_element(tones: list[str], tripos: Command, ask: Rows) -> None:
    drawn = grade_tones(tripos, "--sample", "15")
    query = "select element_value ->> '$' as part, value from tones.scores where evaluator like 'mock/%'"
    judge = {row["part"]: row["value"] for row in ask(query)}
    [metric] = tripos("judges", "--json").data["metrics"]
    uses = {each["rater"]: (each["n"], each["mean"]) for each in metric["raters"]}
    assert uses["mock/careful:a"] == (len(tones), pytest.approx(np.mean(list(judge.values()))))
    assert uses["human/anna"] == (15, pytest.approx(np.mean([TONES[toned(part)] for part in drawn])))
    beside = metric["calibrations"]["mock/careful:a"]
    gaps = [judge[part] - TONES[toned(part)] for part in drawn]
    assert beside["bias"]["value"] == pytest.approx(np.mean(gaps)) and beside["bias"]["n"] == 15


def test_repeats_of_a_judge_are_those_of_one_element(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    """A judge that says yes of one element and no of another, three times each, never wavers."""
    from tests.field.running import figures_in

    monkeypatch.chdir(tmp_path)
    spec = CORRECTED.replace("choice(warm: 1, even: 0.5, cold: 0)", "bool, samples 3")
    spec = "\n".join(line for line in spec.splitlines() if "score some" not in line and "corrected" not in line)
    rows = "".join(json.dumps({"question": f"q{n}", "parts": ["part yes", "part no"]}) + "\n" for n in range(4))
    says = lambda messages: json.dumps({"value": "part yes" in messages[-1], "reason": ""})  # noqa: E731
    figures_in(tmp_path, spec, {"items.jsonl": rows}, lambda _: "a reply", {"judge:x": says})
    [stable] = [each["stability"] for each in tripos("judges", "--json").data["metrics"] if each["stability"]]
    assert (stable["judge:x"]["stable"]["value"], stable["judge:x"]["stable"]["n"]) == (1, 8)
    assert stable["judge:x"]["flips"]["value"] == 0


def test_the_page_shows_each_element_and_keeps_its_label(claims: Path, tripos: Command, ask: Rows) -> None:
    store = Store.open("results", create=False)
    connection, run = connect_run(store)
    with connection:
        desk = AssignmentDesk(store, connection, get_plan(connection, run), run, "judge", "anna")
        hand = desk.assign(AssignmentOptions(), lambda: AT)
    grades = GradesFile(PATH, hand.batch, AT.isoformat())
    response, page = got(hand, grades, f"/{TOKEN}/grading.json")
    assert response.status == 200 and all(page.count(each["text"]) == 1 for each in CLAIMS)
    shown = {row: texts.texts[-1][1] for row, texts in hand.views.items()}
    said = [{"row": row, "metric": "verdict", "value": given(claim)} for row, claim in shown.items()]
    assert posted(hand, grades, *said) == [200] * len(CLAIMS)
    assert tripos("annotate", "--take", str(PATH)).code == 0
    kept = ask("select element_value ->> '$.text' as claim, choice from claims.scores where evaluator = 'human/anna'")
    assert {row["claim"]: row["choice"] for row in kept} == {each["text"]: given(each["text"]) for each in CLAIMS}
