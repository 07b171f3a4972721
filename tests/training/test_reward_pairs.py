"""Pairs: made of a spec's data, written with where they come from, and read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import SHARED_DATA, Command
from tripos.runs.compilation import find_spec
from tripos.training.reward_pairs import hold_out_topics, joined_groups, normalized, pairs_of, read_pairs
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Pairing, Plan
from tripos_runtime.datasets.cases import CaseSource

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "specs" / "mathtutorbench" / "reward"
CASE = ROOT / "tests" / "cases" / "export" / "valid" / "pairings.tripos"
needs_data = pytest.mark.skipif(not (SHARED_DATA / "mrbench").is_dir(), reason="the real data are not here")


def compiled(path: Path, *data: Path) -> tuple[Plan, CaseSource]:
    spec = find_spec(str(path), [str(each) for each in data])
    compilation = spec.compile()
    assert compilation.plan is not None, compilation.diagnostics
    return compilation.plan, CaseSource(compilation.plan, spec.folders, tuple(s.path for s in compilation.sources))


def pairs(name: str, path: Path = CASE) -> list[tuple[str, str, float]]:
    plan, source = compiled(path)
    (pairing,) = (each for each in plan.exports if isinstance(each, Pairing) and each.name == name)
    made, _ = pairs_of(plan, pairing, source)
    return [(each.chosen.text, each.rejected.text, each.margin) for each in made]


def test_the_reply_that_is_worth_more_beats_the_other_by_the_difference() -> None:
    assert pairs("two") == [("What is 2 and 1?", "4.", 2.0)]


def test_replies_come_one_from_each_element_of_a_list_and_each_turn_of_a_dialogue() -> None:
    assert pairs("listed") == [
        ("Think.", "No.", 1.0),
        ("Think.", "Well?", 2.0),
        ("Think.", "Think. No.", 3.0),
        ("No.", "Well?", 1.0),
        ("No.", "Think. No.", 2.0),
        ("Well?", "Think. No.", 1.0),
    ]


def test_an_export_of_data_needs_no_run(tripos: Command, tmp_path: Path) -> None:
    done = tripos("export", "two", "--spec", str(CASE), "-o", str(tmp_path / "p.jsonl"))
    assert done.code == 0
    assert "1 pair of 2 topics" in done.out
    line = json.loads((tmp_path / "p.jsonl").read_text("utf-8"))
    assert line == {"prompt": "2 + 2?", "chosen": "What is 2 and 1?", "rejected": "4.", "margin": 2.0}
    said = json.loads((tmp_path / "p.jsonl.provenance.json").read_text("utf-8"))
    assert said["lines"][0]["by"] == ["expert", "novice"]
    assert said["data"][0]["path"] == "talks.jsonl"


def test_what_is_written_is_read_with_its_topics(tripos: Command, tmp_path: Path) -> None:
    tripos("export", "two", "--spec", str(CASE), "-o", str(tmp_path / "p.jsonl"))
    read = read_pairs(tmp_path / "p.jsonl")
    assert read.texts == (("2 + 2?", "What is 2 and 1?"), ("2 + 2?", "4."))
    assert read.keys == (frozenset({"sums", "2 2"}),)
    assert read.by == (("expert", "novice"),)


def test_a_file_that_was_changed_is_refused(tripos: Command, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    tripos("export", "two", "--spec", str(CASE), "-o", str(path))
    path.write_text(path.read_text("utf-8").replace("4.", "5."), "utf-8")
    with pytest.raises(TriposError, match="was changed after"):
        read_pairs(path)


def test_pairs_of_messages_are_read_as_their_texts(tmp_path: Path) -> None:
    line = {
        "prompt": [{"role": "system", "content": "Teach."}, {"role": "user", "content": "Why?"}],
        "chosen": [{"role": "assistant", "content": "Because."}],
        "rejected": [{"role": "assistant", "content": "No."}],
    }
    (tmp_path / "p.jsonl").write_text(json.dumps(line), "utf-8")
    read = read_pairs(tmp_path / "p.jsonl")
    assert read.texts == (("Teach.\n\nWhy?", "Because."), ("Teach.\n\nWhy?", "No."))


NO_TEXT = '{"prompt": "a", "chosen": "b", "rejected": [{"role": "assistant", "content": null}]}'


@pytest.mark.parametrize("line", ["nonsense", "{}", '{"prompt": "a", "chosen": "b", "rejected": ""}', "3", NO_TEXT])
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "p.jsonl").write_text(line, "utf-8")
    with pytest.raises(TriposError) as failed:
        read_pairs(tmp_path / "p.jsonl")
    assert failed.value.code == "S0821"
    assert "p.jsonl:1" in failed.value.message


def test_what_shares_anything_over_any_number_of_steps_is_one_group() -> None:
    keys = [frozenset({"b", "c"}), frozenset({"x"}), frozenset({"a", "b"}), frozenset({"c", "d"})]
    assert joined_groups(keys) == ("a", "x", "a", "a")


def test_an_unknown_export_is_told_the_nearest(tripos: Command, tmp_path: Path) -> None:
    done = tripos("export", "tow", "--spec", str(CASE), "-o", str(tmp_path / "p.jsonl"))
    assert done.code == 2
    assert "did you mean `two`?" in done.err


def test_our_own_rows_make_pairs_of_every_kind() -> None:
    plan, source = compiled(SPEC)
    found = {each.name: len(pairs_of(plan, each, source)[0]) for each in plan.exports if isinstance(each, Pairing)}
    of_rows = {"mrbench": 48, "mathdial": 6}
    assert found == {f"{name}_{kind}": count for name, count in of_rows.items() for kind in ("pairs", "all")} | {
        "gsm8k_pairs": 44,
        "bridge_pairs": 6,
    }


@pytest.mark.long
@needs_data
def test_the_real_data_make_as_many_pairs_as_are_published(tripos: Command, tmp_path: Path) -> None:
    for name in ("mrbench_all", "bridge_pairs"):
        path = tmp_path / f"{name}.jsonl"
        assert tripos("export", name, "--spec", str(SPEC), "--data", str(SHARED_DATA), "-o", str(path)).code == 0
    learned, tested = (read_pairs(tmp_path / f"{name}.jsonl") for name in ("mrbench_all", "bridge_pairs"))
    found = hold_out_topics(learned, tested)
    assert (len(learned), len(found.preferences), found.topics) == (4521, 482, 41)
    novice = [by for by in learned.by if "Novice" in by]
    assert len(novice) == 395
    assert sum(by[1] == "Novice" for by in novice) / len(novice) == pytest.approx(0.944, abs=0.001)


@pytest.mark.long
@needs_data
def test_nothing_is_learned_that_mathtutorbench_asks(tripos: Command, tmp_path: Path) -> None:
    found = {}
    for name in ("mrbench_pairs", "mathdial_pairs"):
        path = tmp_path / f"{name}.jsonl"
        assert tripos("export", name, "--spec", str(SPEC), "--data", str(SHARED_DATA), "-o", str(path)).code == 0
        said = json.loads((tmp_path / f"{name}.jsonl.provenance.json").read_text("utf-8"))
        found[name] = (said["examples"], said["left_out"]["rows with a text that is kept out"])
    assert found == {"mrbench_pairs": (1867, 118), "mathdial_pairs": (248, 499)}
    asked = {
        (row["problem"], row["dialog_history"][-1]["text"])
        for name in ("mathdial_bridge", "mathdial_bridge_hard")
        for row in json.loads((SHARED_DATA / "mathtutorbench" / f"{name}.json").read_text("utf-8"))
    }
    texts = {normalized(text) for pair in asked for text in pair if len(normalized(text)) >= 50}
    learned = [
        json.loads(line) for name in found for line in (tmp_path / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]
    assert not [
        each for each in learned if normalized(each["chosen"]) in texts or normalized(each["rejected"]) in texts
    ]


@pytest.mark.parametrize("name", ["mrbench_pairs", "mrbench_all", "mathdial_pairs", "gsm8k_pairs", "bridge_pairs"])
def test_what_stands_before_a_reply_is_laid_out_as_a_critic_is_shown_it_in_use(name: str) -> None:
    plan, source = compiled(SPEC)
    (pairing,) = (each for each in plan.exports if isinstance(each, Pairing) and each.name == name)
    prompts = {pair.prompt for pair in pairs_of(plan, pairing, source)[0]}
    assert prompts
    for prompt in prompts:
        paragraphs = prompt.split("\n\n")
        labels = [each.partition(":")[0] for each in paragraphs]
        assert prompt == prompt.strip()
        assert "Not Available" not in prompt
        assert set(labels[:-1]) <= {"Problem", "Reference solution"}
        assert labels[-1] in ("Problem", "Teacher", "Student")
