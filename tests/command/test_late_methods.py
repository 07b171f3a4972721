"""Methods of dataclasses that are compiled when they are first called do what those of Python do."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tripos.late_methods import LATE, compile_methods_late

OLD = pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python 3.13 compiles the methods of a class in one go")


def classes() -> tuple[type[Any], type[Any], type[Any]]:
    """Three classes: frozen, one that inherits from it, and one with slots and an order."""

    @dataclasses.dataclass(frozen=True)
    class One:
        x: int
        y: list[int] = dataclasses.field(default_factory=list, compare=False)

    @dataclasses.dataclass(frozen=True)
    class Two(One):
        z: str = "z"

    @dataclasses.dataclass(slots=True, order=True)
    class Three:
        x: int
        of: Any = None
        twice: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            self.twice = 2 * self.x

    return One, Two, Three


@pytest.fixture(params=[False, True], ids=["as Python makes them", "late"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[type[Any], type[Any], type[Any]]:
    if request.param:
        monkeypatch.setattr(dataclasses, "_create_fn", getattr(dataclasses, "_create_fn", None), raising=False)
        compile_methods_late()
    return classes()


def test_they_compare_hash_show_and_refuse_as_those_of_python(made: tuple[type[Any], type[Any], type[Any]]) -> None:
    one, two, three = made
    for _ in range(2):  # the second time they are compiled
        assert one(1) == one(1, [2]) != one(2) and one(1) != two(1) and two(1) == two(1) != two(1, z="a")
        assert hash(one(1)) == hash(one(1, [2])) and len({two(1), two(1), two(2)}) == 2
        assert repr(two(1)).endswith(".Two(x=1, y=[], z='z')")
        assert three(1) < three(2) and three(1) == three(1) and three(1) != 1
        for each in (one(1), two(1)):
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
                each.x = 2
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
                del each.x
        with pytest.raises(TypeError):
            hash(three(1))
    itself = three(1)
    itself.of = itself
    assert repr(itself).endswith(".Three(x=1, of=..., twice=2)")
    assert dataclasses.replace(two(1), x=5) == two(5) and dataclasses.asdict(one(1)) == {"x": 1, "y": []}


@OLD
def test_nothing_is_compiled_before_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    make: Callable[..., Any] = dataclasses._create_fn  # type: ignore[attr-defined]

    def counted(name: str, *given: Any, **named: Any) -> Any:
        compiled.append(name)
        return make(name, *given, **named)

    monkeypatch.setattr(dataclasses, "_create_fn", counted)
    compile_methods_late()
    one, two, _ = classes()
    assert not LATE & set(compiled)
    assert one(1) == one(1) and one(2) == one(2) and two(1) != one(1)
    assert [name for name in compiled if name in LATE] == ["__init__", "__eq__", "__init__", "__eq__"]
