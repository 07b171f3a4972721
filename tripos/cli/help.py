"""`tripos explain`, `docs` and `lsp`: pages on codes and words, the documentation, and the language server."""

from __future__ import annotations

import importlib.util
import json
import logging
import re
import subprocess
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tripos.cli.context import Context, Outcome, Styled
from tripos.terminal import is_colored, message, show_message, terminal_width
from tripos_compiler.constructs.reference import page_of
from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.diagnostics.codes import CODES, find_page
from tripos_compiler.diagnostics.diagnostic import nearest
from tripos_compiler.diagnostics.i18n import localized, localized_page, reader_language
from tripos_compiler.diagnostics.text_format import wrap
from tripos_compiler.errors import TriposError

PAGE_FOLDERS = (Path(__file__).parents[1] / "language", Path(__file__).parents[2] / "docs" / "language")
"""The folders of the pages: in the package, or in a checkout next to it."""
COLLECTIONS = ("functions", "aggregates")
"""Pages with one section for each word."""
MARK = re.compile(r"^<!-- .*? -->\n\n?", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[((?:`[^`]*`|[^\]`])+)\]\([^)\s]+\)")


# Pages of the language
@cache
def find_language_page(word: str) -> str | None:
    """Return the page or section on a word, in Markdown, or None.

    >>> (find_language_page("arms") or "").splitlines()[0], (find_language_page("contains") or "").splitlines()[0]
    ('# arms', '# contains')
    >>> find_language_page("nothing of the kind")
    """
    path = _path(_page_name(word))
    if path is not None:
        return _without_markup(path.read_text("utf-8"))
    for name in COLLECTIONS:
        path = _path(name)
        section = _section(path.read_text("utf-8"), word) if path is not None else None
        if section is not None:
            return _without_markup(section)
    return None


@cache
def language_words() -> tuple[str, ...]:
    """Return every word that has a page or a section."""
    pages = (path.stem for folder in PAGE_FOLDERS for path in folder.glob("*.md"))
    sections = (word for name in COLLECTIONS for word in _sections(name))
    return tuple(
        sorted({*(construct.starts_with for construct in CONSTRUCTS if construct.starts_with), *pages, *sections})
    )


def _page_name(word: str) -> str:
    """Return the name of the page on a word: its own page, or that of the statement that contains it."""
    if _path(word) is not None or not word:
        return word
    return next((page_of(construct) for construct in CONSTRUCTS if construct.starts_with == word), word)


def _path(name: str) -> Path | None:
    if not re.fullmatch(r"\w[\w-]*", name):
        return None
    return next((path for folder in PAGE_FOLDERS if (path := folder / f"{name}.md").is_file()), None)


def _sections(name: str) -> Iterator[str]:
    path = _path(name)
    yield from re.findall(r"^### (\w+)$", path.read_text("utf-8"), re.MULTILINE) if path is not None else ()


def _section(page: str, word: str) -> str | None:
    match = re.search(rf"^### {re.escape(word)}\n.*?(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    return match[0].removeprefix("##").rstrip() + "\n" if match is not None else None


def _without_markup(page: str) -> str:
    """Return a page without comments for other programs and without links, which do not work in a terminal."""
    return LINK.sub(r"\1", MARK.sub("", page))


SHORT_CODE = re.compile(r"[A-Z][0-9]{3}")
"""A code without its leading zero."""
FENCE = "```"
MOST = 100
"""The maximum width of a line in columns. Longer lines are hard to read."""


# tripos explain
def main(context: Context) -> Outcome:
    """Return the pages of codes, the page of a word of the language, or a list of all codes or of those with a
    prefix."""
    if not context.options.codes:
        return _outcome([list(CODES)])
    return _outcome([_topic(word.strip()) for word in context.options.codes])


def _topic(word: str) -> list[str] | str:
    """Return the codes that begin with a word, or the page of the only one, or that of a word of the language. Raises
    `TriposError` R0202 for an unknown word."""
    name = word.upper()
    codes = [code for code in CODES if code.startswith(name)] if name else []
    if len(codes) > 1:
        return codes
    if codes:
        return _page(codes[0])
    if SHORT_CODE.fullmatch(name) and f"{name[0]}0{name[1:]}" in CODES:
        return _page(f"{name[0]}0{name[1:]}")
    page = find_language_page(word.lower())
    if page is None:
        raise TriposError("R0202", f"there is no code or word of the language `{word}`", _near(name))
    return page


def _outcome(topics: Sequence[list[str] | str]) -> Outcome:
    """Return the outcome for topics, each a page or a list of codes."""

    def data() -> list[object]:
        return [
            {"page": topic} if isinstance(topic, str) else {"codes": {code: localized(CODES[code]) for code in topic}}
            for topic in topics
        ]

    def lines() -> Iterator[str]:
        for index, topic in enumerate(topics):
            if index:
                yield ""
            if isinstance(topic, str):
                yield _laid_out(topic)
            else:
                yield from (f"{code}  {localized(CODES[code])}" for code in topic)

    return Outcome(data, lines())


def _page(code: str) -> str:
    """Return the page of a code in the reader's language."""
    page, language = find_page(code) or "", reader_language()
    if language == "en":
        return page
    _, _, text = page.partition("\n")
    return f"# {code} {localized(CODES[code])}\n{localized_page(text, language)}"


def _near(name: str) -> str:
    """Return a hint with codes similar to an unknown one.

    >>> _near("E99"), _near("OPEMS")
    ('the nearest is E0919; `tripos explain E` lists its kin', 'did you mean opens?')
    """
    kin = [code for code in CODES if code[0] == name[:1]]
    if kin and re.fullmatch(r"[0-9]{1,4}", name[1:]):
        number = int(name[1:].ljust(4, "0"))
        close = min(kin, key=lambda code: (abs(int(code[1:]) - number), code))
        return f"the nearest is {close}; `tripos explain {name[0]}` lists its kin"
    similar = nearest(name, CODES) or nearest(name.lower(), language_words())
    return (
        f"did you mean {similar}?"
        if similar
        else "`tripos explain` lists all codes, `tripos explain index` the language"
    )


def _laid_out(page: str) -> str:
    """Return a page of Markdown for standard output."""
    if not is_colored(sys.stdout):
        return wrap_markdown(page, terminal_width()).removesuffix("\n")
    from rich.console import Console
    from rich.markdown import Markdown

    # A code block shows only its text, so its file name is printed above it.
    named = re.sub(r"^```(\w+) (\S+)$", r"`\2`\n\n```\1", page, flags=re.MULTILINE)
    console = Console(width=min(terminal_width(), MOST), force_terminal=True)
    with console.capture() as captured:
        console.print(Markdown(named, code_theme="ansi_dark"))
    return Styled(captured.get().removesuffix("\n"))


def wrap_markdown(page: str, width: int) -> str:
    """Return a page of Markdown with paragraphs and list items wrapped to `width` columns. Code is unchanged.

    >>> print(wrap_markdown("# E1 a mistake\\n\\nIt is wrong to\\ndo so.\\n\\n- Do it\\n  otherwise.\\n", 12), end="")
    # E1 a mistake
    <BLANKLINE>
    It is wrong
    to do so.
    <BLANKLINE>
    - Do it
      otherwise.
    """
    lines: list[str] = []
    words: list[str] = []

    def finish() -> None:
        if words:
            begin = re.match(r"(?:[-*] |\d+\. )?", words[0])
            margin = " " * (len(begin[0]) if begin else 0)
            text = " ".join(words)[len(margin) :]
            first, *more = wrap(text, width - len(margin))
            lines.extend([words[0][: len(margin)] + first, *(margin + line for line in more)])
            words.clear()

    coding = False
    for line in page.splitlines():
        coding ^= line.startswith(FENCE)
        if coding or line.startswith((FENCE, "#", "|")) or not line.strip():
            finish()
            lines.append(line)
            continue
        if re.match(r"[-*] |\d+\. ", line):
            finish()
        words.append(line.strip())
    finish()
    return "".join(f"{line}\n" for line in lines)


HANDBOOK = Path(__file__).parents[1] / "handbook"
"""The built pages: in the package, or in a checkout where `make docs` writes them."""
BUILDER = Path(__file__).parents[2] / "docs/site/build.py"
"""The program that builds the pages, which only a checkout has."""
SOURCES = ("docs", "specs", "compiler/tripos_compiler/diagnostics/pages")
"""The folders of a checkout that the pages are built from."""


# tripos docs
def docs_main(context: Context) -> Outcome:
    """Return the address of a page and open it in a browser. Raises `TriposError` R0202 if there is no such page."""
    options = context.options
    _build_in_checkout()
    if not (HANDBOOK / "index.html").is_file():
        hint = "run `make docs` in a clone of the repository, or read its docs/index.md"
        raise TriposError("R0215", "this installation came without the documentation", hint)
    if options.search is not None:
        sections = search_sections(HANDBOOK, options.search)
        return Outcome(lambda: [section._asdict() for section in sections], _section_lines(sections))
    address = find_address(HANDBOOK, options.page)
    if options.text:
        text = page_text(address)
        return Outcome(lambda: {"address": address, "text": text}, text.splitlines())
    if not options.print:
        webbrowser.open(address)
    return Outcome(lambda: {"address": address}, [address])


class DocsSection(NamedTuple):
    """A section of a page that fits a search: what `tripos docs` takes for it, its heading, and its beginning."""

    page: str
    heading: str
    text: str


def search_sections(handbook: Path, words: str) -> list[DocsSection]:
    """Return the sections of the pages that fit some words best, the best first; none if no word occurs."""
    from tripos_runtime.program.retrieval import TermIndex

    sections = _all_sections(handbook)
    # A heading says what its section is about, so its words count several times.
    index = TermIndex.of(
        f"{f'{section.page} {section.heading} ' * HEADING_WEIGHT}{section.text}" for section in sections
    )
    values = index.values(words)
    best = sorted((place for place, value in enumerate(values) if value > 0), key=lambda place: -values[place])
    return [sections[place]._replace(text=_beginning(sections[place].text)) for place in best[:MOST_SECTIONS]]


MOST_SECTIONS = 8
HEADING_WEIGHT = 3
BEGINNING = 300
"""The number of characters of a section that a search shows."""
NOT_SEARCHED = ("CHANGELOG", "contributing/", "examples/", "specs/", "zh/")
"""Pages that a search leaves out: they say how Tripos is made, or show whole files."""


def _beginning(text: str) -> str:
    """Return the beginning of a section on one line."""
    return shorten(text, BEGINNING, placeholder=" …", break_on_hyphens=False)


@cache
def _all_sections(handbook: Path) -> tuple[DocsSection, ...]:
    """Return the sections of all pages, each with its whole text."""
    found = []
    for path in sorted(handbook.rglob("*.md")):
        page = path.relative_to(handbook).with_suffix("").as_posix()
        if page.startswith(NOT_SEARCHED):
            continue
        heading, level, lines = "", 0, list[str]()
        for marks, line in (*_with_headings(path.read_text("utf-8")), (1, "")):
            if not 0 < marks <= DEEPEST_SECTION:
                lines.append(line)
                continue
            if heading and (text := MARK.sub("", "".join(lines)).strip()):
                found.append(DocsSection(page if level == 1 else f"{page}#{anchor_of(heading)}", heading, text))
            heading, level, lines = line[marks:].strip(), marks, []
    return tuple(found)


DEEPEST_SECTION = 3


def anchor_of(heading: str) -> str:
    """Return the anchor that GitHub and the built pages give a heading.

    >>> anchor_of("How `words` are counted")
    'how-words-are-counted'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _with_headings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page, each with the number of its marks if it is a heading, or else 0."""
    fenced = False
    for line in text.splitlines(keepends=True):
        fenced ^= line.lstrip().startswith(FENCE)
        yield 0 if fenced else len(line) - len(line.lstrip("#")), line


def _section_lines(sections: Sequence[DocsSection]) -> Iterator[str]:
    for section in sections:
        yield f"{section.page}  {section.heading}"
        yield from (f"  {line}" for line in wrap(section.text, terminal_width() - 2))
    if not sections:
        yield message("no page has one of these words")


def page_text(address: str) -> str:
    """Return the Markdown of a page, given its address; of an address with an anchor, the section of that heading."""
    parts = urlsplit(address)
    text = Path(url2pathname(parts.path)).with_suffix(".md").read_text("utf-8")
    if not parts.fragment:
        return text
    section: list[str] = []
    level = 0
    for marks, line in _with_headings(text):
        if section and marks and marks <= level:
            break
        title = line[marks:].strip().lower()
        if section or (marks and parts.fragment in (anchor_of(title), title.partition(" ")[0])):
            level = level or marks
            section.append(line)
    return "".join(section).rstrip() + "\n" if section else text


def find_address(handbook: Path, page: str | None) -> str:
    """Return the address of a page, by its name or an old one, a statement, a function or a code; without a name, of
    the first page. `PAGE#SECTION` is that of a section. Raises `TriposError` R0202 if there is none."""
    name, _, section = (page or "index").strip().partition("#")
    if section:
        return f"{find_address(handbook, name)}#{anchor_of(section)}"
    code = name.upper()
    if code in CODES:
        family = json.loads((handbook / "codes.json").read_text("utf-8"))[code]
        return f"{(handbook / 'codes' / f'{family}.html').as_uri()}#{code.lower()}"
    name = name.removeprefix("docs/").removesuffix(".md").lower().replace(" ", "-")
    redirects = json.loads((handbook / "redirects.json").read_text("utf-8"))
    if name in redirects:
        target, _, anchor = redirects[name].partition("#")
        return f"{(handbook / target).as_uri()}{anchor and f'#{anchor}'}"
    built = {path.relative_to(handbook).with_suffix("").as_posix(): path for path in handbook.rglob("*.html")}
    pages = {key: path for key, path in built.items() if key not in redirects}
    by_stem = {path.stem: path for key, path in sorted(pages.items(), reverse=True) if path.stem != "index"}
    address = pages.get(name) or pages.get(f"{name}/index") or by_stem.get(name) or pages.get(f"benchmarks/{name}")
    if address is not None:
        return address.as_uri()
    for each in ("language/functions", "language/aggregates"):
        if each in pages and re.search(f'<h3 id="{re.escape(name)}"', pages[each].read_text("utf-8")):
            return f"{pages[each].as_uri()}#{name}"
    close = nearest(name, sorted({*by_stem, *redirects})) or nearest(code, CODES)
    hint = f"did you mean `{close}`?" if close else "`tripos docs` opens the first page, which has a search"
    raise TriposError("R0202", f"the documentation has no page `{page}`", hint)


def _build_in_checkout() -> None:
    """Build the pages of a checkout if they are missing or older than their sources."""
    if not BUILDER.is_file():
        return
    built = HANDBOOK / "index.html"
    sources = (path for name in SOURCES for path in (BUILDER.parents[2] / name).rglob("*") if path.is_file())
    if built.is_file() and built.stat().st_mtime >= max(path.stat().st_mtime for path in sources):
        return
    show_message("building the documentation, which takes some seconds", stderr=True, flush=True)
    done = subprocess.run([sys.executable, str(BUILDER), str(HANDBOOK)], capture_output=True, text=True, check=False)
    if done.returncode and not built.is_file():
        texts = done.stderr.strip().splitlines()[-1:] or ["the generator said nothing"]
        raise TriposError("R0215", f"the documentation cannot be built: {texts[0]}", "run `make docs` to see why")


# tripos lsp
def lsp_main(context: Context) -> Outcome:
    """Run the language server for one editor. Raises `TriposError` if the server is not installed."""
    if importlib.util.find_spec("pygls") is None:
        raise TriposError("R0206", "the language server is not installed", "pip install 'tripos[lsp]'")
    from tripos.lsp.server import serve

    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # the server logs its own errors
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # other output must not mix with the protocol
    serve(stdin, stdout)
    return Outcome()
