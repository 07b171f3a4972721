"""The verdicts of simple-evals on the tasks and replies of test_humaneval.py: its class `HumanEval` runs whole.

openai/simple-evals, commit ee3b0318d8d1d9d72755a4120879be65f7c07e9e, as the package `simple_evals`;
openai/human-eval, commit 6d43fb980f9fee3c892a914eda09951f772ad10d; with jinja2, numpy, requests and tqdm.

    python tests/gallery/originals/humaneval.py > tests/gallery/verdicts/humaneval.jsonl
"""

from __future__ import annotations

import json
import random
import sys
from types import SimpleNamespace
from typing import Any

FUNCTIONS = {
    "double": ("n: int) -> int", "assert candidate(2) == 4\n    assert candidate(-3) == -6", ["return 2 * n", "return n + n"]),
    "area": ("r: float) -> float", "assert abs(candidate(2.5) - math.pi * 6.25) < 1e-6", ["return math.pi * r * r"]),
    "turned": ("words: list) -> list", "assert candidate(['a', 'b']) == ['b', 'a']", ["return words[::-1]", "return list(reversed(words))"]),
    "vowels": ("text: str) -> int", "assert candidate('Überall') == 2\n    assert candidate('') == 0", ["return sum(c in 'aeiou' for c in text)"]),
    "grade": ("points: int) -> str", "assert candidate(90) == 'A'\n    assert candidate(10) == 'B'", ["if points > 50:\n        return 'A'\n    return 'B'"]),
    "nothing": ("x: int) -> None", "assert candidate(1) is None", ["return None", "pass"]),
}  # fmt: skip
WRONG = (
    "return 0", "retrun 1", "return undefined", "while False: pass", "raise ValueError('é')", "return",
    "import nowhere",
)  # fmt: skip
SAMPLES = 5


def rows() -> list[dict[str, str]]:
    """Return the tasks: each function several times, under another name."""
    dice = random.Random(2107)
    found = []
    for n in range(40):
        name = dice.choice([*FUNCTIONS])
        head, tests, _ = FUNCTIONS[name]
        found.append({
            "task_id": f"Test/{n}",
            "prompt": f'import math\n\n\ndef {name}_{n}({head}:\n    """ Return {name} number {n}. """\n',
            "entry_point": f"{name}_{n}",
            "canonical_solution": "",
            "test": f"\n\nMETADATA = {{}}\n\n\ndef check(candidate):\n    {tests}\n",
        })  # fmt: skip
    return found


def replies(row: dict[str, str]) -> list[str]:
    """Return the replies to a task: right and wrong ones, in all the forms that models give them."""
    dice = random.Random(row["task_id"])
    name = row["entry_point"].partition("_")[0]
    head, _, right = FUNCTIONS[name]
    return [_formed(dice, row, head, dice.choice([*right, *right, *WRONG])) for _ in range(SAMPLES)]


def _formed(dice: random.Random, row: dict[str, str], head: str, body: str) -> str:
    whole = f"def {row['entry_point']}({head}:\n    {body}\n"
    return dice.choice([
        whole,
        f"```python\n{whole}```",
        f"Here it is: 好\n```python\n{whole}```\nIt runs in O(n).\n```python\nprint('more')\n```",
        f"```python\nimport math\n\n{whole}```",
        f"```py\n{whole}```",
        f"```python\n{whole}",
        f"```python\n```\n```python\n{whole}```",
        f"```python\n{row['prompt']}    {body}\n```",
        f"Sure:\n    {body}\n",
        f"X    {body}\n",
        f"    {body}\n",
        f"def {row['entry_point']}({head}:\n  {body}\n",
        f"{whole}\n\n# Test\nprint({row['entry_point']}())\n",
        f"def helper():\n    pass\n\n\n{whole}",
        "I cannot help with that.",
        "",
    ])  # fmt: skip


def main() -> None:
    """Print what the original's class says of each task, and of all."""
    import simple_evals.humaneval_eval as original

    original.read_problems = lambda: {row["task_id"]: row for row in rows()}
    tasks = {row["prompt"]: iter(replies(row)) for row in rows()}

    class Sampler:
        def _pack_message(self, role: str, content: str) -> dict[str, str]:
            return {"role": role, "content": content}

        def __call__(self, messages: list[dict[str, str]]) -> Any:
            return SimpleNamespace(response_text=next(next(t for p, t in tasks.items() if p in messages[0]["content"])))

    stdout, sys.stdout = sys.stdout, sys.stderr
    evaluation = original.HumanEval(num_examples=0)
    seen: dict[str, list[int]] = {}
    judge = original.evaluate_functional_correctness

    def judged(sample: dict[str, str], completions: list[str]) -> list[int]:
        # one at a time, so that each verdict is that of its reply: the original returns them as they are done
        found = [judge(sample, [each])[0] for each in completions]
        seen[sample["task_id"]] = found
        return found

    original.evaluate_functional_correctness = judged
    result = evaluation(Sampler())
    sys.stdout = stdout
    for row in rows():
        print(json.dumps({"task_id": row["task_id"], "passed": seen[row["task_id"]]}))
    print(json.dumps({name: float(value) for name, value in result.metrics.items() if ":" not in name}))


if __name__ == "__main__":
    main()
