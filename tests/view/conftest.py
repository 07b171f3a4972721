"""A store with two runs of the quiz, and its view."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command
from tripos.view.files import ViewFiles
from tripos_warehouse.store.store import Store


@pytest.fixture
def ran(quiz: Path, once: Command) -> Path:
    """The folder of the quiz, after a run of two models with two judges."""
    models = ("--model", "mock/careful", "--model", "mock/careless")
    judges = ("--role", "judge=mock/fair", "--role", "judge=mock/severe")
    assert once("run", "quiz.tripos", *models, *judges).code == 0
    return quiz


@pytest.fixture
def view(ran: Path, tmp_path: Path) -> ViewFiles:
    """The files of the view of that store."""
    return ViewFiles(lambda: Store.open(ran / "results", create=False), tmp_path / "made")
