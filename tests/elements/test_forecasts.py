"""Forecasts of judges that are asked about elements of lists, and of lists of samples, beside what a run then asks."""

from __future__ import annotations

import json
from pathlib import Path

from tests.runtime.foretelling import Bench, calls
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.base import Request

SPEC = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role judge
role helper
dataset item from "items.jsonl" { question text, parts list<text> secret }
scorer met(reply: text, part: text) by judge { prompt "{{ reply }} | {{ part }}", gives bool }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}", samples 2, temperature 0.5 }
  ask split by helper { prompt "{{ reply.text }}", returns { said list<text> } }
  score any  = any(met(item.question, p) each p in item.parts) or words(reply.text) > 9
  score every = all(met(reply.text, s) each s in split.said at most 4)
  score both = length(distinct([lower(r) each r in reply.samples])) == 1
}
"""
PARTS = (["a", "b"], [], ["c"])


def script(request: Request) -> str:
    """The helper lists two things, and the judge says yes."""
    if request.model == "h":
        return '{"said": ["x", "y"]}'
    return '{"value": true}' if request.model == "j" else f"reply {request.number}"


def bench(folder: Path) -> Bench:
    found = Bench(folder)
    found.write(SPEC)
    rows = [json.dumps({"question": f"question {place}", "parts": parts}) for place, parts in enumerate(PARTS)]
    (folder / "items.jsonl").write_text("\n".join(rows), "utf-8")
    return found


def test_a_forecast_knows_the_elements_of_rows_and_bounds_those_of_replies(tmp_path: Path) -> None:
    found = bench(tmp_path)
    told = calls(found.foretell())
    assert told["candidate", "a"] == (0, 6, 6)
    assert told["helper", "h"] == (0, 0, 6)
    assert told["judge", "j"] == (0, 3, 3 + 6 * 4), "three parts of rows for sure, and up to four of each reply"
    assert found.run(script) == {("candidate", "a"): 6, ("helper", "h"): 6, ("judge", "j"): 3 + 6 * 2}
    assert {key: (least, most) for key, (_, least, most) in calls(found.foretell()).items()} == {
        ("candidate", "a"): (0, 0),
        ("helper", "h"): (0, 0),
        ("judge", "j"): (0, 0),
    }


def test_what_is_kept_of_some_items_makes_the_forecast_of_the_rest(tmp_path: Path) -> None:
    found = bench(tmp_path)
    before = found.run(script, selection=Selection(limit=2))
    told = calls(found.foretell())
    after = found.run(script)
    for key, (_, least, most) in told.items():
        assert least <= after[key] <= most, key
    assert sum(before.values()) + sum(after.values()) == 6 + 6 + 3 + 12


LAST = """\
benchmark t "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, parts list<text> }
scenario pairs {
  over item
  ask thought by candidate each part in item.parts { prompt "Is {{ part }} fine?" }
  let torn = first(thought).text == last(thought).text
  ask final by candidate each t in thought when torn {
    prompt "{{ last(thought).text }} {{ join([other.text each other in thought], \\"\\") }} {{ item.question }}"
  }
  score right = f.text == "yes" each f in final
}
measure right = mean(right)
"""


def test_an_element_of_replies_that_are_pending_is_told_in_a_prompt(tmp_path: Path) -> None:
    found = Bench(tmp_path)
    found.write(LAST)
    (tmp_path / "items.jsonl").write_text('{"question": "Which?", "parts": ["a", "b"]}\n', "utf-8")
    assert calls(found.foretell())["candidate", "a"] == (0, 2, 4)
