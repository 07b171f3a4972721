"""Tasks of the LM Evaluation Harness over rows of a folder, for `compare.py`: run by an environment of its own.

python harness_task.py ADDRESS FOLDER     prints the likelihoods and the scores of every document as JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import lm_eval


def document(row: dict[str, Any]) -> dict[str, Any]:
    """What the Harness sent for a document, what came back, and its scores."""
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
    files = {name: str(folder / f"{name}.jsonl") for name in ("hellaswag", "mmlu", "mmlu_dev")}
    tasks = [
        {
            "task": "hellaswag",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"validation": files["hellaswag"]}},
        }
        | {"training_split": None, "num_fewshot": 0},
        {"task": "mmlu_abstract_algebra", "dataset_path": "json", "dataset_name": None, "num_fewshot": 5}
        | {"dataset_kwargs": {"data_files": {"test": files["mmlu"], "dev": files["mmlu_dev"]}}},
    ]
    arguments = f"model=smollm2-135m,base_url={address}/v1/completions,tokenizer_backend=remote,num_concurrent=1"
    found = lm_eval.simple_evaluate(
        model="local-completions", model_args=arguments, tasks=tasks, log_samples=True, bootstrap_iters=0
    )
    told = {task: [document(row) for row in rows] for task, rows in found["samples"].items()}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
