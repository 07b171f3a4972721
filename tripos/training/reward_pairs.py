"""Pairs of replies to learn from: made by `export NAME { pairs from DATASET … }`, and read from such files."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tripos.files import MOST_DATA_BYTES, read_untrusted, read_untrusted_json
from tripos.settings.options import ReportParameters
from tripos.training.environment import changed_after_export
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import TriposError
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.near_duplicates import HeldOutTexts, training_texts
from tripos_compiler.language.rendering import render
from tripos_compiler.plan import PairedReply, Pairing, Plan
from tripos_runtime.datasets.cases import CaseSource
from tripos_warehouse.exports.training import FORMAT
from tripos_warehouse.files import provenance_path, write_lines


@dataclass(frozen=True)
class HeldOutPairs:
    """The tested pairs that share no topic with the learned ones. `pairs` and `topics` count the excluded ones."""

    preferences: Preferences
    pairs: int
    topics: int


def hold_out_topics(learned: Preferences, tested: Preferences) -> HeldOutPairs:
    """Exclude every tested pair that shares a grouping value or a reply to the same prompt with a learned pair. Files
    that are grouped in different ways, of which one has no provenance, share no grouping value.

    Raises `TriposError` S0822 if nothing is left to test on.
    """
    seen = frozenset().union(*learned.keys)
    texts = {learned.texts[place] for place in (*learned.better, *learned.worse)}
    kept = [
        place
        for place, (keys, better, worse) in enumerate(zip(tested.keys, tested.better, tested.worse, strict=True))
        if not keys & seen and texts.isdisjoint((tested.texts[better], tested.texts[worse]))
    ]
    shared = {key for keys in tested.keys for key in keys & seen}
    if not kept:
        hint = "test on other topics, or take `group` out of one of the exports"
        raise TriposError("S0822", "every pair of the test shares a topic with what is learned", hint)
    return HeldOutPairs(tested.only(kept).trimmed(), len(tested) - len(kept), len(shared))


def exclude_authors(pairs: Preferences, sources: Sequence[str]) -> Preferences:
    """Return the pairs without a reply by any of these authors. Raises `TriposError` S0831 for an unknown author, and
    S0815 if no pair is left."""
    if not sources:
        return pairs
    wrote = sorted({name for by in pairs.by for name in by if name})
    for name in sources:
        if name not in wrote:
            some = ", ".join(f"`{each}`" for each in wrote[:8]) or "nobody, for `by` says no name"
            raise TriposError("S0831", f"no reply is by `{name}`", suggest(name, wrote, f"there is {some}"))
    kept = [place for place, by in enumerate(pairs.by) if not set(by) & set(sources)]
    if not kept:
        raise TriposError("S0815", "every pair has a reply by one of these", "leave out fewer")
    preferences = pairs.only(kept).trimmed()
    return replace(
        preferences,
        facts={**preferences.facts, "pairs": len(kept), "replies": len(preferences.texts), "without": list(sources)},
    )


Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Preferences:
    """Pairs of replies. `texts` has every distinct reply after its prompt. `better`, `worse` and `margins` have an
    entry for each pair; the first two are indices of texts. `groups` has the group of each pair, and `by` the authors
    of its replies."""

    texts: tuple[tuple[str, str], ...]
    better: Numbers
    worse: Numbers
    margins: Numbers
    groups: tuple[str, ...]
    by: tuple[tuple[str, str], ...]
    keys: tuple[frozenset[str], ...]
    """The grouping values of each pair, without case and punctuation."""
    facts: Mapping[str, Any]
    """Facts about the file: name, SHA-256, pairs, and for an export of a spec its benchmark, plan and licence."""
    criteria: tuple[tuple[bool, ...] | None, ...] = ()
    """The criteria that each text meets, or None if unknown; empty if unknown for all."""

    def __len__(self) -> int:
        return len(self.groups)

    def only(self, kept: Sequence[int] | Numbers) -> Preferences:
        """Return the pairs at these indices, with all texts."""
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
        """Return the same pairs with only the texts that occur in one."""
        used, places = np.unique(np.concatenate([self.better, self.worse]), return_inverse=True)
        better, worse = np.split(places, 2)
        criteria = tuple(self.criteria[place] for place in used) if self.criteria else ()
        texts = tuple(self.texts[place] for place in used)
        return replace(self, texts=texts, better=better, worse=worse, criteria=criteria)


def read_pairs(path: Path) -> Preferences:
    """Read JSON Lines with `prompt`, `chosen` and `rejected`, each a text or messages, and optionally `margin`.

    Groups come from the provenance next to the file, or else from the prompts. Raises `TriposError` S0821 for an
    unreadable or changed file, and for a line that is not a pair.
    """
    try:
        content = read_untrusted(path, MOST_DATA_BYTES)
    except OSError as error:
        hint = f"`tripos export NAME {ReportParameters.spec} SPEC -o FILE` writes one"
        raise TriposError("S0821", f"cannot read `{path}`: {error.strerror or error}", hint) from error
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
        keys.append(frozenset(filter(None, map(normalized, shared))) or frozenset({prompt}))
        wrote = entry.get("by") or entry.get("models") or ["", ""]
        by.append((str(wrote[0]), str(wrote[-1])))
        for place, met in zip((better[-1], worse[-1]), entry.get("criteria") or (), strict=False):
            if met is not None:
                criteria.setdefault(place, tuple(map(bool, met)))
    if not lines:
        raise TriposError(
            "S0821", f"`{path}` has no pairs", f"`tripos export NAME {ReportParameters.spec} SPEC -o FILE` writes some"
        )
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
        facts=told,
        criteria=tuple(criteria.get(place) for place in range(len(places))) if criteria else (),
    )


def normalized(text: str) -> str:
    """Return a text normalized for comparison: without case, punctuation and repeated spaces.

    >>> normalized("4.2G. Convert  fractions!")
    '4 2g convert fractions'
    """
    return re.sub(r"\W+", " ", text.casefold()).strip()


def joined_groups(keys: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """Return the group of each entry: entries that share a key, directly or through others, form a group, named by its
    smallest key.

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
    return tuple(root(min(key)) for key in keys)


def _provenance(path: Path, sha256: str, count: int) -> Mapping[str, Any] | None:
    try:
        said = read_untrusted_json(provenance_path(path), MOST_DATA_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        hint = "export again, or take it away: then pairs are kept together by their prompts"
        raise TriposError("S0821", f"`{provenance_path(path)}` is not the provenance of training data", hint) from error
    if not isinstance(said, dict) or said.get("kind") != "preferences":
        hint = "export `preferences`, or an `export` of the spec with `pairs`"
        raise TriposError("S0821", f"`{path}` has no pairs of replies", hint)
    if said.get("sha256") != sha256 or len(said.get("lines", ())) != count:
        raise changed_after_export("S0821", path)
    return said


def _pair(path: Path, number: int, line: bytes) -> tuple[str, str, str, float]:
    hint = "a line has `prompt`, `chosen` and `rejected`, each a text or messages, and perhaps `margin`"
    try:
        read = orjson.loads(line)
        prompt, chosen, rejected = (_text(read[name]) for name in ("prompt", "chosen", "rejected"))
        margin = float(read.get("margin") or 0)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise TriposError("S0821", f"{path}:{number}: no pair of replies", hint) from error
    if not chosen or not rejected:
        raise TriposError("S0821", f"{path}:{number}: a reply is empty", hint)
    return prompt, chosen, rejected, margin


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    contents = [message["content"] for message in value]
    if not all(isinstance(content, str) for content in contents):
        raise ValueError("a message is no text")
    return "\n\n".join(contents).strip()


# Pairs of an export
HELD_OUT_REASON = "rows with a text that is kept out"
"""Reason for a row that is left out."""


@dataclass(frozen=True)
class RatedReply:
    """A reply of a row: its text, its worth, its author, and the criteria that it meets, if known."""

    text: str
    worth: float
    by: str
    criteria: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class ReplyPair:
    """Two replies to one prompt, the better first, with the grouping values of their row."""

    prompt: str
    chosen: RatedReply
    rejected: RatedReply
    item: str
    groups: tuple[str, ...]

    @property
    def margin(self) -> float:
        """The difference in worth."""
        return round(self.chosen.worth - self.rejected.worth, 6)


def pairs_of(plan: Plan, pairing: Pairing, source: CaseSource) -> tuple[list[ReplyPair], Counter[str]]:
    """Return the pairs of every row, in the order of the data, and the numbers of rejected pairs by reason.

    Raises `TriposError` E0301 if a row has no value for an expression of the export.
    """
    dataset = plan.dataset(pairing.dataset)
    pairs: list[ReplyPair] = []
    left_out: Counter[str] = Counter()
    kept_out = held_out_texts(plan, pairing, source)
    for number, row in enumerate(source.sources.stream(dataset), 1):
        names = {pairing.alias: row.values, **source.sources.names}
        try:
            if pairing.where is not None and not evaluate(pairing.where, names):
                left_out["filtered"] += 1
                continue
            if kept_out is not None and kept_out.find(training_texts(pairing, names)) is not None:
                left_out[HELD_OUT_REASON] += 1
                continue
            prompt = "" if pairing.prompt is None else prompt_of(plan, pairing, source, names)
            replies = [rated_reply for reply in pairing.replies for rated_reply in replies_of(reply, names)]
            groups = tuple(str(found) for group in pairing.groups if (found := evaluate(group, names)))
        except Unavailable as error:
            hint = "fix the row, or guard the value"
            message = f"row {number} of `{pairing.dataset}` gives export `{pairing.name}` no value: {error}"
            raise TriposError("E0301", message, hint) from error
        for one, two in combinations(replies, 2):
            difference = one.worth - two.worth
            if one.text == two.text:
                left_out["the same text"] += 1
            elif difference == 0:
                left_out["ties"] += 1
            elif abs(difference) < pairing.margin:
                left_out["below the margin"] += 1
            else:
                better, worse = (one, two) if difference > 0 else (two, one)
                pairs.append(ReplyPair(prompt, better, worse, row.item_id, groups))
    return pairs, left_out


def held_out_texts(plan: Plan, pairing: Pairing, source: CaseSource) -> HeldOutTexts[str] | None:
    """Return the texts of the data sets that an export holds out, or None if it names none."""
    if not pairing.holds_out:
        return None
    texts: HeldOutTexts[str] = HeldOutTexts()
    for name in pairing.holds_out:
        for row in source.sources.stream(plan.dataset(name)):
            texts.add(row.item_id, row.values)
    return texts


def prompt_of(plan: Plan, pairing: Pairing, source: CaseSource, names: Mapping[str, Any]) -> str:
    """Return the prompt of a row; `names` has the row."""
    assert pairing.prompt is not None
    return render(pairing.prompt, names, plan.benchmark.languages[0], source.axes)


def replies_of(reply: PairedReply, names: Mapping[str, Any]) -> Iterator[RatedReply]:
    """Yield the texts of a reply, without missing or empty ones."""
    each = [names] if reply.each is None else [{**names, str(reply.alias): one} for one in evaluate(reply.each, names)]
    for seen in each:
        if reply.when is not None and not evaluate(reply.when, seen):
            continue
        text = evaluate(reply.text, seen)
        if text is not None and str(text).strip():
            by = "" if reply.by is None else str(evaluate(reply.by, seen) or "")
            worth = evaluate(reply.worth, seen)
            met = tuple(bool(each) for each in worth) if isinstance(worth, list | tuple) else None
            yield RatedReply(str(text).strip(), float(worth or 0) if met is None else sum(met), by, met)


def pairings_of(plan: Plan) -> list[Pairing]:
    """Return the exports of a plan that form pairs of its data."""
    return [export for export in plan.exports if isinstance(export, Pairing) and export.kind == "paired"]


def named_pairings(plan: Plan, names: Sequence[str]) -> list[Pairing]:
    """Return the exports of these names. Raises `TriposError` S0601 if one is unknown."""
    pairings = {pairing.name: pairing for pairing in pairings_of(plan)}
    for name in names:
        if name not in pairings:
            some = ", ".join(f"`{each}`" for each in pairings) or "none"
            hint = suggest(name, pairings, f"there is {some}")
            raise TriposError("S0601", f"the spec makes no pairs called `{name}`", hint)
    return [pairings[name] for name in names]


def write_pairs(plan: Plan, pairings: Sequence[Pairing], source: CaseSource, path: Path) -> dict[str, Any]:
    """Write the pairs of all `pairings` as JSON Lines and their provenance next to them, which is returned.

    A line has `prompt`, `chosen`, `rejected` and `margin`. The provenance has an entry for every line with the export,
    the item, the grouping values (`groups`), the authors (`by`), the worth of both, and the criteria that they meet, if
    the export lists any. Raises `TriposError` S0821 if there is no pair, and `StoreError` S0604 if a file cannot be
    written.
    """
    found: list[tuple[str, ReplyPair]] = []
    left_out: Counter[str] = Counter()
    for pairing in pairings:
        pairs, fewer = pairs_of(plan, pairing, source)
        found += [(pairing.name, pair) for pair in pairs]
        left_out += fewer
    if not found:
        hint = "give the replies different `worth`, or check `where` and `when`"
        raise TriposError("S0821", f"no two replies of {_names(pairings)} make a pair", hint)
    written = write_lines(path, (_line(pair) for _, pair in found))
    said = {
        "format": FORMAT,
        "file": path.name,
        "sha256": written.sha256,
        "examples": written.rows,
        "kind": "preferences",
        "exports": [each.name for each in pairings],
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "plan_digest": plan.digest,
        "licence": plan.benchmark.license,
        "data": data_files(plan, pairings),
        "left_out": dict(sorted(left_out.items())),
        "lines": [
            {
                "export": name,
                "item": pair.item,
                "groups": list(pair.groups),
                "by": [pair.chosen.by, pair.rejected.by],
                "worth": [pair.chosen.worth, pair.rejected.worth],
                **_criteria(pair),
            }
            for name, pair in found
        ],
    }
    write_lines(provenance_path(path), [json.dumps(said, ensure_ascii=False, indent=1).encode()])
    return said


def data_files(plan: Plan, pairings: Sequence[Pairing]) -> list[dict[str, Any]]:
    """Return the data files of exports for their provenance, with the files that are joined to them."""
    return [
        {"dataset": name, "path": file.path, "sha256": file.sha256, "rows": file.rows}
        for name in dict.fromkeys(pairing.dataset for pairing in pairings)
        for file in plan.dataset(name).every_file
    ]


def _criteria(pair: ReplyPair) -> dict[str, Any]:
    """Return the criteria that both replies meet as 1 and 0, or nothing if the export lists none."""
    both = (pair.chosen.criteria, pair.rejected.criteria)
    return {"criteria": [None if each is None else [int(met) for met in each] for each in both]} if any(both) else {}


def _line(pair: ReplyPair) -> bytes:
    return orjson.dumps(
        {
            "prompt": pair.prompt,
            "chosen": pair.chosen.text,
            "rejected": pair.rejected.text,
            "margin": pair.margin,
        }
    )


def _names(pairings: Sequence[Pairing]) -> str:
    return " and ".join(f"`{pairing.name}`" for pairing in pairings)
