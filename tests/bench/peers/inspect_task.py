"""The exact-match benchmark as a task of Inspect's; read by Inspect in an environment of its own."""

from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.scorer import pattern
from inspect_ai.solver import generate


@task
def echo() -> Task:
    """Return one question an item, held to the number after `ANSWER:`."""
    items = json_dataset("items.jsonl", FieldSpec(input="question", target="answer"))
    return Task(dataset=items, solver=generate(), scorer=pattern(r"ANSWER: (\d+)"))
