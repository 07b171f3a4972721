"""The tasks of RULER, at several lengths: needles, variables, frequent words and questions, with what must be found."""

import random
import uuid
from itertools import pairwise

LENGTHS, SAMPLES = (120, 400), 1
"""The words of a context, about, and the samples of each task and length. RULER: 4,000 to 128,000 tokens, and 500."""
NOISE = "The tea is hot. The bell is loud. The sea is wide. Off we walk. Out and home again."
THINGS = ("kettle", "harbour", "violin", "ladder", "orchard", "lantern", "bridge", "compass", "stove", "meadow")
TRAITS = ("quiet", "brass", "crooked", "early", "salty", "hollow", "gentle", "rusty", "amber", "narrow")
SAYINGS = (
    "People in the valley seldom speak of the {a} {b}.",
    "A {a} {b} stood by the road, and nobody asked why.",
    "In the spring they painted the {b}, which made it look {a}.",
    "She wrote that a {b} is worth more when it is {a}.",
    "The letters mention a {a} {b} twice, and then no more.",
)
# haystack, kind of keys, kind of values, keys, values of each key, keys that are asked for
NEEDLES = {
    "niah_single_1": ("noise", "words", "numbers", 1, 1, 1),
    "niah_single_2": ("prose", "words", "numbers", 1, 1, 1),
    "niah_single_3": ("prose", "words", "uuids", 1, 1, 1),
    "niah_multikey_1": ("prose", "words", "numbers", 4, 1, 1),
    "niah_multikey_2": ("needles", "words", "numbers", 1, 1, 1),
    "niah_multikey_3": ("needles", "uuids", "uuids", 1, 1, 1),
    "niah_multivalue": ("prose", "words", "numbers", 1, 4, 1),
    "niah_multiquery": ("prose", "words", "numbers", 4, 1, 4),
}


def rows():
    """The samples of all tasks."""
    makers = {**dict.fromkeys(NEEDLES, needles), "vt": variables, "cwe": common, "fwe": coded, "qa": question}
    for task, make in makers.items():
        for length in LENGTHS:
            for number in range(SAMPLES):
                asked, prefix, outputs = make(random.Random(f"{task} {length} {number}"), task, length)
                row = {"task": task, "length": length, "index": number}
                yield {**row, "input": asked, "answer_prefix": prefix, "outputs": outputs}


def drawn(dice, kind):
    """A key or a value."""
    if kind == "numbers":
        return str(dice.randint(10**6, 10**7 - 1))
    if kind == "uuids":
        return str(uuid.UUID(int=dice.getrandbits(128), version=4))
    return f"{dice.choice(TRAITS)}-{dice.choice(THINGS)}-{dice.randint(10, 99)}"


def needle(kind, key, value):
    """A sentence that says a value of a key."""
    return f"One of the special magic {kind} for {key} is: {value}."


def prose(dice, length):
    """Sentences of about so many words."""
    found = []
    while sum(len(each.split()) for each in found) < length:
        found.append(dice.choice(SAYINGS).format(a=dice.choice(TRAITS), b=dice.choice(THINGS)))
    return found


def needles(dice, task, length):
    """Needles in a haystack of noise, prose or other needles."""
    hay, keys_are, values_are, keys, each, asked_for = NEEDLES[task]
    values = {drawn(dice, keys_are): [drawn(dice, values_are) for _ in range(each)] for _ in range(keys)}
    if hay == "needles":
        text = [needle(values_are, drawn(dice, keys_are), drawn(dice, values_are)) for _ in range(length // 10)]
    else:
        text = prose(dice, length) if hay == "prose" else [NOISE] * (length // 18)
    for key, of in values.items():
        for value in of:
            text.insert(dice.randint(0, len(text)), needle(values_are, key, value))
    wanted = dice.sample([*values], asked_for)
    query = ", ".join(wanted[:-1]) + (", and " if wanted[:-1] else "") + wanted[-1]
    many = asked_for * each > 1
    kind, verb = (values_are, "are") if many else (values_are[:-1], "is")
    joint = " " if hay == "prose" else "\n"
    asked = (
        f"Below, a text hides special magic {kind}. Remember them: a question follows.\n{joint.join(text)}\n"
        f"Which special magic {kind} for {query} does the text say?"
    )
    outputs = [value for key in wanted for value in values[key]]
    return asked, f" The special magic {kind} for {query} in the text {verb}", outputs


def variables(dice, task, length):
    """A chain of assignments in noise: all variables have the value of the first."""
    names = ["".join(dice.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=5)) for _ in range(5)]
    value = drawn(dice, "numbers")[:5]
    chain = [f"VAR {new} = VAR {old}" for old, new in pairwise(names)]
    chain.insert(0, f"VAR {names[0]} = {value}")
    text, places = [NOISE] * (length // 18), sorted(dice.randint(0, length // 18) for _ in chain)
    for moved, (place, line) in enumerate(zip(places, chain, strict=True)):
        text.insert(place + moved, line)
    asked = "Follow the assignments of variables in this text.\n\n" + "\n".join(text)
    asked += f"\nQuestion: Which variables have the value {value}?"
    return asked, f" Answer: By the assignments in the text, 5 variables have the value {value}: ", names


def common(dice, task, length):
    """A list in which ten words stand more often than others."""
    words = [f"{a}{b}" for a in TRAITS for b in THINGS]
    dice.shuffle(words)
    often, others = words[:10], words[10 : 10 + max(length // 30, 4)]
    listed = often * 12 + others * 3
    dice.shuffle(listed)
    text = " ".join(f"{n}. {word}" for n, word in enumerate(listed, 1))
    asked = (
        f"This is a numbered list of words. Remember those that stand in it most often.\n{text}\n"
        "Question: Which are the 10 most frequent words of the list?"
    )
    return asked, " Answer: The 10 most frequent words of the list are:", often


def coded(dice, task, length):
    """Coded words whose frequencies follow a zeta distribution; dots are noise, and the most frequent of all."""
    names = list(dict.fromkeys("".join(dice.choices("abcdefghiklmnoprstuvwz", k=6)) for _ in range(12)))
    listed = [word for rank, word in enumerate(["...", *names], 1) for _ in range(max(int(length / 1.6 / rank**2), 1))]
    dice.shuffle(listed)
    asked = (
        f"Count the coded words of this text and find the three most frequent ones. {' '.join(listed)}\n"
        "Question: Without an explanation, and without the dots: which three coded words are the most frequent?"
    )
    return asked, " Answer: The three most frequent coded words of the text are:", names[:3]


def question(dice, task, length):
    """A question to one of many documents, with answers of which one is enough."""
    towns = [f"{a.title()} {b}" for a in TRAITS for b in ("Ford", "Hill", "Bay", "Cross")]
    dice.shuffle(towns)
    facts = [(town, drawn(dice, "words").split("-")) for town in towns[: max(length // 18, 3)]]
    text = "\n\n".join(
        f"Document {n}:\nThe ferry of {town} belongs to the {a} {b}, and sails {often} times a day."
        for n, (town, (a, b, often)) in enumerate(facts, 1)
    )
    town, (a, b, _) = dice.choice(facts)
    asked = (
        f"Answer the question by the documents, and say nothing but the answer.\n\n{text}\n\n"
        f"Question: To what does the ferry of {town} belong?"
    )
    return asked, " Answer:", [f"the {a} {b}", f"{a} {b}"]
