"""Kills while rows are made: what an author wrote is paid once, also where it is adopted by a corrected row."""

from __future__ import annotations

import random
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.kills.contents import contents, differences, doubles
from tests.kills.proof import disturbed, peace, scene
from tests.kills.work import MADE, MADE_ROLES
from tests.lengths import sized

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


def test_rows_are_made_once_however_often_a_run_is_killed(tmp_path: Path) -> None:
    with scene(tmp_path, spec=MADE, roles=MADE_ROLES) as ready:
        expected = peace(ready)
        for number in range(sized(1, 6)):
            tally = disturbed(ready, expected, f"made{number}", seed=5, most=6)
            assert not tally.complaints, "\n".join(tally.complaints[:10])


def test_corrected_rows_adopt_every_reply_however_often_a_run_is_killed(tmp_path: Path) -> None:
    rng = random.Random(11)
    with scene(tmp_path, spec=MADE, roles=MADE_ROLES) as ready:
        starter, server = ready.starters[0], ready.server
        life = starter.start("first", server, ready.work, ready.store("first"))
        assert life.end() == 0, life.told()
        work = replace(ready.work, answer="2")
        work.write()
        shutil.copytree(ready.store("first"), ready.store("calm"))
        began_s = time.monotonic()
        life = starter.start("calm", server, work, ready.store("calm"))
        assert life.end() == 0, life.told()
        took_s = time.monotonic() - began_s
        wanted = contents(ready.store("calm"))
        assert server.of("calm") == []
        for number in range(sized(1, 8)):
            store = ready.store(f"killed{number}")
            shutil.copytree(ready.store("first"), store)
            for kill in range(5):
                life = starter.start(f"life{kill}", server, work, store)
                life.wait(rng.uniform(0.3, 1.0) * took_s)
                life.kill()
            life = starter.start("last", server, work, store)
            assert life.end() == 0, life.told()
            assert server.of(store.name) == []
            assert not differences(contents(store), wanted)
            assert not doubles(store)
