"""The calls of a plan, counted by hand: arms, conditions, samples, repeats, panels, verdicts and what is shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import compile_files, plan_of

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role tutor
role panel_ panel
role grader
role encoder
arm how { none, one, two }
axis stage { early, late }
dataset item from "items.jsonl" { question text, kind text, n integer }
dataset pool from "pool.jsonl" { word text }
scorer good(a: text) by panel_ { prompt "Good? {{ a }}", gives bool }
scorer fine(a: text) by grader { prompt "Fine? {{ a }}", gives bool, temperature 0 }
scorer better(a: text, b: text) by grader { prompt "{{ a }} or {{ b }}?", gives choice(x, y) }
scenario s {
"""
FILES = {
    "items.jsonl": "\n".join(
        f'{{"question": "question {n}", "kind": "{kind}", "n": {n}}}' for n, kind in ((3, "x"), (4, "y"), (5, "y"))
    ),
    "pool.jsonl": '{"word": "sum"}\n{"word": "sum"}\n{"word": "product"}',
}
"""Three rows, one of the kind x; two different words."""

Counted = dict[str, list[tuple[int, int, int, tuple[str, ...], int]]]
"""By step and role: least, calls, most, times, and how many arms share them."""


def counted(folder: Path, steps: str, above: str = "") -> Counted:
    head, _, scenario = SPEC.rpartition("scenario")
    plan = plan_of(compile_files(folder, {"spec.tripos": f"{head}{above}\nscenario{scenario}{steps}\n}}\n", **FILES}))
    found: Counted = {}
    for each in plan.calls:
        span = (each.least, each.calls, each.most, each.times, len(each.arms))
        found.setdefault(f"{each.step} {each.role}", []).append(span)
    return found


def test_what_several_arms_ask_alike_is_asked_once_in_every_case_in_which_any_of_them_asks_it(tmp_path: Path) -> None:
    steps = """
      over item
      arms how
      ask a by candidate when how == one and item.kind == "x" or how == two and item.n > 3 {
        prompt "{{ item.question }}"
      }
      score right = contains(a.text, "4")"""
    assert counted(tmp_path, steps) == {"a candidate": [(3, 3, 3, ("candidate",), 2)]}


def test_a_condition_that_a_reply_decides_in_one_arm_leaves_what_another_arm_asks_in_any_case(tmp_path: Path) -> None:
    steps = """
      over item
      arms how
      ask first_ by candidate { prompt "{{ item.question }}" }
      ask again by candidate when how == one and words(first_.text) > 3 or how == two and item.kind == "x" {
        prompt "Again: {{ first_.text }}"
      }
      score right = contains(again.text, "4") and contains(first_.text, "4")"""
    assert counted(tmp_path, steps) == {
        "first_ candidate": [(3, 3, 3, ("candidate",), 3)],
        "again candidate": [(0, 3, 3, ("candidate",), 2)],
    }


def test_a_step_that_no_reply_under_test_goes_into_is_asked_once_and_not_once_a_model(tmp_path: Path) -> None:
    steps = """
      over item
      arms how
      ask hint by tutor { prompt "{{ item.question }}", samples 2 }
      ask a by candidate { prompt "{{ hint.text }}", system "Be brief." when how != none }
      ask summary by tutor { prompt "{{ a.text }}" }
      score right = contains(summary.text, "4")"""
    assert counted(tmp_path, steps) == {
        "hint tutor": [(6, 6, 6, (), 3)],
        "a candidate": [(0, 6, 6, ("candidate",), 1), (0, 6, 6, ("candidate",), 2)],
        "summary tutor": [(0, 6, 6, ("candidate",), 1), (0, 6, 6, ("candidate",), 2)],
    }


def test_a_verdict_is_asked_once_however_many_scores_take_it_and_by_everyone_on_a_panel(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate { prompt "{{ item.question }}", samples 4 }
      score right = good(a.text)
      score well = good(a.text) and contains(a.text, "4")
      score odd = good(a.text) or good(item.question)"""
    assert counted(tmp_path, steps) == {
        "a candidate": [(12, 12, 12, ("candidate",), 0)],
        "right panel_": [(0, 12, 12, ("candidate", "panel_"), 0)],
        "good(2) panel_": [(3, 3, 3, ("panel_",), 0)],
    }


def test_a_judgement_that_scores_take_under_different_conditions_is_asked_for_where_any_holds(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate { prompt "{{ item.question }}" }
      score short = fine(a.text) when item.kind == "x"
      score long = fine(a.text) when item.n > 4"""
    assert counted(tmp_path, steps)["short grader"] == [(0, 2, 2, ("candidate",), 0)]


def test_the_pairs_of_a_comparison_are_those_of_every_sample(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate { prompt "{{ item.question }}", samples 2 }
      compare preferred using better(first.a.text, second.a.text) when item.n > 3"""
    assert counted(tmp_path, steps)["preferred grader"] == [(0, 4, 4, (), 0)]


def test_a_conversation_is_held_for_every_sample_that_it_builds_on(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate { prompt "{{ item.question }}", samples 4 }
      converse talk {
        candidate { system "{{ a.text }}" }
        tutor { system "Listen." }
        opens candidate
        until candidate says "bye"
        limit 5 turns
        repeat 2
      }
      ask b by tutor { continue talk, prompt "Sum up." }
      score right = contains(b.text, "4")"""
    found = counted(tmp_path, steps)
    assert found["talk candidate"] == [(0, 36, 36, ("candidate",), 0)]
    assert found["talk tutor"] == [(0, 24, 24, ("candidate",), 0)]
    assert found["b tutor"] == [(0, 12, 12, ("candidate",), 0)]


def test_what_is_looked_through_is_embedded_once_and_what_is_looked_for_every_time(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate { prompt "{{ item.question }}", samples 4 }
      retrieve near from distinct(pool.word) as p { top 1 by similarity(p, a.text) using encoder }
      retrieve again from distinct(pool.word) as q { top 1 by similarity(q, item.question) using encoder }
      ask b by tutor { prompt "{{ bullets(near) }} {{ bullets(again) }}" }
      score right = contains(b.text, "4")"""
    found = counted(tmp_path, steps)
    assert found["near encoder"] == [(0, 2, 2, (), 0), (0, 12, 12, ("candidate",), 0)]
    assert found["again encoder"] == [(3, 3, 3, (), 0)]
    assert found["b tutor"] == [(0, 12, 12, ("candidate",), 0)]


def test_conditions_add_up_along_what_a_step_builds_on(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by tutor when item.kind == "y" { prompt "{{ item.question }}" }
      ask b by candidate when item.n > 4 { prompt "{{ a.text }}" }
      ask c by candidate when contains(b.text, "x") { prompt "Again: {{ b.text }}" }
      score right = contains(c.text, "4")"""
    found = counted(tmp_path, steps)
    assert [found[name][0][:3] for name in ("a tutor", "b candidate", "c candidate")] == [
        (2, 2, 2),
        (0, 1, 1),
        (0, 1, 1),
    ]


def test_asks_that_put_the_same_and_leave_nothing_to_chance_are_one(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate { prompt "{{ item.question }}", temperature 0 }
      ask b by candidate { prompt "{{ item.question }}", temperature 0, samples 3 }
      score right = contains(a.text, "4") or contains(b.text, "4")"""
    assert counted(tmp_path, steps) == {"a candidate": [(9, 9, 9, ("candidate",), 0)]}


@pytest.mark.parametrize(("over", "all_"), [("", 6), ("over it where stage == early", 3)])
def test_the_cells_of_rows_that_are_written_in_each_are_known(tmp_path: Path, over: str, all_: int) -> None:
    steps = f"""
      context stage
      dataset it by tutor {{ count 3, prompt "Write for the {{{{ stage }}}} years.", returns {{ task text }} }}
      {over}
      ask a by candidate {{ prompt "{{{{ it.task }}}}" }}
      ask b by candidate when stage == early {{ prompt "Again: {{{{ it.task }}}}" }}
      ask c by candidate when it.task == "x" {{ prompt "Once more: {{{{ it.task }}}}" }}
      score right = contains(a.text, "4") or contains(b.text, "4") or contains(c.text, "4")"""
    found = counted(tmp_path, steps)
    assert found["prompt tutor"] == [(6, 6, 24, (), 0)]
    assert [found[f"{name} candidate"][0][:3] for name in "abc"] == [(0, all_, all_), (0, 3, 3), (0, all_, all_)]


def test_rows_made_from_rows_that_may_be_refused_may_be_fewer(tmp_path: Path) -> None:
    above = """
dataset written by tutor { context stage, prompt "Write {{ stage }}.", returns { task text }, unique written.task }
dataset loud from written { let shout = upper(written.task) }"""
    steps = """
      over loud
      ask a by candidate { prompt "{{ loud.shout }} {{ loud.stage }}" }
      score right = contains(a.text, "4")"""
    assert counted(tmp_path, steps, above)["a candidate"] == [(0, 2, 2, ("candidate",), 0)]


def test_a_row_that_one_refuses_is_not_looked_at_by_the_next(tmp_path: Path) -> None:
    above = """
dataset seen from item as i {
  verify by tutor { prompt "Good? {{ i.question }}", returns { good bool }, require good }
  verify by grader { prompt "Fine? {{ i.question }}", returns { fine bool }, require fine }
  retries 1
}"""
    steps = """
      over seen
      ask a by candidate { prompt "{{ seen.question }}" }
      score right = contains(a.text, "4")"""
    found = counted(tmp_path, steps, above)
    assert found["verify tutor"] == [(3, 3, 6, (), 0)]
    assert found["verify_2 grader"] == [(0, 3, 6, (), 0)]


def test_rows_taken_where_a_condition_holds_that_is_known_are_certain(tmp_path: Path) -> None:
    above = """
dataset hard from item as i where i.n > 3 { let loud = upper(i.question) }"""
    steps = """
      over hard
      ask a by candidate { prompt "{{ hard.loud }}" }
      score right = contains(a.text, "4")"""
    assert counted(tmp_path, steps, above)["a candidate"] == [(2, 2, 2, ("candidate",), 0)]


def test_what_a_passage_takes_that_is_not_printed_is_not_waited_for(tmp_path: Path) -> None:
    steps = '''
      over item
      ask hint by tutor when item.kind == "x" { prompt "{{ item.question }}" }
      ask never by tutor when item.kind == "z" { prompt "Never: {{ item.question }}" }
      ask a by candidate {
        system "{{ hint.text }}" when item.kind == "x"
        prompt """{{ item.question }} {{ item.kind == "x" and contains(hint.text, "4") }}"""
      }
      ask b by candidate {
        system "{{ hint.text }}" when item.n < 5
        prompt "{{ item.question }}"
      }
      ask c by candidate when item.kind == "z" and contains(never.text, "4") { prompt "Again: {{ item.question }}" }
      score right = contains(a.text, "4") or contains(b.text, "4") or contains(c.text, "4")'''
    found = counted(tmp_path, steps)
    assert {name: spans[0][:3] for name, spans in found.items()} == {
        "hint tutor": (1, 1, 1),
        "never tutor": (0, 0, 0),
        "a candidate": (2, 3, 3),
        "b candidate": (1, 2, 2),
        "c candidate": (0, 0, 0),
    }


def test_judges_of_two_roles_are_counted_apart_also_where_they_are_sent_the_same(tmp_path: Path) -> None:
    same = 'scorer other(a: text, b: text) by panel_ { prompt "{{ a }} or {{ b }}?", gives choice(x, y) }'
    steps = """
      over item
      ask reply by candidate { prompt "{{ item.question }}" }
      compare one using better(first.reply.text, second.reply.text)
      compare two using other(first.reply.text, second.reply.text)"""
    found = counted(tmp_path, steps, same)
    assert found["one grader"] == [(0, 3, 3, (), 0)]
    assert found["two panel_"] == [(0, 3, 3, ("panel_",), 0)]


def test_where_the_compared_role_judges_pairs_each_of_its_models_does(tmp_path: Path) -> None:
    own = 'scorer own(a: text, b: text) by candidate { prompt "{{ a }} or {{ b }}?", gives choice(x, y) }'
    steps = """
      over item
      ask reply by candidate { prompt "{{ item.question }}" }
      compare one using own(first.reply.text, second.reply.text)"""
    assert counted(tmp_path, steps, own)["one candidate"] == [(0, 3, 3, ("candidate",), 0)]


def test_a_reply_may_not_come_so_what_takes_it_is_not_certain_but_what_was_sent_for_it_is(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate { prompt "{{ item.question }}" }
      ask b by candidate { prompt "Again: {{ a.text }}" }
      ask c by candidate { prompt "Once more: {{ a.prompt }}" }
      score right = contains(b.text, "4") or contains(c.text, "4")"""
    found = counted(tmp_path, steps)
    assert [found[f"{name} candidate"][0][:3] for name in "abc"] == [(3, 3, 3), (0, 3, 3), (3, 3, 3)]


def test_a_judge_is_certain_of_the_elements_for_which_it_needs_no_reply(tmp_path: Path) -> None:
    above = """dataset pair from "pairs.jsonl" { q text, of list<{ kind text, said text }> }"""
    pairs = '{"q": "A", "of": [{"kind": "x", "said": "a"}, {"kind": "y", "said": "b"}]}\n{"q": "B", "of": []}\n'
    steps = """
      over pair
      ask a by candidate { prompt "{{ pair.q }}" }
      score plain = good(a.text) each e in pair.of
      score some  = fine(choose(e.kind == "x", a.text, e.said)) each e in pair.of
      score none_ = better(choose(e.kind == "x", e.said, "-"), first(split(e.said, "b"))) == x each e in pair.of"""
    (tmp_path / "pairs.jsonl").write_text(pairs, "utf-8")
    found = counted(tmp_path, steps, above)
    assert found["good(1) panel_"][0][:3] == (0, 2, 2)
    assert found["fine(1) grader"][0][:3] == (1, 2, 2)
    assert found["better(1) grader"][0][:3] == (2, 2, 2)


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("first(pool.word)", 3),
        ("nth(pool.word, 1)", 3),
        ("nth(pool.word, 2)", 0),
        ("first([p.word each p in pool where length(p.word) > 9])", 0),
        ("choose(item.n > 3, first(pool.word), nth(pool.word, 2))", 2),
    ],
)
def test_a_value_of_a_data_set_that_is_known_is_certain(tmp_path: Path, text: str, least: int) -> None:
    steps = f"""
      over item
      ask a by candidate {{ prompt "{{{{ item.question }}}} {{{{ {text} }}}}" }}
      score right = contains(a.text, "4")"""
    assert counted(tmp_path, steps)["a candidate"][0][:3] == (least, least, least)


def test_a_hole_that_has_no_value_for_a_row_rules_out_its_call(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate { prompt "{{ item.question }} {{ 6 / (item.n - 3) }}" }
      ask b by candidate {
        prompt "{{ item.question }}"
        system "{{ 6 / (item.n - 3) }}" when item.n > 3
      }
      score right = contains(a.text, "4") or contains(b.text, "4")"""
    found = counted(tmp_path, steps)
    assert [found[f"{name} candidate"][0][:3] for name in "ab"] == [(2, 2, 2), (3, 3, 3)]


def test_a_hole_whose_value_the_compiler_does_not_know_leaves_a_call_open(tmp_path: Path) -> None:
    above = "dataset loud from item { let shout = upper(item.question) }"
    steps = """
      over loud
      ask a by candidate { prompt "{{ loud.shout }}" }
      ask b by candidate { prompt "{{ loud.shout }} {{ 6 / loud.n }}" }
      score right = contains(a.text, "4") or contains(b.text, "4")"""
    found = counted(tmp_path, steps, above)
    assert [found[f"{name} candidate"][0][:3] for name in "ab"] == [(3, 3, 3), (0, 3, 3)]


def test_a_condition_without_a_value_holds_neither_as_it_stands_nor_with_a_not_before_it(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate when 6 / (item.n - 3) > 100 { prompt "{{ item.question }}" }
      ask b by candidate when not 6 / (item.n - 3) > 100 { prompt "Again: {{ item.question }}" }
      ask c by candidate when item.n == 3 or 6 / (item.n - 3) > 100 { prompt "More: {{ item.question }}" }
      ask d by candidate when 6 / (item.n - 3) > 100 or item.n == 3 { prompt "Most: {{ item.question }}" }
      score right = contains(b.text, "4") or contains(c.text, "4")"""
    found = counted(tmp_path, steps)
    spans = [found[f"{name} candidate"][0][:3] for name in "abcd"]
    assert spans == [(0, 0, 0), (2, 2, 2), (1, 1, 1), (0, 0, 0)]


def test_texts_that_are_the_same_are_embedded_once(tmp_path: Path) -> None:
    steps = """
      over item
      ask a by candidate { prompt "{{ item.question }}" }
      retrieve near from pool as p { top 1 by similarity(item.kind, p.word) using encoder }
      score right = contains(a.text, json(near))"""
    assert counted(tmp_path, steps)["near encoder"] == [(4, 4, 4, (), 0)]
