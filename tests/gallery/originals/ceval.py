"""The verdicts of C-Eval's own evaluator on the questions and replies of test_ceval.py.

hkust-nlp/ceval, commit cba65ae93bcf189149ced9f66ae0c958201faed9: `ChatGPT_Evaluator` of code/evaluator_series, which is
on the path, few-shot and answer-only; with pandas and tqdm. Its calls of OpenAI go to the replies that are drawn here.

    python tests/gallery/originals/ceval.py > tests/gallery/verdicts/ceval.jsonl
"""

from __future__ import annotations

import json
import random
import sys
from types import ModuleType
from typing import Any

SUBJECTS = {
    "high_school_physics": 40,
    "college_programming": 25,
    "high_school_geography": 30,
    "chinese_language_and_literature": 60,
    "high_school_history": 10,
    "accountant": 35,
}
SAID = ("{0}", "{0}.", " {0} ", "({0})", "{0}）", "【{0}】", "答案：{0}", "{lower}", "**{0}**", "{0}\n", "$\\boxed{{{0}}}$",
        "{0}. {text}", "{0}{0}", "{0}、{1}", "{1}", "{1}.", "[{1}]", "{full}", "{0}\u3000", "'{0}'", "`{0}`\t.", "选{0}", "\ufeff{0}",
        "我不能回答。", "", "—", "{0} because {text}", "_{0}_", "{0}。", "\x1c{0}", "{0}\u200b", "~{0}^")  # fmt: skip


def rows(split: str) -> dict[str, list[dict[str, str]]]:
    """Return the questions of each subject."""
    found = {}
    for subject, count in SUBJECTS.items():
        dice = random.Random(f"{split} {subject}")
        found[subject] = [
            {
                "id": str(n),
                "question": f"{subject} {split} 第{n}题____",
                **{letter: f"选项{letter}{dice.randint(1, 99)}" for letter in "ABCD"},
                "answer": dice.choice("ABCD"),
                **({"explanation": "因此如此。"} if split == "dev" else {}),
            }
            for n in range(5 if split == "dev" else count)
        ]
    return found


def reply(row: dict[str, str]) -> str:
    """Return the reply to a question, in one of the forms that models give."""
    dice = random.Random(row["question"])
    right, other = row["answer"], dice.choice([each for each in "ABCD" if each != row["answer"]])
    form = dice.choice([*SAID, *SAID[:4]])
    full = chr(ord(right) - ord("A") + ord("Ａ"))
    return form.format(right, other, lower=right.lower(), text=row[right], full=full)


def main() -> None:
    """Print what the evaluator says of each question, and its accuracy of each subject, in per cent."""
    said: dict[str, str] = {}
    openai: Any = ModuleType("openai")

    class ChatCompletion:
        @staticmethod
        def create(messages: list[dict[str, str]], **_: Any) -> dict[str, Any]:
            text = next(reply for question, reply in said.items() if question in messages[-1]["content"])
            return {"choices": [{"message": {"content": text}}]}

    openai.ChatCompletion = ChatCompletion
    sys.modules["openai"] = openai
    import pandas
    from evaluators.chatgpt import ChatGPT_Evaluator

    for subject, questions in rows("val").items():
        said.clear()
        said.update({row["question"] + "\n": reply(row) for row in questions})
        evaluator = ChatGPT_Evaluator(choices=[*"ABCD"], k=5, api_key="", model_name="")
        frame, dev = pandas.DataFrame(questions), pandas.DataFrame(rows("dev")[subject])
        frame.to_csv = lambda *_, **__: None
        accuracy = evaluator.eval_subject(subject, frame, dev, few_shot=True, save_result_dir="nowhere")
        print(json.dumps({"subject": subject, "accuracy": accuracy, "correct": [int(n) for n in frame["correctness"]]}))


if __name__ == "__main__":
    main()
