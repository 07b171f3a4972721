"""Tables as Markdown, LaTeX and HTML: texts of strangers stay texts, and what is bold differs beyond error."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.markup import PREAMBLE, latex_text, to_html, to_latex, to_markdown
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.render import RENDERERS, RenderOptions

HOSTILE = r"""\input{/etc/passwd} $x$ & 50% #1 _a_ {b} ~ ^ <i> | " ` '' -- --- ,, *s* [o] \\ ?` !` “é” — … − ×"""
SPELT = {
    r"\textbackslash{}": "\\",
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\symbol{34}": '"',
    r"\textasciigrave{}": "`",
    r"\textquotesingle{}": "'",
    r"\(-\)": "−",
    r"\(\times\)": "×",
    r"\(\pm\)": "±",
    r"\(\leq\)": "≤",
    r"\(\geq\)": "≥",
    r"\(\rightarrow\)": "→",
    r"\ldots{}": "…",
    r"\textemdash{}": "—",
    r"\textendash{}": "–",
    r"\textperiodcentered{}": "·",
    **{f"\\{char}": char for char in "{}$&#%_"},
    **{f"{{{char}}}": char for char in "[]*"},
    "-{}": "-",
    ",{}": ",",
    "~": "\u00a0",
}
TOKEN = re.compile("|".join(map(re.escape, sorted(SPELT, key=len, reverse=True))) + r"|[^\\{}$&#%_^~]", re.DOTALL)
TEXTS = st.text(st.one_of(st.sampled_from("\\{}$&#%_^~<>|\"`'-,*[]?!\n\t\x00\x1b\u202e"), st.characters()), max_size=40)


def read_latex(latex: str) -> str:
    """Return what an escaped text prints. Fails for a character that LaTeX would obey."""
    found, at = [], 0
    while at < len(latex):
        token = TOKEN.match(latex, at)
        assert token is not None, f"LaTeX would obey {latex[at:]!r}"
        found.append(SPELT.get(token[0], token[0]))
        at = token.end()
    return "".join(found)


@given(TEXTS)
@example(HOSTILE)
def test_a_text_in_latex_prints_itself_and_is_obeyed_nowhere(text: str) -> None:
    plain = "".join(each if each.isprintable() or each == "\u00a0" else " " for each in text)
    assert read_latex(latex_text(text)) == plain


class Shown(HTMLParser):
    """The tags of a page, and the text of every cell."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")
        self.inside = tag in ("td", "th")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.cells[-1] += data


@given(TEXTS)
@example(HOSTILE + "<script>alert(1)</script>")
def test_a_text_in_html_is_no_tag(text: str) -> None:
    shown = Shown()
    shown.feed(to_html([Table((Column("model", (text, "last")),), "t", text, (text,))]))
    assert shown.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "small"}
    assert shown.cells[:2] == ["model", "".join(each if each.isprintable() else " " for each in text)]


@given(TEXTS)
@example("a|b \\| c")
def test_a_text_in_markdown_stays_in_its_cell(text: str) -> None:
    written = to_markdown([Table((Column("model", (text,)), Column("n", (1,), "count")))])
    row = written.split("\n")[2]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3
    assert not re.search(r"(?<!\\)(?:\\\\)*[<`*]", row)


def paper_table() -> Table:
    cells = (Estimate(0.875, low=0.473, high=0.997), Estimate(-0.25, low=-0.5, high=0.1), Estimate(None, "no items"))
    values = Column("value", cells, "number", emphasis={0: 1})
    other = Column("p", (0.01, None, float("nan")), "number")
    return Table((Column("model", ("a", HOSTILE, "数学")), values, other), "t: a_b", "50% of _all_", ("n = 8",))


def test_latex_has_booktabs_and_columns_of_siunitx() -> None:
    written = to_latex([paper_table()], "ci")
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert written.count(rule) == 1
    assert r"\begin{tabular}{l S[table-format=-1.3]@{\ }l S[table-format=1.3]}" in written
    assert r"a & \bfseries 0.875 & {[}0.473, 0.997{]} & 0.010 \\" in written
    assert r"\label{tab:t-a-b}" in written and r"\caption{50\% of \_all\_}" in written
    assert "n = 8." in written and r"\usepackage{ctex}" in written
    assert r"\bfseries 0.875 \pm 0.402" in to_latex([paper_table()], "pm")
    assert r"\pm 0.402" not in to_latex([paper_table()], "none")


def test_every_row_of_latex_has_as_many_cells_as_the_table_has_columns() -> None:
    for interval, columns in (("ci", 4), ("pm", 3), ("none", 3)):
        written = to_latex([paper_table()], interval)  # type: ignore[arg-type]
        rows = written.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
        assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [columns - 1] * 3


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
@pytest.mark.parametrize("interval", ["ci", "pm", "none"])
def test_latex_compiles(interval: str, tmp_path: Path) -> None:
    table = paper_table()
    first = Column("model", ("a", HOSTILE, "[b]"))
    options = RenderOptions(interval)  # type: ignore[arg-type]
    written = RENDERERS["latex"]([replace(table, columns=(first, *table.columns[1:]))], options)
    document = f"\\documentclass{{article}}\n{PREAMBLE}\n\\begin{{document}}\n{written}\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(document, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


def test_a_table_without_columns_says_why() -> None:
    nothing = Table((), "t", "by metric", ("no scores",))
    written = {name: render([nothing], RenderOptions()).count("no scores") for name, render in RENDERERS.items()}
    assert written == {**dict.fromkeys(RENDERERS, 1), "csv": 0}
    assert "tabular" not in to_latex([nothing])


@pytest.mark.parametrize(
    ("column", "table"),
    [
        ({"group": "数学"}, {}),
        ({}, {"separators": {1: ("以下没有误差",)}}),
        ({}, {"caption": "数学"}),
        ({}, {}),
    ],
)
def test_latex_says_what_chinese_texts_need_wherever_they_are(column: dict[str, str], table: dict[str, object]) -> None:
    numbers = replace(Column("n", (1,), "count"), **column)  # type: ignore[arg-type]
    text = to_latex([replace(Table((numbers,), "t"), **table)])  # type: ignore[arg-type]
    assert (r"\usepackage{ctex}" in text) == bool(column or table)
