"""Stores that the queries of the pages are asked of."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.test_docs import EDUBENCH_RUN, MORE_RUNS, run_into


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a small run of EduBench by mock models."""
    root = tmp_path_factory.mktemp("edubench") / "results"
    run_into(root, EDUBENCH_RUN)
    return root


@pytest.fixture(scope="session")
def store_of_several(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That store with other benchmarks beside it, which the pages' queries are asked of."""
    root = tmp_path_factory.mktemp("several") / "results"
    shutil.copytree(store, root)
    for command in MORE_RUNS:
        run_into(root, command)
    return root
