"""Writes the letters and learning gains of SunriserFuture/EducationQ for the replies of the test.

    git clone https://github.com/SunriserFuture/EducationQ; git checkout 348cd2b89b3e4573587e4eb5826a0f388b443528
    PYTHONPATH=EducationQ/src/run python -m tests.gallery.originals.educationq > tests/gallery/verdicts/educationq.jsonl

Clients of models and readers of data sets are left out: nothing is asked. `main.py` needs nothing else.
"""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

from tests.gallery.educationq_rows import questions, replies

ABSENT = ("pandas", "tiktoken", "yaml", "datasets", "openai", "tqdm", "google", "google.auth",
          "google.auth.transport", "google.auth.transport.requests", "pydantic")  # fmt: skip


class Absent(ModuleType):
    """A module that nothing of is called."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return object


def main() -> None:
    """Print a line for each question, with both letters, and one with the gains of each category and of all."""
    sys.modules.update({name: Absent(name) for name in ABSENT})
    from main import EvalManager, StudentLLM

    read = StudentLLM.extract_answer
    taught: dict[str, Any] = {"config": None}
    for n, (row, (before, after)) in enumerate(zip(questions(), replies(), strict=True)):
        put = {} if n % 30 else {"put": StudentLLM.format_question(row["question"], row["options"])}
        print(json.dumps({"before": read(before), "after": read(after), **put}))
        tests = [{"responses": [{"model_prediction": read(said), "correct_answer": row["answer"]}]}
                 for said in (before, after)]  # fmt: skip
        taught[row["id"]] = {"category": row["category"], "pre_test": tests[0], "post_test": tests[1]}
    manager = SimpleNamespace(_save_results=lambda *_: None)
    found = EvalManager._perform_evaluation(manager, {"T": {"config": None, "S": taught}})["T"]["S"]
    print(json.dumps({name: each for name, each in found.items() if name != "config"}))


if __name__ == "__main__":
    main()
