"""Chats that are read to be learned, and how they are parted."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.conftest import Command
from tripos.training.chats import Chats, read_chats
from tripos.training.environment import GroupSplit, split_by_group
from tripos.training.sft import Prepared, describe_data
from tripos_compiler.errors import TriposError

CHAT = {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]}


def write(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines), "utf-8")
    return path


def write_provenance(path: Path, items: list[str], **more: Any) -> None:
    told = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "kind": "distillation", **more}
    told["lines"] = [{"item": item} for item in items]
    path.with_name(f"{path.name}.provenance.json").write_text(json.dumps(told), "utf-8")


def test_the_last_message_is_learned_and_the_others_are_given(tmp_path: Path) -> None:
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    line = {"messages": [*asked, {"role": "assistant", "content": "So."}]}
    [chat] = read_chats(write(tmp_path / "t.jsonl", line)).chats
    assert ([dict(each) for each in chat.prompt], chat.reply) == (asked, "So.")


def test_a_prompt_and_its_completion_are_a_chat(tmp_path: Path) -> None:
    [chat] = read_chats(write(tmp_path / "t.jsonl", {"prompt": "Why?", "completion": "So."})).chats
    assert (chat.prompt, chat.reply) == (({"role": "user", "content": "Why?"},), "So.")


def test_lines_of_an_item_are_one_group_where_the_provenance_tells_items(tmp_path: Path) -> None:
    other = {"messages": [{"role": "user", "content": "How?"}, {"role": "assistant", "content": "Thus."}]}
    path = write(tmp_path / "t.jsonl", CHAT, other, CHAT)
    write_provenance(path, ["a", "a", "b"])
    data = read_chats(path)
    assert ([chat.group for chat in data.chats], data.grouped_by) == (["a", "a", "b"], "item")


def test_lines_of_a_prompt_are_one_group_where_no_provenance_is_there(tmp_path: Path) -> None:
    again = {"messages": [CHAT["messages"][0], {"role": "assistant", "content": "Because."}]}
    other = {"messages": [{"role": "user", "content": "How?"}, CHAT["messages"][1]]}
    data = read_chats(write(tmp_path / "t.jsonl", CHAT, again, other))
    first, second, third = (chat.group for chat in data.chats)
    assert (first == second != third, data.grouped_by) == (True, "prompt")


def test_a_file_that_was_changed_after_its_provenance_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", CHAT)
    write_provenance(path, ["a"])
    write(path, CHAT, CHAT)
    with pytest.raises(TriposError, match="was changed after"):
        read_chats(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ({"messages": [CHAT["messages"][0]]}, "no chat"),
        ({"messages": [CHAT["messages"][1]]}, "no chat"),
        ({"text": "Why? So."}, "no chat"),
        ({"prompt": [], "chosen": [], "rejected": []}, "a pair of replies"),
        ({"messages": [{"role": "user", "content": ["Why?"]}, CHAT["messages"][1]]}, "a message has no"),
        ({"messages": [CHAT["messages"][0], {"role": "assistant", "content": " "}]}, "the reply is empty"),
    ],
)
def test_a_line_that_cannot_be_learned_is_named(tmp_path: Path, line: Any, said: str) -> None:
    with pytest.raises(TriposError) as found:
        read_chats(write(tmp_path / "t.jsonl", CHAT, line))
    assert found.value.code == "S0813"
    assert f"t.jsonl:2: {said}" in found.value.message


def test_pairs_are_not_taken_for_chats(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", CHAT)
    write_provenance(path, ["a"], kind="preferences")
    with pytest.raises(TriposError, match="pairs of replies"):
        read_chats(path)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdefgh"), min_size=8), st.floats(0.05, 0.5), st.integers(0, 5))
def test_no_group_is_on_both_sides(groups: list[str], share: float, seed: int) -> None:
    if len(set(groups)) < 2:
        return
    split = split_by_group(groups, share, seed)
    assert sorted([*split.learned, *split.held_out]) == list(range(len(groups)))
    assert not {groups[place] for place in split.learned} & {groups[place] for place in split.held_out}
    assert split.groups_held_out >= 1


def test_the_split_does_not_depend_on_the_order_of_the_lines() -> None:
    groups = [str(number) for number in range(40)]
    held = {groups[place] for place in split_by_group(groups, 0.25, 3).held_out}
    turned = groups[::-1]
    assert {turned[place] for place in split_by_group(turned, 0.25, 3).held_out} == held
    assert {groups[place] for place in split_by_group(groups, 0.25, 4).held_out} != held


def test_nothing_is_held_out_of_a_share_of_nothing() -> None:
    assert split_by_group(["a", "b"], 0, 0).held_out == ()


def test_a_single_item_cannot_be_parted() -> None:
    with pytest.raises(TriposError, match="nothing is left to learn"):
        split_by_group(["a", "a"], 0.1, 0)


def test_without_the_extra_the_command_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "trl" else found(name, *rest))
    done = tripos("train", "sft", "t.jsonl", "--model", "some/model", "-o", str(tmp_path / "out"))
    assert done.code == 2
    assert "S0812" in done.err and "`trl`" in done.err and "pip install 'tripos[train]'" in done.err


def test_a_report_names_the_exports_that_made_the_data(tmp_path: Path) -> None:
    prepared = Prepared(GroupSplit((0,), (), 1, 0), (), (), 0)
    told = {"benchmark": "quiz", "exports": ["kct", "qa"], "lines": [{"item": "a"}]}
    chats = Chats(tmp_path / "t.jsonl", "0" * 64, (), told)
    assert describe_data(chats, prepared)["exports"] == ["kct", "qa"]
