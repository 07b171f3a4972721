"""Trust in a benchmark: `--untrusted`, and the options and times that it forbids."""

from __future__ import annotations

import signal
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from tripos.settings import options
from tripos.settings.options import ALLOW_OUTSIDE, DATA, RunParameters
from tripos_compiler.errors import TriposError
from tripos_runtime.datasets.trust import TRUSTED, UNTRUSTED, Trust

YES, NO = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")


def trust_in(option: bool, environ: Mapping[str, str]) -> Trust:
    """Return the trust set by the option or the environment. Raises `TriposError` R0203 if the variable is neither yes
    nor no.

    >>> trust_in(False, {}).untrusted, trust_in(False, {"TRIPOS_UNTRUSTED": "1"}).untrusted
    (False, True)
    """
    variable = options.UNTRUSTED.variable
    value = environ.get(variable, "").strip().casefold()
    if value not in (*YES, *NO):
        raise TriposError("R0203", f"`{variable}` is neither yes nor no", f"set {variable} to 1, or unset it")
    return UNTRUSTED if option or value in YES else TRUSTED


def trust_of(options: Namespace) -> Trust:
    """Return the trust of a command, which was set when its options were read."""
    found = getattr(options, "trust", TRUSTED)
    assert isinstance(found, Trust)
    return found


def refuse_if_untrusted(trust: Trust, *places: str, outside: bool = False, fetch: bool = False) -> None:
    """Raise `TriposError` R0270 if an untrusted benchmark is given access to any file, or to places in the network."""
    if outside:
        trust.check(f"`{ALLOW_OUTSIDE}`", f"copy the file beside the spec, or name its folder: {DATA} DIR")
    if fetch:
        trust.check("a connection", f"fetch the release first: tripos fetch, without {RunParameters.untrusted}")
    for place in places:
        if "://" in place:
            trust.check(
                f"a connection to `{place}`", f"fetch it first, without {RunParameters.untrusted}: tripos fetch {place}"
            )


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Stop the block after a time in seconds. Raises `TriposError` R0271 in the main thread. On Windows, which has no
    such alarm, there is no limit.

    The alarm is repeated every second, because a reader of damaged files may catch any exception as damage.
    """
    if seconds is None or not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        message = f"this takes more than {seconds:g} seconds, which `{RunParameters.untrusted}` allows"
        raise TriposError("R0271", message, f"run it without {RunParameters.untrusted}, if you trust the benchmark")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
