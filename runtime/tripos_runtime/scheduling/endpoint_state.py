"""The visible state of an endpoint during a run."""

from __future__ import annotations

from typing import Literal, get_args

from tripos_compiler.source import dataclass

State = Literal["ready", "held back", "silent", "given up"]
"""`held back`: it asked to be left alone for a while. `silent`: it has stopped answering, and one call at a time finds
out whether it is back. `given up`: it has been silent for too long, and its calls fail."""


@dataclass(frozen=True)
class Snapshot:
    """The state of one endpoint. `limit` is how many calls it may have at a time now, `waiting` how many wait
    for their turn, `retries` how many were made again so far."""

    endpoint: str
    models: tuple[str, ...]
    in_flight: int
    limit: int
    waiting: int
    retries: int
    state: State

    def beside(self, other: Snapshot) -> Snapshot:
        """Return the state of the endpoint, to which another process makes calls too: the worse of both states."""
        return Snapshot(
            self.endpoint,
            self.models,
            self.in_flight + other.in_flight,
            self.limit + other.limit,
            self.waiting + other.waiting,
            self.retries + other.retries,
            max(self.state, other.state, key=get_args(State).index),
        )
