"""Functions whose source does not say what they do."""

CODE = "next((l for l in op" + "en(__file__.rsplit('leaks', 1)[0] + 'data/items.jsonl') if question in l), '')"


def evaluated(question: str) -> str:
    return str(eval(CODE))


def executed(question: str) -> str:
    names = {"question": question, "__file__": __file__}
    exec("found = " + CODE, names)
    return str(names["found"])


def by_the_builtins(question: str) -> str:
    opened = __builtins__["open"] if isinstance(__builtins__, dict) else __builtins__.open
    return next((line for line in opened(__file__.rsplit("leaks", 1)[0] + "data/items.jsonl") if question in line), "")


def by_the_classes(question: str) -> str:
    return str([each for each in ().__class__.__base__.__subclasses__() if question in str(vars(each))][:1])


def by_a_format(question: str) -> str:
    return "{0.__globals__[CODE]}".format(evaluated)  # noqa: UP030, UP032
