"""The declaration of an option: its name, the kind of its value, and the other places where the value may be given.

Each option is declared once, in `tripos.settings.options`. The declaration determines the command line with its help
and completions, the setting in `tripos.toml`, the environment variable, the keyword of the Python API, and the name in
messages: `f"{LIMIT}"` is `--limit`.
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
    """The error of a value that is refused; its text is the reason."""


class Kind(Generic[T]):
    """A kind of value: its parser, its range, its name in help, and its completion in a shell.

    `read` parses the text of the command line and raises `ValueError` if it cannot; `noun` names the notation in that
    message. `least` and `most` are the bounds of a number; with `above`, `least` itself is excluded. `completes` names
    what a shell suggests: `spec`, `folder`, `file`, `model`, `run`, `scenario` or `word`. `place` is `local` for a
    folder or file of this machine, `written` for one that the command writes, and `store` for one that may also be in a
    bucket. `choices` are the only allowed
    values, or the location `module:NAME` of a dictionary with these values as keys, which is imported on first use.
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
        """The type of the value in Python: `int`, `float` or `str` for a setting, otherwise any type."""
        self.unit = unit

    @property
    def choices(self) -> tuple[str, ...]:
        """The only allowed values; empty if all values are allowed."""
        return tuple(self._allowed)

    @property
    def _allowed(self) -> Collection[str]:
        if isinstance(self._choices, str):
            module, _, name = self._choices.partition(":")
            self._choices = getattr(importlib.import_module(module), name)
        return self._choices

    def allows(self, value: Any) -> bool:
        """Return true if a value is one of the choices, or if there are no choices. A table of choices may allow names
        of plug-ins that it does not list."""
        return not self.choices or value in self._allowed

    def fault(self, value: Any, name: str) -> str:
        """Return the reason why a value of the option or setting `name` is refused; empty if it is allowed.

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
            return f"`{name}` must be {'more than' if self.above else 'at least'} {self.least:.16g}{self.unit}"
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
    """Return a kind of number with bounds, both included; with `above`, `least` is excluded."""
    return Kind(float, metavar, noun=noun, least=least, most=most, above=above, python=float)


def duration(least: float = 0, most: float | None = None) -> Kind[float]:
    """Return a kind of duration in seconds, written with a unit such as `4h`. The bounds are in seconds.

    >>> duration().read("30m"), duration(60).fault(3, "--time-limit")
    (1800.0, '`--time-limit` must be at least 60 s')
    """
    return Kind(_seconds, "TIME", noun="time", least=least, most=most, python=float, unit=" s")


def choice(*words: str, metavar: str | None = None, of: str = "", short: Mapping[str, str] = {}) -> Kind[Any]:
    """Return a kind that allows only these words, or the keys of the dictionary at `of` (`module:NAME`). `short` maps
    other spellings to these words."""
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

    Its name is the attribute to which a subclass of `Parameters` assigns it; without one, the last part of its setting.
    As a text it is its flag, for messages.
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
        """The value if the command line, the environment and `tripos.toml` give none."""
        self.written = written
        """The flag without dashes, if it is not the name."""
        self.short = short
        """The letter of its short form, such as `n` for `-n`; empty if it has none."""
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
        """The separator of the values of a repeated option in its environment variable."""
        self.keyword = keyword
        """The keyword of the Python API with the same value."""
        self.needs = needs
        """Names of other options, at least one of which must be given together with this one."""
        self.only_for = only_for
        """Values of the first argument, such as formats of an export, for which the option is valid; empty for all."""
        self.combined = combined
        """True if the command combines the option with the setting. Otherwise the option replaces the setting."""
        self.file_only = file_only
        """True for a setting that no command has as an option."""
        self.forwarded = forwarded
        """True if the commands that run the shards of a run repeat the option."""
        self.name = self.key

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @property
    def initial(self) -> T:
        """The value in the options of a command if the option is not given. For a setting it is None instead of the
        default, since `tripos.toml` may set another value."""
        if self.repeated or self.nargs in ("*", "+"):
            return []  # type: ignore[return-value]
        return None if self.setting or self.positional else self.default  # type: ignore[return-value]

    @property
    def key(self) -> str:
        """The last part of the path of the setting, which is its name in its table of `tripos.toml`."""
        return self.setting.rpartition(".")[2]

    def setting_in(self, config: object) -> T:
        """Return the value of the setting in the effective settings."""
        for part in self.setting.split("."):
            config = getattr(config, part)
        return config  # type: ignore[return-value]

    def of(self, options: object) -> T:
        """Return the value in the options of a command. If the command lacks this option, return the initial value."""
        value: T = getattr(options, self.name, self.initial)
        return value

    def is_in(self, options: object) -> bool:
        """Return true if the value in the options of a command is not the initial one. An option that is given with its
        default counts as not given, unless it is a setting."""
        return self.of(options) != self.initial

    @property
    def flag(self) -> str:
        """The name on the command line: `--limit`, or `FILE` for an argument. For a setting that is in no command, its
        path."""
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
        """The names on the command line: the short form, if there is one, and the flag; empty for an argument."""
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
        """Return a copy of the option with another help or other attributes, for another command."""
        other = object.__new__(type(self))
        other.__dict__ = {**self.__dict__, **changes}
        if help:
            other.help = help
        return other


def listed_names(given: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names in texts of comma-separated names.

    >>> listed_names(["a,b", "b, c"])
    ('a', 'b', 'c')
    """
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))


# Forms of options
def flag(help: str, **more: Any) -> Option[bool]:
    """Return an option without a value, which is true if it is given."""
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
    """Return a positional argument with any number of values, or with at least one unless `least` is 0."""
    return Option(kind, help, positional=True, nargs="+" if least else "*", **more)


@overload
def setting(path: str, kind: Kind[T], help: str, *, default: T, **more: Any) -> Option[T]: ...
@overload
def setting(path: str, kind: Kind[T], help: str, **more: Any) -> Option[T | None]: ...
def setting(path: str, kind: Kind[Any], help: str, **more: Any) -> Option[Any]:
    """Return a setting of `tripos.toml` that no command has as an option."""
    return Option(kind, help, setting=path, file_only=True, **more)


class Alternatives(NamedTuple):
    """Mutually exclusive options. If `required`, one of them must be given."""

    options: tuple[Option[Any], ...]
    required: bool = False


class Parameters:
    """The options of a command, in the order of its help: first those of the base classes."""

    options: ClassVar[tuple[Option[Any], ...]] = ()
    alternatives: ClassVar[tuple[Alternatives, ...]] = ()

    def __init_subclass__(cls) -> None:
        declared: dict[str, Option[Any]] = {}
        for base in (*cls.__bases__, cls):
            attributes = vars(base).values() if base is cls else getattr(base, "options", ())
            declared |= {option.name: option for option in attributes if isinstance(option, Option)}
        cls.options = tuple(declared.values())
        cls.alternatives = tuple(attribute for attribute in vars(cls).values() if isinstance(attribute, Alternatives))

    @classmethod
    def check_needs(cls, given: Callable[[Option[Any]], bool], *, python: bool = False) -> None:
        """Raise `TriposError` R0202 if an option is given without any of the options that it needs. With `python` the
        message names keywords of the Python API instead of flags."""
        by_name = {option.name: option for option in cls.options}
        for option in cls.options:
            needed = [by_name[name] for name in option.needs]
            if needed and given(option) and not any(map(given, needed)):
                shown = option.keyword if python else option.flag
                others = " or ".join(f"`{other.keyword if python else other.usage}`" for other in needed)
                raise TriposError("R0202", f"`{shown}` needs {others}", "give both, or leave it out")

    @classmethod
    def check_kind(cls, options: object, kind: str) -> None:
        """Raise `TriposError` R0202 if an option is given that is not valid for `kind`, the first argument."""
        for option in cls.options:
            if option.only_for and kind not in option.only_for and option.is_in(options):
                kinds = " and ".join(option.only_for)
                raise TriposError("R0202", f"`{option}` has no meaning for `{kind}`", f"it is for {kinds}")
