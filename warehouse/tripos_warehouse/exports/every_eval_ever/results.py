"""Results in the form of Every Eval Ever: what a score is, on which scale, by whom, and what it came to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tripos_compiler.language.figures import enclosing_range, ranges_of
from tripos_compiler.plan import (
    Ask,
    Expr,
    Get,
    Grade,
    Hole,
    Literal_,
    Measure,
    Passage,
    Plan,
    Ref,
    Score,
    Template,
)
from tripos_warehouse.measures import SEQUENCE, MeasureRow, as_told, evaluate, mean_of_run
from tripos_warehouse.query import Connection
from tripos_warehouse.statistics import CONFIDENCE
from tripos_warehouse.statistics.intervals import mean_of_cells
from tripos_warehouse.views import RunRecord

SELF_DEPLOYED = ("local", "mock", "ollama", "hosted_vllm", "vllm", "llamafile", "lm_studio")
"""Providers whose models run on a machine of one's own."""
GENERATION_ARGS = ("temperature", "top_p", "top_k", "max_tokens")
"""The settings that the form has fields for; others are details, as JSON."""
CORRECT = "true where the score is the best of its scale"


@dataclass(frozen=True)
class ResultScores:
    """The scores of one result: a metric of a scenario, with the item and the value of each."""

    scenario: str
    metric: str
    scorer: str
    clusters: list[str]
    values: list[float]
    lower_is_better: bool = False

    def is_best(self, plan: Plan, value: float) -> bool:
        """Return true if a value is the best of its scale, the lowest where lower is better; of a scale without such an
        end it never is."""
        low, high, _ = scale(plan, self.scenario, self.metric)
        if self.lower_is_better:
            return low is not None and value <= low
        return high is not None and value >= high


def name_of(benchmark: str, row: Mapping[str, Any], arms: Sequence[str]) -> str:
    """Return the name of a result, which is its id too: benchmark, scenario, metric, and the arms of the row.

    >>> name_of("quiz", {"scenario": "sums", "metric": "RIGHT", "hint": "yes"}, ["hint"])
    'quiz/sums/RIGHT[hint: yes]'
    """
    told = ", ".join(f"{arm}: {row[arm]}" for arm in arms if row[arm] is not None)
    return f"{benchmark}/{row['scenario']}/{row['metric']}" + (f"[{told}]" if told else "")


def model_info(model: str) -> dict[str, Any]:
    """Return what is known of a model by its name; of its weights nothing is.

    >>> info = model_info("openrouter/meta-llama/llama-3.1-8b")
    >>> info["id"], info["inference_platform"], info["additional_details"]["deployment_type"]
    ('meta-llama/llama-3.1-8b', 'openrouter', 'externally_managed')
    """
    platform, _, rest = model.partition("/")
    own = platform in SELF_DEPLOYED
    return {
        "name": model,
        "id": rest if rest.count("/") == 1 else model,
        "inference_platform": platform,
        "additional_details": {
            "deployment_type": "self_deployed" if own else "externally_managed",
            "model_availability": "unknown",
        },
    }


def scale(plan: Plan, scenario: str, metric: str) -> tuple[float | None, float | None, bool]:
    """Return the lowest and the highest value of a score, where there is one, and whether it is true or false."""
    for each in plan.metrics:
        if each.name == metric:
            return (None, None, False) if each.ends is None else (float(each.low), float(each.high), False)
    ranges, within = ranges_of(plan), next(each for each in plan.scenarios if each.name == scenario)
    steps = [step for step in within.steps if isinstance(step, Score | Grade) and step.name == metric]
    if not steps:
        return None, None, False
    low, high = enclosing_range(ranges.of_step(within, step) for step in steps)
    truth = all(ranges.declared(within, step).kind == "bool" for step in steps)
    return None if math.isinf(low) else low, None if math.isinf(high) else high, truth


def result_of(plan: Plan, run: RunRecord, model: str, name: str, scored: ResultScores) -> dict[str, Any]:
    """The mean of some scores of a model, with an error that is clustered by item."""
    low, high, truth = scale(plan, scored.scenario, scored.metric)
    ends = None if low is None or high is None else (low, high)
    found = mean_of_run(run, model, mean_of_cells(scored.values, scored.clusters, ends=ends, paired=False))
    method = "t" if ends is None else "logit" if found.standard_error else "exact"
    title = next((dict(each.title) for each in plan.metrics if each.name == scored.metric), {})
    config = {
        "metric_id": f"{run.benchmark}.{scored.metric}",
        "metric_name": title.get(plan.benchmark.languages[0]) or scored.metric,
        "metric_unit": "proportion" if truth else "points",
        "additional_details": {"is_correct": CORRECT},
        **_config(low, high, truth, scored.lower_is_better),
        **_judging(plan, run, scored),
    }
    error = found.standard_error
    return {
        "evaluation_result_id": name,
        "evaluation_name": name,
        "source_data": _source(plan, scored.scenario),
        "metric_config": config,
        "score_details": _score(found.value or 0.0, error, found.low, found.high, found.n, (low, high), method),
        **_generation(plan, run, scored.scenario),
    }


DRAWN = ("bootstrap", "jackknife")
"""How errors are found that no formula gives."""


def results_of_measures(connection: Connection, plan: Plan, run: RunRecord, model: str) -> list[dict[str, Any]]:
    """Return every value of every measure of a model."""
    found = []
    for measure in plan.measures:
        for row in as_told(run, evaluate(connection, plan, measure)).rows:
            if row.model == model and row.value is not None:
                found.append(_measured(plan, run, measure, row, row.value))
    return found


def _measured(plan: Plan, run: RunRecord, measure: Measure, row: MeasureRow, value: float) -> dict[str, Any]:
    cell = ", ".join(f"{name}: {each}" for name, each in zip(measure.by, row.by, strict=True))
    name = f"{run.benchmark}/measure/{measure.name}" + (f"[{cell}]" if cell else "")
    config = {
        "metric_id": f"{run.benchmark}.measure.{measure.name}",
        "metric_name": measure.name,
        **_config(measure.low, measure.high, False, measure.lower_is_better),
    }
    bounds = (measure.low, measure.high)
    method = row.method or "t"
    details = _score(value, row.standard_error, row.interval_low, row.interval_high, row.n, bounds, method)
    details["details"] = {"items": str(row.items), "scores": str(row.n), "expected": str(row.total)}
    source = {"dataset_name": run.benchmark, "source_type": "other"}
    return {
        "evaluation_result_id": name,
        "evaluation_name": name,
        "source_data": source,
        "metric_config": config,
        "score_details": details,
    }


def _config(low: float | None, high: float | None, truth: bool, lower_is_better: bool = False) -> dict[str, Any]:
    return {
        "lower_is_better": lower_is_better,
        "score_type": "binary" if truth else "continuous",
        "min_score": "-Infinity" if low is None else low,
        "max_score": "Infinity" if high is None else high,
    }


def _score(
    value: float,
    error: float | None,
    low: float | None,
    high: float | None,
    n: int,
    bounds: tuple[float | None, float | None],
    method: str = "t",
) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": n}
    if error is not None:
        uncertainty["standard_error"] = {"value": error, "method": method if method in DRAWN else "analytic"}
    if low is not None and high is not None:
        uncertainty["confidence_interval"] = {
            "lower": low if bounds[0] is None else max(low, bounds[0]),
            "upper": high if bounds[1] is None else min(high, bounds[1]),
            "confidence_level": CONFIDENCE,
            "method": method if method in ("exact", SEQUENCE) else f"{method}, clustered by item",
        }
    return {"score": value, "uncertainty": uncertainty}


def _judging(plan: Plan, run: RunRecord, scored: ResultScores) -> dict[str, Any]:
    """Return who judged, and with which prompt, where it was a model."""
    scorer = next((each for each in plan.scorers if each.name == scored.scorer), None)
    if scorer is None:
        return {}
    models = run.evaluators.get(scorer.role) or run.models
    judges: list[dict[str, Any]] = [{"model_info": model_info(each)} for each in models]
    if scorer.settings.temperature is not None:
        judges = [{**each, "temperature": scorer.settings.temperature} for each in judges]
    prompt = scorer.prompt[plan.benchmark.languages[0]]
    told: dict[str, Any] = {"judges": judges, "input_prompt": template_text(prompt)}
    if len(judges) > 1:
        told["aggregation_method"] = "average"
    if scorer.settings.given:
        told["additional_details"] = {"settings": orjson.dumps(scorer.settings.given).decode()}
    return {"llm_scoring": told}


def _generation(plan: Plan, run: RunRecord, scenario: str) -> dict[str, Any]:
    """The settings of the asks of a scenario, where all of them have the same."""
    asks = [each for each in _steps(plan, scenario) if isinstance(each, Ask) and each.role == run.compared_role]
    settings = {each.settings for each in asks}
    if len(settings) != 1:
        return {}
    given = settings.pop().given
    args = {name: value for name, value in given.items() if name in GENERATION_ARGS}
    more = {name: orjson.dumps(value).decode() for name, value in given.items() if name not in args}
    config = {name: told for name, told in (("generation_args", args), ("additional_details", more)) if told}
    return {"generation_config": config} if config else {}


def _source(plan: Plan, scenario: str) -> dict[str, Any]:
    rows = next((each.rows for each in plan.scenarios if each.name == scenario), None)
    dataset = next((each for each in plan.datasets if rows is not None and each.name == rows.dataset), None)
    if dataset is None:
        return {"dataset_name": rows.dataset if rows is not None else plan.benchmark.name, "source_type": "other"}
    digests = {each.path: f"sha256:{each.sha256}" for each in dataset.every_file}
    return {"dataset_name": dataset.name, "source_type": "other", "additional_details": digests}


def _steps(plan: Plan, scenario: str) -> Sequence[Any]:
    return next((each.steps for each in plan.scenarios if each.name == scenario), ())


def template_text(template: Template) -> str:
    """Return a template as text, with its holes as they are written; what is no plain name is `{{ … }}`.

    >>> template_text(Template(parts=("Grade this: ",)))
    'Grade this: '
    """
    return "".join(_part(part) for part in template.parts)


def _part(part: str | Hole | Passage) -> str:
    match part:
        case str():
            return part
        case Hole(expr=expr):
            return f"{{{{ {_expr(expr)} }}}}"
        case Passage(parts=parts):
            return "".join(_part(each) for each in parts) + "\n\n"


def _expr(expr: Expr) -> str:
    match expr:
        case Ref(path=path):
            return ".".join(path)
        case Get(of=of, field=field):
            return f"{_expr(of)}.{field}"
        case Literal_(value=value):
            return str(value)
    return "…"
