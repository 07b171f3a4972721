"""`tripos release`: freezes a benchmark in a folder that can be checked, run and cited."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from tripos.api.compiled import CompiledSpec
from tripos.api.releasing import copy, make
from tripos.command.artefacts import by_role, warn_of_open
from tripos.command.check import compile_given
from tripos.failure import GOOD, USAGE, Failure
from tripos.releases.artefacts import open_roles
from tripos.releases.making import Made
from tripos.releases.names import SIGNATURES
from tripos.settings import chosen_settings

EPOCH = "SOURCE_DATE_EPOCH"
"""The variable by which builds that can be repeated are given their date."""


def main(options: Namespace) -> int:
    """Writes a release; exit code 2 where the spec does not compile, 1 where another release is in the way."""
    config = chosen_settings(options).config
    compilation, folders = compile_given(options, config)
    plan = compilation.plan
    if plan is None:
        return USAGE
    made = make(
        CompiledSpec(options.path, compilation, plan, folders),
        config,
        Path(options.to),
        parent=options.parent,
        day=_day(options.date, os.environ),
        artefacts=by_role(options.artefact),
        sign_key=None if options.sign_key is None else Path(options.sign_key),
    )
    warn_of_open(open_roles(plan, made.manifest.artefacts))
    elsewhere = copy(made, options.zip, options.push)
    if options.json:
        print(json.dumps(_told(made), ensure_ascii=False, indent=2))
        return GOOD
    said = "is there already, the same" if made.was_there else "was released"
    manifest = made.manifest
    items = sum(each.rows for each in manifest.items)
    print(f"{manifest.benchmark} {manifest.version} {said}: {made.path}")
    for place in elsewhere:
        print(f"  also    {place}")
    print(f"  digest  {made.digest}")
    if manifest.parent is not None:
        print(f"  follows {manifest.parent.version}, {manifest.parent.digest}")
    print(f"  holds   {len(manifest.files):,} files, {items:,} items, {manifest.license}")
    for one in manifest.extends:
        held = "" if one.path or one.within else ", which is not in it"
        print(f"  extends {one.name} {one.version}, {one.digest}{held}")
    for artefact in manifest.artefacts:
        print(f"  scores  {artefact.role} by {artefact.digest[:12]}, {artefact.path or 'which is not in it'}")
    if made.private is not None:
        print(f"  private {made.private}: the text of what is withheld")
    for each in manifest.external:
        print(f"  needs   {each.path}, which is not in it")
    signed = [name for name in SIGNATURES if (made.path / name).exists()]
    print(f"  signed  {', '.join(signed) or 'no'}")
    return GOOD


def _told(made: Made) -> dict[str, object]:
    return {
        "path": made.path.as_posix(),
        "digest": made.digest,
        "was_there": made.was_there,
        "withheld": None if made.private is None else made.private.as_posix(),
        "manifest": made.manifest.model_dump(mode="json"),
    }


def _day(given: str | None, environ: Mapping[str, str]) -> date | None:
    """The day that a release bears.

    >>> _day(None, {EPOCH: "1780000000"}), _day("2026-11-21", {}), _day(None, {})
    (datetime.date(2026, 5, 28), datetime.date(2026, 11, 21), None)
    """
    try:
        if given is not None:
            return date.fromisoformat(given)
        epoch = environ.get(EPOCH, "").strip()
        return datetime.fromtimestamp(int(epoch), UTC).date() if epoch else None
    except (ValueError, OverflowError, OSError) as error:
        what = f"`--date {given}`" if given is not None else f"`{EPOCH}`"
        raise Failure("R0202", f"{what} is no day", "write it as 2026-11-21") from error
