"""The pages of docs/ run: specs compile, commands print what is shown, queries answer, links lead somewhere."""

from __future__ import annotations

import functools
import importlib.util
import io
import itertools
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest

from tests.each import each
from tripos.cli.help import anchor_of
from tripos.cli.main import run_command
from tripos.cli.parser import build_parser
from tripos.runs.compilation import find_spec
from tripos.settings.config import Config
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.diagnostics.renderers import render_text
from tripos_compiler.errors import ExitCode
from tripos_compiler.plan import outcomes as statuses
from tripos_compiler.plan.outcomes import OK, PROVIDER_ERROR as FAILED, SCORED, TRUNCATED
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse
from tripos_runtime.models.mocks import CHARACTERS
from tripos_warehouse.query.results import run_query
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

DOCS = Path(__file__).parents[2] / "docs"
README = "../README.md"
READMES = (README, "../README.zh.md")
PAGES = [*sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")), *READMES]
FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<text>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[(?:`[^`\n]*`|[^\]`])*\]\(([^)\s]+)\)")
"""A link or a picture."""
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
SECTION = re.compile(r"^(#+) ", re.MULTILINE)
ASSIGNED = re.compile(r"[A-Z_]+=")
"""A variable that a command is given, in front of it."""
ANY = "…"
TOOK = re.compile(r"^  took .*\n?", re.MULTILINE)
"""What a run says only where it took long, as it may on a busy machine."""
EDUBENCH_RUN = (
    "run specs/edubench/shipped.tripos --limit 2 --model mock/careful "
    "--role judge=mock/careful:a,mock/careless:b --store {store}"
)
# What else the cookbook asks about: comparisons and conversations.
MORE_RUNS = (
    "run specs/edubench/bias.tripos --limit 2 --model mock/careful,mock/careless --role judge=mock/careful:a"
    " --role reasoner=mock/careless:b --store {store}",
    "run {docs}/examples/teachbench.tripos --model mock/teacher --role student=mock/careful --role tagger=mock/teacher"
    " --role author=mock/author --role verifier=mock/author --store {store}",
)


whole_parser = functools.cache(build_parser)


@dataclass(frozen=True)
class Block:
    """A fenced block: `language` and `words` of its info string, and the line of its first line of text."""

    page: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def place(self) -> str:
        """Return where it stands, for a message."""
        return f"docs/{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """The file that it is, if its info string names one."""
        return next((word for word in self.words if "." in word), None)


def text_of(page: str) -> str:
    """Return the text of a page."""
    return (DOCS / page).read_text("utf-8")


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = text_of(page)
    found = []
    for match in FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        line = text.count("\n", 0, match.start("text")) + 1
        found.append(Block(page, line, language, tuple(words), match["text"]))
    return found


def prose(page: str) -> str:
    """Return a page without its fenced blocks."""
    return FENCE.sub("", text_of(page))


def run_into(root: Path, command: str) -> None:
    """Run a command whose store is `root`."""
    with heard() as said:
        code = run_command(command.format(store=root, docs=DOCS).split())
    assert code == 0, said.getvalue()


@contextmanager
def heard() -> Iterator[io.StringIO]:
    """Return what is printed, on either stream, in the order in which it is printed."""
    said = io.StringIO()
    streams = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = said
    try:
        yield said
    finally:
        sys.stdout, sys.stderr = streams


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that commands run in, on a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_the_list_of_pages_for_models_is_current(tmp_path: Path) -> None:
    made = importlib.util.spec_from_file_location("build", DOCS / "site/build.py")
    assert made is not None and made.loader is not None
    build = importlib.util.module_from_spec(made)
    sys.modules["build"] = build
    try:
        made.loader.exec_module(build)
        current = build.llms_text(tmp_path, build.write_pages(tmp_path))
    finally:
        del sys.modules["build"]
    path = DOCS / "llms.txt"
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        path.write_text(current, "utf-8")
    assert path.read_text("utf-8") == current
    targets = re.findall(r"\]\(([^)]+\.md)\)", current)
    assert targets[0] == "language/one-page.md"
    assert set(targets) == {page for page in PAGES if page not in (*READMES, "index.md", "examples/README.md")}
    assert all((DOCS / target).is_file() for target in targets)


FIRST_PAGES = (README, "tutorials/first-benchmark.md")
"""The pages whose commands the short form runs."""


def played() -> list[Any]:
    """Return every page; those whose commands run for long are marked."""
    short = [page for page in PAGES if page in FIRST_PAGES or not runs(page)]
    return [pytest.param(page, marks=() if page in short else pytest.mark.long) for page in PAGES]


def runs(page: str) -> bool:
    """Return true if a page has commands or Python to run."""
    return any(block.language in ("console", "python") for block in blocks(page))


@each("page", PAGES)
def test_every_command_of_a_page_has_options_that_there_are(page: str) -> None:
    """The short form of what follows, for pages whose commands take long."""
    for block in blocks(page):
        for _, command, _ in commands_of(block) if block.language == "console" and "exit" not in block.words else ():
            program, *arguments = shlex.split(command)
            if program == "tripos":
                whole_parser().parse_args(arguments)


@pytest.mark.parametrize("page", played())
def test_a_page_does_what_it_says(
    page: str, folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIPOS_LANG", "zh" if page.startswith("zh/") or page.endswith(".zh.md") else "en")
    if "<!-- results: edubench -->" in text_of(page):
        shutil.copytree(request.getfixturevalue("store"), folder / "results")
    if "<!-- specs: common -->" in text_of(page):
        shutil.copytree(DOCS.parent / "specs/common", folder / "specs/common")
    if "<!-- logs -->" in text_of(page):
        shutil.copytree(DOCS.parent / "tests/data/logs", folder / "logs")
    for block in blocks(page):
        match block.language:
            case "diff":
                patch(block, folder)
            case "console":
                play(block)
            case "python" if "fragment" not in block.words:
                with heard():
                    exec(compile("\n" * (block.line - 1) + block.text, f"docs/{page}", "exec"), {})
            case "tripos" if "fragment" in block.words:
                diagnostics = Diagnostics()
                parse(Source(block.place, block.text), diagnostics)
                assert not diagnostics.items, render_text(diagnostics.items)
            case "toml":
                Config.model_validate(tomllib.loads(block.text))
        if block.language != "diff" and block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text, "utf-8")
        elif block.language == "tripos" and "fragment" not in block.words:
            (folder / "block.tripos").write_text(block.text, "utf-8")
            compiles(folder / "block.tripos", block.place)
    for path in folder.glob("*.tripos"):
        if re.search(r"^benchmark ", path.read_text("utf-8"), re.MULTILINE):
            compiles(path, f"docs/{page}: {path.name}")


def compiles(path: Path, place: str) -> None:
    """Assert that a spec compiles without a mistake. A page cannot know the digest of a release that it makes."""
    compilation = find_spec(str(path)).compile()
    said = [each for each in compilation.diagnostics if each.code != "W0911"]
    assert compilation.plan is not None and not said, f"{place}\n{render_text(said)}"


def patch(block: Block, folder: Path) -> None:
    """Applies a diff block: the lines that it keeps and takes away stand in its file once."""
    assert block.file is not None, f"{block.place}: a diff names its file"
    path = folder / block.file
    lines = block.text.splitlines(keepends=True)
    before = "".join(line[1:] or "\n" for line in lines if line[:1] in " -\n")
    after = "".join(line[1:] or "\n" for line in lines if line[:1] in " +\n")
    text = path.read_text("utf-8")
    assert text.count(before) == 1, f"{block.place}: these lines stand {text.count(before)} times in {block.file}"
    path.write_text(text.replace(before, after), "utf-8")


def commands_of(block: Block) -> list[tuple[int, str, list[str]]]:
    """Return the commands of a console block, each with its line and with what is shown below it."""
    commands: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.startswith("$ "):
            commands.append((number, line[2:], []))
        elif commands and commands[-1][1].endswith("\\") and not commands[-1][2]:
            first, command, shown = commands.pop()
            commands.append((first, command.removesuffix("\\") + line.strip(), shown))
        else:
            assert commands, f"{block.place}: a console block begins with a command"
            commands[-1][2].append(line)
    return commands


def play(block: Block) -> None:
    """Run the commands of a console block and compare what they print with what is shown below each."""
    commands = commands_of(block)
    unknown = [word for word in block.words if word not in ("exit", "figures") and not word.isdigit()]
    assert not unknown, f"{block.place}: a console block knows no {unknown}; what cannot be played is `sh`"
    code = int(block.words[block.words.index("exit") + 1]) if "exit" in block.words else 0
    for index, (number, command, shown) in enumerate(commands):
        place = f"docs/{block.page}:{number}: {command}"
        got, printed = run(command)
        wanted = code if index == len(commands) - 1 else 0
        assert got == wanted, f"{place}\nexit code {got}, not {wanted}; it printed\n{printed}"
        if not any(TOOK.match(line) for line in shown):
            printed = TOOK.sub("", printed)
        pattern = pattern_of(shown, figures="figures" in block.words)
        lines = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
        if not re.fullmatch(pattern, lines):
            shown_text = "\n".join(shown)
            pytest.fail(f"{place}\n--- shown\n{shown_text}\n--- printed\n{lines}", pytrace=False)


def run(command: str) -> tuple[int, str]:
    """Return the exit code of a command and what it prints."""
    words = shlex.split(command)
    variables = dict(word.split("=", 1) for word in itertools.takewhile(ASSIGNED.match, words))
    program, *arguments = words[len(variables) :]
    with heard() as said, mock.patch.dict(os.environ, variables):
        match program:
            case "tripos":
                code = run_command(arguments)
            case "cat":
                code = 0
                for name in arguments:
                    print(Path(name).read_text("utf-8"), end="")
            case _:
                pytest.fail(f"a page may use `tripos` and `cat`, not `{program}`")
    return code, said.getvalue()


def pattern_of(shown: list[str], *, figures: bool) -> str:
    """Return a regular expression for the lines shown. `…` stands for anything on its line, alone for any lines. With
    `figures` a number stands for any number, and columns may be of other widths."""
    while shown and not shown[-1].strip():
        shown = shown[:-1]
    pattern = ""
    for line in shown:
        if line.strip() == ANY:
            pattern += r"(?:.*\n)*?"
            continue
        parts = []
        for part in line.rstrip().split(ANY):
            escaped = re.escape(part)
            if figures:
                escaped = re.sub(r"\d+(?:\\\.\d+|,\d+)*", r"\\d[\\d.,]*", escaped)
                escaped = re.sub(r"(?:\\ ){2,}", r" +", escaped)
                escaped = re.sub(r"─+", "─+", escaped)
            parts.append(escaped)
        pattern += ".*?".join(parts) + r"\n"
    return pattern


def queries() -> list[Block]:
    """Return every SQL block of the pages."""
    return [block for page in PAGES for block in blocks(page) if block.language == "sql"]


@pytest.fixture
def opened(store_of_several: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(Store.open(store_of_several, create=False)) as connection:
        yield connection


@each("block", queries)
def test_a_query_has_an_answer(block: Block, opened: duckdb.DuckDBPyConnection) -> None:
    assert run_query(opened, block.text).num_rows > 0, f"{block.place}: no rows"


def test_the_parts_are_read_without_tripos_as_with_it_also_after_compacting(
    store: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(store, folder / "results")
    assert run("tripos store compact")[0] == ExitCode.SUCCESS
    [script] = [block for block in blocks("how-to/query-with-sql.md") if block.language == "python"]
    found: dict[str, Any] = {}
    exec(compile(script.text, script.place, "exec"), found)
    connection = connect(Store.open(folder / "results", create=False))
    rows = connection.execute("select count(*) from main.scores").fetchall()
    connection.close()
    assert rows == found["scores"].aggregate("count(*)").fetchall()


@each("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (DOCS / page).parent / name if name else DOCS / page
        assert path.exists(), f"docs/{page}: there is no {target}"
        if anchor:
            anchors = anchors_of(path)
            assert anchor in anchors, f"docs/{page}: {target}: the headings are {sorted(anchors)}"


def anchors_of(path: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    return {anchor_of(heading) for heading in HEADING.findall(FENCE.sub("", path.read_text("utf-8")))}


def test_an_index_lists_every_page() -> None:
    def listed(page: str) -> set[str]:
        links = (target.partition("#")[0] for target in LINK.findall(prose(page)))
        return {os.path.normpath(Path(page).parent / link) for link in links}

    indices = [page for page in PAGES if page.endswith("index.md")]
    assert set(PAGES) - {"index.md", *READMES} <= set().union(*map(listed, indices))


@each("page", [page for page in PAGES if page.startswith("zh/")])
def test_a_translation_has_the_sections_and_blocks_of_its_page(page: str) -> None:
    original = page.removeprefix("zh/")
    assert [(block.language, block.words) for block in blocks(page)] == [
        (block.language, block.words) for block in blocks(original)
    ]
    assert [len(marks) for marks in SECTION.findall(prose(page))] == [
        len(marks) for marks in SECTION.findall(prose(original))
    ]


FORMER = """
    annotating baselines batches calibrating checking comparing contamination cookbook describing doctor editors
    emitting errors exporting faults first-benchmark formatting gallery glossary groups history importing installing
    internals judges language-server leaderboard limits measures media mistakes moving moving/inspect moving/lm-eval
    moving/logs moving/promptfoo moving/side-by-side patterns plots plugins programs providers python releases
    replay results rewards running scale scope settings settled speed starting statistics store supply-chain
    syllabus tables tour training trust turns tutorial view work-once zh/tutorial
"""
"""The pages of docs/ before it had doors. People and messages know them by these names."""


def test_a_former_page_is_a_page_or_leads_to_one() -> None:
    redirects = json.loads((DOCS / "site/redirects.json").read_text("utf-8"))
    assert [name for name in FORMER.split() if f"{name}.md" not in PAGES and name not in redirects] == []
    assert [name for name in redirects if f"{name}.md" in PAGES or name.partition("#")[0] not in redirects] == []


@each("target", sorted(set(json.loads((DOCS / "site/redirects.json").read_text("utf-8")).values())))
def test_a_redirect_leads_to_a_section_that_there_is(target: str) -> None:
    page, _, anchor = target.partition("#")
    assert not anchor or anchor in anchors_of(DOCS / page), sorted(anchors_of(DOCS / page))
    assert page in PAGES


def test_every_field_of_an_event_is_in_the_reference(folder: Path) -> None:
    asked = "run specs/edubench/shipped.tripos --limit 1 --scenario grading"
    asked += " --model mock/careful --role judge=mock/careful:a"
    code, printed = run(f"tripos {asked} --events events.jsonl")
    assert code == ExitCode.SUCCESS, printed
    rows = {
        line.split("`")[1]: line for line in prose("reference/machine-output.md").splitlines() if line.startswith("| `")
    }
    events = [json.loads(line) for line in Path("events.jsonl").read_text("utf-8").splitlines()]
    assert {event["event"] for event in events} == {"started", "progress", "finished"}
    for event in events:
        assert not [name for name in event.keys() - {"event", "time"} if f"`{name}`" not in rows[event["event"]]]


def test_every_mock_and_exit_code_is_listed() -> None:
    models, codes = prose("how-to/models-and-keys.md"), prose("reference/machine-output.md")
    assert not [character for character in CHARACTERS if f"`mock/{character}`" not in models]
    assert not [
        code
        for code in (ExitCode.SUCCESS, ExitCode.SOME_FAILED, ExitCode.USAGE, ExitCode.INTERRUPTED)
        if f"| {code} |" not in codes
    ]


def test_every_status_is_in_the_reference() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", str(statuses.__doc__), re.MULTILINE)
    text = prose("reference/machine-output.md").split("## Statuses")[1]
    assert {OK, SCORED, TRUNCATED, FAILED} < set(listed)
    assert not [status for status in listed if f"`{status}`" not in text]
