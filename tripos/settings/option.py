"""What an option is: its name, its kind of value, and where else the same value may be written.

An option is declared once, in `tripos.settings.options`. From the declaration come the command line with its help and
completions, the setting in `tripos.toml`, the environment variable, the keyword of the Python API, and the name that a
message uses: `f"{LIMIT}"` is `--limit`.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, overload

from tripos_compiler.errors import TriposError

T = TypeVar("T")


class Refusal(ValueError):
    """A value that is refused for the reason in the text."""


class Kind(Generic[T]):
    """A kind of value: how it is read from text, what is refused, how it is named in help, and what completes it.

    `read` takes the text of the command line and raises `ValueError` for other notations; `noun` names the notation.
    `least` and `most` are the bounds of a number, which may not be `least` itself with `above`. `completes` is what a
    shell suggests: `spec`, `folder`, `file`, `model`, `run`, `scenario` or `word`. `place` is `local` for a folder or
    file of this machine, and `store` for one that may also be on a bucket. `choices` are the only values, or the
    dictionary that has them as keys, as `module:NAME`, which is imported when it is needed.
    """

    def __init__(
        self,
        read: Callable[[str], T],
        metavar: str | None,
        *,
        noun: str = "",
        least: float | None = None,
        most: float | None = None,
        above: bool = False,
        pattern: str = "",
        choices: Collection[str] = (),
        completes: str = "",
        place: str = "",
        python: Any = str,
        unit: str = "",
    ) -> None:
        self.read = read
        self.metavar = metavar
        self.noun = noun
        self.least = least
        self.most = most
        self.above = above
        self.pattern = pattern
        self._choices = choices
        self.completes = completes
        self.place = place
        self.python = python
        """The type of a value: `int`, `float`, `str`, or another for values that are no settings."""
        self.unit = unit

    @property
    def choices(self) -> tuple[str, ...]:
        """The only values, or none if others are possible too."""
        return tuple(self._table)

    @property
    def _table(self) -> Collection[str]:
        if isinstance(self._choices, str):
            module, _, name = self._choices.partition(":")
            self._choices = getattr(importlib.import_module(module), name)
        return self._choices

    def allows(self, value: Any) -> bool:
        """Return true if a value is one of the choices, or of the plug-ins beside them, or if there are none."""
        return not self.choices or value in self._table

    def fault(self, value: Any, name: str) -> str:
        """Return a message on what is wrong with a value of the option or setting `name`, or an empty text.

        >>> whole(1, 4096).fault(5000, "--shards"), number(0, above=True).fault(0, "margin"), whole(1).fault(3, "limit")
        ('`--shards` must be at most 4096', '`margin` must be more than 0', '')
        """
        if self.python is int and (isinstance(value, bool) or not hasattr(value, "__index__")):
            return f"`{name}` must be a whole number"
        if self.python is float and (not hasattr(value, "__float__") or not math.isfinite(value)):
            return f"`{name}` must be a number"
        if not self.allows(value):
            return f"`{name}` cannot be `{value}`"
        if self.least is not None and value <= self.least and (self.above or value < self.least):
            return f"`{name}` must be {'more than' if self.above else 'at least'} {self.least:g}{self.unit}"
        if self.most is not None and value > self.most:
            return f"`{name}` must be at most {self.most:.16g}{self.unit}"
        if self.pattern and re.fullmatch(self.pattern, value) is None:
            return f"`{name}` must match `{self.pattern}`"
        return ""


def text(metavar: str, *, completes: str = "", place: str = "", pattern: str = "") -> Kind[str]:
    """Return a kind of text."""
    return Kind(str, metavar, completes=completes, place=place, pattern=pattern)


def whole(least: float | None = None, most: float | None = None, metavar: str | None = "N") -> Kind[int]:
    """Return a kind of whole number with bounds, both included."""
    return Kind(int, metavar, noun="whole number", least=least, most=most, python=int)


def number(
    least: float | None = None,
    most: float | None = None,
    metavar: str = "N",
    *,
    above: bool = False,
    noun: str = "number",
) -> Kind[float]:
    """Return a kind of number with bounds, both included, or with `above` the first excluded."""
    return Kind(float, metavar, noun=noun, least=least, most=most, above=above, python=float)


def duration(least: float = 0, most: float | None = None) -> Kind[float]:
    """Return a kind of time that is written as `4h` and read as seconds.

    >>> duration().read("30m"), duration(60).fault(3, "--time-limit")
    (1800.0, '`--time-limit` must be at least 60 s')
    """
    return Kind(_seconds, "TIME", noun="time", least=least, most=most, python=float, unit=" s")


def choice(*words: str, metavar: str | None = None, of: str = "", short: Mapping[str, str] = {}) -> Kind[Any]:
    """Return a kind with these words only, or those in a dictionary `of` a module. `short` maps other spellings."""
    return Kind(lambda given: short.get(given, given), metavar, choices=of or words)


POINTS = {"pt": 1.0, "in": 72.0, "cm": 72 / 2.54, "mm": 72 / 25.4}
"""The points of each unit of length."""


def length_pt(given: str) -> float:
    """Return a length in points. Raises `ValueError` for an invalid length.

    >>> round(length_pt("8.4cm"), 1), length_pt("3 in")
    (238.1, 216.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+) ?(pt|in|cm|mm)", given.strip())
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"{given} is no length such as 8.4cm")
    return float(match[1]) * POINTS[match[2]]


def _seconds(given: str) -> float:
    digits, unit = (given[:-1], given[-1]) if given[-1:] in "smhd" else (given, "s")
    return float(digits) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit]


YES = Kind[bool](bool, None, python=bool)
"""The kind of an option without a value."""


class Option(Generic[T]):
    """An option or argument of commands, a setting, or both.

    Its name is that of the attribute that it is assigned to in a class of `Parameters`, or the last part of its
    setting. In a text it is its flag, so that messages can name it.
    """

    def __init__(
        self,
        kind: Kind[Any],
        help: str,
        *,
        default: Any = None,
        written: str = "",
        short: str = "",
        metavar: str | None = None,
        positional: bool = False,
        repeated: bool = False,
        required: bool = False,
        nargs: str | None = None,
        const: Any = None,
        setting: str = "",
        variable: str = "",
        separator: str = ",",
        keyword: str = "",
        needs: tuple[str, ...] = (),
        only_for: tuple[str, ...] = (),
        combined: bool = False,
        file_only: bool = False,
        forwarded: bool = True,
    ) -> None:
        self.kind = kind
        self.help = help
        """One sentence, which is also the key of its translation."""
        self.default = default
        """The value if neither the command line, the environment nor the file gives one."""
        self.written = written
        """The flag without dashes, if it is not the name."""
        self.short = short
        """The letter of its short form."""
        self.metavar = kind.metavar if metavar is None else metavar
        self.positional = positional
        self.repeated = repeated
        self.required = required
        self.nargs = nargs
        self.const = const
        """The value of the option if it is given without one."""
        self.setting = setting
        """The path of the same value in `tripos.toml`, such as `limits.max_connections`."""
        self.variable = variable
        """The environment variable with the same value, such as `TRIPOS_MAX_CONNECTIONS`."""
        self.separator = separator
        """What separates the values of a repeated option in its variable."""
        self.keyword = keyword
        """The keyword of the Python API with the same value."""
        self.needs = needs
        """Names of options, of which one must be given too."""
        self.only_for = only_for
        """Values of the first argument, such as kinds of an export, that the option is for. Empty: all of them."""
        self.combined = combined
        """True if the command combines the option with the setting. Otherwise the option replaces it."""
        self.file_only = file_only
        """True for a setting that no command has as an option."""
        self.forwarded = forwarded
        """False if the option is not part of the command of a shard."""
        self.name = self.key

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @property
    def initial(self) -> T:
        """The value on the command line if it is not given. A setting has none then, since a file may set it."""
        if self.repeated or self.nargs in ("*", "+"):
            return []  # type: ignore[return-value]
        return None if self.setting or self.positional else self.default  # type: ignore[return-value]

    @property
    def key(self) -> str:
        """The name of the setting in its table."""
        return self.setting.rpartition(".")[2]

    def setting_in(self, config: object) -> T:
        """Return the value in the effective settings."""
        for part in self.setting.split("."):
            config = getattr(config, part)
        return config  # type: ignore[return-value]

    def of(self, options: object) -> T:
        """Return the value in the options of a command. If the command lacks this option, return the initial value."""
        found: T = getattr(options, self.name, self.initial)
        return found

    def is_in(self, options: object) -> bool:
        """Return true if the option is given in the options of a command."""
        return self.of(options) != self.initial

    @property
    def flag(self) -> str:
        """The name on the command line: `--limit`, or `FILE` of an argument. A setting without one has its path."""
        if self.file_only:
            return self.setting
        if self.positional:
            return self.metavar or self.name
        return f"--{self.written or self.name.replace('_', '-')}"

    @property
    def usage(self) -> str:
        """The flag with its value, such as `--limit N`."""
        if self.positional or self.is_flag:
            return self.flag
        return f"{self.flag} {self.metavar or '|'.join(self.kind.choices)}"

    @property
    def flags(self) -> tuple[str, ...]:
        """The names on the command line: the short form, if there is one, and the flag. None of an argument."""
        if self.positional or self.file_only:
            return ()
        return (f"-{self.short}", self.flag) if self.short else (self.flag,)

    @property
    def is_flag(self) -> bool:
        """True for an option without a value."""
        return self.kind is YES

    def __str__(self) -> str:
        return self.flag

    def __repr__(self) -> str:
        return f"<option {self.flag}>"

    def but(self, help: str = "", **changes: Any) -> Self:
        """Return the same option with another help or other properties, for another command."""
        other = object.__new__(type(self))
        other.__dict__ = {**self.__dict__, **changes}
        if help:
            other.help = help
        return other


def listed_names(given: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names in texts of names with commas between them.

    >>> listed_names(["a,b", "b, c"])
    ('a', 'b', 'c')
    """
    return tuple(dict.fromkeys(name.strip() for each in given for name in each.split(",") if name.strip()))


# Forms of options
def flag(help: str, **more: Any) -> Option[bool]:
    """Return an option without a value."""
    return Option(YES, help, default=False, **more)


@overload
def option(kind: Kind[T], help: str, *, default: T, **more: Any) -> Option[T]: ...
@overload
def option(kind: Kind[T], help: str, **more: Any) -> Option[T | None]: ...
def option(kind: Kind[Any], help: str, **more: Any) -> Option[Any]:
    """Return an option with a value, or with None if it is not given."""
    return Option(kind, help, **more)


def repeated(kind: Kind[T], help: str, **more: Any) -> Option[list[T]]:
    """Return an option that may be repeated."""
    return Option(kind, help, repeated=True, **more)


def argument(kind: Kind[T], help: str, **more: Any) -> Option[T]:
    """Return a positional argument."""
    return Option(kind, help, positional=True, **more)


def possible(kind: Kind[T], help: str, **more: Any) -> Option[T | None]:
    """Return a positional argument that may be left out."""
    return Option(kind, help, positional=True, nargs="?", **more)


def several(kind: Kind[T], help: str, *, least: int = 0, **more: Any) -> Option[list[T]]:
    """Return a positional argument with any number of values, or at least one."""
    return Option(kind, help, positional=True, nargs="+" if least else "*", **more)


@overload
def setting(path: str, kind: Kind[T], help: str, *, default: T, **more: Any) -> Option[T]: ...
@overload
def setting(path: str, kind: Kind[T], help: str, **more: Any) -> Option[T | None]: ...
def setting(path: str, kind: Kind[Any], help: str, **more: Any) -> Option[Any]:
    """Return a setting of `tripos.toml` that no command has as an option."""
    return Option(kind, help, setting=path, file_only=True, **more)


class Alternatives(NamedTuple):
    """Options of which only one may be given, or must be given if they are `required`."""

    options: tuple[Option[Any], ...]
    required: bool = False


class Parameters:
    """The options of a command, in the order of its help. A subclass has those of its bases first."""

    options: ClassVar[tuple[Option[Any], ...]] = ()
    alternatives: ClassVar[tuple[Alternatives, ...]] = ()

    def __init_subclass__(cls) -> None:
        declared: dict[str, Option[Any]] = {}
        for base in (*cls.__bases__, cls):
            own = vars(base).values() if base is cls else getattr(base, "options", ())
            declared |= {each.name: each for each in own if isinstance(each, Option)}
        cls.options = tuple(declared.values())
        cls.alternatives = tuple(var for var in vars(cls).values() if isinstance(var, Alternatives))

    @classmethod
    def check_needs(cls, given: Callable[[Option[Any]], bool], *, python: bool = False) -> None:
        """Raise `TriposError` R0202 for an option that is given without any of those that it needs. With `python` the
        message names keywords."""
        named = {option.name: option for option in cls.options}
        for option in cls.options:
            needed = [named[name] for name in option.needs]
            if needed and given(option) and not any(map(given, needed)):
                shown = option.keyword if python else option.flag
                others = " or ".join(f"`{each.keyword if python else each.usage}`" for each in needed)
                raise TriposError("R0202", f"`{shown}` needs {others}", "give both, or leave it out")

    @classmethod
    def check_kind(cls, options: object, kind: str) -> None:
        """Raise `TriposError` R0202 for an option that is for other values of the first argument than `kind`."""
        for option in cls.options:
            if option.only_for and kind not in option.only_for and option.is_in(options):
                kinds = " and ".join(option.only_for)
                raise TriposError("R0202", f"`{option}` has no meaning for `{kind}`", f"it is for {kinds}")
