"""The proof: a run that is killed again and again asks no more, and leaves no other tables, than one left in peace."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.kills.accounts import settle, wanted_of
from tests.kills.contents import Contents, contents, differences, doubles
from tests.kills.counting_server import CountingServer, serving
from tests.kills.lives import LONGEST_S, Life, Starter, starting
from tests.kills.work import ROLES, SPEC, Work

LATENCIES_S = (0.02, 0.1, 0.4)
"""The longest latencies: with the last of them a run is longer than the time between two flushes."""
CONNECTIONS = (2, 4, 16)
IDLE = 0.4
"""So often a process that finds everything answered is killed too, and not left to end."""
FRESH = 0.05
"""So many of the processes are started from nothing; the others are forks of one that has imported everything."""
LOOK_S = 0.004


@dataclass(frozen=True)
class Peace:
    """A run that nobody disturbed: what it asked, what it left, and how long it took before its first request and
    after its last reply."""

    wanted: Counter[str]
    contents: Contents
    start_s: float
    end_s: float


@dataclass
class Tally:
    """The counts of a kill test."""

    kills: int = 0
    stores: int = 0
    processes: int = 0
    requests: int = 0
    refused: int = 0
    replies: int = 0
    lost: int = 0
    again: int = 0
    """Replies that were asked for twice, all of which must be among the lost."""
    oldest_ms: float = 0.0
    """Of those that had been handed over, the longest time before the kill."""
    instants: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another has seen."""
        for name in ("kills", "stores", "processes", "requests", "refused", "replies", "lost", "again"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.oldest_ms = max(self.oldest_ms, other.oldest_ms)
        self.instants.update(other.instants)
        self.complaints += other.complaints


@dataclass
class Scene:
    """A server and starters, with a folder for everything that they leave."""

    folder: Path
    server: CountingServer
    starters: Sequence[Starter]
    work: Work

    def store(self, name: str) -> Path:
        """Return where a store is, or will be."""
        return self.folder / "stores" / name


@contextmanager
def scene(folder: Path, starters: int = 1, spec: str = SPEC, roles: tuple[str, ...] = ROLES) -> Iterator[Scene]:
    """A server and as many starters as processes run at once."""
    work = Work(folder / "work", spec, roles)
    work.write()
    with ExitStack() as stack:
        server = stack.enter_context(serving())
        ready = [stack.enter_context(starting(folder / f"starter{number}")) for number in range(starters)]
        yield Scene(folder, server, ready, work)


def warm(scene: Scene) -> None:
    """Run the work once with every starter, so that each of them has imported what it needs."""
    for starter in scene.starters:
        life = starter.start("first", scene.server, scene.work, scene.store(f"first-{starter.folder.name}"))
        assert life.end() == 0, life.told()


def peace(scene: Scene) -> Peace:
    """Warms the starters and runs the work undisturbed."""
    warm(scene)
    scene.server.latency_s, latency_s = 0.0, scene.server.latency_s
    life = scene.starters[0].start("timed", scene.server, scene.work, timed := scene.store("timed"))
    assert life.end() == 0, life.told()
    ended_s = time.monotonic()
    scene.server.latency_s = latency_s
    asked = scene.server.of("timed")
    last_s = max(each.handed_s or 0 for each in asked)
    first = contents(timed)
    told = differences(contents(scene.store(f"first-{scene.starters[0].folder.name}")), first)
    assert not told, "\n".join(["two runs in peace differ", *told])
    return Peace(wanted_of(asked), first, asked[0].arrived_s - life.started_s, ended_s - last_s)


def disturbed(scene: Scene, peace: Peace, name: str, seed: int, most: int) -> Tally:
    """Kill a run at random instants, at most so often, and start it again until it ends by itself; then everything is
    held to what the run in peace asked and left."""
    rng = random.Random(f"{seed} {name}")
    work, store, tally = replace(scene.work, connections=rng.choice(CONNECTIONS)), scene.store(name), Tally(stores=1)
    scene.server.latency_s = rng.choice(LATENCIES_S)
    lives: list[Life] = []
    while True:
        fresh = rng.random() < FRESH
        life = scene.starters[0].start(f"life{len(lives)}", scene.server, work, store, fresh=fresh)
        lives.append(life)
        idle = scene.server.answered[name] >= peace.wanted.total() and rng.random() > IDLE
        if tally.kills == most or idle:
            life.end()
        else:
            instant, is_due = _instant(rng, scene, peace, work, store, life)
            _watch(life, is_due)
            life.kill()
            if life.stopped_s is not None:
                tally.kills += 1
                tally.instants[instant] += 1
                continue
        if life.code != 0:
            tally.complaints.append(f"`{life.name}` ended with {life.code}:\n{life.told()}")
        break
    hold(scene, peace, store, lives, tally)
    return tally


def together(scene: Scene, peace: Peace, name: str, seed: int, kills: int) -> Tally:
    """As many processes as there are starters work on one store at once, each killed at random instants and started
    again, until so many were killed; then they are left to end."""
    rng = random.Random(f"{seed} {name}")
    work, store, tally = replace(scene.work, connections=rng.choice(CONNECTIONS)), scene.store(name), Tally(stores=1)
    scene.server.latency_s = rng.choice(LATENCIES_S)
    lives: list[Life] = []
    numbers = itertools.count()
    due: dict[int, tuple[Life, str, Callable[[], bool]]] = {}

    def begin(place: int) -> None:
        life = scene.starters[place].start(f"life{next(numbers)}", scene.server, work, store)
        lives.append(life)
        due[place] = (life, *_instant(rng, scene, peace, work, store, life))

    for place in range(len(scene.starters)):
        begin(place)
    latest_s = time.monotonic() + LONGEST_S
    while due:
        if time.monotonic() > latest_s:
            for life, _, _ in due.values():
                life.kill()
                tally.complaints.append(f"`{life.name}` hangs:\n{life.told()}")
            break
        for place, (life, instant, is_due) in list(due.items()):
            if tally.kills < kills and is_due():
                life.kill()
            if not life.wait(LOOK_S / len(due)):
                continue
            del due[place]
            if life.stopped_s is not None:
                tally.kills += 1
                tally.instants[instant] += 1
                begin(place)
            elif life.code != 0:
                tally.complaints.append(f"`{life.name}` ended with {life.code}:\n{life.told()}")
    last = scene.starters[0].start("last", scene.server, work, store)
    if last.end() != 0:
        tally.complaints.append(f"the last process ended with {last.code}:\n{last.told()}")
    hold(scene, peace, store, [*lives, last], tally)
    return tally


def hold(scene: Scene, peace: Peace, store: Path, lives: Sequence[Life], tally: Tally) -> None:
    """Hold what was asked and what was left to the run in peace; what is wrong is added to the complaints."""
    account = settle(scene.server.of(store.name), {each.name: each.stopped_s for each in lives}, peace.wanted)
    tally.processes += len(lives)
    tally.requests += account.requests
    tally.refused += account.refused
    tally.replies += account.replies
    tally.lost += account.lost
    tally.again += account.again
    tally.oldest_ms = max(tally.oldest_ms, round(account.oldest_s * 1000, 1))
    told = [
        *account.complaints,
        *differences(contents(store), peace.contents),
        *doubles(store),
        *_checked(scene, store),
    ]
    tally.complaints += [f"{store.name}: {each}" for each in told]


def _instant(
    rng: random.Random, scene: Scene, peace: Peace, work: Work, store: Path, life: Life
) -> tuple[str, Callable[[], bool]]:
    """When to kill a process: at any time of its life, about when a reply arrives, or at its end, when everything has
    been answered and the tables are written and the report is made."""
    answered, place = scene.server.answered, f"/{store.name}/{life.name}"
    whole = peace.wanted.total()
    left = max(whole - answered[store.name], 0)
    span_s = peace.start_s + peace.end_s + left * (scene.server.latency_s / 2 / work.connections + 0.001)
    match rng.choices(("any time", "a reply", "the end"), (5, 3, 2))[0]:
        case "a reply" if left:
            count, after_s = rng.randint(1, left), rng.expovariate(100)
            return "a reply", _after(lambda: answered[place] >= count, after_s)
        case "the end":
            after_s = rng.uniform(0, peace.end_s if left else peace.start_s + peace.end_s)
            return "the end", _after(lambda: answered[store.name] >= whole, after_s)
        case _:
            at_s = life.started_s + rng.uniform(0, span_s)
            return "any time", lambda: time.monotonic() >= at_s


def _after(holds: Callable[[], bool], delay_s: float) -> Callable[[], bool]:
    """Return whether something has been true for so long."""
    since_s: list[float] = []

    def is_due() -> bool:
        if not since_s and holds():
            since_s.append(time.monotonic())
        return bool(since_s) and time.monotonic() >= since_s[0] + delay_s

    return is_due


def _watch(life: Life, is_due: Callable[[], bool]) -> None:
    """Wait until an instant has come or the process has ended."""
    latest_s = time.monotonic() + LONGEST_S
    while not is_due() and not life.wait(LOOK_S):
        assert time.monotonic() < latest_s, f"`{life.name}` hangs:\n{life.told()}"


def _checked(scene: Scene, store: Path) -> list[str]:
    """Return what `tripos store check` finds wrong."""
    life = scene.starters[0].launch(
        f"check-{store.name}", store.parent, ["store", "check", "--store", str(store), "--json"]
    )
    return [] if life.end() == 0 else [f"`tripos store check` ended with {life.code}: {life.told()}"]


def told(tally: Tally) -> str:
    """Return a summary on a few lines."""
    return json.dumps({name: value for name, value in vars(tally).items() if name != "complaints"})
