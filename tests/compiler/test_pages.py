"""Every code has a page, and the examples of the pages do what the pages say."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from compiling import ROOT, compile_files

from tests.each import each
from tripos_compiler.diagnostics.codes import CODES, find_page

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Their pages have no example to compile: they come of a run, or of a workbook.
OF_A_RUN = ("W0310", "W0824", "W0875", "W1205", "W1208", "W1209", "W1210")
COMPILED = [code for code in CODES if code[0] in "EW" and code not in OF_A_RUN]
RAISED = re.compile(r'"([ERSW]\d{4})"')
PACKAGES = ("compiler", "runtime", "warehouse", "tripos")


def page_of(code: str) -> str:
    page = find_page(code)
    assert page is not None
    return page


def section(page: str, title: str) -> dict[str, str]:
    """Return the files of a section: the one without a name is the spec itself."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section `{title}`"
    return {name or "spec.tripos": text for _, name, text in FENCE.findall(found[1])}


def test_no_page_lacks_a_code_and_no_code_a_page() -> None:
    folder = files("tripos_compiler.diagnostics").joinpath("pages")
    assert {entry.name for entry in folder.iterdir()} == {f"{code}.md" for code in CODES}


@each("code", CODES)
def test_a_page_is_short_and_begins_with_its_code_and_headline(code: str) -> None:
    page = page_of(code)
    assert page.startswith(f"# {code} {CODES[code]}\n\n")
    assert page.endswith("\n")
    assert len(page.splitlines()) < 45
    assert max(map(len, page.splitlines())) <= 120


@each("code", [code for code in CODES if code not in COMPILED])
def test_a_page_of_a_run_or_a_store_says_when_it_happens_and_how_to_mend_it(code: str) -> None:
    titles = re.findall(r"^## (.*)$", page_of(code), re.MULTILINE)
    assert titles[:2] == ["When it happens", "How to fix it"]


@each("code", COMPILED)
def test_the_example_of_a_page_has_that_mistake_and_no_other(code: str, tmp_path: Path) -> None:
    example = section(page_of(code), "Example")
    found = compile_files(tmp_path / code, example).diagnostics
    assert {item.code for item in found} == {code}, [(item.code, item.message) for item in found]


@each("code", COMPILED)
def test_the_mended_example_of_a_page_compiles_without_a_word(code: str, tmp_path: Path) -> None:
    page = page_of(code)
    example, mended = section(page, "Example"), section(page, "Fixed")
    # Where the mistake is one of the data, the spec stays as it is.
    kept = ("before.tripos", "releases/", *(["spec.tripos"] if "spec.tripos" not in mended else []))
    data = {name: text for name, text in example.items() if not name.endswith(".tripos") or name.startswith(kept)}
    found = compile_files(tmp_path / code, {**data, **mended}).diagnostics
    assert found == (), [(item.code, item.message) for item in found]


def test_every_code_that_the_source_raises_is_in_the_catalogue() -> None:
    assert raised() - set(CODES) == set()


def test_every_code_in_the_catalogue_is_raised_somewhere() -> None:
    assert set(CODES) - raised() == set()


def raised() -> set[str]:
    """Return the codes that stand in the source outside the catalogue itself."""
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path.name != "codes.py"]
    return {code for path in sources for code in RAISED.findall(path.read_text("utf-8"))}
