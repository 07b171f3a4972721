"""`tripos docs`: the documentation in the browser, from the copy that comes with Tripos."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import webbrowser
from argparse import Namespace
from pathlib import Path

from tripos.ui import GOOD, Failure, show_message, show_text
from tripos_compiler.diagnostics import CODES, nearest

HANDBOOK = Path(__file__).parents[2] / "handbook"
"""The built pages: in the package, and in a checkout where `make docs` writes them."""
BUILDER = Path(__file__).parents[3] / "docs/site/build.py"
"""The program that builds them, in a checkout alone."""
SOURCES = ("docs", "specs", "compiler/tripos_compiler/diagnostics/pages")
"""The folders of a checkout that they are built from."""


def main(options: Namespace) -> int:
    """Print the address of a page and open it. Raises `Failure` R0202 where there is no such page."""
    _build_in_checkout()
    if not (HANDBOOK / "index.html").is_file():
        hint = "run `make docs` in a clone of the repository, or read its docs/index.md"
        raise Failure("R0215", "this installation came without the documentation", hint)
    address = find_address(HANDBOOK, options.page)
    show_text(address)
    if not options.print:
        webbrowser.open(address)
    return GOOD


def find_address(handbook: Path, page: str | None) -> str:
    """Return the address of a page by its name, of a statement or function, or of a code; of the first page without a
    name. Raises `Failure` R0202."""
    name = (page or "index").strip()
    code = name.upper()
    if code in CODES:
        family = json.loads((handbook / "codes.json").read_text("utf-8"))[code]
        return f"{(handbook / 'codes' / f'{family}.html').as_uri()}#{code.lower()}"
    name = name.removeprefix("docs/").removesuffix(".md").lower().replace(" ", "-")
    pages = {path.relative_to(handbook).with_suffix("").as_posix(): path for path in handbook.rglob("*.html")}
    by_stem = {path.stem: path for key, path in sorted(pages.items(), reverse=True) if path.stem != "index"}
    found = pages.get(name) or pages.get(f"{name}/index") or by_stem.get(name) or pages.get(f"benchmarks/{name}")
    if found is not None:
        return found.as_uri()
    for each in ("language/functions", "language/aggregates"):
        if each in pages and re.search(f'<h3 id="{re.escape(name)}"', pages[each].read_text("utf-8")):
            return f"{pages[each].as_uri()}#{name}"
    close = nearest(name, sorted(by_stem)) or nearest(code, CODES)
    hint = f"did you mean `{close}`?" if close else "`tripos docs` opens the first page, which has a search"
    raise Failure("R0202", f"the documentation has no page `{page}`", hint)


def _build_in_checkout() -> None:
    """Build the pages of a checkout where they are missing or older than their sources."""
    if not BUILDER.is_file():
        return
    built = HANDBOOK / "index.html"
    sources = (path for name in SOURCES for path in (BUILDER.parents[2] / name).rglob("*") if path.is_file())
    if built.is_file() and built.stat().st_mtime >= max(path.stat().st_mtime for path in sources):
        return
    show_message("building the documentation, which takes some seconds", stderr=True, flush=True)
    done = subprocess.run([sys.executable, str(BUILDER), str(HANDBOOK)], capture_output=True, text=True, check=False)
    if done.returncode and not built.is_file():
        said = done.stderr.strip().splitlines()[-1:] or ["the generator said nothing"]
        raise Failure("R0215", f"the documentation cannot be built: {said[0]}", "run `make docs` to see why")
