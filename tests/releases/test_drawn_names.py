"""Drawn names of files on a server and in a manifest: a release lies in its folder, with the manifest that was pinned."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.lengths import sized
from tests.releases.test_releases import LESSONS, release
from tripos.releases.download import download_from
from tripos.releases.manifest import MANIFEST
from tripos_compiler.errors import TriposError

PARTS = (
    "a", "b", "..", ".", "", "/", "//x", "/etc/passwd", "../../x", "a/../../b", "a\0b", "\0", "x" * 300, "d/" * 2000, "~",
    "a\\b", "C:\\x", "CON", "nul", "./manifest.json", "MANIFEST.json", "manifest.json/x", "b/../manifest.json", "a/b", "é",
    "e\u0301", "\ud800", " ", "a ", "*", "a\nb", ".git/config", "-rf", "LICENSE/x", "plan.json", "../in/x", "../inx",
)  # fmt: skip


@dataclass
class Listing:
    """A place that has every file that it is asked for."""

    manifest: bytes
    listed: list[str]
    saved: list[str] = field(default_factory=list)

    def names(self) -> list[str]:
        return self.listed

    def save(self, name: str, path: Path, most: int) -> int:
        self.saved.append(name)
        if name == "plan.json":
            raise FileNotFoundError(name)
        return path.write_bytes(self.manifest if name == MANIFEST else b"x")


def test_no_drawn_name_leads_out_of_the_folder_or_replaces_the_manifest(tmp_path: Path) -> None:
    draw, ends = random.Random(5), Counter[str]()
    made = json.loads((release(LESSONS, tmp_path / "made").path / MANIFEST).read_bytes())

    def names(most: int) -> list[str]:
        return ["/".join(draw.choice(PARTS) for _ in range(draw.randint(1, 3))) for _ in range(draw.randint(0, most))]

    for number in range(sized(200, 10_000)):
        around = tmp_path / str(number)
        (around / "in").mkdir(parents=True)
        file = made["files"][0]
        said = {**made, "files": [*made["files"], *({**file, "path": name} for name in names(1))]}
        listing = Listing(json.dumps(said).encode(), names(3))
        try:
            download_from(listing, "https://example.org/x", around / "in")
            ends["fetched"] += 1
        except TriposError as failure:
            assert failure.code == "S0851"
            ends[failure.message.split("`")[2].strip()[:20]] += 1
        assert [path.name for path in around.iterdir()] == ["in"]
        assert (around / "in" / MANIFEST).read_bytes() == listing.manifest
        shutil.rmtree(around)
    assert ends["fetched"] and len(ends) >= 3, ends


@pytest.mark.parametrize("name", ["./manifest.json", "MANIFEST.JSON", "a/../manifest.json"])
def test_a_second_manifest_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TriposError, match="has two files of the name"):
        download_from(Listing(b"{}", [name]), "https://example.org/x", tmp_path)
    assert (tmp_path / MANIFEST).read_bytes() == b"{}"
