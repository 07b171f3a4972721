"""`tripos release`, `fetch`, `verify`, `lock` and `attest`: freeze a benchmark, fetch it, and check or sign results."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tripos.api.releases import check_release, freeze_benchmark, write_copies
from tripos.cli.context import Context, Outcome, Remark, show_diagnostics
from tripos.files import writing
from tripos.releases.artefacts import open_roles
from tripos.releases.locations import DataFetcher, fetch_release, is_pinned
from tripos.releases.manifest import RELEASES, SIGNATURES
from tripos.releases.network_policy import policy_of
from tripos.releases.opening import read_pins, store_fetched
from tripos.releases.publish import WrittenRelease
from tripos.releases.signing import RESULT_NAMESPACE, attest, check_result, sign
from tripos.releases.verification import Verification
from tripos.runs.compilation import find_spec
from tripos.runs.preparation import make_lock
from tripos.runs.selection import bind_roles
from tripos.settings.load import load_config
from tripos.settings.options import ReleaseParameters, VerifyParameters
from tripos.settings.trust import refuse_if_untrusted
from tripos.terminal import message, show_diagnostic
from tripos_compiler.errors import ExitCode, TriposError
from tripos_warehouse.store.store import Store


# tripos verify
def verify_main(context: Context) -> Outcome:
    """Check a release, or with `--result` an attested result. The exit code is 1 if anything differs from what was
    released or attested."""
    options = context.options
    if (options.path is None) == (options.result is None):
        hint = f"write: tripos verify DIR, or tripos verify {VerifyParameters.result} FILE"
        raise TriposError("R0202", "`tripos verify` takes a release, or a result", hint)
    if options.result is not None:
        return verify_result(context)
    artefacts = by_role(options.artefact)
    verification = check_release(
        options.path,
        context.project_config,
        options.data,
        options.releases,
        artefacts,
        options.digest,
        options.key,
        trust=context.trust,
        reach=policy_of(options),
    )
    code = ExitCode.SOME_FAILED if verification.wrong else ExitCode.SUCCESS
    return Outcome(verification.to_json, map(message, _findings(verification)), exit_code=code)


def _findings(found: Verification) -> list[str]:
    lines = [f"{found.name}: {'not as it was released' if found.wrong else 'as it was released'}"]
    if found.digest is not None:
        lines.append(f"  digest {found.digest}")
    lines += [f"  wrong: {check.what} {check.told}" for check in found.wrong]
    good = [check for check in found.checks if check.outcome == "good"]
    if not found.wrong:
        lines.append(f"  good: {len(good):,} checks")
    lines += [f"  not checked: {check.what}: {check.told}" for check in found.checks if check.outcome == "unchecked"]
    return lines


# Reward models of roles
def by_role(texts: Sequence[str]) -> dict[str, str]:
    """Return the values of `--artefact ROLE=…` by role. Raises `TriposError` R0202 if a role is missing or repeated.

    >>> by_role(["critic=models/critic"])
    {'critic': 'models/critic'}
    """
    values: dict[str, str] = {}
    for text in texts:
        role, equals, place = text.partition("=")
        if not (role and equals and place):
            raise TriposError(
                "R0202",
                f"`{ReleaseParameters.artefact} {text}` does not say which role has which",
                f"write {ReleaseParameters.artefact} ROLE=DIR",
            )
        if role in values:
            raise TriposError(
                "R0202",
                f"`{ReleaseParameters.artefact}` gives the role `{role}` twice",
                "give one reward model for each role",
            )
        values[role] = place
    return values


OPEN = "W0875"


def warn_of_open_roles(roles: Sequence[str]) -> None:
    """Warn on standard error of roles that take a reward model which a release does not name."""
    for role in roles:
        show_diagnostic(
            "warning",
            OPEN,
            f"the release does not say which reward model fills `{role}`",
            f"name it: {ReleaseParameters.artefact} {role}=DIR",
            ("two runs of it may have scores by two models",),
        )


# tripos lock
def lock_main(context: Context) -> Outcome:
    """Write the lock file. The exit code is 2 if the spec does not compile."""
    options, config = context.options, context.config
    spec = context.compiled(options.path)
    plan = spec.plan
    bound = bind_roles(context.request, options.path, config, plan, spec.compilation.releases, spec.folders.trust)
    path = Path(options.output)
    lock = make_lock(plan, bound.binding, config, served=True)
    try:
        path.write_text(lock.to_text(), "utf-8")
    except OSError as error:
        raise TriposError(
            "R0260", f"cannot write the lock `{path}`: {error.strerror}", "name another with -o FILE"
        ) from error
    unseen = sum(not model.served for model in lock.models.values())
    texts = [
        f"{plan.benchmark.name} {plan.benchmark.version} is pinned in {path}",
        f"  {len(lock.data):,} data files, {len(lock.functions):,} functions, {len(lock.models):,} models",
    ]
    if unseen:
        models = "1 model was" if unseen == 1 else f"{unseen:,} models were"
        texts.append(f"  {models} not asked yet: run first, to pin the snapshots that are served")
    counts = {"data": len(lock.data), "functions": len(lock.functions), "models": len(lock.models), "unseen": unseen}
    return Outcome(lambda: {"lock": str(path), **counts}, map(message, texts))


EPOCH = "SOURCE_DATE_EPOCH"
"""The variable with the date of reproducible builds."""


# tripos release
def main(context: Context) -> Outcome:
    """Write a release. The exit code is 2 if the spec does not compile, 1 if a different release exists."""
    options = context.options
    spec = context.compiled(options.path)
    refuse_if_untrusted(context.trust, options.push or "")
    release = freeze_benchmark(
        spec,
        context.config,
        Path(options.to),
        parent=options.parent,
        day=_day(options.date, os.environ),
        artefacts=by_role(options.artefact),
        sign_key=None if options.sign_key is None else Path(options.sign_key),
    )
    warn_of_open_roles(open_roles(spec.plan, release.manifest.artefacts))
    elsewhere = write_copies(release, options.zip, options.push)
    return Outcome(lambda: _summary(release), map(message, _release_texts(release, elsewhere)))


def _release_texts(release: WrittenRelease, elsewhere: Sequence[str]) -> Iterator[str]:
    text = "is there already, the same" if release.was_there else "was released"
    manifest = release.manifest
    items = sum(item.rows for item in manifest.items)
    yield f"{manifest.benchmark} {manifest.version} {text}: {release.path}"
    for place in elsewhere:
        yield f"  also    {place}"
    yield f"  digest  {release.digest}"
    if manifest.parent is not None:
        yield f"  follows {manifest.parent.version}, {manifest.parent.digest}"
    yield f"  holds   {len(manifest.files):,} files, {items:,} items, {manifest.license}"
    for one in manifest.extends:
        held = "" if one.path or one.within else ", which is not in it"
        yield f"  extends {one.name} {one.version}, {one.digest}{held}"
    for artefact in manifest.artefacts:
        yield f"  scores  {artefact.role} by {artefact.digest[:12]}, {artefact.path or 'which is not in it'}"
    if release.private is not None:
        yield f"  private {release.private}: the text of what is withheld"
    for file in manifest.external:
        yield f"  needs   {file.path}, which is not in it"
    signed = [name for name in SIGNATURES if (release.path / name).exists()]
    yield f"  signed  {', '.join(signed) or 'no'}"


def _summary(made: WrittenRelease) -> dict[str, object]:
    return {
        "path": made.path.as_posix(),
        "digest": made.digest,
        "was_there": made.was_there,
        "withheld": None if made.private is None else made.private.as_posix(),
        "manifest": made.manifest.model_dump(mode="json"),
    }


def _day(text: str | None, environ: Mapping[str, str]) -> date | None:
    """Return the date of the release.

    >>> _day(None, {EPOCH: "1780000000"}), _day("2026-11-21", {}), _day(None, {})
    (datetime.date(2026, 5, 28), datetime.date(2026, 11, 21), None)
    """
    try:
        if text is not None:
            return date.fromisoformat(text)
        epoch = environ.get(EPOCH, "").strip()
        return datetime.fromtimestamp(int(epoch), UTC).date() if epoch else None
    except (ValueError, OverflowError, OSError) as error:
        what = f"`{ReleaseParameters.date} {text}`" if text is not None else f"`{EPOCH}`"
        raise TriposError("R0202", f"{what} is no day", "write it as 2026-11-21") from error


# tripos fetch
def fetch_main(context: Context) -> Outcome:
    """Fetch a release, or the releases and data that a spec names. The exit code is 2 if one is unavailable."""
    options = context.options
    refuse_if_untrusted(context.trust, fetch=True)
    reach = replace(policy_of(options), local_files=False)
    if "://" in options.path:
        into = Path(options.to or RELEASES)
        store_fetched(fetch_release(options.path, reach, options.digest), options.path, into)
        return _fetched(into, {options.path})
    config = load_config(Path.cwd())
    spec = find_spec(options.path, options.data, config.data, (*options.releases, *config.releases), reach)
    into = Path(options.to) if options.to else spec.path.parent / RELEASES
    before = read_pins(into)
    data = DataFetcher(reach)
    folders = replace(spec.folders, bring=data.bring)
    compilation = replace(spec, folders=folders, releases=replace(spec.releases, into=into)).compile()
    failed = [
        diagnostic for diagnostic in compilation.diagnostics if diagnostic.code in ("E0912", "E0913", "E0914", "E0307")
    ]
    show_diagnostics(failed)
    fetched = _fetched(into, set(read_pins(into)) - set(before), data.brought)
    return fetched._replace(exit_code=ExitCode.USAGE if failed else ExitCode.SUCCESS)


def _fetched(into: Path, new: set[str], data: Mapping[str, Path] = MappingProxyType({})) -> Outcome:
    """Return the outcome of fetching the releases at the addresses `new`, and `data` by source."""
    pins = read_pins(into)

    def to_json() -> dict[str, Any]:
        loose = [source for source in sorted(data) if not is_pinned(source)]
        brought: dict[str, Any] = {"data": {source: data[source].as_posix() for source in sorted(data)}} if data else {}
        brought |= {"unpinned": loose} if loose else {}
        return {"fetched": {url: pins[url] for url in sorted(new)}, "into": into.as_posix(), **brought}

    def lines() -> Iterator[str]:
        for source, path in sorted(data.items()):
            yield message(f"{source} is in {path.as_posix()}")
            if not is_pinned(source):
                loose = f"  {source} names no commit, so its rows may change: write the commit after `@`"
                yield Remark(message(loose, sys.stderr))
        if not data and not new:
            yield message("nothing to fetch")
        for url in sorted(new):
            yield message(f"{url} is in {into.as_posix()}\n  sha256 {pins[url]}")

    return Outcome(to_json, lines())


# tripos attest
def attest_main(context: Context) -> Outcome:
    """Write an attestation of a run's result, and sign it."""
    options = context.options
    lock = None if options.lock is None else Path(options.lock)
    if lock is not None and not lock.is_file():
        raise TriposError("R0202", f"there is no lock file `{lock}`", "`tripos lock PATH` writes one")
    attestation = attest(context.store(), options.run, lock)
    path = Path(options.output or f"{attestation.predicate.benchmark}-{attestation.predicate.run.run_id}.result.json")
    raw = attestation.to_bytes()
    signature = None
    with writing(path, "write it somewhere else: -o FILE"):
        path.write_bytes(raw)
        if options.sign_key:
            name = (
                f"{attestation.predicate.benchmark} {attestation.predicate.version} {attestation.predicate.run.run_id}"
            )
            signature = sign(path, Path(options.sign_key), name, os.environ, RESULT_NAMESPACE)
    return Outcome(
        lambda: {"statement": str(path), "signature": signature, "run_id": attestation.predicate.run.run_id},
        map(message, [f"written to {path}", *([] if signature is None else [f"signed: {signature}"])]),
    )


def verify_result(context: Context) -> Outcome:
    """Check an attested result. The exit code is 1 if anything differs from the attestation, or if nothing could be
    checked."""
    options, store = context.options, None
    if options.store is not None:
        store = Store.open(context.config.store, create=False)
    statement, checks = check_result(Path(options.result), store, options.key)
    wrong = [check for check in checks if check.outcome == "wrong"]
    good = sum(check.outcome == "good" for check in checks)
    predicate = statement.predicate

    def texts() -> Iterator[str]:
        outcome = "not as it was attested" if wrong else "as it was attested" if good else "nothing was checked"
        yield f"{predicate.benchmark} {predicate.version}, run {predicate.run.run_id}: {outcome}"
        yield from (f"  wrong: {check.what} {check.told}" for check in wrong)
        if not wrong:
            yield f"  good: {good:,} checks"
        for check in checks:
            if check.outcome == "unchecked":
                yield f"  not checked: {check.what}: {check.told}"

    return Outcome(
        lambda: {
            "run_id": predicate.run.run_id,
            "good": bool(good and not wrong),
            "checks": [{"what": check.what, "outcome": check.outcome, "told": check.told} for check in checks],
        },
        map(message, texts()),
        exit_code=ExitCode.SUCCESS if good and not wrong else ExitCode.SOME_FAILED,
    )
