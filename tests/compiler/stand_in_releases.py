"""Releases as the compiler sees them, for tests of the compiler alone: folders `releases/NAME-VERSION` beside a spec,
with the spec in `spec/NAME.tripos`. The digest is that of this file. `manifest.json` may say of data files, by name,
the SHA-256 that they were released with."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from tripos_compiler.language.plan_diff import version_order
from tripos_compiler.source.inputs import ReleaseRequest, ResolvedRelease, UnfitRelease


class StandInReleases:
    """Finds the highest version that fits, or that of the digest."""

    def find(self, asked: ReleaseRequest, near: str) -> ResolvedRelease:
        places = [asked.place] if asked.place is not None else ["releases"]
        above = [Path(near).parent, *Path(near).parent.parents]
        folders = [
            path for folder in above for place in places for path in (folder / place).glob(f"{asked.name}-[0-9]*")
        ]
        found = [_release(path) for path in folders if asked.fits(path.name.removeprefix(f"{asked.name}-"))]
        if not found:
            raise UnfitRelease("E0912", f"there is no release `{asked.text}`", "give its folder with --releases DIR")
        if asked.sha256 is None:
            return max(found, key=lambda each: version_order(each.version))
        same = [each for each in found if each.digest == asked.sha256]
        if not same:
            raise UnfitRelease("E0913", f"`{found[0].folder}` has another digest: {found[0].digest}", "get the other")
        return same[0]


def _release(folder: Path) -> ResolvedRelease:
    name, _, version = folder.name.partition("-")
    main = folder / "spec" / f"{name}.tripos"
    text = main.read_text("utf-8") if main.exists() else ""
    languages = re.search(r"languages (.*?)(?: \}|\n|\s*#)", text)
    data = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "spec").glob("*.jsonl")}
    if (folder / "manifest.json").exists():
        data |= json.loads((folder / "manifest.json").read_text("utf-8")).get("data", {})
    return ResolvedRelease(
        name,
        version,
        hashlib.sha256(text.encode()).hexdigest(),
        folder.as_posix(),
        main.as_posix(),
        tuple(languages[1].split(", ")) if languages else ("en",),
        frozenset(data.items()),
    )
