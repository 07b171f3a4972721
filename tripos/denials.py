"""The warnings that count as errors: `--deny`, and `deny` under `[check]` in `tripos.toml`."""

from __future__ import annotations

from argparse import Namespace

from tripos.api.denials import denied_codes
from tripos.config import Config


def chosen_denials(options: Namespace, config: Config) -> dict[str, str]:
    """The codes that are denied, or `warnings`, and by what each is. Raises `Failure` for a code that is none."""
    flags = [code.strip() for given in options.deny for code in given.split(",") if code.strip()]
    return denied_codes(flags, config, "--deny")
