"""A function that folds lines, by a module of which nothing is known."""

import textwrap


def folded(text: str) -> str:
    return textwrap.fill(text, 40)
