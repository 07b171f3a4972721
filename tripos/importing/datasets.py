"""Rows of files, the Hub and databases, and the data set that is proposed for them: types, secrets, keys.

A column whose name contains a word for an answer, in any of many languages, is proposed as a secret. A name is split at
spaces, marks, digits and capitals (`goldLabel`, `correct_answer_2`, `Muster-Lösung`). A word matches one whole part;
`*` stands for any letters, so `antwort*` also matches `Antworten`, and `_` joins consecutive parts. Case, accents and
forms of Unicode are ignored. In scripts without spaces, or with articles joined to the word, a word matches anywhere in
the name.

A column too many that is hidden from models costs the author one word in the spec; one too few leaks the answer. So
words that often mean an answer, or describe one (`solution_count`), are included.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from tripos.importing.spec_text import OPERATORS, unused_name
from tripos.settings.options import ImportDatasetParameters
from tripos.source_files import SourceFolder
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.errors import TriposError
from tripos_compiler.language.rows import has_comma, read_turns
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.data_files import HUB
from tripos_runtime.datasets.formats import plain_value, shortest_decimal
from tripos_runtime.datasets.trust import TRUSTED, Trust

PROPOSAL_ERROR = "R0209"
SAMPLE_ROWS = 50_000
"""Rows from which types are inferred; the compiler checks the others."""
SQLITE, DUCKDB = (".sqlite", ".sqlite3", ".db"), (".duckdb",)
DATABASES = (*SQLITE, *DUCKDB)
"""File endings of databases."""
DATA = re.compile(r".+\.(jsonl|ndjson|json|csv|tsv|parquet|arrow|feather|xlsx)(\.gz|\.zst)?", re.IGNORECASE)
SHARD_SUFFIX = re.compile(r"-\d{5}-of-\d{5}(?=\.)")
"""The suffix by which the Hub numbers the files of one split."""
METADATA_FILES = frozenset({"dataset_infos.json", "dataset_info.json", "croissant.json", "package.json"})


def rows_of_files(
    source: str, near: Path, folders: Sequence[Path], trust: Trust = TRUSTED, *, outside: bool = False
) -> tuple[list[dict[str, Any]], Path]:
    """Return the first rows of the files that `source` names for a spec at `near`, with the captures of their names,
    and the folder of the first file. The folder that `source` names may be read, and with `outside` also the targets of
    links in it. Raises `TriposError` R0209."""
    place = near if source.startswith(HUB) else near.parent / source  # downloaded files are cached next to the spec
    named = SourceFolder.of_pattern(place, trust, outside=outside, folders=folders)
    data_folders = replace(named.data, folders=tuple(folders))
    try:
        files = data_folders.find(source, str(near))
        rows = ({**file.captures, **row} for file in files for row in data_folders.rows(file))
        found = list(islice(rows, SAMPLE_ROWS))
    except DataError as error:
        raise TriposError(PROPOSAL_ERROR, error.message, error.hint) from error
    if not any(found):
        raise TriposError(PROPOSAL_ERROR, f"`{source}` has no rows", "give a file with at least one row")
    return found, Path(files[0].location).parent


# Files of the Hub


def files_of_hub(names: Sequence[str], split: str | None) -> str:
    """Return the pattern that matches the files of one split, given the file names of a data set. Raises `TriposError`
    R0209 if they belong to several splits or configurations; the message lists the choices.

    >>> files_of_hub(["README.md", "data/test-00000-of-00002.parquet", "data/test-00001-of-00002.parquet"], None)
    'data/test-*.parquet'
    >>> files_of_hub(["main/train.jsonl", "main/test.jsonl"], "test")
    'main/test.jsonl'
    """
    known = [name for name in names if DATA.fullmatch(name) and Path(name).name not in METADATA_FILES]
    patterns = list(dict.fromkeys(SHARD_SUFFIX.sub("-*", name) for name in known))
    if split is not None:
        patterns = [pattern for pattern in patterns if split in _words(pattern)]
    if len(patterns) == 1:
        return patterns[0]
    listed = list(dict.fromkeys(SHARD_SUFFIX.sub("-*", name) for name in known))
    if not listed:
        raise TriposError(
            PROPOSAL_ERROR, "the data set has no file that Tripos reads", "see its page: rows may be made by a program"
        )
    text = ", ".join(listed[:6]) + (f" and {len(listed) - 6:,} more" if len(listed) > 6 else "")
    if split is not None and not patterns:
        hint = suggest(split, sorted({word for each in listed for word in _words(each)}), f"its files: {text}")
        raise TriposError(PROPOSAL_ERROR, f"the data set has no files of `{split}`", hint)
    hint = f"give the path of one, hf://OWNER/NAME/PATH, or `{ImportDatasetParameters.split} NAME`"
    raise TriposError(PROPOSAL_ERROR, f"the data set has several files: {text}", hint)


def _words(path: str) -> list[str]:
    """Return the words of a path that can name a split: the folders, and the parts of the file name."""
    *folders, name = path.split("/")
    return [*folders, *re.split(r"[-_.*]+", name)]


# Rows of a database


def rows_of_database(
    path: Path, query: str | None, trust: Trust = TRUSTED, *, outside: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a query to a database file, or of its only table. The database cannot read other files, for
    example through a view, unless `outside` is true. Raises `TriposError` R0209.

    A value that JSON does not have becomes text as in ISO 8601, and a decimal becomes a number.
    """
    file = SourceFolder.around(path, trust, outside=outside).file(path)
    try:
        with file.opened():
            pass
    except FileNotFoundError as error:
        raise TriposError(PROPOSAL_ERROR, f"there is no file `{path}`", "check the path") from error
    except OSError as error:
        raise TriposError(PROPOSAL_ERROR, f"cannot read `{path}`: {error.strerror}", "check the path") from error
    duckdb = path.suffix.casefold() in DUCKDB
    rows = _from_duckdb(path, query, outside=outside) if duckdb else _from_sqlite(path, query)
    for number, row in enumerate(rows):
        if number >= trust.limits.rows:
            raise TriposError(
                PROPOSAL_ERROR,
                f"`{path.name}` gives more than {trust.limits.rows:,} rows",
                f"ask for fewer: {ImportDatasetParameters.query}",
            )
        yield row


def _from_sqlite(path: Path, query: str | None) -> Iterator[dict[str, Any]]:
    import sqlite3

    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            listed = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'"
            asked = query or _only_table([name for (name,) in connection.execute(listed)], path)
            cursor = connection.execute(asked)
            yield from _rows([each[0] for each in cursor.description or ()], cursor, path)
    except sqlite3.Error as error:
        raise TriposError(
            PROPOSAL_ERROR, f"`{path.name}` cannot be read: {_first_line(error)}", _hint(query)
        ) from error


def _from_duckdb(path: Path, query: str | None, *, outside: bool) -> Iterator[dict[str, Any]]:
    import duckdb

    try:
        config: dict[str, str | bool | int | float | list[str]] = {
            "enable_external_access": outside,
            "autoload_known_extensions": outside,
        }
        with duckdb.connect(str(path), read_only=True, config=config) as connection:
            listed = "select table_name from information_schema.tables order by 1"
            asked = query or _only_table([name for (name,) in connection.execute(listed).fetchall()], path)
            cursor = connection.execute(asked)
            columns = [(each[0], _reader(each[1])) for each in cursor.description or ()]
            found = (
                tuple(read(value) for (_, read), value in zip(columns, row, strict=True))
                for row in iter(cursor.fetchone, None)
            )
            yield from _rows([name for name, _ in columns], found, path)
    except duckdb.Error as error:
        raise TriposError(
            PROPOSAL_ERROR, f"`{path.name}` cannot be read: {_first_line(error)}", _hint(query)
        ) from error


def _reader(type_: Any) -> Callable[[Any], Any]:
    """Return a function that converts values of a DuckDB type, with each float as its shortest decimal."""
    match type_.id:
        case "float":
            return partial(shortest_decimal, bits=32)
        case "list" | "array":
            inner = _reader(type_.children[0][1])
            return lambda value: None if value is None else [inner(each) for each in value]
        case "struct":
            parts = {name: _reader(of) for name, of in type_.children}
            return lambda value: None if value is None else {name: parts[name](each) for name, each in value.items()}
        case "map":
            inner = _reader(dict(type_.children)["value"])
            return lambda value: None if value is None else {name: inner(each) for name, each in value.items()}
    return lambda value: value


def _only_table(names: Sequence[str], path: Path) -> str:
    if len(names) != 1:
        text = (
            f"`{path.name}` has {len(names):,} tables: {', '.join(names[:8])}"
            if names
            else f"`{path.name}` has no table"
        )
        raise TriposError(PROPOSAL_ERROR, text, f'say which rows: {ImportDatasetParameters.query} "select … from …"')
    quoted = names[0].replace('"', '""')
    return f'select * from "{quoted}"'


def _rows(names: Sequence[str], found: Any, path: Path) -> Iterator[dict[str, Any]]:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise TriposError(PROPOSAL_ERROR, f"the query gives two columns `{twice}`", "name them apart: `select … as …`")
    for row in found:
        yield {name: _written(value, name, path) for name, value in zip(names, row, strict=True)}


def _written(value: Any, name: str, path: Path) -> Any:
    """Return a value in JSON's types. Raises `TriposError` R0209 if it has none."""
    plain = plain_value(value)
    lacking = next(_of_no_json(plain), None)
    if lacking is None:
        return plain
    kind = "bytes" if isinstance(lacking, bytes) else type(lacking).__name__
    raise TriposError(
        PROPOSAL_ERROR,
        f"column `{name}` of `{path.name}` holds {kind}",
        "leave it out of the query, or cast it to text",
    )


def _of_no_json(value: Any) -> Iterator[Any]:
    match value:
        case None | bool() | int() | float() | str():
            return
        case list():
            for each in value:
                yield from _of_no_json(each)
        case dict():
            yield from _of_no_json(list(value.values()))
        case _:
            yield value


def _hint(query: str | None) -> str:
    return "see the query" if query else "see that it is a database, and that nobody else holds it"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Yield rows as lines of JSON. Raises `TriposError` R0209 for a number that JSON does not have."""
    for number, row in enumerate(rows, 1):
        try:
            yield json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
        except ValueError as error:
            raise TriposError(
                PROPOSAL_ERROR, f"row {number:,} holds a number that is none", "leave it out of the query"
            ) from error


# Types of columns
NAME = re.compile(r"[^\W\d]\w*")
WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
DECIMAL = re.compile(r"-?(0|[1-9]\d*)\.\d+")
WORDS = frozenset({"true", "false"})
LETTER = re.compile(r"[A-J]")
MOST_NAMES = 12
"""A column with more distinct texts than this is text, not a choice."""
LONGEST_NAME = 24
ROWS_A_NAME = 3
"""A choice needs at least this many rows for each of its names. Otherwise the values are text that happens to
repeat.
"""
SUFFIXES = {"image": (".png", ".jpg", ".jpeg", ".gif", ".webp"), "audio": (".wav", ".mp3"), "file": (".pdf",)}
"""File endings of media that can be shown to a model, by type."""
SPEAKERS = frozenset({"speaker", "role", "from", "user"})


def type_of(values: Iterable[Any]) -> str:
    """Return the type of values: with `?` if some are missing, and `json` if no narrower type fits.

    >>> type_of(["1", "12"]), type_of(["007", "1"]), type_of([1, 2.5]), type_of([["a"], None]), type_of([{"a": 1}])
    ('integer', 'text', 'number', 'list<text>?', '{ a integer }')
    >>> type_of(["a", 1]), type_of(["up", "down"] * 3), type_of(["B", "C"] * 3)
    ('json', 'choice(up, down)', 'choice(A, B, C)')
    """
    given = list(values)
    held = [each for each in given if not missing(each)]
    if not held:
        return "text?"
    found = _type(held)
    if len(held) == len(given):
        return found
    return "json?" if found.startswith("{") else f"{found}?"  # a record cannot be optional


def missing(value: Any) -> bool:
    """Return true if a cell is empty."""
    return value is None or value == ""


def find_unfit_value(values: Sequence[Any]) -> str | None:
    """Return why no type holds these values, or None: a number that is NaN or too large, or bytes of an unknown kind.

    >>> find_unfit_value([1, 2.5, "x", [None]]), find_unfit_value([{"a": 2**64}]), find_unfit_value([float("nan")])
    (None, 'a whole number beyond 64 bits, which belongs in quotation marks', 'a number that is NaN or past ±1e70')
    """
    held = [part for value in values for part in _parts(value)]
    if any(isinstance(each, bytes) for each in held):
        return None if _type(list(values)) in SUFFIXES else localized("bytes of no known kind")
    numbers = [each for each in held if isinstance(each, int | float)]
    if not all(map(in_bounds, numbers)):
        return localized("a number that is NaN or past ±1e70")
    # JSON readers return integers beyond 64 bits as floats.
    whole = all(isinstance(number, int) or (number.is_integer() and abs(number) >= 2**63) for number in numbers)
    if whole and any(abs(number) >= 2**63 for number in numbers):
        return localized("a whole number beyond 64 bits, which belongs in quotation marks")
    return None


def _parts(value: Any) -> Iterator[Any]:
    match value:
        case Mapping():
            for each in value.values():
                yield from _parts(each)
        case list():
            for each in value:
                yield from _parts(each)
        case _:
            yield value


def choice(names: Sequence[str]) -> str:
    """Return the `choice` type of these names.

    >>> choice(["yes", "not sure"])
    'choice(yes, "not sure")'
    """
    return f"choice({', '.join(map(_name, names))})"


def letters(most: int) -> list[str]:
    """Return the first `most` capital letters.

    >>> letters(3)
    ['A', 'B', 'C']
    """
    return [chr(ord("A") + each) for each in range(most)]


def _name(text: str) -> str:
    return text if NAME.fullmatch(text) and text.casefold() not in WORDS else json.dumps(text, ensure_ascii=False)


def _type(held: list[Any]) -> str:
    if all(isinstance(each, bool) for each in held):
        return "bool"
    if all(isinstance(each, str) for each in held):
        return _type_of_texts(held)
    if all(isinstance(each, int | float) and not isinstance(each, bool) for each in held):
        return "integer" if all(isinstance(each, int) for each in held) else "number"
    if all(isinstance(each, bytes) or _is_medium(each) for each in held):
        return _type_of_contents(held)
    if all(isinstance(each, list) for each in held):
        return _type_of_lists(held)
    if all(isinstance(each, Mapping) for each in held):
        return _type_of_records(held)
    return "json"


def _type_of_texts(held: list[str]) -> str:
    """Return the type of cells of a CSV file, which are all text. A number with a leading zero is text."""
    if all(WHOLE.fullmatch(each) for each in held):
        return "integer"
    if all((WHOLE.fullmatch(each) or DECIMAL.fullmatch(each)) and in_bounds(float(each)) for each in held):
        return "number"
    if {each.casefold() for each in held} <= WORDS:
        return "bool"
    names = list(dict.fromkeys(held))
    if len(names) > 1 and len(held) >= ROWS_A_NAME * len(names) and len(names) <= MOST_NAMES:
        if all(LETTER.fullmatch(name) for name in names):
            return choice(letters(ord(max(names)) - ord("A") + 1))
        if all(_is_short(name) for name in names):
            return choice(names)
    if all(each.lstrip().startswith(("[", "{")) for each in held):
        parsed = [_parsed(each) for each in held]
        if all(isinstance(each, list) for each in parsed) or all(isinstance(each, Mapping) for each in parsed):
            return _type(parsed)
    return "text"


def _is_short(text: str) -> bool:
    """Return true if a text can be the name of a choice. Digits alone cannot: they are a number."""
    return text == text.strip() and text.isprintable() and len(text) <= LONGEST_NAME and any(map(str.isalpha, text))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _type_of_lists(held: list[list[Any]]) -> str:
    if all(held) and all(map(_is_dialogue, held)):
        return "dialogue"
    items = [item for each in held for item in each]
    if all(isinstance(item, str) for item in items):
        return "list<text>"
    inner = type_of(items)
    return "json" if inner.startswith(("json", "dialogue", "choice")) else f"list<{inner}>"


def _is_dialogue(items: list[Any]) -> bool:
    return all(isinstance(item, Mapping) and SPEAKERS & set(item) for item in items) and read_turns(items) is not None


def _type_of_records(held: list[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for each in held for name in each))
    if not names or not all(NAME.fullmatch(name) for name in names):
        return "json"
    parts = [f"{name} {type_of([each.get(name) for each in held])}" for name in names]
    return f"{{ {', '.join(parts)} }}"


def _is_medium(value: Any) -> bool:
    """Return true if a cell is a record of `bytes` and `path`, as the library `datasets` stores files."""
    return isinstance(value, Mapping) and set(value) == {"bytes", "path"}


def _type_of_contents(held: list[Any]) -> str:
    """Return the type of files in cells, by their first bytes."""
    from tripos_runtime.datasets.media import type_of as mime_of

    contents = [each if isinstance(each, bytes) else each["bytes"] for each in held]
    mimes = {mime_of(content) if isinstance(content, bytes) else "" for content in contents}
    kinds = {"file" if mime == "application/pdf" else mime.partition("/")[0] for mime in mimes}
    kind = kinds.pop() if len(kinds) == 1 else ""
    return kind if kind in SUFFIXES else "json"


# Words for right answers, and for notes on how to mark them, in column names
WORDS_OF_PARTS = {
    "English": "answer answers *answer *answers ans answerkey solution solutions gold golds golden reference "
    "references label labels *label *labels target targets truth groundtruth key correct explanation explanations "
    "rationale rationales expected mark_scheme marking_scheme markscheme marking_notes marking_guide* grading_notes "
    "grading_guide* scoring_guide* rubric rubrics",
    "German": "antwort* *antwort *antworten losung* *losung *losungen loesung* *loesung *loesungen richtig* korrekt* "
    "erklarung* erklaerung* begrundung* begruendung* erwartungshorizont* erwartung erwartungen bewertungshinweis* "
    "bewertungsraster* bewertungskriteri* korrekturhinweis*",
    "French": "reponse* corrige corriges correction solution* explication* justification* bareme*",
    "Spanish": "respuesta* solucion* correct* explicacion* clave rubrica* pauta*",
    "Portuguese": "resposta* solucao solucoes gabarito* correto* correta* explicacao chave rubrica*",
    "Italian": "risposta risposte soluzion* corrett* spiegazion* rubrica*",
    "Catalan": "resposta respostes solucio*",
    "Romanian": "raspuns* solutie solutii rezolvar* corect*",
    "Dutch": "antwoord* *antwoord oplossing* juist* uitleg uitwerking* correctievoorschrift* beoordelingsmodel*",
    "Swedish": "svar svaret svaren facit losning* ratt",
    "Danish": "svar svaret svarene losning* rigtig* facit",
    "Norwegian": "svar svaret svarene losning* riktig* fasit",
    "Icelandic": "svar svor lausn*",
    "Finnish": "vastau* ratkais* oikea* selity*",
    "Estonian": "vastus* lahendus* oige*",
    "Latvian": "atbild* risinajum* pareiz*",
    "Lithuanian": "atsakym* sprendim* teising*",
    "Polish": "odpowied* rozwiazan* poprawn* wyjasnien* klucz",
    "Czech": "odpoved* reseni spravn* vysvetlen*",
    "Slovak": "odpoved* riesen* spravn* vysvetlen*",
    "Slovene": "odgovor* resit* pravil*",
    "Croatian, Serbian and Bosnian": "odgovor* rjesenj* resenj* tacan tacn* tocan tocn* одговор* решењ* тачан тачн*",
    "Hungarian": "valasz* megoldas* helyes* magyarazat*",
    "Albanian": "pergjigj* zgjidhj*",
    "Turkish": "cevap* cevab* yanit* yanıt* cozum* dogru* acıklama* aciklama*",
    "Azerbaijani": "cavab*",
    "Uzbek": "javob*",
    "Russian": "ответ* решени* правильн* верн* эталон* объяснени* пояснени* ключ",
    "Ukrainian": "відповід* вiдповiд* рішенн* розв* правильн* пояснен*",
    "Belarusian": "адказ* рашэнн*",
    "Bulgarian": "отговор* решени* правил* обяснени*",
    "Macedonian": "одговор* решени*",
    "Kazakh": "жауап* шешім*",
    "Mongolian": "хариу* шийд*",
    "Greek": "απαντησ* λυσ* σωστ* εξηγησ*",
    "Georgian": "პასუხ* ამოხსნ*",
    "Armenian": "պատասխան* լուծում*",
    "Basque": "erantzun* ebazpen*",
    "Welsh": "ateb* datrysiad*",
    "Irish": "freagra* reiteach*",
    "Maltese": "twegiba twegibiet soluzzjoni",
    "Vietnamese": "tra_loi dap_an loi_giai giai_thich traloi dapan loigiai",
    "Indonesian": "jawab* kunci pembahasan penyelesaian solusi",
    "Malay": "jawapan* penyelesaian",
    "Filipino": "sagot kasagutan solusyon",
    "Swahili": "jibu majibu suluhisho",
    "Hausa": "amsa amsoshi",
    "Yoruba": "idahun",
    "Zulu": "impendulo izimpendulo",
    "Esperanto": "respondo respondoj solvo",
}
"""Words that match a whole part of a name, by language, without accents."""
ANYWHERE = {
    "Chinese": "答案 解答 解析 正确 正確 回答 参考答 標準答 标准答 题解 "
    "评分标准 評分標準 评分细则 评分要点 阅卷 得分点 采分点",
    "Japanese": "答え 解答 正解 回答 模範解 解説 こたえ 採点基準",
    "Korean": "정답 해답 답안 답변 모범답 해설 풀이 채점기준",
    "Arabic": "اجاب جواب الحل حلول صحيح تفسير",
    "Persian": "پاسخ جواب راه_حل درست",
    "Urdu": "جواب حل",
    "Hebrew": "תשוב פתרו נכון",
    "Hindi, Marathi and Nepali": "उत्तर जवाब समाधान सही व्याख्या",
    "Bengali": "উত্তর সমাধান সঠিক",
    "Punjabi": "ਜਵਾਬ ਉੱਤਰ ਹੱਲ",
    "Gujarati": "જવાબ ઉત્તર ઉકેલ",
    "Tamil": "பதில் விடை தீர்வு",
    "Telugu": "సమాధాన జవాబు",
    "Kannada": "ಉತ್ತರ ಪರಿಹಾರ",
    "Malayalam": "ഉത്തര പരിഹാര",
    "Sinhala": "පිළිතුර විසඳුම",
    "Thai": "คำตอบ เฉลย",
    "Lao": "ຄຳຕອບ ຄໍາຕອບ",
    "Khmer": "ចម្លើយ",
    "Burmese": "အဖြေ",
    "Amharic": "መልስ",
}
"""Words that match anywhere in a name, by language."""
ALONE = frozenset({"答", "解", "답"})
"""Words of one character that match only a whole part."""
PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
"""Letters that Unicode does not decompose into a letter and an accent."""


def is_answer_name(column: str) -> bool:
    """Return true if a column name contains a word for a right answer, or for notes on how to mark one.

    >>> [is_answer_name(name) for name in ("correct_answer_2", "goldLabel", "Musterlösung", "RÉPONSE", "câu trả lời")]
    [True, True, True, True, True]
    >>> [is_answer_name(name) for name in ("Erwartungshorizont", "Marking notes", "Barème", "评分标准")]
    [True, True, True, True]
    >>> [is_answer_name(name) for name in ("question", "answered_by", "keyword", "Lesezeit", "问题")]
    [False, False, False, False, False]
    """
    parts = _split_name(column)
    joined = "_".join(parts)
    if ALONE & set(parts):
        return True
    together = joined.replace("_", "")
    return bool(_pattern().search(f"_{joined}_")) or any(word in together for word in _anywhere())


def _split_name(name: str) -> list[str]:
    """Return the parts of a name, folded: at marks, before capitals, and around digits.

    >>> _split_name("goldLabel2"), _split_name("XMLAnswer"), _split_name("Muster-Lösung")
    (['gold', 'label', '2'], ['xml', 'answer'], ['muster', 'losung'])
    """
    text = unicodedata.normalize("NFKC", name)
    cut = ""
    for place, letter in enumerate(text):
        before, after = text[place - 1 : place], text[place + 1 : place + 2]
        begins = letter.isupper() and (before.islower() or (before.isupper() and after.islower()))
        cut += " " if begins or (before and before.isdigit() != letter.isdigit()) else ""
        cut += letter
    return [part for part in re.split(r"[\s_]+", re.sub(r"[^\w\s]", " ", _folded(cut))) if part]


def _folded(text: str) -> str:
    """Return a text without case and accents. Combining vowels, as in the scripts of India, are removed too; the words
    are folded the same way."""
    plain = unicodedata.normalize("NFKD", text.casefold().translate(PLAIN))
    return "".join(letter for letter in plain if unicodedata.category(letter) not in ("Mn", "Mc", "Cf"))


@cache
def _pattern() -> re.Pattern[str]:
    words = {_folded(word) for part in WORDS_OF_PARTS.values() for word in part.split()}
    text = "|".join(sorted(re.escape(word).replace(r"\*", "[^_]*") for word in words))
    return re.compile(f"(?<=_)(?:{text})(?=_)")


@cache
def _anywhere() -> frozenset[str]:
    return frozenset(_folded(word).replace("_", "") for some in ANYWHERE.values() for word in some.split())


# The proposed data set
GROUPS = frozenset({"passage", "context", "story", "article", "document", "paragraph", "conversation", "dialogue"})
"""Column names whose repeated values group rows."""
PERSONAL = re.compile(
    r"e-?mail|phone|mobile|(first|last|full|sur|student|user|nick)[ _-]?name|student[ _-]?id|address"
    r"|姓名|邮箱|电话|手机|学号|vorname|nachname|telefon|nom de famille|prénom|courriel|correo",
    re.IGNORECASE,
)
"""Headers of columns about a person."""
MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
TIMESTAMP_HEADERS = frozenset(
    {"timestamp", "zeitstempel", "horodateur", "marca temporal", "时间戳记", "时间戳", "提交时间"}
)
"""Headers that forms give to the time of submission."""
SMALL = frozenset(
    {"a", "an", "the", "of", "to", "in", "on", "for", "and", "or", "is", "are", "do", "does", "did", "with", "this"}
    | {"that", "you", "your", "how", "what", "which", "who"}
)
"""Words that are dropped from a long header."""
LONGEST = 30
"""A header with more letters is a question, and becomes a name of a few of its words."""
MOST_WORDS = 4
AXIS = "language"
"""The axis of every benchmark; a field with this name holds a language of the benchmark."""
KEY = "key"
"""The keyword for rows that belong together, which can also be the name of a field."""
LANGUAGES = frozenset({AXIS, "lang", "locale"})
CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z]{2,4})?")
SCRIPTS = {"HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CJK": "zh", "GREEK": "el", "HEBREW": "he", "THAI": "th"}
"""The language of a script, by the first word of its letters' Unicode names. Latin is used by too many languages."""
SHARE = 0.2
"""Minimum share of letters in a script for its language to be proposed."""
MAX_LETTERS = 20_000
"""The number of letters to examine."""


@dataclass(frozen=True)
class ProposedField:
    """A column: its name in the file and in the spec, its type, whether it is secret, and why. `left_out` is the reason
    to skip the column, or empty. The field of an axis has no type."""

    column: str
    name: str
    type: str | None
    secret: bool = False
    left_out: str = ""
    remark: str = ""

    @property
    def line(self) -> str:
        """The field in the language of specs, with the remark as a comment."""
        if self.left_out:
            return f"  # {localized('left out')}: {_plain(self.column)} ({self.left_out})"
        words = [self.type] if self.type else []
        rest = ["secret"] if self.secret else []
        rest += [] if self.name == self.column else [f"from {_quoted(self.column)}"]
        words = rest + words if self.type and self.type.startswith("{") else words + rest
        return f"  {' '.join([self.name, *words])}" + (f"  # {self.remark}" if self.remark else "")


@dataclass(frozen=True)
class ProposedDataset:
    """A proposed data set for the rows of `source`, for an author to read and correct."""

    name: str
    source: str
    rows: int
    fields: tuple[ProposedField, ...]
    key: str | None
    languages: tuple[str, ...]

    @property
    def secrets(self) -> list[str]:
        """Fields that are hidden from the models under test."""
        return [field.name for field in self.fields if field.secret]

    @property
    def text(self) -> str:
        """The data set as a block of a spec."""
        lines = [f"dataset {self.name} from {_quoted(self.source)} {{", *(field.line for field in self.fields)]
        if self.key is not None:
            lines.append(f"  key {self.key}  # {localized('rows with one value belong together')}")
        return "\n".join([*lines, "}"]) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return the proposal as JSON values, field by field."""
        fields = [
            {
                "column": field.column,
                "name": field.name,
                "type": field.type,
                "secret": field.secret,
                "left_out": field.left_out or None,
                "remark": field.remark or None,
            }
            for field in self.fields
        ]
        told = {"name": self.name, "source": self.source, "rows": self.rows, "fields": fields}
        return {**told, "key": self.key, "languages": list(self.languages), "text": self.text}


def propose(
    name: str, source: str, rows: Sequence[Mapping[str, Any]], axes: Collection[str] = (), folder: Path | None = None
) -> ProposedDataset:
    """Return a data set for rows. A column named like an axis gets the axis's type. A column with paths of images,
    recordings or PDFs in `folder` gets the type of that medium.

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
    held = [value for value in values if not missing(value)]
    if name in axes:
        return ProposedField(column, name, None)
    if column.strip().casefold() in TIMESTAMP_HEADERS:
        return ProposedField(column, name, None, left_out=localized("the time when the form was sent"))
    if PERSONAL.search(column) or (held and all(isinstance(each, str) and MAIL.fullmatch(each) for each in held)):
        return ProposedField(column, name, None, left_out=localized("about a person"))
    if (reason := find_unfit_value(held)) is not None:
        return ProposedField(column, name, None, left_out=reason)
    type_ = type_of(values)
    if name == KEY and type_.startswith("{"):
        type_ = "json"  # `key { … }` would be a statement
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
        type_ = choice([letter for letter in letters(10) if letter in names]) + optional
    elif type_.rstrip("?") == "text" and not secret:
        remark = _several(held) or _with_commas(held)
    return ProposedField(column, name, type_, secret, remark=remark)


def _answer(
    values: Sequence[Any], lists: Mapping[str, Sequence[list[Any]]], names: Mapping[str, str]
) -> tuple[bool, str]:
    """Return whether the values are right answers, and why: each is an option of its row, or the letter or place of
    one."""
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
"""The header of a column that holds one of several options."""


def _options_in_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[list[Any]]]:
    """Return the options of each row if every option has its own column, such as `A`, `B` and `C`, under their joined
    names."""
    some = [column for column, values in columns.items() if OPTION.fullmatch(column) and not any(map(missing, values))]
    texts = [column for column in some if all(isinstance(each, str) for each in columns[column])]
    if len(texts) < 2:
        return {}
    return {" | ".join(texts): [list(each) for each in zip(*(columns[column] for column in texts), strict=True)]}


def _is_option(values: Sequence[Any], lists: Mapping[str, Sequence[list[Any]]]) -> bool:
    """Return true if each value is a text among the options of its row. A number would not equal that text."""
    return any(all(value in options for value, options in zip(values, given, strict=True)) for given in lists.values())


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 4 else None


def _letters_of(held: Sequence[str], values: Sequence[Any], lists: Mapping[str, Sequence[list[Any]]]) -> str:
    """Return the choice of as many letters as there are options, if every letter names an option."""
    for given in lists.values():
        most = max(map(len, given), default=0)
        places = [(ord(value) - ord("A"), len(options)) for value, options in zip(values, given, strict=True) if value]
        if 1 < most <= 10 and all(place < size for place, size in places):
            return choice(letters(most))
    return choice(letters(ord(max(held)) - ord("A") + 1))


def _medium(held: Sequence[str], folder: Path | None) -> str | None:
    """Return the media type of files that cells name, or None if the first of them does not exist."""
    kinds = (kind for kind, ends in SUFFIXES.items() if all(each.casefold().endswith(ends) for each in held))
    kind = next(kinds, None)
    if kind is None or folder is None:
        return None
    return kind if SourceFolder.around(folder).file(folder / held[0]).is_there else None


def _several(held: Sequence[str]) -> str:
    """Return a remark if cells hold several of a few answers, as forms write them, or an empty text. Each answer of
    such a cell must occur in another cell too."""
    for mark in (", ", ";"):
        cells = [{part.strip() for part in each.split(mark)} for each in set(held)]
        counts = Counter(part for cell in cells for part in cell)
        together = {part for cell in cells if len(cell) > 1 for part in cell}
        if together and len(counts) <= MOST_NAMES and all(counts[part] > 1 for part in together):
            return localized(f"several answers in a cell: `split(…, {_quoted(mark)})` gives the list")
    return ""


def _with_commas(held: Sequence[str]) -> str:
    """Return a remark if all cells are whole numbers or numbers with a comma, or an empty text."""
    if all(has_comma(each) or each.strip().isdecimal() for each in held) and any(map(has_comma, held)):
        return localized("numbers with a comma: save the sheet as .xlsx, which has them as numbers")
    return ""


def _names(columns: Iterable[str]) -> dict[str, str]:
    """Return a unique name in the spec for each column.

    >>> _names(["id", "Question text", "Which of these do you read on most days?", "1st", "???"])
    {'id': 'id', 'Question text': 'Question_text', 'Which of these do you read on most days?': 'these_read_most_days', \
'1st': 'column_4', '???': 'column_5'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for number, column in enumerate(columns, 1):
        name = re.sub(r"\W+", "_", column.strip()).strip("_")
        if len(name) > LONGEST:
            words = [part for part in name.casefold().split("_") if part not in SMALL]
            name = "_".join(words[:MOST_WORDS])[:LONGEST].strip("_")
        if not NAME.fullmatch(name):
            name = f"column_{number}"
        name = f"in_{name}" if name in (AXIS, *OPERATORS) else name
        found[column] = unused_name(name, taken)
        taken.add(found[column])
    return found


def _key(columns: Mapping[str, Sequence[Any]], fields: Sequence[ProposedField]) -> str | None:
    """Return the field that groups rows: it names a passage or the like, and its values repeat."""
    for field in fields:
        if _base(field.column) not in GROUPS or field.secret or field.left_out or field.type not in ("text", "integer"):
            continue
        values = [str(each) for each in columns[field.column]]
        if 1 < len(set(values)) <= 0.8 * len(values):
            return field.name
    return None


def _base(column: str) -> str:
    """Return a column name without a suffix such as `id`, `no` or `title`.

    >>> _base("Passage_ID"), _base("story title")
    ('passage', 'story')
    """
    return re.sub(r"[ _-]?(id|no|nr|key|title|name)$", "", column.strip().casefold())


def _languages(columns: Mapping[str, Sequence[Any]], fields: Sequence[ProposedField]) -> tuple[str, ...]:
    """Return the languages of the rows: from a language column, or else from the scripts of the texts."""
    for column, values in columns.items():
        if column.strip().casefold() in LANGUAGES:
            codes = list(dict.fromkeys(str(each) for each in values))
            return tuple(codes) if all(CODE.fullmatch(code) for code in codes) else ()
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
            if looked > MAX_LETTERS:
                break
    texts = {language for language, many in found.items() if many >= SHARE * looked}
    if found.get("ja", 0) >= 0.05 * looked and looked:
        texts = (texts - {"zh"}) | {"ja"}
    return tuple(sorted(texts))


def _plain(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'
