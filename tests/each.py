"""One test that goes through many cases."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Cases = Iterable[Any] | Callable[[], Iterable[Any]]


def each(names: str, cases: Cases) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for every case, as `parametrize` does, but as one test, whose failure lists every case that fails.

    For cases that take less time than a test costs by itself (2 ms). They share their fixtures. A function that makes
    the cases is called when the test runs, and not when tests are collected.
    """
    fields = [name.strip() for name in names.split(",")]

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def whole(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            every = list(cases() if callable(cases) else cases)
            for case in every:
                values = case if len(fields) > 1 else (case,)
                try:
                    test(**fixtures, **dict(zip(fields, values, strict=True)))
                except (Exception, pytest.fail.Exception) as problem:
                    problem.add_note(f"with {', '.join(fields)} = {', '.join(map(repr, values))}"[:500])
                    failed.append(problem)
            assert every, "there are no cases"
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(every)} cases fail", failed)

        shared = inspect.signature(test)
        kept = [each for each in shared.parameters.values() if each.name not in fields]
        whole.__signature__ = shared.replace(parameters=kept)  # type: ignore[attr-defined]
        return whole

    return decorated
