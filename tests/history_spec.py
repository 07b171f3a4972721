"""The benchmark that histories are drawn of, as it is at some point of one: its spec, and its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SPEC = """\
benchmark {name} "1.0.0" {{ languages en }}
role candidate compared
role parser
role student
role author
role checker
role judge panel
axis kind {{ {kinds} }}
tool keep from "shop.py:keep" "Keep a number." {{ n number }}
tool look from "shop.py:look" "Look at all numbers." {{ how text? }}
dataset item from "items.jsonl" {{
  kind, question text, answer text secret, parts list<{{ text text, sure number }}>, shop json{more}
}}
dataset extra by author {{
  context kind
  count   2
  prompt  "Write{wording} an exercise that is {{{{ kind }}}}."
  returns {{ question text, solution text secret }}
}}
dataset drill by author from item {{
  count   {count}
  prompt  "Change{drilled}: {{{{ item.question }}}}"
  returns {{ task text, solution text secret }}
  let     size = length(drill.task)
  require drill.size > {least}
  unique  drill.task
  verify by checker {{ prompt "Is it right{checked}? {{{{ drill.task }}}}", returns {{ right bool }}, require right }}
  retries {retries}
}}
scorer grader(response: text) by judge {{
  prompt "Grade{graded}: {{{{ response }}}}"
  gives 1..10
}}
scorer better(one: text, two: text) by judge {{
  prompt "One: {{{{ one }}}} Two: {{{{ two }}}} Which is better?"
  gives choice(one, two, tie)
}}
subset part {{ take 2 per scenario }}
subset one {{ take 1 }}
export best_sums {{
  best of candidate by sums.fairness
  rows reply
  holds out one
}}
export best_made {{
  best of candidate by made.solving per kind
  rows reply
  format completion
  holds out one
}}
export pairs_graded {{
  pairs of candidate by liked
  rows reply
  holds out one
}}
scenario sums {{
  context kind
  over item{where}
  ask reply by candidate {{
    prompt "{{{{ item.question }}}} ({{{{ kind }}}}){wording}"
    samples {samples}
  }}
  ask parsed by parser {{
    prompt "Parse: {{{{ reply.text }}}}"
    returns {{ said text, n 1..10 }}
  }}
  score n = parsed.n
  score right = contains(reply.text, item.answer)
  score long = length(item.answer) + length(reply.text)
  score good = grader(response: parsed.said)
  score fair = grader(response: reply.text) / 2
  measure accuracy = mean(right)
  measure quality = mean(good) by evaluator
  measure fairness = mean(fair)
  measure parsing = mean(n)
  measure both = accuracy + (parsing - 1) / 9
}}
arm teaching {{ none, lesson }}
scenario lesson {{
  over item
  arms teaching
  converse talk when teaching == lesson {{
    candidate {{ system "Teach: {{{{ item.question }}}}{taught}" }}
    student {{ system "You learn." }}
    opens candidate
    until candidate says "that is all"
    limit 3 turns
  }}
  ask exam by student {{
    continue talk
    prompt "{{{{ item.question }}}}"
  }}
  score learnt = length(exam.text) + length(item.answer)
  measure knows = mean(learnt)
  measure gain = knows - knows[teaching: none]
}}
arm hint {{ few, many }}
scenario asked {{
  over item
  arms hint
  ask one by candidate {{ prompt "Say{wording}: {{{{ item.question }}}}" }}
  ask two by parser when (hint == few and words(one.text) > {over}) or (hint == many and words(one.text) > 9) {{
    prompt "Sure? {{{{ one.text }}}}"
  }}
  ask three by candidate {{ prompt "Again: {{{{ two.text }}}}" }}
  ask chat by candidate {{
    prompts [item.question, "Then?", "And?"] at most 3
    until   words(chat.text) > {over}
  }}
  converse brief when words(one.text) > {over} {{
    candidate {{ system "Teach: {{{{ item.question }}}}" }}
    student {{ system "You learn." }}
    opens candidate
    until candidate says "that is all"
    limit 2 turns
  }}
  score again = length(three.text) + length(item.answer)
  score said = length(chat.text)
  score short = length(brief.text)
  score liked = grader(response: three.text) when words(one.text) < {over} + 4
  measure asking = mean(again) by hint
}}
scenario parted {{
  over item
  arms hint
  ask first by candidate {{ prompt "{{{{ item.question }}}}" }}
  let much = (hint == few and words(first.text) > {over}) or (hint == many and words(first.text) > 9)
  ask each_said by candidate each q in item.parts where q.sure > {sure} at most 4 when much {{
    prompt "{{{{ q.text }}}}{wording}"
  }}
  ask points by parser {{ prompt "{{{{ first.text }}}}", returns {{ listed list<{{ what text, sure 1..10 }}> }} }}
  ask held by checker each c in points.listed where c.sure > {sure} at most 9 {{
    prompt  "{{{{ c.what }}}}"
    returns {{ holds bool, why text }}
  }}
  score part_long = length(e.text) + length(item.answer) each e in each_said
  score part_good = grader(response: e.text) each e in each_said
  score all_held  = all(h.holds each h in held)
  score held_each = h.holds each h in held
  measure parting = mean(part_long) by hint
  measure part_grade = mean(part_good)
  measure sure_of = mean(part_long) by e.q.sure
  measure holding = mean(held_each)
  measure all_holding = mean(all_held)
}}
scenario service {{
  over item
  ask hello by student {{ prompt "Ask: {{{{ item.question }}}}" }}
  ask served by candidate when words(hello.text) > {over} {{
    system "Serve{wording}."
    prompt "{{{{ hello.text }}}}"
    tools keep, look
    state item.shop at most {turns} turns
    user student {{ system "You want: {{{{ item.question }}}}" }}
    until student says "that"
    samples {samples}
  }}
  ask thought by parser {{ prompt "Think: {{{{ served.text }}}}" }}
  score kept = length(join(served.replies, "")) + length(item.answer)
  score over_soon = served.ended == limit
  score failed = sum(choose(r.failed, 1, 0) each r in served.results)
  score polite = grader(response: thought.text)
  measure keeping = mean(kept)
  measure ending = mean(over_soon)
  measure failing = mean(failed)
  measure politeness = mean(polite)
}}
scenario battle {{
  over item
  ask reply by candidate {{ prompt "Explain: {{{{ item.question }}}}" }}
  compare preferred using better(first.reply.text, second.reply.text)
  measure won = win_rate(preferred)
}}
scenario made {{
  context kind
  over extra
  ask reply by candidate {{ prompt "Solve: {{{{ extra.question }}}}" }}
  score solved = length(reply.text) + length(extra.solution)
  score liked = grader(response: reply.text)
  measure solving = mean(solved) by kind
  measure liking = mean(liked, missing: zero) by evaluator
}}
scenario drills {{
  over drill
  ask reply by candidate {{
    shots 1 from extra as e {{ prompt "{{{{ e.question }}}}", reply "It is {{{{ e.kind }}}}." }}
    prompt "{{{{ drill.task }}}}"
  }}
  score done = length(reply.text) + length(drill.solution)
  score liked = grader(response: reply.text)
  measure doing = mean(done)
}}
"""
SHOP = """\
def keep(state, n):
    if n > {refuse}:
        raise ValueError(f"{{n}} is too much")
    state["kept"] = [*state["kept"], n]
    return "kept"


def look(state, how=None):
    return state["kept"]
"""
KINDS = ("easy", "hard", "odd")


@dataclass
class Project:
    """A benchmark as it is now: what its spec says, and its rows."""

    rows: list[dict[str, Any]]
    name: str = "histories"
    kinds: int = 2
    more: str = ""
    where: str = ""
    wording: str = ""
    graded: str = ""
    taught: str = ""
    samples: int = 1
    drilled: str = ""
    checked: str = ""
    count: int = 1
    least: int = 3
    retries: int = 2
    over: int = 11
    """The number of words above which further questions are asked."""

    sure: int = 1
    """How sure a part must be to be asked about."""
    turns: int = 3
    refuse: int = 3
    """The number above which nothing is kept."""

    def write(self, folder: Path) -> None:
        """Write the spec and its data."""
        told = {key: value for key, value in vars(self).items() if key not in ("rows", "kinds", "refuse")}
        (folder / "spec.tripos").write_text(SPEC.format(kinds=", ".join(KINDS[: self.kinds]), **told), "utf-8")
        (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in self.rows), "utf-8")
        (folder / "shop.py").write_text(SHOP.format(refuse=self.refuse), "utf-8")
