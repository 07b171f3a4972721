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
from typing import NamedTuple

import tripos

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from rows import write as write_rows  # noqa: E402

PACKAGE = "lm-eval[api]"
SERVED, LOCAL = "text-completion-openai/smollm2-135m", "local/smollm2-135m"
CLOSE = 1e-6
TASKS = {"hellaswag": "hellaswag", "mmlu_abstract_algebra": "mmlu"}


class Told(NamedTuple):
    """The figures of a document: the logarithm of each option and whether it is what would be written; its scores."""

    likely: list[tuple[float, bool]]
    acc: float
    acc_norm: float | None


Documents = dict[tuple[str, str, tuple[str, ...]], Told]
"""By task, text and options."""


def harness(cache: Path) -> Path:
    """Return the Python of an environment with the Harness, which is made where there is none."""
    home = (cache / "likelihoods").resolve()
    if not (home / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "-qq", PACKAGE], check=True)
        (home / "made").touch()
    return home / "bin" / "python"


def of_tripos(folder: Path, model: str) -> Documents:
    """Return the options of every document and its scores."""
    run = tripos.compile(folder / "likelihoods.tripos").run(models=[model], store=folder / "store", max_connections=1)
    told = tripos.open(folder / "store").sql(
        "select samples.scenario as scenario, messages, reply, max(value) filter (metric = 'acc') as acc,"
        " max(value) filter (metric = 'acc_norm') as acc_norm"
        " from likelihoods.samples as samples join likelihoods.scores using (sample_id, run_id)"
        f" where run_id = '{run.id}' group by all"
    )
    found: Documents = {}
    for row in told.to_arrow().to_pylist():
        options = json.loads(row["reply"])["options"]
        text = json.loads(row["messages"])[0]["content"]
        likely = [(each["logprob"], each["greedy"]) for each in options]
        key = (row["scenario"], text.rstrip(), tuple(each["text"] for each in options))
        found[key] = Told(likely, row["acc"], row["acc_norm"])
    return found


def of_harness(python: Path, address: str, folder: Path) -> Documents:
    """Return what the Harness says of every document."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "OPENAI_API_KEY": "-"}
    command = [python, HERE / "harness_task.py", address, folder]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | offline, check=False)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    found: Documents = {}
    for task, rows in json.loads(done.stdout.splitlines()[-1]).items():
        for row in rows:
            key = (TASKS[task], row["text"], tuple(option.removeprefix(" ") for option in row["options"]))
            found[key] = Told([tuple(each) for each in row["likely"]], row["acc"], row["acc_norm"])
    return found


def compare(ours: Documents, theirs: Documents) -> str:
    """Return how far the logarithms are apart, and how many documents are scored alike, for each task."""
    assert ours.keys() == theirs.keys(), "the documents differ"
    lines = []
    for task in TASKS.values():
        keys = [key for key in ours if key[0] == task]
        pairs = [pair for key in keys for pair in zip(ours[key].likely, theirs[key].likely, strict=True)]
        apart = max(abs(one[0] - other[0]) for one, other in pairs)
        greedy = sum(one[1] == other[1] for one, other in pairs)
        alike = {
            name: sum(getattr(ours[key], name) == getattr(theirs[key], name) for key in keys)
            for name in ("acc", "acc_norm")
        }
        score = sum(theirs[key].acc for key in keys) / len(keys)
        lines.append(
            f"{task}: {len(keys)} documents, acc {score:.4f}; {len(pairs)} logarithms at most {apart:.2e} apart,"
            f" greedy alike {greedy}, acc alike {alike['acc']}, acc_norm alike {alike['acc_norm']}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", default=".peers", help="where the environment of the Harness is kept")
    python = harness(Path(parser.parse_args().cache))
    server = subprocess.Popen([sys.executable, HERE / "echo_server.py"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file in ("likelihoods.tripos", "hellaswag.py"):
                shutil.copy(HERE / file, folder)
            write_rows(folder)
            (folder / "tripos.toml").write_text(f'[endpoints."text-completion-openai"]\nbase_url = "{address}/v1"\n')
            os.chdir(folder)
            theirs = of_harness(python, address, folder)
            ours = of_tripos(folder, SERVED)
            print(compare(ours, theirs))
            print("local/… beside them:\n" + compare(of_tripos(folder, LOCAL), theirs))
    finally:
        server.terminate()
    apart = [
        abs(one[0] - other[0])
        for key, told in ours.items()
        for one, other in zip(told.likely, theirs[key].likely, strict=True)
    ]
    unlike = [key for key, told in ours.items() if (told.acc, told.acc_norm) != (theirs[key].acc, theirs[key].acc_norm)]
    if max(apart) > CLOSE or unlike:
        sys.exit(f"they differ: {max(apart)}, {unlike}")


if __name__ == "__main__":
    main()
