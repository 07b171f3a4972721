"""Releases that were fetched: kept in a folder under their name and version, with the digest that each place had."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tripos.failure import SOME_FAILED, Failure

PINS = "fetched.json"
"""The file beside fetched releases that says which digest each place had, by its address."""
MOST_BYTES = 2**20


def read_pins(folder: Path) -> dict[str, str]:
    """Return the digests of what was fetched into a folder, by address. A file that cannot be read says nothing."""
    path = folder / PINS
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return {}
        said = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return {url: digest for url, digest in said.items() if isinstance(digest, str)} if isinstance(said, dict) else {}


def keep(found: Path, url: str, into: Path) -> Path:
    """Put a release that was fetched into a folder, and pin its address to its digest. Return its folder there.

    Raises `Failure`: S0851 where it is none, S0850 where another one has its name, or the folder cannot be written.
    """
    from tripos.releases.opening import open_release

    release = open_release(found)
    release.check_files()
    target = into / release.manifest.name
    try:
        into.mkdir(parents=True, exist_ok=True)
        if target.exists():
            if open_release(target).digest != release.digest:
                hint = "remove the other one, or fetch into another folder: --to DIR"
                raise Failure("S0850", f"`{target}` is there already, with other content", hint, SOME_FAILED)
        else:
            shutil.copytree(found, target)
        pins = {**read_pins(into), url: release.digest}
        (into / PINS).write_text(json.dumps(pins, indent=2, sort_keys=True) + "\n", "utf-8")
    except OSError as error:
        message = f"cannot write to `{into}`: {error.strerror or error}"
        raise Failure("S0850", message, "fetch into another folder: --to DIR", SOME_FAILED) from error
    return target
