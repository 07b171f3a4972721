"""`--recipe NAME`: the settings that a paper says, but for what other options say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos.cli.parser import build_parser
from tripos.cli.train import _recipe
from tripos_compiler.errors import TriposError

TRAIN = ("train", "sft", "chats.jsonl", "--model", "m", "-o", "out")


def told(*more: str) -> dict[str, Any]:
    """Return what the recipe of a command line comes to."""
    return _recipe(build_parser("train").parse_args([*TRAIN, *more])).to_json()


def test_without_a_name_the_recipe_is_as_it_was() -> None:
    plain = told()
    assert (plain["learning_rate"], plain["batch"], plain["epochs"], plain["held_out"]) == (2e-5, 16, 1.0, 0.1)
    assert (plain["warmup"], plain["weight_decay"], plain["max_tokens"], plain["name"]) == (0.03, 0.0, 2048, None)


def test_edubench_trains_all_weights_in_batches_of_eight_one_at_once() -> None:
    found = told("--recipe", "edubench")
    assert (found["learning_rate"], found["batch"], found["at_once"], found["lora"]) == (1e-5, 8, 1, 0)
    assert found["name"] == "edubench"


def test_cjeval_says_warm_up_and_decay_of_all_weights_and_of_adapters() -> None:
    full, lora = told("--recipe", "cjeval"), told("--recipe", "cjeval", "--lora", "8")
    assert (full["learning_rate"], full["epochs"], full["warmup"], full["weight_decay"]) == (2e-5, 1.0, 0.1, 0.1)
    assert (lora["learning_rate"], lora["epochs"], lora["warmup"], lora["weight_decay"]) == (3e-4, 5.0, 0.1, 0.1)


def test_an_option_counts_more_than_the_recipe() -> None:
    found = told("--recipe", "cjeval", "--epochs", "2", "--warmup", "0")
    assert (found["epochs"], found["warmup"], found["weight_decay"]) == (2.0, 0.0, 0.1)


def test_a_recipe_without_adapters_is_not_taken_with_them() -> None:
    with pytest.raises(TriposError, match="trains all weights") as found:
        told("--recipe", "edubench", "--lora", "8")
    assert found.value.code == "R0202"


def test_a_recipe_that_nobody_published_is_refused(tmp_path: Path, tripos: Command) -> None:
    done = tripos(*TRAIN, "--recipe", "edubanch")
    assert done.code == 2
    assert "did you mean `edubench`?" in done.err
