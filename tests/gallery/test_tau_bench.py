"""τ-bench retail by its own environment: the reward of every conversation, and pass^k as it prints them."""

from __future__ import annotations

import copy
import re
import runpy
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.gallery.originals.tau_bench import TRIALS, TURNS, answer, script, tasks
from tests.gallery.playing import GALLERY, facts_of, play, verdicts_of
from tripos_compiler.plan import parse_call, write_calls

TOOLS = runpy.run_path(str(GALLERY / "tau_bench" / "retail.py"))


def goal(task: dict[str, Any]) -> dict[str, Any]:
    """Return the shop after the actions that are right; one that the rules forbid changes nothing."""
    state = copy.deepcopy(task["data"])
    for name, given in task["actions"]:
        before = copy.deepcopy(state)
        try:
            TOOLS[name](state, **given)
        except ValueError:
            state = before
    return state


def test_rewards_are_those_of_the_original(tmp_path: Path) -> None:
    *lines, shown = verdicts_of("tau_bench")
    begun: Counter[int] = Counter()

    def agent(messages: list[str]) -> str:
        _, opening, *told = messages
        number = int(re.findall(r"Task <(\d+)>", opening)[0])
        marks = [mark for each in told for mark in re.findall(r"\[trial (\d)\]", each)]
        if not marks:
            begun[number] += 1
        trial = int(marks[0]) if marks else begun[number] - 1
        step = script(number, trial)[len(marks)]
        if isinstance(step, str):
            return f"[trial {trial}] {step}"
        return write_calls(f"[trial {trial}]", [parse_call(*step)])

    def user(messages: list[str]) -> str:
        if messages[-1] == "Hi! How can I help you today?":
            return re.findall(r"Task <\d+>", messages[0])[0]
        return answer(messages[-1])

    names = ("user_id", "instruction", "data", "outputs")
    rows = [{**{name: task[name] for name in names}, "goal": goal(task)} for task in tasks()]
    figures = play(tmp_path, "tau_bench", {"tasks.jsonl": rows}, agent, {"user": user})
    rewards: dict[str, float] = defaultdict(float)
    for each in lines:
        rewards[f"user_{each['task']}"] += each["reward"]
    solved: dict[str, float] = dict.fromkeys(rewards, 0.0)
    for score in figures.scores:
        assert score.status == "scored"
        solved[score.fields["user_id"]] += score.value or 0.0
    assert solved == rewards
    assert len(figures.scores) == TRIALS * len(rows) == facts_of("tau_bench").replies
    assert any(len(script(number, trial)) > TURNS for number in range(len(rows)) for trial in range(TRIALS))
    for k in range(1, TRIALS + 1):
        assert figures[f"pass_{k}"].value == pytest.approx(shown[f"k={k}"], abs=facts_of("tau_bench").apart)


SOLVED = "01100111000142021140430040220122003443413241222144"
"""How many of four trials gpt-4o solved of each task of the airline: the rewards in historical_trajectories of
sierra-research/tau-bench, commit 59a200c."""
PUBLISHED = {"pass_1": "0.420", "pass_2": "0.273", "pass_3": "0.220", "pass_4": "0.200"}
"""The row of gpt-4o with calls of tools in the table of the authors' README."""


def test_published_figures_come_out_of_the_released_rewards(tmp_path: Path) -> None:
    begun: Counter[str] = Counter()

    def agent(messages: list[str]) -> str:
        begun[messages[1]] += 1
        (number,) = re.findall(r"\d+", messages[1])
        return "It is done. Goodbye." if begun[messages[1]] <= int(SOLVED[int(number)]) else "Goodbye."

    def user(messages: list[str]) -> str:
        if messages[-1] == "Hi! How can I help you today?":
            return re.findall(r"Task <\d+>", messages[0])[0]
        return answer(messages[-1])

    shared = {"user_id": "u", "data": {}, "goal": {}, "outputs": ["done"]}
    rows = [{"instruction": f"Task <{n}>", **shared} for n in range(len(SOLVED))]
    figures = play(tmp_path, "tau_bench", {"tasks.jsonl": rows}, agent, {"user": user})
    assert {name: f"{figures[name].value:.3f}" for name in PUBLISHED} == PUBLISHED
