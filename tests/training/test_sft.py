"""Fine-tuning a model of some thousand weights, on the CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.training.tiny import make_tiny, write_chats
from tripos.training.chats import IGNORED, Chat, Chats, as_tokens, loss_of, read_chats
from tripos.training.environment import Device
from tripos.training.recipe import Recipe
from tripos.training.sft import fine_tune, load_language_model, prepare
from tripos_compiler.errors import TriposError

pytestmark = pytest.mark.filterwarnings("ignore")
CPU = Device("cpu", "test", bf16=False)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny"))


def recipe(tiny: Path, **more: Any) -> Recipe:
    return Recipe(str(tiny), **{"batch": 4, "max_steps": 1, "learning_rate": 1e-2, **more})


def train(tmp_path: Path, tiny: Path, name: str = "out", count: int = 20, **more: Any) -> dict[str, Any]:
    data = read_chats(write_chats(tmp_path / "t.jsonl", count))
    return fine_tune(data, recipe(tiny, **more), CPU, tmp_path / name, lambda line: None)


def test_one_step_makes_another_model_and_says_what_it_did(tmp_path: Path, tiny: Path) -> None:
    report = train(tmp_path, tiny)
    assert json.loads((tmp_path / "out" / "training.json").read_text("utf-8")) == report
    assert report["steps"] == 1
    assert report["loss"]["held_out_after"] != report["loss"]["held_out_before"]
    assert report["data"]["learned"] == {"lines": 36, "groups": 18}
    assert report["data"]["held_out"] == {"lines": 4, "groups": 2}
    before, after = (load_language_model(str(folder)).model for folder in (tiny, tmp_path / "out"))
    assert any(not one.equal(two) for one, two in zip(before.parameters(), after.parameters(), strict=True))


def test_more_steps_learn_what_carries_over_to_what_is_held_out(tmp_path: Path, tiny: Path) -> None:
    loss = train(tmp_path, tiny, max_steps=12)["loss"]
    assert loss["held_out_after"] < 0.7 * loss["held_out_before"]


def test_the_same_recipe_makes_the_same_model_and_another_seed_another(tmp_path: Path, tiny: Path) -> None:
    one, two = (train(tmp_path, tiny, name, max_steps=3)["model_sha256"] for name in ("one", "two"))
    assert one == two != train(tmp_path, tiny, "three", max_steps=3, seed=1)["model_sha256"]


def test_adapters_are_merged_into_a_model_like_any_other(tmp_path: Path, tiny: Path) -> None:
    report = train(tmp_path, tiny, max_steps=6, lora=4)
    assert report["loss"]["held_out_after"] < report["loss"]["held_out_before"]
    loaded = load_language_model(str(tmp_path / "out"))
    data = read_chats(tmp_path / "t.jsonl")
    held_out = prepare(data, loaded.tokenizer, recipe(tiny)).held_out
    assert loss_of(loaded.model, held_out, 2, 1) == pytest.approx(report["loss"]["held_out_after"], rel=1e-4)
    assert not list((tmp_path / "out").glob("adapter*"))


def test_only_the_reply_is_learned_with_the_token_that_ends_it(tiny: Path) -> None:
    tokenizer = load_language_model(str(tiny)).tokenizer
    chat = Chat(({"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}), "Thus it is.", "g")
    tokens = as_tokens(tokenizer, chat)
    learned = [token for token in tokens.labels if token != IGNORED]
    assert tokenizer.decode(learned).strip() == "Thus it is.<eos>"
    assert "So." in tokenizer.decode(list(tokens.ids[: tokens.prompt_length]))


def test_the_prompt_has_the_tokens_that_the_model_sees_when_it_is_asked(tiny: Path) -> None:
    tokenizer = load_language_model(str(tiny)).tokenizer
    prompt = [{"role": "user", "content": "Why?"}]
    tokens = as_tokens(tokenizer, Chat(tuple(prompt), "So.", "g"))
    asked = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=True)["input_ids"]
    assert list(tokens.ids[: tokens.prompt_length]) == asked


def test_the_loss_is_that_of_transformers_over_all_replies_at_once(tiny: Path) -> None:
    import torch

    loaded = load_language_model(str(tiny))
    chats = [Chat(({"role": "user", "content": f"Question {n}?"},), "so " * (n + 1), "g") for n in range(5)]
    tokens = [as_tokens(loaded.tokenizer, chat) for chat in chats]
    total = count = 0.0
    for each in tokens:
        with torch.no_grad():
            said = loaded.model(input_ids=torch.tensor([each.ids]), labels=torch.tensor([each.labels]))
        learned = len(each.ids) - each.prompt_length
        total, count = total + float(said.loss) * learned, count + learned
    for at_once in (1, 2, 5):
        assert loss_of(loaded.model, tokens, at_once, pad=1) == pytest.approx(total / count, rel=1e-5)


def test_chats_that_are_too_long_are_left_out_and_never_cut(tmp_path: Path, tiny: Path) -> None:
    tokenizer = load_language_model(str(tiny)).tokenizer
    short, long = (Chat(({"role": "user", "content": text},), "yes", text) for text in ("Why?", "Why? " * 50))
    data = Chats(tmp_path / "t.jsonl", "0", (short, long))
    prepared = prepare(data, tokenizer, recipe(tiny, max_tokens=60, held_out=0))
    assert (prepared.too_long, prepared.learned) == (1, (as_tokens(tokenizer, short),))
    with pytest.raises(TriposError, match="every chat has more than 5 tokens"):
        prepare(data, tokenizer, recipe(tiny, max_tokens=5, held_out=0))


def test_a_template_that_rewrites_the_prompt_is_refused(tiny: Path) -> None:
    tokenizer = load_language_model(str(tiny)).tokenizer
    tokenizer.chat_template = "{{ messages | length }}{% for m in messages %}{{ m['content'] }}{% endfor %}"
    with pytest.raises(TriposError, match="writes a prompt otherwise"):
        as_tokens(tokenizer, Chat(({"role": "user", "content": "Why?"},), "So.", "g"))


def test_a_loss_that_is_no_number_writes_no_model(tmp_path: Path, tiny: Path) -> None:
    with pytest.raises(TriposError, match="not a number") as found:
        train(tmp_path, tiny, max_steps=8, learning_rate=1e38)
    assert (found.value.code, found.value.exit_code) == ("S0817", 1)
    assert not (tmp_path / "out").exists()


def test_the_command_trains_on_the_export_of_a_spec(quiz: Path, tiny: Path, tripos: Command) -> None:
    spec = Path("quiz.tripos").read_text("utf-8")
    spec += "measure mark = mean(rubric)\nexport best_of_all {\n best of candidate by length\n rows reply\n}\n"
    Path("quiz.tripos").write_text(spec, "utf-8")
    ran = tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:j", "--json")
    assert ran.code == 0, ran.err
    done = tripos(
        *("train", "sft", "quiz.tripos", "--model", str(tiny), "-o", "out", "--max-steps", "1", "--batch", "2"),
        *("--held-out", "0.34", "--device", "cpu", "--json"),
    )
    assert done.code == 0, done.err
    report = json.loads(Path("out/training.json").read_text("utf-8"))
    assert done.data == report
    assert report["data"]["run_id"] == ran.data["run_id"]
    assert report["data"]["export"] == "best_of_all"
    assert report["data"]["grouped_by"] == "item"
    provenance = json.loads(Path("out/data.jsonl.provenance.json").read_text("utf-8"))
    assert provenance["sha256"] == report["data"]["sha256"]


def test_a_second_training_does_not_write_over_the_first(tmp_path: Path, tiny: Path, tripos: Command) -> None:
    data = str(write_chats(tmp_path / "t.jsonl"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "training.json").write_text("{}", "utf-8")
    done = tripos("train", "sft", data, "--model", str(tiny), "-o", str(tmp_path / "out"))
    assert done.code == 2 and "S0818" in done.err


@pytest.mark.parametrize("name", ["./nothing", "nothing.gguf"])
def test_a_model_that_is_not_there_is_said(tmp_path: Path, name: str, tripos: Command) -> None:
    data = str(write_chats(tmp_path / "t.jsonl"))
    done = tripos("train", "sft", data, "--model", name, "-o", str(tmp_path / "out"), "--device", "cpu")
    assert done.code == 2 and "S0814" in done.err and "there is no model" in done.err


def test_a_folder_that_holds_no_model_is_said(tmp_path: Path, tripos: Command) -> None:
    data = str(write_chats(tmp_path / "t.jsonl"))
    (tmp_path / "empty").mkdir()
    done = tripos(
        "train", "sft", data, "--model", str(tmp_path / "empty"), "-o", str(tmp_path / "out"), "--device", "cpu"
    )
    assert done.code == 2 and "S0814" in done.err and "cannot load" in done.err
