"""Stores that the queries of the pages are asked of."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from tests.docs.test_docs import EDUBENCH_RUN, MORE_RUNS, run_into
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.notes import Note, add_note


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
    flag_a_reply(root)
    return root


def flag_a_reply(root: Path) -> None:
    """Add a note to a reply of EduBench."""
    at = datetime.now(UTC)
    with connect(Store.open(root, create=False)) as connection:
        query = "select sample_id, run_id, created_at from edubench_shipped.samples order by all limit 1"
        [(sample, run, replied_at)] = connection.execute(query).fetchall()
    note = Note(uuid4().hex, sample, run, "human/anna", "again", "Too long.", replied_at.astimezone(UTC), at)
    add_note(Store.open(root, create=False), note, None)
