"""Reward models in the form of transformers: sequence classifiers, in a folder and on the Hub."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.training.test_reward_model import SPEC, rewards
from tests.training.tiny_classifier import WITHOUT_SYSTEM, make_classifier
from tripos_runtime.models.base import DialogueTurn, Message, ModelError
from tripos_runtime.models.families import check_name, identity_of
from tripos_runtime.models.rewards import Chat
from tripos_runtime.models.trained_rewards import DIGITS, commit_of, open_reward, pinned_name

pytestmark = pytest.mark.filterwarnings("ignore")

JUDGED: Chat = (
    Message("system", "judge"),
    Message("user", "problem : twelve ?"),
    DialogueTurn("user", "it is twelve .", "Student"),
    DialogueTurn("assistant", "why is it twelve ?", "Teacher"),
)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_classifier(tmp_path_factory.mktemp("classifier") / "judge")


def scored(path: str, *chats: Chat) -> list[float]:
    async def talk() -> list[float]:
        model = open_reward(path)
        try:
            return list(await model.score(chats))
        finally:
            await model.close()

    return asyncio.run(talk())


def by_hand(folder: Path, text: str) -> float:
    """Return what the classifier gives a text, without Tripos: the number of its one label at the last token."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        return round(float(model(**tokenizer(text, return_tensors="pt")).logits[0, 0]), DIGITS)


def in_template(chat: Chat) -> str:
    return "".join(f"<start>{each.role} {each.content}<end>" for each in chat)


def test_a_chat_is_read_in_the_template_under_the_system_message_and_without_names(classifier: Path) -> None:
    other = (*JUDGED[:-1], DialogueTurn("assistant", "no .", "Teacher"))
    assert scored(str(classifier), JUDGED, other) == [
        by_hand(classifier, in_template(each)) for each in (JUDGED, other)
    ]
    assert len({*scored(str(classifier), JUDGED, other, JUDGED[1:])}) == 3  # each message counts


def test_a_reward_does_not_depend_on_what_it_is_asked_with(classifier: Path) -> None:
    longer = (
        *JUDGED,
        DialogueTurn("user", "because it is .", "Student"),
        DialogueTurn("assistant", "yes .", "Teacher"),
    )
    assert scored(str(classifier), longer, JUDGED)[1] == scored(str(classifier), JUDGED)[0]


def test_a_template_without_a_system_message_has_it_before_the_first_message_of_the_user(tmp_path: Path) -> None:
    folder = make_classifier(tmp_path / "judge", template=WITHOUT_SYSTEM)
    told = (Message("user", "judge\n\nproblem : twelve ?"), *JUDGED[2:])
    assert scored(str(folder), JUDGED) == [by_hand(folder, in_template(told))]


def test_a_classifier_without_a_template_reads_the_same_as_a_text(tmp_path: Path) -> None:
    folder = make_classifier(tmp_path / "judge", template=None)
    text = "judge\n\nproblem : twelve ?\n\nStudent: it is twelve .\nTeacher: why is it twelve ?"
    assert scored(str(folder), JUDGED) == [by_hand(folder, text)]


def test_a_folder_is_named_by_its_digest_and_no_other_is_taken_for_it(classifier: Path, tmp_path: Path) -> None:
    name = pinned_name(f"reward/{classifier}")
    assert name.startswith(f"reward/{classifier}@")
    assert pinned_name(name) == name
    assert identity_of(name).startswith("reward @ ")
    check_name(name)
    copy = shutil.copytree(classifier, tmp_path / "copy")
    assert pinned_name(f"reward/{copy}").rpartition("@")[2] == name.rpartition("@")[2]
    (copy / "config.json").write_text((copy / "config.json").read_text("utf-8") + " ", "utf-8")
    with pytest.raises(ModelError) as error:
        open_reward(f"{copy}@{name.rpartition('@')[2]}")
    assert error.value.code == "R0237"


def test_a_classifier_of_several_labels_is_no_reward_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has 3 labels") as error:
        scored(str(make_classifier(tmp_path / "judge", labels=3)), JUDGED)
    assert error.value.code == "R0239"


def test_a_text_that_is_too_long_is_said_to_be(classifier: Path) -> None:
    with pytest.raises(ModelError, match="reads 400 tokens") as error:
        scored(str(classifier), (Message("user", "why ? " * 80),))
    assert (error.value.code, error.value.fatal) == ("R0107", False)


def in_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classifier: Path, commit: str) -> None:
    """Put the classifier into a cache of the Hub, as a download would, and cut the network."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    owned = tmp_path / "models--ann--judge"
    (owned / "refs").mkdir(parents=True)
    (owned / "refs" / "main").write_text(commit, "utf-8")
    shutil.copytree(classifier, owned / "snapshots" / commit)
    commit_of.cache_clear()


def test_a_model_of_the_hub_is_named_by_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classifier: Path
) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    in_cache(tmp_path, monkeypatch, classifier, commit)
    assert pinned_name("reward/hf:ann/judge") == "reward/hf:ann/judge@0123456789ab"
    assert pinned_name("reward/hf:ann/judge@0123456789ab") == "reward/hf:ann/judge@0123456789ab"
    check_name("reward/hf:ann/judge")
    model = open_reward("hf:ann/judge@0123456789ab")
    assert (model.name, getattr(model, "revision", None)) == ("reward/hf:ann/judge@0123456789ab", commit)
    asyncio.run(model.close())


def test_what_is_no_name_of_the_hub_is_refused() -> None:
    with pytest.raises(ModelError) as error:
        open_reward("hf:judge")
    assert error.value.code == "R0234"


def test_a_run_asks_a_classifier_once_and_keeps_what_it_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, classifier: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talk.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text('{"asked": "why ?", "told": "because ."}\n{"asked": "no", "told": "yes"}\n', "utf-8")
    asked: tuple[Any, ...] = ("run", "talk.tripos", "--model", "mock/careful", "--role", f"critic=reward/{classifier}")
    done = tripos(*asked)
    assert (done.code, "@" in done.err) == (0, True), done.err
    assert "0 calls asked" in tripos(*asked).err


def test_trained_models_and_classifiers_are_told_apart(classifier: Path) -> None:
    assert type(open_reward(str(classifier))).__name__ == "ClassifierReward"
    assert rewards(open_reward(str(classifier)), "why ?") == rewards(open_reward(str(classifier)), "why ?")
