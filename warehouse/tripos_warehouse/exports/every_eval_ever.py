"""Export of a run to Every Eval Ever 0.3.0: two files for each compared model, one with its results and one with a line
for each score.

The score of a reply is its mean over judges. A result is the mean of the scores of one metric in one scenario and, if
there are arms, one arm. Measures of the spec are further results, without lines. Each line and each results file is
validated against the JSON Schemas in `exports/schemas/every_eval_ever/` before it is written.
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
from tripos_warehouse.measures.directions import is_lower_better
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import SEQUENCE, MeasureRow, mean_of_run, with_sequential_intervals
from tripos_warehouse.measures.study_design import lower_scores
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.statistics.arrays import CONFIDENCE
from tripos_warehouse.statistics.intervals import mean_of_cells
from tripos_warehouse.views.benchmark_views import counts_in_figures
from tripos_warehouse.views.dimensions import arm_columns
from tripos_warehouse.views.runs import RunRecord, tool_version

# Results
SELF_DEPLOYED = ("local", "mock", "ollama", "hosted_vllm", "vllm", "llamafile", "lm_studio")
"""Providers whose models run on the user's machine."""
GENERATION_ARGS = ("temperature", "top_p", "top_k", "max_tokens")
"""The settings that have fields in the format. Other settings are written as JSON into `additional_details`."""
CORRECT = "true where the score is the best of its scale"


@dataclass(frozen=True)
class ResultScores:
    """The scores of one result, which is a metric of a scenario: the cluster and the value of each score."""

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
    arm_text = ", ".join(f"{arm}: {row[arm]}" for arm in arms if row[arm] is not None)
    return f"{benchmark}/{row['scenario']}/{row['metric']}" + (f"[{arm_text}]" if arm_text else "")


def model_info(model: str) -> dict[str, Any]:
    """Return what the name of a model says about it. Whether its weights are available is unknown.

    >>> info = model_info("openrouter/meta-llama/llama-3.1-8b")
    >>> info["id"], info["inference_platform"], info["additional_details"]["deployment_type"]
    ('meta-llama/llama-3.1-8b', 'openrouter', 'externally_managed')
    """
    platform, _, rest = model.partition("/")
    is_self_deployed = platform in SELF_DEPLOYED
    return {
        "name": model,
        "id": rest if rest.count("/") == 1 else model,
        "inference_platform": platform,
        "additional_details": {
            "deployment_type": "self_deployed" if is_self_deployed else "externally_managed",
            "model_availability": "unknown",
        },
    }


def scale(plan: Plan, scenario: str, metric: str) -> tuple[float | None, float | None, bool]:
    """Return the lowest and the highest possible value of a score, None without such a bound, and whether the score is
    a `bool`.
    """
    for entry in plan.metrics:
        if entry.name == metric:
            return (None, None, False) if entry.ends is None else (float(entry.low), float(entry.high), False)
    ranges, owner = ranges_of(plan), next(entry for entry in plan.scenarios if entry.name == scenario)
    steps = [step for step in owner.steps if isinstance(step, Score | Grade) and step.name == metric]
    if not steps:
        return None, None, False
    low, high = enclosing_range(ranges.of_step(owner, step) for step in steps)
    is_bool = all(ranges.declared(owner, step).kind == "bool" for step in steps)
    return None if math.isinf(low) else low, None if math.isinf(high) else high, is_bool


def result_of(plan: Plan, run: RunRecord, model: str, name: str, scored: ResultScores) -> dict[str, Any]:
    """Return a result as JSON: the mean of some scores of a model, with a standard error clustered by item."""
    low, high, is_bool = scale(plan, scored.scenario, scored.metric)
    bounds = None if low is None or high is None else (low, high)
    estimate = mean_of_run(run, model, mean_of_cells(scored.values, scored.clusters, ends=bounds, paired=False))
    method = "t" if bounds is None else "logit" if estimate.standard_error else "exact"
    title = next((dict(metric.title) for metric in plan.metrics if metric.name == scored.metric), {})
    config = {
        "metric_id": f"{run.benchmark}.{scored.metric}",
        "metric_name": title.get(plan.benchmark.languages[0]) or scored.metric,
        "metric_unit": "proportion" if is_bool else "points",
        "additional_details": {"is_correct": CORRECT},
        **_metric_config(low, high, is_bool, scored.lower_is_better),
        **_llm_scoring(plan, run, scored),
    }
    error = estimate.standard_error
    return {
        "evaluation_result_id": name,
        "evaluation_name": name,
        "source_data": _source_data(plan, scored.scenario),
        "metric_config": config,
        "score_details": _score_details(
            estimate.value or 0.0, error, estimate.low, estimate.high, estimate.n, (low, high), method
        ),
        **_generation_config(plan, run, scored.scenario),
    }


RESAMPLING = ("bootstrap", "jackknife")
"""Methods of standard errors that are not analytic."""


def results_of_measures(connection: Connection, plan: Plan, run: RunRecord, model: str) -> list[dict[str, Any]]:
    """Return the results of a model for every value of every measure."""
    results = []
    for measure in plan.measures:
        for row in with_sequential_intervals(run, evaluate(connection, plan, measure)).rows:
            if row.model == model and row.value is not None:
                results.append(_measure_result(plan, run, measure, row, row.value))
    return results


def _measure_result(plan: Plan, run: RunRecord, measure: Measure, row: MeasureRow, value: float) -> dict[str, Any]:
    cell = ", ".join(f"{name}: {label}" for name, label in zip(measure.by, row.by, strict=True))
    name = f"{run.benchmark}/measure/{measure.name}" + (f"[{cell}]" if cell else "")
    config = {
        "metric_id": f"{run.benchmark}.measure.{measure.name}",
        "metric_name": measure.name,
        **_metric_config(measure.low, measure.high, False, is_lower_better(plan, measure)),
    }
    bounds = (measure.low, measure.high)
    method = row.method or "t"
    details = _score_details(value, row.standard_error, row.low, row.high, row.n, bounds, method)
    details["details"] = {"items": str(row.items), "scores": str(row.n), "expected": str(row.total)}
    source = {"dataset_name": run.benchmark, "source_type": "other"}
    return {
        "evaluation_result_id": name,
        "evaluation_name": name,
        "source_data": source,
        "metric_config": config,
        "score_details": details,
    }


def _metric_config(
    low: float | None, high: float | None, is_bool: bool, lower_is_better: bool = False
) -> dict[str, Any]:
    return {
        "lower_is_better": lower_is_better,
        "score_type": "binary" if is_bool else "continuous",
        "min_score": "-Infinity" if low is None else low,
        "max_score": "Infinity" if high is None else high,
    }


def _score_details(
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
        uncertainty["standard_error"] = {"value": error, "method": method if method in RESAMPLING else "analytic"}
    if low is not None and high is not None:
        uncertainty["confidence_interval"] = {
            "lower": low if bounds[0] is None else max(low, bounds[0]),
            "upper": high if bounds[1] is None else min(high, bounds[1]),
            "confidence_level": CONFIDENCE,
            "method": method if method in ("exact", SEQUENCE) else f"{method}, clustered by item",
        }
    return {"score": value, "uncertainty": uncertainty}


def _llm_scoring(plan: Plan, run: RunRecord, scored: ResultScores) -> dict[str, Any]:
    """Return the judges and their prompt; empty if the scorer is no model."""
    scorer = next((entry for entry in plan.scorers if entry.name == scored.scorer), None)
    if scorer is None:
        return {}
    models = run.evaluators.get(scorer.role) or run.models
    judges: list[dict[str, Any]] = [{"model_info": model_info(model)} for model in models]
    if scorer.settings.temperature is not None:
        judges = [{**judge, "temperature": scorer.settings.temperature} for judge in judges]
    prompt = scorer.prompt[plan.benchmark.languages[0]]
    scoring: dict[str, Any] = {"judges": judges, "input_prompt": template_text(prompt)}
    if len(judges) > 1:
        scoring["aggregation_method"] = "average"
    if scorer.settings.given:
        scoring["additional_details"] = {"settings": orjson.dumps(scorer.settings.given).decode()}
    return {"llm_scoring": scoring}


def _generation_config(plan: Plan, run: RunRecord, scenario: str) -> dict[str, Any]:
    """Return the settings of the asks of a scenario to the role under test; empty unless all have the same."""
    asks = [step for step in _steps(plan, scenario) if isinstance(step, Ask) and step.role == run.compared_role]
    settings = {ask.settings for ask in asks}
    if len(settings) != 1:
        return {}
    values = settings.pop().given
    args = {name: value for name, value in values.items() if name in GENERATION_ARGS}
    details = {name: orjson.dumps(value).decode() for name, value in values.items() if name not in args}
    config = {
        name: content for name, content in (("generation_args", args), ("additional_details", details)) if content
    }
    return {"generation_config": config} if config else {}


def _source_data(plan: Plan, scenario: str) -> dict[str, Any]:
    rows = next((entry.rows for entry in plan.scenarios if entry.name == scenario), None)
    dataset = next((entry for entry in plan.datasets if rows is not None and entry.name == rows.dataset), None)
    if dataset is None:
        return {"dataset_name": rows.dataset if rows is not None else plan.benchmark.name, "source_type": "other"}
    digests = {file.path: f"sha256:{file.sha256}" for file in dataset.every_file}
    return {"dataset_name": dataset.name, "source_type": "other", "additional_details": digests}


def _steps(plan: Plan, scenario: str) -> Sequence[Any]:
    return next((entry.steps for entry in plan.scenarios if entry.name == scenario), ())


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
            return "".join(_part(inner) for inner in parts) + "\n\n"


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
    """The exported files of a model, and the number of scores without a value, which are in neither file."""

    model: str
    aggregate: Path
    instances: Written
    results: int
    without_value: int


def write_eee(
    connection: Connection, plan: Plan, run: RunRecord, folder: Path, organization: str, secrets: bool
) -> list[ExportedFiles]:
    """Write both files of every compared model below `folder`, at the paths that the format's datastore prescribes.

    Names and contents depend only on the store, the run and the model, so a repeated export gives the same bytes. With
    `secrets`, lines contain reference answers. Raises `StoreError`: S0603 if no score has a value, S0604 if the disk
    refuses a file, S0605 if a document does not fit its schema.
    """
    tool = tool_version(connection, run.run_id)
    written = [_write(connection, plan, run, model, folder, (organization, tool), secrets) for model in run.models]
    exported = [files_of_model for files_of_model in written if files_of_model is not None]
    if not exported:
        raise StoreError("S0603", "nothing to export: no score of this run has a value", "`tripos report` says why")
    return exported


def _write(
    connection: Connection,
    plan: Plan,
    run: RunRecord,
    model: str,
    folder: Path,
    organization_and_version: tuple[str, str],
    secrets: bool,
) -> ExportedFiles | None:
    facts = model_info(model)
    end = run.finished_at or run.started_at
    stamp = str(int(end.replace(tzinfo=UTC).timestamp()))
    evaluation_id = f"{run.benchmark}/{facts['id']}/{stamp}"
    digest = hashlib.blake2b(f"{run.run_id}\n{model}".encode(), digest_size=16).digest()
    developer, _, rest = facts["id"].partition("/")
    directory = "/".join(map(_safe_name, ("data", run.benchmark, developer, rest or developer)))
    stem = f"{directory}/{uuid.UUID(bytes=digest, version=4)}"
    scores_by_result: dict[str, ResultScores] = {}
    common = {"schema_version": VERSION, "evaluation_id": evaluation_id, "model_id": facts["id"]}

    lower_is_better_scores = lower_scores(plan)

    def lines() -> Iterator[bytes]:
        for row in _rows(connection, plan, run, model):
            name = name_of(run.benchmark, row, arm_columns(plan))
            line = common | {"evaluation_name": name, "evaluation_result_id": name}
            line |= _instance_line(plan, row, secrets)
            lower_is_better = (row["scenario"], row["metric"]) in lower_is_better_scores
            empty = ResultScores(row["scenario"], row["metric"], row["scorer"], [], [], lower_is_better)
            scores = scores_by_result.setdefault(name, empty)
            scores.clusters.append(row["cluster_id"] or row["item_id"])
            scores.values.append(row["value"])
            line["evaluation"] = {"score": row["value"], "is_correct": scores.is_best(plan, row["value"])}
            yield _validated(line, INSTANCES)

    samples_file = write_lines(folder / f"{stem}_samples.jsonl", lines())
    if not scores_by_result:
        samples_file.path.unlink()
        return None
    results = [result_of(plan, run, model, name, scores) for name, scores in scores_by_result.items()]
    results += results_of_measures(connection, plan, run, model)
    aggregate = {
        "schema_version": VERSION,
        "evaluation_id": evaluation_id,
        "evaluation_timestamp": run.started_at.isoformat() + "Z",
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": f"{run.benchmark} {run.version}",
            "source_type": "evaluation_run",
            "source_organization_name": organization_and_version[0],
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "tripos",
            "version": organization_and_version[1],
            "additional_details": {"run_id": run.run_id, "plan_digest": run.plan_digest},
        },
        "model_info": facts,
        "evaluation_results": results,
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"{stem}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": samples_file.sha256,
            "total_rows": samples_file.rows,
        },
    }
    path = folder / f"{stem}.json"
    write_lines(path, [_validated(aggregate, AGGREGATE, orjson.OPT_INDENT_2)])
    return ExportedFiles(model, path, samples_file, len(results), _without_value(connection, run, model))


def _rows(connection: Connection, plan: Plan, run: RunRecord, model: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each reply of a model and each metric, with the mean score over judges."""
    schema, arms = sql.name(run.benchmark), arm_columns(plan)
    keys = ["scenario", "metric", "scorer", *arms, "sample_id"]
    same_arms = " and ".join(f"score.{sql.name(key)} is not distinct from sample.{sql.name(key)}" for key in arms)
    cursor = connection.cursor()
    result = cursor.execute(
        # A row for each reply and metric, with the mean score over judges.
        f"""select score.metric, score.scorer, score.value, sample.*, item.cluster_id, item.fields, item.dataset
        from (
          select {", ".join(map(sql.name, keys))}, avg(value) as value
          from {schema}.scores
          where model = {sql.text(model)} and value is not null and {counts_in_figures(plan)} group by all
        ) as score
        join {schema}.samples as sample on sample.sample_id = score.sample_id
          and sample.role = {sql.text(run.compared_role)}{f" and {same_arms}" if same_arms else ""}
        left join {schema}.items as item on item.scenario = sample.scenario and item.item_id = sample.item_id
        order by sample.scenario, sample.item_id, sample.sample_number, sample.sample_id, score.metric
          {"".join(f", sample.{sql.name(arm)}" for arm in arms)}"""
    )
    columns = [column[0] for column in result.description or ()]
    while rows := result.fetchmany(500):
        yield from (dict(zip(columns, row, strict=True)) for row in rows)
    cursor.close()


def _instance_line(plan: Plan, row: Mapping[str, Any], secrets: bool) -> dict[str, Any]:
    messages = orjson.loads(row["messages"])
    last_user_message = next(
        (message["content"] for message in reversed(messages) if message.get("role") == "user"), ""
    )
    references = _references(plan, row) if secrets else []
    line: dict[str, Any] = {
        "sample_id": row["item_id"],
        "sample_hash": hashlib.sha256((last_user_message + "".join(references)).encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": last_user_message, "reference": references},
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
        line["input"]["formatted"] = row["messages"]
    if row["parsed"] is not None:
        line["answer_attribution"].append(
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": row["parsed"],
                "extraction_method": "json",
                "is_terminal": True,
            }
        )
    tokens_in, tokens_out = row["tokens_in"], row["tokens_out"]
    if tokens_in is not None and tokens_out is not None:
        line["token_usage"] = {
            "input_tokens": tokens_in,
            "output_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        }
    if row["latency_s"] is not None:
        line["performance"] = {"latency_ms": 1000 * row["latency_s"]}
    return line


def _references(plan: Plan, row: Mapping[str, Any]) -> list[str]:
    """Return the values of the secret fields of an item as texts. The right answer is among them."""
    if row["fields"] is None or row["dataset"] is None:
        return []
    secret = open_fields(plan, True).get(row["dataset"], {}).keys() - open_fields(plan, False).get(row["dataset"], {})
    fields = orjson.loads(row["fields"])
    values = [fields[name] for name in sorted(secret) if fields.get(name) is not None]
    return [value if isinstance(value, str) else orjson.dumps(value).decode() for value in values]


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
        reason = " ".join(error.message.split())[:200]
        raise StoreError(
            "S0605", f"Every Eval Ever {VERSION} does not take this: {where}: {reason}", "please report it"
        )


def _validated(document: Mapping[str, Any], name: str, option: int = 0) -> bytes:
    text = orjson.dumps(document, option=option)
    check(orjson.loads(text), name)
    return text


def _safe_name(part: str) -> str:
    """Return a part of a path with each character that some file system refuses replaced by `_`.

    >>> _safe_name("careful:a"), _safe_name("..")
    ('careful_a', '_')
    """
    return re.sub(r"[^\w.\-]", "_", part) if part.strip(".") else "_"
