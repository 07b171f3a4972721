"""How many replies a second a trained reward model scores, and what batches by length save.

    python tests/bench/reward.py --critic DIR [--count 400]

`DIR` is what `tripos train reward` wrote. The texts are made up, of the lengths that tutors' turns have: 5 to 80 words
behind a dialogue.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time

from tripos_runtime.models.base import Message
from tripos_runtime.models.rewards import Chat
from tripos_runtime.models.trained_rewards import open_reward


def main() -> None:
    """Print replies a second, by the clock and by the processor, in batches and one by one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--critic", required=True, metavar="DIR")
    parser.add_argument("--count", type=int, default=400)
    given = parser.parse_args()
    draw = random.Random(0)
    words = [
        "what",
        "did",
        "you",
        "do",
        "first",
        "and",
        "why",
        "do",
        "you",
        "think",
        "that",
        "half",
        "of",
        "the",
        "number",
        "is",
        "a",
        "good",
        "way",
        "to",
        "begin",
    ]
    replies = [" ".join(draw.choices(words, k=draw.randint(5, 80))) for _ in range(given.count)]
    chats = [(Message("user", f"Student: I think it is 12.\nTeacher: {reply}"),) for reply in replies]
    together = asyncio.run(_rate(given.critic, chats, 64))
    alone = asyncio.run(_rate(given.critic, chats[: max(1, len(chats) // 8)], 1))
    print(f"in batches: {together[0]:.0f} replies a second, {together[1]:.0f} a second of the processor")
    print(f"one by one: {alone[0]:.0f} replies a second, {alone[1]:.0f} a second of the processor")
    print(f"ratio: {together[1] / alone[1]:.2f}")


async def _rate(critic: str, chats: list[Chat], most: int) -> tuple[float, float]:
    model = open_reward(critic)
    await model.score(chats[:1])  # loads it
    clock, processor = time.perf_counter(), time.process_time()
    for start in range(0, len(chats), most):
        await model.score(chats[start : start + most])
    found = len(chats) / (time.perf_counter() - clock), len(chats) / (time.process_time() - processor)
    await model.close()
    return found


if __name__ == "__main__":
    main()
