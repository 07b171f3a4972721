"""What an expression comes to lies between the ends that are told of it, whatever the replies are."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st

from tests.compiler.compiling import compile_files, compile_text, plan_of
from tests.lengths import sized
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.intervals import ranges_of, score_ranges
from tripos_compiler.plan import Binary, Call, Expr, Get, Literal_, Ref, Unary

PLAN = plan_of(
    compile_text("""\
benchmark demo "1.0.0" { languages en }
role candidate compared
scenario sums {
  ask reply by candidate {
    prompt "What is 6 * 7?"
    returns { sure -2..5, part { mark 1..3 }, marks list<1..4>, maybe 1..5?, size integer }
  }
  ask parsed by candidate { prompt "From 1 to 10: {{ reply.sure }}", returns 1..10 }
  score it = parsed
}
""")
)
REPLIES = st.fixed_dictionaries(
    {
        "reply": st.fixed_dictionaries(
            {
                "sure": st.integers(-2, 5),
                "part": st.fixed_dictionaries({"mark": st.integers(1, 3)}),
                "marks": st.lists(st.integers(1, 4), max_size=3),
                "maybe": st.none() | st.integers(1, 5),
                "size": st.integers(-1000, 1000),
            }
        ),
        "parsed": st.fixed_dictionaries({"value": st.integers(1, 10)}),
    }
)
MARKS = Ref(path=("reply", "marks"))
PLACES: list[Expr] = [
    Ref(path=("reply", "sure")),
    Ref(path=("parsed", "value")),
    Ref(path=("reply", "size")),
    Get(of=Ref(path=("reply", "part")), field="mark"),
    Call(function="first", args=(MARKS,)),
    Call(function="nth", args=(MARKS, Literal_(value=1))),
    Call(function="length", args=(MARKS,)),
    Call(function="default", args=(Ref(path=("reply", "maybe")), Literal_(value=0))),
]
NUMBERS = st.sampled_from([0, 1, -1, 2, 10, 0.5, -0.1, 1 / 3, 100]).map(lambda value: Literal_(value=value))


def larger(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    binary = st.builds(Binary, operator=st.sampled_from(["+", "-", "*", "/"]), left=parts, right=parts)
    single = st.sampled_from(["abs", "floor", "ceil", "round", "sqrt", "log", "exp"])
    several = st.sampled_from(["min", "max", "default"])
    chosen = st.builds(lambda *args: Call(function="choose", args=args), st.just(LESS), parts, parts)
    return (
        binary
        | st.builds(lambda value: Unary(operator="-", value=value), parts)
        | st.builds(lambda name, value: Call(function=name, args=(value,)), single, parts)
        | st.builds(lambda value: Call(function="round", args=(value, Literal_(value=1))), parts)
        | st.builds(lambda name, *args: Call(function=name, args=args), several, parts, parts)
        | chosen
    )


LESS = Binary(operator="<", left=PLACES[0], right=Literal_(value=2))
EXPRESSIONS = st.recursive(st.sampled_from(PLACES) | NUMBERS, larger, max_leaves=6)


@settings(max_examples=int(os.environ.get("TRIPOS_EXAMPLES", sized(100, 500))), deadline=None)
@given(expr=EXPRESSIONS, replies=st.lists(REPLIES, min_size=1, max_size=5))
def test_a_value_lies_between_the_ends_that_are_told(expr: Expr, replies: list[dict[str, Any]]) -> None:
    low, high = ranges_of(PLAN).of(PLAN.scenarios[0], expr)
    for names in replies:
        try:
            value = evaluate(expr, names)
        except Unavailable:
            continue
        assert low <= value <= high


ROW = '{"confidence": 7, "probabilities": [7], "labels": [0, 1]}\n'
WEIGHED = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { confidence number, probabilities list<number>, labels list<0..1> }
scenario sums {
  over item
  ask letter by candidate { prompt "A or B?", returns choice(A, B), top_logprobs 5 }
  ask graded by candidate { prompt "From 2 to 5", returns 2..5, top_logprobs 20 }
  ask judged by candidate { prompt "Right?", returns bool, top_logprobs 2 }
  ask option by candidate { prompt "The sky is", likelihood of (" blue", " green") }
  ask said by candidate { prompt "How sure?", returns { confidence number, expected number } }
  let shares = option_probabilities(("A", "B"), letter.top_tokens, letter.top_logprobs)
  score sign   = letter.confidence
  score first  = first(letter.probabilities)
  score mark   = graded.expected
  score fit    = judged.expected
  score chosen = option.confidence
  score second = nth(option.probabilities, 1)
  score best   = default(best_of(shares, shares), 0.5)
  score true   = default(expected_value(item.labels, option.probabilities), 0)
  score scaled = default(expected_value((1, 3), option.probabilities), 2)
  score own    = said.confidence
  score other  = said.expected
  score nats   = first(letter.logprobs)
  score row    = item.confidence + letter.confidence
  score cell   = first(item.probabilities) + letter.confidence
}
"""


def test_probabilities_lie_between_0_and_1_and_the_mean_of_a_scale_between_its_ends(tmp_path: Path) -> None:
    plan = plan_of(compile_files(tmp_path, {"spec.tripos": WEIGHED, "items.jsonl": ROW}))
    share, unknown = (0.0, 1.0), (-math.inf, math.inf)
    names = dict.fromkeys(("sign", "first", "fit", "chosen", "second", "best", "true"), share)
    others = dict.fromkeys(("own", "other", "nats", "row", "cell"), unknown)
    assert score_ranges(plan) == {**names, **others, "mark": (2.0, 5.0), "scaled": (1.0, 3.0)}
