"""Tasks of the LM Evaluation Harness over rows of a folder, for `compare.py`: run by an environment of its own.

python harness_task.py ADDRESS FOLDER     prints the likelihoods and the scores of every document as JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import lm_eval


def main() -> None:
    address, folder = sys.argv[1], Path(sys.argv[2])
    files = {name: str(folder / f"{name}.jsonl") for name in ("hellaswag", "mmlu", "mmlu_dev")}
    tasks = [
        {"task": "hellaswag", "dataset_path": "json", "dataset_kwargs": {"data_files": {"validation": files["hellaswag"]}}}
        | {"training_split": None, "num_fewshot": 0},
        {"task": "mmlu_abstract_algebra", "dataset_path": "json", "dataset_name": None, "num_fewshot": 5}
        | {"dataset_kwargs": {"data_files": {"test": files["mmlu"], "dev": files["mmlu_dev"]}}},
    ]
    arguments = f"model=smollm2-135m,base_url={address}/v1/completions,tokenizer_backend=remote,num_concurrent=1"
    found = lm_eval.simple_evaluate(
        model="local-completions", model_args=arguments, tasks=tasks, log_samples=True, bootstrap_iters=0
    )
    told = {
        task: {
            "rows": [[[float(part[0][0]), str(part[0][1]) == "True"] for part in row["resps"]] for row in rows],
            "acc": [row["acc"] for row in rows],
            "acc_norm": [row.get("acc_norm") for row in rows],
            "prompts": [row["arguments"][0][0] if isinstance(row["arguments"], list) else None for row in rows],
        }
        for task, rows in found["samples"].items()
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
