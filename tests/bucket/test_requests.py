"""The requests that it takes to read one reply by its name from a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import obstore
import pytest

from tests.warehouse.keeping import name, sample
from tripos_warehouse.maintenance.compaction import compact
from tripos_warehouse.store.store import Store


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the objects that the bucket is asked for, in order."""
    names: list[str] = []
    for verb in ("get", "put", "head", "list", "delete"):
        real = getattr(obstore, verb)

        def noted(store: Any, path: Any, *rest: Any, real: Any = real, **options: Any) -> Any:
            if type(store).__name__ == "S3Store":
                names.append(str(path))
            return real(store, path, *rest, **options)

        monkeypatch.setattr(obstore, verb, noted)
    return names


def test_one_reply_is_read_in_three_requests(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    store = Store.open(plain, create=True)
    for number in range(4):
        store.append({"samples": [sample(number)]})
    assert compact(store) is not None
    for cache, parts in (("cache", 0), ("another machine", 1)):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
        asked.clear()
        found = Store.open(plain, create=False).rows("samples", [name("sample", 2)])
        assert found[name("sample", 2)]["reply"] == "答 2"
        assert asked[:2] == ["tripos-store.json", "catalog.json"]
        assert [each.startswith("parts/samples/") for each in asked[2:]] == [True] * parts
