"""`tripos view` without a terminal: it prints its address at once, and ends cleanly when it is told to stop."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """benchmark sums "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.answer)
}
measure accuracy = mean(right)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_its_address_at_once_and_ends_with_success_on_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, number: signal.Signals
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text('{"question": "2 + 2?", "answer": "4"}\n', "utf-8")
    assert tripos("run", "s.tripos", "--model", "mock/careful").code == 0
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        ["sh", "-c", 'trap "" INT; exec "$0" -m tripos view', sys.executable],  # as shells start background jobs
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"TMPDIR": str(temporary), "CI": "true"},
    ) as process, ExitStack() as stack:  # fmt: skip
        stack.callback(process.kill)
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/\S+/", process.stdout.readline())
        assert address is not None
        with urllib.request.urlopen(address[0]) as page:
            assert b"<html" in page.read().lower()
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert list(temporary.iterdir()) == []
