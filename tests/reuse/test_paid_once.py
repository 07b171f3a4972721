"""Nothing is paid twice: an edit asks for the requests that it changes, whatever kind of step sends them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.lengths import sized
from tests.reuse.counting import Bench, Ran, difference, results
from tests.reuse.drawn_specs import ROLES, DrawnEdit, DrawnSpec, drawn_edit, drawn_spec
from tests.reuse.test_reuse import plain
from tripos_runtime.datasets.selection import Selection
from tripos_warehouse.store.store import Store

FIRST = int(os.environ.get("TESTS_FIRST_SEED") or 0)
SEEDS = range(FIRST, FIRST + sized(2, 40))
EDITS_OF_EACH = sized(1, 3)


def run(folder: Path, spec: DrawnSpec, selection: Selection) -> tuple[Bench, Ran]:
    """Run a benchmark in a store of its own, by models that say the same to the same."""
    folder.mkdir()
    bench = Bench(folder, spec.models, ROLES, selection=selection, fixed=True)
    bench.write(spec.files)
    return bench, bench.run()


@pytest.mark.parametrize("seed", SEEDS)
def test_an_edit_asks_for_the_requests_that_it_changes(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    spec = drawn_spec(random)
    bench, _ = run(tmp_path / "edited", spec, drawn_selection(random))
    of_all = True
    for number in range(EDITS_OF_EACH):
        edit = drawn_edit(random, spec)
        if random.random() < 0.3:  # in a store of its own, which reuses those before
            bench = replace(bench, folder=tmp_path / f"edited{number}", others=(*bench.others, bench.store))
            bench.folder.mkdir()
        bench.write(edit.spec.files)
        before, of_all = bench.past.copy(), of_all and bench.selection.limit is None
        bench.selection = drawn_selection(random)
        edited = bench.run()
        fresh, wanted = run(tmp_path / f"fresh{number}", edit.spec, bench.selection)
        more, less = difference(before, edited, wanted)
        assert more == 0, edit.name
        # A row that comes back next to one that has adopted its reply keeps it too.
        assert less == 0 or not of_all, edit.name
        held_to_forecast(edited, edit)
        if of_all and edit.fields is not None and edit.fields.isdisjoint(spec.shown):
            assert not edited.sent, edit.name
        there = results(bench)
        for name, row in results(fresh).items():
            assert plain(there[name]) == plain(row), (edit.name, name)
        spec = edit.spec


def drawn_selection(random: Random) -> Selection:
    """Draw which items a run has: as a rule all of them."""
    if random.random() < 0.7:
        return Selection()
    return Selection(limit=random.randint(1, 3), seed=random.choice((None, 1)))


def held_to_forecast(edited: Ran, edit: DrawnEdit) -> None:
    """Hold a run to what was foreseen of it."""
    least, most = edited.foreseen.certain, edited.foreseen.certain + edited.foreseen.perhaps
    assert least <= edited.asked <= most, edit.name
    for where, line in edited.foreseen.lines.items():
        assert line.certain <= line.most, (edit.name, where)
    if not edited.asked:
        assert most == 0, edit.name


MADE = """\
benchmark paid "1.0.0" { languages en }
role candidate compared
role author
dataset item from "items.jsonl" { question text, level text, answer text secret }
dataset made by author from item {
  prompt "Change this: {{ item.question }}"
  returns { y text }
}
scenario told {
  over made
  ask reply by candidate { prompt "{{ made.y }}" }
  score right = contains(reply.text, made.answer)
}
measure m = mean(right)
"""
PLANNED = """\
benchmark planned "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, level text, answer text secret }
scenario told {
  over item
  ask plan by candidate when item.level == "hard" { prompt "Plan: {{ item.question }}" }
  ask reply by candidate { prompt "{{ item.level }}" }
  score right = contains(reply.text, item.answer)
  score planned = words(plan.text) > 0
}
measure m = mean(right)
measure n = mean(planned)
"""


def rows(*given: tuple[str, str, str]) -> str:
    return "".join(
        json.dumps({"question": question, "level": level, "answer": answer}) + "\n" for question, level, answer in given
    )


def again(folder: Path, spec: str, before: str, after: str, changed: str | None = None) -> tuple[Ran, Bench]:
    """Run a benchmark, and once more with other rows or in another version."""
    bench = Bench(folder, ("alpha",), {"author": ("writer",)})
    bench.write({"paid.tripos": spec, "items.jsonl": before})
    bench.run()
    bench.write({"paid.tripos": changed or spec, "items.jsonl": after})
    return bench.run(), bench


def test_a_corrected_secret_asks_no_author_again_and_is_in_the_row(tmp_path: Path) -> None:
    ran, bench = again(
        tmp_path, MADE, rows(("A?", "e", "1"), ("B?", "e", "2")), rows(("A?", "e", "1"), ("B?", "e", "3"))
    )
    assert (ran.asked, ran.reused, ran.foreseen.certain + ran.foreseen.perhaps) == (0, 4, 0)
    items = table(bench, "items")
    assert sorted(json.loads(row["fields"])["answer"] for row in items) == ["1", "2", "3"]
    assert len({json.loads(row["fields"])["y"] for row in items}) == 2


def test_an_unused_column_asks_nothing(tmp_path: Path) -> None:
    before = rows(("A?", "e", "1"), ("B?", "e", "2"))
    after = before.replace("}", ', "note": "n"}')
    changed = MADE.replace("{ question text, level text", "{ question text, note text, level text")
    ran, _ = again(tmp_path, MADE, before, after, changed)
    assert (ran.asked, ran.foreseen.certain + ran.foreseen.perhaps) == (0, 0)


def test_two_rows_that_send_the_same_are_two_draws(tmp_path: Path) -> None:
    before = rows(("A?", "e", "1"))
    ran, bench = again(tmp_path, MADE, before, before + rows(("A?", "e", "2"), ("A?", "e", "3")))
    assert ran.asked == 4, "two rows more, which are written and answered"
    bench.write({"paid.tripos": MADE, "items.jsonl": rows(("A?", "e", "1"), ("A?", "e", "4"), ("A?", "e", "5"))})
    third = bench.run()
    assert (third.asked, third.reused) == (0, 6)
    taken = [row["adopted_from"] for row in table(bench, "samples") if row["run_id"] == third.run_id]
    assert len(set(taken)) == len(taken) == 4


def table(bench: Bench, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    store = Store.open(bench.store, create=False)
    return [row for path in store.parts(name) for row in pq.read_table(path).to_pylist()]


def test_an_author_and_an_ask_that_send_the_same_take_one_reply_each(tmp_path: Path) -> None:
    asked = """\
scenario same {
  over item
  ask again by author { prompt "Change this: {{ item.question }}", returns { y text } }
  ask more by candidate { prompt "{{ again.y }}" }
  score right = contains(more.text, item.answer)
}
"""
    both = MADE.replace("measure m", asked + "measure m")
    ran, _ = again(tmp_path, both, rows(("A?", "e", "1"), ("B?", "e", "2")), rows(("A?", "e", "1"), ("B?", "e", "3")))
    assert (ran.asked, ran.reused) == (0, 8)


def test_a_reply_that_a_condition_rules_out_is_free_for_another_row(tmp_path: Path) -> None:
    before, after = rows(("A?", "hard", "1"), ("B?", "easy", "2")), rows(("A?", "hard", "1"), ("A?", "easy", "2"))
    ran, _ = again(tmp_path, PLANNED, before, after, PLANNED.replace('level == "hard"', 'level == "easy"'))
    assert not ran.sent


def test_a_language_more_asks_for_its_rows(tmp_path: Path) -> None:
    before = MADE.replace("{ question text, level text", "{ language, question text, level text")
    before = before.replace("  over made", "  context language\n  over made")
    after = before.replace("languages en", "languages en, zh")
    after = after.replace(
        'prompt "Change this: {{ item.question }}"',
        'prompt en "Change this: {{ item.question }}" zh "改写：{{ item.question }}"',
    )
    after = after.replace('prompt "{{ made.y }}"', 'prompt en "{{ made.y }}" zh "{{ made.y }}"')
    english = [json.dumps({"language": "en", "question": each, "level": "e", "answer": "1"}) for each in ("A?", "B?")]
    chinese = json.dumps({"language": "zh", "question": "C?", "level": "e", "answer": "1"})
    ran, _ = again(tmp_path, before, "\n".join(english), "\n".join((chinese, *english)), after)
    assert (ran.asked, ran.reused) == (2, 4)
    assert (ran.foreseen.certain, ran.foreseen.reused) == (1, 4)
