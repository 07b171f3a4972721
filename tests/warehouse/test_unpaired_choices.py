"""The items that `missing: paired` leaves out, of a score that is a name: one that stands for no number has a value."""

from __future__ import annotations

from pathlib import Path

from tests.field.running import figures_in, lines
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge
arm style { plain, rich }
dataset item from "rows.jsonl" { n integer }
scorer met(text: text) by judge { prompt "Met? {{ text }}", gives choice(yes, no) }
scenario answers {
  over item
  arms style
  ask reply by candidate { prompt "{{ item.n }} {{ style }}" }
  score ok = met(reply.text)
}
measure ok = share(ok == yes, missing: paired)
"""


def test_an_item_whose_replies_have_a_name_each_is_not_listed(tmp_path: Path) -> None:
    def judge(messages: list[str]) -> str:
        return "I cannot tell." if "1 rich" in messages[0] else '{"value": "yes"}'

    rows = lines([{"n": n} for n in range(3)])
    figures = figures_in(tmp_path, SPEC, {"rows.jsonl": rows}, lambda messages: messages[-1], {"judge": judge})
    assert (figures["ok"].value, figures["ok"].n, figures["ok"].total) == (1, 4, 6)
    connection, _ = connect_run(Store.open(tmp_path / "results", False))
    with connection:
        listed = connection.execute("select metric, lacks, status from demo.unpaired()").fetchall()
    assert listed == [("ok", "rich", "parse_failure")]
