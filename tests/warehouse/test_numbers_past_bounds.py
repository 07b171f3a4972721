"""Scores of any size that a double can have: every figure is a number within bounds or says why it is none, in every
form; a figure that is a number is the one that exact fractions give."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.lengths import sized
from tripos.cli.main import run_command
from tripos_compiler.library.signature import LARGEST, OUT_OF_BOUNDS

SIZES = (0.0, 1.0, -1.0, 3.5, 1e18, 1e35, 1e60, 9e69, LARGEST, 1.1e70, 1e150, 1e154, 1e200, 1.7e308, 5e-324, 1e-160)
MODELS = ("ma", "mb", "mc")
SPEC = """
benchmark sizes "{version}" {{ languages en }}
role candidate compared
dataset item from "items.jsonl" {{ name text, kind choice(a, b), weight number, other number secret }}
scenario s {{
  over item
  ask reply by candidate {{ prompt "{{{{ item.name }}}}, {version}", returns {{ x number }}, samples 2 }}
  score x = reply.x
{measures}
}}
expect s.m_mean >= 1
"""
Values = Sequence[tuple[Fraction, Fraction]]
"""The value of each reply that has one, and the weight of its item."""


def _mean(values: Values) -> Fraction | None:
    return sum((value for value, _ in values), Fraction()) / len(values) if values else None


def _weighted(values: Values) -> Fraction | None:
    weight = sum((weight for _, weight in values), Fraction())
    return sum((value * weight for value, weight in values), Fraction()) / weight if weight else None


def _stdev(values: Values) -> Fraction | None:
    mean = _mean(values)
    if mean is None or len(values) < 2:
        return None
    variance = sum(((value - mean) ** 2 for value, _ in values), Fraction()) / (len(values) - 1)
    return Fraction(math.isqrt(int(variance * 10**60))) / 10**30


def _of_power(values: Values, of: Callable[[Fraction], Fraction | None]) -> Fraction | None:
    """Return what is made of the fifth power of the mean; nothing where that is no double."""
    mean = _mean(values)
    return None if mean is None or abs(mean) ** 5 > Fraction(sys.float_info.max) else of(mean**5)


POWER = " * ".join(["m_mean"] * 5)
EXACT: Mapping[str, tuple[str, Callable[[Values], Fraction | None]]] = {
    "m_mean": ("mean(x)", _mean),
    "m_sum": ("sum(x)", lambda values: sum((value for value, _ in values), Fraction())),
    "m_least": ("min(x)", lambda values: min((value for value, _ in values), default=None)),
    "m_most": ("max(x)", lambda values: max((value for value, _ in values), default=None)),
    "m_stdev": ("stdev(x)", _stdev),
    "m_weighted": ("weighted_mean(x, item.weight)", _weighted),
    "m_sunk": (f"1 / ({POWER})", lambda values: _of_power(values, lambda power: 1 / power if power else None)),
    "m_cut": (
        f"max(0, min(1, {POWER}))",
        lambda values: _of_power(values, lambda power: max(Fraction(), min(Fraction(1), power))),
    ),
}
"""Measures, and what they come to as fractions."""
OF_POWERS = ("m_sunk", "m_cut")
BY_ZERO = (OUT_OF_BOUNDS, "it divides by zero")
"""Why a figure past all bounds has no value, by whether a power of what is near 0 may be 0 among doubles."""
FURTHER = (
    *("mean(x) by item.kind", "median(x)", "mean(mean(x) by item.kind)", "stdev(mean(x) by item.kind)"),
    *("max(mean(x) by item.kind)", "median(x) - mean(x)", "mean(x) / stdev(x)", "exp(-m_mean)", "sqrt(abs(m_mean))"),
    *("log(abs(m_mean))", "1e69 * m_mean", "mean(reply.x * reply.x)", "mean(reply.x / item.other)", "mean(x, missing: zero)"),
    *("spearman(reply.x, item.other)", "quadratic_kappa(reply.x, item.other)", "gwet_ac2(reply.x, item.other)"),
)  # fmt: skip


class Drawn:
    """A folder with a benchmark and two runs of it in its store, whose replies say numbers drawn with a seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.dice = Random(seed)
        self.sizes = self.dice.choice((SIZES, SIZES[4:9], SIZES[:9], SIZES[12:]))
        self.rare = self.dice.choice((1.0, 0.2))
        self.weights = {f"i{number}": min(abs(self._number()), LARGEST) for number in range(8)}
        further = self.dice.sample(FURTHER, 7)
        lines = [f"  measure {name} = {of}" for name, (of, _) in EXACT.items()]
        lines += [f"  measure n_{place} = {of}" for place, of in enumerate(further)]
        self.said: list[dict[str, Any]] = []
        for version in ("1.0.0", "1.0.1"):
            self._import(SPEC.format(version=version, measures="\n".join(lines)))

    def _number(self) -> float:
        size = self.dice.choice(self.sizes) if self.dice.random() < self.rare else round(self.dice.random(), 2)
        return size * self.dice.choice((1, 1, -1))

    def _import(self, spec: str) -> None:
        (self.folder / "sizes.tripos").write_text(spec, "utf-8")
        inside = [
            {"name": name, "kind": (name[1] in "0246" and "a") or "b", "weight": weight, "other": weight / 2}
            for name, weight in self.weights.items()
        ]
        _write(self.folder / "items.jsonl", inside)
        self.said = [
            {"name": name, "model": model, "sample_number": number, "reply": {"x": self._number()}}
            for model in MODELS
            for name in self.weights
            for number in range(2)
        ]
        _write(self.folder / "replies.jsonl", self.said)
        code, out, err = self.run("import", "samples", "replies.jsonl", "--spec", "sizes.tripos")
        assert code == 0, out + err

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Return the exit code of a command in the folder, and what it prints. No output is a trace or tells of a
        number that is none."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command(list(arguments))
        told = out.getvalue() + err.getvalue()
        wrong = (
            "traceback|internal error|warning:" if "--json" in arguments else WRONG
        )  # JSON has the SQL of figures too
        assert (match := re.search(wrong, told, re.I)) is None, (arguments, told[match.start() - 300 :][:900])
        return code, out.getvalue(), err.getvalue()

    def values(self, model: str) -> Values:
        """Return what counts of the replies of a model in the last run."""
        said = ((each["reply"]["x"], self.weights[each["name"]]) for each in self.said if each["model"] == model)
        return [(Fraction(value), Fraction(weight)) for value, weight in said if abs(value) <= LARGEST]


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _read(text: str) -> Any:
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


def _numbers(value: Any) -> Iterator[float]:
    match value:
        case dict():
            for each in value.values():
                yield from _numbers(each)
        case list():
            for each in value:
                yield from _numbers(each)
        case float():
            yield value


WRONG = r"traceback|internal error|warning:|\b(inf|nan|infinity)\b"
VERBS = (
    *(("report",), ("report", "--items"), ("report", "--format", "latex"), ("report", "--format", "html")),
    *(("compare", "--models", "ma,mb"), ("leaderboard",), ("leaderboard", "--measure", "sizes=s.m_sum")),
    *(
        ("judges", "--json"),
        ("history", "s.m_mean"),
        ("history", "s.m_stdev"),
        ("sql", "from sizes.means()"),
        ("sql", "from measures"),
    ),
    *(("export", "inspect", "-o", "inspect"), ("export", "lm-eval", "-o", "lm_eval"), ("export", "eee", "-o", "eee")),
    *(("export", "csv", "-o", "csv"), ("export", "xlsx", "-o", "x.xlsx"), ("view", "--to", "page")),
)


@pytest.mark.parametrize("seed", range(sized(2, 60)))
def test_a_figure_is_a_number_within_bounds_or_says_why_it_is_none(tmp_path: Path, seed: int) -> None:
    drawn = Drawn(tmp_path, seed)
    report = _printed(drawn, "report")
    _check_report(drawn, report)
    held = all(each["held"] for each in report["expectations"])
    assert drawn.run("report")[0] == (0 if held else 100)
    for verb in (("compare", "--models", "ma,mb"), ("leaderboard",), ("history", "s.m_mean")):
        _printed(drawn, *verb)


def _printed(drawn: Drawn, *verb: str) -> Any:
    """Return what a verb prints as JSON, all of whose numbers are numbers."""
    code, out, err = drawn.run(*verb, "--json")
    assert code in ((0, 100) if verb[0] == "report" else (0,)), (verb, code, out + err)
    found = _read(out)
    assert all(map(math.isfinite, _numbers(found)))
    return found


@pytest.mark.long
@pytest.mark.parametrize("seed", range(sized(1, 20)))
def test_every_form_of_results_has_numbers_of_any_size(tmp_path: Path, seed: int) -> None:
    drawn = Drawn(tmp_path, 1000 + seed)
    for verb in VERBS:
        code, out, err = drawn.run(*verb)
        assert code in ((0, 100) if verb[0] == "report" else (0,)), (verb, code, out + err)
    for folder in ("inspect", "lm_eval", "eee"):
        for path in tmp_path.glob(f"{folder}/**/*.json*"):
            text = path.read_text("utf-8")
            for written in text.splitlines() if path.suffix == ".jsonl" else [text]:
                _read(written)


def _check_report(drawn: Drawn, report: Mapping[str, Any]) -> None:
    """Check the bounds and reasons of every figure, and the values of those that have exact ones."""
    tables = {each["name"]: each["rows"] for each in report["measures"]}
    assert len(tables) == len(EXACT) + 7
    for name, rows in tables.items():
        for row in rows:
            ends = [row[key] for key in ("value", "standard_error", "low", "high") if row[key] is not None]
            assert all(abs(end) <= LARGEST for end in ends), (name, row)
            assert (row["low"] is None) == (row["high"] is None)
            assert row["low"] is not None or row["reason"], (name, row)
    for name, (_, exact) in EXACT.items():
        for row in tables[f"s.{name}"]:
            values = drawn.values(row["model"])
            size = max((abs(value) for value, _ in values), default=Fraction())
            mean = _mean(values)
            if name in OF_POWERS and mean is not None and abs(mean) < size / 10**9:
                continue  # most of the values cancel out: a sum of doubles does not have what is left
            expected = exact(values)
            if expected is not None and abs(abs(expected) / Fraction(LARGEST) - 1) < Fraction(1, 10**9):
                continue  # on which side of the bound it lies, rounding decides
            if expected is None or abs(expected) > LARGEST:
                assert row["value"] is None, (name, row, expected)
                assert not values or expected is None or row["reason"] in (OUT_OF_BOUNDS, BY_ZERO[name in OF_POWERS]), (
                    name,
                    row,
                )
            else:
                assert row["value"] is not None, (name, row, float(expected))
                near = max(abs(expected), 1 if name in OF_POWERS else max(size, 1))
                assert abs(Fraction(row["value"]) - expected) <= near * Fraction(1, 10**9), (name, row)
