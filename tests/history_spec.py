"""The benchmark that histories are drawn of, as it is at some point of one: its spec, and its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

SPEC = """\
benchmark {name} "1.0.0" {{ languages en }}
role candidate compared
role parser
role student
role author
role checker
role judge panel
axis kind {{ {kinds} }}
dataset item from "items.jsonl" {{ kind, question text, answer text secret{more} }}
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
KINDS = ("easy", "hard", "odd")


@dataclass
class Project:
    """A benchmark as it is now: what its spec says, and its rows."""

    rows: list[dict[str, str]]
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

    def write(self, folder: Path) -> None:
        """Write the spec and its data."""
        told = {key: value for key, value in vars(self).items() if key not in ("rows", "kinds")}
        (folder / "spec.tripos").write_text(SPEC.format(kinds=", ".join(KINDS[: self.kinds]), **told), "utf-8")
        (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in self.rows), "utf-8")
