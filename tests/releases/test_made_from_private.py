"""What is made from items that are withheld would tell them, so it is not released."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tripos.releases.contents import withheld_files
from tripos.releases.frozen import frozen_items
from tripos.runs.compilation import find_spec
from tripos_compiler.errors import TriposError
from tripos_runtime.datasets.cases import CaseSource

SPEC = """\
benchmark reworded "1.0.0" { languages en }
role candidate compared
role author
dataset row from "rows.jsonl" { question text }
dataset item by author from row as one { prompt "Reword: {{ one.question }}", returns { text text } }
scenario asked {
  over row
  ask reply by candidate { prompt "{{ row.question }}" }
  score done = words(reply.text) > 0
}
"""


def test_a_data_set_that_is_made_from_withheld_items_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reworded.tripos"
    path.write_text(SPEC, "utf-8")
    (tmp_path / "rows.jsonl").write_text(
        "\n".join(json.dumps({"question": f"Is {n} even?"}) for n in range(3)), "utf-8"
    )
    found = find_spec(str(path))
    plan = found.compile().plan
    assert plan is not None and [made.name for made in plan.made] == ["item"]
    source = CaseSource(plan, found.folders, (str(path),))
    [whole] = frozen_items(source, "canary")
    assert withheld_files(plan, source) == set()
    with pytest.raises(TriposError) as caught:
        withheld_files(plan, source, frozenset(whole.table["item_id"].to_pylist()[:1]))
    assert caught.value.code == "S0853" and "`item`" in caught.value.message and "`row`" in caught.value.message
