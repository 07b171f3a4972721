"""Write the parts of the corpus that are products: each notation of numbers in frames, each name under each
negator, each announced answer before each explanation that names another, before each correction, and before ordinary
sentences with the words of corrections; and each comparison of two names.

`python -m tests.replies.generate` writes `number_notations.jsonl`, `negated_names.jsonl`, `explained_answers.jsonl`,
`corrections.jsonl` and `comparisons.jsonl`; the other files are written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
FRAMES_OF_A_NOTATION = 6
LARGEST = 2**53
ALL = ("returns number", "final_number", "number", "last_number")
IN_TEXT = ("returns number", "final_number", "last_number")
ANNOUNCED = ("returns number", "final_number")
TYPED = ("returns number",)


class Frame(NamedTuple):
    """The text around an answer, and the readers that find it there."""

    text: str
    readers: tuple[str, ...]
    language: str = "en"


class Notation(NamedTuple):
    """A number as it is written; None is no single number. `locale` is that of the readers."""

    text: str
    value: float | None
    locale: str = "en"
    person: bool = True


WHOLE = (Frame("{}", ALL), Frame("**{}**", ALL))
LATEX = (
    Frame("$\\boxed{{{}}}$", IN_TEXT),
    Frame("Adding both parts, the final answer is $\\boxed{{{}}}$.", IN_TEXT),
    Frame("**Final Answer**\n\\[\\boxed{{{}}}\\]", IN_TEXT),
    Frame("因此答案是 $\\boxed{{{}}}$。", IN_TEXT, "zh"),
    Frame("Answer: ${}$", IN_TEXT),
    Frame("The answer is \\({}\\).", IN_TEXT),
)
PLAIN = (
    Frame("Answer: {}", IN_TEXT),
    Frame("答案是{}。", IN_TEXT, "zh"),
    Frame("The answer is {}.", IN_TEXT),
    Frame("**Final Answer:** {}", IN_TEXT),
    Frame("Die Antwort lautet {}.", IN_TEXT, "de"),
    Frame('{{"value": "{}"}}', TYPED),
    Frame("We add 7 and 8, which makes 15.\n\nSo the answer is **{}**.", IN_TEXT),
    Frame("答案：{}", IN_TEXT, "zh"),
    Frame("La réponse est {}.", IN_TEXT, "fr"),
    Frame("#### {}", IN_TEXT),
    Frame("<think>It might be 99. Let me check: 98 + 1.</think>\n\n{}", IN_TEXT),
    Frame("Respuesta: {}", IN_TEXT, "es"),
    Frame('```json\n{{"answer": "{}"}}\n```', TYPED),
    Frame("Step 1: there are 12 rows.\nStep 2: there are 30 seats.\n\n**Answer: {}**", IN_TEXT),
    Frame("经过计算，最终答案为：**{}**", IN_TEXT, "zh"),
    Frame("答えは{}です。", IN_TEXT, "ja"),
    Frame("So the total comes to {}.", IN_TEXT),
    Frame("Answer: {}\n\nExplanation: 4 of the 9 parts are left over.", ANNOUNCED),
    Frame("Ответ: {}", IN_TEXT, "ru"),
)
LATEX_ONLY = (
    Notation("\\frac{3}{4}", 0.75),
    Notation("\\frac{1}{-2}", -0.5),
    Notation("\\frac{-5}{8}", -0.625),
    Notation("-\\frac{7}{2}", -3.5),
    Notation("\\dfrac{5}{8}", 0.625),
    Notation("\\tfrac{1}{5}", 0.2),
    Notation("\\frac12", 0.5),
    Notation("1\\frac{1}{2}", 1.5),
    Notation("10{,}000", 10000),
    Notation("1{,}234{,}567", 1234567),
    Notation("10\\,000", 10000),
    Notation("10\\ 000", 10000),
    Notation("\\$18", 18),
    Notation("\\$1,250.75", 1250.75),
    Notation("12\\%", 12),
    Notation("37.5\\%", 37.5),
    Notation("3 \\times 10^{5}", 300000),
    Notation("3 \\cdot 10^5", 300000),
    Notation("6.02 \\times 10^{23}", 6.02e23),
    Notation("1.6 \\times 10^{-19}", 1.6e-19),
    Notation("90^\\circ", 90),
    Notation("45^{\\circ}", 45),
    Notation("42\\text{ cm}", 42),
    Notation("15 \\text{ apples}", 15),
    Notation("72\\,\\mathrm{km/h}", 72),
    Notation("x = 5", 5),
    Notation("x=-3", -3),
    Notation("-4", -4),
    Notation("-\\frac{22}{7}", -22 / 7),
    Notation("\\mathbf{64}", 64),
    Notation("\\text{28}", 28),
)
ANYWHERE = (
    Notation("42", 42),
    Notation("0", 0),
    Notation("-7", -7),
    Notation("−7", -7),
    Notation("–7", -7),
    Notation("-0.25", -0.25),
    Notation("−3.5", -3.5),
    Notation("+8", 8),
    Notation("1,234", 1234),
    Notation("1,234,567", 1234567),
    Notation("12,345.67", 12345.67),
    Notation("-1,500", -1500),
    Notation("3.14", 3.14),
    Notation("4.0", 4),
    Notation("3/4", 0.75),
    Notation("22/7", 22 / 7),
    Notation("-3/4", -0.75),
    Notation("−5/6", -5 / 6),
    Notation("1 1/2", 1.5),
    Notation("2 3/8", 2.375),
    Notation("½", 0.5),
    Notation("2½", 2.5),
    Notation("-¾", -0.75),
    Notation("5²", 25),
    Notation("10⁵", 100000),
    Notation("10⁻³", 0.001),
    Notation("10^5", 100000),
    Notation("10^{-2}", 0.01),
    Notation("3 × 10^5", 300000),
    Notation("3×10⁵", 300000),
    Notation("2.5 × 10⁻⁴", 0.00025),
    Notation("3 ⋅ 10^{5}", 300000),
    Notation("3 · 10^5", 300000),
    Notation("-4 × 10^3", -4000),
    Notation("1e5", 100000),
    Notation("2.5E-3", 0.0025),
    Notation("1.2e+6", 1200000),
    Notation("12%", 12),
    Notation("12.5 %", 12.5),
    Notation("-3%", -3),
    Notation("$45", 45),
    Notation("$1,234.50", 1234.5),
    Notation("-$20", -20),
    Notation("€3.50", 3.5),
    Notation("£1,200", 1200),
    Notation("¥300", 300),
    Notation("3.5 million", 3500000),
    Notation("$1.5 million", 1500000),
    Notation("2 billion", 2e9),
    Notation("-2.4 million", -2400000),
    Notation("1.2 trillion", 1.2e12),
    Notation("１２", 12),
    Notation("１２．５", 12.5),
    Notation("－７", -7),
    Notation("１，２３４", 1234),
    Notation("٤٢", 42),
    Notation("४२", 42),
    Notation("1,00,000", 100000),
    Notation("12,34,567", 1234567),
    Notation("负5", -5),
    Notation("三分之二", 2 / 3),
    Notation("负三分之一", -1 / 3),
    Notation("十二", 12),
    Notation("3.5万", 35000),
    Notation("1.2亿", 1.2e8),
)
WITH_UNITS = (
    Notation("18 dollars", 18),
    Notation("12 apples", 12),
    Notation("5 km", 5),
    Notation("72 km/h", 72),
    Notation("25 m²", 25),
    Notation("30 cm³", 30),
    Notation("37.5 °C", 37.5),
    Notation("-40 degrees", -40),
    Notation("90°", 90),
    Notation("45 €", 45),
    Notation("20 USD", 20),
    Notation("USD 20", 20),
    Notation("3/4 cup", 0.75),
    Notation("2 1/2 hours", 2.5),
    Notation("15 minutes", 15),
    Notation("12 percent", 12),
    Notation("minus 5", -5),
    Notation("negative 5", -5),
    Notation("negative 2.5", -2.5),
    Notation("3.5 million dollars", 3500000),
    Notation("$2 billion", 2e9),
    Notation("x = 5", 5),
    Notation("x = - 5", -5),
    Notation("y = −0.5", -0.5),
    Notation("3 + 2 + 1 = 6", 6),
    Notation("7 − 1 = 6", 6),
    Notation("12 × 4 = 48", 48),
    Notation("60/5 = 12", 12),
    Notation("2 lakh", 200000),
    Notation("1.5 crore", 15000000),
    Notation("$12k", 12000),
)
OF_LANGUAGES = {
    "zh": (
        Notation("负3.5", -3.5),
        Notation("负二分之一", -0.5),
        Notation("-三分之二", -2 / 3),
        Notation("一百二十", 120),
        Notation("三千五百", 3500),
        Notation("两百", 200),
        Notation("二十五", 25),
        Notation("一万二千", 12000),
        Notation("2千3百", 2300),
        Notation("3千", 3000),
        Notation("3.5万亿", 3.5e12),
        Notation("3万5千", 35000),
        Notation("2百万", 2000000),
        Notation("3又1/2", 3.5),
        Notation("三又二分之一", 3.5),
        Notation("百分之二十", 20),
        Notation("三点一四", 3.14),
        Notation("12个", 12),
        Notation("100元", 100),
        Notation("5千克", 5),
        Notation("3千米", 3),
        Notation("36平方厘米", 36),
        Notation("500万人", 5000000),
        Notation("15岁", 15),
        Notation("兩萬", 20000),
        Notation("3萬", 30000),
        Notation("2億元", 2e8),
        Notation("負五", -5),
        Notation("x=8", 8),
        Notation("４８元", 48),
    ),
    "de": (
        Notation("1.234,50", 1234.5, "de"),
        Notation("2.000", 2000, "de"),
        Notation("1.234.567", 1234567, "de"),
        Notation("3,5", 3.5, "de"),
        Notation("-0,75", -0.75, "de"),
        Notation("2,5 Millionen", 2500000, "de"),
        Notation("3 Milliarden", 3e9, "de"),
        Notation("12,5 %", 12.5, "de"),
        Notation("12 Prozent", 12, "de"),
        Notation("45 €", 45, "de"),
        Notation("1.200 Euro", 1200, "de"),
        Notation("3/4", 0.75, "de"),
        Notation("2,5 · 10^3", 2500, "de"),
        Notation("minus 5", -5, "de"),
    ),
    "fr": (
        Notation("3,5", 3.5, "fr"),
        Notation("1 234,5", 1234.5, "fr"),
        Notation("1\u202f234\u202f567", 1234567, "fr"),
        Notation("12\u00a0000\u00a0€", 12000, "fr"),
        Notation("12,5 %", 12.5, "fr"),
        Notation("3,5 millions", 3500000, "fr"),
        Notation("2 milliards", 2e9, "fr"),
        Notation("moins 5", -5, "fr"),
        Notation("18 euros", 18, "fr"),
        Notation("3/4", 0.75, "fr"),
    ),
    "es": (
        Notation("3,5", 3.5, "es"),
        Notation("1.234,50", 1234.5, "es"),
        Notation("3,5 millones", 3500000, "es"),
        Notation("12 euros", 12, "es"),
        Notation("menos 5", -5, "es"),
        Notation("12,5 %", 12.5, "es"),
    ),
}
NO_NUMBER = (
    Notation("3, 4", None),
    Notation("(3, 4)", None),
    Notation("5 or 6", None),
    Notation("5~6", None),
    Notation("5-6", None),
    Notation("between 3 and 4", None),
    Notation("3:4", None),
    Notation("±3", None),
    Notation("[1, 2]", None),
    Notation("{1, 2}", None),
    Notation("9①", None),
    Notation("not 8", None),
    Notation("3 and 7", None),
    Notation("1_000", 1000, person=False),
    Notation("unknown", None),
    Notation("N/A", None),
)
NO_NUMBER_IN_LATEX = (
    Notation("3, 4", None),
    Notation("(3, 4)", None),
    Notation("[2, 5)", None),
    Notation("2\\pi", None),
    Notation("3\\sqrt{2}", None),
    Notation("x + 3", None),
    Notation("5x", None),
    Notation("2 + 3i", None),
    Notation("\\pm 3", None),
    Notation("5 \\text{ or } 6", None),
    Notation("\\{1, 2\\}", None),
    Notation("\\frac{\\pi}{2}", None),
    Notation("\\frac{x}{2}", None),
    Notation("\\log_2 5", None),
    Notation("\\infty", None),
    Notation("x > 5", None),
    Notation("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", None),
    Notation("\\sqrt{16}", 4, person=False),
    Notation("2^{10}", 1024, person=False),
    Notation("5!", 120, person=False),
    Notation("2^5", 32, person=False),
    Notation("\\sqrt[3]{27}", 3, person=False),
    Notation("x^2", None),
    Notation("\\text{No solution}", None),
)
COLOURS = ["a red cart", "a blue cart", "a green cart", "a grey cart"]
DENIED = (
    "It can't be {}.",
    "It can’t be {}.",
    "It isn't {}.",
    "It isn’t {}.",
    "It's not {}.",
    "It is definitely not {}.",
    "Not {}.",
    "Anything but {}.",
    "All except {}.",
    "Far from {}.",
    "I would rule out {}.",
    "I don't think it is {}.",
    "I doubt that it is {}.",
    "Never {}.",
    "Is it {}? No.",
    "Answer: not {}",
    "The answer is not {}.",
    "The answer cannot be {}.",
    "The answer is anything but {}.",
    "{} can be ruled out.",
    "It would be {} if the premise held, but it does not.",
    "不是{}。",
    "并非{}",
    "未必是{}",
    "不可能是{}。",
    "排除{}",
    "答案不是{}。",
    "难以认为是{}。",
    "绝不是{}",
    "是{}吗？不是。",
)
DENIED_LETTERS = (
    "{} is wrong.",
    "{} is incorrect.",
    "{} is not the answer.",
    "Option {} is false.",
    "Eliminate {}.",
    "Option {} can be eliminated.",
    "({}) is a distractor.",
    "The answer {} makes no sense.",
    "Some would choose {}, but that is a mistake.",
    "Many students pick {} by mistake.",
    "I was tempted by {}, but no.",
    "不选{}。",
    "{}项错误。",
    "{}不对。",
    "選項{}是錯誤的。",
    "误选{}的同学忽略了条件。",
    "除了{}都可以。",
    "Es ist nicht {}.",
    "Ce n'est pas {}.",
    "No es {}.",
)
ANNOUNCEMENTS = (
    "Answer: {}",
    "**Answer:** {}",
    "**Answer: {}**",
    "The answer is {}.",
    "The correct answer is **{}**.",
    "Final answer: {}",
    "<answer>{}</answer>",
    "$\\boxed{{{}}}$",
    "答案：{}",
    "正确答案是{}。",
    "Antwort: {}",
    "Réponse : {}",
    "Respuesta: {}",
    "{}",
    "**{}**",
)
EXPLANATIONS = (
    "Explanation: the answer {} would be chosen if the cart were red.",
    "If the cart were red, the answer would be {}.",
    "I ruled out {} because the cart is not red.",
    "Why not {}? Because the cart is not red.",
    "Many people say {}, which is a common mistake.",
    "The answer is not {}, since the cart is not red.",
    "Note that {} is wrong.",
    "The student's answer {} overlooks the colour.",
    "My first idea was {}, but I dropped it.",
    "解析：选{}的同学忽略了条件。",
    "如果车是红色的，答案就是{}。",
    "Begründung: {} wäre nur bei einem roten Wagen richtig.",
    "Explication : {} serait correct si la charrette était rouge.",
    "Explicación: {} sería correcto si el carro fuera rojo.",
)
CORRECTIONS = (
    " ... wait, {}.",
    " Wait, actually {}.",
    " No, {}.",
    " Actually, {}.",
    "\n\nCorrection: {}",
    "\nEdit: {}",
    " On second thought, {}.",
    " On reflection, {}.",
    " Scratch that, {}.",
    " Sorry, {}.",
    "，不对，应该是{}。",
)
NO_CORRECTIONS = (
    " It actually takes 3 steps.",
    " We actually need 3 boxes.",
    " Actually, 3 of them are empty.",
    ", since it actually has 3 parts.",
    " Sorry for the 3 lines above.",
    " I mean that 3 parts are left over.",
    " Wait times of 3 minutes are not counted.",
    " No, 3 is not enough.",
    "。其实有3处不同。",
)
"""Ordinary sentences with the words of corrections, and with a number or none."""
WINS = (
    "{w} is better.",
    "{w} is better than {l}.",
    "{w} beats {l}.",
    "{w} outperforms {l}.",
    "{w} edges out {l}.",
    "{w} surpasses {l} in accuracy.",
    "{w} is superior to {l}.",
    "{w} was preferred to {l}.",
    "{w} scores higher than {l}.",
    "{l} scores lower than {w}.",
    "{l} is no match for {w}.",
    "{l} was beaten by {w}.",
    "{l} is inferior to {w}.",
    "{l} loses to {w}.",
    "{w} ist besser als {l}.",
    "{w} est meilleure que {l}.",
    "{w} es mejor que {l}.",
    "{w}优于{l}",
    "{l}不如{w}",
    "Verdict: {w}, {l} lacks depth",
    "Verdict: {w}, {l} is too short.",
    "Verdict: {w} ({l} is vague)",
    "Winner: {w} | Loser: {l}",
    "Winner: {w}\nLoser: {l}",
    "Rank 1: {w}\nRank 2: {l}",
    "{w}, because {l} is vague.",
    "{l} is good, but {w} is better.",
    "Loser: {l}\nWinner: {w}",
)
NO_WINS = (
    "{w} = {l}",
    "{w} or {l}",
    "[[{w}]] or [[{l}]]",
    "If accuracy counts, [[{w}]]; otherwise [[{l}]]",
    "Verdict: {w}, {l}",
    "Verdict: {w}, {l} are equal",
    "Verdict: {w} → {l}",
    '{{"verdict": "{w}", "verdict": "{l}"}}',
    "{{'verdict': '{w}', 'verdict': '{l}',}}",
)
PAIRS = (("A", "B"), ("A", "B", "tie"), ("Assistant A", "Assistant B", "tie"), ("model_a", "model_b"))
GRADES = ("high", "medium", "low")
KINDS = ("comply", "refuse", "partial")


def notations() -> Iterator[dict[str, Any]]:
    """Return entries of each notation: alone, and in some of the frames in turn."""
    turn = 0
    for group, alone, frames, kind in (
        (LATEX_ONLY, (), LATEX, "LaTeX"),
        (ANYWHERE, WHOLE, PLAIN, "notation"),
        (WITH_UNITS, (), PLAIN, "units, signs in words, sums"),
        *(
            (group, (), tuple(one for one in PLAIN if one.language in (language, "en")), f"notation of {language}")
            for language, group in OF_LANGUAGES.items()
        ),
        (NO_NUMBER, (), tuple(one for one in PLAIN if "nswer: {}" in one.text or "value" in one.text), "no number"),
        (NO_NUMBER_IN_LATEX, (), LATEX[:4], "no number in LaTeX"),
    ):
        for one in group:
            chosen = {frames[(turn + number) % len(frames)] for number in range(FRAMES_OF_A_NOTATION)}
            turn += FRAMES_OF_A_NOTATION
            for frame in (*alone, *sorted(chosen)):
                readers = [
                    one for one in frame.readers if group not in (NO_NUMBER, NO_NUMBER_IN_LATEX) or one in ANNOUNCED
                ]
                if not any(sign.isdecimal() for sign in one.text):
                    readers = [one for one in readers if one != "last_number"]  # numerals in words are no digits
                if one.value is None or (one.value == int(one.value) and abs(one.value) < LARGEST):
                    readers.append("returns integer")
                text = frame.text.format(one.text.replace("\\", "\\\\") if frame.readers == TYPED else one.text)
                yield {
                    "readers": readers,
                    "text": text,
                    "locale": one.locale,
                    "want": one.value,
                    "person": one.person and one.value is not None,
                    "class": kind,
                }


def denials() -> Iterator[dict[str, Any]]:
    """Return entries of each name under each negator: that name is never meant."""
    for number, frame in enumerate((*DENIED, *DENIED_LETTERS)):
        letter = "ABCD"[number % 4]
        yield {
            "readers": ["returns choice", "chosen_option", "option_letters"],
            "text": frame.format(letter),
            "names": list("ABCD"),
            "options": COLOURS,
            "want": None,
            "person": False,
            "class": "denied letter",
        }
    for names in (GRADES, KINDS):
        for number, frame in enumerate(DENIED):
            yield {
                "readers": ["returns choice"],
                "text": frame.format(names[number % 3]),
                "names": list(names),
                "want": None,
                "person": False,
                "class": "denied name",
            }
    for number, frame in enumerate(DENIED):
        for text in (frame.format("correct"), json.dumps({"value": frame.format("correct")}, ensure_ascii=False)):
            if number % 2 or text.startswith("{"):
                yield {
                    "readers": ["returns choice"],
                    "text": text,
                    "names": ["correct", "partially correct", "incorrect"],
                    "want": "incorrect",
                    "person": False,
                    "class": "denied verdict",
                }


def explained() -> Iterator[dict[str, Any]]:
    """Return entries of an announced answer and an explanation that names another answer."""
    for kind, readers, answer, other in (
        ("letter, explained", ["returns choice", "chosen_option"], "B", "A"),
        ("letter, explained", ["option_letters"], "B", "A"),
        ("name, explained", ["returns choice"], "high", "low"),
        ("number, explained", ["returns number", "final_number", "returns integer"], "42", "48"),
    ):
        for announcement in ANNOUNCEMENTS:
            for explanation in EXPLANATIONS:
                alone = announcement.strip("*") == "{}"
                yield {
                    "readers": [one for one in readers if not (alone and one == "final_number")],
                    "text": f"{announcement.format(answer)}\n\n{explanation.format(other)}",
                    "names": list(GRADES if answer == "high" else "ABCD"),
                    "options": COLOURS,
                    "want": [answer] if readers == ["option_letters"] else int(answer) if answer == "42" else answer,
                    "person": True,
                    "class": kind,
                }


def corrections() -> Iterator[dict[str, Any]]:
    """Return entries of an announced answer with another one behind it: in its place, or in an ordinary sentence."""
    forms = [form for form in ANNOUNCEMENTS if form[0] not in "<$*{" and not form.endswith("}")]
    for form in (*forms, "答案是{}。", "Answer: ({})"):
        for behind in (*CORRECTIONS, *NO_CORRECTIONS):
            corrected = behind in CORRECTIONS
            kind = "correction" if corrected else "words of a correction"
            yield {
                "readers": ["returns number", "final_number", "returns integer"],
                "text": form.format("42") + behind.format("48"),
                "want": 48 if corrected else 42,
                "person": True,
                "class": kind,
            }
            if corrected and form != "答案是{}。":
                yield {
                    "readers": ["returns choice", "chosen_option"],
                    "text": form.format("B") + behind.format("A"),
                    "names": list("ABCD"),
                    "options": COLOURS,
                    "want": "A",
                    "person": True,
                    "class": kind,
                }
    for form in ("Score: {}", "Score: {}/10", "I give it {}.", "{}/10", "得分：{}。", "Final score: {}/10.", "[[{}]]"):
        for behind in (*CORRECTIONS, *NO_CORRECTIONS, "\n\nConfidence: 3", ", 3 points lost for style"):
            corrected = behind in CORRECTIONS and form != "[[{}]]"
            yield {
                "readers": ["score", "score of a range"],
                "text": form.format(7) + (behind if not corrected else behind.format(5)).replace("{}", "[[7]]"),
                "scale": [1, 10],
                "want": 5 if corrected else 7,
                "person": True,
                "class": "correction" if corrected else "words of a correction",
            }


def comparisons() -> Iterator[dict[str, Any]]:
    """Return entries of comparisons in both directions: the worse name is never read."""
    for names in PAIRS:
        for winner, loser in (names[:2], names[1::-1]):
            for frame in (*WINS, *NO_WINS):
                yield {
                    "readers": ["returns choice"],
                    "text": frame.format(w=winner, l=loser),
                    "names": list(names),
                    "want": winner if frame in WINS else None,
                    "person": frame in WINS[:4],
                    "class": "comparison",
                }


def main() -> None:
    """Write the files."""
    for name, entries in (
        ("number_notations", notations()),
        ("negated_names", denials()),
        ("explained_answers", explained()),
        ("corrections", corrections()),
        ("comparisons", comparisons()),
    ):
        lines = [
            json.dumps({"id": f"{name}-{number:04}", **entry}, ensure_ascii=False)
            for number, entry in enumerate(entries, 1)
        ]
        (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
