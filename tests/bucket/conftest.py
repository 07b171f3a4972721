"""A bucket for each test, on a stand-in of S3 that lives as long as the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bucket.stand_in import BUCKET, Serving, serving


@pytest.fixture(scope="session")
def sound() -> Iterator[Serving]:
    """A stand-in without faults; or another server for S3 with a bucket `tripos`, on the port of `TRIPOS_BUCKET_PORT`."""
    if port := os.environ.get("TRIPOS_BUCKET_PORT"):
        yield Serving(int(port))
        return
    with serving() as found:
        yield found


@pytest.fixture(scope="session")
def faulty() -> Iterator[Serving]:
    """A stand-in of which 30 % of the answers are errors, late or lost, and whose clock is an hour ahead."""
    with serving(faults=0.3, seed=7, skew_s=3600) as found:
        yield found


@pytest.fixture(params=["sound", "faulty"])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store that is not there yet, on a stand-in with and without faults."""
    found: Serving = request.getfixturevalue(request.param)
    enter(found, tmp_path, monkeypatch)
    return f"s3://{BUCKET}/{tmp_path.name}-{request.param}"


@pytest.fixture
def plain(sound: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store that is not there yet, on a stand-in without faults."""
    enter(sound, tmp_path, monkeypatch)
    return f"s3://{BUCKET}/{tmp_path.name}-plain"


def enter(found: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this process the address and keys of a stand-in, and an empty cache."""
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
