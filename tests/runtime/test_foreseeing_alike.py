"""Samples of which nothing is kept are foreseen by the first of them, and it comes to the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from tests.generated_specs import generate
from tests.lengths import sized
from tests.plan_exactness import Benchmark
from tests.runtime.foretelling import EVERYTHING, Bench
from tests.runtime.in_memory import MemoryLedger
from tripos.runs.compilation import find_spec
from tripos_runtime.forecast.run_forecast import Forecast

ARMS = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role helper
role judge panel
dataset item from "items.jsonl" { question text, answer text secret }
dimension quality "Quality" { metric CLEAR "Clarity" { scale 1..10, asks "Is it clear?" } }
scorer grader(response: text) by judge {
  prompt "{{ metrics }} Grade: {{ response }}"
  gives allocated metrics
}
allocate grader {
  |      | CLEAR |
  | sums |   x   |
}
arm taught { no, once, twice }
scenario sums {
  over item
  arms taught
  ask hint by helper { prompt "Hint for {{ item.question }}", samples 2 }
  converse talk when taught in (once, twice) {
    candidate { system "Teach sums, and say LESSON OVER at last. {{ hint.text }}" }
    helper { system "You want to learn." }
    opens  candidate
    until  candidate says "lesson over"
    limit  5 turns
    repeat 3
  }
  ask plain by candidate when taught == no { prompt "{{ item.question }}", samples 40 }
  ask exam by helper when taught in (once, twice) {
    continue talk
    prompt "{{ item.question }} {{ taught }}"
    samples 90
  }
  score right = contains(exam.text, item.answer) when taught in (once, twice)
  score right = contains(plain.text, item.answer) when taught == no
  score grader(response: exam.text) when taught in (once, twice)
}
"""


class Counting(MemoryLedger):
    """Counts the names that it is asked about. It says that something is kept of the fingerprints `said`."""

    def __init__(self, said: Collection[str] = ()) -> None:
        super().__init__()
        self.asked = 0
        self.said = said

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        self.asked += len(ids)
        return super().statuses(table, ids)

    def fingerprints(self) -> set[str]:
        return {*self.said}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.write(ARMS)
    return made


def foretold(bench: Bench) -> tuple[tuple[Forecast, Counting], tuple[Forecast, Counting]]:
    """Return what is foreseen where nothing is kept, by first samples and sample by sample."""
    plan = find_spec(str(bench.folder / "t.tripos")).compile().plan
    assert plan is not None
    found = []
    for ledger in (Counting(), Counting(plan.fingerprints)):
        bench.ledger = ledger
        found.append((bench.foretell(models=("a", "b")), ledger))
    return found[0], found[1]


def test_the_first_sample_stands_for_all_and_comes_to_what_they_come_to(bench: Bench) -> None:
    (short, _), (long, _) = foretold(bench)
    assert short == long
    assert short.certain + short.perhaps > 1000


ONCE_OR_OFTEN = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role helper
dataset item from "items.jsonl" { question text, answer text secret }
arm tried { once, often }
scenario sums {
  over item
  arms tried
  ask hint by helper { prompt "Hint for {{ item.question }}" }
  ask one by candidate when tried == once { prompt "{{ item.question }} {{ hint.text }}" }
  ask many by candidate when tried == often { prompt "{{ hint.text }} {{ item.question }}", samples 30 }
  score right = contains(one.text, item.answer) when tried == once
  score right = contains(many.text, item.answer) when tried == often
}
"""


def test_samples_are_alike_beside_a_treatment_without_any(bench: Bench) -> None:
    bench.write(ONCE_OR_OFTEN)
    (short, asked), (long, each) = foretold(bench)
    assert short == long
    assert short.certain + short.perhaps == 3 * (1 + 2 * 1 + 2 * 30)
    assert asked.asked < each.asked / 4


@pytest.mark.parametrize("seed", range(sized(6, 200)))
def test_of_generated_benchmarks_the_first_sample_stands_for_all(seed: int, tmp_path: Path) -> None:
    made = Benchmark(generate(seed, tmp_path))
    alike, apart = (made.foretell(Counting(said), made.bound(), EVERYTHING) for said in ((), made.plan.fingerprints))
    assert alike == apart


def test_samples_that_are_alike_are_not_looked_up_one_by_one(bench: Bench) -> None:
    (_, short), (_, long) = foretold(bench)
    assert short.asked < long.asked / 4


def test_what_is_kept_of_one_model_is_reused_sample_by_sample(bench: Bench) -> None:
    bench.run(lambda request: "LESSON OVER", models=("a",))
    found = bench.foretell(models=("a", "b"))
    plain = {where.model: line for where, line in found.lines.items() if where.step == "plain"}
    assert (plain["a"].reused, plain["a"].most) == (3 * 40, 0)
    assert (plain["b"].reused, plain["b"].most) == (0, 3 * 40)
