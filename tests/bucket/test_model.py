"""Every state of the protocol holds its invariants; without any one of its rules, some state breaks one."""

from __future__ import annotations

import pytest

from tests.bucket.model import Protocol
from tests.each import each

SIZES = (
    Protocol(sessions=2, shards=1, collections=1),
    Protocol(sessions=2, shards=2),
    Protocol(sessions=3, shards=1),
    Protocol(sessions=2, shards=1, together=1, collections=1),
    Protocol(sessions=2, shards=1, together=1, recovers=True),
    Protocol(sessions=1, shards=2, collections=1, recovers=True),
)
LARGE = (
    Protocol(sessions=2, shards=1, collections=1, recovers=True),
    Protocol(sessions=2, shards=2, recovers=True),
    Protocol(sessions=2, shards=1, collections=1, gives_back=True),
    Protocol(sessions=1, shards=2, committers=2, compactions=1, collections=1),
    Protocol(sessions=2, shards=1, committers=2, together=1, collections=1),
    Protocol(sessions=2, shards=1, together=1, collections=1, gives_back=True),
)
RULES = (
    Protocol(without="sealing"),
    Protocol(without="reading again", collections=1, gives_back=True),
    Protocol(without="seals stay", collections=1),
    Protocol(without="floor", shards=2, committers=2, compactions=1, collections=1),
    Protocol(without="leaving parts", sessions=1),
    Protocol(without="upto", shards=2, committers=2, compactions=1),
    Protocol(without="looking for the reply", recovers=True),
    Protocol(without="a claim for what is late", recovers=True),
    Protocol(without="every start", shards=2, committers=2, together=1),
    Protocol(without="a new part", shards=2, committers=2, together=1),
)


LARGE_RULES = (Protocol(without="looking before taking in", sessions=3, recovers=True),)


@each("protocol", SIZES)
def test_every_state_holds(protocol: Protocol) -> None:
    explored = protocol.explore()
    assert (explored.broken, explored.whole) == (None, True), explored.steps


@pytest.mark.long
@each("protocol", LARGE)
def test_every_state_of_a_larger_size_holds(protocol: Protocol) -> None:
    explored = protocol.explore()
    assert (explored.broken, explored.whole) == (None, True), explored.steps


@each("protocol", RULES)
def test_without_any_one_rule_a_state_breaks_an_invariant(protocol: Protocol) -> None:
    assert protocol.explore().broken is not None, protocol.without


@pytest.mark.long
@each("protocol", LARGE_RULES)
def test_without_a_rule_of_three_sessions_a_state_breaks_an_invariant(protocol: Protocol) -> None:
    assert protocol.explore().broken is not None, protocol.without
