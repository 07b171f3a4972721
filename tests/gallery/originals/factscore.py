"""The scores of FActScore on the biographies, facts and verdicts of test_factscore.py.

shmsw25/FActScore, commit f28272deffcf33efc1f1117d5479c10bb75221a9, as the package `factscore`, with numpy and tqdm:
`FactScorer.get_score`, with facts that are given, as its option `--use_atomic_facts` has them. Its judge says what is drawn
here; retrieval and models are not loaded.

    python -P tests/gallery/originals/factscore.py > tests/gallery/verdicts/factscore.jsonl
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from typing import Any
from unittest.mock import MagicMock

COUNT = 16
ENDS = (".", "!", "?", ".", ".\n", ".\n\n", " (sic).")


def people() -> list[str]:
    """Return the names."""
    return [f"Ann Über {n}" for n in range(COUNT)]


def sentences(name: str) -> list[str]:
    """Return the sentences of a biography; some have none, one has a point inside, one repeats another."""
    dice = random.Random(name)
    found = [
        f"In 19{place}0.5 {name} did <{name.rsplit(maxsplit=1)[-1]}.{place}>{dice.choice(ENDS)}"
        for place in range(dice.choice([0, 1, 2, 3, 5]))
    ]
    return found if len(found) < 5 else [*found[:4], found[3]]


def facts(sentence: str) -> list[str]:
    """Return the facts of a sentence, each with a mark of its own."""
    dice, (mark,) = random.Random(sentence.strip()), re.findall(r"<(\d+\.\d+)>", sentence)
    return [f" Fact [{mark}.{place}] holds. " for place in range(dice.choice([0, 1, 2, 3, 4, 8]))]


def is_true(fact: str) -> bool:
    """Return the verdict on a fact."""
    (mark,) = re.findall(r"\[.*?\]", fact)
    return random.Random(f"true {mark}").random() < 0.6


def main() -> None:
    """Print the decisions on each biography, with the figures of that one alone, and those of all."""
    for name in ("clm", "npm", "openai_lm", "retrieval", "atomic_facts"):
        sys.modules[f"factscore.{name}"] = MagicMock()
    from factscore.factscorer import FactScorer

    def score(topics: list[str]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            scorer = FactScorer(model_name="retrieval+ChatGPT", data_dir=folder, cache_dir=folder)
            source = MagicMock()
            source.get_passages.return_value = [{"title": "t", "text": "p"}]
            scorer.retrieval["here"] = source
            scorer.lm.generate = lambda prompt: (str(is_true(prompt.split("Input: ")[-1])), None)
            scorer.print_cost_estimates = lambda *_, **__: None
            given = [[fact for sentence in sentences(topic) for fact in facts(sentence)] or None for topic in topics]
            found = scorer.get_score(topics, ["…"] * len(topics), gamma=10, atomic_facts=given, knowledge_source="here")
        return dict(found)

    for topic in people():
        if any(facts(sentence) for sentence in sentences(topic)):
            found = score([topic])
            supported = [bool(each["is_supported"]) for each in found["decisions"][0]]
            print(
                json.dumps(
                    {"topic": topic, "supported": supported, "score": found["score"], "init_score": found["init_score"]}
                )
            )
    names = ("score", "init_score", "respond_ratio", "num_facts_per_response")
    print(json.dumps({name: float(each) for name, each in score(people()).items() if name in names}))


if __name__ == "__main__":
    main()
