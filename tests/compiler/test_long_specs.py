"""A check takes a time that grows with the spec: a further declaration costs the same however many there are."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.compiler.compiling import compile_file, compile_files
from tests.compiler.counting import steps
from tests.each import each
from tests.grown_specs import KINDS, grown
from tests.lengths import sized

COUNT = 4
ALIKE = 1.2
"""So much more may a further declaration cost where there are four times as many: dictionaries and lists that grow,
and the few steps in which two data sets are told apart."""


CASES = [(kind, shape, seed) for kind in KINDS for shape in range(len(KINDS[kind])) for seed in range(sized(1, 3))]


@each("kind, shape, seed", CASES)
def test_a_further_declaration_costs_the_same(kind: str, shape: int, seed: int, tmp_path: Path) -> None:
    taken = []
    for count in (COUNT, COUNT, 2 * COUNT, 4 * COUNT):
        folder = tmp_path / f"{kind}_{shape}_{seed}_{count}"
        folder.mkdir(exist_ok=True)
        compilation = compile_files(folder, grown(kind, shape, count, seed))
        assert compilation.plan is not None, [item.message for item in compilation.diagnostics]
        taken.append(steps(partial(compile_file, folder / "spec.tripos")))
    few, more = taken[2] - taken[1], (taken[3] - taken[2]) / 2
    assert more < ALIKE * few, taken
