"""Mutators: bytes, texts, JSON values and members of zip files changed by chance, from a seed."""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any
from xml.sax.saxutils import escape as xml_escape

LONGEST = 1 << 16
"""Bytes that a mutated input has at most."""
AGAIN = 0.5
"""The chance of one more change after each."""
MOST = 8
"""Changes of an input at most."""

Mutator = Callable[[Random, bytes, Sequence[bytes]], bytes]
"""Changes an input; the other seeds are there to take pieces from."""

XML = re.compile(rb"(<[^<>]*>)")
ATTRIBUTE = re.compile(rb'="[^"<>]*"')
NUMBERS = (0, 1, -1, 2, 255, 256, 2**15, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 2**70, -(2**63), 10**40)
FLOATS = (0.5, -0.0, 1e308, -1e308, 1e-308, 5e-324, float("nan"), float("inf"), float("-inf"))
TEXTS = (
    "", " ", "\n", "\0", "\x1b[31m", "\u202e", "\ufeff", "\ud800", "é", "难度", "𝔘", "a" * 300, "../../etc/passwd",
    "/dev/zero", "C:\\x", "a/b", "..", ".", "true", "null", "0", "-1", "1e999", "9" * 400, "2026-01-01T00:00:00",
    "2026-01-01T00:00:00Z", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00", "{{ x }}", "{}", "[]", '"', "'",
    "%s", "=1+1", "http://127.0.0.1/", "0" * 64, "f" * 64, "1.0.0", "tripos.commit/1", "r1",
)  # fmt: skip
WORDS = (
    b"{", b"}", b"[", b"]", b"(", b")", b'"', b"'", b",", b";", b":", b"=", b"\n", b"\r\n", b"\r", b"\t", b"\0", b" ",
    b"\\", b"\\u", b"\\ud800", b"/", b"../", b"-", b"+", b".", b"..", b"#", b"*", b"&a", b"*a", b"!!", b"|", b">", b"<",
    b"<!--", b"<![CDATA[", b"&amp;", b"&#0;", b"&lt", b"null", b"true", b"NaN", b"Infinity", b"-0", b"1e999", b"9" * 30,
    b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe2\x80\xae",
    b"\x1b[31m", b"\xcc\x81", b"PK\x03\x04", b"PAR1", b"ARROW1", b"\x1f\x8b", b"0001-01-01", b"1:59:59", b"? ", b"- ",
)  # fmt: skip


def mutated(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return bytes with one change, or several in turn, ever more rarely."""
    return _some(random, data, others, BYTES)


def mutated_text(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """As `mutated`, with more changes of lines and words than of single bytes."""
    return _some(random, data, others, LINES if random.random() < 0.7 else BYTES)


def mutated_json(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return JSON in which values are changed, so that it stays JSON; now and then its bytes are."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutated_text(random, data, others)
    if random.random() < 0.1:
        return mutated_text(random, data, others)
    pool = [json.loads(each) for each in random.sample(others, min(2, len(others))) if _is_json(each)]
    for _ in range(_times(random)):
        value = changed_value(random, value, pool)
    return written(value)


def mutated_lines(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return lines of JSON: values of some are changed; now and then lines or bytes are."""
    if random.random() < 0.2:
        return mutated_text(random, data, others)
    lines = data.split(b"\n")
    for _ in range(_times(random)):
        place = random.randrange(len(lines))
        lines[place] = mutated_json(random, lines[place], [lines[random.randrange(len(lines))]])
    return b"\n".join(lines)


def mutated_zip(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a zip file whose members are changed, dropped, doubled or renamed; now and then its own bytes are."""
    if random.random() < 0.15:
        return mutated(random, data, others)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            members = [(each.filename, packed.read(each)) for each in packed.infolist()]
    except Exception:  # whatever the library makes of a zip that is damaged already
        return mutated(random, data, others)
    if not members:
        return mutated(random, data, others)
    for _ in range(_times(random)):
        place = random.randrange(len(members))
        name, content = members[place]
        match random.randrange(12):
            case 0 if len(members) > 1:
                del members[place]
            case 1:
                members.append((name, content))
            case 2:
                members[place] = (random.choice((*TEXTS[:8], "../out", "/out", f"{name}x", "a/" * 200))[:500], content)
            case 3:
                members[place] = (name, members[random.randrange(len(members))][1])
            case _:
                members[place] = (name, mutated_xml(random, content, [content]))
    return zipped(members)


def mutated_xml(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return XML in which values of attributes and texts are changed, and elements moved; now and then its bytes are."""
    if random.random() < 0.1 or b"<" not in data:
        return mutated_text(random, data, others)
    parts = XML.split(data)
    for _ in range(_times(random)):
        place = random.randrange(len(parts))
        odd = random.choice((*TEXTS, *map(str, NUMBERS), "A1", "A1:XFD1048576", "s", "inlineStr", "b", "d", "e", "str"))
        value = xml_escape(odd).replace('"', "&quot;").encode("utf-8", "replace")
        if parts[place].startswith(b"<"):
            match random.randrange(6):
                case 0:
                    del parts[place]
                case 1:
                    parts.insert(place, parts[place])
                case 2:
                    other = random.randrange(len(parts))
                    parts[place], parts[other] = parts[other], parts[place]
                case _:
                    found = list(ATTRIBUTE.finditer(parts[place]))
                    start, end = random.choice(found).span() if found else (1, 1)
                    parts[place] = (
                        parts[place][:start] + b'="' * bool(found) + value + b'"' * bool(found) + parts[place][end:]
                    )
        else:
            parts[place] = value
        parts = parts or [b""]
    return b"".join(parts)[:LONGEST]


def zipped(members: Sequence[tuple[str, bytes]]) -> bytes:
    """Return a zip file of members, the same bytes for the same members."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        warnings.simplefilter("ignore")  # of a name that stands twice
        for name, content in members:
            plain = name.encode("utf-8", "replace").decode().replace("\0", "") or "x"
            packed.writestr(zipfile.ZipInfo(plain), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def written(value: Any) -> bytes:
    """Return a value as JSON, halves of surrogate pairs as escapes."""
    return json.dumps(value).encode()


def changed_value(random: Random, value: Any, others: Sequence[Any] = ()) -> Any:
    """Return a JSON value with one change at a place in it."""
    if isinstance(value, dict | list) and value and random.random() < 0.88:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key: Any = random.choice(keys)
        made: Any = value.copy()
        match random.randrange(14):
            case 0:
                del made[key]
            case 1 if isinstance(value, dict):
                made[random.choice((*TEXTS, *keys))] = made.pop(key)
            case 1:
                made.insert(key, made[key])
            case 2 if isinstance(value, dict):
                made[random.choice(TEXTS)] = odd_value(random)
            case 2:
                made *= 2
            case 3:
                made[key] = made[random.choice(keys)]
            case 4:
                made[key] = [made[key]] if random.random() < 0.5 else {"a": made[key]}
            case _:
                made[key] = changed_value(random, made[key], others)
        return made
    if isinstance(value, str) and value and random.random() < 0.4:
        return mutated_text(random, value.encode("utf-8", "replace"), [value.encode("utf-8", "replace")]).decode(
            "utf-8", "replace"
        )
    if type(value) in (int, float) and random.random() < 0.4:
        return random.choice(
            (value + 1, -value, value * 2, value // 2, value * 0.5 if abs(value) < 2**60 else 0.5, f"{value}")
        )
    if others and random.random() < 0.2:
        return _part(random, random.choice(others))
    return odd_value(random)


def odd_value(random: Random) -> Any:
    """Return a value that stands at the edge of what readers expect."""
    match random.randrange(8):
        case 0:
            return random.choice(NUMBERS)
        case 1:
            return random.choice(FLOATS)
        case 2 | 3:
            return random.choice(TEXTS)
        case 4:
            return random.choice((None, True, False))
        case 5:
            return random.choice(([], {}, [None], [[]], {"": None}, [1, "a"], {"a": {"a": {}}}))
        case 6:
            deep: Any = 1
            for _ in range(random.choice((3, 40, 400))):
                deep = [deep] if random.random() < 0.5 else {"a": deep}
            return deep
    return random.choice(TEXTS) * random.choice((2, 20))


def _part(random: Random, value: Any) -> Any:
    while isinstance(value, dict | list) and value and random.random() < 0.7:
        value = random.choice(list(value.values()) if isinstance(value, dict) else value)
    return value


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _times(random: Random) -> int:
    times = 1
    while times < MOST and random.random() < AGAIN:
        times += 1
    return times


def _some(random: Random, data: bytes, others: Sequence[bytes], kinds: Sequence[Mutator]) -> bytes:
    for _ in range(_times(random)):
        data = random.choice(kinds)(random, data, others)
    return data[:LONGEST]


# --- bytes ---


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randint(0, len(data))
    return start, min(len(data), start + random.choice((1, 1, 2, 4, 8, 32, 200)))


def bit_flipped(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Flip one bit."""
    if not data:
        return data
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]


def bytes_replaced(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Replace a stretch by bytes of no meaning."""
    start, end = _span(random, data)
    return data[:start] + random.randbytes(end - start) + data[end:]


def bytes_out(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Leave out a stretch."""
    start, end = _span(random, data)
    return data[:start] + data[end:]


def bytes_doubled(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Say a stretch twice, or very often."""
    start, end = _span(random, data)
    times = random.choice((1, 1, 2, 10, 100, 2000))
    return data[:end] + (data[start:end] * times)[:LONGEST] + data[end:]


def number_in(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Write a number of two, four or eight bytes over others, as lengths and places in binary files are."""
    size = random.choice((2, 4, 8))
    if len(data) < size:
        return data
    place = random.randrange(len(data) - size + 1)
    number = random.choice(NUMBERS) % 2 ** (8 * size)
    return data[:place] + number.to_bytes(size, random.choice(("little", "big"))) + data[place + size :]


def cut_off(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """End early, or begin late."""
    place = random.randint(0, len(data))
    return data[:place] if random.random() < 0.8 else data[place:]


def word_in(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put in a word that means something to some reader."""
    start, end = _span(random, data)
    return data[:start] + random.choice(WORDS) + data[start if random.random() < 0.6 else end :]


def joined(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Go on as another seed does."""
    other = random.choice(others) if others else data
    place, there = random.randint(0, len(data)), random.randint(0, len(other))
    return data[:place] + other[there:]


# --- lines ---


def line_out(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Leave out a line."""
    lines = data.split(b"\n")
    del lines[random.randrange(len(lines))]
    return b"\n".join(lines)


def line_doubled(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Say a line twice, or very often."""
    lines = data.split(b"\n")
    place = random.randrange(len(lines))
    return b"\n".join([*lines[:place], *[lines[place]] * random.choice((2, 2, 3, 50)), *lines[place + 1 :]])


def line_of_another(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put in a line of another seed."""
    lines = data.split(b"\n")
    taken = random.choice(random.choice(others).split(b"\n")) if others else b""
    lines.insert(random.randint(0, len(lines)), taken)
    return b"\n".join(lines)


def lines_swapped(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Swap two lines."""
    lines = data.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def number_replaced(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Write another number where digits stand."""
    places = [place for place, byte in enumerate(data[:4096]) if 48 <= byte < 58]
    if not places:
        return word_in(random, data, others)
    start = end = random.choice(places)
    while end < len(data) and 48 <= data[end] < 58:
        end += 1
    number = random.choice((*NUMBERS, *FLOATS))
    return data[:start] + str(number).encode() + data[end:]


def text_in(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put in a text that is odd somewhere."""
    place = random.randint(0, len(data))
    return data[:place] + random.choice(TEXTS).encode("utf-8", "surrogatepass") + data[place:]


BYTES: tuple[Mutator, ...] = (
    bit_flipped, bytes_replaced, bytes_out, bytes_doubled, number_in, cut_off, word_in, word_in, joined,
)  # fmt: skip
LINES: tuple[Mutator, ...] = (
    line_out, line_doubled, line_of_another, lines_swapped, number_replaced, text_in, word_in, word_in, bytes_out, joined,
)  # fmt: skip
