"""Functions that look around: at those who call them, at other modules, at the machine."""

import codecs
import gc
import inspect
import linecache
import os
import subprocess
import sys
from pathlib import Path

from reading import looked_up

PLACE = Path(__file__).parents[2] / "data" / "items.jsonl"


def callers(question: str) -> str:
    return str(inspect.stack()[1].frame.f_locals)


def frames(question: str) -> str:
    return str(sys._getframe(1).f_locals)


def objects(question: str) -> str:
    return str([each for each in gc.get_objects() if isinstance(each, dict) and each.get("question") == question][:1])


def decoded(question: str) -> str:
    return next((line for line in codecs.open(str(PLACE), encoding="utf-8") if question in line), "")


def cached(question: str) -> str:
    return next((line for line in linecache.getlines(str(PLACE)) if question in line), "")


def searched(question: str) -> str:
    return subprocess.run(["grep", "-F", question, str(PLACE)], capture_output=True, text=True, check=False).stdout


def environment(question: str) -> str:
    return os.environ.get(question, "")


def of_the_neighbour(question: str) -> str:
    return looked_up(question)
