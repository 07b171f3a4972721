"""The scores of RAGAS on the questions, answers and replies of test_ragas.py.

The package ragas 0.4.3 (pip): `Faithfulness` and `ResponseRelevancy`. Their prompts are answered by what is drawn here,
and their embeddings count runs of two and three characters, as the function `similarity` of Tripos does.

    python -P tests/gallery/originals/ragas.py > tests/gallery/verdicts/ragas.jsonl
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

COUNT = 50
WORDS = (
    "Why", "which", "river", "bridge", "is", "longer", "Fluß", "市场", "than", "1973", "opened", "?", "the", "tunnel",
)  # fmt: skip
GRAMS: dict[str, int] = {}


def rows() -> list[dict[str, Any]]:
    """Return the questions with what was retrieved."""
    return [
        {
            "user_input": f"{_words(f'question {n}', 6)} <{n}>",
            "retrieved_contexts": [f"Context {n}.", "More."][: 1 + n % 2],
        }
        for n in range(COUNT)
    ]


def _words(seed: str, most: int) -> str:
    dice = random.Random(seed)
    return " ".join(dice.choice(WORDS) for _ in range(dice.randint(1, most)))


def statements(n: int) -> list[str]:
    """Return the statements of an answer; some have none."""
    return [f"Statement {n}.{at}" for at in range(random.Random(f"statements {n}").choice([0, 1, 2, 3, 5, 8]))]


def verdicts(n: int) -> list[dict[str, Any]]:
    """Return the verdicts on an answer's statements; now and then one is left out or stands twice."""
    dice = random.Random(f"verdicts {n}")
    found = [{"statement": each, "reason": "…", "verdict": int(dice.random() < 0.6)} for each in statements(n)]
    odd = dice.randrange(8)
    return found[:-1] if odd == 0 and len(found) > 1 else [*found, *found[:1]] if odd == 1 else found


def guesses(n: int) -> list[dict[str, Any]]:
    """Return the questions that an answer suggests, with their marks for noncommittal answers."""
    dice = random.Random(f"guesses {n}")
    evasive = dice.choice([0, 0, 0.5, 1])
    return [{"question": _words(f"guess {n} {at}", 8), "noncommittal": int(dice.random() < evasive)} for at in range(3)]


def vector(text: str) -> list[float]:
    """Return how often each run of two and of three characters occurs, for all that were seen: of fixed length."""
    padded = f" {text.casefold()} "
    found = [0.0] * 4096
    for size in (2, 3):
        for at in range(len(padded) - size + 1):
            found[GRAMS.setdefault(padded[at : at + size], len(GRAMS))] += 1.0
    return found


def main() -> None:
    """Print both scores of each answer."""
    for name in (
        "chat_models.vertexai",
        "llms.vertexai",
    ):  # of a provider that is not asked, and that newer packages lack
        sys.modules[f"langchain_community.{name}"] = MagicMock()
    from ragas.dataset_schema import SingleTurnSample
    from ragas.metrics._answer_relevance import ResponseRelevanceOutput, ResponseRelevancy
    from ragas.metrics._faithfulness import Faithfulness, NLIStatementOutput, StatementGeneratorOutput

    class Prompt:
        def __init__(self, reply: Any) -> None:
            self.reply = reply

        async def generate(self, data: Any, **_: Any) -> Any:
            return self.reply

        async def generate_multiple(self, data: Any, n: int, **_: Any) -> Any:
            assert n == len(self.reply)
            return self.reply

    embeddings = SimpleNamespace(embed_query=vector, embed_documents=lambda texts: [vector(each) for each in texts])
    for n, row in enumerate(rows()):
        sample = SingleTurnSample(**row, response=f"Answer <{n}>")
        faithfulness = Faithfulness(llm=object())
        faithfulness.statement_generator_prompt = Prompt(StatementGeneratorOutput(statements=statements(n)))
        faithfulness.nli_statements_prompt = Prompt(NLIStatementOutput(statements=verdicts(n)))
        relevancy = ResponseRelevancy(llm=object(), embeddings=embeddings)
        relevancy.question_generation = Prompt([ResponseRelevanceOutput(**each) for each in guesses(n)])
        scores = [float(asyncio.run(each._single_turn_ascore(sample, None))) for each in (faithfulness, relevancy)]
        shown = [None if math.isnan(score) else score for score in scores]
        print(json.dumps({"question": row["user_input"], "faithfulness": shown[0], "answer_relevancy": shown[1]}))


if __name__ == "__main__":
    main()
