"""Scoring of lm-eval's tasks: filters of replies, metrics, and figures of a whole data set.

A figure that a task computes in Python is recognized by its code, which is parsed and never executed. It is known if it
passes the targets and predictions to scikit-learn's `f1_score` or `matthews_corrcoef` and returns the result.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripos.importing.spec_text import Note, NotTranslatable, joined, listed, name_of, quoted
from tripos.importing.tasks.lm_eval_prompts import PromptTranslation
from tripos.importing.tasks.lm_eval_templates import ColumnShape, PythonName, TaskFields, TemplateValue, item_at
from tripos.source_files import SourceFolder

_F1 = '''
def weighted_f1(gold: list[int], said: list[int]) -> float:
    """Return the F1 of each class, weighted by how often the class is right, as scikit-learn's `average="weighted"`."""
    total = 0.0
    for label in set(gold):
        right = sum(g == s == label for g, s in zip(gold, said, strict=True))
        total += gold.count(label) * 2 * right / (gold.count(label) + said.count(label))
    return total / len(gold)
'''
_PERPLEXITY = '''
def weighted_perplexity(nats: list[float], counts: list[int]) -> float:
    """Return the exponential of the negative log-likelihoods, divided by the number of words, bytes or texts."""
    return math.exp(sum(nats) / sum(counts))
'''
_BITS = '''
def bits_per_byte(nats: list[float], counts: list[int]) -> float:
    """Return the bits for each byte."""
    return sum(nats) / sum(counts) / math.log(2)
'''
_EXTRACT = '''
def extract(text: str, pattern: str, which: int, fallback: str) -> str:
    """Return one of the matches of a regular expression: its first group that is not empty."""
    every = re.findall(pattern, text)
    if not every:
        return fallback
    match = every[which]
    if isinstance(match, tuple):
        match = next((each for each in match if each), fallback)
    return match.strip()
'''
_MULTI_CHOICE = '''
def multi_choice(
    text: str, choices: list[str], pattern: str, which: int, fallback: str, case: bool, marks: bool, ignored: list[str]
) -> str:
    """Return the letter in brackets of a reply: by a regular expression, a text of a choice, or after a colon."""

    def plain(given: str) -> str:
        for each in ignored:
            given = re.sub(each, "", given) if each else given
        given = given.lower() if case else given
        return "".join(each for each in given if not (marks and unicodedata.category(each).startswith("P")))

    def first(regex: str, where: str, names: dict[str, str]) -> str:
        every = re.findall(regex, where)
        match = every[which] if every else ""
        if isinstance(match, tuple):
            match = next((each for each in match if each), "")
        return names.get(match.strip(), match.strip())

    letters = [chr(ord("A") + place) for place in range(len(choices))]
    known = {plain(each.strip()): f"({letter})" for each, letter in zip(choices, letters, strict=True)}
    texts = sorted((re.escape(plain(each.strip())) for each in choices), key=len, reverse=True)
    found_letter = first(pattern, text, {}) or first("|".join(texts), plain(text), known)
    behind = ":[\\\\s]*(" + "|".join(letters) + ")"
    return found_letter or first(behind, text, {each: f"({each})" for each in letters}) or fallback
'''


@dataclass(frozen=True)
class KnownFigure:
    """A figure of targets and predictions: the call of an aggregate, and its source if it is a Python aggregate."""

    name: str
    pattern: str
    declared: str = ""
    source: str = ""

    @property
    def statement(self) -> str:
        """The beginning of its declaration in a spec: an aggregate, or a function of one row."""
        return f"aggregate {self.declared} -> number" if self.declared else f"function {self.name}"

    def call(self, gold: str, said: str) -> str:
        """Return the code of the figure of two columns."""
        return self.pattern.format(gold=gold, said=said)


FIGURES = {
    "extract": KnownFigure("extract", "", source=_EXTRACT),
    "multi_choice": KnownFigure("multi_choice", "", source=_MULTI_CHOICE),
    "weighted_perplexity": KnownFigure(
        "weighted_perplexity", "", "weighted_perplexity(nats: list<number>, counts: list<integer>)", _PERPLEXITY
    ),
    "bits_per_byte": KnownFigure(
        "bits_per_byte", "", "bits_per_byte(nats: list<number>, counts: list<integer>)", _BITS
    ),
    "weighted": KnownFigure(
        "weighted_f1", "weighted_f1({gold}, {said})", "weighted_f1(gold: list<integer>, said: list<integer>)", _F1
    ),
    "micro": KnownFigure("f1_micro", "f1({said}, {gold}, average: micro)"),
    "macro": KnownFigure("f1_macro", "f1({said}, {gold}, average: macro)"),
    "binary": KnownFigure("f1", "f1({said} == 1, {gold} == 1, average: binary, positive: true)"),
    "mcc": KnownFigure("mcc", "mcc({said}, {gold})"),
}


def figure_of(source: str) -> KnownFigure:
    """Return the figure that a Python function computes, given its source. Raises `NotTranslatable` for an unknown
    one."""
    try:
        function = ast.parse(source).body[0]
    except (SyntaxError, IndexError, ValueError, RecursionError, MemoryError) as error:
        raise NotTranslatable("an aggregation in Python that cannot be read") from error
    if not isinstance(function, ast.FunctionDef):
        raise NotTranslatable("an aggregation that is no function")
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    known = [call for call in calls if _name(call) in ("f1_score", "matthews_corrcoef")]
    others = {_name(call) for call in calls} - {"f1_score", "matthews_corrcoef", "list", "zip", "max"}
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For | ast.While | ast.If | ast.comprehension)]
    operations = [node for node in ast.walk(function) if isinstance(node, ast.BinOp)]
    if len(known) != 1 or others or loops or operations:
        raise NotTranslatable(f"`{function.name}` is an aggregation in Python")
    exprs = {keyword.arg: keyword.value for keyword in known[0].keywords}
    if set(exprs) - {"average"} or [getattr(argument, "id", "") for argument in known[0].args] != ["golds", "preds"]:
        raise NotTranslatable(f"`{function.name}` is an aggregation in Python")
    if _name(known[0]) == "matthews_corrcoef":
        return FIGURES["mcc"]
    average = getattr(exprs.get("average"), "value", "binary")
    if average not in FIGURES:
        raise NotTranslatable(f"`{function.name}` takes the average `{average}`")
    return FIGURES[average]


def _name(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


# Filters of replies
REGEX = r"#### (\-?[0-9\.\,]+)"
INVALID = "[invalid]"


@dataclass
class FilteredReply:
    """The result of a filter for a reply, under the name of the filter."""

    name: str
    code: str
    functions: dict[str, KnownFigure] = field(default_factory=dict)
    """The Python functions that it calls."""


def apply_filters(config: Mapping[str, Any], reply: str, fields: TaskFields) -> list[FilteredReply]:
    """Return the results of every filter of a task. Raises `NotTranslatable`."""
    given = config.get("filter_list") or [{"name": "none", "filter": [{"function": "take_first"}]}]
    return [_apply_filter(each, reply, fields) for each in given]


def _apply_filter(given: Mapping[str, Any], reply: str, fields: TaskFields) -> FilteredReply:
    filtered_reply = FilteredReply(name_of(str(given["name"])), reply)
    for step in given["filter"]:
        function = step["function"]
        match function:
            case "take_first":
                continue
            case "take_first_k" | "majority_vote":
                raise NotTranslatable(f"the filter `{function}`, which takes several replies")
            case "remove_whitespace":
                filtered_reply.code = f"trim({filtered_reply.code})"
            case "lowercase":
                filtered_reply.code = f"lower({filtered_reply.code})"
            case "uppercase":
                filtered_reply.code = f"upper({filtered_reply.code})"
            case "map":
                filtered_reply.code = _mapped(step, filtered_reply.code)
            case "regex":
                _regex(step, filtered_reply)
            case "multi_choice_regex":
                _choice(step, filtered_reply, fields)
            case _:
                raise NotTranslatable(f"the filter `{function}`")
    return filtered_reply


def _mapped(step: Mapping[str, Any], code: str) -> str:
    table, other = step.get("mapping_dict") or {}, step.get("default_value")
    chosen = quoted("" if other is None else str(other))
    for key, value in reversed(list(table.items())):
        chosen = f"choose({code} == {quoted(str(key))}, {quoted(str(value))}, {chosen})"
    return chosen


def _regex(step: Mapping[str, Any], filtered_reply: FilteredReply) -> None:
    """Apply a regular expression: with the language's function if it always finds the same text, and else with a Python
    function."""
    pattern = str(step.get("regex_pattern") or REGEX)
    which, other = int(step.get("group_select") or 0), step.get("fallback", INVALID)
    if is_plain(pattern):
        place = f", {which}" if which else ""
        filtered_reply.code = (
            f"trim(default(regex({filtered_reply.code}, {quoted(pattern)}{place}), {quoted(str(other))}))"
        )
        return
    filtered_reply.functions["extract"] = FIGURES["extract"]
    filtered_reply.code = f"extract({filtered_reply.code}, {quoted(pattern)}, {which}, {quoted(str(other))})"


def _choice(step: Mapping[str, Any], filtered_reply: FilteredReply, fields: TaskFields) -> None:
    """Apply the filter that finds a letter, or else the text of an option of the row."""
    pattern, other = str(step.get("regex_pattern") or REGEX), str(step.get("fallback", INVALID))
    options = fields.value("choices", "{{choices}}", shows=False)
    options.shape.items().want("text")
    if options.shape.items().kind != "text":
        raise NotTranslatable("the filter `multi_choice_regex` where `choices` is no list of texts")
    ignored = [quoted(str(each)) for each in step.get("regexes_to_ignore") or []]
    flags = [str(bool(step.get(each, False))).lower() for each in ("ignore_case", "ignore_punctuation")]
    words = [
        filtered_reply.code,
        options.code,
        quoted(pattern),
        str(int(step.get("group_select") or 0)),
        quoted(other),
        *flags,
    ]
    filtered_reply.functions["multi_choice"] = FIGURES["multi_choice"]
    filtered_reply.code = f"multi_choice({', '.join([*words, listed(ignored or [quoted('')])])})"


def is_plain(pattern: str) -> bool:
    """Return true if a regular expression finds the same texts in the language as in Python. It must have no lookaround
    and no backreference, and each match must have a group that is not empty, or no groups and not be empty.

    >>> is_plain("answer is ([A-D])"), is_plain("(-?[0-9.]{2,})|(-?[0-9]+)"), is_plain("(.*)x"), is_plain("(?<=a)b")
    (True, True, False, False)
    """
    from re import _parser  # Python has no public parser of regular expressions

    try:
        groups = re.compile(pattern).groups
        tree = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    if any(str(operation) in _BEYOND for operation, _ in _nodes(tree)):
        return False
    return bool(tree.getwidth()[0] > 0) if groups == 0 else _matches_nonempty_group(tree)


_BEYOND = ("ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS", "ATOMIC_GROUP", "POSSESSIVE_REPEAT")


def _matches_nonempty_group(tree: Any) -> bool:
    """Return true if every match has a group that is not empty."""
    for operation, argument in tree:
        match str(operation):
            case "SUBPATTERN" if argument[0] is not None and argument[-1].getwidth()[0] > 0:
                return True
            case "SUBPATTERN" if argument[0] is None and _matches_nonempty_group(argument[-1]):
                return True
            case "BRANCH" if all(_matches_nonempty_group(branch) for branch in argument[1]):
                return True
    return False


def _nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    for operation, argument in tree:
        yield operation, argument
        match str(operation):
            case "SUBPATTERN" | "ATOMIC_GROUP":
                yield from _nodes(argument[-1])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                yield from _nodes(argument[-1])
            case "BRANCH":
                for branch in argument[1]:
                    yield from _nodes(branch)


# Python functions of a task
LIBRARY = {
    ("lm_eval.utils", "weighted_f1_score"): "def weighted_f1_score(items):\n"
    "    unzipped_list = list(zip(*items))\n"
    "    golds, preds = unzipped_list[0], unzipped_list[1]\n"
    '    return f1_score(golds, preds, average="weighted")\n'
}
"""Code of lm-eval's own functions that tasks import, since their files are not in the folder of a task."""


@dataclass(frozen=True)
class FunctionTexts:
    """The sources of Python functions in the folder of a task."""

    folder: Path
    source: SourceFolder

    def __call__(self, function: PythonName) -> str:
        """Return the source of a function. Raises `NotTranslatable` if it is not in the folder."""
        module, _, name = str(function).rpartition(".")
        path = self.folder / f"{module.replace('.', '/')}.py"
        try:
            text = self.source.file(path).text()
            tree = ast.parse(text)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise NotTranslatable(f"`{function}`: the file `{module}.py` cannot be read") from error
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return ast.get_source_segment(text, node) or ""
            if isinstance(node, ast.ImportFrom) and any((each.asname or each.name) == name for each in node.names):
                known = LIBRARY.get((node.module or "", name))
                if known is not None:
                    return known
        raise NotTranslatable(f"`{function}` is not defined in `{module}.py`")


# Metrics
DEFAULTS = {
    "multiple_choice": ("acc", "acc_norm"),
    "loglikelihood": ("perplexity", "acc"),
    "loglikelihood_rolling": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
    "generate_until": ("exact_match",),
}
LOWER = frozenset(("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score", "ter"))
CORPUS = {"bleu": "corpus_bleu({0}, {1})", "chrf": "corpus_chrf({0}, {1})", "ter": "corpus_ter({0}, {1})"}
CORPUS["chrf++"] = "corpus_chrf({0}, {1}, words: two)"
PUNCTUATION = r"[!-/:-@\[-`{-~]"
"""The characters of Python's `string.punctuation`."""


@dataclass(frozen=True)
class MeanScore:
    """A score whose mean is a figure, with its metric and filter."""

    metric: str
    filter_name: str
    code: str


@dataclass
class TaskScores:
    """The scores and measures of a task, and the Python aggregates that they use."""

    scores: list[str] = field(default_factory=list)
    measures: list[str] = field(default_factory=list)
    figures: dict[str, KnownFigure] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    means: dict[str, MeanScore] = field(default_factory=dict)
    """The scores whose figure is a mean, by name."""

    def mean(self, name: str, code: str, metric: str, how: Mapping[str, Any], filter_name: str = "none") -> None:
        """Add a score and its mean."""
        self.scores.append(f"  score {name} = {code}")
        self.measure(name, f"mean({name})", metric, how)
        self.means[name] = MeanScore(metric, filter_name, code)

    def measure(self, name: str, code: str, metric: str, how: Mapping[str, Any]) -> None:
        """Add a measure."""
        lower = not how.get("higher_is_better", metric not in LOWER)
        self.measures.append(f"  measure {name} = {code}{' lower is better' if lower else ''}")


def score_lines(config: Mapping[str, Any], fields: TaskFields, asked: PromptTranslation, source: Any) -> TaskScores:
    """Return the scores and measures of a task, with notes on metrics without counterpart. `source` returns the text of
    a Python function. Raises `NotTranslatable` if no metric can be translated."""
    scores = TaskScores()
    kind = config.get("output_type") or "generate_until"
    if config.get("process_results") is not None:
        raise NotTranslatable(f"`process_results` is a function in Python, `{config['process_results']}`")
    if kind not in DEFAULTS:
        raise NotTranslatable(f"output_type {kind}")
    given = config.get("metric_list") or [{"metric": each} for each in DEFAULTS[kind]]
    for how in given:
        metric = how["metric"]
        try:
            if isinstance(metric, PythonName):
                _of_function(scores, config, fields, metric, how, source)
            elif metric == "bypass":
                scores.notes.append(Note("metric bypass", "exactly", "no score: lm-eval gives it no meaning"))
            elif kind == "generate_until":
                _of_reply(scores, config, fields, metric, how, source)
            elif kind == "multiple_choice":
                _of_choice(scores, fields, asked, metric, how, source)
            else:
                _of_text(scores, kind, metric, how)
        except NotTranslatable as why:
            scores.notes.append(Note(f"metric {metric}", "not", str(why)))
    if not scores.measures:
        whys = "; ".join(dict.fromkeys(note.why for note in scores.notes if note.how == "not"))
        raise NotTranslatable(f"no metric could be said: {whys}")
    return scores


def _of_choice(
    made: TaskScores, fields: TaskFields, asked: PromptTranslation, metric: str, how: Mapping[str, Any], source: Any
) -> None:
    options, place = asked.options, asked.place
    assert options is not None
    assert place is not None
    names = {"acc": "likeliest", "acc_norm": "likeliest_by_character", "acc_bytes": "likeliest_by_byte"}
    aggregation = how.get("aggregation")
    if metric in names:
        _check_mean(how)
        made.mean(metric, _is_right(asked, names[metric], options, place), metric, how)
        return
    if asked.several or place.kind == "list":
        raise NotTranslatable(f"`{metric}` with several contexts or several right options")
    known = fields.columns.closed
    if metric == "exact_match":
        greedy = item_at(TemplateValue("said.greedy", ColumnShape("list")), place, known)
        made.mean(metric, f"default({greedy}, false)", metric, how)
    elif metric == "brier_score":
        chances = "sum(power(p, 2) each p in said.probabilities)"
        right = item_at(TemplateValue("said.probabilities", ColumnShape("list")), place, known)
        made.mean(metric, f"{chances} - 2 * default({right}, 0) + 1", metric, how)
    elif metric in ("f1", "mcc"):
        if isinstance(aggregation, PythonName):
            figure = figure_of(source(aggregation))
            if place.constant is not None and figure is FIGURES["micro"]:
                made.mean(metric, f"said.likeliest == {place.code}", metric, how)
                return
            if place.constant is not None:
                raise NotTranslatable("a figure of a whole data set in which one option is always right")
            made.figures[figure.name] = figure
            made.measure(metric, figure.call(place.code, "said.likeliest"), metric, how)
        elif metric == "mcc":
            made.measure(metric, f"mcc(said.likeliest, {place.code})", metric, how)
        else:
            code = f"f1(said.likeliest == 1, {place.code} == 1, average: binary, positive: true)"
            made.measure(metric, code, metric, how)
    else:
        raise NotTranslatable(f"the metric `{metric}` of options")


def _is_right(asked: PromptTranslation, likeliest: str, options: TemplateValue, place: TemplateValue) -> str:
    text = f"said.{likeliest}"
    if asked.several:
        numbers = listed([str(each) for each in range(asked.several)])
        logprobs = [f"first(said_{number}.logprobs)" for number in range(asked.several)]
        members = [member.code for member in options.members or ()]
        if likeliest != "likeliest":
            length = "length" if likeliest.endswith("character") else "bytes"
            logprobs = [f"{logprob} / {length}({member})" for logprob, member in zip(logprobs, members, strict=True)]
        text = f"best_of({numbers}, {listed(logprobs)})"
    return f"{text} in {place.code}" if place.kind == "list" else f"{text} == {place.code}"


def _check_mean(how: Mapping[str, Any]) -> None:
    aggregation = how.get("aggregation", "mean")
    if aggregation != "mean":
        raise NotTranslatable(f"the aggregation `{aggregation}`")


def _of_text(made: TaskScores, kind: str, metric: str, how: Mapping[str, Any]) -> None:
    if kind == "loglikelihood" and metric == "acc":
        made.mean("acc", "all(said.greedy)", metric, how)
    elif kind == "loglikelihood" and metric == "perplexity":
        made.figures["weighted_perplexity"] = FIGURES["weighted_perplexity"]
        made.scores += ["  let nats = 0 - sum(said.logprobs)", "  let texts = length(said.logprobs)"]
        made.measure(metric, "weighted_perplexity(nats, texts)", metric, how)
    elif kind == "loglikelihood_rolling" and metric in ("word_perplexity", "byte_perplexity", "bits_per_byte"):
        if not made.scores:
            made.scores += ["  score nats = 0 - sum(said.logprobs)"]
        count = "bytes(text)" if metric != "word_perplexity" else 'length(regex_all(text, "\\\\s+")) + 1'
        figure = FIGURES["bits_per_byte" if metric == "bits_per_byte" else "weighted_perplexity"]
        made.figures[figure.name] = figure
        made.measure(metric, f"{figure.name}(nats, {count})", metric, how)
    else:
        raise NotTranslatable(f"the metric `{metric}` of {kind}")


def _target(config: Mapping[str, Any], fields: TaskFields) -> TemplateValue:
    """Return the target of a question with a free reply: a text, or a list of texts."""
    given = config.get("doc_to_target")
    if config.get("doc_to_choice") is not None:
        options = fields.options()
        place = fields.place("doc_to_target", given, options)
        return TemplateValue(item_at(options, place, fields.columns.closed), options.shape.items())
    template_value = fields.value("doc_to_target", given, shows=False)
    if template_value.shape.kind == "list":
        template_value.shape.items().want("text")
        return template_value
    if not template_value.shape.kind and isinstance(given, str) and not fields.columns.closed:
        fields.assumed[f"the target `{given}` is a text, and no list"] = None
    if template_value.shape.brackets and isinstance(given, str) and "{" in given:
        raise NotTranslatable("targets in square brackets, which the Harness reads as lists")
    return TemplateValue(joined(fields.text("doc_to_target", given, shows=False)), ColumnShape("text"))


def _of_reply(
    made: TaskScores, config: Mapping[str, Any], fields: TaskFields, metric: str, how: Mapping[str, Any], source: Any
) -> None:
    target = _target(config, fields)
    filters = apply_filters(config, "reply.text", fields)
    aggregation = how.get("aggregation")
    for reply in filters:
        name = name_of(metric.replace("+", "_plus"))
        name = name if len(filters) == 1 else f"{name}_{reply.name}"
        made.figures.update(reply.functions)
        if metric == "exact_match":
            _check_mean(how)
            made.mean(name, _exact(reply.code, target, how), metric, how, reply.name)
        elif metric in CORPUS and aggregation in (None, metric):
            if target.kind == "list":
                raise NotTranslatable(f"`{metric}` with several targets")
            made.scores += [] if made.scores else [f"  score length = words({reply.code})"]
            made.measure(name, CORPUS[metric].format(reply.code, target.code), metric, how)
        elif isinstance(aggregation, PythonName):
            figure = figure_of(source(aggregation))
            made.figures[figure.name] = figure
            made.measure(name, figure.call(target.code, reply.code), metric, how)
        else:
            raise NotTranslatable(f"the metric `{metric}` of replies")


def _of_function(
    made: TaskScores,
    config: Mapping[str, Any],
    fields: TaskFields,
    metric: PythonName,
    how: Mapping[str, Any],
    source: Any,
) -> None:
    aggregation = how.get("aggregation")
    raise NotTranslatable(
        f"`{metric}` is a function in Python" + (f", and so is `{aggregation}`" if aggregation else "")
    )


def _exact(code: str, target: TemplateValue, how: Mapping[str, Any]) -> str:
    if target.kind == "list":
        return f"any({normalized(code, how)} == {normalized('t', how)} each t in {target.code})"
    return f"{normalized(code, how)} == {normalized(target.code, how)}"


def normalized(code: str, how: Mapping[str, Any]) -> str:
    """Return the code that normalizes a text as `exact_match` does, with the options of a metric."""
    for pattern in how.get("regexes_to_ignore") or []:
        code = f'regex_replace({code}, {quoted(str(pattern))}, "")'
    if how.get("ignore_case"):
        code = f"lower({code})"
    if how.get("ignore_punctuation"):
        code = f'regex_replace({code}, {quoted(PUNCTUATION)}, "")'
    if how.get("ignore_numbers"):
        code = f'regex_replace({code}, "[0-9]", "")'
    return code
