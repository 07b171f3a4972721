"""The page writes shares, money and figures as the terminal does. Without the packages of the page, this is left out."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.lengths import sized
from tripos_compiler.diagnostics.text_format import percent, usd

SITE = Path(__file__).parents[2] / "tripos/view/site"
READ = """
const { readFileSync } = require("fs");
const { transpileModule, ModuleKind } = require("typescript");
const { outputText } = transpileModule(readFileSync("src/quantities.ts", "utf8"),
  { compilerOptions: { module: ModuleKind.CommonJS, target: "ES2022" } });
const made = { exports: {} };
new Function("exports", outputText)(made.exports);
const asked = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.map(([name, ...values]) => made.exports[name](...values))));
"""
SHARES = (
    *((0.9996, "99.9%"), (0.9999999, "99.9%"), (0.0004, "0.1%"), (1e-9, "0.1%"), (0, "0%"), (1, "100%")),
    *((0.0625, "6.2%"), (0.1875, "18.8%"), (0.0025, "0.3%"), (0.5, "50%"), (1 / 6, "16.7%"), (0.9995, "99.9%")),
    *((0.29, "29%"), (0.999, "99.9%"), (0.001, "0.1%"), (0.0015, "0.2%"), (0.285, "28.5%")),
)
AMOUNTS = (
    *((0.0000312, "0.000031"), (0.00123, "0.0012"), (0.25, "0.25"), (1234.5, "1,234.50"), (0.03125, "0.0312")),
    *((0.125, "0.12"), (1234567.891, "1,234,567.89"), (0.09999, "0.1000"), (0.005, "0.0050")),
)


@cache
def random_shares() -> tuple[float, ...]:
    dice = random.Random(7)
    fractions = [part / whole for whole in range(1, sized(80, 400)) for part in range(whole + 1)]
    return *fractions, *(dice.random() ** dice.choice((1, 9)) for _ in range(1000)), *(k / 2000 for k in range(2001))


def by_page(*asked: tuple[object, ...]) -> list[Any]:
    if not (SITE / "node_modules").is_dir() or not shutil.which("node"):
        pytest.skip("no packages of the page")
    done = subprocess.run(
        ["node", "-e", READ], cwd=SITE, input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("write", "cases"), [(percent, SHARES), (usd, AMOUNTS)])
def test_the_terminal_writes_it_so(write: Callable[[float], str], cases: tuple[tuple[float, str], ...]) -> None:
    assert [write(value) for value, _ in cases] == [text for _, text in cases]


@pytest.mark.parametrize(("write", "cases"), [(percent, SHARES), (usd, AMOUNTS)])
def test_the_page_writes_it_as_the_terminal_does(
    write: Callable[[float], str], cases: tuple[tuple[float, str], ...]
) -> None:
    values = [*(value for value, _ in cases), *random_shares()]
    assert by_page(*((write.__name__, value) for value in values)) == [write(value) for value in values]


def test_the_page_rounds_figures_as_python_does() -> None:
    values = [sign * value * size for value in random_shares() if value for size in (1, 10) for sign in (1, -1)]
    asked = [("fixed", value, digits) for value in values for digits in (0, 2, 3)]
    assert by_page(*asked) == [f"{value:.{digits}f}" for _, value, digits in asked]


def test_the_axis_of_a_card_has_round_ends_around_all_values() -> None:
    dice = random.Random(11)
    asked = [
        [round(dice.uniform(-1, 1) ** 3 * size, 4) + shift for _ in range(dice.randint(0, 6))]
        for size in (0.01, 0.3, 1, 7, 250, 40_000)
        for shift in (0, 3, -2, 100)
        for _ in range(sized(20, 200))
    ]
    for values, scale in zip(asked, by_page(*(("scaleOf", each) for each in asked)), strict=True):
        low, high, step = scale["from"], scale["to"], scale["step"]
        assert low < high and all(low - step * 1e-6 <= value <= high + step * 1e-6 for value in values), (values, scale)
        assert round((high - low) / step) <= 8, (values, scale)
        assert all(0 <= value <= 1 for value in values) or 1 <= round(step / 10 ** math.floor(math.log10(step)), 6) <= 5
