"""HellaSwag and MMLU by likelihood, by Tripos and by the LM Evaluation Harness, with one server of a local model.

    python tests/bench/peers/likelihoods/compare.py [--cache .peers]

The server (`echo_server.py`) answers both with the same probabilities; what each sends, where it takes an option to
begin, which lengths it divides by and what it calls right is its own. Every logarithm must be equal to 1e-6, and every
document scored alike. Then Tripos asks the same model as `local/…`, which computes in other batches: printed is how far
that is off.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tripos

HERE = Path(__file__).parent
PACKAGE = "lm-eval[api]"
SERVED, LOCAL = "text-completion-openai/smollm2-135m", "local/smollm2-135m"
CLOSE = 1e-6
TASKS = {"hellaswag": "hellaswag", "mmlu": "mmlu_abstract_algebra"}
Rows = list[dict[str, Any]]


def harness(cache: Path) -> Path:
    """Return the Python of an environment with the Harness, which is made where there is none."""
    home = (cache / "likelihoods").resolve()
    if not (home / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "-qq", PACKAGE], check=True)
        (home / "made").touch()
    return home / "bin" / "python"


def of_harness(python: Path, address: str, folder: Path) -> dict[str, Any]:
    """Return what the Harness says of every document."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "OPENAI_API_KEY": "-"}
    command = [python, HERE / "harness_task.py", address, folder]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | offline, check=False)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    return dict(json.loads(done.stdout.splitlines()[-1]))


def of_tripos(folder: Path, model: str) -> dict[str, Rows]:
    """Return the options of every document and its scores, in the order of the rows."""
    run = tripos.compile(folder / "likelihoods.tripos").run(
        models=[model], store=folder / "store", approve_code=True, max_connections=1
    )
    store = tripos.open(folder / "store")
    found = {}
    for scenario, rows in (("hellaswag", "hellaswag.jsonl"), ("mmlu", "mmlu.jsonl")):
        told = store.sql(
            "select item, sample, reply, max(value) filter (metric = 'acc') as acc,"
            " max(value) filter (metric = 'acc_norm') as acc_norm"
            " from likelihoods.samples join likelihoods.scores using (sample)"
            f" where samples.run = '{run.id}' and samples.scenario = '{scenario}' group by all"
        )
        found[scenario] = told.to_arrow().to_pylist()
        assert len(found[scenario]) == len((folder / rows).read_text("utf-8").splitlines())
    return found
