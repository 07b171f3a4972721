"""The bound of the pause between two attempts doubles with each failure, up to an end."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.runtime.virtual_time import REPLY, REQUEST, Scripted, broken, now, run
from tripos_runtime.scheduling.calling import open_callers
from tripos_runtime.scheduling.limits import Limits


class Longest(random.Random):
    """Draws the end of every range."""

    def uniform(self, a: float, b: float) -> float:
        return b


@pytest.mark.parametrize("failures", [1, 4])
def test_the_longest_pause_doubles_with_every_failure(failures: int) -> None:
    model = Scripted([broken()] * failures + [REPLY])

    async def main() -> None:
        callers = open_callers(
            {model.name: model}, Limits(max_retries=failures), clock=now, sleep=asyncio.sleep, rng=Longest()
        )
        await callers[model.name].call(REQUEST)

    run(main())
    waits = [after - before for before, after in zip(model.asked_at, model.asked_at[1:], strict=False)]
    assert waits == pytest.approx([0.5 * 2**number for number in range(failures)])
