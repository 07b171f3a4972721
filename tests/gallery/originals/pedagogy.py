"""Writes the letters that AI-for-Education/pedagogy-benchmark reads in the replies of the test, and how it puts questions.

    git clone https://github.com/AI-for-Education/pedagogy-benchmark; git checkout 21a43a395ab48e3a2867fe6edd6f0a38833959b2
    PYTHONPATH=pedagogy-benchmark/src python -m tests.gallery.originals.pedagogy > tests/gallery/verdicts/pedagogy.jsonl

Its client of models, which is in no registry, is left out: nothing is asked. It needs pandas and numpy.
"""

from __future__ import annotations

import json
import sys
from types import ModuleType

from tests.gallery.pedagogy_rows import examples, questions, replies


def main() -> None:
    """Print a line for each question: the letter, and for some of them the examples and the question as they are put."""
    for name in ("fdllm", "fdllm.llmtypes", "tqdm"):
        stub = sys.modules[name] = ModuleType(name)
        stub.LLMMessage = stub.get_caller = stub.tqdm = None
    import pandas
    from cdpk.benchmark_answers import clean_resps, format_example, format_questions

    columns = ["question", *(f"answer_{letter}" for letter in "abcdefg"), "correct_answer"]
    place = {"question_col": 0, "choice_cols": list(range(1, 8)), "choices": list("ABCDEFG")}
    rows = pandas.DataFrame([[row.get(name) for name in columns] for row in questions()])
    for n, (row, reply) in enumerate(zip(questions(), replies(), strict=True)):
        verdict = {"reply": reply, "letter": clean_resps(reply)}
        if n % 50 == 0:
            shown = [each for each in examples() if each["category"] == row["category"]]
            table = pandas.DataFrame(
                [[e["question"], *(e["answers"] + [None] * 7)[:7], e["correct_answer"]] for e in shown]
            )
            verdict["examples"] = "".join(format_example(table, i, **place, answer_col=8) for i in range(3))
            verdict["question"] = format_questions(rows, n, **place)
        print(json.dumps(verdict))


if __name__ == "__main__":
    main()
