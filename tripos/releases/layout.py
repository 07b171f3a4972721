"""The names of the files and folders that make a folder a release."""

from __future__ import annotations

from typing import Literal

FORMAT: Literal["tripos.release/1"] = "tripos.release/1"
MANIFEST = "manifest.json"
CHECKSUM = "manifest.sha256"
"""The digest of the manifest, as `sha256sum -c` reads it."""
SIGNATURES = ("manifest.json.minisig", "manifest.json.sig")
"""Signatures of the manifest by minisign and by `ssh-keygen -Y sign`."""
UNLISTED = (MANIFEST, CHECKSUM, *SIGNATURES)
"""The files of a release that its manifest cannot list."""
RELEASES = "releases"
"""The folder beside a spec for releases that it extends; a release holds there those that it extends itself."""
HUB = "hf://"
"""What begins the place of a release on the Hugging Face Hub."""
SPEC, DATA = "spec", "data"
"""The folders of a release for the spec with what lies beside it, and for data files from elsewhere."""
MOST_FILES = 100_000
"""The most files of a release."""
