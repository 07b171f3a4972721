"""A function that opens a file by a name that does not stand in it."""


def hidden(question: str) -> str:
    opened = getattr(__import__("io"), "op" + "en")(
        __file__.replace("leaks/python_functions/hiding.py", "data/items.jsonl")
    )
    return next((line for line in opened if question in line), "")
