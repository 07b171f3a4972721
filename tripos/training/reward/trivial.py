"""Baselines that know nothing of what is good: what they reach, a model must exceed to have learned anything else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tripos.training.reward.learning import Reward
from tripos.training.reward.pairs import Numbers, Preferences
from tripos.training.splits import split_by_group

TOKENS = r"(?u)\b\w+\b|[?!.]"
"""What counts as a word: the signs that end a sentence too, since a question shows by its mark."""


@dataclass(frozen=True)
class BagOfWords:
    """TF-IDF of words and pairs of words, with the strengths of Bradley and Terry: a logistic regression of differences
    without a constant. Of order and meaning it knows nothing."""

    share: float = 0.1
    name: str = "bag of words"

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Learned of the pairs that the seed does not hold out, as a model is."""
        from scipy.sparse import vstack
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression

        taught = learned.only(split_by_group(learned.groups, self.share, seed).learned)
        words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=TOKENS)
        used = np.unique(np.concatenate([taught.better, taught.worse]))
        words.fit([taught.texts[place][1] for place in used])
        rows = words.transform([reply for _, reply in taught.texts])
        apart = rows[taught.better] - rows[taught.worse]
        model = LogisticRegression(fit_intercept=False, max_iter=500)
        model.fit(vstack([apart, -apart]), np.repeat([1, 0], len(taught)))
        weight = model.coef_[0]
        return lambda pairs: np.asarray(words.transform([reply for _, reply in pairs.texts]) @ weight)


def longer(pairs: Preferences) -> Numbers:
    """The length of every reply, in characters."""
    return np.array([len(reply) for _, reply in pairs.texts], dtype=float)


def asks(pairs: Preferences) -> Numbers:
    """1 for every reply with a question mark, 0 for the others."""
    return np.array([float("?" in reply or "？" in reply) for _, reply in pairs.texts])


RULES = {"the longer reply": longer, "contains a question mark": asks}
"""Rules that are not learned, by what they are called."""
