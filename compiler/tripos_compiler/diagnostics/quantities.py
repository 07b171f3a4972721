"""Quantities as text: money, durations, rates, sizes of files, and counts with their noun."""

from __future__ import annotations

from math import floor, inf, log10


def usd(amount: float) -> str:
    """Return an amount of USD: two decimals, four below a tenth, and more where the first two figures need them. A text
    writes `USD` behind it; a column has it as its heading.

    >>> usd(0), usd(0.0000312), usd(0.00123), usd(0.25), usd(1234.5), usd(inf)
    ('0.00', '0.000031', '0.0012', '0.25', '1,234.50', 'unknown')
    """
    if amount == inf:
        return "unknown"
    if not 0 < amount < 0.1:
        return f"{amount:,.2f}"
    return f"{amount:.{max(4, 1 - floor(log10(amount)))}f}"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units, or with its first two figures.

    >>> duration(0.444), duration(1.28), duration(9), duration(75), duration(3700), duration(200_000)
    ('0.44 s', '1.3 s', '9 s', '1m 15s', '1h 01m', '2d 07h')
    """
    if seconds < 10:
        return f"{round(seconds, 2):.2g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02}h"


def percent(share: float) -> str:
    """Return a share with a tenth of a per cent. It is never rounded to all or to nothing, as long as it is neither.

    >>> percent(1), percent(1 / 6), percent(0.99999), percent(0.00001), percent(0), percent(0.5)
    ('100%', '16.7%', '99.9%', '0.1%', '0%', '50%')
    """
    return f"{share if share in (0, 1) else min(max(round(share, 3), 0.001), 0.999):.1%}".replace(".0%", "%")


def per_second(rate: float) -> str:
    """Return a rate with about three figures.

    >>> per_second(0.25), per_second(12.34), per_second(1234.5)
    ('0.25/s', '12.3/s', '1,234/s')
    """
    return f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.1f}/s" if rate >= 1 else f"{rate:.2f}/s"


def abbreviated(number: float) -> str:
    """Return a large number, such as that of tokens, in few characters.

    >>> abbreviated(0), abbreviated(940), abbreviated(12_340), abbreviated(1_234_000), abbreviated(2.5e9)
    ('0', '940', '12.3k', '1.2M', '2.5G')
    """
    if number == inf:
        return "unknown"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size * 0.9995:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def file_size(size: float) -> str:
    """Return the size of a file.

    >>> file_size(512), file_size(2048), file_size(3 * 2**20)
    ('512 bytes', '2.0 KiB', '3.0 MiB')
    """
    if size < 1024:
        return f"{size:.0f} bytes"
    for unit, step in (("KiB", 2**10), ("MiB", 2**20)):
        if size < step * 1024:
            return f"{size / step:.1f} {unit}"
    return f"{size / 2**30:,.1f} GiB"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun. A plural that is not regular is given.

    >>> counted(1, "reply"), counted(1200, "score"), counted(2, "reply"), counted(2, "process")
    ('1 reply', '1,200 scores', '2 replies', '2 processes')
    """
    if number == 1:
        return f"1 {noun}"
    if plural is None:
        plural = f"{noun[:-1]}ies" if noun.endswith("ply") else f"{noun}es" if noun.endswith("ss") else f"{noun}s"
    return f"{number:,} {plural}"
