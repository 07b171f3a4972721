"""Tasks of the LM Evaluation Harness over rows of a folder, for `compare.py`: run by an environment of its own.

python harness_task.py ADDRESS FOLDER     prints the likelihoods and the scores of every document as JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import lm_eval
from lm_eval.tasks import TaskManager


def document(row: dict[str, Any]) -> dict[str, Any]:
    """The requests of the Harness for a document, their responses, and its scores."""
    sent = row["arguments"]
    pairs = [list(each.values()) for each in sent.values()] if isinstance(sent, dict) else sent
    likely = [each[0] if isinstance(each[0], list | tuple) else each for each in row["resps"]]
    return {
        "text": pairs[0][0],
        "options": [pair[1] for pair in pairs],
        "likely": [[float(each[0]), str(each[1]) == "True"] for each in likely],
        "acc": row["acc"],
        "acc_norm": row.get("acc_norm"),
    }


def main() -> None:
    address, folder = sys.argv[1], Path(sys.argv[2])
    own = Path(lm_eval.__file__).parent / "tasks"
    written = {
        "hellaswag": (own / "hellaswag" / "hellaswag.yaml", {"validation": "hellaswag"}, "training_split: null"),
        "mmlu_abstract_algebra": (
            own / "mmlu" / "default" / "mmlu_abstract_algebra.yaml",
            {"test": "mmlu", "dev": "mmlu_dev"},
            "num_fewshot: 5\ndataset_name: null",
        ),
    }
    for name, (task, files, more) in written.items():
        data = json.dumps({split: str(folder / f"{file}.jsonl") for split, file in files.items()})
        told = (
            f"include: {task}\ntask: own_{name}\ndataset_path: json\ndataset_kwargs: {{data_files: {data}}}\n{more}\n"
        )
        (folder / f"own_{name}.yaml").write_text(told, "utf-8")
    arguments = f"model=smollm2-135m,base_url={address}/v1/completions,tokenizer_backend=remote,num_concurrent=1"
    found = lm_eval.simple_evaluate(
        model="local-completions",
        model_args=arguments,
        tasks=[f"own_{name}" for name in written],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
    )
    told = {task.removeprefix("own_"): [document(row) for row in rows] for task, rows in found["samples"].items()}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
