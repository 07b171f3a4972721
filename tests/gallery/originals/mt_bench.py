"""The ratings and means of FastChat on the questions, answers and judgements of test_mt_bench.py.

lm-sys/FastChat, commit 0e6d3e4beaab66f4d3f93db72541a4abab8af28d: `run_judge_single` of llm_judge/common.py with its
judge_prompts.jsonl, and `display_result_single` of show_result.py; `fastchat` is on the path, with pandas. Its calls of
OpenAI go to the judgements that are drawn here, and its modules for other models are not loaded.

    python tests/gallery/originals/mt_bench.py > tests/gallery/verdicts/mt_bench.jsonl
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

CATEGORIES = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")
WITH_REFERENCES = ("reasoning", "math", "coding")
FORMS = ("Rating: [[{0}]]", "Good.\n\nRating: [[{0}]]", "[[{0}]]", "[[{0}.5]]", "First [[{1}]], but on the whole [[{0}]].",
         "Rating: [{0}]", "See [1]. Rating: [[{0}]]", "See [{1}] and [{0}].", "Rating: {0}", "[[rating]]", "Rating: [[{0}/10]]", "",
         "评分：[[{0}]]", "[[ {0} ]]", "[[{0}.]]", "[[-{0}]]", "Rating: [[[{0}]]]", "I cannot rate this.", "[[0]]", "$[[{0}]]$")  # fmt: skip
COUNT = 10


def questions() -> list[dict[str, Any]]:
    """Return the questions, and the rows of reference answers in `references`."""
    return [
        {
            "question_id": 100 * at + n,
            "category": category,
            "turns": [f"{category} <{n}> one?", f"{category} <{n}> two?"],
        }
        for at, category in enumerate(CATEGORIES)
        for n in range(COUNT)
    ]


def references() -> list[dict[str, Any]]:
    """Return the reference answers."""
    found = []
    for each in questions():
        turns = [f"solution of {turn}" for turn in each["turns"]]
        if each["category"] in WITH_REFERENCES:
            choices = [{"index": 0, "turns": turns}]
            found.append({"question_id": each["question_id"], "model_id": "ours", "choices": choices})
    return found


def answer(question: str) -> str:
    """Return the answer to a question."""
    return "" if "<7>" in question else f"answer {{to}} {question}"


def judgement(question: dict[str, Any], turn: int) -> str:
    """Return what the judge says of the answer to a turn, in one of the forms that judges have."""
    dice = random.Random(f"{question['turns'][0]} {turn}")
    return dice.choice([*FORMS, *FORMS[:3]]).format(dice.randint(1, 10), dice.randint(1, 10))


def main() -> None:
    """Print the rating of each answer, -1 where there is none, and the means that are shown."""
    for name in ("openai", "anthropic", "fastchat.model", "fastchat.model.model_adapter"):
        sys.modules[name] = ModuleType(name)
    adapter: Any = sys.modules["fastchat.model.model_adapter"]
    adapter.ANTHROPIC_MODEL_LIST, adapter.OPENAI_MODEL_LIST = [], ["judge"]

    def template(_: str) -> Any:
        ignore = lambda *_: None  # noqa: E731
        return SimpleNamespace(set_system_message=ignore, append_message=ignore, roles=("user", "assistant"))

    adapter.get_conversation_template = template
    import fastchat.llm_judge.common as original
    import fastchat.llm_judge.show_result as showing

    prompts = original.load_judge_prompts(str(Path(original.__file__).parent / "data" / "judge_prompts.jsonl"))
    solutions = {each["question_id"]: each for each in references()}
    rows = []
    for each in questions():
        solved = each["category"] in original.NEED_REF_CATS
        for turn in (1, 2):
            kind = ("single-math-v1" if solved else "single-v1") + ("-multi-turn" if turn == 2 else "")
            judge = original.Judge("judge", prompts[kind], ref_based=solved, multi_turn=turn == 2)
            original.chat_completion_openai = lambda *_, each=each, turn=turn, **__: judgement(each, turn)
            said = {"choices": [{"turns": [answer(question) for question in each["turns"]]}]}
            found = original.run_judge_single(each, said, judge, solutions.get(each["question_id"]), turn == 2)
            rows.append(
                {"id": each["question_id"], "turn": turn, "score": found[0], "model": "m", "category": each["category"]}
            )
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        shown: list[Any] = []
        for chosen in (None, *CATEGORIES):
            file.seek(0)
            file.truncate()
            file.write("".join(json.dumps(row) + "\n" for row in rows if chosen in (None, row["category"])))
            file.flush()
            showing.print = shown.append
            showing.display_result_single(SimpleNamespace(input_file=file.name, bench_name="mt_bench", model_list=None))
    tables = [float(each["score"].iloc[0]) for each in shown if not isinstance(each, str)]
    for row in rows:
        print(json.dumps({name: row[name] for name in ("id", "turn", "score")}))
    for at, chosen in enumerate(("all", *CATEGORIES)):
        print(json.dumps({"of": chosen, "means": tables[3 * at : 3 * at + 3]}))


if __name__ == "__main__":
    main()
