"""Targets: manifests and plans of releases, and zips of them."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from tests.fuzz.data_files import folder, put
from tests.fuzz.stores import say
from tests.fuzz.trying import BrokenRule, Refused
from tripos.releases.locations import BAD_ZIP, unpack
from tripos.releases.manifest import canonical, checksum_line
from tripos.releases.opening import open_release
from tripos.releases.publish import ReleaseInput, make_release
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan

LESSONS = Path(__file__).parents[2] / "tests/compat/previous/title"
MANIFEST, CHECKSUM, PLAN = "manifest.json", "manifest.sha256", "plan.json"


@cache
def _released() -> Path:
    """Return the folder of a release."""
    found = find_spec(str(LESSONS))
    compilation = found.compile()
    assert compilation.plan is not None
    made = make_release(ReleaseInput(compilation, compilation.plan, found.folders), folder() / "releases").path
    for path in made.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return made


def _copied() -> Path:
    copied = folder() / "tried" / _released().name
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(_released(), copied)
    return copied


def manifest_seeds() -> Sequence[bytes]:
    """Return the manifest of a release."""
    return [(_released() / MANIFEST).read_bytes()]


def open_manifest(data: bytes) -> None:
    """Put a manifest into a release, with its checksum, verify it, and open it."""
    copied = _copied()
    (copied / MANIFEST).write_bytes(data)
    (copied / CHECKSUM).write_bytes(checksum_line(data))
    _open(copied)


def plan_seeds() -> Sequence[bytes]:
    """Return the plan of a release."""
    return [(_released() / PLAN).read_bytes()]


def open_plan(data: bytes) -> None:
    """Put a plan into a release whose manifest names it, as somebody would who forges one."""
    copied = _copied()
    said = json.loads((copied / MANIFEST).read_bytes())
    try:
        said["plan"] = Plan.model_validate_json(data).digest
    except ValidationError as error:
        if hashlib.sha256(data).digest()[0] > 20:
            raise Refused("S0855") from error
    (copied / PLAN).write_bytes(data)
    for each in said["files"]:
        if each["path"] == PLAN:
            each |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    raw = canonical(said)
    (copied / MANIFEST).write_bytes(raw)
    (copied / CHECKSUM).write_bytes(checksum_line(raw))
    _open(copied)


def _open(copied: Path) -> None:
    refused = None
    try:
        say("verify", str(copied))
    except Refused as error:
        refused = error
    open_release(copied).plan()
    if refused is not None:
        raise refused


def zip_seeds() -> Sequence[bytes]:
    """Return a release as a zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(_released().rglob("*")):
            if path.is_file():
                name = f"{_released().name}/{path.relative_to(_released()).as_posix()}"
                packed.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return [out.getvalue()]


def open_zip(data: bytes) -> None:
    """Unpack a zip as a release is, and open what lies in it; nothing is written elsewhere."""
    around = folder() / "unpacked"
    shutil.rmtree(around, ignore_errors=True)
    (around / "in").mkdir(parents=True)
    try:
        found = unpack(put("release.zip", data), around / "in")
    except BAD_ZIP as error:
        raise Refused("S0851") from error
    if {path.name for path in around.iterdir()} != {"in"}:
        raise BrokenRule("a zip is unpacked elsewhere")
    open_release(found).plan()
