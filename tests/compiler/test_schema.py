"""The JSON schema of a plan, and plans that satisfy it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest
from compiling import ROOT, compile_file, plan_of

from tests.each import each
from tests.lengths import spread
from tripos_compiler.plan import Plan

SCHEMA = ROOT / "docs" / "plan.schema.json"
CASES = sorted((ROOT / "tests" / "cases").glob("*/valid/*.tripos"))
SPECS = [ROOT / "specs" / "edubench" / "edubench.tripos", *CASES]


def test_the_schema_in_docs_is_that_of_the_code() -> None:
    schema = json.dumps(Plan.model_json_schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        SCHEMA.write_text(schema, "utf-8")
    assert SCHEMA.read_text("utf-8") == schema


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@each("path", spread(SPECS, 5))
def test_a_plan_satisfies_the_schema(path: Path, validator: jsonschema.Draft202012Validator) -> None:
    plan = plan_of(compile_file(path))
    validator.validate(json.loads(plan.to_json()))
    assert Plan.model_validate_json(plan.to_json()) == plan
