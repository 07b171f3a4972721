"""Scores and prompts that read parts of JSON: of rows, of the arguments of calls, and of what is lacking."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.runtime.small_runs import run_small
from tripos_compiler.plan import ToolCall, write_calls
from tripos_runtime.models.base import Request

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, functions tools, about json, key json secret }
scenario one {
  over item
  let unit = default(json_part(item.about, "in.unit", text), "?")
  let wanted = default(json_part(item.key, "city", text), "nowhere")
  ask reply by candidate { prompt "{{ item.question }} ({{ unit }})", tools item.functions }
  score city  = any(json_part(c.arguments, "trip.city", text) == wanted each c in reply.calls)
  score days  = sum([default(json_part(c.arguments, "days", integer), 100) each c in reply.calls])
  score first = readable(json_part(first(reply.calls).arguments, "stops.0", text)) == "Bern"
  score stops = length(default(json_part(last(reply.calls).arguments, "stops", list<text>), []))
}
"""
TOOLS = [{"name": "book", "description": "Books.", "parameters": {"type": "object", "properties": {}}}]
ROWS = [
    {"question": "q0", "functions": TOOLS, "about": {"in": {"unit": "km"}}, "key": {"city": "Rome"}},
    {"question": "q1", "functions": TOOLS, "about": {"in": {"unit": 3}}, "key": {"city": None}},
    {"question": "q2", "functions": TOOLS, "about": [], "key": {"town": "Rome"}},
]
SAID = {
    "q0 (km)": [ToolCall("book", {"trip": {"city": "Rome"}, "days": 2.0, "stops": ["Bern", "Como"]})],
    "q1 (?)": [
        ToolCall("book", {"trip": {"city": "Rome"}, "days": "2", "stops": []}),
        ToolCall("book", {"days": 10**400}),
    ],
    "q2 (?)": [ToolCall("book", "no JSON"), ToolCall("book", {"trip": "Rome", "stops": ["Bern", 3]})],
}


def says(request: Request) -> str:
    return write_calls("", SAID[request.messages[-1].content])


def test_parts_are_read_as_their_types_and_what_is_lacking_as_the_spec_says(tmp_path: Path) -> None:
    done = run_small(tmp_path, SPEC, {"items.jsonl": ROWS}, script=says)
    found = Counter((row["metric"], row["status"], row["value"]) for row in done.table("scores"))
    assert found == {
        ("city", "scored", 1): 1,  # that of q0; of q1 the row has no city, and of q2 the call has none
        ("city", "scored", 0): 2,
        ("days", "scored", 2): 1,  # 2.0 is a whole number
        ("days", "scored", 200): 2,  # a text, a number past all bounds, and twice none
        ("first", "scored", 1): 1,
        ("first", "parse_failure", None): 2,
        ("stops", "scored", 2): 1,
        ("stops", "scored", 0): 2,  # none, and a list that is not of texts
    }
