"""Time and memory of `tripos import logs` beside Inspect's own reader of the same log.

    python tests/bench/imported_logs.py [--samples 100000] [--inspect PYTHON] [--folder DIR]

Makes a log as Inspect writes them (zip, one member for each sample, two scores), imports it in a process of its own,
and imports it again. With `--inspect`, the Python of an environment with inspect-ai, the same log is read by
`read_eval_log`, in the same session. Each line: seconds, those of the processor, the most memory, and the ratio of
processor time to Inspect's.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import zipfile
from pathlib import Path

from processes import take, take_tripos

EVAL = {"task": "sums", "eval_id": "bench", "model": "mock/careful", "created": "2026-11-24T00:00:00+00:00",
        "task_id": "t", "run_id": "r", "task_version": 0, "dataset": {}, "config": {}}  # fmt: skip
READ = "import sys; from inspect_ai.log import read_eval_log; print(len(read_eval_log(sys.argv[1]).samples))"


def sample(number: int) -> dict[str, object]:
    """Return a sample as Inspect writes it."""
    question, answer = f"What is {number} + {number}? " + "Think first. " * 8, str(2 * number)
    said = f"Adding the two numbers gives {answer}. " * 4
    user = {"id": f"u{number}", "role": "user", "content": question}
    reply = {"id": f"a{number}", "role": "assistant", "content": said, "source": "generate"}
    usage = {"input_tokens": 40, "output_tokens": 30, "total_tokens": 70}
    output = {
        "model": "mock/careful",
        "choices": [{"message": reply, "stop_reason": "stop"}],
        "usage": usage,
        "time": 0.5,
    }
    right = {"value": "C" if number % 3 else "I", "answer": answer, "explanation": said}
    return {
        "id": number, "epoch": 1, "input": question, "target": answer, "messages": [user, reply], "output": output,
        "scores": {"match": right, "length": {"value": float(len(said))}}, "metadata": {}, "store": {}, "events": [],
        "model_usage": {"mock/careful": usage}, "attachments": {}, "uuid": f"s{number}",
    }  # fmt: skip


def write_log(path: Path, samples: int) -> None:
    """Write a log of so many samples."""
    head = {"version": 2, "status": "success", "eval": EVAL, "plan": {}, "stats": {}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("_journal/start.json", json.dumps({"version": 2, "eval": EVAL, "plan": {}}))
        for number in range(1, samples + 1):
            file.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample(number)))
        file.writestr("header.json", json.dumps(head))


def main() -> None:
    """Measure, and print a line for each reader."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--inspect", metavar="PYTHON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(folder / "big.eval", options.samples)
        print(f"{options.samples:,} samples, {(folder / 'big.eval').stat().st_size / 2**20:.0f} MB")
        peer = None
        if options.inspect:
            taken = take([options.inspect, "-c", READ, "big.eval"], folder, beside_server=False)
            peer = taken.cpu_s
            print(f"{'read_eval_log of Inspect':25} {taken.wall_s:7.1f} s {peer:7.1f} s of CPU {taken.rss_mb:7.0f} MB")
        for what in ("tripos import logs", "the same log again"):
            taken = take_tripos(["import", "logs", "big.eval"], folder)
            ratio = f"  {taken.cpu_s / peer:.2f} of Inspect's" if peer else ""
            told = f"{taken.wall_s:7.1f} s {taken.cpu_s:7.1f} s of CPU {taken.rss_mb:7.0f} MB{ratio}"
            print(f"{what:25} {told}", flush=True)


if __name__ == "__main__":
    main()
