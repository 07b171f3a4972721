"""JSON Schemas of a spec: of rows of its data sets, and of structured replies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from tripos.exporting import Emitter
from tripos_warehouse.files import write_lines

if TYPE_CHECKING:
    from tripos.exporting.questions import SpecQuestions
    from tripos_compiler.plan import DataField

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def write_schemas(emission: SpecQuestions, folder: Path) -> list[Path]:
    """Write `rows/DATASET.schema.json` for every data set and `replies/SCENARIO.STEP.schema.json` for every step with
    structured replies. Return their paths."""
    from tripos_compiler.plan import Ask
    from tripos_runtime.reading.schema import schema_of

    plan, paths = emission.plan, []
    for data in plan.datasets:
        schema = _rows(emission, data.name, data.fields)
        paths.append(_write(folder / "rows" / f"{data.name}.schema.json", f"A row of {data.name}", schema))
    for dataset in plan.made:
        emission.lose(dataset.name, "its rows are written by models")
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Ask) and step.returns is not None:
                path = folder / "replies" / f"{scenario.name}.{step.name}.schema.json"
                try:
                    schema = schema_of(step.returns)
                except ValueError as error:
                    emission.lose(f"{scenario.name}.{step.name}", str(error))
                else:
                    paths.append(_write(path, f"A reply to {step.name} of {scenario.name}", schema))
    return list(dict.fromkeys(paths))


def _rows(emission: SpecQuestions, dataset: str, fields: tuple[DataField, ...]) -> dict[str, Any]:
    """Return the schema of a row, by the first column of each field. Other columns are allowed."""
    from tripos_compiler.plan import OptionalType, RecordType
    from tripos_runtime.reading.schema import schema_of

    properties: dict[str, Any] = {}
    required = []
    for field in fields:
        optional = isinstance(field.type, OptionalType)
        try:
            own = schema_of(RecordType(fields={field.name: field.type}))["properties"][field.name]
        except ValueError:
            emission.lose(f"{dataset}.{field.name}", "a type that no JSON Schema has: an image, a tree or the like")
            own = {}
        column = field.columns[0] if field.columns else field.name
        properties[column] = {**own, "x-tripos-secret": True} if field.secret else own
        if len(field.columns) > 1:
            emission.lose(f"{dataset}.{field.name}", f"other columns that are read: {', '.join(field.columns[1:])}")
        elif not optional:
            required.append(column)
    return {"type": "object", "properties": properties, "required": required}


def _write(path: Path, title: str, schema: dict[str, Any]) -> Path:
    document = {"$schema": DRAFT, "title": title, **schema}
    return write_lines(path, [orjson.dumps(document, option=orjson.OPT_INDENT_2)]).path


EMITTER = Emitter("JSON Schemas of rows and of structured replies", write_schemas, reads_rows=False)
