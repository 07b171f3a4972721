"""Counts how much of the prompts of a run a server finds in its cache of prefixes, by the order of the requests.

    python tests/bench/prefixes.py [--rows 120] [--connections 16]

The run asks a server on the loopback, which writes down every prompt. A cache of N prompts is one of the last N that
came. For each model it prints the share of characters that begin one of these: in the order of the run, in an order
drawn at random, and sorted, which is the best order that there is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.kills.counting_server import Asked, CountingServer, serving
from tests.kills.work import Work, place

CACHES = (1, 4, 64)


@dataclass
class Prompts(CountingServer):
    """A server that keeps the prompts, by model."""

    prompts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def take(self, path: str, body: bytes) -> tuple[Asked, bytes, float]:
        """Write a request down with its prompt."""
        content = json.loads(body)
        self.prompts[content["model"]].append("\n".join(f"{m['role']} {m['content']}" for m in content["messages"]))
        return super().take(path, body)


def common(one: str, other: str) -> int:
    """Return how many characters both texts begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def found(prompts: Sequence[str], cache: int) -> float:
    """Return the share of characters that begin one of the last prompts."""
    held: deque[str] = deque(maxlen=cache)
    count = 0
    for prompt in prompts:
        count += max((common(each, prompt) for each in held), default=0)
        held.append(prompt)
    return count / sum(map(len, prompts))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=120)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, serving(0.05, Prompts) as server:
        folder = Path(name)
        work = replace(Work(folder / "work"), rows=options.rows, connections=options.connections)
        work.write()
        here = place(folder / "here", server.address("store", "run"))
        command = [sys.executable, "-m", "tripos", *work.arguments(folder / "store")]
        subprocess.run(command, cwd=here, env={**os.environ, "OPENAI_API_KEY": "unused"}, stdout=2, check=True)
    assert isinstance(server, Prompts)
    for model, prompts in sorted(server.prompts.items()):
        orders = {
            "at random": random.Random(1).sample(prompts, len(prompts)),
            "as sent": prompts,
            "sorted": sorted(prompts),
        }
        for cache in CACHES:
            shares = ", ".join(f"{order} {found(some, cache):.1%}" for order, some in orders.items())
            print(f"{model}: {len(prompts)} prompts, cache of {cache}: {shares}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
