"""Logs of lm-eval: `results_TIME.json` and, in the same folder, a `samples_TASK_TIME.jsonl` for each task.

Version 0.4.3 writes `samples_TASK_TIME.json`, and earlier ones `results.json` and `MODEL-ARGS_TASK.jsonl`, both with
one list of samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tripos.importing.logs.log import (
    Importer,
    Log,
    LoggedFigure,
    LoggedItem,
    LoggedSample,
    LoggedScore,
    LogHeader,
    Skipped,
    Turn,
    are_own_results,
    as_dict,
    as_float,
    as_list,
    as_messages,
    count,
    item_of,
    prompt_turns,
    reply_status,
    score_status,
    text,
    to_json_text,
)
from tripos.source_files import SourceFile

TOOL = "lm-eval"
RESULTS, SAMPLES = "results", "samples_"
SAMPLE_SUFFIXES = (".jsonl", ".json")
"""Suffixes of files of samples. Version 0.4.3 writes `.json`."""
UNSAFE = tuple(map(re.compile, (r'["<>:/|\\?*\[\]]+', "[/=]", "/")))
"""The characters that versions of lm-eval before 0.4.3 replace in the name of a file."""
NO_FILTER = "none"
MEAN, MEAN_NAMES = "mean", ("mean", "nanmean")
SET_METRICS = frozenset(
    {
        *("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte"),
        *("bleu", "chrf", "ter", "mcc", "f1"),
    }
)
"""Metrics that lm-eval computes from the whole set if the task does not give an aggregation."""
CHOSEN, ROLLING = "multiple_choice", "loglikelihood_rolling"
LIKELIHOODS = (CHOSEN, ROLLING, "loglikelihood")
PROVIDERS = {"openai-completions": "openai", "openai-chat-completions": "openai", "anthropic-chat": "anthropic",
             "anthropic-chat-completions": "anthropic", "anthropic": "anthropic", "hf-multimodal": "hf",
             "huggingface": "hf", "local-completions": "", "local-chat-completions": ""}  # fmt: skip
"""The provider in a model's name, by lm-eval's kind of model, if the two differ."""
STORED_SETTINGS = ("model", "model_args", "batch_size", "limit", "gen_kwargs", "random_seed", "numpy_seed",
        "torch_seed", "fewshot_seed")  # fmt: skip


def is_samples_file(file: SourceFile) -> bool:
    """Return true if a file has samples, and the folder has the results for them: both names end in the same time, or
    the file has a name of versions before 0.4.3."""
    if file.path.suffix not in SAMPLE_SUFFIXES:
        return False
    if not file.path.name.startswith(SAMPLES):
        return _is_early_samples_file(file)
    times = (path.stem.removeprefix(RESULTS) for path in file.path.parent.glob(f"{RESULTS}*.json"))
    return any(file.path.stem.endswith(time) for time in times if time or file.path.suffix == ".jsonl")


def _is_early_samples_file(file: SourceFile) -> bool:
    results = file.sibling(f"{RESULTS}.json")
    if file.path.suffix != ".jsonl" or not results.is_there:
        return False
    try:
        head = as_dict(results.json())
    except (OSError, ValueError):
        return False
    return is_lm_eval(head) and any(file.path.stem in _early_stems(head, task) for task in as_dict(head["configs"]))


def _early_stems(head: Mapping[str, Any], task: str) -> list[str]:
    """Return the names that a task's file of samples has before 0.4.3.

    >>> _early_stems({"config": {"model_args": "pretrained=a/b"}}, "quiz")
    ['pretrained=a__b_quiz', 'pretrained__a__b_quiz']
    """
    args = text(as_dict(head.get("config")).get("model_args")) or ""
    return list(dict.fromkeys(f"{pattern.sub('__', args)}_{task}" for pattern in UNSAFE))


def find_samples_file(results: SourceFile, head: Mapping[str, Any], task: str) -> SourceFile | None:
    """Return the file with the samples of a task, or None if there is none."""
    stem = f"{SAMPLES}{task}{results.path.stem.removeprefix(RESULTS)}"
    names = [f"{stem}{suffix}" for suffix in SAMPLE_SUFFIXES]
    names += [f"{early}.jsonl" for early in _early_stems(head, task)]
    return next((file for name in names if (file := results.sibling(name)).is_there), None)


def sample_rows(file: SourceFile) -> Iterator[tuple[Any, str | None]]:
    """Yield the value of each sample, or None and the reason why it cannot be read. Old versions write one list."""
    if next(file.raw_lines(), b"").lstrip().startswith(b"["):
        yield from ((row, None) for row in as_list(file.json()))
    else:
        yield from file.json_lines()


def is_lm_eval(value: Any) -> bool:
    """Return true if a JSON value is a results file of lm-eval."""
    head = as_dict(value)
    return isinstance(head.get("results"), dict) and isinstance(head.get("configs"), dict) and "n-shot" in head


def open_results(file: SourceFile, value: Any) -> list[Log]:
    """Return the logs of a results file: one for each group, and one for each task outside groups."""
    if is_samples_file(file):
        return []
    head = as_dict(value)
    groups = as_dict(head.get("group_subtasks"))
    within = {str(name): [str(each) for each in as_list(tasks)] for name, tasks in groups.items()}
    below = {task for tasks in within.values() for task in tasks}
    names = [str(name) for name in as_dict(head.get("configs"))]
    logs = {name: _tasks_of(name, within, names) for name in within if name not in below and within[name]}
    grouped = {task for tasks in logs.values() for task in tasks}
    logs |= {name: [name] for name in names if name not in grouped}
    model = _model(head)
    return [_log(file, head, name, tasks, model) for name, tasks in logs.items() if tasks]


def _tasks_of(group: str, within: Mapping[str, Sequence[str]], known: Sequence[str]) -> list[str]:
    """Return the tasks of a group and of its subgroups, without repetition."""
    found: dict[str, None] = {}
    waiting, seen = list(within.get(group, ())), {group}
    while waiting:
        name = waiting.pop(0)
        if name in known:
            found[name] = None
        elif name not in seen:
            waiting += within.get(name, ())
        seen.add(name)
    return list(found)


def _model(head: Mapping[str, Any]) -> str:
    config = as_dict(head.get("config"))
    source = text(head.get("model_source")) or text(config.get("model")) or TOOL
    args = config.get("model_args")
    said = as_dict(args) if isinstance(args, dict) else dict(_pairs(text(args) or ""))
    name = text(said.get("pretrained")) or text(said.get("model")) or text(head.get("model_name")) or ""
    before = PROVIDERS.get(source, source)
    return "/".join(each for each in (before, name) if each) or source


def _pairs(said: str) -> Iterator[tuple[str, str]]:
    for part in said.split(","):
        name, equals, value = part.partition("=")
        if equals:
            yield name.strip(), value.strip()


def _log(file: SourceFile, head: Mapping[str, Any], name: str, tasks: Sequence[str], model: str) -> Log:
    config = as_dict(head.get("config"))
    about = {
        "created": head.get("date"),
        "settings": {
            stored_setting: config[stored_setting]
            for stored_setting in STORED_SETTINGS
            if config.get(stored_setting) not in (None, {}, [])
        },
        "tasks": {task: _about_task(head, task) for task in tasks},
        "versions": {"lm_eval": text(head.get("lm_eval_version"))},
        "system_instruction": head.get("system_instruction"),
        "chat_template_sha": head.get("chat_template_sha"),
        "seconds": head.get("total_evaluation_time_seconds"),
    }
    figures = tuple(figure for task in tasks for figure in _figures(head, task))
    header = LogHeader(
        TOOL,
        name,
        f"{TOOL}:{text(head.get('date')) or file.path.name}:{name}",
        {key: value for key, value in about.items() if value is not None},
        figures,
        frozenset((task, score) for task in tasks for score in _lower(head, task)),
        whole_set_figures=frozenset((figure.task, figure.score) for figure in figures if figure.of_whole_set),
    )
    return Log(str(file.path), header, partial(_samples, file, head, tasks, model), name)


def _about_task(head: Mapping[str, Any], task: str) -> dict[str, Any]:
    config = as_dict(as_dict(head.get("configs")).get(task))
    about = {
        "version": as_dict(head.get("versions")).get(task),
        "shots": as_dict(head.get("n-shot")).get(task),
        "hash": as_dict(head.get("task_hashes")).get(task),
        "generation": config.get("generation_kwargs"),
        "output_type": config.get("output_type"),
        "repeats": config.get("repeats"),
    }
    return {name: value for name, value in about.items() if value is not None}


def _lower(head: Mapping[str, Any], task: str) -> Iterator[str]:
    """Yield the scores of a task for which lower is better, by metric and filter."""
    higher = as_dict(as_dict(head.get("higher_is_better")).get(task))
    for key in as_dict(as_dict(head.get("results")).get(task)):
        metric, comma, filter_ = str(key).partition(",")
        if comma and higher.get(metric) is False:
            yield _title(metric, filter_)


def _figures(head: Mapping[str, Any], task: str) -> Iterator[LoggedFigure]:
    """Yield the figures of a task and their standard errors."""
    config = as_dict(as_dict(head.get("configs")).get(task))
    told = {text(as_dict(each).get("metric")): as_dict(each) for each in as_list(config.get("metric_list"))}
    for key, value in as_dict(as_dict(head.get("results")).get(task)).items():
        metric, comma, filter_ = str(key).partition(",")
        number = as_float(value) if not isinstance(value, bool) else None
        if not comma or number is None:
            continue
        base = metric.removesuffix("_stderr")
        how = text(as_dict(told.get(base)).get("aggregation")) or ("" if base in SET_METRICS else MEAN)
        name = "stderr" if metric != base else how or base
        yield LoggedFigure(task, _title(base, filter_), name, number, of_whole_set=how not in MEAN_NAMES)


def _title(metric: str, filter_: str | None) -> str:
    return metric if filter_ in (None, NO_FILTER) else f"{metric},{filter_}"


def _samples(
    results: SourceFile, head: Mapping[str, Any], tasks: Sequence[str], model: str, skipped: Skipped
) -> Iterator[LoggedSample]:
    own = are_own_results(head)
    for task in tasks:
        file = find_samples_file(results, head, task)
        if file is None:
            name = f"{SAMPLES}{task}{results.path.stem.removeprefix(RESULTS)}.jsonl"
            skipped.note("task without a file of samples", f"{task}: there is no {name}")
            continue
        kind = text(as_dict(as_dict(head.get("configs")).get(task)).get("output_type"))
        metrics = _metrics_by_filter(head, task)
        before: dict[str, dict[str, None]] = {}
        """The filters seen for each item."""
        for number, (said, reason) in enumerate(sample_rows(file), 1):
            place = f"{file.path.name}, line {number}"
            row = as_dict(said)
            if reason is not None or "doc_id" not in row:
                skipped.note(f"line that is no sample{f': {reason}' if reason else ''}", place)
                continue
            filters = before.setdefault(to_json_text([row["doc_id"], row.get("doc_hash")]), {})
            reader = _RowReader(_with_filter(row, metrics, len(filters)), kind, place, skipped, own=own)
            yield from reader.samples(task, model, further=bool(filters) and reader.filter not in filters)
            filters[reader.filter] = None


def _metrics_by_filter(head: Mapping[str, Any], task: str) -> dict[str, dict[str, None]]:
    """Return the metrics of a task by filter, in the order of its results."""
    found: dict[str, dict[str, None]] = {}
    for key in as_dict(as_dict(head.get("results")).get(task)):
        metric, comma, filter_ = str(key).partition(",")
        if comma and not metric.endswith("_stderr"):
            found.setdefault(filter_, {})[metric] = None
    return found


def _with_filter(row: dict[str, Any], metrics: Mapping[str, Mapping[str, None]], seen: int) -> dict[str, Any]:
    """Return a line with its filter and the names of its metrics. Old versions of lm-eval write neither, so such lines
    are completed from the results: a line of an item for each filter, in their order. `seen` filters came before."""
    filters = list(metrics) or [NO_FILTER]
    filter_ = text(row.get("filter")) or filters[min(seen, len(filters) - 1)]
    names = (
        row["metrics"] if isinstance(row.get("metrics"), list) else [m for m in metrics.get(filter_, ()) if m in row]
    )
    return {**row, "filter": filter_, "metrics": names}


class _RowReader:
    """Reader of one line: an item with its replies, and the scores of one filter. In a line that Tripos wrote
    (`by_tripos`), the last request has the reply, and `scores` has the statuses."""

    def __init__(self, row: dict[str, Any], kind: str | None, place: str, skipped: Skipped, *, own: bool) -> None:
        self.row, self.place, self.skipped, self.by_tripos = row, place, skipped, own
        self.filter: str = row["filter"]
        self.arguments = [_argument(each) for each in _listed(row.get("arguments"))]
        self.kind = kind or (CHOSEN if len(self.arguments) > 1 else None)
        told = map(as_dict, as_list(row.get("scores"))) if own else ()
        self.statuses = {text(each.get("name")): score_status(each) for each in told}

    def samples(self, task: str, model: str, *, further: bool) -> Iterator[LoggedSample]:
        """Yield a sample for each reply to the item. The scores apply to all replies together, and are attached to the
        first."""
        item, turns, options = self._item()
        scores = list(self._scores(options))
        replies = self._replies(options)
        if len(replies) > 1 and not further:
            self.skipped.note("scores of several replies together, kept with the first", self.place, len(scores))
        for number, reply in enumerate(replies if not further else replies[:1]):
            told = {
                "reply": reply,
                "messages": as_messages(turns),
                "error": None if reply is not None else "the log has no reply",
            }
            if self.by_tripos:
                told |= self._own_columns(reply)
            mine = scores if number == 0 else []
            place = count(self.row.get("sample_number")) if self.by_tripos else number
            yield LoggedSample(self.place, task, model, item, place, told, mine, further)

    def _own_columns(self, reply: str | None) -> dict[str, Any]:
        status = reply_status(self.row.get("status"), reply)
        told: dict[str, Any] = {"status": status}
        if self.kind not in LIKELIHOODS and self.arguments:
            told["messages"] = as_messages(prompt_turns(self.arguments[-1][0]))
        if status is not None:
            told["error"] = text(self.row.get("error"))
        return told

    def _item(self) -> tuple[LoggedItem, list[Turn], list[str]]:
        asked = list(dict.fromkeys(context for context, _ in self.arguments))
        if self.kind == ROLLING:
            turns, options = [("user", self.arguments[0][0] if self.arguments else "")], []
        elif self.kind in LIKELIHOODS and len(asked) > 1 and not (len(asked) == 2 and asked[1] == ""):
            options = [context + following for context, following in self.arguments]
            turns = [("user", "\n".join(options))]
        else:
            turns = prompt_turns(asked[0] if asked else "")
            options = [following for context, following in self.arguments if context == asked[0]] if asked else []
        return item_of(self.row.get("doc_id"), turns, self.row.get("target")), turns, options

    def _replies(self, options: Sequence[str]) -> list[str | None]:
        """Return the replies: generated texts, or the continuation with the highest likelihood."""
        said = as_list(self.row.get("resps"))
        if self.kind not in LIKELIHOODS:
            place = -1 if self.by_tripos else 0
            return [text(each) for each in (as_list(said[place]) if said else [])] or [None]
        if self.kind == ROLLING:
            return [text(_first(each)) for each in said] or [None]
        values = [likelihood for likelihood, _ in self._likelihoods()][: len(options)]
        known = [value for value in values if value is not None]
        if not known or len(values) < len(options):
            return [None]
        return [options[values.index(max(known))]]

    def _likelihoods(self) -> list[tuple[float | None, bool]]:
        return [_likelihood(_first(each)) for each in as_list(self.row.get("resps"))]

    def _scores(self, options: Sequence[str]) -> Iterator[LoggedScore]:
        kept: dict[str, Any] = {"filter": self.filter, "filtered": self.row.get("filtered_resps")}
        if self.kind in LIKELIHOODS and options:
            kept["likelihoods"] = [
                {"text": option, "log_likelihood": value, "is_greedy": greedy}
                for option, (value, greedy) in zip(options, self._likelihoods(), strict=False)
            ]
            del kept["filtered"]
        for metric in map(str, self.row["metrics"]):
            value = self.row.get(metric)
            title = _title(metric, self.filter)
            said = to_json_text({"value": value, **kept})
            rater = f"{TOOL}/{title}"
            parts = value if isinstance(value, list | tuple) else None
            if parts and all(as_float(part) is not None for part in parts):
                self.skipped.note(f"score of `{title}` that is several numbers, kept one by one", self.place)
                for number, part in enumerate(parts):
                    yield LoggedScore(f"{title}_{number}", rater, as_float(part), said)
                continue
            status, error = self.statuses.get(metric, (None, None)) if as_float(value) is None else (None, None)
            if as_float(value) is None and status is None:
                kind = "without a value" if value is None or isinstance(value, float) else "that is no number"
                self.skipped.note(f"score of `{title}` {kind}", self.place)
            yield LoggedScore(title, rater, as_float(value), said, None, status, error)


def _listed(value: Any) -> list[Any]:
    """Return the arguments of requests: a list, or in newer logs an object with numbered keys."""
    return list(value.values()) if isinstance(value, dict) else as_list(value)


def _argument(value: Any) -> tuple[str, str]:
    """Return the context and the continuation of a request. The continuation of a generation is empty."""
    parts = list(value.values()) if isinstance(value, dict) else as_list(value)
    context = _first(parts[0]) if parts else ""
    following = parts[1] if len(parts) > 1 else ""
    said = context if isinstance(context, str) else to_json_text(context)
    return said, following if isinstance(following, str) else ""


def _likelihood(said: Any) -> tuple[float | None, bool]:
    """Return a log-likelihood, and whether greedy decoding gives this text. Newer logs have both as texts."""
    parts = as_list(said)
    value = parts[0] if parts else said
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None, False
    greedy = parts[1] if len(parts) > 1 else False
    return as_float(value), greedy is True or greedy == "True"


def _first(value: Any) -> Any:
    """Return the first entry of a list, and any other value unchanged."""
    return value[0] if isinstance(value, list) and value else value


IMPORTER = Importer("lm-eval", open_results, is_samples_file, is_lm_eval, suffixes=(".json", ".jsonl"))
