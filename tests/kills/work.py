"""The work that is killed: a small benchmark in every kind of step, and the folders that a process starts in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

SPEC = """\
benchmark kills "1.0.0" { languages en }
role candidate compared
role helper
role judge panel
dataset item from "items.jsonl" {
  question  text
  answer    text secret
}
dimension quality "Quality" {
  metric CLEAR "Clarity" {
    scale 1..10
    asks "Is the reply clear?"
  }
  metric RIGHT "Correctness" {
    scale 1..10
    asks "Is the reply right?"
  }
}
scorer rubric(task: text, response: text) by judge {
  prompt "{{ metrics }} Task: {{ task }} Reply: {{ response }}"
  gives allocated metrics
}
allocate rubric {
  |       | CLEAR | RIGHT |
  | sums  |   x   |   x   |
  | words |   x   |   .   |
}
scenario sums "Sums" {
  over item
  ask reply by candidate {
    prompt "{{ item.question }}"
    samples 2
  }
  score long = words(reply.text) > 9
  score rubric(task: item.question, response: reply.text)
}
scenario words "Words" {
  over item where length(item.question) > 4
  ask hint by helper {
    prompt "Give a hint: {{ item.question }}"
  }
  ask reply by candidate {
    prompt "Say it in words: {{ item.question }} Hint: {{ hint.text }}"
    returns { said text, sure bool }
  }
  score sure = reply.sure
  score rubric(task: item.question, response: reply.said)
}
measure by_metric = mean(rubric) by metric
measure length = mean(long)
"""

VERDICTS = """\
benchmark kills "1.0.0" { languages en }
role candidate compared
role judge
role critic
dataset item from "items.jsonl" {
  question  text
  answer    text secret
}
scorer marks(task: text, response: text) by judge {
  prompt "Task: {{ task }} Reply: {{ response }}"
  gives 1..10
}
scorer reward(task: text, response: text) by critic {
  prompt "Task: {{ task }} Reply: {{ response }}"
  gives reward
}
scenario sums "Sums" {
  over item
  ask reply by candidate {
    prompt "{{ item.question }}"
    samples 2
  }
  score better = marks(item.question, reply.text) > marks(item.question, item.answer)
  score win = reward(item.question, reply.text) > reward(item.question, item.answer)
}
measure better_by_model = mean(better)
measure win_rate = mean(win)
"""
"""Judges inside expressions: some asked on the server, some computed in the process; one in two of no reply."""

MADE = """\
benchmark kills "1.0.0" { languages en }
role candidate compared
role author
role checker
dataset item from "items.jsonl" {
  question  text
  answer    text secret
}
dataset riddle by author from item {
  prompt "Change this: {{ item.question }}"
  returns { stem text, mood choice(glad, sad) }
  let long = words(riddle.stem) > 1
  unique riddle.stem
  verify by checker {
    prompt "Is this clear? {{ riddle.stem }}"
    returns { clear 1..10 }
    require clear > 3
  }
  retries 2
}
scenario riddles "Riddles" {
  over riddle
  ask reply by candidate { prompt "{{ riddle.stem }}" }
  score right = contains(reply.text, riddle.answer)
}
measure accuracy = mean(right)
"""
"""Rows that a model writes and another one checks."""

MODELS = ("openai/a", "openai/b")
ROLES = ("judge=openai/judge", "helper=openai/helper")
MADE_ROLES = ("author=openai/author", "checker=openai/checker")
VERDICT_ROLES = ("judge=openai/judge", "critic=mock/reward")
KEPT = ("samples", "judgements", "scores", "items")
"""The tables that the same work must leave alike."""


@dataclass(frozen=True)
class Work:
    """A spec on disk with `rows` rows, and how it is run."""

    folder: Path
    spec: str = SPEC
    roles: tuple[str, ...] = ROLES
    rows: int = 8
    connections: int = 4
    workers: int = 1
    answer: str = "1"
    """The answer of every row, which no model is shown."""

    def write(self) -> None:
        """Put the spec and its rows into the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "kills.tripos").write_text(self.spec, "utf-8")
        rows = (
            {"question": f"{3 * row}+{row % 7}" + "+1" * (row % 3), "answer": self.answer} for row in range(self.rows)
        )
        (self.folder / "items.jsonl").write_text("\n".join(json.dumps(row) for row in rows), "utf-8")

    def arguments(self, store: Path) -> list[str]:
        """Return what follows `tripos` on the command line."""
        run = ["run", str(self.folder / "kills.tripos"), "--store", str(store), "--json"]
        run += ["--max-connections", str(self.connections), "--model", ",".join(MODELS)]
        run += ["--workers", str(self.workers)] if self.workers > 1 else []
        return [*run, *(option for role in self.roles for option in ("--role", role))]


def place(folder: Path, base_url: str) -> Path:
    """Return a working folder whose `tripos.toml` sends every model of the provider to an address: a process is known
    by the address that it calls."""
    folder.mkdir(parents=True)
    names = [*MODELS, *(role.partition("=")[2] for role in (*ROLES, *MADE_ROLES))]
    entries = (f'[endpoints."{name}"]\nbase_url = "{base_url}"\nname = "kills"\n' for name in names)
    (folder / "tripos.toml").write_text("".join(entries), "utf-8")
    return folder
