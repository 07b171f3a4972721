"""Dataclasses of the house are those of Python, in all that somebody can see of an object."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import pytest

from tripos_compiler.source.data_classes import dataclass as ours

Decorator = Callable[..., Any]


def family(dataclass: Decorator, home: str) -> dict[str, Any]:
    """Return classes of every kind, made by a decorator; pickles find them in the module `home`."""

    @dataclass(frozen=True)
    class Frozen:
        x: int
        y: tuple[str, ...] = ()
        known: ClassVar[int] = 3
        _made: list[int] = dataclasses.field(default_factory=list, repr=False, compare=False)

        @cached_property
        def double(self) -> int:
            return self.x * 2

    @dataclass(frozen=True)
    class Derived(Frozen):
        z: str = "z"

    @dataclass
    class Changing:
        x: int = 1
        made: dict[str, int] = dataclasses.field(default_factory=dict)
        late: int = dataclasses.field(default=7, init=False)
        later: list[int] = dataclasses.field(default_factory=list, init=False)

        def __post_init__(self) -> None:
            self.x += 1

    @dataclass(eq=False)
    class Itself:
        x: int

    @dataclass(frozen=True)
    class Own:  # noqa: PLW1641 - it has a hash all the same
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True)
    class Hashed:
        x: int

        def __hash__(self) -> int:
            return 5

    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass(frozen=True, slots=True)
    class Slots:
        x: int

    @dataclass(frozen=True, slots=True)
    class LongSlots:
        x: int
        y: tuple[str, ...] = ()
        known: ClassVar[int] = 3
        _made: list[int] = dataclasses.field(default_factory=list, repr=False, compare=False)

    @dataclass(slots=True)
    class ChangingSlots:
        x: int = 1
        made: dict[str, int] = dataclasses.field(default_factory=dict)

    @dataclass(eq=False, slots=True)
    class ItselfSlots:
        x: int

    @dataclass(order=True)
    class Ordered:
        x: int

    @dataclass(frozen=True)
    class Named:
        y: str = dataclasses.field(default="y", kw_only=True)
        x: int
        z: list[int] = dataclasses.field(default_factory=list, kw_only=True)
        must: int = dataclasses.field(default=0, kw_only=True)

    class Plain(Frozen):  # type: ignore[misc]
        """No dataclass itself."""

    made = {name: value for name, value in locals().items() if isinstance(value, type)}
    for name, each in made.items():
        each.__module__, each.__qualname__ = home, name
    return made


PYTHONS, HOUSES = "tests.compiler.pythons", "tests.compiler.houses"


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], dict[str, Any]]:
    families = family(dataclasses.dataclass, PYTHONS), family(ours, HOUSES)
    for home, made in zip((PYTHONS, HOUSES), families, strict=True):
        module = type(sys)(home)
        vars(module).update(made)
        monkeypatch.setitem(sys.modules, home, module)
    return families


def told(act: Callable[[], Any]) -> str:
    """Return what an act gives, or the error that it raises, apart from where its class is."""
    try:
        return repr(act())
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("family.<locals>.", "")


def acts(family: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return everything that somebody can do with the classes."""

    def changed(made: Any, name: str) -> Any:
        setattr(made, name, 9)
        return made

    def left(made: Any, name: str) -> Any:
        delattr(made, name)
        return made

    made: dict[str, Callable[[], Any]] = {}
    for name, cls in family.items():
        for given in ((), (1,), (1, ("a",)), (1, ("a",), [1]), (1, 2, 3, 4, 5)):
            label = f"{name}{given}"

            def new(cls: Any = cls, given: tuple[Any, ...] = given) -> Any:
                return cls(*given)

            def named(cls: Any = cls) -> Any:
                return cls(x=3)

            made |= {
                label: new,
                f"{label} named": named,
                f"{label} unknown": lambda cls=cls: cls(nobody=1),
                f"{label} fields": lambda new=new: [(each.name, each.init) for each in dataclasses.fields(new())],
                f"{label} values": lambda new=new: sorted(vars(new()).items()),
                f"{label} replaced": lambda new=new: dataclasses.replace(new(), x=8),
                f"{label} equal": lambda new=new: (new() == new(), new() != new(), new() == 1),
                f"{label} differs": lambda new=new, named=named: new() == named(),
                f"{label} hash": lambda new=new: hash(new()),
                f"{label} set": lambda new=new: len({new(), new()}),
                f"{label} pickled": lambda new=new: pickle.loads(pickle.dumps(new())),
                f"{label} copied": lambda new=new: (copy.copy(new()), copy.deepcopy(new())),
                f"{label} as a dict": lambda new=new: dataclasses.asdict(new()),
                f"{label} assigned": lambda new=new: changed(new(), "x"),
                f"{label} assigned other": lambda new=new: changed(new(), "other"),
                f"{label} deleted": lambda new=new: left(new(), "x"),
                f"{label} deleted other": lambda new=new: left(new(), "other"),
                f"{label} cached": lambda new=new: [(one.double, one.double) for one in [new()]],
                f"{label} less": lambda new=new: new() < new(),
                f"{label} places": lambda new=new: type(new()).__match_args__,
            }
    return made


def test_they_do_what_pythons_do(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    pythons, houses = map(acts, both)
    differ = {
        name: (wanted, found)
        for name, act in pythons.items()
        if (wanted := told(act).replace(PYTHONS, HOUSES)) != (found := told(houses[name]))
    }
    # The hash of an object that is only equal to itself is another one each time.
    differ = {name: each for name, each in differ.items() if not (name.startswith("Itself") and name.endswith("hash"))}
    # Of slots nobody may assign what is no field either, which Python's tell as a mistake of their own.
    mistaken = {name for name, (wanted, _) in differ.items() if "super(type, obj): obj must be" in wanted}
    assert all(differ.pop(name)[1].startswith("FrozenInstanceError: cannot ") for name in mistaken)
    assert differ == {}
    assert len(pythons) > 1200


def test_an_object_that_was_unpickled_first_is_whole(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Nothing called `__init__` before, as in a process that was handed its work."""
    frozen = both[1]["Frozen"]
    made = frozen.__new__(frozen)
    made.__dict__.update(x=1, y=(), _made=[])
    assert made == frozen(1) and hash(made) == hash(frozen(1)) and repr(made) == "Frozen(x=1, y=())"


def test_methods_that_are_not_called_are_not_compiled(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    changing = both[1]["Changing"]
    before = changing.__init__
    changing()
    after = changing.__init__
    assert before is not after
    changing()
    assert changing.__init__ is after


@pytest.mark.parametrize("base", [ours, dataclasses.dataclass])
@pytest.mark.parametrize("derived", [ours, dataclasses.dataclass])
def test_a_class_derives_from_one_of_the_other_decorator(base: Decorator, derived: Decorator) -> None:
    @base(frozen=True)
    class Base:
        x: int

    @derived(frozen=True)
    class Derived(Base):
        y: int = 2

    made = Derived(1)
    assert (made, hash(made), repr(made)[-13:]) == (Derived(1, 2), hash((1, 2)), "Derived(x=1, y=2)"[-13:])
    for name in ("x", "y", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, name, 3)
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):

        @derived
        class Changing(Base):
            z: int = 3
