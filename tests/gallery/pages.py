"""Writes docs/gallery/index.md and a page for each benchmark of the gallery, from specs, facts and a run of the rows.

    python -m tests.gallery.pages --write

Prices are those of litellm's map on the day of writing; `test_pages.py` compares everything else.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.gallery.playing import GALLERY, TABLES, Facts, facts_of, names
from tripos.cli.main import run_command
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan
from tripos_runtime.program.binding import embedding_roles

DOCS = Path(__file__).parents[2] / "docs"
INDEX = DOCS / "gallery/index.md"
CANDIDATE, OTHER, ENCODER = "openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "openai/text-embedding-3-small"
"""The models whose prices are told: that under test, those of all other roles, and those that embed."""
BEGIN, END = "<!-- table of {} -->\n", "<!-- end of table -->\n"
PRICE = re.compile(r"\| (?:[\d.]+|—) \|\n")
GROUPS = {"education": "Education", "field": "The field"}
VOLATILE = re.compile(r"^(score|item|id|made|took|sample|judgement)\b")
LONGEST = 1600
"""So many characters of a prompt, an item or an explanation are shown."""


@dataclass(frozen=True)
class Shown:
    """The parts of a page that a run of the rows shows."""

    calls: float
    """Calls an item, by one model under test."""
    item: str
    prompt: str
    score: str


def told(*words: str) -> str:
    """Return what a command prints. Raises `AssertionError` where it fails."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(list(words))
    assert code == 0, (words, code, err.getvalue())
    return out.getvalue()


def plan_of(name: str) -> Plan:
    """Return the plan of a benchmark."""
    plan = find_spec(str(GALLERY / name)).compile().plan
    assert plan is not None, name
    return plan


@contextlib.contextmanager
def elsewhere() -> Iterator[Path]:
    """Work in an empty folder, on a terminal of 100 columns."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        columns = os.environ.get("COLUMNS")
        os.environ["COLUMNS"] = "100"
        try:
            yield Path(folder)
        finally:
            os.chdir(before)
            os.environ.pop("COLUMNS") if columns is None else os.environ.update(COLUMNS=columns)


def shown(name: str) -> Shown:
    """Run the rows of a benchmark with its mock models, and return what they show."""
    plan = plan_of(name)
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    with elsewhere():
        told("init", "here", "--from", f"gallery/{name}", "--yes")
        os.chdir("here")
        spec = "here.tripos"
        run = json.loads(told("run", spec, "--json", *facts_of(name).options))
        counts = told("sql", COUNTS, "--format", "csv").splitlines()[1].split(",")
        score, sample = told("sql", ONE_SCORE, "--format", "csv").splitlines()[1].split(",")
        explained = json.loads(told("why", score, "--json"))
        why = told("why", score)
        sent = told("sql", SENT.format(compared, explained["item"]["item_id"], sample), "--format", "json")
        calls = run["calls"]["planned"] / (int(counts[0]) * int(counts[1]))
    fields = json.dumps(explained["item"]["fields"], ensure_ascii=False, indent=2)
    return Shown(calls, cut(fields), cut(_messages(json.loads(sent))), cut(_settled(why)))


COUNTS = "select count(distinct (scenario, item_id)), count(distinct model) from here.scores"
ONE_SCORE = """
select score_id, sample_id from here.scores as score join here.samples as sample using (sample_id)
where score.status = 'scored' order by score.scenario, metric, score.item_id, score.model, evaluator, element_place,
length(messages), messages, sample.sample_number limit 1
"""
SENT = """
select messages from here.samples where role = '{0}' and item_id = '{1}'
order by sample_id <> '{2}', step, model, length(messages), messages, sample_number limit 1
"""
"""The prompt of the reply that the explained score is of, where the compared role wrote it."""


def _messages(found: list[dict[str, Any]]) -> str:
    messages = json.loads(found[0]["messages"]) if found else []
    return "\n\n".join(f"{each['role']}:\n{_text(each['content'])}" for each in messages)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _settled(why: str) -> str:
    """Return an explanation without what differs from run to run: ids, dates and seconds."""
    kept, dropping = [], False
    for line in why.splitlines():
        if line[:1].strip():
            dropping = bool(VOLATILE.match(line))
        elif not line.strip():
            dropping = False
        if not dropping:
            kept.append(line)
    return "\n".join(kept).strip("\n")


def cut(text: str) -> str:
    """Return a text without its end, where it is long."""
    whole = "\n".join(line.rstrip() for line in text.splitlines())
    return whole if len(whole) <= LONGEST else whole[:LONGEST].rstrip() + "\n…"


def price(name: str) -> float | None:
    """Return the expected price of 1,000 items like the rows, in USD, by the models whose prices are told; `None` where
    they cannot be asked."""
    plan = plan_of(name)
    others = [role.name for role in plan.roles if role.kind != "compared"]
    roles = [f"{name}={ENCODER if name in embedding_roles(plan) else OTHER}" for name in others]
    options = facts_of(name).options
    flags = [word for role in roles for word in ("--role", role)]
    with elsewhere():
        try:
            found = json.loads(
                told("run", f"gallery/{name}", "--dry-run", "--json", "--model", CANDIDATE, *flags, *options)
            )
        except AssertionError:
            return None
        items = json.loads(told("run", f"gallery/{name}", "--json", *options))  # with its mock models
        counts = told("sql", COUNTS.replace("here.", f"{name}."), "--format", "csv").splitlines()[1].split(",")
    assert items
    costs = [each["cost_usd"]["expected"] for each in found["calls"]]
    return None if None in costs else 1000 * sum(costs) / int(counts[0])


def page(name: str, facts: Facts, run: Shown) -> str:
    """Return the page of a benchmark."""
    folder = GALLERY / name
    _, _, body = (folder / "README.md").read_text("utf-8").replace("](../../../docs/", "](../").partition("\n\n")
    lines = f"; {facts.original_lines:,} lines without blank ones and comments" if facts.original_lines else ""
    held = (
        f"- **Original**: {facts.original}{lines}\n"
        f"- **Held against**: {facts.against}\n"
        f"- **Replies compared**: {facts.replies:,}, odd ones among them; scores and figures agree {_agreement(facts)}\n"
    )
    parts = [f"# {facts.title}\n\n{filled(body)}\n## Against the original\n\n{filled(held)}"]
    for path in sorted(folder.rglob("*.tripos"), key=lambda path: (path.stem != name, path)):
        parts.append(
            f"## `{path.relative_to(folder).as_posix()}`\n\n{fenced(path.read_text('utf-8'), 'tripos fragment')}"
        )
    plan = plan_of(name)
    if plan.tables:
        titles = [(table.name, plan.title_of("table", table.name, "en")) for table in plan.tables]
        listed = "".join(f"- `tripos report --table {table}`: {title}\n" for table, title in titles)
        parts.append(f"## Its tables\n\nAfter a run, as the field prints them:\n\n{listed}")
    parts.append(f"## One item\n\n{fenced(run.item, 'text')}")
    if run.prompt:
        parts.append(f"## One prompt as sent\n\n{fenced(run.prompt, 'text')}")
    parts.append(
        f"## One score explained\n\nBy a mock model, whose reply means nothing:\n\n{fenced(run.score, 'text')}"
    )
    slips = "".join(f"- {slip.what}: {slip.code}\n" for slip in facts.slips)
    parts.append(f"## Slips that `check` finds\n\nEach was made in this spec, and `tripos check` named it:\n\n{slips}")
    return "\n".join(parts)


def filled(text: str) -> str:
    """Return paragraphs and items of lists in lines of 120 columns; blocks and tables stay as they are."""
    lines, inside = [], False
    for line in text.strip().splitlines():
        inside ^= line.startswith("```")
        if inside or line.startswith(("```", "|", " ")) or not line:
            lines.append(line)
        else:
            indent = "  " if line.startswith("- ") else ""
            lines += textwrap.wrap(line, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def fenced(text: str, info: str) -> str:
    """Return a text as a block, whose fence it does not hold."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{info}\n{text.rstrip(chr(10))}\n{fence}\n"


def _agreement(facts: Facts) -> str:
    return "exact" if facts.apart == 0 else f"to {facts.apart:g}"


def row(name: str, facts: Facts, run: Shown, cost: float | None) -> str:
    """Return the line of a benchmark in the table."""
    paths = [path for path in (GALLERY / name).rglob("*.tripos") if path.name != TABLES]
    mine = sum(path.read_text("utf-8").count("\n") for path in paths)
    apart = _agreement(facts)
    calls = f"{run.calls:.3g}"
    cells = [
        f"[{facts.title}]({name}.md)",
        str(mine),
        f"{facts.original_lines:,}" if facts.original_lines else "—",
        f"{facts.replies:,}",
        apart,
        ", ".join(dict.fromkeys(slip.code for slip in facts.slips)),
        calls,
        "—" if cost is None else f"{cost:.2f}",
    ]
    return f"| {' | '.join(cells)} |\n"


HEAD = (
    "| benchmark | lines | lines there | replies | agreement | slips | calls | USD |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
)


def table(group: str, rows: Sequence[tuple[Facts, str]]) -> str:
    """Return the table of a group, between its marks."""
    lines = "".join(text for facts, text in rows if facts.group == group)
    return f"{BEGIN.format(group)}{HEAD}{lines}{END}"


def with_tables(text: str, rows: Sequence[tuple[Facts, str]]) -> str:
    """Return the page with its tables anew."""
    for group in GROUPS:
        begin = text.index(BEGIN.format(group))
        end = text.index(END, begin) + len(END)
        text = text[:begin] + table(group, rows) + text[end:]
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the pages")
    parser.add_argument("names", nargs="*", help="these pages only, and not the table")
    options = parser.parse_args()
    rows = []
    for name in options.names or names():
        facts, run = facts_of(name), shown(name)
        rows.append((facts, row(name, facts, run, price(name))))
        print(rows[-1][1], end="", flush=True)
        if options.write:
            (DOCS / "gallery").mkdir(exist_ok=True)
            (DOCS / "gallery" / f"{name}.md").write_text(page(name, facts, run), "utf-8")
    print(f"prices of litellm {version('litellm')}")
    if options.write and not options.names:
        INDEX.write_text(with_tables(INDEX.read_text("utf-8"), rows), "utf-8")


if __name__ == "__main__":
    main()
