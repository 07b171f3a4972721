"""Metrics of a task as scores and measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos.importing.tasks.lm_eval.forms import PythonName
from tripos.importing.tasks.lm_eval.prompts import Asking
from tripos.importing.tasks.lm_eval.scoring.figures import FIGURES, KnownFigure, figure_of
from tripos.importing.tasks.lm_eval.scoring.filters import filtered
from tripos.importing.tasks.lm_eval.templates import ColumnShape, TaskFields, TemplateValue, item_at
from tripos.importing.tasks.spec_text import Note, Untranslated, joined, listed, name_of, quoted

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
    """A score whose mean is a figure: the metric and the filter that it is of, and its code."""

    metric: str
    filter_name: str
    code: str


@dataclass
class TaskScores:
    """The scores and measures of a task, and the aggregates in Python that they take."""

    scores: list[str] = field(default_factory=list)
    measures: list[str] = field(default_factory=list)
    figures: dict[str, KnownFigure] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    means: dict[str, MeanScore] = field(default_factory=dict)
    """The scores whose figure is a mean, by name."""

    def mean(self, name: str, code: str, metric: str, how: Mapping[str, Any], filter_name: str = "none") -> None:
        """Add a score and the mean of it."""
        self.scores.append(f"  score {name} = {code}")
        self.measure(name, f"mean({name})", metric, how)
        self.means[name] = MeanScore(metric, filter_name, code)

    def measure(self, name: str, code: str, metric: str, how: Mapping[str, Any]) -> None:
        """Add a figure."""
        lower = not how.get("higher_is_better", metric not in LOWER)
        self.measures.append(f"  measure {name} = {code}{' lower is better' if lower else ''}")


def scored(config: Mapping[str, Any], fields: TaskFields, asked: Asking, source: Any) -> TaskScores:
    """Return the scores and measures of a task; what has no counterpart is a note. `source` finds the text of a Python
    function."""
    made = TaskScores()
    kind = config.get("output_type") or "generate_until"
    if config.get("process_results") is not None:
        raise Untranslated(f"`process_results` is a function in Python, `{config['process_results']}`")
    if kind not in DEFAULTS:
        raise Untranslated(f"output_type {kind}")
    given = config.get("metric_list") or [{"metric": each} for each in DEFAULTS[kind]]
    for how in given:
        metric = how["metric"]
        try:
            if isinstance(metric, PythonName):
                _of_function(made, config, fields, metric, how, source)
            elif metric == "bypass":
                made.notes.append(Note("metric bypass", "exactly", "no score: lm-eval gives it no meaning"))
            elif kind == "generate_until":
                _of_reply(made, config, fields, metric, how, source)
            elif kind == "multiple_choice":
                _of_choice(made, fields, asked, metric, how, source)
            else:
                _of_text(made, kind, metric, how)
        except Untranslated as why:
            made.notes.append(Note(f"metric {metric}", "not", str(why)))
    if not made.measures:
        whys = "; ".join(dict.fromkeys(each.why for each in made.notes if each.how == "not"))
        raise Untranslated(f"no metric could be said: {whys}")
    return made


def _of_choice(
    made: TaskScores, fields: TaskFields, asked: Asking, metric: str, how: Mapping[str, Any], source: Any
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
        raise Untranslated(f"`{metric}` with several contexts or several right options")
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
                raise Untranslated("a figure of a whole data set in which one option is always right")
            made.figures[figure.name] = figure
            made.measure(metric, figure.call(place.code, "said.likeliest"), metric, how)
        elif metric == "mcc":
            made.measure(metric, f"mcc(said.likeliest, {place.code})", metric, how)
        else:
            code = f"f1(said.likeliest == 1, {place.code} == 1, average: binary, positive: true)"
            made.measure(metric, code, metric, how)
    else:
        raise Untranslated(f"the metric `{metric}` of options")


def _is_right(asked: Asking, likeliest: str, options: TemplateValue, place: TemplateValue) -> str:
    said = f"said.{likeliest}"
    if asked.several:
        numbers = listed([str(each) for each in range(asked.several)])
        logprobs = [f"first(said_{number}.logprobs)" for number in range(asked.several)]
        members = [each.code for each in options.members or ()]
        if likeliest != "likeliest":
            length = "length" if likeliest.endswith("character") else "bytes"
            logprobs = [f"{each} / {length}({member})" for each, member in zip(logprobs, members, strict=True)]
        said = f"best_of({numbers}, {listed(logprobs)})"
    return f"{said} in {place.code}" if place.kind == "list" else f"{said} == {place.code}"


def _check_mean(how: Mapping[str, Any]) -> None:
    aggregation = how.get("aggregation", "mean")
    if aggregation != "mean":
        raise Untranslated(f"the aggregation `{aggregation}`")


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
        raise Untranslated(f"the metric `{metric}` of {kind}")


def _target(config: Mapping[str, Any], fields: TaskFields) -> TemplateValue:
    """Return the target of a question whose reply is free: a text, or a list of texts."""
    given = config.get("doc_to_target")
    if config.get("doc_to_choice") is not None:
        options = fields.options()
        place = fields.place("doc_to_target", given, options)
        return TemplateValue(item_at(options, place, fields.columns.closed), options.shape.items())
    found = fields.value("doc_to_target", given, shows=False)
    if found.shape.kind == "list":
        found.shape.items().want("text")
        return found
    if not found.shape.kind and isinstance(given, str) and not fields.columns.closed:
        fields.assumed[f"the target `{given}` is a text, and no list"] = None
    if found.shape.brackets and isinstance(given, str) and "{" in given:
        raise Untranslated("targets in square brackets, which the Harness reads as lists")
    return TemplateValue(joined(fields.text("doc_to_target", given, shows=False)), ColumnShape("text"))


def _of_reply(
    made: TaskScores, config: Mapping[str, Any], fields: TaskFields, metric: str, how: Mapping[str, Any], source: Any
) -> None:
    target = _target(config, fields)
    filters = filtered(config, "reply.text", fields)
    aggregation = how.get("aggregation")
    for each in filters:
        name = name_of(metric.replace("+", "_plus"))
        name = name if len(filters) == 1 else f"{name}_{each.name}"
        made.figures.update(each.functions)
        if metric == "exact_match":
            _check_mean(how)
            made.mean(name, _exact(each.code, target, how), metric, how, each.name)
        elif metric in CORPUS and aggregation in (None, metric):
            if target.kind == "list":
                raise Untranslated(f"`{metric}` with several targets")
            made.scores += [] if made.scores else [f"  score length = words({each.code})"]
            made.measure(name, CORPUS[metric].format(each.code, target.code), metric, how)
        elif isinstance(aggregation, PythonName):
            figure = figure_of(source(aggregation))
            made.figures[figure.name] = figure
            made.measure(name, figure.call(target.code, each.code), metric, how)
        else:
            raise Untranslated(f"the metric `{metric}` of replies")


def _of_function(
    made: TaskScores,
    config: Mapping[str, Any],
    fields: TaskFields,
    metric: PythonName,
    how: Mapping[str, Any],
    source: Any,
) -> None:
    aggregation = how.get("aggregation")
    raise Untranslated(f"`{metric}` is a function in Python" + (f", and so is `{aggregation}`" if aggregation else ""))


def _exact(code: str, target: TemplateValue, how: Mapping[str, Any]) -> str:
    if target.kind == "list":
        return f"any({normal(code, how)} == {normal('t', how)} each t in {target.code})"
    return f"{normal(code, how)} == {normal(target.code, how)}"


def normal(code: str, how: Mapping[str, Any]) -> str:
    """Return a text as `exact_match` compares it, with the options of a metric."""
    for pattern in how.get("regexes_to_ignore") or []:
        code = f'regex_replace({code}, {quoted(str(pattern))}, "")'
    if how.get("ignore_case"):
        code = f"lower({code})"
    if how.get("ignore_punctuation"):
        code = f'regex_replace({code}, {quoted(PUNCTUATION)}, "")'
    if how.get("ignore_numbers"):
        code = f'regex_replace({code}, "[0-9]", "")'
    return code
