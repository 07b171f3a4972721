"""The specs by which the proof of secrecy is judged: `tests/cases/secret/leaks/CLASS/*.tripos`, each with one way by
which a secret reaches the compared role, and `tests/cases/secret/honest/*.tripos`, in the manner of real protocols.

A leak is refused at a line that ends in `# error: [E0501]`, where the compared role is told, or in `# error: [E0502]`,
where a `reveal(…, rows: N)` is no door for it. Where two places tell the same, as in two scenarios that part the rows
between them, both are marked, and one of them is enough.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from compiling import ROOT, compile_file, plan_of, read
from stand_in_releases import StandInReleases
from test_cases import Place, expected

from tests.each import each
from tests.lengths import spread
from tripos_compiler.compile import Compilation, compile_spec
from tripos_runtime.datasets.data_files import DataFolders

CASES = ROOT / "tests" / "cases" / "secret"
LEAKS = sorted(CASES.glob("leaks/*/*.tripos"))
HONEST = sorted(CASES.glob("honest/*.tripos"))


def case_name(path: Path) -> str:
    return path.relative_to(CASES).with_suffix("").as_posix()


def reported(compilation: Compilation) -> set[Place]:
    spans = [(item, item.labels[0].span) for item in compilation.diagnostics]
    return {
        (Path(span.source.path).name, span.source.position(span.start)[0], item.severity, item.code)
        for item, span in spans
    }


def leaks_of(places: set[Place]) -> set[Place]:
    return {place for place in places if place[2:] in (("error", "E0501"), ("error", "E0502"))}


@each("path", spread(LEAKS, 80))
def test_a_leak_is_refused_where_the_compared_role_is_told(path: Path) -> None:
    compilation = compile_file(path)
    said = "\n".join(f"{item.code} {item.message}" for item in compilation.diagnostics)
    found, marked = reported(compilation), expected(compilation.sources)
    assert leaks_of(found), said or "accepted"
    assert leaks_of(found) <= leaks_of(marked), said
    assert found - leaks_of(found) == marked - leaks_of(marked), said
    assert compilation.plan is None


def test_the_rarity_of_words_tells_which_rows_there_are_though_a_condition_leaves_them_out() -> None:
    path = CASES / "leaks/retrieval/rarity_of_words_in_rows_that_say_the_same.tripos"
    assert {code for _, _, _, code in leaks_of(reported(compile_file(path)))} == {"E0501"}


@each("path", spread(LEAKS, 60))
def test_a_leak_is_none_where_nothing_is_secret(path: Path) -> None:
    """The same spec without the word compiles, so that it is secrecy alone that stops it."""

    def without_secrets(name: str) -> str:
        return read(name).replace(" secret", "")

    plan_of(compile_spec(path.as_posix(), without_secrets, DataFolders(), releases=StandInReleases()))


@each("path", spread(HONEST, 60))
def test_an_honest_spec_is_accepted_and_nothing_is_said_but_its_warnings(path: Path) -> None:
    compilation = compile_file(path)
    said = "\n".join(f"{item.code} {item.message}" for item in compilation.diagnostics)
    assert reported(compilation) == expected(compilation.sources), said
    assert compilation.plan is not None


def test_there_are_enough_of_both_and_many_of_every_class() -> None:
    classes = Counter(path.parent.name for path in LEAKS)
    assert classes.total() >= 480
    assert len(classes) >= 26
    assert min(classes.values()) >= 7
    assert len(HONEST) >= 170


def test_every_leak_says_where_it_is_told() -> None:
    assert [case_name(path) for path in LEAKS if "# error: [E050" not in path.read_text("utf-8")] == []
    assert [case_name(path) for path in HONEST if "# error:" in path.read_text("utf-8")] == []
