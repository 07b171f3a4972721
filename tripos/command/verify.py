"""`tripos verify`: whether a release is what it says, and what was tampered with."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from pathlib import Path

from tripos.command.artefacts import by_role
from tripos.command.harmless import harmless
from tripos.config import load_config
from tripos.failure import GOOD, SOME_FAILED, Failure
from tripos.releases.places import find_release
from tripos.releases.signing import signature_checks
from tripos.releases.verifying import Verified, verify


def main(options: Namespace) -> int:
    """Checks a release; exit code 1 where anything in it is not as it was released."""
    folder = find_release(options.path) or Path(options.path)
    if not folder.is_dir():
        raise Failure(
            "W0851", f"there is no release at `{options.path}`", "give the folder that `tripos release` wrote"
        )
    if options.digest is not None and not re.fullmatch("[0-9a-f]{64}", options.digest.lower()):
        raise Failure("R0202", f"`--digest {options.digest}` is no SHA-256", "it has 64 hexadecimal digits")
    config = load_config(Path.cwd())
    outer = [Path(each) for each in (*options.data, *config.data)]
    releases = [Path(each) for each in (*options.releases, *config.releases)]
    digest = None if options.digest is None else options.digest.lower()
    artefacts = {role: Path(place).expanduser() for role, place in by_role(options.artefact).items()}
    found = verify(folder, outer, digest, signature_checks(folder, options.key), releases, artefacts)
    if options.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        print(harmless(_told(found)))
    return SOME_FAILED if found.wrong else GOOD


def _told(found: Verified) -> str:
    lines = [f"{found.name}: {'not as it was released' if found.wrong else 'as it was released'}"]
    if found.digest is not None:
        lines.append(f"  digest {found.digest}")
    lines += [f"  wrong: {each.what} {each.told}" for each in found.wrong]
    good = [each for each in found.checks if each.outcome == "good"]
    if not found.wrong:
        lines.append(f"  good: {len(good):,} checks")
    lines += [f"  not checked: {each.what}: {each.told}" for each in found.checks if each.outcome == "unchecked"]
    return "\n".join(lines)
