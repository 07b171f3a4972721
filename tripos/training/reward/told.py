"""What a person is told of a reward model that was trained: the figure, and what it has to be held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tripos.training.report import NAME
from tripos_warehouse.text_table import Column, grid

WIDTH = 80


def told(report: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """The outcome of a training in lines for a terminal."""
    audit, tested = report["audit"], report["data"]["tested"]
    yield f"trained in {report['seconds']['training']:,.0f} s, audited in {report['seconds']['audit']:,.0f} s"
    yield f"tested on {_some(tested['pairs'], 'pair')} of {_some(tested['topics'], 'topic')} that were not learned"
    left = tested["left_out"]
    if left["pairs"]:
        some = f"{_some(left['pairs'], 'pair')} of {_some(left['topics'], 'topic')}"
        yield f"not tested, for their topics were learned: {some}"
    yield ""
    rows = [_variant(each) for each in audit["variants"]]
    rows += [(name, "", f"{value:.3f}", "", "", "") for name, value in audit["rules"].items()]
    null = audit["shuffled_labels"]
    if null["values"]:
        spread = "" if null["deviation"] is None else f"sd {null['deviation']:.3f}"
        rows.append((f"shuffled labels, {len(null['values'])} times", "", f"{null['mean']:.3f}", spread, "", ""))
    heads = ("learned", "pairs", "right", "95 %", "bag of words", "criteria")
    cells = list(zip(*rows, strict=True))
    shown = [place for place in range(len(heads)) if place < 5 or any(cells[place])]
    columns = [Column(heads[place], cells[place], right=place > 0) for place in shown]
    yield from grid(columns, WIDTH)
    yield ""
    if null["p"] is not None:
        yield f"p = {null['p']:.3f}: so often shuffled labels reach as much"
    seeds = len(audit["variants"][0]["model"]["values"])
    if seeds > 1:
        yield f"the intervals come of {seeds} seeds, each of which holds out other topics"
    yield f"the better reply is ahead by {report['average_margin']:.2f} on average"
    if report["by_criterion"] is not None:
        alone = " ".join(f"{value:.2f}" for value in report["by_criterion"])
        yield f"right by each criterion alone: {alone}"
    error = audit["standard_error_of_topics"]
    if error is not None:
        yield f"which topics are tested moves the figure by {error:.3f} (standard error)"
    yield f"written to {folder}, named {report['model_sha256'][:12]}"
    yield f"all figures: {folder / NAME}"
    yield f"a scorer's role takes it: --role ROLE=reward/{folder}"


def _some(count: int, noun: str) -> str:
    """So many of something, in words.

    >>> _some(1, "topic"), _some(1200, "pair")
    ('1 topic', '1,200 pairs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _variant(each: Mapping[str, Any]) -> tuple[str, str, str, str, str, str]:
    model = each["model"]
    source = each["source"]
    name = "all" if source is None else f"without {source}" if each["learned"] == "without" else f"{source} alone"
    interval = "" if model["interval"] is None else f"{model['interval'][0]:.3f} to {model['interval'][1]:.3f}"
    criteria = "" if each["criteria"] is None else f"{each['criteria']['mean']:.3f}"
    words = f"{each['bag_of_words']['mean']:.3f}"
    return name, f"{each['pairs']:,}", f"{model['mean']:.3f}", interval, words, criteria
