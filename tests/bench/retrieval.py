"""Looking for the nearest of 100,000 texts: BM25 and likeness of letters by index, and vectors.

    python tests/bench/retrieval.py [--texts 100000] [--queries 50] [--most-ms 50]

Beside each stands scikit-learn with the same terms: a sparse product of term weights, and for vectors its
nearest-neighbour search by cosine. The ratio is what to quote; milliseconds are printed, wall clock and CPU, and a
query that takes more than `--most-ms` of CPU time in the mean is an exit code of 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable

import numpy as np

from tripos_compiler.language.evaluation import DATA
from tripos_compiler.library.functions.texts import terms_of
from tripos_compiler.plan import Call, Data, Ref, Retrieve
from tripos_runtime.program.retrieval import Chooser, GramIndex, TermIndex, VectorIndex

WORDS = "一元二次方程函数图象平行四边形电功率浮力压强光合作用呼吸细胞结构历史改革开放地理气候温度密度质量速度时间"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--most-ms", type=float, default=50.0)
    options = parser.parse_args()
    drawn = random.Random(7)
    texts = ["".join(drawn.choices(WORDS, k=drawn.randint(8, 60))) for _ in range(options.texts)]
    queries = ["".join(drawn.choices(WORDS, k=120)) for _ in range(options.queries)]
    slow = False
    for kind, index in (("bm25", TermIndex), ("similarity", GramIndex)):
        made = timed(lambda index=index: index.of(texts))
        chooser, step = Chooser(), step_by(kind)
        names = {DATA: {"pool": [{"text": text} for text in texts]}}
        chooser.chosen(step, {**names, "q": queries[0]}, "", {})  # makes the index
        ours = each(lambda query: chooser.chosen(step, {**names, "q": query}, "", {}), queries)  # noqa: B023
        theirs = each(peer(kind, texts), queries)
        slow |= told(f"{kind} of {options.texts:,} texts", ours, theirs, made, options.most_ms)
    vectors = np.random.default_rng(7).standard_normal((options.texts, 512)).astype(np.float32)
    index = VectorIndex.of(vectors)
    asked = [str(number) for number in range(options.queries)]
    ours = each(lambda number: np.argpartition(-index.near(vectors[int(number)]), 20)[:20], asked)
    from sklearn.neighbors import NearestNeighbors

    peers = NearestNeighbors(n_neighbors=20, metric="cosine", algorithm="brute", n_jobs=1).fit(vectors)
    theirs = each(lambda number: peers.kneighbors(vectors[int(number)][None]), asked)
    slow |= told(f"vectors of {options.texts:,} texts", ours, theirs, (0.0, 0.0), options.most_ms)
    sys.exit(slow)


def step_by(kind: str) -> Retrieve:
    """Return the twenty nearest of a data set."""
    sides = (Ref(path=("q",)), Ref(path=("x", "text")))
    by = Call(function=kind, args=sides)
    return Retrieve(name="near", source=Data(dataset="pool"), alias="x", top=20, by=by, fingerprint=kind)


def peer(kind: str, texts: list[str]) -> Callable[[str], object]:
    """scikit-learn's way to the same: term weights, and their product with a query's."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if kind == "bm25":
        vectorizer = TfidfVectorizer(analyzer=terms_of)
    else:
        vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(2, 3), use_idf=False)
    weights = vectorizer.fit_transform(texts)
    return lambda query: np.argpartition(-(weights @ vectorizer.transform([query]).T).toarray().ravel(), 20)[:20]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds by the clock and of CPU time."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu


def each(work: Callable[[str], object], queries: list[str]) -> tuple[float, float]:
    """Return milliseconds a query, by the clock and of CPU time."""
    clock, cpu = timed(lambda: [work(query) for query in queries])
    return 1000 * clock / len(queries), 1000 * cpu / len(queries)


def told(
    what: str, ours: tuple[float, float], theirs: tuple[float, float], made: tuple[float, float], most_ms: float
) -> bool:
    """Print a line; whether a query took too long."""
    print(
        f"{what}: {ours[0]:.1f} ms a query ({ours[1]:.1f} CPU), index in {made[0]:.1f} s ({made[1]:.1f} CPU); "
        f"scikit-learn {theirs[0]:.1f} ms ({theirs[1]:.1f} CPU); ratio of CPU {ours[1] / theirs[1]:.2f}"
    )
    return ours[1] > most_ms


if __name__ == "__main__":
    main()
