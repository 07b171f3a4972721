"""A slice by whatever a measure can go by is the cell of that measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.compiler.compiling import compile_files, plan_of
from tests.warehouse.drawn_items import measured
from tests.warehouse.synthetic import Results
from tripos_warehouse.store.store import Store

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
axis level {
  group low { easy }
  group high { hard, harder }
}
arm hint { none, some }
dataset item from "items.jsonl" {
  level
  text    text
  kind    text
  sort    choice(one, two)
  number  integer
  easy    bool
  source  { book text, page integer? }
  point   path
}
scenario sums {
  context level
  over item as q
  arms hint
  ask answer by candidate { prompt "{{ level }} {{ q.text }}", system "Think." when hint == some }
  score right = contains(answer.text, "42")
  measure whole = mean(right)
MEASURES
}
"""
ROWS = """{"level": "easy", "text": "?", "kind": "it's", "sort": "one", "number": 1, "easy": true, "source": {"book": "A"}, "point": "A / B"}
{"level": "hard", "text": "!", "kind": "a \\"b\\"", "sort": "two", "number": 22, "easy": false, "source": {"book": "B", "page": 3}, "point": "A / C"}
"""
SLICES = {
    "q.kind": {"it's": '"it\'s"', 'a "b"': '"a \\"b\\""'},
    "q.sort": {"one": "one", "two": "two"},
    "q.number": {"1": "1", "22": "22"},
    "q.easy": {"true": "true", "false": "false"},
    "q.source.book": {"A": "A", "B": '"B"'},
    "q.source.page": {"3": "3"},
    "q.point": {"A / B": '"A / B"', "D": "D"},
    "q.point.nodes": {"A": "A", "A / C": '"A / C"', "D": "D"},
    "level.group": {"low": "low", "high": "high"},
    "level": {"harder": "harder"},
    "hint": {"some": "some"},
}


def written(values: list[object], place: int) -> object:
    return values[place % len(values)]


@pytest.mark.parametrize("also", ["", "level", "q.number"])
def test_a_slice_is_the_cell_of_what_goes_by_it(store: Store, tmp_path: Path, also: str) -> None:
    lines = []
    for place, (dim, values) in enumerate(SLICES.items()):
        if also == dim:
            continue
        beside = f", {also}" if also else ""
        lines.append(f"measure all{place} = mean(right) by {dim}{beside}")
        for number, value in enumerate(values.values()):
            by = f" by {also}" if also else ""
            lines.append(f"measure one{place}x{number} = whole[{dim}: {value}]{by}")
            lines.append(f"measure own{place}x{number} = all{place}[{dim}: {value}]")
    spec = SPEC.replace("MEASURES", "\n".join(f"  {line}" for line in lines))
    plan = plan_of(compile_files(tmp_path, {"spec.tripos": spec, "items.jsonl": ROWS}))
    results, random = Results(plan), np.random.default_rng(3)
    for place in range(48):
        fields = {
            "text": "?",
            "kind": written(["it's", 'a "b"'], place // 2),
            "sort": written(["one", "two"], place // 3),
            "number": written([1, 22], place),
            "easy": written([True, False], place // 5),
            "source": {"book": written(["A", "B"], place // 7), "page": written([3, None], place)},
            "point": written(["A / B", "A / C", "D"], place),
        }
        item = f"i{place:02}"
        results.item("sums", item, fields, {"level": str(written(["easy", "hard", "harder"], place // 4))})
        for arm in ("none", "some"):
            results.add("sums", "right", item, float(random.random() < 0.4), arms={"hint": arm})
    results.write(store)
    tables = measured(store, plan)
    for place, (dim, values) in enumerate(SLICES.items()):
        if also == dim:
            continue
        cells = {row.by: row for row in tables[f"sums.all{place}"].rows}
        for number, value in enumerate(values):
            expected = {
                by[1:]: (row.value, row.standard_error, row.low, row.items, row.n)
                for by, row in cells.items()
                if str(by[0]).lower() == value.lower()
            }
            for kind in ("one", "own"):
                rows = tables[f"sums.{kind}{place}x{number}"].rows
                found = {row.by: (row.value, row.standard_error, row.low, row.items, row.n) for row in rows}
                assert found and found.keys() == expected.keys(), (dim, value)
                for by, numbers in found.items():
                    assert numbers == pytest.approx(expected[by]), (dim, value)
