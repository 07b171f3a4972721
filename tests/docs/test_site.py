"""The site of the documentation: every link and anchor leads somewhere, and it opens and searches from disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.conftest import Command
from tests.docs.test_docs import DOCS, PAGES, READMES
from tests.view.chromium import PROGRAM, Page, shown
from tripos.cli.help import find_address
from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.errors import TriposError

GROUPS = ["Tutorials", "How-to guides", "Reference", "Explanation", "Benchmarks", "Contributing"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    target = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, str(DOCS / "site/build.py"), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


class Links(HTMLParser):
    """The anchors of a page, where its links lead to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names and where it leads to."""
        found = dict(attrs)
        self.anchors.add(found.get("id") or "")
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        self.loaded += [found[name] or "" for name in ("src", "srcset") if found.get(name)]
        if tag == "link" and found.get("href"):
            self.loaded.append(found["href"] or "")


def test_every_link_of_the_site_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = {path: Links(path.read_text("utf-8")) for path in site.rglob("*.html")}
    missing: list[str] = []
    for path, page in pages.items():
        assert not [each for each in page.loaded if re.match(r"[a-z]+:|//", each)], path
        for target in (*page.links, *page.loaded):
            if re.match(r"(https?|mailto|javascript|data):", target):
                continue
            name, _, anchor = unquote(target).partition("#")
            meant = (path.parent / name.partition("?")[0]).resolve() if name else path
            if not meant.exists() or (anchor and anchor not in pages[meant].anchors):
                missing.append(f"{path.relative_to(site)}: {target}")
    assert missing == []


def test_every_page_of_the_documentation_is_in_the_site_and_in_a_group(site: Path) -> None:
    names = {page.replace("README.md", "index.md").replace(".md", ".html") for page in PAGES if page not in READMES}
    assert not [name for name in names if not (site / name).is_file()]
    tabs = re.findall(
        r'class="md-tabs__link">\s*(.+?)\s*</a>', (site / "how-to/run-a-benchmark.html").read_text("utf-8"), re.DOTALL
    )
    assert tabs == ["Start", *GROUPS]
    own = (site / "how-to/run-a-benchmark.html").read_text("utf-8").partition("md-tabs__item--active")[2]
    assert own.partition("</a>")[0].rstrip().endswith("How-to guides")


def test_specs_have_their_colours_and_files_their_names(site: Path) -> None:
    text = (site / "tutorials/first-benchmark.html").read_text("utf-8")
    assert '<span class="filename">homework.tripos</span>' in text
    assert re.search(r'<span class="k">benchmark</span>', text)


def test_a_page_is_found_by_its_name_its_statement_or_its_code(site: Path) -> None:
    def found(name: str | None) -> str:
        return find_address(site, name).removeprefix(f"{site.as_uri()}/")

    assert found(None) == "index.html"
    assert (
        found("running")
        == found("run-a-benchmark")
        == found("docs/how-to/run-a-benchmark.md")
        == "how-to/run-a-benchmark.html"
    )
    assert found("Scorer") == "language/scorer.html"
    assert found("benchmarks") == "benchmarks/index.html"
    assert found("edubench") == "benchmarks/edubench.html"
    assert found("contains") == "language/functions.html#contains"
    assert found("e0501") == "codes/E05.html#e0501"
    with pytest.raises(TriposError, match="has no page") as raised:
        found("runing")
    assert raised.value.hint == "did you mean `running`?"


def test_every_code_has_its_place_in_the_site(site: Path) -> None:
    anchors = {path: Links(path.read_text("utf-8")).anchors for path in (site / "codes").glob("*.html")}
    for code in CODES:
        page, _, anchor = find_address(site, code).rpartition("#")
        assert anchor in anchors[site / "codes" / Path(page).name], code


def test_an_installation_without_the_site_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.setattr("tripos.cli.help.HANDBOOK", tmp_path / "handbook")
    monkeypatch.setattr("tripos.cli.help.BUILDER", tmp_path / "build.py")
    done = tripos("docs", "--print")
    assert (done.code, done.out) == (2, "")
    assert "error[R0215]: this installation came without the documentation" in done.err


def test_the_command_prints_the_address_of_a_page(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.setattr("tripos.cli.help.HANDBOOK", site)
    monkeypatch.setattr("tripos.cli.help.BUILDER", tmp_path / "build.py")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert tripos("docs", "E0501", "--print").out == f"{(site / 'codes/E05.html').as_uri()}#e0501\n"
    assert opened == []
    assert tripos("docs").out.splitlines() == opened == [(site / "index.html").as_uri()]


def test_the_command_prints_a_page_or_a_section_as_text(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.setattr("tripos.cli.help.HANDBOOK", site)
    monkeypatch.setattr("tripos.cli.help.BUILDER", tmp_path / "build.py")
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail(f"opened {address}"))
    page = tripos("docs", "one-page", "--text").out
    assert page.startswith("# The language on one page\n")
    assert "{ #" not in page and "```tripos quiz.tripos\n" in page
    section = tripos("docs", "contains", "--text").out
    assert section.startswith("### contains\n") and "### starts_with" not in section
    assert tripos("docs", "E0501", "--text").out.startswith("## E0501 ")


BUILDS = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
(folder / "index.html").write_text("built")
(folder / "codes.json").write_text("{}")
(folder / "redirects.json").write_text("{}")
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose builder writes an empty site."""
    (tmp_path / "docs/site").mkdir(parents=True)
    (tmp_path / "docs/site/build.py").write_text(BUILDS)
    (tmp_path / "tripos").mkdir()
    monkeypatch.setattr("tripos.cli.help.HANDBOOK", tmp_path / "tripos/handbook")
    monkeypatch.setattr("tripos.cli.help.BUILDER", tmp_path / "docs/site/build.py")
    return tmp_path


def test_a_checkout_builds_the_site_where_it_is_missing_or_older_than_a_page(checkout: Path, tripos: Command) -> None:
    built = checkout / "tripos/handbook/index.html"
    assert tripos("docs", "--print").err == "building the documentation, which takes some seconds\n"
    built.write_text("kept")
    assert (tripos("docs", "--print").err, built.read_text()) == ("", "kept")
    (checkout / "docs/new.md").write_text("# New\n")
    os.utime(built, (0, 0))
    assert tripos("docs", "--print").out == f"{built.as_uri()}\n"
    assert built.read_text() == "built"


def test_a_checkout_that_cannot_build_the_site_says_why(checkout: Path, tripos: Command) -> None:
    (checkout / "docs/site/build.py").write_text("raise SystemExit('No module named zensical')")
    done = tripos("docs", "--print")
    assert done.code == 2 and "the documentation cannot be built: No module named zensical" in done.err


def test_the_builder_replaces_a_site_and_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    command = [sys.executable, str(DOCS / "site/build.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "is no site of the documentation" in done.stderr
    assert (tmp_path / "mine").read_text() == "kept"


AXE = DOCS.parent / "tripos/view/site/node_modules/axe-core/axe.min.js"
LOOKED_AT = (
    *("index", "tutorials/first-benchmark", "how-to/index", "how-to/run-a-benchmark", "how-to/read-the-report"),
    *("language/ask", "codes/E05", "zh/tutorials/first-benchmark", "benchmarks/index", "running"),
)


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
@pytest.mark.skipif(not AXE.is_file(), reason="no packages of the page, of which axe is one")
def test_pages_of_the_site_break_no_rule_of_accessibility(site: Path) -> None:
    rules = "axe.run(document).then(found => found.violations.map(each => each.id + ' ' + each.nodes[0].html))"
    broken: dict[tuple[str, int], list[str]] = {}

    async def go(page: Page) -> None:
        for name in LOOKED_AT:
            for width in (1200, 390):
                await page.resize(width, 900)
                await page.call("Page.navigate", url=(site / f"{name}.html").as_uri())
                await page.until("document.readyState === 'complete' && document.querySelector('main')")
                if await page.evaluate("!!document.querySelector('pre > code')"):
                    await page.until("document.querySelector('.md-code__button')")
                await page.evaluate(AXE.read_text("utf-8") + ";0")
                if found := await page.evaluate(rules):
                    broken[name, width] = found

    shown(go)
    assert broken == {}


SEARCH = "[...document.querySelectorAll('*')].find(each => each.shadowRoot)?.shadowRoot"
"""What holds the field of the search and its results."""


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
def test_the_site_searches_from_disk_and_no_request_leaves_the_machine(site: Path) -> None:
    async def go(page: Page) -> None:
        await page.call("Page.navigate", url=(site / "language/ask.html").as_uri())
        await page.until(f"document.readyState === 'complete' && {SEARCH}?.querySelector('input')")
        await page.evaluate("document.querySelector('.md-search__button').click()")
        await page.until(f"{SEARCH}.activeElement?.tagName === 'INPUT'")
        await page.call("Input.insertText", text="krippendorff")
        await page.until(f"{SEARCH}.querySelector('a[href*=\"aggregates.html?h=krippendorff\"]')")
        assert page.problems == []
        assert {address.partition(":")[0] for address in page.requests} <= {"file", "data", "about"}
        assert len(page.requests) > 5

    shown(go)
