"""A fault of a data file is reported once, with the data set that reads it, and nothing that follows from it: for faults
and uses of data sets that a seed draws."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from compiling import compile_files

from tests.lengths import sized, spread

HEAD = """\
benchmark f "1.0.0" { languages en }
role candidate compared
role judge panel
role author
arm order { one, two }
axis kind { a, b }
scorer good(x: text) by judge { prompt "{{ x }}", gives bool }
scorer both(x: text, y: text) by judge { prompt "{{ x }} {{ y }}", gives choice(x, y) }
"""
DATASETS = {
    "item": 'dataset item from "items.jsonl" { id text, question text, answer text secret, words list<text>, kind, '
    "level integer, parts list<{ m text, n integer }>, name text }",
    "other": 'dataset other from "other.jsonl" { name text, note text, parts list<text>, size integer }',
    "again": 'dataset again from "items.jsonl" { name text, question text }',
    "twin": 'dataset twin from "items.jsonl" like item',
    "late": "dataset late from item where item.level > 0 { let shout = upper(item.question) }",
    "made": "dataset made by author from item { count 1, "
    'prompt "{{ item.question }}", returns { task text, sol text secret } }',
    "joined": 'dataset joined from "items.jsonl" { join "other.jsonl" on "name", note text, answer text secret }',
}
BROKEN = ("item", "other", "again", "twin", "joined")
"""The data sets that read files."""
OVER = {
    "item": ("question", "answer"),
    "twin": ("question", "answer"),
    "late": ("shout", "answer"),
    "made": ("task", "sol"),
    "joined": ("note", "answer"),
}
"""Of the data sets that scenarios run over, the field that is asked and the secret one."""
STEPS = {
    "any": (
        '  let heard = first(other.note)\n  score h = contains(reply.text, heard)\n  measure mh = mean(h)',
        "  retrieve near from other as o { top 1 by bm25(reply.prompt, o.name) }\n"
        "  score n = contains(reply.text, first(near).note)",
        '  ask more by candidate { shots 1 from other where other.size > 0 { prompt "{{ other.name }}", '
        'reply "{{ other.note }}" }, prompt "More." }\n  score mo = contains(more.text, "x")',
        "  score some = any([good(join((reply.text, w), \" \")) each w in other.note at most 3])",
        "  score g = good(reply.text)\n  measure mg = mean(g)\n  measure share = mg - mean(right)",
        "  compare won using both(first.reply.text, second.reply.text)\n  measure mw = win_rate(won)",
        "  score low = length([a each a in again where a.name == \"n1\"]) > words(reply.text)",
    ),
    "item": (
        '  ask turn by candidate each p in ROW.parts { prompt "{{ p.m }}" }\n'
        "  score t = contains(p.text, \"x\") each p in turn",
        "  score met = good(choose(part.n > 0, reply.text, part.m)) each part in ROW.parts\n  measure by_n = mean(met) by part.n\n"
        "  measure weighed = weighted_mean(met, part.n)",
        "  score words_ = contains(reply.text, w) each w in ROW.words where w != \"zz\"\n  measure by_w = mean(words_) by w",
        "  score all_ = any([both(reply.text, w) == x each w in ROW.words])",
        "  score ranked = exact(reply.text, nth(ROW.words, 0)) when ROW.level > 0",
        "  options put from ROW.words with key nth(ROW.words, 0) shuffled by ROW.id\n"
        '  ask chosen by candidate { prompt "{{ put.text }}" }\n'
        '  score c = default(chosen_option(chosen.text, put.options), "") == put.letter',
        "  score total = sum(choose(contains(reply.text, p.m), p.n, 0) each p in ROW.parts)",
        "  measure by_level = mean(right) by ROW.level",
        "  measure sliced = mean(right) by kind",
    ),
}  # fmt: skip
ITEMS: list[dict[str, Any]] = [
    {
        "id": f"k{n}", "question": f"Q{n}?", "answer": "x", "words": ["u", "v"], "kind": "ab"[n % 2], "level": n % 2,
        "parts": [{"m": "a", "n": 1}], "name": "n1",
    }
    for n in range(4)
]  # fmt: skip
OTHERS: list[dict[str, Any]] = [{"name": f"n{n}", "note": "z", "parts": ["a"], "size": n} for n in range(3)]
FILES = {"items.jsonl": ITEMS, "other.jsonl": OTHERS}


def written(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def faults(rows: list[dict[str, Any]]) -> Iterator[str | None]:
    """Yield the content of a file with each fault; `None` if it is missing."""
    yield from (None, "", "\n\n")
    for line in ('{"id": ', "[1]", "3", "null"):
        yield written(rows[:1]) + line + "\n" + written(rows[2:])
    for column in rows[0]:
        rest = [{name: value for name, value in row.items() if name != column} for row in rows]
        yield written(rest)
        yield written([rows[0], rest[1], *rows[2:]])
        for wrong in (None, {"x": [1]}):
            yield written([rows[0], rows[1] | {column: wrong}, *rows[2:]])
            yield written([row | {column: wrong} for row in rows])


def spec(dice: Random) -> str:
    """Return a spec with scenarios over some of the data sets."""
    lines, names = [HEAD, *DATASETS.values()], []
    for number, over in enumerate(dice.sample(sorted(OVER), dice.randint(1, 3))):
        asked, secret = OVER[over]
        typed = over in ("item", "twin")
        own = [each.replace("ROW", over) for each in STEPS["item"]] if typed else []
        lines += [f"scenario s{number} {{", *(["  context kind"] if typed else []), f"  over {over}"]
        lines += [f'  ask reply by candidate {{ prompt "{{{{ {over}.{asked} }}}}" }}']
        lines += [f"  score right = contains(reply.text, {over}.{secret})"]
        lines += dice.sample([*STEPS["any"], *own], dice.randint(1, 5))
        lines += ["}"]
        names.append(f"s{number}")
    lines += [f"measure of_{name} = mean({name}.right)" for name in names]
    lines += [
        f"expect of_{names[0]} >= 0.1",
        f"export x {{ best of candidate by of_{names[0]}, rows reply, format chat }}",
    ]
    return "\n".join(lines) + "\n"


def reported(folder: Path, text: str, files: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return the code, the line and the message of each error."""
    found = [
        each for each in compile_files(folder, {"spec.tripos": text, **files}).diagnostics if each.severity == "error"
    ]
    return [
        (each.code, (source := each.labels[0].span.source).text.splitlines()[
            source.position(each.labels[0].span.start)[0] - 1
        ], each.message)
        for each in found
    ]  # fmt: skip


@pytest.mark.parametrize("seed", spread(range(400), 6))
def test_a_fault_of_a_file_has_no_error_that_follows_from_it(tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    text, sound = spec(dice), {name: written(rows) for name, rows in FILES.items()}
    folder = tmp_path / "sound"
    folder.mkdir()
    assert reported(folder, text, sound) == []
    for number in range(sized(6, 12)):
        name = dice.choice(sorted(FILES))
        broken = dice.choice(list(faults(FILES[name])))
        files = {key: value for key, value in {**sound, name: broken}.items() if value is not None}
        folder = tmp_path / str(number)
        folder.mkdir()
        found = reported(folder, text, files)
        if name == "other.jsonl" and broken is not None and not broken.strip() and not found:
            continue  # nothing needs a row of it
        assert found, (name, broken)
        if broken is not None and not broken.strip() and name == "items.jsonl":
            assert [code for code, *_ in found] == ["E0603"]
        else:
            lines = {line for _, line, _ in found}
            assert lines <= {DATASETS[each] for each in BROKEN}, found
            messages = [message for code, _, message in found if code != "E0304"]  # each data set names its own columns
            assert len(set(messages)) == len(messages)


def test_an_empty_file_is_reported_once(tmp_path: Path) -> None:
    text = "\n".join([HEAD, *DATASETS.values()])
    for name, (asked, secret) in OVER.items():
        ask = f'ask reply by candidate {{ prompt "{{{{ {name}.{asked} }}}}" }}'
        text += f"\nscenario {name}s {{ over {name}\n {ask}\n score right = contains(reply.text, {name}.{secret}) }}"
    found = reported(tmp_path, text + "\n", {"items.jsonl": "", "other.jsonl": written(OTHERS)})
    assert [(code, message) for code, _, message in found] == [("E0603", "this data set has no row")]


def test_two_data_sets_report_a_broken_file_once(tmp_path: Path) -> None:
    text = "\n".join([HEAD, *DATASETS.values()])
    text += '\nscenario s { over item\n ask r by candidate { prompt "{{ item.question }}" }\n score c = words(r.text) > 1 }\n'
    found = reported(tmp_path, text, {"items.jsonl": '{"id": ', "other.jsonl": written(OTHERS)})
    assert [(code, line) for code, line, _ in found] == [("E0307", DATASETS["item"])]
