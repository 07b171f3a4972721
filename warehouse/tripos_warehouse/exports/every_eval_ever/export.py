"""Every Eval Ever 0.3.0: a file for each compared model, with what it came to and a line for each score.

A result is the mean of the scores of one metric in one scenario (and arm), each the mean over judges of one reply; a
line says one of these. Measures of the spec are further results, without lines. Every file is checked against the JSON
Schemas of Every Eval Ever, which lie in `every_eval_ever/`, before it takes its place.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.every_eval_ever.results import (
    ResultScores,
    model_info,
    name_of,
    result_of,
    results_of_measures,
)
from tripos_warehouse.exports.files import Written, write_lines
from tripos_warehouse.exports.replies import place_columns
from tripos_warehouse.exports.tables import open_fields
from tripos_warehouse.measures import lower_scores
from tripos_warehouse.query import Connection
from tripos_warehouse.views import RunRecord, are_counted, arm_columns

VERSION = "0.3.0"
AGGREGATE, INSTANCES = "eval", "instance_level_eval"


@dataclass(frozen=True)
class Exported:
    """The exported files of a model: its two files, and how many scores without a value are in none."""

    model: str
    aggregate: Path
    instances: Written
    results: int
    without_value: int


def write_eee(
    connection: Connection, plan: Plan, run: RunRecord, folder: Path, organization: str, secrets: bool
) -> list[Exported]:
    """Write both files of every compared model below `folder`, under the paths that the datastore has.

    The names depend on the run and the model only, so that the same run gives the same bytes. With `secrets` lines have
    reference answers. Raises `StoreError`: S0603 where nothing has a value, S0604 where the disk refuses, S0605 where a
    file does not fit its schema.
    """
    tool = connection.execute("select tool_version from main.runs where run_id = ?", [run.run_id]).fetchall()[0][0]
    written = [_write(connection, plan, run, model, folder, (organization, tool), secrets) for model in run.models]
    found = [each for each in written if each is not None]
    if not found:
        raise StoreError("S0603", "nothing to export: no score of this run has a value", "`tripos report` says why")
    return found


def _write(
    connection: Connection,
    plan: Plan,
    run: RunRecord,
    model: str,
    folder: Path,
    by: tuple[str, str],
    secrets: bool,
) -> Exported | None:
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
            known = scored.setdefault(result, fresh)
            known.clusters.append(row["cluster_id"] or row["item_id"])
            known.values.append(row["value"])
            line["evaluation"] = {"score": row["value"], "is_correct": known.is_best(plan, row["value"])}
            yield _checked(line, INSTANCES)

    details = write_lines(folder / f"{stem}_samples.jsonl", lines())
    if not scored:
        details.path.unlink()
        return None
    results = [result_of(plan, run, model, name, each) for name, each in scored.items()]
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
    return Exported(model, path, details, len(results), _without_value(connection, run, model))


def _rows(connection: Connection, plan: Plan, run: RunRecord, model: str) -> Iterator[dict[str, Any]]:
    """Every reply of a model with the mean over judges of what it got on a metric."""
    schema, arms = sql.name(run.benchmark), arm_columns(plan)
    keys = ["scenario", "metric", "scorer", *arms, "sample_id"]
    same = " and ".join(f"score.{sql.name(key)} is not distinct from sample.{sql.name(key)}" for key in arms)
    cursor = connection.cursor()
    found = cursor.execute(
        f"""select score.metric, score.scorer, score.value, sample.*, item.cluster_id, item.fields, item.dataset
        from (
          select {", ".join(map(sql.name, keys))}, avg(value) as value
          from {schema}.scores
          where model = {sql.text(model)} and value is not null and {are_counted(plan)} group by all
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
    raw = next((each["content"] for each in reversed(messages) if each.get("role") == "user"), "")
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
    """Return the secret fields of an item, which say what would be right."""
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
        files("tripos_warehouse").joinpath(f"exports/every_eval_ever/{name}.schema.json").read_bytes()
    )
    return Draft7Validator(schema)


def check(document: Mapping[str, Any], name: str) -> None:
    """Raise `StoreError` S0605 where a document does not fit the schema called `name`."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator(name).iter_errors(document))
    if error is not None:
        where = "/".join(map(str, error.absolute_path)) or "the whole"
        told = " ".join(error.message.split())[:200]
        raise StoreError("S0605", f"Every Eval Ever {VERSION} does not take this: {where}: {told}", "please report it")


def _checked(document: Mapping[str, Any], name: str, option: int = 0) -> bytes:
    text = orjson.dumps(document, option=option)
    check(orjson.loads(text), name)
    return text


def _safe(part: str) -> str:
    """Return a part of a path: letters, digits and marks that every file system takes.

    >>> _safe("careful:a"), _safe("..")
    ('careful_a', '_')
    """
    return re.sub(r"[^\w.\-]", "_", part) if part.strip(".") else "_"
