"""The language of a reader: whatever a person reads of a benchmark has titles of one language alone.

A drawn benchmark has a word of its own for every title in every language. Every output is made in each language, and no
word of another language may stand in it.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from openpyxl import load_workbook
from pypdf import PdfReader

import tripos as tripos_api
from tests.conftest import Command
from tests.lengths import spread
from tests.view.chromium import PROGRAM, Browser, shared_program
from tripos.releases.descriptions import card_of
from tripos.releases.manifest import ReleaseToml

MODELS = ("--model", "mock/careful", "--model", "mock/careless", "--role", "judge=mock/fair,mock/severe")
PAIRS = (("de", "en"), ("en", "de"), ("zh", "en"), ("fr", "zh"))


class Titles:
    """Titles whose words are a language and a number, in a drawn order of languages."""

    def __init__(self, languages: tuple[str, str], draw: random.Random) -> None:
        self._languages, self._draw, self._count = languages, draw, 0

    def __str__(self) -> str:
        """Return the next title, in each language."""
        self._count += 1
        languages = self._draw.sample(self._languages, 2)
        return " ".join(f'{language} "{language}title{self._count}"' for language in languages)


def benchmark(languages: tuple[str, str], draw: random.Random) -> str:
    """Return a spec with a title wherever one can be."""
    title = Titles(languages, draw)
    axes = [f"a{place}" for place in range(draw.randint(1, 2))]
    metrics = [f"m{place}" for place in range(draw.randint(3, 4))]  # a radar needs three
    group = draw.random() < 0.7
    by = [*axes, "tone", "language", "scenario", "metric", "dimension"]
    keys = [draw.sample(by, draw.randint(1, 3)) for _ in range(3)] + [["metric"], *([["a0.group"]] if group else [])]
    axis_texts = [
        f"axis {axis} {title} {{\n"
        + (f"  group g {title} {{ {axis}x {title} }}\n" if group else f"  {axis}x {title}\n")
        + f"  {axis}y {title}\n}}\n"
        for axis in axes
    ]
    metric_texts = [
        f"  metric {metric} {title} {{\n    scale 1..5\n    asks {title}\n    level 1..2 {title}\n    level 3..5 {title}\n  }}\n"
        for metric in metrics
    ]
    prompts = [f'  prompt {language} "{{{{ task }}}} {{{{ reply }}}} {{{{ metrics }}}}"\n' for language in languages]
    measures = [f"measure by{place} {title} = mean(rubric) by {', '.join(by)}\n" for place, by in enumerate(keys)]
    return f"""
benchmark drawn "1.0.0" {{
  title      {title}
  languages  {", ".join(languages)}
  license    "MIT"
  headline   whole, short
}}
role candidate compared
role judge panel with people
{"".join(axis_texts)}
arm tone {title} {{ plain {title}, warm {title} }}
dimension style {title} {{
{"".join(metric_texts)}}}
dataset item from "items.jsonl" {{ language, {", ".join(axes)}, id text, topic text }}
scorer rubric(task: text, reply: text) by judge {{
  title task {title}
  title reply {title}
{"".join(prompts)}  gives allocated metrics
}}
allocate rubric {{
  | scenario | {" | ".join(metrics)} |
  | explain  | {" | ".join("x" for _ in metrics)} |
}}
scenario explain {title} {{
  context language * {" * ".join(axes)}
  over item
  arms tone
  ask answer by candidate {{
    system "Be warm." when tone == warm
    prompt "Explain {{{{ item.topic }}}} ({", ".join(f"{{{{ {axis} }}}}" for axis in axes)})."
  }}
  score rubric(item.topic, answer.text)
  score short = words(answer.text) < 30
  expect mean(short) > 0.99
}}
measure whole {title} = mean(rubric)
measure short {title} = mean(short)
{"".join(measures)}
table results {title} {{
  rows {axes[0]}, model
  column whole {title} by {axes[0]}
  column mean(rubric) under "figures" by {axes[0]}, metric
  note {title}
}}
table transposed {title} {{
  columns tone, model
  row mean(rubric) {title} by tone
}}
"""


def write(folder: Path, languages: tuple[str, str], seed: int) -> None:
    """Write a drawn benchmark and its items."""
    draw = random.Random(f"{languages} {seed}")
    text = benchmark(languages, draw)
    (folder / "drawn.tripos").write_text(text, "utf-8")
    axes = re.findall(r"axis (\w+)", text)
    rows = [
        {"language": language, "id": f"{language}-{number}", "topic": f"topic {language} {number}"}
        | {axis: f"{axis}{draw.choice('xy')}" for axis in axes}
        for language in languages
        for number in range(4)
    ]
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def outputs(tripos: Command, language: str, chosen: bool) -> Iterator[tuple[str, str]]:
    """Yield outputs for a reader with their names; with `chosen` by the option, else by the environment."""
    option = ("--language", language) if chosen else ()

    def said(*arguments: str) -> tuple[str, str]:
        ran = tripos(*arguments, *option)
        assert ran.code in (0, 1, 100), (arguments, ran.err)
        return " ".join(arguments), ran.out

    yield said("report", "--items")
    yield said("report", "--tables")
    yield said("compare")
    if chosen:
        yield said("leaderboard")
        yield said("history", "by0")
        yield said("judges")
        yield said("report", "--format", "md")
        yield said("report", "--tables", "--format", "latex")
        yield said("report", "--tables", "--format", "csv")
        yield said("compare", "--format", "html")
        yield said("leaderboard", "--format", "md")
        sheet = f"{language}.xlsx"
        said("annotate", "--name", language, "-o", sheet)
        book = load_workbook(sheet)
        yield sheet, " ".join(str(cell) for each in book for row in each.iter_rows(values_only=True) for cell in row)
        yield said("report", "--html", f"{language}.html")
        assert f'data-lang="{language}"' in Path(f"{language}.html").read_text("utf-8")
        if language != "zh":  # the machine may have no font for it
            said("report", "--pdf", "report.pdf")
            yield "report --pdf", "".join(page.extract_text() for page in PdfReader("report.pdf").pages)
    for kind in ("heatmap", "radar", "leaderboard")[: 3 if chosen else 1]:
        drawn = tripos("plot", kind, "--out", f"{kind}.vl.json", *option)
        assert drawn.code == 0, drawn.err
        yield kind, drawn.out + Path(f"{kind}.vl.json").read_text("utf-8")


PARTS = ("", "/samples", "/sample/0", "/judges", "/items", "/tables", "/grid", "/spec")
"""The parts of the page of a run."""


WITHOUT_PROMPTS = (
    "document.querySelectorAll('.message, pre.code').forEach((each) => each.remove()), document.body.innerHTML"
)
"""The page without the messages to models, which are in the language of the item, and the lines of the spec, which are
as they were written."""


async def page_texts(address: str, run: str) -> dict[str, str]:
    """Return what the page shows of a run, by part, and of boards, histories and a comparison."""
    shown = {}
    async with Browser(shared_program()) as browser, browser.page() as page:
        for part in (*(f"run/{run}{part}" for part in PARTS), "", "boards", "history", "compare"):
            await page.open(f"{address}#/{part}")
            shown[part] = await page.evaluate(WITHOUT_PROMPTS)
    return shown


def foreign(text: str, language: str, languages: tuple[str, str]) -> list[str]:
    """Return the titles of other languages in a text."""
    return [f"{other}title" for other in languages if other != language and f"{other}title" in text]


@pytest.mark.parametrize(("languages", "seed"), spread([(pair, seed) for seed in range(3) for pair in PAIRS], 1))
def test_no_output_has_titles_of_two_languages(
    languages: tuple[str, str],
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tripos: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write(tmp_path, languages, seed)
    ran = tripos("run", "drawn.tripos", *MODELS, "--json")
    assert ran.code in (0, 1), ran.err
    run = ran.data["run_id"]
    mixed, with_titles = [], set()
    for language in languages:
        monkeypatch.delenv("TRIPOS_LANG", raising=False)
        for name, text in outputs(tripos, language, chosen=True):
            mixed += [f"{name} in {language}: {found}" for found in foreign(text, language, languages)]
            with_titles |= {name} if f"{language}title" in text else set()
        if language in ("en", "zh"):
            monkeypatch.setenv("TRIPOS_LANG", language)
            for name, text in outputs(tripos, language, chosen=False):
                mixed += [f"{name} by TRIPOS_LANG={language}: {found}" for found in foreign(text, language, languages)]
        folder = f"view-{language}"
        assert tripos("view", "--to", folder, "--language", language).code == 0
        if PROGRAM is not None:
            for part, text in asyncio.run(page_texts((tmp_path / folder / "index.html").as_uri(), run)).items():
                mixed += [f"page {part} in {language}: {each}" for each in foreign(text, language, languages)]
                with_titles |= {f"page {part}"} if f"{language}title" in text else set()
    plan = tripos_api.compile("drawn.tripos").compiled_plan
    card = card_of(plan, "MIT", [], [], ReleaseToml())
    assert len({language for language in languages if f"{language}title" in card}) == 1
    assert mixed == []
    assert {"report --items", "report --tables", "compare", "leaderboard --format md"} <= with_titles
    assert PROGRAM is None or {"page boards", "page history", f"page run/{run}/spec"} <= with_titles


def test_a_language_that_nobody_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, ("de", "en"), 0)
    assert tripos("run", "drawn.tripos", *MODELS).code in (0, 1)
    for command in (("report",), ("compare",), ("leaderboard",), ("view", "--to", "x"), ("annotate", "--name", "a")):
        ran = tripos(*command, "--language", "fr")
        assert ran.code == 2
        assert "nothing here is in the language `fr`" in ran.err
    assert "did you mean `de`?" in tripos("report", "--language", "dee").err
    assert "detitle" in tripos("report", "--language", "de-AT").out
