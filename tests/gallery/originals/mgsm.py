"""Verdicts of lm-eval 0.4.13 (MIT) on MGSM: `mgsm/native_cot`. Run it in an environment that has lm-eval."""

import random
from pathlib import Path
from typing import Any

from asking import verdicts
from loading import store

CODES = ("bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh")
CLOSINGS = {
    "de": "Die Antwort lautet {0}.",
    "es": "La respuesta es {0}.",
    "fr": "La réponse est {0}.",
    "ja": "答えは{0}です。",
    "ru": "Ответ — {0}.",
    "sw": "Jibu ni {0}.",
    "te": "సమాధానం {0}.",
    "th": "คำตอบคือ {0}",
    "zh": "答案是 {0}。",
}
FORMS = (
    "{1} - 2 = 3. {closing}", "{closing}", "{closing} {1} more.", "{1}... {0}", "The answer is {0}.", "${0}.00",
    "{0},000 or {0}", "-{0}", "= {0}!", "{0} 2 3 \n", "x{0}y", "$.,", "৪২ {0}", "４２", "", " ", "I cannot do sums.",
    "{closing}\n\nQ: {1}", "\u00a0{0}\u3000", "one",
)  # fmt: skip


def main() -> None:
    dice = random.Random(2210)
    lines = []
    for code in CODES:
        rows = [
            {"question": f"Problem {number}?", "answer": None, "answer_number": dice.choice((3, 18, 1200, -7, 42)),
             "equation_solution": None}
            for number in range(20)
        ]  # fmt: skip
        # What stands before the questions and answers of the worked examples of a language is in the words of the spec.
        path = Path(__file__).parents[3] / "specs" / "gallery" / "mgsm" / "words.csv"
        words = next(line for line in path.read_text("utf-8").splitlines() if line.startswith(code + ",")).split(",")
        worked = [
            {"question": f"{words[1]} Worked {number}?", "answer": f"{words[2]} 5 - 2 = 3.", "answer_number": 3,
             "equation_solution": None}
            for number in range(8)
        ]  # fmt: skip

        def reply(number: int, text: str, options: list[str], rows: Any = rows, code: str = code) -> list[str]:
            true = rows[number]["answer_number"]
            said = dice.choice((f"{true}", f"{true}", f"{true:,}", f"{true}.0", "17", f"{true}."))
            closing = CLOSINGS.get(code, "The answer is {0}.").format(said)
            return [FORMS[number % len(FORMS)].format(said, dice.randint(2, 99), closing=closing)]

        path_of_task = f"mgsm/native_cot/mgsm_native_cot_{code}.yaml"
        for each in verdicts(path_of_task, {"test": rows, "train": worked}, reply, shots=8):
            scores = {name: score["exact_match"] for name, score in each["scores"].items()}
            first, *_, last = each["text"].split("\n\n")
            sent = {"first": first, "last": last, "examples": each["text"].count("Worked")}
            line = {"language": code, "row": rows[each["number"]], **sent, "reply": each["said"][0]}
            lines.append(line | {"strict": scores["strict-match"], "flexible": scores["flexible-extract"]})
    store("mgsm", lines)


main()
