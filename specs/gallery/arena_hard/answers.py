"""The answers of a baseline, as the files of Arena-Hard have them."""

import json


def answer_of(content: str) -> str:
    """The text of a message's content in JSON: a text, or a record with the text as its `answer`."""
    value = json.loads(content)
    return str(value["answer"] if isinstance(value, dict) else value)
