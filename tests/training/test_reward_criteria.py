"""Criteria: listed in an export, told by a classifier each, summed, and scored as any other reward model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Command
from tests.training.preferences import preferences
from tests.training.tiny_encoder import make_encoder
from tripos.training.environment import Device
from tripos.training.reward import AuditSize, train_reward
from tripos.training.reward_audit import audit
from tripos.training.reward_learners import (
    BagOfWords,
    CriteriaLearner,
    HeadLearner,
    RewardRecipe,
    accuracy,
    criteria_loss,
    fit_criteria,
    shuffled,
)
from tripos.training.reward_pairs import Preferences, exclude_authors, read_pairs
from tripos_compiler.errors import TriposError
from tripos_runtime.models.trained_rewards import read_network

pytestmark = pytest.mark.filterwarnings("ignore")
CASE = Path(__file__).parents[1] / "cases" / "export" / "valid" / "pairings.tripos"
SPEC = """\
benchmark talk "1.0.0" { languages en }
role teacher compared
dataset item from "items.jsonl" { asked text, why text, no text }
scenario turn {
  over item as d
  ask reply by teacher { prompt "{{ d.asked }}" }
  score same = reply == d.why
}
export learned {
  pairs from item as d
  for   training
  prompt "{{ d.asked }}"
  reply d.why by "one" worth [contains(d.why, "why"), contains(d.why, "?"), contains(d.why, "think")]
  reply d.no by "two" worth [contains(d.no, "why"), contains(d.no, "?"), contains(d.no, "think")]
}
export other {
  pairs from item as d
  reply d.asked by "three" worth 2
  reply d.no by "two" worth 1
}
export tested {
  pairs from item as d
  for   test
  reply d.why worth 1
  reply d.no worth 0
  group "all of these"
}
"""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spec")
    (folder / "talk.tripos").write_text(SPEC, "utf-8")
    rows = [
        {"asked": f"so {n} ?", "why": f"why is that ? {'you think' * (n % 2)} {n}", "no": f"no . try again {n}"}
        for n in range(16)
    ]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return folder / "talk.tripos"


def ticked(count: int = 40) -> tuple[Preferences, np.ndarray]:
    """Return pairs whose better reply meets two of three criteria more often, and features that tell which are met."""
    rows = [(f"t{n}", f"p{n}", f"good {n}", f"bad {n}", "", "") for n in range(count)]
    pairs = preferences(rows)
    draw = np.random.default_rng(0)
    met = []
    features = []
    for place in range(len(pairs.texts)):
        good = place in set(pairs.better.tolist())
        criteria = (good, not good or place % 3 > 0, good)
        met.append(criteria)
        features.append([*(2.0 * each - 1 + 0.3 * draw.normal() for each in criteria), draw.normal()])
    return replace(pairs, criteria=tuple(met)), np.array(features, dtype=np.float32)


def learner(pairs: Preferences, features: np.ndarray) -> CriteriaLearner:
    return CriteriaLearner(features, {text: place for place, text in enumerate(pairs.texts)}, penalties=(0.01, 0.1))


def test_what_a_reply_is_worth_is_how_many_criteria_it_meets(tripos: Command, tmp_path: Path) -> None:
    done = tripos("export", "ticked", "--spec", str(CASE), "-o", str(tmp_path / "p.jsonl"))
    assert done.code == 0, done.err
    said = json.loads((tmp_path / "p.jsonl.provenance.json").read_text("utf-8"))
    assert all(
        line["worth"] == [sum(criteria) for criteria in line["criteria"]] and line["worth"][0] > line["worth"][1]
        for line in said["lines"]
    )
    read = read_pairs(tmp_path / "p.jsonl")
    assert {None if met is None else len(met) for met in read.criteria} == {3}


def test_classifiers_tell_which_criteria_are_met_and_their_sum_which_reply_is_better() -> None:
    pairs, features = ticked()
    found = learner(pairs, features).fit(pairs, 0)
    assert found.held_out["accuracy"] > 0.9
    assert accuracy(found.rewards(features), pairs) > 0.95


def test_each_criterion_alone_tells_as_much_as_it_says_of_which_reply_is_better() -> None:
    pairs, features = ticked()
    made = learner(pairs, features)
    alone = made.by_criterion(made.fit(pairs, 0), pairs)
    assert len(alone) == 3
    assert alone[0] > 0.95 and alone[2] > 0.95
    assert alone[1] < 0.5  # it is met by the worse reply always, and by the better one sometimes


def test_the_sum_of_chances_is_the_expected_number_of_criteria() -> None:
    pairs, features = ticked()
    found = learner(pairs, features).fit(pairs, 0)
    rewards = found.rewards(features)
    assert float(rewards.min()) >= 0 and float(rewards.max()) <= 3
    assert float(rewards.mean()) == pytest.approx(np.mean([sum(met or ()) for met in pairs.criteria]), abs=0.15)


def test_the_loss_of_the_classifiers_has_its_minimum_where_they_end() -> None:
    pairs, features = ticked(12)
    met = np.array(pairs.criteria, dtype=float)
    start = np.zeros((features.shape[1] + 1, 3))
    ended = fit_criteria(features, met, 0.1, start)

    def loss(at: np.ndarray) -> float:
        return criteria_loss(features @ at[:-1] + at[-1], met) + 0.1 * float((at[:-1] ** 2).sum()) / 3

    for place in np.ndindex(ended.shape):
        step = np.zeros(ended.shape)
        step[place] = 0.01
        assert loss(ended) < min(loss(ended + step), loss(ended - step))


def test_shuffled_labels_move_the_criteria_with_the_replies() -> None:
    pairs, _ = ticked()
    moved = shuffled(pairs, 1)
    for better, worse in zip(moved.better, moved.worse, strict=True):
        one, two = moved.criteria[better], moved.criteria[worse]
        assert one is not None and two is not None and sum(one) > sum(two)
    assert moved.criteria != pairs.criteria


def test_an_audit_goes_on_where_pairs_of_a_source_say_nothing_of_criteria() -> None:
    pairs, features = ticked(30)
    by = tuple(("new", "") if n >= 20 else ("old", "") for n in range(30))
    silent = {int(place) for place in (*pairs.better[20:], *pairs.worse[20:])}
    criteria = tuple(None if place in silent else met for place, met in enumerate(pairs.criteria))
    learned = replace(pairs, by=by, criteria=criteria)
    places = {text: place for place, text in enumerate(pairs.texts)}
    found = audit(
        HeadLearner(features, places),
        BagOfWords(),
        learned,
        learned,
        seeds=2,
        nulls=0,
        criteria=learner(pairs, features),
    )
    told = {(each.kind, each.source): each.criteria is not None for each in found.variants}
    assert told["all", None] and told["alone", "old"] and not told["alone", "new"]


def test_pairs_without_criteria_teach_no_classifier() -> None:
    pairs = preferences([("a", "p", "good", "bad", "", ""), ("b", "q", "good", "bad", "", "")])
    with pytest.raises(TriposError) as failed:
        learner(pairs, np.zeros((4, 2), dtype=np.float32)).fit(pairs, 0)
    assert failed.value.code == "S0830"


def test_a_trained_sum_of_classifiers_scores_as_it_was_trained(tmp_path: Path, encoder: Path, spec: Path) -> None:
    from tests.training.test_reward_pairs import compiled
    from tripos.training.reward_pairs import write_pairs
    from tripos_compiler.plan import Pairing

    plan, source = compiled(spec)
    (pairing,) = (each for each in plan.exports if isinstance(each, Pairing) and each.name == "learned")
    write_pairs(plan, [pairing], source, tmp_path / "pairs.jsonl")
    pairs = read_pairs(tmp_path / "pairs.jsonl")
    recipe = RewardRecipe(str(encoder), tune="criteria", max_tokens=16)
    report = train_reward(
        pairs, None, recipe, AuditSize(2, 2), Device("cpu", "test", bf16=False), tmp_path / "critic", lambda line: None
    )
    assert report["accuracy"]["mean"] == 1.0
    assert report["average_margin"] > 0
    assert len(report["by_criterion"]) == len(next(met for met in pairs.criteria if met is not None))
    rewards = read_network(tmp_path / "critic").rewards([("", "why is that ?"), ("", "no . try again")])
    assert 3 > rewards[0] > rewards[1] > 0


def test_an_export_says_whether_it_is_learned_or_tested(
    tripos: Command, tmp_path: Path, encoder: Path, spec: Path
) -> None:
    given = ("--model", str(encoder), "--max-tokens", "16", "--seeds", "2", "--shuffled", "0")
    done = tripos("train", "reward", str(spec), *given, "-o", str(tmp_path / "critic"))
    assert done.code == 0, done.err
    report = json.loads((tmp_path / "critic" / "training.json").read_text("utf-8"))
    assert report["data"]["exports"] == ["learned"]
    assert report["data"]["tested"]["exports"] == ["tested"]
    assert report["audit"]["variants"][0]["criteria"]["mean"] == 1.0
    assert "criteria" in done.out


def test_replies_by_a_source_are_left_out_by_name() -> None:
    rows = [
        ("a", "p", "good", "bad", "x", "y"),
        ("b", "q", "good", "bad", "x", "z"),
        ("c", "r", "good", "bad", "x", ""),
    ]
    left = exclude_authors(preferences(rows), ["y", "z"])
    assert left.by == (("x", ""),)
    assert len(left.texts) == 2
    assert left.facts["without"] == ["y", "z"]


def test_a_source_that_wrote_nothing_is_told_the_nearest() -> None:
    pairs = preferences([("a", "p", "good", "bad", "Novice", "Expert")])
    with pytest.raises(TriposError) as failed:
        exclude_authors(pairs, ["Novize"])
    assert failed.value.code == "S0831"
    assert "`Novice`" in (failed.value.hint or "")
