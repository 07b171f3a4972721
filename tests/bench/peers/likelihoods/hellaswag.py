"""The texts of HellaSwag as the LM Evaluation Harness makes them of its rows."""

import re


def cleaned(text: str) -> str:
    """A text without the marks that are left of the pages it is from."""
    text = text.strip().replace(" [title]", ". ")
    return re.sub("\\[.*?\\]", "", text).replace("  ", " ")


def query(activity: str, first: str, second: str) -> str:
    """The text before an ending."""
    return cleaned(f"{activity}: {first} {second.capitalize()}")


def endings(texts: list[str]) -> list[str]:
    """The endings, cleaned."""
    return [cleaned(text) for text in texts]
