"""`tripos verify`: whether a release is what it says, and what was tampered with."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from tripos.api.verifying import check
from tripos.command.artefacts import by_role
from tripos.failure import GOOD, SOME_FAILED
from tripos.releases.verifying import Verified
from tripos.settings import load_config
from tripos.terminal_text import harmless


def main(options: Namespace) -> int:
    """Checks a release; exit code 1 where anything in it is not as it was released."""
    config, artefacts = load_config(Path.cwd()), by_role(options.artefact)
    found = check(options.path, config, options.data, options.releases, artefacts, options.digest, options.key)
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
