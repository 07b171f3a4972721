"""The page that ships is what its sources build. Without the packages of the page, this test is left out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "tripos/view/site"


@pytest.mark.skipif(not (SITE / "node_modules").is_dir() or not shutil.which("npx"), reason="no packages of the page")
def test_the_page_is_built_from_its_sources(tmp_path: Path) -> None:
    subprocess.run(["npx", "tsc", "--noEmit"], cwd=SITE, check=True, capture_output=True)
    subprocess.run(["npx", "vite", "build", "--outDir", tmp_path], cwd=SITE, check=True, capture_output=True)
    for path in sorted(tmp_path.iterdir()):
        assert path.read_bytes() == (SITE.parent / "built" / path.name).read_bytes(), f"npm run build in {SITE.name}"
