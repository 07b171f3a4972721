"""Time of `tripos check` and `tripos --help` as whole processes, beside `baml-cli check` on specs of the same length.

    python tests/bench/check.py [--lines 1000 10000] [--rounds 7] [--baml PATH_TO_baml-cli]

The specs are EduBench with its scenarios repeated under new names; those for BAML have the same prompts and fields in
BAML's own statements. The two commands take turns, the median and the best are printed, and the ratio is what to
quote. Between two lengths the CPU of a check is compared too, beside how much longer the spec is: a check is to grow
with it. For the peer make an environment of its own, since BAML is no dependency of Tripos:

    python -m venv .baml && .baml/bin/pip install baml-py
    python tests/bench/check.py --baml .baml/bin/baml-cli

Without one the peer is left out, which is said. `--write DIR` only writes the specs.
"""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from processes import TRIPOS, Taken, median, take

EDUBENCH = Path(__file__).parents[2] / "specs" / "edubench"
SCENARIO = re.compile(r"^scenario (\w+) .*?^}\n", re.MULTILINE | re.DOTALL)
DATASET = re.compile(r"^dataset (\w+)( from .*?^})", re.MULTILINE | re.DOTALL)
LIKE = re.compile(r"^(scenario .* like \w+)", re.MULTILINE)
OVER = re.compile(r"^  over (\w+) as item$", re.MULTILINE)
PEER = """\
client<llm> Candidate {
  provider openai
  options {
    model "gpt-4o-mini"
    api_key env.OPENAI_API_KEY
  }
}
"""


def tripos_spec(lines: int) -> str:
    """Return a spec of at most so many lines: EduBench in one file, its scenarios and their rows repeated."""
    part = {
        path.stem: re.sub(r"^use .*\n", "", text, flags=re.MULTILINE)
        for path, text in used(EDUBENCH / "shipped.tripos")
    }
    rows = {row[1]: row[0] for row in re.finditer(r"^  \| (\w+) .*\n", part["allocation"], re.MULTILINE)}
    fixed = "\n".join(part.values())
    left = lines - fixed.count("\n") + sum(row.count("\n") for row in rows.values())
    table, body = "", ""
    for name, number, text in scenarios():
        left -= text.count("\n") + 2
        if left < 0:
            break
        table += rows[name].replace(f" {name} ", f" {name}_{number} ", 1)
        renamed = text.replace(f"scenario {name}", f"scenario {name}_{number}", 1)
        body += "\n" + LIKE.sub(rf"\1_{number}", renamed)
    return fixed.replace("".join(rows.values()), table) + body


def used(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a spec with their texts, without its scenarios, rows and exports."""
    text = path.read_text("utf-8")
    yield path, text
    for name in re.findall(r'^use "(.*)"', text, re.MULTILINE):
        if not name.startswith(("scenarios", "items_", "distillation", "tables")):
            yield from used(path.parent / name)


def baml_spec(lines: int) -> str:
    """Return a BAML file of at most so many lines: for every scenario a class of items, one of replies, and a
    function."""
    made = PEER
    for name, number, text in scenarios():
        title = f"{name.title().replace('_', '')}{number}"
        fields = re.findall(r"^    (\w+) +text", text, re.MULTILINE)
        replied = re.findall(r"^      (\w+) +(text|list<text>|integer|number)$", text, re.MULTILINE)
        types = {"text": "string", "list<text>": "string[]", "integer": "int", "number": "float"}
        prompts = re.findall(r'^    prompt \w+ """\n(.*?) +"""', text, re.MULTILINE | re.DOTALL)
        spoken = re.sub(r"\{\{ (?!item\.)(\w+) \}\}", r"{{ item.\1 }}", "".join(prompts))
        used = sorted(set(re.findall(r"item\.(\w+)", spoken)) | set(fields))
        items = "".join(f"  {each} string\n" for each in used)
        reply = "".join(f"  {each} {types[kind]}\n" for each, kind in replied) or "  text string\n"
        added = (
            f"\nclass {title}Item {{\n{items}}}\n\nclass {title}Reply {{\n{reply}}}\n"
            f"\nfunction {title}(item: {title}Item) -> {title}Reply {{\n  client Candidate\n"
            f'  prompt #"\n{spoken}    {{{{ ctx.output_format }}}}\n  "#\n}}\n'
        )
        if made.count("\n") + added.count("\n") > lines:
            break
        made += added
    return made


def scenarios() -> Iterator[tuple[str, int, str]]:
    """EduBench's scenarios without end, each with its rows: name, number of the round, text."""
    rows = {
        each[1]: "  dataset item" + each[2].replace("\n", "\n  ")
        for each in DATASET.finditer((EDUBENCH / "items_shipped.tripos").read_text("utf-8"))
    }
    found = [
        (each[1], OVER.sub(lambda over: rows[over[1]], each[0]))
        for each in SCENARIO.finditer((EDUBENCH / "scenarios.tripos").read_text("utf-8"))
    ]
    for number in itertools.count(1):
        yield from ((name, number, text) for name, text in found)


def write(folder: Path, lines: int) -> tuple[Path, Path]:
    """Return a folder with a spec for each of the two."""
    ours, theirs = folder / f"tripos{lines}", folder / f"baml{lines}" / "baml_src"
    theirs.mkdir(parents=True)
    shutil.copytree(EDUBENCH / "items", ours / "items")
    (ours / "bench.tripos").write_text(tripos_spec(lines), "utf-8")
    (theirs / "bench.baml").write_text(baml_spec(lines), "utf-8")
    return ours, theirs


def in_turn(commands: dict[str, list[str]], rounds: int, folder: Path) -> dict[str, list[Taken]]:
    """Return what commands that take turns took; a first round, which fills caches, is not counted. Compiled modules are
    kept, as where Tripos is installed."""
    kept = {"PYTHONPYCACHEPREFIX": str(folder / "pycache")}
    times: dict[str, list[Taken]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            taken = take(command, folder, kept, beside_server=False)
            if turn:
                times[name].append(taken)
    return times


def show(times: dict[str, list[Taken]], what: str) -> None:
    for name, taken in times.items():
        best, usual = min(each.wall_s for each in taken), median(taken)
        told = f"median {usual.wall_s:6.3f} s   best {best:6.3f} s   CPU {usual.cpu_s:6.3f} s"
        print(f"{name:8} {what:22} {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--baml", help="the peer's `baml-cli`; by default the one on the path")
    parser.add_argument("--write", metavar="DIR", help="write the specs into a new folder and stop")
    options = parser.parse_args()
    if options.write:
        for lines in options.lines:
            print(*write(Path(options.write), lines))
        return
    baml = options.baml or shutil.which("baml-cli")
    if baml is None:
        print("the peer is left out: there is no `baml-cli`, see --help for how to get it")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        show(in_turn({"tripos": [*TRIPOS, "--help"]}, options.rounds, folder), "--help")
        least: dict[int, float] = {}
        for lines in sorted(options.lines):
            ours, theirs = write(folder, lines)
            commands = {"tripos": [*TRIPOS, "check", str(ours / "bench.tripos")]}
            if baml is not None:
                commands["baml"] = [baml, "check", "--no-version-check", "--from", str(theirs)]
            times = in_turn(commands, options.rounds, folder)
            show(times, f"check of {lines:,} lines")
            least[lines] = min(each.cpu_s for each in times["tripos"])
            if baml is not None:
                ratio = median(times["tripos"]).wall_s / median(times["baml"]).wall_s
                print(f"{'ratio':8} tripos takes {ratio:.2f} of the time of baml")
        for less, more in itertools.pairwise(least):
            grown = f"CPU of a check grows {least[more] / least[less]:.1f} times, least of {options.rounds}"
            print(f"{'ratio':8} {less:,} to {more:,} lines: {grown}, the spec {more / less:.1f} times")


if __name__ == "__main__":
    main()
