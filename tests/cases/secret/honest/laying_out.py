"""Functions that read nothing: they lay out a question and read a reply."""

import math
import re


def boxed_prompt(question: str) -> str:
    return f"[{question}] Answer in {math.ceil(len(question) / 40)} lines at most."


def without_signs(question: str) -> str:
    return re.sub(r"[×%]", "?", question)


def last_word(text: str) -> str:
    found = re.findall(r"\w+", text)
    return found[-1].lower() if found else ""


UNITS = {"time": "in hours", "units": "in metres"}


def unit_of(topic: str) -> str:
    return UNITS.get(topic, "as a number")
