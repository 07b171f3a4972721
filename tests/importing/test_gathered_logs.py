"""Logs as they are gathered: which samples are about one item, which numbers they get, and how much memory they take."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import IO

import pytest

from tripos.importing.logs.log import Log, LoggedFigure, LoggedItem, LoggedSample, LoggedScore, LogHeader, Skipped
from tripos.importing.logs.runs import ItemSums, ItemTable, LogCollector, SampleNumbers, mean_of, standard_error


def log_of(many: int) -> Log:
    def samples(_: Skipped) -> Iterator[LoggedSample]:
        for number in range(many):
            scores = [LoggedScore("right", "x/right", float(number % 2)), LoggedScore("length", "x/length", number / 7)]
            told = {"reply": f"It is {number}.", "messages": []}
            yield LoggedSample("", "sums", "m", LoggedItem(str(number), f"What is {number}?"), 0, told, scores)

    return Log("log", LogHeader("x", "sums", "x:1", {}, (LoggedFigure("sums", "right", "mean", 0.5),)), samples)


def grown(folder: Path, many: int) -> int:
    """Return the most memory that a log of so many samples takes while it is gathered."""
    gathering = LogCollector("sums", folder / str(many))
    tracemalloc.start()
    found = gathering.take(log_of(many), "log")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [each["same"] for each in found.check.differences(found.header.figures)] == [True]
    gathering.close()
    return peak


def test_a_sample_takes_little_memory(tmp_path: Path) -> None:
    grown(tmp_path, 100)  # what is imported when it is first used
    assert (grown(tmp_path, 4000) - grown(tmp_path, 1000)) / 3000 < 400, "bytes of each sample"


def test_sums_of_items_are_those_of_their_scores() -> None:
    draw = random.Random(5)
    pairs = [(draw.randrange(9) * 3, draw.random()) for _ in range(60)]
    sums = ItemSums()
    for item, value in pairs:
        sums.add(item, value)
    plain = [
        (sum(values), len(values))
        for item in sorted({item for item, _ in pairs})
        if (values := [value for at, value in pairs if at == item])
    ]
    assert (len(sums), [count for _, count in sums]) == (len(plain), [count for _, count in plain])
    assert mean_of(sums) == pytest.approx(mean([value for _, value in pairs]))
    assert standard_error(sums) == pytest.approx(standard_error(plain))


def test_numbers_of_samples_are_free_until_they_are_taken() -> None:
    numbers, plain = SampleNumbers(), dict[int, set[int]]()
    draw = random.Random(7)
    for _ in range(2000):
        place, number = draw.randrange(4), draw.randrange(90)
        assert numbers.has(place, number) == (number in plain.setdefault(place, set()))
        assert numbers.free(place) == next(each for each in range(99) if each not in plain[place])
        numbers.add(place, number)
        plain[place].add(number)


def test_a_further_sample_looks_at_few_numbers() -> None:
    class Counted(SampleNumbers):
        looks = 0

        def has(self, place: int, number: int) -> bool:
            self.looks += 1
            return super().has(place, number)

    numbers = Counted()
    for many in range(3000):
        assert numbers.free(0) == many
        numbers.add(0, many)
    assert numbers.looks < 64 * 64 + 3 * 3000


def test_items_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"id":"a","system":"","history":[],"question":"first","target":null}')  # an editor took the end
    before = path.read_bytes()
    table = ItemTable.read(path)
    assert table.place_of(LoggedItem("b", "second")) == 1

    def broken(old: IO[bytes], new: IO[bytes]) -> None:
        new.write(old.read()[:20])
        raise OSError(28, "no space is left")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfileobj", broken)
        with pytest.raises(OSError, match="no space"):
            table.write(tmp_path)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("items.jsonl", before)]
    table.write(tmp_path)
    table.close()
    assert ItemTable.read(path).names == ["a", "b"]


def test_items_pair_by_what_is_asked_and_then_by_id(tmp_path: Path) -> None:
    table = ItemTable(tmp_path / "items.jsonl")
    ask = lambda name, text="same": table.place_of(LoggedItem(name, text))  # noqa: E731
    assert [ask("a"), ask("b"), ask("a"), ask("c", "other"), ask("b")] == [0, 1, 0, 2, 1]
    table.begin_log()
    assert [ask("x"), ask("b"), ask("x"), ask("a")] == [0, 1, 0, 3], "`x` has the place of `a`, and `a` gets another"
    table.begin_log()
    assert [ask("a+"), ask("a"), ask("y"), ask("z")] == [3, 0, 1, 4]
    assert [ask("1", ""), ask("2", ""), ask("1", "")] == [5, 6, 5]
    table.write(tmp_path)
    table.close()
    again = ItemTable.read(tmp_path / "items.jsonl")
    assert again.names == ["a", "b", "c", "a+", "z", "1", "2"]
    assert [again.place_of(LoggedItem(name, "same")) for name in ("z", "b", "a+")] == [4, 1, 3]
