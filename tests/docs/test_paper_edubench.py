"""The page of EduBench held against the spec: the forms and the counts of its tables, and the commands of Reproduce."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median

import pytest

from tests.conftest import SHARED_DATA, Command
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Grade, Plan

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "specs/edubench"
PAGE = (ROOT / "docs/benchmarks/edubench.md").read_text("utf-8")
STATUS = re.compile(r"same|differs: .+|variant: .+|cannot be: .+")
MOCKS = {
    "A,B,C": "mock/careful,mock/careless,mock/careful:c",
    "judge=J": "judge=mock/fair,mock/noisy",
    "reasoner=R": "reasoner=mock/severe",
    "author=W": "author=mock/author",
}


def section(title: str) -> str:
    """Return a section of the page, up to the next of its level."""
    return re.split(r"^## ", PAGE.split(f"## {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(title: str, columns: int) -> list[list[str]]:
    """Return the rows of all tables of a section that have so many columns, without their heads."""
    found = []
    for line in section(title).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if len(cells) == columns and cells[0] not in ("Paper", "Table") and not set(cells[0]) <= set("- "):
            found.append(cells)
    return found


PAPER = {row[0]: row for row in rows("Paper and spec", 4)}
COMMANDS = {row[0]: row for row in rows("Reproduce", 6)}


@pytest.fixture(scope="module")
def plan() -> Plan:
    found = find_spec(str(SPECS)).compile().plan
    assert found is not None
    return found


def cells_of(plan: Plan) -> int:
    """Return how many metrics all scenarios have."""
    return sum(len(step.metrics) for each in plan.scenarios for step in each.steps if isinstance(step, Grade))


def test_every_row_has_one_of_the_four_forms() -> None:
    assert len(PAPER) == len(rows("Paper and spec", 4)) > 55
    assert [row for row in PAPER.values() if not STATUS.fullmatch(row[3])] == []


def test_a_variant_is_a_file_or_something_that_the_specs_declare() -> None:
    texts = "\n".join(path.read_text("utf-8") for path in SPECS.glob("*.tripos"))
    for row in PAPER.values():
        if row[3].startswith("variant: "):
            name = row[3].removeprefix("variant: ").strip("`")
            assert (SPECS / name).is_file() or f"measure {name} " in texts, row


def test_every_table_of_the_paper_is_named() -> None:
    told = section("Paper and spec") + section("Reproduce")
    named: set[int] = set()
    for match in re.finditer(r"\bTables? ((?:\d+[–, and]*)+)", told):
        named |= numbers(match.group(1))
    for row in COMMANDS.values():
        named |= numbers(row[0].split(":")[0])
    assert named >= set(range(1, 18))


def numbers(text: str) -> set[int]:
    """Return the numbers in a text, and those between two of them that a dash joins."""
    found = {int(each) for each in re.findall(r"\d+", text)}
    for first, last in re.findall(r"(\d+)–(\d+)", text):
        found |= set(range(int(first), int(last) + 1))
    return found


def test_the_counts_are_those_of_the_plan(plan: Plan) -> None:
    axis = {each.name: each.values for each in plan.axes}
    rows_made = {each.name: each.rows for each in plan.made}
    printed = find_spec(str(SPECS / "shipped_table6.tripos")).compile().plan
    assert printed is not None
    by_scenario = sorted(rows_made[each.rows.dataset] for each in plan.scenarios if each.rows)
    counts = {
        "§3.1, App. A: scenarios": f"{len(plan.scenarios)} scenarios",
        "§3.2, App. B: stages": f"{len(axis['stage'])}: ",
        "App. B: school subjects": f"{sum(each.group == 'k12' for each in axis['subject'])}",
        "App. B: subjects of higher education": f"{sum(each.group != 'k12' for each in axis['subject'])} in ten fields",
        "App. B: difficulty": f"{len(axis['difficulty'])}: ",
        "App. B: languages": f"{len(plan.benchmark.languages)}: ",
        "App. B: types of question": f"{len(axis['question_type'])}; ",
        "App. B: states of anxiety": f"{len(axis['anxiety'])}",
        "§1: contexts": f"{sum(each.cells for each in plan.scenarios):,}",
        "Table 13: items": f"{sum(rows_made.values()):,} in `edubench`",
        "Table 13: distribution": f"{by_scenario[0]:,} to {by_scenario[-1]:,} a scenario",
        "§4.4, §5.1: test set": f"{18 * plan.subsets[0].take}, subset `{plan.subsets[0].name}`",
        "§4.2, Table 2: criteria": f"{len(plan.metrics)} in {len({m.dimension for m in plan.metrics})} dimensions",
        "Table 6: criteria of a scenario": f"{cells_of(plan)} of {len(plan.scenarios) * len(plan.metrics)} cells",
    }
    for name, told in counts.items():
        assert PAPER[name][2].startswith(told), (name, told, PAPER[name][2])
    assert PAPER["Table 6: criteria of a scenario"][1] == f"{cells_of(printed)} of 108 cells"
    assert len({each.group for each in axis["subject"]} - {"k12"}) == 10


def test_the_table_of_both_distributions_is_that_of_the_plan_and_of_the_weights(plan: Plan) -> None:
    table = [line for line in section("Items").splitlines() if line.count("|") == 9][2:]
    found = {cells[0]: cells[1:] for cells in ([c.strip() for c in line.strip("|").split("|")] for line in table)}
    rows_made = {each.name: each.rows for each in plan.made}
    weights = dict(
        re.findall(r"(\d+) \* by_scenario\[scenario: (\w+)\]", (SPECS / "weights.tripos").read_text("utf-8"))
    )
    by_name = {name: int(weight) for weight, name in weights.items()}
    assert sum(by_name.values()) == 18_821
    for scenario in plan.scenarios:
        written, _, chinese, english, released, *_ = found[scenario.name.replace("_", " ")]
        assert scenario.rows is not None
        assert number(written) == rows_made[scenario.rows.dataset]
        assert number(chinese) + number(english) == number(released) == by_name[scenario.name]
    assert number(found["together"][0]) == sum(rows_made.values())


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_nothing_else_says_that_it_is_as_the_paper_has_it() -> None:
    claims = re.compile(r"follows? the paper|as published|faithful|as in the paper", re.IGNORECASE)
    texts = {path.name: path.read_text("utf-8") for path in (*SPECS.glob("*.tripos"), SPECS / "README.md")}
    texts["page"] = PAGE.replace(section("Paper and spec"), "")
    assert {name: found for name, text in texts.items() if (found := claims.findall(text))} == {}


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, row in COMMANDS.items() if row[1].startswith("`tripos run")])
def test_a_command_of_reproduce_runs_with_mocks(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    words = shlex.split(COMMANDS[name][1].split("`")[1])[1:]
    if "DIR" in words and not (SHARED_DATA / "edubench").is_dir():
        pytest.skip("the published items are not here")
    said = [MOCKS.get(word, word) for word in words]
    said = [
        str(SHARED_DATA) if word == "DIR" else str(ROOT / word) if word.startswith("specs/") else word for word in said
    ]
    monkeypatch.chdir(tmp_path)
    done = tripos(*said, "--limit", "1", "--json")
    assert done.code == 0, done.err
    report = tripos("report", "--json")
    assert report.code == 0, report.err
    wanted = (
        {"self_preference", "win_rate", "position_bias"}
        if "bias" in COMMANDS[name][1]
        else {"by_metric", "by_scenario", "mean_order_agreement"}
    )
    assert wanted <= {each["name"] for each in report.data["measures"] if each["rows"]}


@pytest.mark.parametrize(
    ("name", "calls"),
    [("the same over written items", "1,386"), ("the same over shipped items", "432")],
)
def test_the_calls_are_those_of_the_plan(name: str, calls: str, tripos: Command, tmp_path: Path) -> None:
    """Three candidates, one judge and, where items are written, one author."""
    words = shlex.split(COMMANDS[name][1].strip("`"))[2:]
    roles = {"judge=J": "judge=mock/fair", "author=W": "author=mock/author", "A,B,C": MOCKS["A,B,C"]}
    said = [roles.get(word, str(ROOT / word) if word.startswith("specs/") else word) for word in words]
    done = tripos("plan", *said, "--store", str(tmp_path / "none"))
    assert done.code == 0, done.err
    [line] = [line.split() for line in done.out.splitlines() if line.startswith("calls ")]
    assert line[2] == calls == COMMANDS[name][3]


PAIRS_OF_METRICS = {
    "IFTC": (56, 66, 69, 63, 55, 52, 53, 63, 58, 65),
    "RTC": (48, 55, 65, 71, 55, 56, 53, 58, 59, 70),
    "CRSC": (57, 61, 65, 61, 60, 60, 55, 62, 64, 61),
    "SEI": (55, 59, 70, 66, 53, 56, 54, 61, 63, 70),
    "BFA": (51, 66, 68, 59, 57, 56, 59, 62, 63, 54),
    "DKA": (60, 59, 58, 57, 59, 62, 56, 64, 64, 54),
    "RPR": (55, 59, 69, 62, 57, 60, 55, 57, 64, 65),
    "EICP": (53, 56, 54, 52, 55, 58, 59, 68, 67, 66),
    "CSI": (56, 56, 54, 57, 57, 52, 51, 56, 56, 56),
    "MGP": (54, 58, 59, 67, 58, 57, 58, 53, 61, 54),
    "PAS": (61, 71, 74, 74, 56, 62, 59, 71, 71, 72),
    "HOTS": (58, 69, 69, 68, 62, 60, 60, 68, 66, 68),
}
"""The printed cells of Tables 7 to 9, in hundredths: each metric of the ten pairs of evaluators, in the order of the
rows and columns of Table 5."""
PAIRS_TOGETHER = (55, 61, 65, 63, 57, 58, 56, 62, 63, 63)
"""Those of Table 5."""


def test_table_5_is_the_mean_over_metrics_of_tables_7_to_9() -> None:
    lines = (line for line in (SPECS / "allocation.tripos").read_text("utf-8").splitlines() if "|" in line)
    header, *rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines)
    weights = {name: sum(row[place] == "x" for row in rows) for place, name in enumerate(header)}

    def hits(average: Callable[[Sequence[int]], float]) -> int:
        """Return how many of the ten printed figures an average of the twelve cells of a pair gives."""
        cells = zip(*PAIRS_OF_METRICS.values(), strict=True)
        return sum(abs(average(each) - told) <= 0.5 for each, told in zip(cells, PAIRS_TOGETHER, strict=True))

    weighted = [weights[metric] for metric in PAIRS_OF_METRICS]
    assert hits(fmean) == 10
    assert hits(lambda cells: fmean(cells, weighted)) == 6
    assert hits(median) == 7
    assert "all ten of its figures follow" in " ".join(PAGE.split())
    assert "the number of scenarios of a metric 6, and the median 7" in " ".join(PAGE.split())
