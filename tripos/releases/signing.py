"""Signatures and attestations of releases and results.

A signature is one file, made with a key of minisign or SSH. It signs the manifest of a release, or the statement about
a result.

A statement is an in-toto statement about a run, with digests of its tables and of what they depend on. It has no date
and no machine name other than those of the run. The digest of a table covers the content of its rows in any order.
Columns about the run that produced a row, its time and its duration are excluded, since stores are merged and
compacted.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import orjson
from pydantic import Field, ValidationError

from tripos.releases.lock import served_in
from tripos.releases.manifest import Digest, ReleaseCheck, file_digest
from tripos.settings.options import STORE, VerifyParameters
from tripos.version import __version__
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Canonical, Plan
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.evaluation import evaluate_or_error
from tripos_warehouse.measures.measure_rows import with_sequential_intervals
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.leaderboard import headlines
from tripos_warehouse.store.schemas import CIRCUMSTANCES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import RunRecord, get_selected, tool_version

MINISIG, SSHSIG = ".minisig", ".sig"
"""Suffixes of signature files."""
NAMESPACE, RESULT_NAMESPACE = "tripos-release", "tripos-result"
"""Namespaces of SSH signatures, so that one cannot be used for another purpose."""
PASSWORD = "TRIPOS_KEY_PASSWORD"
SSH_S = 60
SIGNATURE = "signature"
_SIGNER = "release"
_SSH_KEYS = ("ssh-", "ecdsa-", "sk-")


def sign(signed: Path, key: Path, name: str, environ: Mapping[str, str], namespace: str = NAMESPACE) -> str:
    """Sign a file with a secret key, and return the name of the signature file next to it.

    The same key gives the same bytes: minisign's trusted comment has the name and no date. Raises `TriposError` S0856
    if the key cannot be used.
    """
    try:
        text = key.read_bytes()
    except OSError as error:
        raise _refused(f"cannot read the key `{key}`: {error.strerror}", "give a file with a secret key") from error
    if text.startswith(b"-----BEGIN "):
        return _sign_ssh(signed, key, namespace)
    if text.startswith(b"untrusted comment:"):
        return _sign_minisign(signed, key, name, environ)
    hint = "give a secret key of minisign (`minisign -G`) or of SSH (`ssh-keygen -t ed25519`)"
    raise _refused(f"`{key}` is no secret key of minisign or SSH", hint)


def _sign_minisign(signed: Path, key: Path, name: str, environ: Mapping[str, str]) -> str:
    _need_minisign()
    import minisign

    try:
        secret = minisign.SecretKey.from_file(key)
        if secret.is_encrypted():
            password = environ.get(PASSWORD)
            if password is None:
                raise _refused(f"the key `{key}` has a password", f"put it into the variable {PASSWORD}")
            secret.decrypt(password)
        signature = secret.sign(signed.read_bytes(), trusted_comment=name)
    except minisign.Error as error:
        raise _refused(f"the key `{key}` cannot sign: {error}", "check the key and its password") from error
    return _written(signed, MINISIG, bytes(signature) + b"\n")


def _written(signed: Path, ending: str, signature: bytes) -> str:
    path = signed.with_name(signed.name + ending)
    path.write_bytes(signature)
    return path.name


def _sign_ssh(signed: Path, key: Path, namespace: str) -> str:
    said = _ssh_keygen(["-Y", "sign", "-q", "-n", namespace, "-f", str(key)], signed.read_bytes())
    if said.returncode:
        why = said.stderr.decode(errors="replace").strip().splitlines()
        hint = "a key with a password must be in your agent: ssh-add KEY"
        raise _refused(f"the key `{key}` cannot sign: {why[-1] if why else 'ssh-keygen refuses'}", hint)
    return _written(signed, SSHSIG, said.stdout)


def signature_checks(signed: Path, key: str | None, namespace: str = NAMESPACE) -> list[ReleaseCheck]:
    """Return the checks of the signatures next to a file, with a public key if given: a file, or its content. Raises
    `TriposError` S0856 if the key is invalid."""
    raw = _bytes(signed)
    places = {ending: signed.with_name(signed.name + ending) for ending in (MINISIG, SSHSIG)}
    there = [ending for ending, path in places.items() if path.exists()]
    if not there:
        return [ReleaseCheck(SIGNATURE, "unchecked" if key is None else "wrong", "there is none: it is unsigned")]
    public = None if key is None else _public(key)
    kind = None if public is None else (SSHSIG if public.startswith(_SSH_KEYS) else MINISIG)
    if kind is not None and kind not in there:
        return [
            ReleaseCheck(SIGNATURE, "wrong", f"there is none by a key of that kind, only `{places[there[0]].name}`")
        ]
    checks = []
    for ending in there:
        held = public if kind in (None, ending) else None
        if ending == MINISIG:
            checks.append(_check_minisign(places[ending], raw, held))
        else:
            checks.append(_check_ssh(places[ending], raw, held, namespace))
    return checks


def _check_minisign(path: Path, raw: bytes, public: str | None) -> ReleaseCheck:
    if importlib.util.find_spec("minisign") is None:
        return ReleaseCheck(path.name, "unchecked", "py-minisign is not installed: pip install 'tripos[release]'")
    import minisign

    try:
        written = _bytes(path)
        signature = minisign.Signature.from_bytes(written)
        if written not in (bytes(signature), bytes(signature) + b"\n"):
            return ReleaseCheck(path.name, "wrong", "is not as minisign writes a signature: it was changed")
    except (minisign.Error, ValueError) as error:
        return ReleaseCheck(path.name, "wrong", f"is no signature of minisign: {error}")
    if public is None:
        return ReleaseCheck(
            path.name, "unchecked", f"give the public key of whoever signed it: {VerifyParameters.key} FILE"
        )
    try:
        minisign.PublicKey.from_base64(public).verify(raw, signature)
    except (minisign.Error, ValueError) as error:
        return ReleaseCheck(path.name, "wrong", f"does not hold: {error}")
    return ReleaseCheck(path.name, "good", signature.trusted_comment)


def _check_ssh(path: Path, raw: bytes, public: str | None, namespace: str) -> ReleaseCheck:
    if public is None:
        said = _ssh_keygen(["-Y", "check-novalidate", "-n", namespace, "-s", str(path)], raw)
        text = f"give the public key of whoever signed it: {VerifyParameters.key} FILE"
    else:
        with tempfile.TemporaryDirectory(prefix="tripos-") as there:
            allowed = Path(there) / "signers"
            allowed.write_text(f"{_SIGNER} {public}\n", "utf-8")
            arguments = ["-Y", "verify", "-f", str(allowed), "-I", _SIGNER, "-n", namespace, "-s", str(path)]
            said = _ssh_keygen(arguments, raw)
        text = ""
    if said.returncode:
        return ReleaseCheck(path.name, "wrong", "is no signature of this file" + (" by that key" if public else ""))
    return ReleaseCheck(path.name, "good" if public is not None else "unchecked", text)


def _public(key: str) -> str:
    """Return a public key on one line, from a file or the text itself. Raises `TriposError` S0856."""
    try:
        text = Path(key).read_text("utf-8") if Path(key).is_file() else key
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(f"cannot read the key `{key}`", "give a public key, or the file that has it") from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("untrusted comment:")]
    if len(lines) != 1 or not (lines[0].startswith(_SSH_KEYS) or _is_minisign(lines[0])):
        raise _refused(
            f"`{key}` is no public key", "give that of minisign (`minisign.pub`) or of SSH (`id_ed25519.pub`)"
        )
    return lines[0]


def _is_minisign(line: str) -> bool:
    """Return true if a line is a public key of minisign. A wrong path or a secret key must not count as a failed
    check.
    """
    if importlib.util.find_spec("minisign") is None:
        return len(line.split()) == 1
    import minisign

    try:
        minisign.PublicKey.from_base64(line)
    except (minisign.Error, ValueError):
        return False
    return True


def _ssh_keygen(arguments: list[str], raw: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen. Raises `TriposError` S0856 if it is missing or fails to start."""
    environ = {**os.environ, "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}
    try:
        return subprocess.run(
            ["ssh-keygen", *arguments], input=raw, capture_output=True, timeout=SSH_S, env=environ, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise _refused("ssh-keygen cannot be run", "install OpenSSH, or sign with minisign") from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _need_minisign() -> None:
    if importlib.util.find_spec("minisign") is None:
        raise TriposError("S0857", "signing with minisign needs `minisign`", "pip install 'tripos[release]'")


def _refused(message: str, hint: str) -> TriposError:
    return TriposError("S0856", message, hint)


# Attestations of results
STATEMENT: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
PREDICATE: Literal["urn:tripos:result:1"] = "urn:tripos:result:1"
AttestedTable = Literal["items", "samples", "judgements", "scores", "comparisons"]
ATTESTED: tuple[AttestedTable, ...] = get_args(AttestedTable)
"""The tables whose rows are attested."""
ROUNDING = 1e-9
BATCH = 10_000


class DigestSet(Canonical):
    """A digest, by its algorithm."""

    sha256: Digest


class ResultSubject(Canonical):
    """A table of the run: the SHA-256 of the sorted SHA-256 of its rows, each as JSON in canonical form."""

    name: AttestedTable
    digest: DigestSet


class ResultRun(Canonical):
    """The run: when it was, in UTC, and on which items of the benchmark."""

    run_id: str
    started_at: str
    finished_at: str
    items: int
    withheld: int = 0
    only: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class ResultFigure(Canonical):
    """A value of a headline measure of a model, with its 95 % interval."""

    measure: str
    model: str
    value: float | None
    low: float | None
    high: float | None
    items: int
    n: int
    total: int


class ResultPredicate(Canonical):
    """The grounds of a result: `plan` is the BLAKE2b-256 of the plan, `release` the SHA-256 of a release's manifest,
    `lock` that of a lock file, and `rows` how many rows each table has. `parts` are the files of the store with the
    SHA-256 of their content, as they were."""

    benchmark: str
    version: str
    plan: Digest
    release: Digest | None = None
    lock: Digest | None = None
    run: ResultRun
    roles: dict[str, tuple[str, ...]]
    identities: dict[str, str] = Field(default_factory=dict)
    served: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By model, the names under which endpoints served it."""
    versions: dict[str, str]
    """Of Tripos, as the run had it and as the statement was made."""
    rows: dict[str, int]
    parts: dict[str, Digest]
    figures: tuple[ResultFigure, ...]


class ResultStatement(Canonical):
    """An in-toto Statement v1 about the result of a run."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: tuple[ResultSubject, ...]
    predicate_type: Literal["urn:tripos:result:1"] = Field(alias="predicateType")
    predicate: ResultPredicate

    def to_bytes(self) -> bytes:
        """Return the statement as indented JSON with sorted keys and a final newline."""
        options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        return orjson.dumps(self.model_dump(mode="json", by_alias=True), option=options)


def attest(store: Store, run_id: str | None, lock: Path | None = None) -> ResultStatement:
    """Return the statement about a run, by default the latest.

    Raises `StoreError` if the store cannot be read, and `TriposError` S0602 for an unfinished run.
    """
    connection, run = connect_run(store, run_id)
    with connection:
        if run.finished_at is None or not run.ended:
            message = f"run `{run.run_id}` is {run.status}: there is no result yet"
            raise TriposError("S0602", message, "the same command goes on with it; attest it once it is finished")
        plan = get_selected(connection, run)
        tables = {name: table_digest(connection, run, name) for name in ATTESTED}
        grounds = _grounds(connection, store, run)
        figures = figures_of(connection, plan, run)
    files = store.files()
    parts = {path.name: file_digest(path) for paths in files.values() for path in paths}
    predicate = ResultPredicate(
        **grounds,
        lock=None if lock is None else file_digest(lock),
        rows={name: rows for name, (_, rows) in tables.items()},
        parts=parts,
        figures=figures,
    )
    subject = tuple(ResultSubject(name=name, digest=DigestSet(sha256=found)) for name, (found, _) in tables.items())
    return ResultStatement(_type=STATEMENT, subject=subject, predicateType=PREDICATE, predicate=predicate)


FACTS = {"items": "items of the run", "only": "restriction of the run", "withheld": "withheld items"}
"""The names of facts about a run in checks, if they differ from those in a statement."""


def _grounds(connection: Connection, store: Store, run: RunRecord) -> dict[str, Any]:
    """Return the facts about a run that a statement has, by their names there."""
    tool = tool_version(connection, run.run_id)
    return {
        "benchmark": run.benchmark,
        "version": run.version,
        "plan": run.plan_digest,
        "release": run.release,
        "run": ResultRun(
            run_id=run.run_id,
            started_at=run.started_at.isoformat() + "Z",
            finished_at="" if run.finished_at is None else run.finished_at.isoformat() + "Z",
            items=run.items,
            withheld=run.withheld,
            only=run.only,
        ),
        "roles": run.roles,
        "identities": run.identities,
        "served": {model: tuple(names) for model, names in served_in(store.root, run.run_id).items()},
        "versions": {"run": tool, "statement": __version__},
    }


def table_digest(connection: Connection, run: RunRecord, table: str) -> tuple[str, int]:
    """Return the digest of a run's table, and its number of rows."""
    reader = connection.sql(f"from {sql.name(run.benchmark)}.{table}").to_arrow_reader(BATCH)
    names = sorted(name for name in reader.schema.names if name not in CIRCUMSTANCES and name != "shown_run")
    rows: list[bytes] = []
    for batch in reader:
        for row in batch.select(names).to_pylist():
            rows.append(hashlib.sha256(orjson.dumps(row, default=str, option=orjson.OPT_SORT_KEYS)).digest())
    rows.sort()
    return hashlib.sha256(b"".join(rows)).hexdigest(), len(rows)


def figures_of(connection: Connection, plan: Plan, run: RunRecord) -> tuple[ResultFigure, ...]:
    """Return the figures of the headline of a run."""
    tables = (
        with_sequential_intervals(run, evaluate_or_error(connection, plan, measure)) for measure in headlines(plan)
    )
    return tuple(
        ResultFigure(
            measure=table.measure.name,
            model=row.model,
            value=row.value,
            low=row.low,
            high=row.high,
            items=row.items,
            n=row.n,
            total=row.total,
        )
        for table in tables
        for row in table.rows
    )


def read_statement(path: Path) -> ResultStatement:
    """Return the statement in a file. Raises `TriposError` S0856 if it is invalid."""
    try:
        return ResultStatement.model_validate_json(path.read_bytes())
    except OSError as error:
        raise TriposError(
            "S0856", f"cannot read `{path}`: {error.strerror}", "give a file of `tripos attest`"
        ) from error
    except ValidationError as error:
        told = error.errors(include_url=False)[0]
        where = ".".join(map(str, told["loc"])) or "the file"
        message = f"`{path}` is no statement about a result: {where}: {told['msg']}"
        raise TriposError("S0856", message, "give a file of `tripos attest`") from error


def check_result(path: Path, store: Store | None, key: str | None) -> tuple[ResultStatement, list[ReleaseCheck]]:
    """Return a statement and its checks: the signature, and every table and figure compared with a store. Raises
    `TriposError` S0856, and `StoreError` if the store cannot be read."""
    statement = read_statement(path)
    checks = signature_checks(path, key, RESULT_NAMESPACE)
    if store is None:
        checks += [
            ReleaseCheck(result_subject.name, "unchecked", f"name the store that has it: {STORE} DIR")
            for result_subject in statement.subject
        ]
        return statement, checks
    predicate = statement.predicate
    try:
        connection, run = connect_run(store, predicate.run.run_id)
    except StoreError as error:
        if error.code != "S0301":
            raise
        return statement, [*checks, ReleaseCheck("run", "wrong", f"the store has no run `{predicate.run.run_id}`")]
    with connection:
        now = _grounds(connection, store, run)
        checks += [*_check_run(predicate, now), *_check_parts(predicate, store)]
        attested = {subject.name: subject.digest.sha256 for subject in statement.subject}
        for name in ATTESTED:
            found, rows = table_digest(connection, run, name)
            was = predicate.rows.get(name, 0)
            if name not in attested:
                checks.append(ReleaseCheck(name, "wrong", "was not attested"))
            elif rows != was:
                checks.append(ReleaseCheck(name, "wrong", f"has {rows:,} rows, and {was:,} were attested"))
            elif found != attested[name]:
                checks.append(ReleaseCheck(name, "wrong", f"has other rows ({rows:,})"))
            else:
                checks.append(ReleaseCheck(name, "good"))
        figures = figures_of(connection, get_selected(connection, run), run)
    return statement, [*checks, *_check_figures(predicate.figures, figures)]


def _check_run(told: ResultPredicate, now: Mapping[str, Any]) -> Iterable[ReleaseCheck]:
    """Yield a check of each fact about the run that a statement and its store both have."""
    pairs = {name: (getattr(told, name), value) for name, value in now.items() if name not in ("run", "versions")}
    pairs |= {FACTS.get(name, name): (getattr(told.run, name), value) for name, value in now["run"]}
    pairs["version of Tripos"] = told.versions.get("run"), now["versions"]["run"]
    for name, (was, there) in pairs.items():
        if was == there:
            yield ReleaseCheck(name, "good")
        else:
            yield ReleaseCheck(name, "wrong", f"is {there}, and {was} was attested")


def _check_parts(told: ResultPredicate, store: Store) -> Iterable[ReleaseCheck]:
    """Yield a check of the store's files that still exist: a changed one is wrong."""
    there = {path.name: path for paths in store.files().values() for path in paths}
    for name, was in told.parts.items():
        if name in there and file_digest(there[name]) != was:
            yield ReleaseCheck(name, "wrong", "has other content")
    if gone := [name for name in told.parts if name not in there]:
        what = f"{len(gone):,} of {len(told.parts):,} files"
        yield ReleaseCheck(what, "unchecked", "they are there no more, as after a compaction")


def _check_figures(told: Iterable[ResultFigure], found: Iterable[ResultFigure]) -> Iterable[ReleaseCheck]:
    now = {(result_figure.measure, result_figure.model): result_figure for result_figure in found}
    for was in told:
        name = f"{was.measure} of {was.model}"
        figure = now.pop((was.measure, was.model), None)
        if figure is None:
            yield ReleaseCheck(name, "wrong", "is not there any more")
            continue
        numbers = ("value", "low", "high", "items", "n", "total")
        other = [number for number in numbers if not _alike(getattr(was, number), getattr(figure, number))]
        if other:
            words = ", ".join(f"{each} {getattr(figure, each)}, not {getattr(was, each)}" for each in other)
            yield ReleaseCheck(name, "wrong", f"is another: {words}")
        else:
            yield ReleaseCheck(name, "good")
    for measure, model in now:
        yield ReleaseCheck(f"{measure} of {model}", "wrong", "was not attested")


def _alike(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)
