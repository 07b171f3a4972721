"""Specs and data that are not UTF-8, and spreadsheets that keep another value than was typed: each is named with how to
fix it, and none is read by a guess."""

from __future__ import annotations

import random
import subprocess
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from tests.conftest import Command
from tripos_compiler.diagnostics.text_format import encoding_of

SPEC = """\
# 测验
benchmark quiz "1.0.0" {{ languages zh }}
role candidate compared
dataset item from "{data}" {{
  question  text
  code      text
  answer    text secret
}}
scenario one {{
  over item
  ask reply by candidate {{ prompt "{{{{ item.question }}}} {{{{ item.code }}}} 请回答" }}
  score right = contains(reply.text, item.answer)
}}
"""
CSV = "question,code,answer\n谁写了红楼梦？,007,曹雪芹\n水的沸点是多少？,1,一百度\n"
JSONL = (
    '{"question": "谁写了红楼梦？", "code": "007", "answer": "曹雪芹"}\n'
    '{"question": "水的沸点是多少？", "code": "1", "answer": "一百度"}\n'
)
ENCODINGS = [
    ("gbk", "likely GBK", "GB18030"),
    ("gb18030", "likely GBK", "GB18030"),
    ("utf-16", "UTF-16", "UTF-16"),
    ("utf-16-le", "likely UTF-16LE", "UTF-16LE"),
    ("utf-16-be", "likely UTF-16BE", "UTF-16BE"),
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("encoding", "named", "converted"), ENCODINGS)
@pytest.mark.parametrize("given", ["quiz.tripos", "."])
def test_a_spec_in_another_encoding_is_named_with_the_command_that_converts_it(
    encoding: str, named: str, converted: str, given: str, tripos: Command
) -> None:
    Path("items.csv").write_text(CSV, "utf-8")
    Path("quiz.tripos").write_bytes(SPEC.format(data="items.csv").encode(encoding))
    done = tripos("check", given)
    assert done.code == 2
    assert f"{named}\n" in done.err
    assert "check the path" not in done.err
    command = f"iconv -f {converted} -t UTF-8 quiz.tripos > new"
    assert f"`{command}`" in done.err
    subprocess.run(["bash", "-c", f"{command} && mv new quiz.tripos"], check=True)
    assert tripos("check", given).code == 0


def test_a_used_file_and_one_to_format_are_named_likewise(tripos: Command) -> None:
    Path("items.csv").write_text(CSV, "utf-8")
    Path("part.tripos").write_bytes(SPEC.format(data="items.csv").encode("gbk"))
    Path("quiz.tripos").write_text('use "part.tripos"\n', "utf-8")
    assert "cannot use `part.tripos`: it is not UTF-8 text, but likely GBK" in flat(tripos("check", "quiz.tripos").err)
    assert "cannot read part.tripos: it is not UTF-8 text, but likely GBK" in flat(tripos("fmt", "part.tripos").err)


@pytest.mark.parametrize(("encoding", "named", "converted"), ENCODINGS)
@pytest.mark.parametrize(("name", "text"), [("items.csv", CSV), ("items.jsonl", JSONL)])
def test_data_in_another_encoding_is_named_with_the_command_that_converts_it(
    encoding: str, named: str, converted: str, name: str, text: str, tripos: Command
) -> None:
    Path(name).write_bytes(text.encode(encoding))
    Path("quiz.tripos").write_text(SPEC.format(data=name), "utf-8")
    done = tripos("check", "quiz.tripos")
    assert done.code == 2
    assert "error[E0307]" in done.err
    assert named in done.err
    assert f"`iconv -f {converted} -t UTF-8 {name} > new`" in flat(done.err)


@pytest.mark.parametrize(("name", "text"), [("items.csv", CSV), ("items.jsonl", JSONL)])
def test_a_byte_order_mark_is_no_part_of_a_spec_or_of_data(name: str, text: str, tripos: Command) -> None:
    Path(name).write_text(text, "utf-8-sig")
    Path("quiz.tripos").write_text(SPEC.format(data=name), "utf-8-sig")
    assert tripos("check", "quiz.tripos", "--deny", "warnings").code == 0


def test_text_of_western_europe_is_not_taken_for_chinese(tripos: Command) -> None:
    Path("items.csv").write_bytes("question,code,answer\nOù est le café?,1,là\n".encode("latin-1"))
    Path("quiz.tripos").write_text(SPEC.format(data="items.csv"), "utf-8")
    err = tripos("check", "quiz.tripos").err
    assert "line 2 of items.csv is not UTF-8, but likely Windows-1252" in flat(err)
    assert "iconv -f Windows-1252 -t UTF-8 items.csv > new" in flat(err)
    Path("items.csv").write_bytes(b"question,code,answer\nO\x97 est,1,l\x85\x81\n")
    assert "line 2 of items.csv is not UTF-8: no text has the byte 0x97 there" in flat(
        tripos("check", "quiz.tripos").err
    )


def workbook(*codes: Any) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["question", "code", "answer"])
    for number, code in enumerate(codes):
        sheet.append([f"question {number}", code, "x"])
    book.save("items.xlsx")
    Path("quiz.tripos").write_text(SPEC.format(data="items.xlsx"), "utf-8")


@pytest.mark.parametrize("code", [4.50, 1, 1.0, 12345678901234567890])
def test_a_number_in_a_text_of_a_workbook_is_refused_with_what_it_lost(code: float, tripos: Command) -> None:
    workbook("007", code)
    done = tripos("check", "quiz.tripos")
    assert done.code == 2
    assert "row 3 of items.xlsx" in done.err
    assert "format the column as text and type it again: else `007` is kept as 7" in flat(done.err)


def test_a_date_in_a_text_of_a_workbook_is_warned_of_once_with_the_number_of_rows(tripos: Command) -> None:
    workbook(date(2026, 3, 4), "3/4", datetime(2026, 1, 2, 3, 4))
    done = tripos("check", "quiz.tripos")
    assert done.code == 0
    assert done.err.count("warning[W0310]") == 1
    assert "rows 2 and 1 more of items.xlsx: a date stands in the text `code`" in flat(done.err)
    assert tripos("check", "quiz.tripos", "--deny", "W0310").code == 2


def test_text_in_a_workbook_is_kept_as_it_was_typed(tripos: Command) -> None:
    workbook("007", "4.50", "3/4")
    assert tripos("check", "quiz.tripos", "--deny", "warnings").code == 0


def test_a_number_in_a_text_of_json_belongs_in_quotation_marks(tripos: Command) -> None:
    Path("items.jsonl").write_text('{"question": "a", "code": 7, "answer": "x"}\n', "utf-8")
    Path("quiz.tripos").write_text(SPEC.format(data="items.jsonl"), "utf-8")
    assert "put it in quotation marks" in tripos("check", "quiz.tripos").err


WESTERN = "Größe Straße über für Löwe Mädchen déjà élève garçon où naïf niño año señor ação às «oui» — l’été Ärger"
CHINESE = "谁写了红楼梦 水的沸点是多少 一百度 请回答 下列选项中正确的是 学生 A组 B 级 7 x 的值 Word文档 的 格式"


@pytest.mark.parametrize(("words", "encoding", "named"), [(WESTERN, "cp1252", "Windows-1252"), (CHINESE, "gbk", "GBK")])
def test_letters_of_western_europe_and_chinese_are_told_apart(words: str, encoding: str, named: str) -> None:
    drawn = random.Random(encoding)
    for _ in range(2_000):
        chosen = [*drawn.choices(words.split(), k=drawn.randint(8, 30)), *drawn.choices(["a", "12", "the", "et"], k=6)]
        drawn.shuffle(chosen)
        raw = drawn.choice([" ", ";", ","]).join(chosen).encode(encoding)
        assert encoding_of(raw) == named, raw.decode(encoding)


@pytest.mark.parametrize("seed", range(12))
def test_numbers_between_semicolons_that_are_two_numbers_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(seed)
    unclear = [f"{drawn.randint(1, 999)}.{drawn.randint(0, 999):03}" for _ in range(seed % 3)]
    clear = [f"{drawn.randint(0, 9)}.{drawn.randint(1, 99):02}" for _ in range(seed // 3 % 2)]
    cells = [*unclear, *clear, *(str(drawn.randint(0, 5000)) for _ in range(2))]
    drawn.shuffle(cells)
    mark = ";" if seed < 9 else ","
    rows = [f"w{place}{mark}{cell}{mark}1.5" for place, cell in enumerate(cells)]
    Path("a.csv").write_text("\n".join((f"question{mark}cost{mark}code", *rows)) + "\n", "utf-8")
    spec = SPEC.format(data="a.csv").replace("code      text", "code text\n  cost number")
    Path("quiz.tripos").write_text(spec.replace("answer    text secret", 'answer text secret from "question"'), "utf-8")
    done = tripos("check", "quiz.tripos")
    refused = bool(unclear) and not clear and mark == ";"
    assert done.err.count("error[E0305]") == refused, done.err
    if refused:
        cell = next(cell for cell in cells if cell in unclear)
        assert f"row {cells.index(cell) + 2} of a.csv: `{cell}` may be {float(cell):g} or " in done.err
