"""A server for every module of tests, spoken to over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sample_quiz import write
from talking import Editor, begin, end


@pytest.fixture
def quiz(tmp_path: Path) -> Path:
    """A folder with a small benchmark in two files."""
    return write(tmp_path)


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor that has the quiz open, both files. Whoever changes a document changes it back."""
    folder = write(tmp_path_factory.mktemp("quiz"))
    with asyncio.Runner() as runner:
        client = runner.run(begin(folder))
        here = Editor(runner, client)
        here.client.open("quiz.tripos")
        here.client.open("shared.tripos")
        assert here.diagnostics("quiz.tripos") == []
        yield here
        runner.run(end(client))


@pytest.fixture
def starting(quiz: Path) -> Iterator[Editor]:
    """An editor of a test's own, with the folder of the quiz open and no document."""
    with asyncio.Runner() as runner:
        client = runner.run(begin(quiz))
        yield Editor(runner, client)
        runner.run(end(client))
