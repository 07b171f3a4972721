"""`tripos import dataset` proposes a data set that the compiler takes as it stands, with what is secret found."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import huggingface_hub.constants
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from tests.conftest import Command
from tests.releases.hub_server import Hub, Repo, serving
from tripos.importing.datasets import ANYWHERE, WORDS_OF_PARTS, is_answer_name, propose
from tripos_compiler.compile import compile_spec
from tripos_runtime.datasets.data_files import DataFolders

SPEC = 'benchmark b "1.0.0" { languages en }\nrole candidate compared\n'
USE = 'scenario s {\n  over item\n  ask reply by candidate { prompt "Answer." }\n  score brief = words(reply.text) <= 9\n}\n'
OTHER = SPEC + USE.replace("  over item\n", "")
LARGE = (2**63, 2**64 - 1, -(10**30), 1e70, 1.1e70, -1.7e308, 5e-324)
TEXTS = st.sampled_from(
    [
        "up",
        "down",
        "not so",
        "A",
        "B",
        "7",
        "07",
        "1.5",
        "true",
        "",
        f"1{'0' * 90}.5",
        "9" * 30,
        "1e400",
        "a.png",
        '["x"]',
        '{"a": 1}',
        "x\ny",
    ]
)
TEXTS |= st.text(max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-9, 9) | TEXTS | st.sampled_from(LARGE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b c", "role", "text"]), inner, max_size=2),
    max_leaves=6,
)  # fmt: skip
COLUMNS = st.sampled_from(
    [
        "id",
        "key",
        "from",
        "and",
        "or",
        "not",
        "in",
        "true",
        "secret",
        "language",
        "Story",
        "question?",
        "E-mail",
        "Timestamp",
        "题目",
        "1st",
        "options",
        "a" * 40,
    ]
) | st.text(min_size=1, max_size=12)


def printed(text: str) -> list[str]:
    """Return the lines of a data set without the layout."""
    return [" ".join(line.split()) for line in text.splitlines()[1:-1]]


def errors_of(tmp_path: Path, rows: list[dict[str, Any]]) -> list[str]:
    """Return the errors of a spec with the data set that is proposed for rows."""
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    text = SPEC + propose("item", "rows.jsonl", rows).text + USE
    found = compile_spec(str(tmp_path / "b.tripos"), lambda _: text, DataFolders())
    return [f"{each.code}: {each.message}\n{text}" for each in found.diagnostics if each.severity == "error"]


@given(data=st.data())
def test_the_compiler_takes_what_is_proposed(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    columns = data.draw(st.lists(COLUMNS, min_size=1, max_size=4, unique=True))
    kinds = {
        column: data.draw(st.sampled_from([VALUES, TEXTS, st.integers(0, 3), st.booleans()])) for column in columns
    }
    some = data.draw(st.lists(st.fixed_dictionaries(dict(kinds)), min_size=1, max_size=8))
    rows = [{**row, "n": number} for number, row in enumerate(some)]
    assert errors_of(tmp_path_factory.mktemp("rows"), rows) == []


COLUMNS_OF_ARROW: dict[str, Any] = {
    "small": pa.array([1, None, 3], pa.int8()),
    "huge": pa.array([2**64 - 1, 1, 2], pa.uint64()),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("2.00")]),
    "halves": pa.array([1.5, math.nan, math.inf]),
    "tiny": pa.array([5e-324, 1e70, -1.0]),
    "past": pa.array([1e71, 2.0, 3.0]),
    "day": pa.array([date(2024, 2, 29), None, date(1, 1, 1)]),
    "moment": pa.array([datetime(2024, 2, 29, 1, 2, 3), None, None]),
    "clock": pa.array([time(1, 2), time(3, 4), time(5, 6)]),
    "span": pa.array([timedelta(seconds=1), None, timedelta(days=2)]),
    "bytes": pa.array([b"\xff\x00", b"x", None]),
    "held bytes": pa.array([{"z": b"\xff"}, {"z": b""}, None]),
    "of no kind": pa.array([{"bytes": b"\xff", "path": None}, {"bytes": b"", "path": "x"}, None]),
    "pairs": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    "record": pa.array([{"x": 1, "day": date(2024, 1, 2)}, {"x": 2, "day": None}, {"x": 3, "day": None}]),
    "days": pa.array([[date(2024, 1, 2)], [], []]),
    "coded": pa.array(["a", "b", "a"]).dictionary_encode(),
    "nothing": pa.nulls(3),
    "truth": pa.array([True, None, False]),
    "zeros": pa.array(["007", "08", "1"]),
}


@pytest.mark.parametrize("column", COLUMNS_OF_ARROW)
def test_columns_of_every_type_of_parquet_are_read_as_they_are_or_told_to_be_left_out(
    column: str, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    values = COLUMNS_OF_ARROW[column]
    pq.write_table(pa.table({"q": ["a", "b", "c"], column: values}), "rows.parquet")
    Path("b.tripos").write_text(OTHER, "utf-8")
    done = tripos("import", "dataset", "rows.parquet", "--name", "item", "--in", "b.tripos")
    assert done.code == 0, done.err
    Path("b.tripos").write_text(
        Path("b.tripos").read_text("utf-8").replace("scenario s {", "scenario s {\n  over item"), "utf-8"
    )
    checked = tripos("check", "b.tripos")
    assert checked.code == 0, checked.out + checked.err
    if column in ("huge", "halves", "past", "bytes", "held bytes", "of no kind"):
        assert f"left out: `{column}`" in done.err
    else:
        assert "left out" not in done.out + done.err


def test_what_a_parquet_file_holds_is_what_json_says_of_it(tmp_path: Path) -> None:
    names = ("decimal", "day", "moment", "clock", "span", "pairs", "record", "days")
    pq.write_table(pa.table({name: COLUMNS_OF_ARROW[name] for name in names}), tmp_path / "rows.parquet")
    folders = DataFolders((tmp_path,))
    first, *_ = folders.rows(folders.find("rows.parquet", str(tmp_path / "b.tripos"))[0])
    assert first == {
        "decimal": 1.1,
        "day": "2024-02-29",
        "moment": "2024-02-29T01:02:03",
        "clock": "01:02:00",
        "span": 1.0,
        "pairs": [["k", 1]],
        "record": {"x": 1, "day": "2024-01-02"},
        "days": ["2024-01-02"],
    }


def test_a_form_is_read_without_what_is_about_people(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heads = ["Zeitstempel", "Your address", "Contact", "Which of these do you read on most days?", "Level", "code"]
    rows = [
        ["2026-01-02", "3 High St", "p@x.org", '"Books, Papers"', "easy", "007"],
        ["2026-01-03", "4 High St", "q@x.org", "Papers", "not so easy", "12"],
        ["2026-01-04", "5 High St", "r@x.org", "Books", "easy", "12"],
    ] * 6
    Path("form.csv").write_text("\n".join(map(",".join, [heads, *rows])), "utf-8")
    done = tripos("import", "dataset", "form.csv", "--name", "answer")
    assert done.code == 0, done.err
    assert printed(done.out) == [
        "# left out: Zeitstempel (the time when the form was sent)",
        "# left out: Your address (about a person)",
        "# left out: Contact (about a person)",
        'these_read_most_days text from "Which of these do you read on most days?"'
        ' # several answers in a cell: `split(…, ", ")` gives the list',
        'Level choice(easy, "not so easy")',
        "code text",
    ]
    assert done.out.startswith('dataset answer from "form.csv" {')
    assert "left out: `Zeitstempel`, `Your address`, `Contact`" in done.err


def test_right_answers_are_found_by_what_they_are(tmp_path: Path) -> None:
    rows = [
        {
            "passage": f"Text {number // 3}.",
            "options": ["a", "b", "c", "d"],
            "letter": "ABC"[number % 3],
            "place": number % 4,
            "number": number % 4 + 1,
            "right": "abcd"[number % 4],
            "level": number % 7,
            "talk": [{"role": "user", "content": "Hi"}],
            "题目": "这是一个问题吗",
        }
        for number in range(9)
    ]
    found = propose("item", "rows.jsonl", rows)
    assert printed(found.text) == [
        "passage text",
        "options list<text>",
        "letter choice(A, B, C, D) secret # the letter of one of `options`",
        "place integer secret # a place in `options`, from 0",
        "number integer secret # a place in `options`, from 1",
        "right text secret # always one of `options`",
        "level integer",
        "talk dialogue",
        "题目 text",
        "key passage # rows with one value belong together",
    ]
    assert (found.secrets, found.languages) == (["letter", "place", "number", "right"], ("zh",))
    assert errors_of(tmp_path, rows) == []


def test_letters_are_those_of_the_columns_with_the_options() -> None:
    rows = [{"question": "?", "A": "1", "B": "2", "C": "3", "D": "4", "answer": each} for each in "BCB"]
    told = "answer choice(A, B, C, D) secret # the letter of one of `A | B | C | D`"
    assert told in printed(propose("item", "rows.csv", rows).text)


def test_a_remark_with_a_comma_is_no_list(tmp_path: Path) -> None:
    rows = [{"said": each} for each in ["Yes", "No", "Yes, with help"] * 4]
    assert printed(propose("item", "rows.csv", rows).text) == ['said choice(Yes, No, "Yes, with help")']
    rows = [{"told": "x" * 400, "talk": [{"user": "Ann", "text": "Hi", "time": "06:36"}]}] * 2
    assert printed(propose("item", "rows.jsonl", rows, folder=tmp_path).text) == ["told text", "talk dialogue"]


def test_paths_of_images_are_images_where_these_are_there(tmp_path: Path) -> None:
    rows = [{"picture": "a.png", "note": "x"}, {"picture": "b.png", "note": "y"}]
    assert "picture text" in printed(propose("item", "rows.jsonl", rows, folder=tmp_path).text)
    (tmp_path / "a.png").write_bytes(b"")
    assert "picture image # paths of files" in printed(propose("item", "rows.jsonl", rows, folder=tmp_path).text)


def test_a_database_is_queried_into_rows_beside_the_spec(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("exam.db") as one:
        one.execute("create table sums (id integer, question text, gold text)")
        one.executemany("insert into sums values (?, ?, ?)", [(1, "1 + 1?", "2"), (2, "2 + 2?", "4")])
    with duckdb.connect("marks.duckdb") as other:
        other.execute("create table a as select 1.50::decimal(4, 2) as mark, date '2026-01-02' as day, ['x'] as tags")
        other.execute("create table b as select 'x'::blob as raw, 'inf'::double as odd")
    Path("b").mkdir()
    Path("b/b.tripos").write_text(OTHER, "utf-8")
    done = tripos("import", "dataset", "exam.db", "--name", "item", "--in", "b/b.tripos")
    assert done.code == 0, done.err
    assert Path("b/item.jsonl").read_text("utf-8").splitlines()[0] == '{"id": 1, "question": "1 + 1?", "gold": "2"}'
    assert 'dataset item from "item.jsonl" {' in Path("b/b.tripos").read_text("utf-8")
    assert tripos("check", "b").code == 0
    again = tripos("import", "dataset", "exam.db", "--name", "item")
    assert again.code == 0 and Path("item.jsonl").is_file()
    refused = tripos("import", "dataset", "marks.duckdb")
    assert refused.code == 2 and "`marks.duckdb` has 2 tables: a, b" in refused.err
    found = tripos("import", "dataset", "marks.duckdb", "--query", "from a", "-o", "a.jsonl", "--json").data
    assert [(each["name"], each["type"]) for each in found["fields"]] == [
        ("mark", "number"),
        ("day", "text"),
        ("tags", "list<text>"),
    ]
    assert json.loads(Path("a.jsonl").read_text("utf-8")) == {
        "mark": float(Decimal("1.5")),
        "day": "2026-01-02",
        "tags": ["x"],
    }
    for query, told in (
        ("select raw from b", "column `raw` of `marks.duckdb` holds bytes"),
        ("select odd from b", "row 1 holds a number that is none"),
        ("select 1 as x, 2 as x", "the query gives two columns `x`"),
        ("drop table a", "`marks.duckdb` cannot be read"),
    ):
        wrong = tripos("import", "dataset", "marks.duckdb", "--query", query, "-o", "wrong.jsonl")
        assert (wrong.code, told in " ".join(wrong.err.split())) == (2, True), wrong.err
    assert not Path("wrong.jsonl").exists()
    assert "is there already" in tripos("import", "dataset", "marks.duckdb", "--query", "from a", "-o", "a.jsonl").err


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
        repo = Repo()
        row = b'{"question": "3 + 4?", "options": ["6", "7"], "label": 1}\n'
        repo.tags["v1"] = repo.commit({"main/test-00000-of-00002.jsonl": row, "main/test-00001-of-00002.jsonl": row})
        files = {"main/test-00000-of-00002.jsonl": row, "main/test-00001-of-00002.jsonl": row, "main/train.jsonl": row}
        repo.commit({**files, "README.md": b""})
        hub.repos["lab/sums"] = repo
        yield hub


def test_a_data_set_of_the_hub_is_fetched_and_pinned(
    hub: Hub, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    several = tripos("import", "dataset", "hf://lab/sums")
    assert several.code == 2
    assert "several files: main/test-*.jsonl, main/train.jsonl" in " ".join(several.err.split())
    Path("b.tripos").write_text(OTHER, "utf-8")
    done = tripos("import", "dataset", "hf://lab/sums", "--split", "test", "--in", "b.tripos")
    assert done.code == 0, done.err
    text = Path("b.tripos").read_text("utf-8")
    commit = hub.repos["lab/sums"].head
    assert f'dataset sums from "hf://lab/sums@{commit}/main/test-*.jsonl" {{' in text
    assert "label integer secret" in " ".join(text.split())
    assert tripos("check", "b.tripos").code == 0
    one = tripos("import", "dataset", "hf://lab/sums@v1/main/test-00000-of-00002.jsonl")
    assert one.code == 0, one.err
    assert f"hf://lab/sums@{hub.repos['lab/sums'].tags['v1']}/main/test-00000-of-00002.jsonl" in one.out
    assert "did you mean `test`?" in tripos("import", "dataset", "hf://lab/sums", "--split", "tests").err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("rows.csv", "--query", "from x"), "`--query` has no meaning for `rows.csv`"),
        (("rows.csv", "--split", "test"), "it is for data sets of the Hub"),
        (("hf://lab",), "`hf://lab` is no place on the Hub"),
        (("none.csv",), "no file `none.csv`"),
        (("none.db",), "there is no file `none.db`"),
        (("rows.csv", "--name", "a-b"), "`a-b` is no name"),
        (("rows.csv", "--in", "none.tripos"), "there is no spec at"),
        (("empty.jsonl",), "`empty.jsonl` has no rows"),
        (("odd.db",), "`odd.db` cannot be read"),
        (("people.csv",), "no column of `people.csv` is about an item: `E-mail`, `Timestamp`"),
    ],
)
def test_a_refusal_says_why(
    words: tuple[str, ...], told: str, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("a\n1\n", "utf-8")
    Path("people.csv").write_text("E-mail,Timestamp\na@b.org,1\n", "utf-8")
    Path("empty.jsonl").write_text("", "utf-8")
    Path("odd.db").write_text("no database", "utf-8")
    done = tripos("import", "dataset", *words)
    assert (done.code, told in " ".join(done.err.split())) == (2, True), done.err


NAMED = {
    "en": "answer correct_answer_2 goldLabel ANSWER-KEY CorrectAnswer",
    "de": "Lösung Antwort Musterlösung Loesung richtigeAntwort",
    "fr": "réponse Réponse_correcte", "es": "solución respuesta_correcta", "pt": "resposta gabarito",
    "it": "risposta soluzione", "nl": "antwoord", "sv": "svar lösning", "da": "løsning", "fi": "vastaus",
    "pl": "odpowiedź rozwiązanie", "cs": "odpověď řešení", "hr": "odgovor rješenje", "hu": "válasz", "ro": "răspuns",
    "tr": "cevap çözüm yanıt", "ru": "ответ Решение", "uk": "відповідь", "bg": "Отговор", "kk": "жауап",
    "el": "απάντηση λύση", "ka": "პასუხი", "hy": "պատասխան", "vi": "câu_trả_lời đápÁn", "id": "jawaban",
    "ms": "jawapan", "sw": "jibu", "zh": "正确答案 解答 標準答案", "ja": "正解 答え", "ko": "정답 해설",
    "ar": "الإجابة الجواب", "fa": "پاسخ", "he": "תשובה", "hi": "उत्तर", "bn": "উত্তর", "ta": "விடை", "th": "คำตอบ",
    "eu": "erantzuna", "cy": "ateb",
}  # fmt: skip
"""Names of columns that hold answers, by language."""
OPEN = (
    "question answered_by respondent keyword title passage choices language subject difficulty prompt hint Frage "
    "pregunta 问题 質問 질문 سؤال प्रश्न вопрос soru kérdés câu_hỏi pergunta domanda vraag kysymys ερώτηση שאלה คำถาม"
)
"""Names of columns that hold none."""
FORMS = (str, str.upper, str.title, lambda name: unicodedata.normalize("NFD", name), lambda name: f"item {name} 3",
         lambda name: name.replace("_", "-"), lambda name: f"the_{name}_text")  # fmt: skip
"""Ways to write a name."""


def test_answers_have_their_names_in_many_languages_and_forms() -> None:
    names = [each(name) for some in NAMED.values() for name in some.split() for each in FORMS]
    assert [name for name in names if not is_answer_name(name)] == []
    assert [name for name in OPEN.split() for each in FORMS if is_answer_name(each(name))] == []
    assert len(WORDS_OF_PARTS) + len(ANYWHERE) >= 60


def test_a_source_without_an_answer_says_so(tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for column, told in (
        ("frage", "no column looks like an answer: write `secret`"),
        ("Lösung", "`Lösung`"),
        ("Erwartungshorizont", "`Erwartungshorizont`"),
        ("Marking notes", "`Marking_notes`"),
        ("评分标准", "`评分标准`"),
    ):
        Path("rows.csv").write_text(f"text,{column}\na,b\nc,d\n", "utf-8")
        done = tripos("import", "dataset", "rows.csv")
        assert (done.code, told in done.err) == (0, True), done.err


def test_numbers_with_a_comma_are_text_with_a_remark(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("q;weight;page\na;1,5;3\nb;2;4\nc;0,25;9\n", "utf-8")
    out = tripos("import", "dataset", "rows.csv").out
    assert re.search(r"weight +text +# numbers with a comma: save the sheet as \.xlsx", out), out
    assert re.search(r"page +integer\n", out), out


def test_a_database_reads_no_other_file(tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view of a stranger's database would copy a file of the user's into rows."""
    import duckdb

    monkeypatch.chdir(tmp_path)
    Path("private.txt").write_text("private", "utf-8")
    with duckdb.connect("odd.duckdb") as connection:
        connection.execute(f"create view told as select content from read_text('{tmp_path}/private.txt')")
    done = tripos("import", "dataset", "odd.duckdb")
    assert (done.code, "disabled by configuration" in done.err, Path("odd.jsonl").exists()) == (2, True, False)
    assert tripos("import", "dataset", "odd.duckdb", "--allow-outside").code == 0
    assert "private" in Path("odd.jsonl").read_text("utf-8")
