"""A benchmark of one question an item, whose reply is held to a number: the same work for Tripos and for its peers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from processes import TRIPOS, Server, take

MODEL = "mock-model"
SPAN = "select epoch(max(created_at) - min(created_at)) + max(latency_s) as s from samples"
"""The seconds between the first request and the last reply."""
SPEC = """\
benchmark calls "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" {
  question  text
  answer    text secret
}
scenario echo {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score correct = exact(default(after(reply.text, "ANSWER:"), ""), item.answer)
}
measure accuracy = mean(correct)
"""


def write(folder: Path, items: int, server: Server) -> None:
    """Put the spec, its items and the address of the server into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "calls.tripos").write_text(SPEC, "utf-8")
    (folder / "tripos.toml").write_text(f'[endpoints."openai/{MODEL}"]\nbase_url = "{server.base_url}"\n', "utf-8")
    rows = (json.dumps({"question": f"question {number}", "answer": "42"}) for number in range(items))
    (folder / "items.jsonl").write_text("\n".join(rows), "utf-8")


def run(store: str, connections: int) -> Sequence[str]:
    """Return the command that runs it, in the folder, with results in that store."""
    command = [*TRIPOS, "run", "calls.tripos", "--model", f"openai/{MODEL}", "--json"]
    return [*command, "--max-connections", str(connections), "--store", store]


def check(out: str, items: int, asked: int) -> None:
    """Exit where a run has not done the whole work, or not in so many calls."""
    done = json.loads(out)
    if asked != items or done["scores"] != {"scored": items} or done["status"] != "finished":
        sys.exit(f"the server counted {asked} requests for {items} items: {out}")


def ask(folder: Path, query: str, store: str = "results") -> float:
    """Return the one number that a query over a store of the folder gives."""
    take([*TRIPOS, "sql", query, "--store", store, "-o", "found.json"], folder)
    [row] = json.loads((folder / "found.json").read_text("utf-8"))
    return float(*row.values())
