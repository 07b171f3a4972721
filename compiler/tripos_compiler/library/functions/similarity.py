"""Similarity of texts: BLEU, chrF, ROUGE, edit distance, character n-grams, BM25, and repetition of a source."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from operator import add
from typing import Any

from tripos_compiler.library.functions.texts import caseless, is_unspaced, separated, terms_of, tokens_of
from tripos_compiler.library.signature import Undefined
from tripos_compiler.replies.text import comparable
from tripos_compiler.source.data_classes import dataclass

RUN = 8
"""Number of consecutive words that are hardly ever equal by chance."""


def echoed(text: str, source: str, run: int = RUN) -> float:
    """Return the share of the words of a source that a text repeats, in stretches of at least `run` words.

    A word counts if it lies in `run` consecutive words that both texts have. Case and punctuation do not matter; in
    Chinese each character is a word. A source of fewer than `run` words must occur as a whole. An empty source has the
    share 0.

    >>> echoed("Find the sum of 17 and 25. Easy!", "Find the sum of 17 and 25.", 5)
    1.0
    >>> echoed("First find the sum of two numbers", "Find the sum of 17 and 25.", 4)
    0.5714285714285714
    """
    if run < 1:
        raise Undefined("a run has at least one word")
    wanted, texts = tokens_of(source), tokens_of(text)
    size = min(run, len(wanted))
    if size == 0:
        return 0.0
    runs = {tuple(texts[start : start + size]) for start in range(len(texts) - size + 1)}
    heard: set[int] = set()
    for start in range(len(wanted) - size + 1):
        if tuple(wanted[start : start + size]) in runs:
            heard.update(range(start, start + size))
    return len(heard) / len(wanted)


def has_no_run(given: Mapping[str, object]) -> str | None:
    """Return the error of a literal length of a run.

    >>> has_no_run({"run": 0})
    'a run has at least one word'
    """
    run = given.get("run", given.get("n"))
    return "a run has at least one word" if isinstance(run, int) and run < 1 else None


def nearest(text: str, texts: Sequence[str], count: int) -> list[str]:
    """Return the `count` texts of a list that are nearest to a text, the nearest first.

    They are ranked by BM25 over the list, as [`retrieve`](retrieve.md#how-words-are-counted) ranks by `bm25(text, …)`
    over its source. Ties keep the order of the list, and a text that shares no term is never returned. Use it where no
    `retrieve` is possible, as in a data set that a role writes: `nearest(leaf(point), passage.text, 3)`.

    >>> nearest("fractions", ["Circles are round.", "Fractions are parts.", "Adding fractions"], 3)
    ['Adding fractions', 'Fractions are parts.']
    """
    collection = _collection(tuple(texts))
    wanted = terms_of(text)
    values = [collection.value(wanted, place) for place in range(len(texts))]
    best = heapq.nsmallest(max(0, count), range(len(texts)), key=lambda place: (-values[place], place))
    return [texts[place] for place in best if values[place] > 0]


@dataclass(frozen=True)
class _Collection:
    documents: tuple[list[str], ...]
    having: Counter[str]
    average: float

    def value(self, wanted: Sequence[str], place: int) -> float:
        return bm25_score(wanted, self.documents[place], self._rarity, self.average or None)

    def _rarity(self, term: str) -> float:
        many, own = len(self.documents), self.having[term]
        return math.log(1 + (many - own + 0.5) / (own + 0.5))


@lru_cache(maxsize=4)
def _collection(texts: tuple[str, ...]) -> _Collection:
    documents = tuple(terms_of(text) for text in texts)
    having = Counter(term for document in documents for term in set(document))
    return _Collection(documents, having, sum(map(len, documents)) / max(1, len(documents)))


GRAMS = (2, 3)
"""Lengths of the character n-grams of `similarity`."""
SATURATION, BY_LENGTH = 1.5, 0.75
"""k1 and b of BM25."""


def _references(reference: str | Collection[str]) -> list[str]:
    given = [reference] if isinstance(reference, str) else sorted(reference)
    if not given:
        raise Undefined("there is no reference")
    return [comparable(each) for each in given]


def bleu_tokenizer(texts: Iterable[str]) -> str:
    """Return the sacreBLEU tokenizer for a text and its references: `zh` if one has characters of a script without
    spaces between words, otherwise `13a`. `zh` separates Chinese characters; `separated` does so for the others.

    >>> bleu_tokenizer(["the cat"]), bleu_tokenizer(["cat", "猫"]), bleu_tokenizer(["ねこ"])
    ('13a', 'zh', 'zh')
    """
    return "zh" if any(map(is_unspaced, texts)) else "13a"


def bleu(text: str, reference: str | Collection[str]) -> float:
    """Return the BLEU of one text against one or more references, 0 to 100.

    Sentence BLEU by sacreBLEU (Post, 2018): up to four-grams, exponential smoothing, effective order, case counts.
    [Differences of writing](functions.md#differences-of-writing) do not count. Words and punctuation are tokens (its
    tokenizer `13a`); if the text or a reference has characters of a script that puts no space between words, such as
    Chinese, Japanese or Thai, each of these is a token (`zh`). If all texts are empty, it is 100. The mean over items
    is not the BLEU of the corpus; that is `corpus_bleu` in a measure.

    >>> round(bleu("the cat sat on a mat", "the cat sat on the mat"), 1), round(bleu("我喜欢数学。", "我喜欢物理。"), 1)
    (53.7, 32.5)
    """
    text, *references = comparable(text), *_references(reference)
    if not text.strip() and not any(one.strip() for one in references):
        return 100.0
    scorer = _bleu(bleu_tokenizer((text, *references)))
    score: float = scorer.sentence_score(separated(text), list(map(separated, references))).score
    _forget_tokens()
    return min(score, 100.0)


def chrf(text: str, reference: str | Collection[str]) -> float:
    """Return the chrF of one text against one or more references, 0 to 100.

    It is the F score of n-grams of one to six characters, in which recall counts twice (Popović, 2015), by sacreBLEU.
    Case counts, space does not. [Differences of writing](functions.md#differences-of-writing) do not count. The best
    reference counts. If all texts are empty, it is 100.

    >>> round(chrf("colour", "color"), 1)
    55.2
    """
    text, *references = comparable(text), *_references(reference)
    if not text.strip() and not any(one.strip() for one in references):
        return 100.0
    score: float = _chrf().sentence_score(text, references).score
    return min(score, 100.0)


def rouge(text: str, reference: str | Collection[str]) -> float:
    """Return the ROUGE-L of one text against one or more references, 0 to 1.

    It is the F1 score of the longest common subsequence of words (Lin, 2004). Words are those that `words` counts,
    without regard to case and without stemming; a Chinese character is a word. The best reference counts. Two texts
    without words have 1 if they are equal, else 0.

    >>> rouge("the cat sat", "the cat is sitting"), rouge("我喜欢数学", "我喜欢物理")
    (0.5714285714285714, 0.6)
    """
    return max(_rouge(text, one) for one in _references(reference))


def _rouge(text: str, reference: str) -> float:
    from rapidfuzz.distance import LCSseq

    a, b = tokens_of(text), tokens_of(reference)
    if not a and not b:
        return float(comparable(text).strip() == reference.strip())
    return 2 * LCSseq.similarity(a, b) / (len(a) + len(b))


def rouge_n(text: str, reference: str | Collection[str], n: int) -> float:
    """Return the ROUGE-N of one text against one or more references, 0 to 1.

    It is the F1 score of the common n-grams of words, each counted as often as both texts have it (Lin, 2004). Words
    are those of `rouge`. The best reference counts. Two texts without n-grams have 1 if they are equal, else 0. The
    figure of a set is the mean over its items.

    >>> rouge_n("the cat sat", "the cat is sitting", 1), rouge_n("the cat sat", "the cat is sitting", 2)
    (0.5714285714285714, 0.4)
    """
    if n < 1:
        raise Undefined("a run has at least one word")
    return max(_rouge_n(text, one, n) for one in _references(reference))


def _rouge_n(text: str, reference: str, n: int) -> float:
    a, b = (_runs_of(tokens_of(each), n) for each in (text, reference))
    if not a and not b:
        return float(comparable(text).strip() == reference.strip())
    return 2 * (a & b).total() / (a.total() + b.total())


def _runs_of(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))


def edit_similarity(a: str, b: str) -> float:
    """Return 1 minus Levenshtein's distance divided by the length of the longer text, 0 to 1.

    Case counts. [Differences of writing](functions.md#differences-of-writing) do not count. Two empty texts have 1.

    >>> edit_similarity("kitten", "sitting"), edit_similarity("", "")
    (0.5714285714285714, 1.0)
    """
    from rapidfuzz.distance import Levenshtein

    a, b = comparable(a), comparable(b)
    longest = max(len(a), len(b))
    return 1 - Levenshtein.distance(a, b) / longest if longest else 1.0


def similarity(a: str, b: str) -> float:
    """Return the cosine similarity of the character n-grams of two texts, 0 to 1.

    The n-grams have two and three characters, without regard to case; the ends of a text count as spaces. [Differences
    of writing](functions.md#differences-of-writing) do not count. In a `retrieve` with `using ROLE` it is the cosine of
    that role's embeddings; a scorer that `gives similarity` has it for scores. Two blank texts have 1.

    >>> similarity("abc", "ABC "), similarity("abc", "xyz"), round(similarity("一元二次方程", "二次方程的解"), 2)
    (1.0, 0.0, 0.38)
    """
    one, other = grams_of(a), grams_of(b)
    if one == other:
        return 1.0
    if not one or not other:
        return 0.0
    shared = sum(count * other[gram] for gram, count in one.items() if gram in other)
    return min(1.0, shared / math.sqrt(_square(one) * _square(other)))


def grams_of(text: str) -> Counter[str]:
    """Return the counts of the character n-grams of `similarity` in a text.

    >>> sorted(grams_of("Ab"))
    [' a', ' ab', 'ab', 'ab ', 'b ']
    """
    plain = " ".join(caseless(text).split())
    if not plain:
        return Counter()
    padded = f" {plain} "
    pairs = list(map(add, padded, padded[1:]))
    return Counter(chain(pairs, map(add, pairs, padded[2:])))


def _square(counts: Mapping[str, int]) -> int:
    return sum(count * count for count in counts.values())


def bm25(query: str, document: str) -> float:
    """Return the BM25 of a document for a query, from 0; it is not symmetric.

    Words are those that `words` counts. In a `retrieve`, the rarity of a word and the average length come from what is
    searched. Anywhere else every word has the weight 1 and the document has average length, so that only the number of
    occurrences counts, each further one less (Robertson and Zaragoza, 2009, with k1 = 1.5 and b = 0.75).
    [`retrieve`](retrieve.md#how-words-are-counted) has the formula and an example.

    >>> bm25("cat", "the cat sat"), bm25("dog", "the cat sat")
    (1.0, 0.0)
    """
    return bm25_score(tokens_of(query), tokens_of(document))


def bm25_score(
    query: Sequence[str],
    document: Sequence[str],
    rarity: Callable[[str], float] = lambda _: 1.0,
    average_length: float | None = None,
) -> float:
    """Return the BM25 of a document, in tokens. `rarity` is the weight (idf) of a token in the collection, and
    `average_length` its mean number of tokens; None means that the document has exactly this length.

    >>> bm25_score(["cat"], ["cat", "cat"]), bm25_score(["cat"], ["cat", "cat"], average_length=1.0)
    (1.4285714285714286, 1.0810810810810811)
    """
    relative = len(document) / average_length if average_length else 1.0
    counts = Counter(document)
    scores = (
        rarity(token)
        * counts[token]
        * (SATURATION + 1)
        / (counts[token] + SATURATION * (1 - BY_LENGTH + BY_LENGTH * relative))
        for token in dict.fromkeys(query)
        if counts[token]
    )
    return math.fsum(scores)


@cache
def _bleu(tokeniser: str) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True, tokenize=tokeniser)


@cache
def _chrf() -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def _forget_tokens() -> None:
    """Clear sacreBLEU's token caches. It keeps the last 65,536 texts of each tokenizer; replies seldom recur and may be
    long."""
    from sacrebleu.tokenizers import tokenizer_13a, tokenizer_re, tokenizer_zh

    for tokeniser in (tokenizer_13a.Tokenizer13a, tokenizer_re.TokenizerRegexp, tokenizer_zh.TokenizerZh):
        tokeniser.__call__.cache_clear()
