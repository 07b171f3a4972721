"""`tripos import tree` and `tripos approve`; runs of drafts; and what a report says of made data sets."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings, strategies as st

from tests.conftest import Command
from tests.each import each
from tests.lengths import sized
from tripos.importing.trees import approve, format_tree, read_outline
from tripos_compiler.errors import TriposError
from tripos_compiler.library.functions.trees import ParsedTree, read_tree

ALGEBRA = {"代数": {"集合": ["交集", "并集"], "逻辑": None}, "几何": ["圆"]}
OUTLINES = {
    "blanks": "代数\n  集合\n    交集\n    并集\n  逻辑\n几何\n  圆\n",
    "tabs": "代数\n\t集合\n\t\t交集\n\t\t并集\n\t逻辑\n几何\n\t圆\n",
    "tabs and blanks": "代数\n\t集合\n\t    交集\n\t    并集\n    逻辑\n几何\n    圆\n",
    "wide blanks": "代数\n\u3000集合\n\u3000\u3000交集\n\u3000\u3000并集\n\u3000逻辑\n几何\n\u3000圆\n",
    "bullets": "- 代数\n  * 集合\n    • 交集\n    • 并集\n  * 逻辑\n- 几何\n  * 圆\n",
    "Chinese numbers": "一、代数\n（一）集合\n1. 交集\n2、并集\n（二）逻辑\n二、几何\n（一）圆\n",
    "chapters": "第一章 代数\n第一节 集合\n① 交集\n② 并集\n第二节：逻辑\n第二章　几何\n第一节 圆\n",
    "decimals": "1. 代数\n1.1 集合\n1.1.1 交集\n1.1.2 并集\n1.2 逻辑\n2. 几何\n2.1 圆\n",
    "Markdown": "# 代数\n\n## 集合\n\n- **交集**\n- 并集：\n\n## 逻辑\n\n# 几何\n\n## 圆\n",
    "letters": "I. 代数\nA. 集合\n(1) 交集\n(2) 并集\nB. 逻辑\nII. 几何\nA. 圆\n",
    "a table of contents": "1. 代数……1\n1.1 集合 ........ 3\n1.1.1 交集 ··· 4\n1.1.2 并集\n1.2 逻辑\n2. 几何\n2.1 圆……\n",
    "a block of code": "```\n代数\n  集合\n    1) 交集\n    2) 并集\n  逻辑\n几何\n  圆\n```\n",
    "lines of Windows": "\ufeff代数\r\n  集合\r\n    交集\r\n    并集\r\n  逻辑\r\n几何\r\n  圆\r\n",
}


@each("outline", OUTLINES.values())
def test_one_tree_may_be_outlined_in_several_ways(outline: str) -> None:
    read = read_outline(outline)
    assert read.faults == ()
    assert read.tree == read_tree(ALGEBRA).tree


@pytest.mark.parametrize("name", ["20世纪的世界", "3D打印", "DNA的复制", "第二次工业革命", "一国两制", "ATP", "2.5维"])
def test_a_name_that_looks_like_a_mark_is_kept_whole(name: str) -> None:
    assert read_outline(f"历史\n  {name}\n").tree.leaves() == (f"历史 / {name}",)


@pytest.mark.parametrize(
    ("outline", "faults"),
    [
        ("", [(None, "this tree has no leaf")]),
        (
            "a\n    b\n  c\n",
            [(3, "`c` is indented less than the lines before it, but more than their parent")],
        ),
        ("a\n- \nb\na\n", [(2, "there is a mark and no name: `-`"), (4, "`a` is repeated at the top")]),
        ("a\n  b / c\n", [(2, "`b / c` below `a` holds ` / `, which parts the names of a path")]),
    ],
)
def test_what_is_no_outline_is_said_with_its_line(outline: str, faults: list[tuple[int | None, str]]) -> None:
    assert [(fault.line, fault.message) for fault in read_outline(outline).faults] == faults


NAMES = st.text("代数集合ab1 .、）(-#*", min_size=1, max_size=6).map(lambda name: f"点{' '.join(name.split())}。")
NESTED = st.recursive(st.just({}), lambda below: st.dictionaries(NAMES, below, min_size=1, max_size=3), max_leaves=8)


@settings(deadline=None, max_examples=sized(10, 60))
@given(NESTED.filter(bool), st.sampled_from(["  ", "\t", "\u3000"]), st.sampled_from(["", "- "]))
def test_whatever_tree_is_written_as_an_outline_is_read_again(tree: dict[str, Any], blank: str, mark: str) -> None:
    assert read_outline("\n".join(outlined(tree, blank, mark))).tree.branches == tree


@settings(deadline=None, max_examples=sized(30, 60))
@given(st.text("a一、（）1.2-#*①第章 \t\n\u3000/:", max_size=60))
def test_no_text_is_too_odd_for_an_outline_to_say_what_is_wrong_in_it(text: str) -> None:
    read = read_outline(text)
    assert read.faults or read.tree.leaves()


@pytest.mark.parametrize("mark", ["", "- "])
def test_an_outline_of_more_levels_than_a_tree_has_says_so(mark: str) -> None:
    (fault,) = read_outline("\n".join(f"{'  ' * level}{mark}topic {level}." for level in range(1200))).faults
    assert fault.message == "below `… / topic 60. / topic 61. / topic 62. / topic 63.` there is a level 65"


@pytest.mark.parametrize("piece", [".", "…", "·", " ", "1", ". ", "**a__", "（", "1."])
def test_a_line_in_which_a_model_was_stuck_is_read_to_its_end(piece: str) -> None:
    assert read_outline(f"算术{piece * (100_000 // len(piece))}x").tree.leaves()


def outlined(tree: dict[str, Any], blank: str, mark: str, level: int = 0) -> Iterator[str]:
    for name, below in tree.items():
        yield f"{blank * level}{mark}{name}"
        yield from outlined(below, blank, mark, level + 1)


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_tree_that_was_written_is_read_as_it_was(suffix: str) -> None:
    tree = read_tree({**ALGEBRA, "1848": {"no": ["yes: no", "- 3", "#"]}}).tree
    assert read_tree(yaml.safe_load(format_tree(tree, suffix, "said"))).tree == tree


NAMED = st.sampled_from(["name", "children", "null", "true", "~", "2020-01-01", "<<", "=", "&a", "- a", "集合"])
BRANCHED = st.recursive(st.just({}), lambda below: st.dictionaries(NAMED, below, min_size=1, max_size=4), max_leaves=8)


@settings(deadline=None, max_examples=sized(30, 60))
@given(BRANCHED.filter(bool), st.sampled_from([".yaml", ".json"]))
@example({"name": {}, "children": {"a": {}}}, ".json")
def test_no_name_is_taken_for_what_it_looks_like_in_a_file(tree: dict[str, Any], suffix: str) -> None:
    document = yaml.safe_load(format_tree(ParsedTree(tree), suffix))
    assert read_tree(document).tree == ParsedTree(tree)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is also the working directory, with an outline."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "outline.txt").write_text(OUTLINES["blanks"], "utf-8")
    return tmp_path


def test_a_file_that_is_there_is_written_over_only_where_that_was_said(
    folder: Path, tripos: Command, once: Command
) -> None:
    assert once("import", "tree", "outline.txt", "-o", "t.yaml").code == 0
    (folder / "outline.txt").write_text("x\n", "utf-8")
    refused = tripos("import", "tree", "outline.txt", "-o", "t.yaml")
    assert (refused.code, "S0837" in refused.err) == (2, True)
    assert yaml.safe_load((folder / "t.yaml").read_text("utf-8")) == ALGEBRA
    assert once("import", "tree", "outline.txt", "-o", "t.yaml", "--replace").code == 0
    assert yaml.safe_load((folder / "t.yaml").read_text("utf-8")) == ["x"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("gone.txt",), "S0835"),
        (("outline.txt", "-o", "t.txt"), "S0836"),
        ((), "R0202"),
        (("outline.txt", "--run", "x"), "R0202"),
        (("outline.txt", "--step", "x"), "R0202"),
        (("--run", "x"), "R0202"),
    ],
)
def test_what_cannot_be_imported_is_said(folder: Path, tripos: Command, arguments: tuple[str, ...], code: str) -> None:
    refused = tripos("import", "tree", *arguments)
    assert (refused.code, f"error[{code}]" in refused.err) == (2, True)


SPEC = """\
benchmark lessons "1.0.0" { languages en }
role candidate compared
tree syllabus from "*.yaml"
dataset point from leaves(syllabus) as at { }
scenario naming {
  over point
  ask reply by candidate { prompt "What is {{ point.at }}?" }
  score long = words(reply.text) > 5
}
"""


def test_a_draft_is_run_once_it_is_approved_and_not_before_nor_after_a_change(folder: Path, tripos: Command) -> None:
    (folder / "s.tripos").write_text(SPEC, "utf-8")
    (folder / "t.draft.yaml").write_text("Algebra: [Sets]\n", "utf-8")
    run = ("run", "s.tripos", "--model", "mock/careful")
    assert tripos("plan", "s.tripos").code == 0
    refused = tripos(*run)
    assert (refused.code, "error[R0245]" in refused.err) == (2, True)
    assert not (folder / "results").exists()
    assert tripos("approve", "t.draft.yaml", "--name", "Wang Fang").code == 0
    assert tripos(*run).code == 0
    (folder / "t.yaml").write_text("Algebra: [Groups]\n", "utf-8")
    assert "error[R0245]" in tripos(*run).err
    assert tripos("approve", "t.yaml", "--name", "Wang Fang").code == 0
    again = tripos(*run, "--json").data
    assert again["calls"]["asked"] == 1  # what was asked of the other tree is not an answer of this one


def test_the_plan_has_the_digest_of_what_was_approved_and_who_did(folder: Path, tripos: Command) -> None:
    (folder / "s.tripos").write_text(SPEC, "utf-8")
    (folder / "t.draft.yaml").write_text("Algebra: [Sets]\n", "utf-8")
    approved = tripos("approve", "t.draft.yaml", "--name", " Wang  Fang ", "--json").data
    assert (approved["tree"], approved["leaves"], approved["levels"]) == ("t.yaml", 1, 2)
    [file] = tripos("plan", "s.tripos", "--json").data["trees"][0]["files"]
    digest = hashlib.sha256((folder / "t.yaml").read_bytes()).hexdigest()
    assert (file["sha256"], file["approved_by"], file.get("draft", False)) == (digest, "Wang Fang", False)
    assert approved["sha256"] == digest


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("gone.yaml", "--name", "A"), "S0836"),
        (("t.draft.yaml",), "R0202"),
        (("t.draft.yaml", "--name", " "), "R0202"),
        (("wrong.draft.yaml", "--name", "A"), "S0836"),
        (("other.draft.yaml", "--name", "A"), "S0837"),
    ],
)
def test_what_cannot_be_approved_is_left_as_it_is(
    folder: Path, tripos: Command, arguments: tuple[str, ...], code: str
) -> None:
    for name, text in (("t.draft", "[a]"), ("wrong.draft", "[a, a]"), ("other.draft", "[a]"), ("other", "[b]")):
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    refused = tripos("approve", *arguments)
    assert (refused.code, f"error[{code}]" in refused.err) == (2, True)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_an_approval_that_is_cut_off_leaves_the_draft_a_draft(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "s.tripos").write_text(SPEC, "utf-8")
    (folder / "t.draft.yaml").write_text("Algebra: [Sets]\n", "utf-8")
    real, moved = Path.replace, []

    def dies(source: Path, target: Path) -> Path:
        moved.append(target)
        if len(moved) == 2:
            raise OSError("the machine went away")
        return real(source, target)

    monkeypatch.setattr(Path, "replace", dies)
    assert tripos("approve", "t.draft.yaml", "--name", "A").code == 2
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert "error[R0245]" in tripos("run", "s.tripos", "--model", "mock/careful").err
    assert tripos("approve", "t.draft.yaml", "--name", "A").code == 0
    assert tripos("check", "s.tripos").code == 0


DRAFTING = """\
benchmark drafting "1.0.0" { languages en }
role drafter compared
role reviewer
dataset part from "parts.jsonl" { number integer, subject text, text text }
scenario drafting {
  over part
  ask drafted by drafter { prompt "{{ part.text }}" }
  ask reviewed by reviewer { prompt "{{ drafted.text }}" }
  score kept = edit_similarity(drafted.text, reviewed.text)
}
"""
PARTS = (
    {"number": 10, "subject": "maths", "text": "Algebra\n  Sets"},
    {"number": 2, "subject": "maths", "text": "Geometry\n  Lines"},
    {"number": 3, "subject": "maths", "text": "Algebra\n  Groups"},
    {"number": 1, "subject": "prose", "text": "Poems"},
)


@pytest.fixture
def drafted(folder: Path, tripos: Command, once: Command, made_by_echo: None) -> Path:
    """A folder with a run in which models said again what they were told."""
    (folder / "d.tripos").write_text(DRAFTING, "utf-8")
    (folder / "parts.jsonl").write_text("\n".join(map(json.dumps, PARTS)), "utf-8")
    done = once("run", "d.tripos", "--model", "mock/careful", "--role", "reviewer=mock/careful")
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def made_by_echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mocks say again what they were told."""
    from tripos_runtime.models import mocks

    monkeypatch.setattr(mocks, "_careful_text", lambda request, key, chinese: request.messages[-1].content)


def test_the_outlines_of_a_run_are_one_draft_in_the_order_of_their_items(drafted: Path, tripos: Command) -> None:
    done = tripos("import", "tree", "--run", "", "--step", "reviewed", "--only", "subject=maths", "-o", "t.yaml")
    assert done.code == 0, done.err
    assert "tripos approve t.draft.yaml --name YOU" in done.out
    text = (drafted / "t.draft.yaml").read_text("utf-8")
    assert yaml.safe_load(text) == {"Geometry": ["Lines"], "Algebra": ["Groups", "Sets"]}
    assert text.startswith("# Drafted by run ") and "step reviewed by mock/careful" in text


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--step", "review"), "did you mean `reviewed`?"),
        (("--step", "other"), "its steps are "),
        (("--step", "reviewed", "--only", "subject=sums"), "has subject=sums"),
    ],
)
def test_a_step_without_replies_makes_no_draft(
    drafted: Path, tripos: Command, more: tuple[str, ...], told: str
) -> None:
    refused = tripos("import", "tree", "--run", "", *more, "-o", "t.yaml")
    assert (refused.code, "error[S0838]" in refused.err, told in refused.err) == (2, True, True)


def test_the_name_that_a_draft_will_have_leads_to_the_draft(folder: Path, tripos: Command) -> None:
    (folder / "t.draft.yaml").write_text("[a]", "utf-8")
    assert "the draft is `t.draft.yaml`" in tripos("approve", "t.yaml", "--name", "A").err


def test_an_approval_needs_no_draft_of_a_tree_that_is_the_same(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    (tmp_path / "t.yaml").write_text("[a]", "utf-8")
    (tmp_path / "t.draft.yaml").write_text("[a]", "utf-8")
    done = approve(tmp_path / "t.draft.yaml", "A", datetime(2026, 1, 2, tzinfo=UTC))
    said = json.loads((tmp_path / "t.approved.json").read_text("utf-8"))
    assert (done.path.name, said["approved_at"], said["sha256"]) == ("t.yaml", "2026-01-02T00:00:00+00:00", done.sha256)
    with pytest.raises(TriposError):
        approve(tmp_path / "t.draft.yaml", "A", datetime(2026, 1, 2, tzinfo=UTC))


MADE = """\
benchmark made "1.0.0" { languages en }
role candidate compared
role author
role checker
axis level { basic, exam }
dataset item by author {
  context level
  count   30
  prompt  "Write an exercise: {{ level }}."
  returns { question text }
  verify by checker { prompt "{{ item.question }}", returns { right bool }, require right }
  retries 1
}
scenario sums {
  context level
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score long = words(reply.text) > 5
}
measure share = mean(long)
"""


def test_a_report_says_how_much_was_accepted_by_level_and_why_the_rest_was_not(
    folder: Path, tripos: Command, once: Command
) -> None:
    (folder / "s.tripos").write_text(MADE, "utf-8")
    roles = ("--role", "author=mock/author", "--role", "checker=mock/author")
    assert once("run", "s.tripos", "--model", "mock/careful", *roles).code == 0
    found = tripos("report", "--json").data["made"]
    whole, *levels = found
    assert [each["context"] for each in found] == [{}, {"level": "basic"}, {"level": "exam"}]
    for column in ("slots", "made", "given_up", "attempts"):
        assert whole[column] == sum(each[column] for each in levels)
    assert whole["slots"] == 60
    assert whole["attempts"] == whole["made"] + sum(whole["rejected"].values()) > 60
    assert whole["accepted"] == whole["made"] / whole["attempts"]
    text = tripos("report").out
    lines = text.partition("made data sets\n")[2].splitlines()
    assert lines[2].split() == [
        "item",
        "all",
        "60",
        str(whole["made"]),
        str(whole["attempts"]),
        f"{whole['accepted']:.1%}",
    ]
    assert max(map(len, text.partition("Ask more")[0].splitlines())) <= 80


PLACED = """\
benchmark placed "1.0.0" { languages en }
role candidate compared
role tagger
axis subject { numbers, shapes }
tree syllabus from "t.yaml"
dataset raw from "raw.jsonl" { subject, stem text }
dataset question from raw as q {
  walk points through syllabus below q.subject by tagger { prompt "{{ q.stem }}\\n{{ bullets(branches) }}" }
  require length(question.points) > 0
  retries 1
}
scenario sitting {
  over question as q
  ask reply by candidate { prompt "{{ q.stem }}\\n{{ bullets(q.points) }}" }
  score long = words(reply.text) > 5
}
"""


@pytest.fixture
def placed(folder: Path) -> Path:
    """A folder with a benchmark whose questions are placed in a tree."""
    (folder / "s.tripos").write_text(PLACED, "utf-8")
    tree = "numbers: {fractions: [halves, quarters], decimals: [tenths]}\nshapes: [circles]\n"
    (folder / "t.yaml").write_text(tree, "utf-8")
    rows = [("numbers", "one"), ("shapes", "two"), ("numbers", "three")]
    lines = (json.dumps({"subject": subject, "stem": stem}) for subject, stem in rows)
    (folder / "raw.jsonl").write_text("\n".join(lines), "utf-8")
    return folder


ROLES = ("--model", "mock/careful", "--role", "tagger=mock/teacher")


def test_a_forecast_counts_one_path_for_each_question_as_the_plan_does(placed: Path, tripos: Command) -> None:
    calls = tripos("run", "s.tripos", *ROLES, "--dry-run", "--json").data["calls"]
    [walk] = [each for each in calls if each["role"] == "tagger"]
    assert (walk["at_least"], walk["calls"]["expected"]) == (3, 5)
    assert "5 with one path for each row" in " ".join(tripos("plan", "s.tripos").out.split())


def test_what_was_placed_is_counted_by_the_subject_of_the_questions(
    placed: Path, tripos: Command, once: Command
) -> None:
    assert once("run", "s.tripos", *ROLES).code == 0
    found = tripos("report", "--json").data["made"]
    counts = [(each["context"].get("subject"), each["slots"], each["made"], each["given_up"]) for each in found]
    assert counts == [(None, 3, 3, 0), ("numbers", 2, 2, 0), ("shapes", 1, 1, 0)]


def test_questions_without_a_place_are_counted_with_the_reason(
    placed: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tripos_runtime.models import mocks

    monkeypatch.setattr(mocks, "choose_points", lambda messages, value, key: {name: [] for name in value})
    assert tripos("run", "s.tripos", *ROLES).code == 0
    report = tripos("report")
    assert "question: 3 given up; rejected: require 6" in report.out


def test_of_some_of_the_questions_the_most_calls_are_those_of_the_widest_of_them(placed: Path, tripos: Command) -> None:
    # Three inner nodes below `numbers`, one below `shapes`, two attempts; which question a limit takes is not known.
    assert "the first, 5 with one path for each row, 14 with" in " ".join(tripos("plan", "s.tripos").out.split())
    shown = " ".join(tripos("plan", "s.tripos", "--limit", "2").out.split())
    assert "2 calls where nothing is chosen at the first, 3 with one path for each row, 12 with" in shown


@pytest.mark.long
def test_a_run_that_is_killed_while_it_places_questions_asks_nothing_twice(placed: Path, tripos: Command) -> None:
    slow = ("--model", "mock/careful", "--role", "tagger=mock/slow")
    command = [sys.executable, "-m", "tripos", "run", "s.tripos", *slow]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ.copy())
    journal = Path("results") / "journal"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if any(b'"question.points"' in path.read_bytes() for path in journal.glob("*") if path.is_file()):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    again = tripos("run", "s.tripos", *slow, "--json").data["calls"]
    whole = tripos("run", "s.tripos", *slow, "--json").data["calls"]
    assert again["reused"] > 0
    assert (whole["asked"], whole["reused"]) == (0, again["asked"] + again["reused"])


def test_the_warning_names_the_draft_as_it_is_seen_from_where_one_stands(folder: Path, tripos: Command) -> None:
    (folder / "specs").mkdir()
    (folder / "specs/s.tripos").write_text(SPEC, "utf-8")
    (folder / "specs/t.draft.yaml").write_text("Algebra: [Sets]\n", "utf-8")
    assert "`tripos approve specs/t.draft.yaml --name YOU`" in tripos("check", "specs/s.tripos").err
    assert tripos("approve", "specs/t.draft.yaml", "--name", "A").code == 0
    assert tripos("check", "specs/s.tripos").err == ""
