"""What a benchmark comes to by changes is what a compilation that knows nothing of them comes to."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.lengths import sized
from tripos.lsp.documents import Documents
from tripos.lsp.session import DocumentPlace, OpenBenchmark, outline_of, place_of
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.diagnostics.diagnostic import Diagnostic
from tripos_compiler.source.text import Span
from tripos_runtime.datasets.data_files import DataFolders

EDUBENCH = Path(__file__).parents[2] / "specs" / "edubench"
MAIN = (EDUBENCH / "edubench.tripos").as_posix()
PLACES = [*sorted(EDUBENCH.glob("*.tripos")), *sorted((EDUBENCH.parent / "common").glob("*.tripos"))]
TEXTS = {path.as_posix(): path.read_text("utf-8") for path in PLACES}
FILES = [path for path in TEXTS if not path.endswith("published.tripos")]
SCRAPS = [
    *'{}()[]"|,=<>.# \n',
    "}}",
    "{{",
    '"""',
    "x",
    "学",
    "item.",
    "scenario ",
    "when ",
    "language",
    "answer",
    "12",
    "x" * 40,
]


@pytest.fixture(scope="module")
def edubench() -> OpenBenchmark:
    """EduBench with every file open."""
    here = OpenBenchmark(Documents(), MAIN, pytest.fail)
    opened(here, TEXTS)
    return here


def opened(benchmark: OpenBenchmark, texts: dict[str, str]) -> Compilation:
    """Return what the benchmark comes to with these texts."""
    for path in FILES:
        benchmark.documents.put(Path(path).as_uri(), texts[path], 1)
    return benchmark.compilation()


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str]:
    """Return a file of EduBench, and a text of it with a stretch taken out, put in or both; often something small."""
    path = draw(st.sampled_from(FILES))
    text = TEXTS[path]
    start = draw(st.integers(0, len(text)))
    length = draw(st.sampled_from([0, 0, 1, 1, 5, 60, 600]))
    new = draw(st.sampled_from(["", "", *SCRAPS]))
    return path, text[:start] + new + text[start + length :]


def fresh(texts: dict[str, str]) -> Compilation:
    def read(path: str) -> str:
        return texts[path] if path in texts else Path(path).read_text("utf-8")

    return compile_spec(MAIN, read, DataFolders())


def shown(diagnostic: Diagnostic) -> tuple[object, ...]:
    places = [(place_of(label.span), label.text) for label in diagnostic.labels]
    mends = [(place_of(edit.span), edit.text) for edit in diagnostic.edits]
    return diagnostic.code, diagnostic.message, diagnostic.help, diagnostic.notes, diagnostic.severity, places, mends


def uses(compilation: Compilation) -> set[tuple[DocumentPlace, DocumentPlace]]:
    return {(place_of(use.span), place_of(use.symbol)) for use in compilation.index.uses.values()}


def symbols(compilation: Compilation) -> set[tuple[DocumentPlace, str, str, str]]:
    found = compilation.index.symbols.values()
    return {(place_of(each.span), each.kind, each.owner, each.detail) for each in found}


def scopes(compilation: Compilation) -> set[tuple[DocumentPlace, tuple[str, ...]]]:
    return {(place_of(span), tuple(sorted(scope))) for span, scope in compilation.index.scopes}


def check(benchmark: OpenBenchmark, texts: dict[str, str]) -> None:
    """Assert that the benchmark comes to what a fresh compilation does."""
    kept, anew = opened(benchmark, texts), fresh(texts)
    assert [shown(each) for each in kept.diagnostics] == [shown(each) for each in anew.diagnostics]
    assert (kept.plan.digest if kept.plan else None) == (anew.plan.digest if anew.plan else None)
    assert symbols(kept) == symbols(anew)
    assert uses(kept) == uses(anew)
    assert scopes(kept) == scopes(anew)


@settings(max_examples=sized(4, 40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(edits(), min_size=1, max_size=3))
def test_edits_come_to_what_a_fresh_compilation_comes_to(
    edubench: OpenBenchmark, changes: list[tuple[str, str]]
) -> None:
    check(edubench, TEXTS | dict(changes))


def typing(text: str, chance: random.Random) -> Iterator[str]:
    """Yield a text while somebody types in it, character by character, and takes it back."""
    start = chance.randrange(len(text))
    for typed in ["x", "xy", "xy ", 'xy "', 'xy "a', 'xy "a"', 'xy "a" {', 'xy "a" {}', "xy", ""]:
        yield text[:start] + typed + text[start:]


@pytest.mark.parametrize("seed", range(sized(1, 4)))
def test_typing_comes_to_what_a_fresh_compilation_comes_to(edubench: OpenBenchmark, seed: int) -> None:
    chance = random.Random(seed)
    path = chance.choice(FILES)
    for text in typing(TEXTS[path], chance):
        check(edubench, TEXTS | {path: text})


def test_what_did_not_change_is_not_lowered_again(edubench: OpenBenchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    check(edubench, TEXTS)
    path = next(path for path in FILES if path.endswith("scenarios.tripos"))
    lowered: list[str] = []
    from tripos_compiler.lowering import scenarios

    original = scenarios._scenario
    monkeypatch.setattr(scenarios, "_scenario", lambda *given: lowered.append(given[1].name().text) or original(*given))
    opened(edubench, TEXTS | {path: TEXTS[path].replace("You are a patient tutor", "You are a very patient tutor")})
    assert lowered == ["error_correction"]


def test_spans_of_what_is_kept_move_with_the_text(edubench: OpenBenchmark) -> None:
    check(edubench, TEXTS)
    path = next(path for path in FILES if path.endswith("scenarios.tripos"))
    text = "# a line\n" + TEXTS[path]
    kept = opened(edubench, TEXTS | {path: text})
    spans: list[Span] = [span for span in kept.index.symbols if span.source.path == path]
    assert spans
    assert {kept.index.symbols[span].name for span in spans} == {text[span.start : span.end] for span in spans}


def test_an_outline_reads_what_is_whole_around_what_is_broken() -> None:
    text = TEXTS[MAIN].replace('use "axes.tripos"', "use axes.tripos {")
    names = [each.construct for each in outline_of(MAIN, text).statements]
    assert names[0] == "benchmark" and names.count("subset") == 1
