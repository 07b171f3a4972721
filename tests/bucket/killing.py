"""Workers on one bucket that are killed again and again, and held to a run in a folder that nobody disturbed."""

from __future__ import annotations

import itertools
import random
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.bucket.clocks import skew_of, skewing
from tests.bucket.stand_in import BUCKET, Serving, serving
from tests.kills.accounts import settle
from tests.kills.contents import contents, differences, doubles
from tests.kills.counting_server import serving as counting
from tests.kills.lives import Life, Starter, starting
from tests.kills.proof import Peace, Scene, peace
from tests.kills.work import Work
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.store.bucket.bucket import LOGS, Bucket, read_slot, sealed_by
from tripos_warehouse.store.bucket.catalog import Objects, map_concurrently
from tripos_warehouse.store.index import FAILED
from tripos_warehouse.store.store import Store

LEASE_S = 20.0
LONGEST_S = 300.0
UPLOADED_S = 12.0
"""A reply that had been handed over so long before its process was killed is on the bucket, also where 30 % of the
bucket's answers fail. What came later is lost with the disk of the machine, or where others take the work over before
a process of the machine has lived for long enough to upload it."""
LOST_DISK = 0.15
"""So many of the kills take the disk of the machine along."""


@dataclass
class Tally:
    """The counts of a kill test."""

    kills: int = 0
    lost_disks: int = 0
    stores: int = 0
    processes: int = 0
    replies: int = 0
    wanted: int = 0
    again: int = 0
    taken_over: int = 0
    complaints: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another has seen."""
        for name in ("kills", "lost_disks", "stores", "processes", "replies", "wanted", "again", "taken_over"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.complaints += other.complaints


@dataclass
class BucketScene:
    """A scene in which each starter is a machine with a disk of its own, and the bucket that they share."""

    scene: Scene
    bucket: Serving
    expected: Peace

    def disk(self, place: int) -> Path:
        """Return the cache of a machine."""
        return self.scene.folder / f"disk{place + 1}"


@contextmanager
def bucket_scene(folder: Path, machines: int, rows: int, faults: float, seed: int) -> Iterator[BucketScene]:
    """Machines that are warm and whose clocks differ, a server that counts, and a bucket whose clock is an hour ahead."""
    work = replace(Work(folder / "work"), rows=rows)
    work.write()
    with ExitStack() as stack:
        server = stack.enter_context(counting())
        bucket = stack.enter_context(serving(faults, seed, skew_s=3600))
        first = stack.enter_context(starting(folder / "machine0", skewing(folder)))
        expected = peace(Scene(folder, server, [first], work))
        starters = [
            stack.enter_context(
                closing(
                    first.other(
                        folder / f"machine{place}",
                        {
                            **bucket.environment,
                            "XDG_CACHE_HOME": str(folder / f"disk{place}"),
                            "CLOCK_SKEW_S": str(skew_of(place)),
                        },
                    )
                )
            )
            for place in range(1, machines + 1)
        ]
        patched = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in {**bucket.environment, "XDG_CACHE_HOME": str(folder / "own")}.items():
            patched.setenv(name, value)
        yield BucketScene(Scene(folder, server, starters, work), bucket, expected)


def kill_workers(ready: BucketScene, name: str, seed: int, kills: int) -> Tally:
    """Let every machine work on one bucket; kill each at random instants and start it again, until so many were killed;
    then let them end, and hold what was asked and what is there to the run in peace."""
    rng = random.Random(f"{seed} {name}")
    scene, tally = ready.scene, Tally(stores=1, wanted=ready.expected.wanted.total())
    address = f"s3://{BUCKET}/{name}"
    Bucket.open(address, create=True, lease_s=LEASE_S)
    store = Path(address)
    scene.server.latency_s = rng.choice((0.1, 0.4, 1.0))
    stopped_s: dict[str, float | None] = {}
    places: dict[str, int] = {}
    lives: list[Life] = []
    numbers = itertools.count()
    under_way: dict[int, tuple[Life, Callable[[], bool]]] = {}

    def begin(place: int) -> None:
        life = scene.starters[place].start(f"life{next(numbers)}", scene.server, scene.work, store)
        lives.append(life)
        places[life.name] = place + 1
        at_s = life.started_s + rng.choice((rng.uniform(0.2, 2), rng.uniform(0.5, 12)))
        under_way[place] = (life, lambda: time.monotonic() >= at_s)

    for place in range(len(scene.starters)):
        begin(place)
    latest_s = time.monotonic() + LONGEST_S + 3 * kills
    while under_way:
        if time.monotonic() > latest_s:
            for life, _ in under_way.values():
                tally.complaints.append(f"{name}: `{life.name}` hangs:\n{life.where()}")
                life.kill()
            break
        for place, (life, is_due) in list(under_way.items()):
            if tally.kills < kills and is_due():
                life.kill()
            if not life.wait(0.01):
                continue
            del under_way[place]
            stopped_s[life.name] = life.stopped_s
            if life.stopped_s is not None:
                tally.kills += 1
                if rng.random() < LOST_DISK:
                    tally.lost_disks += 1
                    shutil.rmtree(ready.disk(place), ignore_errors=True)
                    stopped_s[life.name] = life.stopped_s - UPLOADED_S
                begin(place)
            elif life.code != 0:
                tally.complaints.append(f"{name}: `{life.name}` ended with {life.code}:\n{life.told()}")
    last = scene.starters[0].start("last", scene.server, scene.work, store)
    if last.end() != 0:
        tally.complaints.append(f"{name}: the last process ended with {last.code}:\n{last.told()}")
    uploads = read_uploads(Bucket.open(address, create=False).objects)
    tally.taken_over = len(uploads.sealed_by_others)
    asked = scene.server.of(name)
    for life in lives:
        if life.stopped_s is None:
            continue
        # While a process waits for the bucket it reads no replies: what came after its last request may be unread.
        last_s = max((each.arrived_s for each in asked if each.place.endswith(f"/{life.name}")), default=0.0)
        stopped_s[life.name] = min(stopped_s[life.name] or life.stopped_s, max(last_s, life.started_s))
        if any(lived_in(life, places[life.name], each) for each in uploads.sealed_by_others):
            stopped_s[life.name] = min(stopped_s[life.name] or 0.0, life.stopped_s - UPLOADED_S)
    twice = [name for name, sessions in uploads.sessions.items() if len(sessions) > 1]
    tally.complaints += [f"{name}: `{each}` was uploaded by two sessions" for each in twice]
    hold(ready, store, [*lives, last], stopped_s, tally)
    return tally


@dataclass
class Uploads:
    """The content of the logs of a bucket: which sessions uploaded a result that did not fail, and whose log others
    sealed."""

    sessions: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    sealed_by_others: set[str] = field(default_factory=set)


def read_uploads(objects: Objects) -> Uploads:
    """Read all logs of a bucket, of which nothing has been collected."""
    found = Uploads()
    names = sorted(objects.sizes(LOGS))
    for name, held in zip(names, map_concurrently(objects.get, names), strict=True):
        _, session, number = name.split("/")
        assert held is not None
        slot = read_slot(int(number), held.content, name)
        if slot.content is None:
            if sealed_by(held.content) != session:
                found.sealed_by_others.add(session)
            continue
        for line in slot.content.lines:
            for table, key in (("samples", "sample_id"), ("judgements", "judgement_id")):
                for row in line.get(table, ()):
                    if row["status"] != FAILED:
                        found.sessions[row[key]].add(session)
    return found


def lived_in(life: Life, place: int, session: str) -> bool:
    """Return true if a process on that machine began a session, which bears the time of the machine's clock."""
    at = datetime.strptime(session.partition("-")[0], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
    at_s = at.timestamp() - skew_of(place) - time.time() + time.monotonic()
    return life.started_s <= at_s <= (life.stopped_s or time.monotonic())


def hold(
    ready: BucketScene, store: Path, lives: Sequence[Life], stopped_s: dict[str, float | None], tally: Tally
) -> None:
    """Hold what was asked and what was left to the run in peace."""
    asked = ready.scene.server.of(store.name)
    account = settle(
        asked, {each.name: stopped_s.get(each.name, each.stopped_s) for each in lives}, ready.expected.wanted
    )
    tally.processes += len(lives)
    tally.replies += account.replies
    tally.again += account.again
    told = [*account.complaints, *differences(contents(store), ready.expected.contents), *doubles(store)]
    checked = check_store(Store.open(store, create=False))
    tally.complaints += [f"{store.name}: {each}" for each in (*told, *checked.damages)]


__all__ = ["BucketScene", "Starter", "Tally", "bucket_scene", "kill_workers"]
