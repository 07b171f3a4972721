"""Every Eval Ever 0.3.0: for each compared model a file with its results, and a file with a line for each score.

A result is the mean of the scores of one metric in one scenario (and arm), each the mean over judges of one reply; a
line has one of these. Measures of the spec are further results, without lines. Every file is validated against the JSON
Schemas in `exports/schemas/every_eval_ever/` before it is written.
"""

from __future__ import annotations

import hashlib
import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from tripos_compiler.language.intervals import ranges_of
from tripos_compiler.library.ranges import enclosing_range
from tripos_compiler.plan import Ask, Expr, Get, Grade, Hole, Literal_, Measure, Passage, Plan, Ref, Score, Template
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.replies import place_columns
from tripos_warehouse.exports.tables import open_fields
from tripos_warehouse.files import Written, write_lines
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import SEQUENCE, MeasureRow, mean_of_run, with_sequential_intervals
from tripos_warehouse.measures.study_design import lower_scores
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.statistics.arrays import CONFIDENCE
from tripos_warehouse.statistics.intervals import mean_of_cells
from tripos_warehouse.views.benchmark_views import counts_in_figures
from tripos_warehouse.views.dimensions import arm_columns
from tripos_warehouse.views.runs import RunRecord

# Results
SELF_DEPLOYED = ("local", "mock", "ollama", "hosted_vllm", "vllm", "llamafile", "lm_studio")
"""Providers whose models run on the user's machine."""
GENERATION_ARGS = ("temperature", "top_p", "top_k", "max_tokens")
"""The settings that have fields in the format; others are details, as JSON."""
CORRECT = "true where the score is the best of its scale"


@dataclass(frozen=True)
class ResultScores:
    """The scores of one result: a metric of a scenario, with the cluster and the value of each score."""

    scenario: str
    metric: str
    scorer: str
    clusters: list[str]
    values: list[float]
    lower_is_better: bool = False

    def is_best(self, plan: Plan, value: float) -> bool:
        """Return true if a value is the best of its scale, the lowest if lower is better; false if the scale has no
        such end.
        """
        low, high, _ = scale(plan, self.scenario, self.metric)
        if self.lower_is_better:
            return low is not None and value <= low
        return high is not None and value >= high


def name_of(benchmark: str, row: Mapping[str, Any], arms: Sequence[str]) -> str:
    """Return the name of a result, which is also its id: benchmark, scenario, metric, and the arms of the row.

    >>> name_of("quiz", {"scenario": "sums", "metric": "RIGHT", "hint": "yes"}, ["hint"])
    'quiz/sums/RIGHT[hint: yes]'
    """
    text = ", ".join(f"{arm}: {row[arm]}" for arm in arms if row[arm] is not None)
    return f"{benchmark}/{row['scenario']}/{row['metric']}" + (f"[{text}]" if text else "")


def model_info(model: str) -> dict[str, Any]:
    """Return the facts about a model that follow from its name; its weights are unknown.

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
    """Return the lowest and the highest value of a score, if there are any, and whether the score is a truth value."""
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
    """Return the mean of some scores of a model, with an error clustered by item."""
    low, high, truth = scale(plan, scored.scenario, scored.metric)
    ends = None if low is None or high is None else (low, high)
    estimate = mean_of_run(run, model, mean_of_cells(scored.values, scored.clusters, ends=ends, paired=False))
    method = "t" if ends is None else "logit" if estimate.standard_error else "exact"
    title = next((dict(metric.title) for metric in plan.metrics if metric.name == scored.metric), {})
    config = {
        "metric_id": f"{run.benchmark}.{scored.metric}",
        "metric_name": title.get(plan.benchmark.languages[0]) or scored.metric,
        "metric_unit": "proportion" if truth else "points",
        "additional_details": {"is_correct": CORRECT},
        **_config(low, high, truth, scored.lower_is_better),
        **_judging(plan, run, scored),
    }
    error = estimate.standard_error
    return {
        "evaluation_result_id": name,
        "evaluation_name": name,
        "source_data": _source(plan, scored.scenario),
        "metric_config": config,
        "score_details": _score(
            estimate.value or 0.0, error, estimate.low, estimate.high, estimate.n, (low, high), method
        ),
        **_generation(plan, run, scored.scenario),
    }


DRAWN = ("bootstrap", "jackknife")
"""Methods of standard errors that are not analytic."""


def results_of_measures(connection: Connection, plan: Plan, run: RunRecord, model: str) -> list[dict[str, Any]]:
    """Return every value of every measure of a model."""
    found = []
    for measure in plan.measures:
        for row in with_sequential_intervals(run, evaluate(connection, plan, measure)).rows:
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
    details = _score(value, row.standard_error, row.low, row.high, row.n, bounds, method)
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
    """Return the judges and their prompt, if the scorer is a model."""
    scorer = next((each for each in plan.scorers if each.name == scored.scorer), None)
    if scorer is None:
        return {}
    models = run.evaluators.get(scorer.role) or run.models
    judges: list[dict[str, Any]] = [{"model_info": model_info(model)} for model in models]
    if scorer.settings.temperature is not None:
        judges = [{**judge, "temperature": scorer.settings.temperature} for judge in judges]
    prompt = scorer.prompt[plan.benchmark.languages[0]]
    told: dict[str, Any] = {"judges": judges, "input_prompt": template_text(prompt)}
    if len(judges) > 1:
        told["aggregation_method"] = "average"
    if scorer.settings.given:
        told["additional_details"] = {"settings": orjson.dumps(scorer.settings.given).decode()}
    return {"llm_scoring": told}


def _generation(plan: Plan, run: RunRecord, scenario: str) -> dict[str, Any]:
    """Return the settings of the asks of a scenario, if all asks have the same."""
    asks = [step for step in _steps(plan, scenario) if isinstance(step, Ask) and step.role == run.compared_role]
    settings = {ask.settings for ask in asks}
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
    digests = {file.path: f"sha256:{file.sha256}" for file in dataset.every_file}
    return {"dataset_name": dataset.name, "source_type": "other", "additional_details": digests}


def _steps(plan: Plan, scenario: str) -> Sequence[Any]:
    return next((each.steps for each in plan.scenarios if each.name == scenario), ())


def template_text(template: Template) -> str:
    """Return a template as text, with its holes as written; a complex expression becomes `{{ … }}`.

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


# Files
VERSION = "0.3.0"
AGGREGATE, INSTANCES = "eval", "instance_level_eval"


@dataclass(frozen=True)
class ExportedFiles:
    """The exported files of a model, and the number of scores without a value, which are in neither."""

    model: str
    aggregate: Path
    instances: Written
    results: int
    without_value: int


def write_eee(
    connection: Connection, plan: Plan, run: RunRecord, folder: Path, organization: str, secrets: bool
) -> list[ExportedFiles]:
    """Write both files of every compared model below `folder`, under the paths of the datastore.

    The names depend only on the run and the model, so that the same run gives the same bytes. With `secrets` lines have
    reference answers. Raises `StoreError`: S0603 if nothing has a value, S0604 if the disk refuses, S0605 if a file
    does not fit its schema.
    """
    tool = connection.execute("select tool_version from main.runs where run_id = ?", [run.run_id]).fetchall()[0][0]
    fileses = [_write(connection, plan, run, model, folder, (organization, tool), secrets) for model in run.models]
    exported_fileses = [exported_files for exported_files in fileses if exported_files is not None]
    if not exported_fileses:
        raise StoreError("S0603", "nothing to export: no score of this run has a value", "`tripos report` says why")
    return exported_fileses


def _write(
    connection: Connection,
    plan: Plan,
    run: RunRecord,
    model: str,
    folder: Path,
    by: tuple[str, str],
    secrets: bool,
) -> ExportedFiles | None:
    about = model_info(model)
    ended = run.finished_at or run.started_at
    stamp = str(int(ended.replace(tzinfo=UTC).timestamp()))
    evaluation = f"{run.benchmark}/{about['id']}/{stamp}"
    named = hashlib.blake2b(f"{run.run_id}\n{model}".encode(), digest_size=16).digest()
    developer, _, rest = about["id"].partition("/")
    place = "/".join(map(_safe, ("data", run.benchmark, developer, rest or developer)))
    stem = f"{place}/{uuid.UUID(bytes=named, version=4)}"
    scored: dict[str, ResultScores] = {}
    common = {"schema_version": VERSION, "evaluation_id": evaluation, "model_id": about["id"]}

    lower = lower_scores(plan)

    def lines() -> Iterator[bytes]:
        for row in _rows(connection, plan, run, model):
            result = name_of(run.benchmark, row, arm_columns(plan))
            line = common | {"evaluation_name": result, "evaluation_result_id": result}
            line |= _instance(plan, row, secrets)
            way = (row["scenario"], row["metric"]) in lower
            fresh = ResultScores(row["scenario"], row["metric"], row["scorer"], [], [], way)
            scores = scored.setdefault(result, fresh)
            scores.clusters.append(row["cluster_id"] or row["item_id"])
            scores.values.append(row["value"])
            line["evaluation"] = {"score": row["value"], "is_correct": scores.is_best(plan, row["value"])}
            yield _checked(line, INSTANCES)

    details = write_lines(folder / f"{stem}_samples.jsonl", lines())
    if not scored:
        details.path.unlink()
        return None
    results = [result_of(plan, run, model, name, scores) for name, scores in scored.items()]
    results += results_of_measures(connection, plan, run, model)
    aggregate = {
        "schema_version": VERSION,
        "evaluation_id": evaluation,
        "evaluation_timestamp": run.started_at.isoformat() + "Z",
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": f"{run.benchmark} {run.version}",
            "source_type": "evaluation_run",
            "source_organization_name": by[0],
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "tripos",
            "version": by[1],
            "additional_details": {"run_id": run.run_id, "plan_digest": run.plan_digest},
        },
        "model_info": about,
        "evaluation_results": results,
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"{stem}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": details.sha256,
            "total_rows": details.rows,
        },
    }
    path = folder / f"{stem}.json"
    write_lines(path, [_checked(aggregate, AGGREGATE, orjson.OPT_INDENT_2)])
    return ExportedFiles(model, path, details, len(results), _without_value(connection, run, model))


def _rows(connection: Connection, plan: Plan, run: RunRecord, model: str) -> Iterator[dict[str, Any]]:
    """Yield every reply of a model with its mean score over judges, once for each metric."""
    schema, arms = sql.name(run.benchmark), arm_columns(plan)
    keys = ["scenario", "metric", "scorer", *arms, "sample_id"]
    same = " and ".join(f"score.{sql.name(key)} is not distinct from sample.{sql.name(key)}" for key in arms)
    cursor = connection.cursor()
    found = cursor.execute(
        # A row for each reply and metric, with the mean score over judges.
        f"""select score.metric, score.scorer, score.value, sample.*, item.cluster_id, item.fields, item.dataset
        from (
          select {", ".join(map(sql.name, keys))}, avg(value) as value
          from {schema}.scores
          where model = {sql.text(model)} and value is not null and {counts_in_figures(plan)} group by all
        ) as score
        join {schema}.samples as sample on sample.sample_id = score.sample_id
          and sample.role = {sql.text(run.compared_role)}{f" and {same}" if same else ""}
        left join {schema}.items as item on item.scenario = sample.scenario and item.item_id = sample.item_id
        order by sample.scenario, sample.item_id, sample.sample_number, sample.sample_id, score.metric
          {"".join(f", sample.{sql.name(arm)}" for arm in arms)}"""
    )
    names = [each[0] for each in found.description or ()]
    while rows := found.fetchmany(500):
        yield from (dict(zip(names, row, strict=True)) for row in rows)
    cursor.close()


def _instance(plan: Plan, row: Mapping[str, Any], secrets: bool) -> dict[str, Any]:
    messages = orjson.loads(row["messages"])
    raw = next((message["content"] for message in reversed(messages) if message.get("role") == "user"), "")
    reference = _reference(plan, row) if secrets else []
    told: dict[str, Any] = {
        "sample_id": row["item_id"],
        "sample_hash": hashlib.sha256((raw + "".join(reference)).encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": raw, "reference": reference},
        "output": {"raw": [row["reply"] or ""]},
        "messages": None,
        "answer_attribution": [],
        "error": row["error"],
        "metadata": {
            **{name: str(row[name]) for name in place_columns(plan) if row[name] is not None},
            "sample_id": row["sample_id"],
            "sample_number": str(row["sample_number"]),
            "status": row["status"],
        },
    }
    if len(messages) > 1:
        told["input"]["formatted"] = row["messages"]
    if row["parsed"] is not None:
        told["answer_attribution"].append(
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": row["parsed"],
                "extraction_method": "json",
                "is_terminal": True,
            }
        )
    sent, got = row["tokens_in"], row["tokens_out"]
    if sent is not None and got is not None:
        told["token_usage"] = {"input_tokens": sent, "output_tokens": got, "total_tokens": sent + got}
    if row["latency_s"] is not None:
        told["performance"] = {"latency_ms": 1000 * row["latency_s"]}
    return told


def _reference(plan: Plan, row: Mapping[str, Any]) -> list[str]:
    """Return the secret fields of an item, which contain the right answer."""
    if row["fields"] is None or row["dataset"] is None:
        return []
    secret = open_fields(plan, True).get(row["dataset"], {}).keys() - open_fields(plan, False).get(row["dataset"], {})
    own = orjson.loads(row["fields"])
    found = [own[name] for name in sorted(secret) if own.get(name) is not None]
    return [each if isinstance(each, str) else orjson.dumps(each).decode() for each in found]


def _without_value(connection: Connection, run: RunRecord, model: str) -> int:
    query = f"""select count(*) from {sql.name(run.benchmark)}.scores
    where model = {sql.text(model)} and value is null and status <> 'not_applicable'"""
    return int(connection.execute(query).fetchall()[0][0])


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft7Validator

    schema = orjson.loads(
        files("tripos_warehouse").joinpath(f"exports/schemas/every_eval_ever/{name}.schema.json").read_bytes()
    )
    return Draft7Validator(schema)


def check(document: Mapping[str, Any], name: str) -> None:
    """Raise `StoreError` S0605 if a document does not fit the schema called `name`."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator(name).iter_errors(document))
    if error is not None:
        where = "/".join(map(str, error.absolute_path)) or "the whole"
        text = " ".join(error.message.split())[:200]
        raise StoreError("S0605", f"Every Eval Ever {VERSION} does not take this: {where}: {text}", "please report it")


def _checked(document: Mapping[str, Any], name: str, option: int = 0) -> bytes:
    text = orjson.dumps(document, option=option)
    check(orjson.loads(text), name)
    return text


def _safe(part: str) -> str:
    """Return a part of a path with only those characters that every file system accepts.

    >>> _safe("careful:a"), _safe("..")
    ('careful_a', '_')
    """
    return re.sub(r"[^\w.\-]", "_", part) if part.strip(".") else "_"
