"""Runs of HELM: a folder with `run_spec.json`, `scenario_state.json`, `per_instance_stats.json` and `stats.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from tripos.importing.logs.log import (
    Importer,
    Log,
    LoggedFigure,
    LoggedSample,
    LoggedScore,
    LogHeader,
    Skipped,
    as_amount,
    as_dict,
    as_float,
    as_list,
    as_messages,
    count,
    item_of,
    prompt_turns,
    text,
    to_json_text,
)
from tripos.source_files import SourceFile

TOOL = "helm"
RUN_SPEC, STATE, INSTANCE_STATS, STATS = "run_spec.json", "scenario_state.json", "per_instance_stats.json", "stats.json"
RUN_FILES = (STATE, INSTANCE_STATS, STATS, "scenario.json", "instances.json", "display_predictions.json",
          "display_requests.json", "costs.json", "run_sizes.json")  # fmt: skip
"""Other files in the folder of a run."""
OTHER_STATS = frozenset(
    {
        *("num_references", "num_train_trials", "num_instances", "num_train_instances", "num_completions"),
        *("estimated_num_tokens_cost", "num_prompt_tokens", "num_completion_tokens", "num_output_tokens"),
        *("inference_runtime", "inference_idealized_runtime", "inference_denoised_runtime"),
        *("inference_runtime_discrepancy", "batch_size", "prompt_truncated", "predicted_index"),
        *("training_co2_cost", "training_energy_cost", "logprob", "max_prob", "num_bytes", "num_perplexity_tokens"),
        *("finish_reason_length", "finish_reason_stop", "finish_reason_endoftext", "finish_reason_unknown"),
    }
)
"""Statistics that do not measure the quality of a reply."""
PERTURBATION_KEYS = ("name", "robustness", "fairness", "computed_on", "seed")
"""Keys of every perturbation, besides its own settings."""
SETTINGS = ("temperature", "max_tokens", "num_outputs", "max_train_instances", "num_train_trials", "method")


def is_helm(file: SourceFile) -> bool:
    """Return true if a file is part of a run."""
    name = file.path.name
    return name == RUN_SPEC or (name in RUN_FILES and file.sibling(RUN_SPEC).is_there)


def open_helm(file: SourceFile, _: Any = None) -> list[Log]:
    """Return the log of a run's folder for its `run_spec.json`, and none for its other files. Raises `OSError` and
    `ValueError` if it cannot be read."""
    if file.path.name != RUN_SPEC:
        return []
    spec = as_dict(file.json())
    path = file.path
    adapter = as_dict(spec.get("adapter_spec"))
    title = text(spec.get("name")) or path.parent.name
    model = text(adapter.get("model")) or text(adapter.get("model_deployment")) or "unknown"
    task = _task(title)
    if not file.sibling(STATE).is_there:
        raise ValueError(f"there is no `{STATE}` beside it")
    state = as_dict(file.sibling(STATE).json())
    scores, aggregated = file.sibling(INSTANCE_STATS), file.sibling(STATS)
    stats = as_list(scores.json()) if scores.is_there else []
    told = as_list(aggregated.json()) if aggregated.is_there else []
    about = {
        "run": title,
        "settings": {name: adapter[name] for name in SETTINGS if adapter.get(name) is not None},
        "instructions": adapter.get("instructions") or None,
        "groups": spec.get("groups"),
    }
    header = LogHeader(
        TOOL,
        task,
        f"{TOOL}:{path.parent.parent.name}:{title}",
        {name: each for name, each in about.items() if each},
        tuple(_figures(task, told)),
    )
    return [Log(str(path.parent), header, partial(_samples, as_list(state.get("request_states")), stats, task, model))]


def _task(title: str) -> str:
    """Return the name of a run without its model.

    >>> _task("mmlu:subject=anatomy,model=openai_gpt2"), _task("simple1:model=simple_model1")
    ('mmlu:subject=anatomy', 'simple1')
    """
    name, _, arguments = title.partition(":")
    own = [part for part in arguments.split(",") if part and not part.startswith(("model=", "model_deployment="))]
    return f"{name}:{','.join(own)}" if own else name


def _perturbed_task(task: str, changed: Mapping[str, Any]) -> str:
    """Return the name of a task under a perturbation.

    >>> _perturbed_task("mmlu", {}), _perturbed_task("mmlu", {"name": "typos", "robustness": True, "prob": 0.1})
    ('mmlu', 'mmlu [typos, prob=0.1]')
    """
    if not changed:
        return task
    own = [f"{name}={value}" for name, value in changed.items() if name not in PERTURBATION_KEYS]
    return f"{task} [{', '.join([text(changed.get('name')) or 'perturbation', *own])}]"


def _figures(task: str, stats: Sequence[Any]) -> Iterator[LoggedFigure]:
    """Yield the means of a run and of its perturbations that occur once. Statistics by split, and those of the worst or
    the original of perturbed instances, are skipped."""
    found: list[tuple[str, str | None, float | None]] = []
    for each in map(as_dict, stats):
        about = as_dict(each.get("name"))
        changed = as_dict(about.get("perturbation"))
        if changed.get("computed_on") in (None, "perturbed"):
            found.append((_perturbed_task(task, changed), text(about.get("name")), as_float(each.get("mean"))))
    counts = Counter((under, name) for under, name, _ in found)
    for under, name, value in found:
        if name is not None and value is not None and name not in OTHER_STATS and counts[under, name] == 1:
            yield LoggedFigure(under, name, "mean", value)


def _key(said: Mapping[str, Any]) -> tuple[str, str, int]:
    """Return the key of a trial: instance, perturbation and trial index."""
    instance = as_dict(said.get("instance"))
    name = text(said.get("instance_id")) or text(instance.get("id")) or ""
    changed = as_dict(said.get("perturbation") or instance.get("perturbation"))
    return name, to_json_text(changed) if changed else "", count(said.get("train_trial_index")) or 0


def _samples(states: list[Any], stats: list[Any], task: str, model: str, skipped: Skipped) -> Iterator[LoggedSample]:
    scores: dict[tuple[str, str, int], list[Any]] = {}
    for each in map(as_dict, stats):
        scores.setdefault(_key(each), []).extend(as_list(each.get("stats")))
    good = [as_dict(state) for state in states if isinstance(as_dict(state).get("instance"), dict)]
    if not stats:
        skipped.note(f"scores: `{INSTANCE_STATS}` is not there, or has none", STATE)
    if len(good) < len(states):
        skipped.note("request that is none", STATE, len(states) - len(good))
    good.sort(key=_key)
    for key, some in groupby(good, key=_key):
        requests = [each for each in some if each.get("request_mode") != "calibration"]
        if not requests:
            skipped.note("calibrations without a request", key[0])
            continue
        place = f"instance {key[0]}" + (f", {key[1]}" if key[1] else "")
        told = _reply(requests, place, skipped)
        first = requests[0]
        instance = as_dict(first.get("instance"))
        request = as_dict(first.get("request"))
        turns = prompt_turns(request.get("messages") or request.get("prompt"))
        references = map(as_dict, as_list(instance.get("references")))
        right = [_reference_text(reference) for reference in references if "correct" in as_list(reference.get("tags"))]
        item = item_of(f"{key[0]} {key[1]}".strip(), turns, right[0] if len(right) == 1 else right or None)
        columns = {**told, "messages": as_messages(turns)}
        under = _perturbed_task(task, as_dict(instance.get("perturbation")))
        yield LoggedSample(
            place, under, model, item, key[2], columns, list(_scores(scores.pop(key, []), place, skipped))
        )
    for key, unasked in scores.items():
        skipped.note("statistics of an instance without a request", key[0], len(unasked))


def _reference_text(reference: Mapping[str, Any]) -> str:
    """Return the text of a reference. Old versions of HELM write it without a record.

    >>> _reference_text({"output": {"text": "Rome"}}), _reference_text({"output": "Rome"})
    ('Rome', 'Rome')
    """
    output = reference.get("output")
    return text(as_dict(output).get("text")) or text(output) or ""


def _reply(requests: Sequence[dict[str, Any]], place: str, skipped: Skipped) -> dict[str, Any]:
    """Return the columns of a reply: a completion, or the most likely reference if there is a request for each
    reference."""
    likeliest: tuple[float, str] | None = None
    for each in requests if len(requests) > 1 else ():
        number, done = count(each.get("reference_index")), _completions(each)
        references = as_list(as_dict(each.get("instance")).get("references"))
        value = as_float(done[0].get("logprob")) if done else None
        if number is None or number >= len(references) or value is None:
            skipped.note("further requests of an instance", place)
        elif likeliest is None or value > likeliest[0]:
            likeliest = value, _reference_text(as_dict(references[number]))
    result, done = as_dict(requests[0].get("result")), _completions(requests[0])
    if len(done) > 1:
        skipped.note("further completions of a request", place, len(done) - 1)
    reply = likeliest[1] if likeliest is not None else text(done[0].get("text")) if done else None
    return {
        "reply": reply,
        "error": None if reply is not None else text(result.get("error")) or "the log has no reply",
        "finish_reason": text(as_dict(done[0].get("finish_reason")).get("reason")) if done else None,
        "tokens_out": len(as_list(done[0].get("tokens"))) or None if done else None,
        "latency_s": as_amount(result.get("request_time")),
    }


def _completions(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    result = as_dict(state.get("result"))
    return [as_dict(each) for each in as_list(result.get("completions"))] if result.get("success", True) else []


def _scores(stats: Sequence[Any], place: str, skipped: Skipped) -> Iterator[LoggedScore]:
    for stat in map(as_dict, stats):
        name = text(as_dict(stat.get("name")).get("name"))
        value = as_float(stat.get("mean"))
        if name is None:
            skipped.note("statistic without a name", place)
        elif name in OTHER_STATS:
            skipped.note(f"`{name}`, which says nothing of how good a reply is", place)
        else:
            if value is None:
                skipped.note(f"score of `{name}` without a value", place)
            yield LoggedScore(name, f"{TOOL}/{name}", value, to_json_text(stat))


IMPORTER = Importer("HELM", open_helm, is_helm, identified_by=lambda run_spec: run_spec.sibling(STATE))
