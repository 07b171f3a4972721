"""Writes what the authors' scorer says of verdicts drawn by dice: `python tutoreval.py CHECKOUT ../verdicts/tutoreval.jsonl`.

It is `grade` of tutoreval/grade.py and the script tutoreval/get_results.py in princeton-nlp/LM-Science-Tutor at
82c63dc, which has no licence: nothing of it is here. Needs pandas.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import sys
import tempfile
import types
from pathlib import Path

checkout, to = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
for name in ("utils.openai_utils", "rich", "tqdm"):
    sys.modules[name] = types.ModuleType(name)  # a client and two ways to print: no part of the scorer
sys.modules["utils.openai_utils"].OpenAI = object
sys.modules["rich"].print = lambda *shown: None
sys.modules["tqdm"].tqdm = iter
sys.path.insert(0, str(checkout / "tutoreval"))

from grade import grade  # noqa: E402

dice = random.Random(2402)
MARKS = ["0", "0.5", "1", "1.5", "2", "2.5", "3"]


def verdict() -> str:
    """Draw what a grader says: mostly the form that is asked for, and now and then another."""
    one, two = dice.choice(MARKS), dice.choice(MARKS)
    usual = f"PRESENTATION: It is clear. GRADE: {one}/3\nCORRECTNESS: It is right. GRADE: {two}/3"
    odd = [
        f"**PRESENTATION:** It is clear. **GRADE: {one}/3**\n**CORRECTNESS:** It is right. **GRADE: {two}/3**",
        f"PRESENTATION: Good.\nGRADE:{one}/3\n\nCORRECTNESS: Bad.\nGRADE:  {two}/3",
        f"PRESENTATION: Good. GRADE: {one} / 3\nCORRECTNESS: Bad. GRADE: {two}/3",
        f"PRESENTATION: Two faults: 1 in the text. GRADE: {one}/3\nCORRECTNESS: Fine. GRADE: {two}/3",
        f"PRESENTATION: Fine. GRADE: {one}/3 (of 3/3)\nCORRECTNESS: Fine. GRADE: {two}/3",
        f"PRESENTATION: 3 points. GRADE: {one}/3",
        f"PRESENTATION GRADE: {one}/3, CORRECTNESS GRADE: {two}/3",
        f"PRESENTATION: {one}/3\nCORRECTNESS: {two}/3\nOVERALL: 1/3",
        f"PRESENTATION: gut. GRADE: {one.replace('.', ',')}/3\nCORRECTNESS: gut. GRADE: 2,5/3",
        "PRESENTATION: Good. GRADE: 2½/3\nCORRECTNESS: Good. GRADE: 3/3",
        "PRESENTATION: 好。GRADE：2/3\nCORRECTNESS: 好。GRADE：3/3",
        "PRESENTATION: Good. GRADE: ２/3\nCORRECTNESS: Good. GRADE: ١/3",
        "PRESENTATION: Good. GRADE: 2./3\nCORRECTNESS: Good. GRADE: 5/3",
        "PRESENTATION: Good. GRADE: -1/3\nCORRECTNESS: Good. GRADE: 3/3",
        "PRESENTATION: Good. GRADE: 2-3/3\nCORRECTNESS: Good. GRADE: 3/3",
        "PRESENTATION: Good. GRADE: three of three\nCORRECTNESS: Good. GRADE: 3/3",
        "PRESENTATION: Good. GRADE: $\\frac{2}{3}$\nCORRECTNESS: Good. GRADE: $2/3$",
        "PRESENTATION: Good. GRADE: 2/3 CORRECTNESS: Good. GRADE: 3/3",
        "PRESENTATION: Good. GRADE: 02/3\nCORRECTNESS: Good. GRADE: 1.50/3",
        "I cannot grade this.",
        "",
    ]
    return usual if dice.random() < 0.7 else dice.choice(odd)


def graded(rows: list[dict[str, object]]) -> dict[str, object]:
    """Return the figures of the authors' scripts, which add the grades to the rows."""
    said = iter([row["verdict"] for row in rows])
    grader = types.SimpleNamespace(complete=lambda conversation: next(said))
    grade(grader, rows, types.SimpleNamespace(template="{output}"))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("given/openbook").mkdir(parents=True)
        Path("given/openbook/m.json").write_text(json.dumps(rows), "utf-8")
        sys.argv = ["get_results.py", "--output_dir", "given", "--results_dir", "out", "--model", "m"]
        runpy.run_path(str(checkout / "tutoreval" / "get_results.py"), run_name="__main__")
        return dict(json.loads(Path("out/openbook/m.json").read_text("utf-8")))


rows = [
    {"output": f"answer {number:03}", "verdict": verdict(), "closed_book": dice.random() < 0.4}
    | {"answer_in_chapter": dice.random() < 0.5, "misleading_question": dice.random() < 0.2}
    | {"difficulty": dice.choice(["easy", "hard"]), "domain": dice.choice(["math", "physics", "life_sciences"])}
    for number in range(300)
]
figures = {"open": graded(rows), "closed": graded([row for row in rows if row["closed_book"]])}
kept = [{name: value for name, value in row.items() if name != "grading_out"} for row in rows]
to.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in [*kept, {"figures": figures}]), "utf-8")
