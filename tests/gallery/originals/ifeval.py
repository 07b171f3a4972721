"""Verdicts of lm-eval 0.4.13 (MIT; its checkers are Google's, Apache-2.0) on IFEval: `ifeval/utils.py`. Run it in an
environment that has lm-eval[ifeval] and nltk's punkt_tab."""

import random

import langdetect
from lm_eval.tasks.ifeval import utils
from loading import store

ARGUMENTS = {
    "keywords:existence": [{"keywords": ["kettle", "tea"]}, {"keywords": ["Fuse"]}],
    "keywords:frequency": [{"keyword": "tea", "frequency": 2, "relation": "at least"},
                           {"keyword": " fuse ", "frequency": 1, "relation": "less than"}],
    "keywords:forbidden_words": [{"forbidden_words": ["wet", "tea"]}, {"forbidden_words": ["fuse"]}],
    "keywords:letter_frequency": [{"letter": "T", "let_frequency": 5, "let_relation": "at least"},
                                  {"letter": "z", "let_frequency": 1, "let_relation": "less than"}],
    "language:response_language": [{"language": "de"}, {"language": "en"}],
    "length_constraints:number_sentences": [{"num_sentences": 3, "relation": "at least"},
                                            {"num_sentences": 4, "relation": "less than"}],
    "length_constraints:number_paragraphs": [{"num_paragraphs": 2}, {"num_paragraphs": 3}],
    "length_constraints:number_words": [{"num_words": 12, "relation": "less than"},
                                        {"num_words": 15, "relation": "at least"}],
    "length_constraints:nth_paragraph_first_word": [{"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Tea"},
                                                    {"num_paragraphs": 3, "nth_paragraph": 1, "first_word": "the"}],
    "detectable_content:number_placeholders": [{"num_placeholders": 2}],
    "detectable_content:postscript": [{"postscript_marker": "P.S."}, {"postscript_marker": "P.P.S"}],
    "detectable_format:number_bullet_lists": [{"num_bullets": 2}, {"num_bullets": 3}],
    "detectable_format:constrained_response": [{}],
    "detectable_format:number_highlighted_sections": [{"num_highlights": 1}, {"num_highlights": 3}],
    "detectable_format:multiple_sections": [{"section_spliter": "Section", "num_sections": 2}],
    "detectable_format:json_format": [{}],
    "detectable_format:title": [{}],
    "combination:two_responses": [{}],
    "combination:repeat_prompt": [{"prompt_to_repeat": "Tell me of tea."}],
    "startend:end_checker": [{"end_phrase": "Keep it safe."}, {"end_phrase": " any other questions? "}],
    "startend:quotation": [{}],
    "change_case:capital_word_frequency": [{"capital_frequency": 3, "capital_relation": "at least"},
                                           {"capital_frequency": 2, "capital_relation": "less than"}],
    "change_case:english_capital": [{}],
    "change_case:english_lowercase": [{}],
    "punctuation:no_comma": [{}],
}  # fmt: skip
PIECES = (
    "Tea is a drink, and the kettle is hot.",
    "The fuse of the U.S. plug blew! Dr. Lee fixed it... at 3.5 V.",
    "Tell me of tea.",
    "My answer is no.",
    "<<A title>>",
    "<< >>",
    "* one point\n- another\n* *third*",
    "Section 1\nText [name] of [place].\nSection 2\nMore.",
    "p. s. do not forget",
    "P.P.S one more thing",
    "Keep it safe.",
    'Any other questions?"',
    '{"tea": [1, 2]}',
    "*light* and **bright** and ** **",
    "******",
    "***",
    "Der Tee ist heiß und die Sicherung ist durchgebrannt.",
    "THE FUSE OF THE NASA X-RAY IS WET AND BROKEN.",
    "all of this is written in small letters and nothing else is here",
    "\"'Tea', he said.\"",
)
ODD = (
    "", " \n ", "1 2 3", "—", '```json\n{"a": 1}\n```', "```\nnot json\n```", '"', '""', "日本茶は美味しい。", "TEA",
    "***\n\n***",
)  # fmt: skip


def main() -> None:
    langdetect.DetectorFactory.seed = 0
    dice = random.Random(2311)
    lines = []
    for number in range(200):
        chosen = (
            dice.sample(list(ARGUMENTS), dice.choice((1, 1, 2, 3))) if number >= 50 else [list(ARGUMENTS)[number % 25]]
        )
        wanted = [(name, dice.choice(ARGUMENTS[name])) for name in chosen]
        pieces = [dice.choice(PIECES) for _ in range(dice.choice((1, 2, 2, 3, 4)))]
        reply = dice.choice((" ", "\n", "\n\n", "\n\n")).join(pieces)
        reply = dice.choice(
            (reply, reply, reply, f'"{reply}"', f"Sure:\n{reply}\nGood luck", reply.upper(), reply.lower())
        )
        reply = dice.choice(ODD) if number % 9 == 5 else reply
        row = {"key": number, "prompt": f"Prompt {number}", "instruction_id_list": [name for name, _ in wanted]}
        row["kwargs"] = [each | {"unused": None} if number % 4 == 0 else each for _, each in wanted]
        scores = utils.process_results(row, [reply])
        lines.append({"row": row, "reply": reply, **{name.removesuffix("_acc"): each for name, each in scores.items()}})
    store("ifeval", lines)


main()
