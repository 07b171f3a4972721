"""The documentation as a site, built by Zensical: `python docs/site/build.py [FOLDER]`.

The pages are those of the repository. What GitHub and the generator read in different ways is rewritten here: anchors
of headings, names of files on code blocks, and links to files that are no page. Each door of the documentation is a
folder whose index.md gives the order of its pages. Old names of pages (redirects.json) become stubs that lead to the
new ones. The site opens from disk and asks for nothing elsewhere.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tripos.cli.help import anchor_of
from tripos_compiler.diagnostics.codes import CODES, find_page

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SITE = ROOT / "tripos/handbook"
"""Where the wheel takes it from, and `tripos docs` finds it."""
MARK = "codes.json"
"""A file of every site: the page of each code."""
REDIRECTS = "redirects.json"
"""The new address of each old page, and of each old section that left its page. `tripos docs` follows it too."""
EMPTY_HEAD = re.compile(r"<th([^>]*)></th>")
"""An empty cell, which heads nothing."""
MENDED = (
    (re.compile(r"\b(\w)&&\w(\?\w\.setAttribute\(\"tabindex\",\"0\"\))"), r"\1\2"),
    (re.compile(r'"nav"(,\{class:"md-code__nav"\})'), r'"div"\1'),
)
"""What the script of the generator does not do for those who have no mouse: code that scrolls is reached by keyboard on
every machine, and the place of the button that copies is no navigation."""
SHIM = "https://unpkg.com/iframe-worker/shim"
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^ *```[ \t]*$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^(?P<marks>#+) +(?P<text>.+)$", re.MULTILINE)
LINK = re.compile(r"(?P<text>\[(?:`[^`\n]*`|[^\]`])*\])\((?P<target>[^)\s]+)\)")
SOURCES = {".tripos": "tripos", ".py": "python"}
"""Files of the repository that become pages when a page links to them."""
LEXERS = {"jsonl": "json", "bibtex": "text", "": "text"}
CODE_FAMILY = re.compile(r"^## (?P<prefix>[A-Z]\d*) (?P<name>.+)$", re.MULTILINE)


def main(arguments: list[str]) -> int:
    """Build the site into a folder. A site that is there is replaced, and nothing else."""
    target = Path(arguments[0]) if arguments else SITE
    if target.exists() and not (target / MARK).is_file():
        sys.stderr.write(f"{target} is there and is no site of the documentation: name another folder\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="tripos-docs-") as folder:
        work = Path(folder)
        order = write_pages(work / "docs")
        settings = yaml.safe_load((HERE / "mkdocs.yml").read_text("utf-8"))
        settings |= {"docs_dir": "docs", "site_dir": "site", "nav": order}
        (work / "mkdocs.yml").write_text(yaml.safe_dump(settings, allow_unicode=True, sort_keys=False), "utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", "mkdocs.yml"]
        environment = {**os.environ, "NO_COLOR": "1"}
        told = subprocess.run(command, cwd=work, capture_output=True, text=True, env=environment, check=False)
        if told.returncode or not (work / "site/index.html").is_file():
            sys.stderr.write(told.stdout + told.stderr)
            return 1
        finish(work / "site")
        write_texts(work / "docs", work / "site")
        (work / "site" / LLMS).write_text(llms_text(work / "docs", order), "utf-8")
        replace(target, work / "site")
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"written to {target}: {len(list(target.rglob('*.html')))} pages, {size / 1e6:.1f} MB")
    return 0


def write_texts(pages: Path, site: Path) -> None:
    """Write each page as Markdown beside its HTML, for `tripos docs --text`, without what only the generator reads."""
    for page in pages.rglob("*.md"):
        text = re.sub(r"^(#.*?) \{ #\S+ \}$", r"\1", page.read_text("utf-8"), flags=re.MULTILINE)
        text = re.sub(r'^( *```\w+) title="([^"]+)"$', r"\1 \2", text, flags=re.MULTILINE)
        (site / page.relative_to(pages)).write_text(text, "utf-8")


def llms_text(pages: Path, order: list[Any]) -> str:
    """Return the list of pages for language models, in the form of llmstxt.org: the page that holds the language first,
    then the pages of each door with their first sentence. Those of `OPTIONAL` doors are named last."""
    lines = [
        "# Tripos",
        "",
        "> A language for benchmarks of language models, with a compiler, a runtime and a warehouse of results.",
        "",
        f"To write a benchmark, read [{LANGUAGE[1]}]({LANGUAGE[0]}) alone: it holds the language, and its examples",
        "compile. `tripos check` then says what is wrong; `tripos explain CODE` explains a code.",
    ]
    chapters: dict[str, list[str]] = {}
    for group in order:
        [(title, entries)] = group.items()
        if title in DOORS:
            chapter = "Optional" if title in OPTIONAL else title
            chapters.setdefault(chapter, []).extend(
                name for name in _pages_in(entries) if (ROOT / "docs" / name).is_file()
            )
    for title in sorted(chapters, key=lambda title: title == "Optional"):
        lines += [
            "",
            f"## {title}",
            "",
            *(_llms_line(name, (pages / name).read_text("utf-8")) for name in chapters[title]),
        ]
    return "\n".join(lines) + "\n"


LLMS = "llms.txt"
LANGUAGE = ("language/one-page.md", "The language on one page")
OPTIONAL = ("Explanation", "Benchmarks", "Contributing")
"""Doors whose pages a model that writes a benchmark may leave out."""


def _pages_in(entries: Any) -> list[str]:
    """Return the pages of a group of the navigation, at any depth, in their order."""
    if isinstance(entries, str):
        return [entries]
    inner = entries.values() if isinstance(entries, dict) else entries
    return [name for each in inner for name in _pages_in(each)]


def _llms_line(name: str, text: str) -> str:
    """Return a page with its title and its first sentence."""
    body = re.sub(r"<!--.*?-->|^```.*?^```|^#.*?$|^\|.*?$", "", text, flags=re.MULTILINE | re.DOTALL)
    opening = next((part for part in body.strip().split("\n\n") if part.strip()), "")
    plain = " ".join(LINK.sub(lambda match: match["text"].strip("[]"), opening).split())
    sentence = re.match(r".*?[.:!?](?= |$)", plain)
    about = f": {sentence[0].rstrip(':.')}" if sentence else ""
    return f"- [{first_heading(text)}]({name}){about}"


def replace(target: Path, built: Path) -> None:
    """Put a built site into its place at once: a reader sees the old one or the new one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as beside:
        shutil.copytree(built, Path(beside, "new"))
        if target.exists():
            target.rename(Path(beside, "old"))
        Path(beside, "new").rename(target)


@dataclass
class Sources:
    """The pages of the site by their paths in it, and the files of the repository that became pages."""

    pages: dict[str, str] = field(default_factory=dict)
    of_files: dict[Path, str] = field(default_factory=dict)
    files: dict[Path, str] = field(default_factory=dict)
    """Pictures and the like, which are copied as they are."""

    def add(self, path: Path, name: str) -> None:
        """Add a file of the repository as a page, and all that it links to."""
        self.of_files[path] = name
        text = path.read_text("utf-8")
        if path.suffix != ".md":
            shown = path.relative_to(ROOT).as_posix()
            text = f"# {path.name}\n\n```{SOURCES[path.suffix]} {shown}\n{text.rstrip()}\n```\n"
        self.pages[name] = ""  # it may link to itself
        self.pages[name] = self.rewritten(text, path, name)

    def rewritten(self, text: str, path: Path, name: str) -> str:
        """Return the text of a page as the generator reads it."""
        seen: dict[str, int] = {}

        def headed(match: re.Match[str]) -> str:
            anchor = anchor_of(match["text"])
            seen[anchor] = seen.get(anchor, -1) + 1
            number = f"-{seen[anchor]}" if seen[anchor] else ""
            return f"{match['marks']} {match['text']} {{ #{anchor}{number} }}"

        def linked(match: re.Match[str]) -> str:
            target = self.address(match["target"], path, name)
            return match["text"].strip("[]") if target is None else f"{match['text']}({target})"

        parts: list[str] = []
        end = 0
        for match in FENCE.finditer(text):
            parts += [LINK.sub(linked, HEADING.sub(headed, text[end : match.start()])), fenced(match)]
            end = match.end()
        parts.append(LINK.sub(linked, HEADING.sub(headed, text[end:])))
        return "".join(parts)

    def address(self, target: str, path: Path, name: str) -> str | None:
        """Return where a link of a page leads to in the site; None where that is no part of it."""
        if re.match(r"[a-z]+:|#", target):
            return target
        file, _, anchor = target.partition("#")
        meant = (path.parent / file).resolve()
        if meant.is_dir() and (meant / "README.md").is_file():
            meant /= "README.md"
        if meant.is_dir():
            return None
        found = self.of_files.get(meant) or self.files.get(meant)
        if found is None:
            found = named(meant)
            if found.endswith(".md"):
                self.add(meant, found)
            else:
                self.files[meant] = found
        relative = posixpath.relpath(found, posixpath.dirname(name) or ".")
        return f"{relative}#{anchor}" if anchor else relative


def named(path: Path) -> str:
    """Return the path of a file in the site: pages of docs/ keep theirs, others have that in the repository. Code
    becomes a page."""
    inside = path.relative_to(ROOT)
    place = inside.relative_to("docs").as_posix() if inside.parts[0] == "docs" else inside.as_posix()
    place = place.replace("ARCHITECTURE.md", "architecture.md")
    if path.name == "README.md":
        place = place.removesuffix("README.md") + "index.md" if len(inside.parts) > 1 else "readme.md"
    return place + ".md" if path.suffix in SOURCES else place


def fenced(match: re.Match[str]) -> str:
    """Return a code block whose info string the generator reads: a language, and a file as its title."""
    language, *words = match["info"].split() or [""]
    file = next((word for word in words if "." in word), None)
    title = f' title="{file}"' if file else ""
    indent = match["indent"]
    # An indented block belongs to an item of a list, which takes four columns here.
    text = match["text"]
    if indent:
        text = "".join(f"    {line.removeprefix(indent)}" for line in text.splitlines(keepends=True))
        indent = "    "
    return f"{indent}```{LEXERS.get(language, language)}{title}\n{text}{indent}```"


def write_pages(folder: Path) -> list[Any]:
    """Write the pages of the site into a folder and return their order, in groups."""
    sources = Sources()
    docs = ROOT / "docs"
    sources.add(docs / "index.md", "index.md")
    for path in sorted(docs.rglob("*.md")):
        if path not in sources.of_files:
            sources.add(path, named(path))
    codes = families(sources, docs / "reference/errors.md")
    errors = sources.pages["reference/errors.md"]
    sources.pages["reference/errors.md"] = re.sub(r"^\| `([A-Z]\d{4})` \|", code_link, errors, flags=re.M)
    sources.pages |= codes
    for name, text in sources.pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for file, name in sources.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / name)
    shutil.copyfile(HERE / "site.css", folder / "site.css")
    return ordered(sources, list(codes))


def code_link(match: re.Match[str]) -> str:
    """Return the first cell of a row about a code, with a link to its page."""
    return f"| [`{match[1]}`](../codes/{family_of(match[1])}.md#{match[1].lower()}) |"


def family_of(code: str) -> str:
    """Return the name of the page that has a code."""
    return code[0] if code[0] == "W" else code[:3]


def families(sources: Sources, page: Path) -> dict[str, str]:
    """Return a page for every family of codes, with all its codes."""
    pages: dict[str, str] = {}
    for prefix, title in CODE_FAMILY.findall(page.read_text("utf-8")):
        name = f"codes/{prefix}.md"
        codes = [code for code in CODES if family_of(code) == prefix]
        lower = (HEADING.sub(lambda each: f"#{each[0]}", find_page(code) or "") for code in codes)
        text = sources.rewritten("\n".join((f"# {prefix} {title}\n", *lower)), page.parents[1] / "index.md", name)
        pages[name] = re.sub(r"^(## ([A-Z]\d{4}) .*) \{ #.*$", lambda each: anchored(*each.groups()), text, flags=re.M)
    return pages


def anchored(heading: str, code: str) -> str:
    """Return the heading of a code with the code as its anchor."""
    return f"{heading} {{ #{code.lower()} }}"


DOORS = {
    "Tutorials": "tutorials/index.md",
    "How-to guides": "how-to/index.md",
    "Reference": "reference/index.md",
    "Explanation": "explanation/index.md",
    "Benchmarks": "benchmarks/index.md",
    "Contributing": "contributing/index.md",
}
"""The groups of the site, each with the page that lists its pages in order."""


def ordered(sources: Sources, codes: list[str]) -> list[Any]:
    """Return the pages in the groups of the site. Raises `SystemExit` if no index lists a page of docs/."""
    placed = {"index.md", *DOORS.values()}

    def entries(page: str) -> list[Any]:
        """Return the pages that an index lists. A page that is the index of a folder becomes a group."""
        found: list[Any] = [page]
        for match in LINK.finditer(sources.pages[page]):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(page), match["target"].partition("#")[0]))
            if name not in sources.pages or name in placed or not _lists(page, name):
                continue
            placed.add(name)
            found.append({first_heading(sources.pages[name]): entries(name) if name.endswith("/index.md") else name})
        return found

    order: list[Any] = [{"Start": "index.md"}, *({title: entries(page)} for title, page in DOORS.items())]
    for group in order[1:]:
        if "Reference" in group:
            group["Reference"].append({"Codes": [{first_heading(sources.pages[name]): name} for name in codes]})
            placed.update(codes)
    rest = sorted(set(sources.pages) - placed)
    lost = [name for name in rest if (ROOT / "docs" / name).is_file()]
    if lost:
        raise SystemExit(f"no index lists {', '.join(lost)}")
    order[-1]["Contributing"].append({"Sources": [{name.removesuffix(".md"): name} for name in rest]})
    return order


def _lists(page: str, name: str) -> bool:
    """Return true if a link of an index places the page: doors place pages of all folders that are no door's, an inner
    index those of its own folder."""
    folder = posixpath.dirname(name)
    if page in DOORS.values():
        return folder == posixpath.dirname(page) or f"{folder}/index.md" not in DOORS.values()
    return folder == posixpath.dirname(page)


def first_heading(text: str) -> str:
    """Return the title of a page."""
    return text.partition("# ")[2].partition(" {")[0].replace("`", "")


def finish(site: Path) -> None:
    """Take from the built site what is fetched from elsewhere, and what nothing reads, and mend what a reader without a
    mouse or without sight could not use."""
    place = "assets/javascripts/iframe-worker.js"
    shutil.copyfile(HERE / "iframe-worker.js", site / place)
    shutil.copyfile(HERE / "iframe-worker.LICENSE", site / "assets/javascripts/iframe-worker.LICENSE")
    for page in site.rglob("*.html"):
        depth = len(page.relative_to(site).parts) - 1
        text = page.read_text("utf-8").replace(SHIM, "../" * depth + place)
        page.write_text(EMPTY_HEAD.sub(r"<td\1></td>", text), "utf-8")
    [script] = (site / "assets/javascripts").glob("bundle.*.js")
    text = script.read_text("utf-8")
    for pattern, instead in MENDED:
        text, count = pattern.subn(instead, text)
        if count != 1:
            raise SystemExit(f"{script.name} has {count} places of {pattern.pattern}: look at it anew")
    script.write_text(text, "utf-8")
    for name in ("sitemap.xml", "search.json", "objects.inv", "404.html"):
        (site / name).unlink(missing_ok=True)
    (site / MARK).write_text(json.dumps({code: family_of(code) for code in CODES}), "utf-8")
    write_stubs(site)


STUB = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<meta http-equiv="refresh" content="0; url={target}">
<script>location.replace({anchors}[location.hash] ?? "{target}" + location.hash)</script>
<p>This page is at <a href="{target}">{title}</a> now.</p>
</html>
"""
"""A page at an old address, which leads to the new one; to the new section, if the address names an old one."""


def write_stubs(site: Path) -> None:
    """Write a stub for each old page, and the list of redirects with the addresses of the site."""
    redirects = json.loads((HERE / REDIRECTS).read_text("utf-8"))
    addresses = {old: new.replace(".md", ".html", 1) for old, new in redirects.items()}
    for old, new in addresses.items():
        if "#" in old:
            continue
        stub = site / f"{old}.html"
        stub.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * old.count("/")
        moved = {f"#{each.partition('#')[2]}": up + to for each, to in addresses.items() if each.startswith(f"{old}#")}
        title = re.search(r"<title>(.*?)</title>", (site / new.partition("#")[0]).read_text("utf-8"), re.DOTALL)
        shown = title[1] if title else new
        stub.write_text(STUB.format(title=shown, target=up + new, anchors=json.dumps(moved)), "utf-8")
    (site / REDIRECTS).write_text(json.dumps(addresses), "utf-8")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
