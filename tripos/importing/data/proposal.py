"""A data set that is proposed for the rows of a file: types, likely secrets, groups of rows, what to leave out."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripos.importing.data.answer_words import is_answer_name
from tripos.importing.data.values import LETTER, MOST_NAMES, NAME, SUFFIXES, choice, letters, missing, type_of, unfit
from tripos.settings import SourceFolder
from tripos_compiler.diagnostics import localized

GROUPS = frozenset({"passage", "context", "story", "article", "document", "paragraph", "conversation", "dialogue"})
"""Names of columns whose rows belong together where a value repeats."""
PERSONAL = re.compile(
    r"e-?mail|phone|mobile|(first|last|full|sur|student|user|nick)[ _-]?name|student[ _-]?id|address"
    r"|姓名|邮箱|电话|手机|学号|vorname|nachname|telefon|nom de famille|prénom|courriel|correo",
    re.IGNORECASE,
)
"""What stands in the headers of columns about a person."""
MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
SENT = frozenset({"timestamp", "zeitstempel", "horodateur", "marca temporal", "时间戳记", "时间戳", "提交时间"})
"""What forms call the column with the time of each reply."""
SMALL = frozenset(
    {"a", "an", "the", "of", "to", "in", "on", "for", "and", "or", "is", "are", "do", "does", "did", "with", "this"}
    | {"that", "you", "your", "how", "what", "which", "who"}
)
"""Words that a name leaves out."""
LONGEST = 30
"""Letters: a header that is longer is a question, and gets a name of a few of its words."""
MOST_WORDS = 4
AXIS = "language"
"""The axis that every benchmark has: a field of its name holds the languages of the benchmark."""
OPERATORS = ("and", "or", "not", "in")
"""The words that no name may be."""
KEY = "key"
"""The word for rows that belong together, which can be the name of a field too."""
LANGUAGES = frozenset({AXIS, "lang", "locale"})
CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z]{2,4})?")
SCRIPTS = {"HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CJK": "zh", "GREEK": "el", "HEBREW": "he", "THAI": "th"}
"""The first word of the names of letters, by the one language that they tell of. Latin tells of none."""
SHARE = 0.2
"""So much of the letters is of a script that tells of a language."""
TRIED = 20_000
"""The letters that are looked at."""


@dataclass(frozen=True)
class ProposedField:
    """A column: its name in the file and in the spec, its type, whether it is secret, and why. `left_out` is the reason
    not to read it, and else empty; the field of an axis has no type."""

    column: str
    name: str
    type: str | None
    secret: bool = False
    left_out: str = ""
    remark: str = ""

    @property
    def line(self) -> str:
        """The field as the language writes it, with the remark beside it."""
        if self.left_out:
            return f"  # {localized('left out')}: {_plain(self.column)} ({self.left_out})"
        words = [self.type] if self.type else []
        rest = ["secret"] if self.secret else []
        rest += [] if self.name == self.column else [f"from {_quoted(self.column)}"]
        words = rest + words if self.type and self.type.startswith("{") else words + rest
        return f"  {' '.join([self.name, *words])}" + (f"  # {self.remark}" if self.remark else "")


@dataclass(frozen=True)
class ProposedDataset:
    """A data set for the rows of `source`, to be read and mended."""

    name: str
    source: str
    rows: int
    fields: tuple[ProposedField, ...]
    key: str | None
    languages: tuple[str, ...]

    @property
    def secrets(self) -> list[str]:
        """The fields that the models under test never see."""
        return [each.name for each in self.fields if each.secret]

    @property
    def text(self) -> str:
        """The block, as the language writes it."""
        lines = [f"dataset {self.name} from {_quoted(self.source)} {{", *(each.line for each in self.fields)]
        if self.key is not None:
            lines.append(f"  key {self.key}  # {localized('rows with one value belong together')}")
        return "\n".join([*lines, "}"]) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return what is proposed, field by field."""
        fields = [
            {
                "column": each.column,
                "name": each.name,
                "type": each.type,
                "secret": each.secret,
                "left_out": each.left_out or None,
                "remark": each.remark or None,
            }
            for each in self.fields
        ]
        told = {"name": self.name, "source": self.source, "rows": self.rows, "fields": fields}
        return {**told, "key": self.key, "languages": list(self.languages), "text": self.text}


def propose(
    name: str, source: str, rows: Sequence[Mapping[str, Any]], axes: Collection[str] = (), folder: Path | None = None
) -> ProposedDataset:
    """Return a data set for rows. A column with the name of an axis has its type, and one with paths of images,
    recordings or PDFs that lie in `folder` has theirs.

    >>> rows = [{"question": "2 + 2?", "options": ["3", "4"], "right": "4", "E-mail": "a@b.org"}] * 2
    >>> print(propose("item", "sums.jsonl", rows).text, end="")
    dataset item from "sums.jsonl" {
      question text
      options list<text>
      right text secret  # always one of `options`
      # left out: E-mail (about a person)
    }
    """
    columns: dict[str, list[Any]] = {}
    for number, row in enumerate(rows):
        for column, value in row.items():
            columns.setdefault(column, [None] * number).append(value)
        for values in columns.values():
            values.extend([None] * (number + 1 - len(values)))
    names = {column: column if column in axes else name for column, name in _names(columns).items()}
    lists = {column: values for column, values in columns.items() if all(isinstance(each, list) for each in values)}
    options = {**lists, **_options_in_columns(columns)}
    shown = {**names, **{column: column for column in options if column not in names}}
    fields = [_field(column, names[column], values, options, shown, axes, folder) for column, values in columns.items()]
    languages = _languages(columns, fields)
    return ProposedDataset(name, source, len(rows), tuple(fields), _key(columns, fields), languages)


def _field(
    column: str,
    name: str,
    values: Sequence[Any],
    lists: Mapping[str, Sequence[list[Any]]],
    names: Mapping[str, str],
    axes: Collection[str],
    folder: Path | None,
) -> ProposedField:
    held = [each for each in values if not missing(each)]
    if name in axes:
        return ProposedField(column, name, None)
    if column.strip().casefold() in SENT:
        return ProposedField(column, name, None, left_out=localized("the time when the form was sent"))
    if PERSONAL.search(column) or (held and all(isinstance(each, str) and MAIL.fullmatch(each) for each in held)):
        return ProposedField(column, name, None, left_out=localized("about a person"))
    if (reason := unfit(held)) is not None:
        return ProposedField(column, name, None, left_out=reason)
    type_ = type_of(values)
    if name == KEY and type_.startswith("{"):
        type_ = "json"  # `key { … }` would say which rows belong together
    if not held:
        return ProposedField(column, name, type_, remark=localized("empty in every row"))
    others = {other: given for other, given in lists.items() if other != column and column not in other.split(" | ")}
    secret, remark = _answer(values, others, names)
    words = {column.strip(), *re.split(r"[\W_]+", column.casefold())}
    secret = secret or is_answer_name(column)
    optional = "?" if type_.endswith("?") else ""
    if remark and type_.rstrip("?") in ("integer", "number", "bool") and all(isinstance(each, str) for each in held):
        type_ = f"text{optional}" if _is_option(values, others) else type_
    if type_.startswith("choice("):
        several = _several(held)
        lettered = others and all(LETTER.fullmatch(str(each)) for each in held)
        if (remark and not lettered) or several or _base(column) in GROUPS or "id" in words:
            return ProposedField(column, name, f"text{optional}", secret, remark=remark or several)
        if lettered:
            type_ = _letters_of(held, values, others) + optional
    elif type_.rstrip("?") == "text" and (medium := _medium(held, folder)) is not None:
        return ProposedField(column, name, medium + optional, remark=localized("paths of files"))
    elif type_.rstrip("?") == "text" and all(str(each) in names and LETTER.fullmatch(str(each)) for each in held):
        type_ = choice([each for each in letters(10) if each in names]) + optional
    elif type_.rstrip("?") == "text" and not secret:
        remark = _several(held)
    return ProposedField(column, name, type_, secret, remark=remark)


def _answer(
    values: Sequence[Any], lists: Mapping[str, Sequence[list[Any]]], names: Mapping[str, str]
) -> tuple[bool, str]:
    """Return whether values are the right answers by what they are: an option of the row, or its place."""
    for other, given in lists.items():
        if not all(len(each) > 1 for each in given) or any(missing(value) for value in values):
            continue
        pairs = list(zip(values, given, strict=True))
        if all(isinstance(value, str) and value in options for value, options in pairs):
            return True, localized(f"always one of `{names[other]}`")
        if all(isinstance(value, str) and LETTER.fullmatch(value) for value in values):
            at = [ord(value) - ord("A") for value in values]
            if len(set(at)) > 1 and all(place < len(options) for place, options in zip(at, given, strict=True)):
                return True, localized(f"the letter of one of `{names[other]}`")
        places = [(_whole(value), len(options)) for value, options in pairs]
        if len(places) < 2 or len({len(options) for options in given}) == len({*map(str, values)}) == 1:
            continue
        if all(place is not None and 0 <= place < size for place, size in places):
            if len({place for place, _ in places}) > 1 and any(place == 0 for place, _ in places):
                return True, localized(f"a place in `{names[other]}`, from 0")
        elif all(place is not None and 1 <= place <= size for place, size in places):
            return True, localized(f"a place in `{names[other]}`, from 1")
    return False, ""


OPTION = re.compile(r"(?:(?:option|choice|opt|选项)[ _-]?)?([a-j]|\d)", re.IGNORECASE)
"""The name of a column that holds one option of several."""


def _options_in_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[list[Any]]]:
    """Return the options of each row where every option is a column, such as `A`, `B` and `C`; under the names of these
    columns."""
    some = [column for column, values in columns.items() if OPTION.fullmatch(column) and not any(map(missing, values))]
    texts = [column for column in some if all(isinstance(each, str) for each in columns[column])]
    if len(texts) < 2:
        return {}
    return {" | ".join(texts): [list(each) for each in zip(*(columns[column] for column in texts), strict=True)]}


def _is_option(values: Sequence[Any], lists: Mapping[str, Sequence[list[Any]]]) -> bool:
    """Return whether each value is a text among the options of its row, which a number would not equal."""
    return any(all(value in options for value, options in zip(values, given, strict=True)) for given in lists.values())


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 4 else None


def _letters_of(held: Sequence[str], values: Sequence[Any], lists: Mapping[str, Sequence[list[Any]]]) -> str:
    """Return the choice of as many letters as there are options, where every letter is that of an option."""
    for given in lists.values():
        most = max(map(len, given), default=0)
        places = [(ord(value) - ord("A"), len(options)) for value, options in zip(values, given, strict=True) if value]
        if 1 < most <= 10 and all(place < size for place, size in places):
            return choice(letters(most))
    return choice(letters(ord(max(held)) - ord("A") + 1))


def _medium(held: Sequence[str], folder: Path | None) -> str | None:
    """Return the type of the files that cells name, where the first is there."""
    kinds = (kind for kind, ends in SUFFIXES.items() if all(each.casefold().endswith(ends) for each in held))
    kind = next(kinds, None)
    if kind is None or folder is None:
        return None
    return kind if SourceFolder.around(folder).file(folder / held[0]).is_there else None


def _several(held: Sequence[str]) -> str:
    """Return a remark on cells that hold several of a few answers, as forms write them; empty where they do not: each
    answer of such a cell stands in another one too."""
    for mark in (", ", ";"):
        cells = [{part.strip() for part in each.split(mark)} for each in set(held)]
        counts = Counter(part for cell in cells for part in cell)
        together = {part for cell in cells if len(cell) > 1 for part in cell}
        if together and len(counts) <= MOST_NAMES and all(counts[part] > 1 for part in together):
            return localized(f"several answers in a cell: `split(…, {_quoted(mark)})` gives the list")
    return ""


def _names(columns: Iterable[str]) -> dict[str, str]:
    """Return the name of each column in the spec, each another one.

    >>> _names(["id", "Question text", "Which of these do you read on most days?", "1st", "???"])
    {'id': 'id', 'Question text': 'Question_text', 'Which of these do you read on most days?': 'these_read_most_days', \
'1st': 'column_4', '???': 'column_5'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for number, column in enumerate(columns, 1):
        name = re.sub(r"\W+", "_", column.strip()).strip("_")
        if len(name) > LONGEST:
            words = [each for each in name.casefold().split("_") if each not in SMALL]
            name = "_".join(words[:MOST_WORDS])[:LONGEST].strip("_")
        if not NAME.fullmatch(name):
            name = f"column_{number}"
        name = f"in_{name}" if name in (AXIS, *OPERATORS) else name
        first, again = name, 2
        while name in taken:
            name, again = f"{first}_{again}", again + 1
        taken.add(name)
        found[column] = name
    return found


def _key(columns: Mapping[str, Sequence[Any]], fields: Sequence[ProposedField]) -> str | None:
    """Return the field whose rows belong together: it names a passage or the like, and its values repeat."""
    for field in fields:
        if _base(field.column) not in GROUPS or field.secret or field.left_out or field.type not in ("text", "integer"):
            continue
        values = [str(each) for each in columns[field.column]]
        if 1 < len(set(values)) <= 0.8 * len(values):
            return field.name
    return None


def _base(column: str) -> str:
    """Return the name of a column without a word for a number in it.

    >>> _base("Passage_ID"), _base("story title")
    ('passage', 'story')
    """
    return re.sub(r"[ _-]?(id|no|nr|key|title|name)$", "", column.strip().casefold())


def _languages(columns: Mapping[str, Sequence[Any]], fields: Sequence[ProposedField]) -> tuple[str, ...]:
    """Return the languages of the rows, as far as a column or the script of the texts tells them."""
    for column, values in columns.items():
        if column.strip().casefold() in LANGUAGES:
            codes = list(dict.fromkeys(str(each) for each in values))
            return tuple(codes) if all(CODE.fullmatch(each) for each in codes) else ()
    found: dict[str, int] = {}
    looked = 0
    for field in fields:
        if field.left_out or (field.type or "").rstrip("?") != "text":
            continue
        for value in columns[field.column]:
            for letter in filter(str.isalpha, str(value or "")[:200]):
                looked += 1
                language = SCRIPTS.get(unicodedata.name(letter, "").partition(" ")[0].partition("-")[0])
                if language is not None:
                    found[language] = found.get(language, 0) + 1
            if looked > TRIED:
                break
    told = {language for language, many in found.items() if many >= SHARE * looked}
    if found.get("ja", 0) >= 0.05 * looked and looked:
        told = (told - {"zh"}) | {"ja"}
    return tuple(sorted(told))


def _plain(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'
