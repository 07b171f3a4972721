"""The shortcut audit on pairs of which it is known what is good, and what a shortcut."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from tests.training.preferences import learner, made, preferences
from tripos.training.reward_audit import Audit, audit, clustered_error, shared_sources
from tripos.training.reward_learners import BagOfWords, accuracy, fit_head, preference_loss, shuffled
from tripos.training.reward_pairs import hold_out_topics
from tripos_compiler.errors import TriposError

if find_spec("sklearn") is None:  # it is imported where it is needed: that takes seconds
    pytest.skip("scikit-learn is not installed", allow_module_level=True)


def audited(*, planted: bool, knows: float, nulls: int = 19) -> Audit:
    learned, tested = made("learned", planted=planted), made("test", planted=planted)
    return audit(learner(learned, tested, knows=knows), BagOfWords(), learned, tested, seeds=3, nulls=nulls)


@pytest.fixture(scope="module")
def fooled() -> Audit:
    return audited(planted=True, knows=0.0)


@pytest.fixture(scope="module")
def sound() -> Audit:
    return audited(planted=False, knows=2.0)


def test_a_planted_shortcut_is_warned_of(fooled: Audit) -> None:
    assert fooled.variants[0].model.mean > 0.9
    assert any("a bag of words does as well as the model" in each for each in fooled.warnings)
    assert any(each.startswith("without novice") and "falls" in each for each in fooled.warnings)


def test_without_the_source_of_the_shortcut_nothing_is_left_of_the_figure(fooled: Audit) -> None:
    (without,) = (each for each in fooled.variants if each.kind == "without" and each.source == "novice")
    assert without.model.mean < 0.7
    (alone,) = (each for each in fooled.variants if each.kind == "alone" and each.source == "novice")
    assert alone.model.mean > 0.9


def test_a_model_that_knows_what_is_good_is_not_warned_of(sound: Audit) -> None:
    assert sound.variants[0].model.mean > 0.9
    assert sound.variants[0].words.mean < 0.7
    assert sound.warnings == ()
    assert len(sound.null) == 19
    assert sound.p == pytest.approx(1 / 20), "the least that so many shuffles allow"
    assert audited(planted=False, knows=2.0).to_json() == sound.to_json()


def test_shuffled_labels_reach_what_a_model_without_knowledge_does() -> None:
    found = audited(planted=False, knows=0.0)
    assert found.p is not None and found.p > 0.05
    assert any("shuffled labels reaches as much" in each for each in found.warnings)


def test_too_few_shuffles_are_warned_of() -> None:
    assert any("say little" in each for each in audited(planted=False, knows=2.0, nulls=3).warnings)


def test_sources_are_shared_where_both_sides_name_them() -> None:
    one = preferences([("a", "p", "good", "bad", "expert", "novice")])
    two = preferences([("b", "q", "good", "bad", "expert", "")])
    assert shared_sources(one, two) == ("expert",)


def test_pairs_that_share_a_topic_or_replies_with_what_is_learned_are_not_tested() -> None:
    learned = preferences([("a", "p", "good", "bad", "", "")])
    tested = preferences([("a", "q", "good", "bad", "", ""), ("b", "r", "better", "worse", "", "")])
    found = hold_out_topics(learned, tested)
    assert (len(found.preferences), found.pairs, found.topics) == (1, 1, 1)
    assert {reply for _, reply in found.preferences.texts} == {"better", "worse"}
    tested = preferences([("p", "p", "better", "bad", "", ""), ("p", "q", "good", "bad", "", "")])
    found = hold_out_topics(learned, tested)
    assert (len(found.preferences), found.pairs, found.topics) == (1, 1, 0)
    assert found.preferences.texts == (("q", "good"), ("q", "bad"))
    with pytest.raises(TriposError) as failed:
        hold_out_topics(learned, learned)
    assert failed.value.code == "S0822"


def test_shuffling_keeps_how_many_pairs_a_prompt_has_and_their_margins() -> None:
    pairs = made("learned", planted=True)
    moved = shuffled(pairs, seed=1)
    prompts = [pairs.texts[place][0] for place in pairs.better]
    assert [moved.texts[place][0] for place in moved.better] == prompts
    assert moved.margins.tolist() == pairs.margins.tolist()
    swapped = float((moved.better != pairs.better).mean())
    assert 0.3 < swapped < 0.7


def test_the_loss_has_its_minimum_where_the_head_ends() -> None:
    pairs = made("learned", planted=True, count=30)
    rows = np.random.default_rng(3).normal(size=(len(pairs.texts), 3)).astype(np.float32)
    weight = fit_head(rows, pairs, 0.1, np.zeros(3))

    def loss(at: np.ndarray) -> float:
        return preference_loss(rows @ at, pairs) + 0.1 * float(at @ at)

    for step in np.eye(3) * 0.01:
        assert loss(weight) < min(loss(weight + step), loss(weight - step))


def test_the_loss_is_that_of_the_formula_and_a_tie_counts_a_half() -> None:
    pairs = preferences([("a", "p", "good", "bad", "", "")])
    wanted = -np.log(1 / (1 + np.exp(-(2.0 - 0.5 - 1.0))))
    assert preference_loss(np.array([2.0, 0.5]), pairs) == pytest.approx(wanted)
    assert accuracy(np.zeros(2), pairs) == 0.5


def test_the_error_of_a_mean_grows_where_pairs_of_a_topic_agree() -> None:
    values = np.array([1.0, 1.0, 0.0, 0.0] * 5)
    apart_ = clustered_error(values, [str(n) for n in range(20)])
    together = clustered_error(values, [str(n // 2) for n in range(20)])
    assert apart_ is not None and together is not None and together > 1.3 * apart_
