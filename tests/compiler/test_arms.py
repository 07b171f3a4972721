"""The steps, texts and scores that arms leave, and the errors where they leave nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from compiling import compile_files, plan_of

from tests.lengths import sized
from tripos_compiler.compile import Compilation
from tripos_compiler.plan import Ask, Score, Template, Treatment

SPEC = """\
benchmark demo "1.0.0" { languages en, zh }
role candidate compared
role tutor
arm how {
  none  en "nothing"  zh "无"
  hint  en "a hint"   zh "提示"
  full  en "all"      zh "全部"
}
dataset item from "items.jsonl" { question text, language, kind text }
scenario s {
  context language
  over item
  arms how
"""
ITEMS = '{"question": "What is 6 * 7?", "language": "en", "kind": "sum"}\n'


def compiled(folder: Path, steps: str) -> Compilation:
    return compile_files(folder, {"spec.tripos": f"{SPEC}{steps}\n}}\n", "items.jsonl": ITEMS})


def treatments(folder: Path, steps: str) -> dict[str, Treatment]:
    (scenario,) = plan_of(compiled(folder, steps)).scenarios
    return {treatment.arms["how"]: treatment for treatment in scenario.treatments}


def errors(folder: Path, steps: str) -> list[tuple[str, str]]:
    return [(item.code, item.message) for item in compiled(folder, steps).diagnostics]


def names(found: dict[str, Treatment]) -> dict[str, list[str]]:
    return {value: [step.name for step in treatment.steps] for value, treatment in found.items()}


@pytest.mark.parametrize(
    "condition",
    [
        "how in (hint, full)",
        "not (how == none)",
        'contains(how, "l") or how == hint',
        'default(how, "none") != "none"',
        "given",
        'not how == none and (how == hint or item.question != "" or true)',
    ],
)
def test_a_condition_that_only_arms_decide_is_decided_however_it_is_written(tmp_path: Path, condition: str) -> None:
    steps = f"""
      let given = not (how == none)
      ask told by tutor when {condition} {{ prompt "Hint: {{{{ item.question }}}}" }}
      ask answer by candidate {{
        system "{{{{ told.text }}}}" when how != none
        prompt "{{{{ item.question }}}}"
      }}
      score right = contains(answer.text, "42")"""
    assert names(treatments(tmp_path, steps)) == {
        "none": ["answer", "right"],
        "hint": ["told", "answer", "right"],
        "full": ["told", "answer", "right"],
    }


def test_what_a_row_decides_too_stays_a_condition(tmp_path: Path) -> None:
    steps = """
      ask answer by candidate when how == none or item.kind == "sum" and how != full { prompt "{{ item.question }}" }
      ask other by candidate { prompt "{{ item.question }} {{ how }}" }
      score right = contains(answer.text, "42")
      score also = contains(other.text, "42")"""
    found = treatments(tmp_path, steps)
    assert found["none"].ask("answer").when is None
    assert found["hint"].ask("answer").when is not None
    assert names(found)["full"] == ["other", "also"]


@pytest.mark.parametrize("printed", ["how", "first((how, how))", "named"])
def test_an_arm_is_printed_by_its_label_in_the_language_of_the_text(tmp_path: Path, printed: str) -> None:
    steps = f"""
      let named = how
      ask answer by candidate {{ prompt "{{{{ item.question }}}} With {{{{ {printed} }}}}." }}
      score right = contains(answer.text, "42")"""
    prompt = treatments(tmp_path, steps)["hint"].ask("answer").prompt
    assert prompt is not None
    assert [_last(prompt[language]) for language in ("en", "zh")] == [" With a hint.", " With 提示."]


def _last(template: Template) -> object:
    return template.parts[-1]


def test_a_score_that_an_arm_decides_is_one_of_every_reply_in_it(tmp_path: Path) -> None:
    steps = """
      ask answer by candidate { prompt "{{ item.question }}", system "{{ how }}" when how != none }
      score right = how != hint and contains(answer.text, "42")
      score any = how == full or contains(answer.text, "42")"""
    scores = {
        value: [step for step in treatment.steps if isinstance(step, Score)]
        for value, treatment in treatments(tmp_path, steps).items()
    }
    assert [(step.name, step.of, step.needs) for step in scores["hint"]] == [
        ("right", "answer", ("answer",)),
        ("any", "answer", ("answer",)),
    ]
    assert scores["hint"][0].value.model_dump() == {"op": "literal", "value": False}
    assert scores["full"][1].value.model_dump() == {"op": "literal", "value": True}


def test_what_a_step_takes_must_be_there_under_every_arm_in_which_it_is_asked(tmp_path: Path) -> None:
    steps = """
      ask told by tutor when contains(how, "h") and item.kind == "sum" { prompt "{{ item.question }}" }
      ask answer by candidate { prompt "{{ item.question }}", system "{{ told.text }}" when item.kind == "sum" }
      score right = contains(answer.text, "42")"""
    message = "`answer` takes what `told` yields, which does not take place where how is none"
    assert errors(tmp_path, steps) == [("E0609", message)]


def test_a_scenario_that_is_scored_under_no_arm_is_never_scored(tmp_path: Path) -> None:
    steps = """
      ask answer by candidate when how == hint and how == full { prompt "{{ item.question }}" }
      score right = contains(answer.text, "42")"""
    assert errors(tmp_path, steps) == [("E0601", "nothing scores scenario `s` in any arm")]


def test_an_arm_under_which_only_a_condition_on_rows_differs_has_an_effect(tmp_path: Path) -> None:
    steps = """
      ask answer by candidate when how == hint or item.kind == "sum" { prompt "{{ item.question }}" }
      ask told by tutor { prompt "{{ answer.text }}" }
      score right = contains(told.text, "42")"""
    assert errors(tmp_path, steps) == []


FOLLOWING = {
    "a reply": 'prompt "{{ item.question }} {{ draft }}"',
    "prompts": 'prompts ("{{ draft }}?", "Why?") at most 2',
    "elements": 'prompt "{{ line }}"',
    "a chat": 'continue draft\n    prompt "{{ item.question }}"',
}


@pytest.mark.parametrize("kind", sorted(FOLLOWING))
def test_samples_after_a_step_are_those_of_the_step_in_each_arm(tmp_path: Path, kind: str) -> None:
    each = "each line in lines(draft) at most 2 " if kind == "elements" else ""
    read = "length(after) > 1" if kind == "elements" else 'contains(after, "42")'
    for seed in range(sized(6, 100)):
        draw = Random(seed)
        of_draft = {value: draw.randint(1, 4) for value in ("none", "hint", "full")}
        times = draw.randint(1, 3)
        steps = ""
        for value, count in of_draft.items():
            steps += f"""
  ask draft by candidate when how == {value} {{
    prompt "{value}"
    samples {count}
    temperature 1
  }}"""
        steps += f"""
  ask after by candidate {each}{{
    {FOLLOWING[kind]}
    samples {times} after each draft
    temperature 1
  }}
  score right = {read}
"""
        for value, treatment in treatments(tmp_path, steps).items():
            asked = {step.name: step.samples for step in treatment.steps if isinstance(step, Ask)}
            assert asked.pop("draft") == of_draft[value]
            assert set(asked.values()) == {times * of_draft[value]}, (seed, value)
