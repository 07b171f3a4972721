"""Verdicts of lm-eval 0.4.13 (MIT) on MATH-500: the rule of the authors of MATH in `hendrycks_math/utils.py`, and
math-verify 0.9.0 as `minerva_math/utils.py` calls it. Run it in an environment that has lm-eval[math]."""

import random

from lm_eval.tasks.hendrycks_math import utils
from lm_eval.tasks.minerva_math.utils import parse, verify
from loading import store

ANSWERS = {
    "\\frac{1}{2}": ("\\frac12", "1/2", "0.5", ".5", "\\dfrac{1}{2}", "\\frac{2}{4}", "\\tfrac{ 1}{2}", "50\\%"),
    "2\\sqrt{3}": ("2 \\sqrt3", "\\sqrt{12}", "2\\cdot\\sqrt{3}", "\\sqrt", "2√3"),
    "\\left( 3, \\frac{\\pi}{2} \\right)": ("(3,\\frac{\\pi}{2})", "(3, \\pi/2)", "\\left(3,\\frac\\pi2\\right)"),
    "70": ("70^\\circ", "70^{\\circ}", "70\\text{ degrees}", "70.0", "\\$70", "x = 70", "total=70", "70.", "７０"),
    "x^2 + 1": ("x^2+1", "1 + x^2", "y=x^2+1", "x²+1", "x^{2}+1"),
    "\\text{even}": ("even", "\\text{even}", "\\mbox{even}", "\\text{ even}"),
    "10,000": ("10000", "10,\\!000", "10{,}000"),
    "\\frac{x}{3}": ("x/3", "\\frac x3", "\\frac{x}3", "\\frac{1}{3}x", "\\frac"),
    "[0,1)": ("[0, 1)", "0 \\le x < 1", "[0;1)"),
    "-1": ("-1", "−1", "1", "- 1", "-1/1", "\\text{ a }\\text{ b }", "/", "a/b/c", ""),
}
FORMS = (
    "So it is $\\boxed{{{0}}}$.",
    "First \\boxed{{0}}, then\n\\[ \\boxed{{{0}}} \\]",
    "\\boxed {0}$ and so on",
    "$\\boxed{{{0}$",
    "\\boxed{{5}} or \\boxed{{{0}",
    "The answer is ${0}$.",
    "\\fbox{{{0}}}",
    "\\boxed{{\\boxed{{{0}}}}}",
    "Final answer: {0}",
    "\\boxed{{\n{0}\n}}",
)


def verdict(reply: str, answer: str) -> bool:
    """Return the verdict of the authors' rule on the last box of a reply. What raises an error is no answer."""
    box = utils.last_boxed_only_string(reply)
    try:
        said = None if box is None else utils.remove_boxed(box)
    except AssertionError:
        said = None
    return utils.is_equiv(said, answer)


def main() -> None:
    dice = random.Random(2305)
    lines = []
    for number in range(260):
        answer = dice.choice(list(ANSWERS))
        said = dice.choice((answer, *ANSWERS[answer], *ANSWERS[answer]))
        reply = FORMS[number % len(FORMS) if dice.random() < 0.5 else 0].format(said)
        if number % 40 == 11:
            reply = dice.choice(("", " ", "I cannot solve this.", "\\boxed", "\\boxed{}"))
        row = {
            "unique_id": f"q{number}",
            "problem": f"Problem {number}.",
            "subject": dice.choice(("Algebra", "Geometry")),
        }
        row |= {"solution": f"It is $\\boxed{{{answer}}}$.", "answer": answer, "level": dice.randint(1, 5)}
        verified = bool(verify(gold=parse(row["solution"]), target=parse(reply)))
        lines.append({"row": row, "reply": reply, "right": verdict(reply, answer), "verified": verified})
    store("math_500", lines)


main()
