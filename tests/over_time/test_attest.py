"""`tripos attest` and `tripos verify --result`: what a statement has, and every change that is found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import minisign
import pytest

from tests.conftest import Command
from tripos.releases.signing import ResultStatement

ROOT = Path(__file__).parents[2]
LESSONS = ROOT / "tests/compat/previous/title"
SCHEMA = ROOT / "docs/result.schema.json"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Command) -> str:
    """Return the id of a run, and leave a pair of keys of SSH beside it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(LESSONS, "spec")
    done = once("run", "spec", "--model", "mock/careful", "--role", "judge=mock/fair", "--json")
    subprocess.run(["ssh-keygen", "-t", "ed25519", "-N", "", "-q", "-f", "key"], check=True)
    return str(done.data["run_id"])


def wrong(tripos: Command, *more: str) -> list[str]:
    """Return what is wrong with the result."""
    found = tripos("verify", "--result", "r.json", "--store", "results", "--json", *more)
    assert found.code == (0 if found.data["good"] else 1)
    return [each["what"] for each in found.data["checks"] if each["outcome"] == "wrong"]


def test_a_statement_holds_and_says_what_the_result_stands_on(run: str, tripos: Command) -> None:
    Path("tripos.lock").write_text("{}", "utf-8")
    assert tripos("attest", run, "-o", "r.json", "--sign-key", "key", "--lock", "tripos.lock").code == 0
    said = json.loads(Path("r.json").read_text("utf-8"))
    assert (said["_type"], said["predicateType"]) == ("https://in-toto.io/Statement/v1", "urn:tripos:result:1")
    report = tripos("report", run, "--json").data
    [headline] = [
        each["rows"] for each in report["measures"] if each["name"] == said["predicate"]["figures"][0]["measure"]
    ]
    assert said["predicate"]["figures"][0]["value"] == headline[0]["value"]
    assert said["predicate"]["roles"] == {"candidate": ["mock/careful"], "judge": ["mock/fair"]}
    assert said["predicate"]["plan"] == report["run"]["plan_digest"]
    assert {each["name"] for each in said["subject"]} == {"items", "samples", "judgements", "scores", "comparisons"}
    assert wrong(tripos, "--key", "key.pub") == []
    told = tripos("verify", "--result", "r.json")
    assert told.code == 1 and "nothing was checked" in told.out, "it may say anything"
    told = tripos("verify", "--result", "r.json", "--json")
    assert (told.code, told.data["good"]) == (1, False)


def test_a_statement_holds_after_compaction_and_in_a_merged_store(run: str, tripos: Command) -> None:
    assert tripos("attest", run, "-o", "r.json").code == 0
    assert tripos("store", "compact").code == 0
    assert tripos("store", "merge", "results", "--into", "both").code == 0
    assert wrong(tripos) == []
    assert tripos("verify", "--result", "r.json", "--store", "both").code == 0


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "figure": (lambda said: said["predicate"]["figures"][0].update(value=0.5), "accuracy of mock/careful"),
    "judge": (lambda said: said["predicate"]["roles"].update(judge=["mock/severe"]), "roles"),
    "plan": (lambda said: said["predicate"].update(plan="0" * 64), "plan"),
    "release": (lambda said: said["predicate"].update(release="0" * 64), "release"),
    "restriction": (lambda said: said["predicate"]["run"].update(only={"tone": ["warm"]}), "restriction of the run"),
    "withheld": (lambda said: said["predicate"]["run"].update(withheld=9), "withheld items"),
    "day": (lambda said: said["predicate"]["run"].update(started_at="2020-01-01T00:00:00Z"), "started_at"),
    "served": (lambda said: said["predicate"].update(served={"mock/careful": ["another"]}), "served"),
    "tool": (lambda said: said["predicate"]["versions"].update(run="9.9.9"), "version of Tripos"),
    "rows": (lambda said: said["predicate"]["rows"].update(samples=1_000), "samples"),
    "fewer tables": (lambda said: said["subject"].pop(1), "samples"),
    "table": (lambda said: said["subject"][1]["digest"].update(sha256="0" * 64), "samples"),
    "file": (
        lambda said: said["predicate"]["parts"].update(dict.fromkeys(said["predicate"]["parts"], "0" * 64)),
        ".parquet",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_the_statement_is_named_and_its_signature_holds_no_more(
    name: str, run: str, tripos: Command
) -> None:
    assert tripos("attest", run, "-o", "r.json", "--sign-key", "key").code == 0
    said = json.loads(Path("r.json").read_text("utf-8"))
    change, what = CHANGES[name]
    change(said)
    Path("r.json").write_text(json.dumps(said), "utf-8")
    found = wrong(tripos, "--key", "key.pub")
    assert "r.json.sig" in found
    assert any(what in each for each in found), found


def test_a_key_of_minisign_signs_a_statement_and_finds_each_change(run: str, tripos: Command) -> None:
    pair, other = minisign.KeyPair.generate(), minisign.KeyPair.generate()
    for file, key in (("lab.key", pair.secret_key), ("lab.pub", pair.public_key), ("other.pub", other.public_key)):
        Path(file).write_bytes(bytes(key))
    assert (
        tripos("attest", run, "-o", "r.json", "--sign-key", "lab.key", "--json").data["signature"] == "r.json.minisig"
    )
    raw = Path("r.json").read_bytes()
    pair.public_key.verify(raw, minisign.Signature.from_file("r.json.minisig"))
    assert wrong(tripos, "--key", "lab.pub") == []
    assert wrong(tripos, "--key", "other.pub") == ["r.json.minisig"]
    assert wrong(tripos, "--key", "key.pub") == ["signature"]
    for change, what in CHANGES.values():
        said = json.loads(raw)
        change(said)
        Path("r.json").write_text(json.dumps(said), "utf-8")
        found = wrong(tripos, "--key", "lab.pub")
        assert "r.json.minisig" in found and any(what in each for each in found), found
    Path("r.json").write_bytes(raw)
    signature = Path("r.json.minisig").read_text("utf-8")
    assert run in signature, "the trusted comment names the run"
    Path("r.json.minisig").write_text(signature.replace(run, "another run"), "utf-8")
    assert wrong(tripos, "--key", "lab.pub") == ["r.json.minisig"]


def test_a_key_with_a_password_needs_it(run: str, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = minisign.KeyPair.generate()
    Path("lab.pub").write_bytes(bytes(pair.public_key))
    pair.secret_key.encrypt("secret")
    Path("lab.key").write_bytes(bytes(pair.secret_key))
    done = tripos("attest", run, "-o", "r.json", "--sign-key", "lab.key")
    assert done.code == 2 and "has a password" in done.err and "TRIPOS_KEY_PASSWORD" in done.err
    monkeypatch.setenv("TRIPOS_KEY_PASSWORD", "wrong")
    assert "S0856" in tripos("attest", run, "-o", "r.json", "--sign-key", "lab.key").err
    monkeypatch.setenv("TRIPOS_KEY_PASSWORD", "secret")
    assert tripos("attest", run, "-o", "r.json", "--sign-key", "lab.key").code == 0
    assert wrong(tripos, "--key", "lab.pub") == []
    assert wrong(tripos, "--key", pair.public_key.to_base64().decode()) == []


def test_rows_that_came_later_are_found(run: str, tripos: Command) -> None:
    assert tripos("attest", run, "-o", "r.json").code == 0
    [sample] = tripos("sql", "select sample_id from lessons.samples limit 1", "--format", "json").data
    Path("s.csv").write_text(f"sample_id,metric,value,evaluator\n{sample['sample_id']},clarity,1,human/ann\n", "utf-8")
    done = tripos("import", "scores", "s.csv")
    assert done.code == 0, done.err
    assert "scores" in wrong(tripos)


def test_the_schema_is_that_of_the_documentation() -> None:
    text = json.dumps(ResultStatement.model_json_schema(by_alias=True), indent=2, sort_keys=True) + "\n"
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        SCHEMA.write_text(text, "utf-8")
    assert SCHEMA.read_text("utf-8") == text


def test_mistakes_are_told(run: str, tripos: Command) -> None:
    assert "takes a release, or a result" in tripos("verify").err
    assert "S0856" in tripos("verify", "--result", "spec/spec.tripos").err
    assert "S0856" in tripos("attest", "--sign-key", "spec/spec.tripos", "-o", "r.json").err
