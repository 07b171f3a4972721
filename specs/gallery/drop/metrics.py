"""How far two answers of DROP agree: spans without case, punctuation and articles, and numbers by their value."""

import re
import string

import numpy as np
from scipy.optimize import linear_sum_assignment

MARKS = str.maketrans("", "", string.punctuation)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def normal(span: str) -> str:
    words = []
    for word in re.split("[ -]", span.lower()):
        kept = word if is_number(word) else word.translate(MARKS)
        kept = str(float(kept)) if is_number(kept) else kept
        words += re.sub(r"\b(a|an|the)\b", " ", kept).split()
    return " ".join(words)


def same_spans(said: list[str], truth: list[str]) -> bool:
    """True if an answer has the same spans as the truth, in any order."""
    ours, theirs = [normal(each) for each in said], [normal(each) for each in truth]
    return set(ours) == set(theirs) and len(ours) == len(theirs)


def of_words(said: set[str], truth: set[str]) -> float:
    """F1 of the words of two spans; 0 where the truth has numbers and the other has none of them."""
    numbers = {each for each in truth if is_number(each)}
    if numbers and not numbers & said:
        return 0.0
    both = len(said & truth)
    precision, recall = both / len(said) if said else 1.0, both / len(truth) if truth else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def spans_f1(said: list[str], truth: list[str]) -> float:
    """The mean F1 of spans that are put side by side for the greatest sum, to two digits; a span too many has 0."""
    ours, theirs = [set(normal(each).split()) for each in said], [set(normal(each).split()) for each in truth]
    table = np.array([[of_words(one, other) for one in ours] for other in theirs])
    pairs = linear_sum_assignment(table, maximize=True)
    scores = np.zeros(max(len(ours), len(theirs)))
    scores[: len(pairs[0])] = table[pairs]
    return float(round(np.mean(scores), 2))
