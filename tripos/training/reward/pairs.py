"""Pairs to learn from: every reply once, and the pairs as places among them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tripos.settings import MOST_DATA_BYTES, read_untrusted, read_untrusted_json
from tripos.ui import Failure
from tripos_compiler.diagnostics import nearest
from tripos_warehouse.exports import beside


@dataclass(frozen=True)
class Tested:
    """The pairs that are tested, without those that share a topic with what is learned: so many of these `pairs` and
    `topics` there were."""

    preferences: Preferences
    pairs: int
    topics: int


def apart(learned: Preferences, tested: Preferences) -> Tested:
    """Take from what is tested every pair that shares a value it is grouped by with any pair that is learned.

    Raises `Failure` S0822 where nothing is left to test on.
    """
    seen = frozenset().union(*learned.keys)
    kept = [place for place, keys in enumerate(tested.keys) if not keys & seen]
    shared = {key for keys in tested.keys for key in keys & seen}
    if not kept:
        hint = "test on other topics, or take `group` out of one of the exports"
        raise Failure("S0822", "every pair of the test shares a topic with what is learned", hint)
    return Tested(tested.only(kept).trimmed(), len(tested) - len(kept), len(shared))


def without(pairs: Preferences, sources: Sequence[str]) -> Preferences:
    """Return the pairs of which none of these sources wrote a reply. Raises `Failure` S0831 for a source that wrote
    none, and S0815 where no pair is left."""
    if not sources:
        return pairs
    wrote = sorted({name for by in pairs.by for name in by if name})
    for name in sources:
        if name not in wrote:
            close = nearest(name, wrote)
            some = ", ".join(f"`{each}`" for each in wrote[:8]) or "nobody, for `by` says no name"
            raise Failure(
                "S0831", f"no reply is by `{name}`", f"did you mean `{close}`?" if close else f"there is {some}"
            )
    kept = [place for place, by in enumerate(pairs.by) if not set(by) & set(sources)]
    if not kept:
        raise Failure("S0815", "every pair has a reply by one of these", "leave out fewer")
    left = pairs.only(kept).trimmed()
    return replace(left, told={**left.told, "pairs": len(kept), "replies": len(left.texts), "without": list(sources)})


Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Preferences:
    """`texts` has every reply once, after what it replies to; `better`, `worse` and `margins` have an entry a pair, the
    former two places among the texts; `groups` the group of every pair and `by` who wrote the two."""

    texts: tuple[tuple[str, str], ...]
    better: Numbers
    worse: Numbers
    margins: Numbers
    groups: tuple[str, ...]
    by: tuple[tuple[str, str], ...]
    keys: tuple[frozenset[str], ...]
    """What each pair shares with others of its group: the values that the export groups by, without case and signs."""
    told: Mapping[str, Any]
    """What is said of the file: name, SHA-256, pairs, and of a spec's export benchmark, plan and licence."""
    criteria: tuple[tuple[bool, ...] | None, ...] = ()
    """Which criteria each of the texts meets, where that is said; empty where it is said of none."""

    def __len__(self) -> int:
        return len(self.groups)

    def only(self, kept: Sequence[int] | Numbers) -> Preferences:
        """Return the pairs at these places, with all texts."""
        places = [int(place) for place in kept]
        index = np.array(places, dtype=np.int64)
        return replace(
            self,
            better=self.better[index],
            worse=self.worse[index],
            margins=self.margins[index],
            groups=tuple(self.groups[place] for place in places),
            by=tuple(self.by[place] for place in places),
            keys=tuple(self.keys[place] for place in places),
        )

    def trimmed(self) -> Preferences:
        """Return the same pairs, with only those texts that are in one."""
        used, places = np.unique(np.concatenate([self.better, self.worse]), return_inverse=True)
        better, worse = np.split(places, 2)
        criteria = tuple(self.criteria[place] for place in used) if self.criteria else ()
        texts = tuple(self.texts[place] for place in used)
        return replace(self, texts=texts, better=better, worse=worse, criteria=criteria)


def read_pairs(path: Path) -> Preferences:
    """Read JSON Lines with `prompt`, `chosen` and `rejected`, each a text or messages, and perhaps `margin`.

    What belongs together says the provenance beside the file; without it pairs of one prompt do. Raises `Failure` S0821
    for a file that cannot be read or is changed, and for a line that is no pair.
    """
    try:
        content = read_untrusted(path, MOST_DATA_BYTES)
    except OSError as error:
        hint = "`tripos export NAME --spec SPEC -o FILE` writes one"
        raise Failure("S0821", f"cannot read `{path}`: {error.strerror or error}", hint) from error
    sha256 = hashlib.sha256(content).hexdigest()
    lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
    said = _provenance(path, sha256, len(lines))
    entries = said["lines"] if said is not None else [{} for _ in lines]
    places: dict[tuple[str, str], int] = {}
    criteria: dict[int, tuple[bool, ...]] = {}
    better, worse, margins, keys, by = [], [], [], [], []
    for (number, line), entry in zip(lines, entries, strict=True):
        prompt, chosen, rejected, margin = _pair(path, number, line)
        better.append(places.setdefault((prompt, chosen), len(places)))
        worse.append(places.setdefault((prompt, rejected), len(places)))
        margins.append(margin)
        shared = entry.get("groups") or [entry.get("item") or prompt]
        keys.append(frozenset(filter(None, map(plain, shared))) or frozenset({prompt}))
        wrote = entry.get("by") or entry.get("models") or ["", ""]
        by.append((str(wrote[0]), str(wrote[-1])))
        for place, met in zip((better[-1], worse[-1]), entry.get("criteria") or (), strict=False):
            if met is not None:
                criteria.setdefault(place, tuple(map(bool, met)))
    if not lines:
        raise Failure("S0821", f"`{path}` has no pairs", "`tripos export NAME --spec SPEC -o FILE` writes some")
    told = {name: (said or {}).get(name) for name in ("benchmark", "version", "plan_digest", "exports", "licence")}
    told = {"file": path.name, "sha256": sha256, "pairs": len(lines), "replies": len(places), **told}
    told["grouped_by"] = "prompt" if said is None else "group"
    groups = joined_groups(keys)
    return Preferences(
        texts=tuple(places),
        better=np.array(better, dtype=np.int64),
        worse=np.array(worse, dtype=np.int64),
        margins=np.array(margins, dtype=np.float64),
        groups=groups,
        by=tuple(by),
        keys=tuple(keys),
        told=told,
        criteria=tuple(criteria.get(place) for place in range(len(places))) if criteria else (),
    )


def plain(text: str) -> str:
    """Return a text by which things are told to be the same: without case, signs and spaces that say nothing.

    >>> plain("4.2G. Convert  fractions!")
    '4 2g convert fractions'
    """
    return re.sub(r"\W+", " ", text.casefold()).strip()


def joined_groups(keys: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """Return the group of everything that shares a key with something else, over any number of steps: its smallest key.

    >>> joined_groups([frozenset("ab"), frozenset("c"), frozenset("bd")])
    ('a', 'c', 'a')
    """
    of: dict[str, str] = {}

    def root(key: str) -> str:
        while of.setdefault(key, key) != key:
            of[key] = of[of[key]]
            key = of[key]
        return key

    for each in keys:
        first, *rest = sorted(map(root, each))
        for other in rest:
            of[root(other)] = min(first, root(first))
    return tuple(root(min(each)) for each in keys)


def _provenance(path: Path, sha256: str, count: int) -> Mapping[str, Any] | None:
    try:
        said = read_untrusted_json(beside(path), MOST_DATA_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        hint = "export again, or take it away: then pairs are kept together by their prompts"
        raise Failure("S0821", f"`{beside(path)}` is not the provenance of training data", hint) from error
    if not isinstance(said, dict) or said.get("kind") != "preferences":
        hint = "export `preferences`, or an `export` of the spec with `pairs`"
        raise Failure("S0821", f"`{path}` has no pairs of replies", hint)
    if said.get("sha256") != sha256 or len(said.get("lines", ())) != count:
        hint = "export again; or, if the change was intended, delete the provenance"
        raise Failure("S0821", f"`{path}` was changed after `{beside(path).name}` was written", hint)
    return said


def _pair(path: Path, number: int, line: bytes) -> tuple[str, str, str, float]:
    hint = "a line has `prompt`, `chosen` and `rejected`, each a text or messages, and perhaps `margin`"
    try:
        read = orjson.loads(line)
        prompt, chosen, rejected = (_text(read[name]) for name in ("prompt", "chosen", "rejected"))
        margin = float(read.get("margin") or 0)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise Failure("S0821", f"{path}:{number}: no pair of replies", hint) from error
    if not chosen or not rejected:
        raise Failure("S0821", f"{path}:{number}: a reply is empty", hint)
    return prompt, chosen, rejected, margin


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    return "\n\n".join(str(message["content"]) for message in value).strip()
