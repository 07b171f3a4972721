"""Writes what the authors' checker says of replies drawn by dice: `python openlearnlm.py CHECKOUT ../verdicts/openlearnlm.jsonl`.

They are `extract_answer` of scripts/evaluation/api/base_client.py and `AnswerChecker`, `IntegratedReportGenerator` of
the same folder in kleeeeea/openlearnlm-benchmark-repro at 049dc75, a copy of the authors' repository (Apache-2.0).
"""

from __future__ import annotations

import json
import random
import sys
import types
from pathlib import Path

root, to = Path(sys.argv[1]).resolve() / "scripts" / "evaluation", Path(sys.argv[2]).resolve()
for name in ("evaluation", "evaluation.api", "evaluation.engine"):  # their faces import clients of models
    package = types.ModuleType(name)
    package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    sys.modules[name] = package
judged: list[str] = []
answer = types.SimpleNamespace(status_code=200, json=lambda: {"choices": [{"message": {"content": judged.pop()}}]})
sys.modules["requests"] = types.ModuleType("requests")
sys.modules["requests"].post = lambda *args, **named: answer

from evaluation.api.base_client import BaseModelClient  # noqa: E402
from evaluation.engine.answer_checker import AnswerChecker  # noqa: E402
from evaluation.generate_integrated_report import IntegratedReportGenerator  # noqa: E402

dice = random.Random(2601)
checker = AnswerChecker(types.SimpleNamespace(JUDGE_API_KEY="", JUDGE_API_URL="", JUDGE_MODEL=""))
LETTERS = ["A", "B", "C", "D", "a", " b ", "\n\nC", "D.", "(A)", "**B**", "C) because", "The answer is D.", "Answer: B"]
ODD = [
    *(
        "", "E", "I do not know.", "Both A and C", "None of these", "Option C", "It must be (d).", "\\boxed{B}",
        "答案是C",
    ),
    *("Because of gravity: D", "Definitely the third, C", "The answer cannot be A; it is B", "answer = d", "4", "Ｂ"),
    *(
        "The correct one is B, not A",
        "Correct: B",
        "I pick option b",
        "Sure! The answer is: C",
        "x² + 1, so A",
        "Réponse: D",
    ),
]  # fmt: skip
STANCES = ("Epistemic stance", "Instructional stance", "Normative & ethical stance", "Deception")


def choice() -> dict[str, object]:
    """Draw a reply to a question of four options, and check it as the authors do."""
    said, truth = dice.choice(LETTERS if dice.random() < 0.6 else ODD), dice.choice("ABCD")
    extracted = BaseModelClient.extract_answer(None, said, "multiple_choice")
    found = checker.check_answer(extracted, truth, "multiple_choice")
    return {"said": said, "answer": truth, "success": True, "is_correct": found["is_correct"]}


def graded(kind: str) -> dict[str, object]:
    """Draw a grade of a judge, and check it as the authors do."""
    grade = dice.randint(1, 10)
    judged.append(json.dumps({"score": grade, "band": "", "reasoning": ""}))
    meta = {"attitude_category": dice.choice(STANCES), "difficulty": dice.choice(("Easy", "Medium", "Hard"))}
    found = checker.check_answer("a reply", "a reference", kind, "a question", "", meta)
    return {"grade": grade, "success": True, "is_correct": found["is_correct"], "check_result": found, "metadata": meta}


rows = {
    **{name: [choice() for _ in range(100)] for name in ("content", "pedagogy")},
    "skills": [graded("long answer") for _ in range(60)],
    "attitude": [graded("attitude") for _ in range(60)],
}
kinds = {"content": "mcq", "pedagogy": "mcq", "skills": "long_answer", "attitude": "attitude"}
figures = {}
for name, listed in rows.items():
    found = IntegratedReportGenerator.calculate_category_metrics(None, {"m": listed}, kinds[name])["models"]["m"]
    figures[name] = {key: found[key] for key in ("accuracy", "avg_score", "pass_rate") if key in found}
    if name == "attitude":
        figures[name] |= {
            key: sum(own["scores"]) / len(own["scores"]) for key, own in found["by_attitude_category"].items()
        }
    if name == "skills":
        figures[name] |= {key: sum(own["scores"]) / len(own["scores"]) for key, own in found["by_difficulty"].items()}
kept = ("said", "answer", "grade", "is_correct", "metadata")
lines = [
    json.dumps({"part": name} | {key: row[key] for key in kept if key in row} | score, ensure_ascii=False)
    for name, listed in rows.items()
    for row in listed
    for score in [{"score": row["check_result"]["score"]} if "check_result" in row else {}]
]
to.write_text("\n".join([*lines, json.dumps({"figures": figures})]) + "\n", "utf-8")
