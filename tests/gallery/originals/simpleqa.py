"""The figures of SimpleQA on the grades of test_simpleqa.py: `SimpleQAEval` runs whole.

openai/simple-evals, commit ee3b0318d8d1d9d72755a4120879be65f7c07e9e, as the package `simple_evals`; with jinja2, numpy,
pandas, requests and tqdm. Its data and its grader are those that are drawn here; it prints what it aggregates.

    python -P tests/gallery/originals/simpleqa.py > tests/gallery/verdicts/simpleqa.jsonl
"""

from __future__ import annotations

import ast
import io
import json
import random
import re
import sys
from types import SimpleNamespace
from typing import Any

GRADES = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")
COUNT = 300


def rows() -> list[dict[str, str]]:
    """Return the questions."""
    return [
        {"problem": f"Question {n}?", "answer": f"answer {n}", "topic": "abc"[n % 3], "answer_type": "Other"}
        for n in range(COUNT)
    ]


def grade(problem: str) -> str:
    """Return the grade of the reply to a question."""
    return random.Random(f"grade of {problem}").choices(GRADES, (5, 3, 2))[0]


def main() -> None:
    """Print the grade of each question as the original has it, and its figures."""
    import pandas
    import simple_evals.simpleqa_eval as original

    pandas.read_csv = lambda _: pandas.DataFrame(rows())

    class Sampler:
        def __init__(self, reply: Any) -> None:
            self.reply = reply

        def _pack_message(self, role: str, content: str) -> dict[str, str]:
            return {"role": role, "content": content}

        def __call__(self, messages: list[dict[str, str]]) -> Any:
            return SimpleNamespace(
                response_text=self.reply(messages[0]["content"]), actual_queried_message_list=messages
            )

    def graded(prompt: str) -> str:
        return "ABC"[GRADES.index(grade(re.findall(r"Question \d+\?", prompt)[-1]))]

    evaluation = original.SimpleQAEval(Sampler(graded))
    letters: dict[str, str] = {}
    sample = evaluation.grade_sample

    def kept(question: str, target: str, predicted_answer: str) -> str:
        letters[question] = sample(question, target, predicted_answer)
        return letters[question]

    evaluation.grade_sample = kept
    stdout, sys.stdout = sys.stdout, io.StringIO()
    evaluation(Sampler(lambda prompt: f"a reply to {prompt}"))
    printed, sys.stdout = sys.stdout.getvalue(), stdout
    for row in rows():
        print(
            json.dumps({"problem": row["problem"], "grade": original.CHOICE_LETTER_TO_STRING[letters[row["problem"]]]})
        )
    figures = ast.literal_eval(next(line for line in printed.splitlines() if line.startswith("{")))
    (rounded,) = re.findall(r"F1 Score: (\S+)", printed)
    print(json.dumps(figures | {"f1_rounded": rounded}))


if __name__ == "__main__":
    main()
