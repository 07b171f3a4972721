"""The same exact-match benchmark by Tripos, Inspect and lm-eval, against the same server in the same session.

    python tests/bench/peers/peers.py [--calls 5000] [--concurrency 512] [--rounds 3] [--cache .peers] [--only NAME …]

Each peer gets an environment of its own below `--cache`, made at the first run with its bytecode compiled; both keep
their logs, as Tripos keeps its tables. They take turns; printed are the medians of wall and CPU of the whole processes,
and the most memory that one of their processes had. The score of each must be 1.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import exact_match  # noqa: E402
from processes import Server, Taken, median, more_files, server_option, serving, take  # noqa: E402

PACKAGES = {"inspect": ("inspect-ai", "openai"), "lm-eval": ("lm-eval[api]",)}


@dataclass(frozen=True)
class Bench:
    """The input of a run of a peer."""

    folder: Path
    cache: Path
    calls: int
    concurrency: int
    server: Server

    def script(self, peer: str, name: str) -> Path:
        """Return a command of a peer's environment, which is made where there is none."""
        home = (self.cache / peer).resolve()
        if not (home / "made").exists():
            print(f"making an environment for {peer} in {home}", file=sys.stderr, flush=True)
            subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
            install = [home / "bin" / "pip", "install", "-qq", "--compile", *PACKAGES[peer]]
            subprocess.run(install, check=True)
            (home / "made").touch()
        return home / "bin" / name

    def version(self, peer: str) -> str:
        """Return which version of a peer is measured."""
        name = PACKAGES[peer][0].partition("[")[0]
        code = f"from importlib.metadata import version; print(version({name!r}))"
        done = subprocess.run([self.script(peer, "python"), "-c", code], capture_output=True, text=True, check=True)
        return done.stdout.strip()


def tripos(bench: Bench, turn: int) -> Taken:
    """Tripos, with its store."""
    taken = take(exact_match.run(f"results{turn}", bench.concurrency), bench.folder)
    exact_match.check(taken.out, bench.calls, bench.server.asked())
    return taken


def inspect(bench: Bench, turn: int) -> Taken:
    """Inspect with its provider for OpenAI-compatible endpoints, and its log."""
    logs = bench.folder / f"inspect{turn}"
    command = [
        bench.script("inspect", "inspect"),
        "eval",
        "inspect_task.py",
        "--model",
        f"openai-api/mock/{exact_match.MODEL}",
    ]
    command += ["--max-connections", bench.concurrency, "--max-samples", bench.concurrency]
    command += ["--display", "none", "--log-dir", logs]
    taken = take(command, bench.folder, {"MOCK_BASE_URL": bench.server.base_url, "MOCK_API_KEY": "unused"})
    shown = [bench.script("inspect", "inspect"), "log", "dump", "--header-only", *logs.glob("*.eval")]
    told = json.loads(subprocess.run(shown, capture_output=True, text=True, check=True).stdout)
    _check(bench, told["results"]["scores"][0]["metrics"]["accuracy"]["value"], told["results"]["completed_samples"])
    return taken


def lm_eval(bench: Bench, turn: int) -> Taken:
    """lm-eval with its model for OpenAI-compatible endpoints, and its samples."""
    results = bench.folder / f"lm-eval{turn}"
    address = f"base_url={bench.server.base_url}/chat/completions"
    settings = f"model={exact_match.MODEL},{address},num_concurrent={bench.concurrency},max_retries=3"
    command = [bench.script("lm-eval", "lm_eval"), "--model", "local-chat-completions", "--model_args", settings]
    command += ["--tasks", "echo", "--include_path", bench.folder, "--apply_chat_template"]
    command += ["--output_path", results, "--log_samples"]
    offline = {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HOME": str(bench.folder / "hf"),
        "OPENAI_API_KEY": "unused",
    }
    taken = take(command, bench.folder, offline)
    [path] = results.rglob("results_*.json")
    told = json.loads(path.read_text("utf-8"))
    _check(bench, told["results"]["echo"]["exact_match,number"], told["n-samples"]["echo"]["effective"])
    return taken


RUNNERS: Mapping[str, Callable[[Bench, int], Taken]] = {"tripos": tripos, "inspect": inspect, "lm-eval": lm_eval}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", default=".peers", help="where the environments of the peers are kept")
    parser.add_argument("--only", nargs="+", choices=RUNNERS, default=list(RUNNERS))
    server_option(parser)
    options = parser.parse_args()
    more_files()
    times: dict[str, list[Taken]] = {name: [] for name in options.only}
    with serving(options.server) as server, tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), Path(options.cache), options.calls, options.concurrency, server)
        exact_match.write(bench.folder, options.calls, server)
        for file in ("inspect_task.py", "echo.yaml"):
            shutil.copy(HERE / file, bench.folder)
        versions = {peer: bench.version(peer) for peer in options.only if peer in PACKAGES}
        for turn in range(options.rounds):
            for each in options.only:
                server.asked()
                times[each].append(RUNNERS[each](bench, turn))
    for each, taken in times.items():
        show(f"{each} {versions.get(each, '')}", median(taken), options.calls)
    if "tripos" in times:
        ours = median(times["tripos"]).wall_s
        for each in (name for name in times if name != "tripos"):
            print(f"tripos takes 1/{median(times[each]).wall_s / ours:.1f} of the time of {each}")


def show(name: str, taken: Taken, calls: int) -> None:
    """Print a line of figures."""
    a_sample = f"{taken.wall_s:7.2f} s wall  {taken.cpu_s / calls * 1000:7.3f} ms CPU a sample"
    print(f"{name:18} {calls:,} samples  {a_sample}  {taken.rss_mb:5.0f} MB")


def _check(bench: Bench, score: float, samples: int) -> None:
    asked = bench.server.asked()
    if (score, samples, asked) != (1.0, bench.calls, bench.calls):
        sys.exit(f"a score of {score} from {samples} samples and {asked} requests")


if __name__ == "__main__":
    main()
