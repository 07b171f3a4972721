"""Every place of a spec where a role is asked requires the same of its models."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

from tests.compiler.compiling import compile_files, plan_of
from tests.each import each
from tripos_compiler.plan import Ask, Plan, Scorer, Settings, Speaker
from tripos_compiler.plan.base import Part
from tripos_runtime.models.families import accepts_media, ignored_settings_by_name
from tripos_runtime.program.binding import BindingError, bind, check_media, ignored_settings, role_uses

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
FILES = {
    "items.jsonl": json.dumps({"q": "1 + 1?", "picture": "one.png", "shop": {}}) + "\n",
    "tree.json": json.dumps({"Numbers": ["Fractions", "Percentages"], "Shapes": ["Circles"]}),
    "shop.py": "def look(state, word):\n    return state\n",
}
HEAD = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role who
role other
tree syllabus from "tree.json"
tool look from "shop.py:look" "Look a word up." { word text }
tool go "Go." { to text }
dataset item from "items.jsonl" { q text, picture image, shop json }
"""
SCENARIO = """
scenario s {
  over item as i
  %s
  ask answer by candidate { prompt "{{ i.q }}" }
  score long = length(answer.text) > 1
}
"""
JUDGE = 'scorer fine(said: text, picture: image) by %s { prompt "{{ said }}%%s", gives bool%s\n%%s }'
JUDGED = SCENARIO.replace("score long", "score good = fine(answer.text, i.picture)\n  score long") % ""
SITES = {
    "ask": SCENARIO % 'ask hint by who { prompt "{{ i.q }}%s"\n%s }',
    "shots": SCENARIO
    % 'ask hint by who { shots 1 from item as w { prompt "{{ w.q }}%s", reply "x" }\nprompt "?"\n%s }',
    "speaker": SCENARIO
    % 'converse talk { other { system "a" }\nwho { system "b%s"\n%s }\nopens other, until other says "bye", limit 4 turns }',
    "user": SCENARIO
    % 'ask talk by other { prompt "a", tools look, state i.shop at most 3 turns\nuser who { system "b%s"\n%s } }',
    "judge": JUDGE % ("who", "") + JUDGED,
    "stronger": JUDGE % ("other then who when unsure", ", samples 3, unsure below 0.8") + JUDGED,
    "author": 'dataset rows by who from item as i { prompt "{{ i.q }}%s", returns { z text }\n%s }' + SCENARIO % "",
    "verify": (
        'dataset rows from item as i { verify by who { prompt "{{ i.q }}%s", returns { z bool }, require z\n%s } }'
        + SCENARIO % ""
    ),
    "walk": (
        'dataset rows from item as i { walk points through syllabus by who { prompt "{{ i.q }}%s'
        '{{ bullets(branches) }}"\n%s } }' + SCENARIO % ""
    ),
}
"""Specs in which the role `who` is asked once, with a hole in its prompt and one in its block."""
IMAGE = {"judge": "{{ picture }}", "stronger": "{{ picture }}", "shots": "{{ w.picture }}"}
ABILITIES = {
    "text": ("", "mock/reward", "R0232"),
    "not embedding": ("", "mock/embedding", "R0256"),
    "not a baseline": ("", "baseline/echo", "R0236"),
    "tools": ("tools go", "local/smollm2-135m", "R0128"),
    "likelihoods": ('likelihood of ("A", "B")', "openai/gpt-4o", "R0125"),
    "probabilities": ("top_logprobs 5", "anthropic/claude-sonnet-4-5", "R0125"),
    "template": ("plain\nchat_template own", "text-completion-openai/ours", "R0129"),
    "image": ("", "openai/gpt-3.5-turbo", "R0126"),
    "settings": ("top_k 5", "openai/gpt-4o", ""),
    "settings of some rows": ("top_k 5 when true", "openai/gpt-4o", ""),
}
"""A line that requires an ability, a model without it, and the code of its refusal; none for a warning."""
ONLY_ASKS = ("tools", "likelihoods", "probabilities", "template")
"""The abilities that the language asks of some places only."""


def compiled(folder: Path, site: str, ability: str) -> Plan | None:
    """Return the plan of a spec that requires an ability of `who`; None if the language has no such place."""
    (folder / "one.png").write_bytes(PNG)
    image = IMAGE.get(site, "{{ i.picture }}") if ability == "image" else ""
    spec = HEAD + SITES[site] % (image, ABILITIES[ability][0])
    compilation = compile_files(folder, {**FILES, "spec.tripos": spec})
    if ability in ONLY_ASKS and site != "ask" and compilation.plan is None:
        return None
    return plan_of(compilation)


def lacking(plan: Plan, model: str) -> str | None:
    """Return the code with which a model of `who` is refused, `""` if it is warned of, or None."""
    others = {"other": ("mock/careful",), "who": (model,)}
    try:
        binding = bind(plan, ("mock/careful",), others)
        check_media(plan, binding.models, accepts_media)
    except BindingError as error:
        return error.code

    def refused(name: str, settings: Settings) -> tuple[str, ...]:
        return ignored_settings_by_name(name)(settings)

    return "" if ignored_settings(plan, binding.models, refused) else None


@each("site", list(SITES))
@each("ability", list(ABILITIES))
def test_a_model_without_an_ability_is_refused_wherever_its_role_is_asked(
    tmp_path: Path, site: str, ability: str
) -> None:
    plan = compiled(tmp_path, site, ability)
    if plan is not None:
        _, model, code = ABILITIES[ability]
        assert (lacking(plan, "mock/careful"), lacking(plan, model)) == (None, code)


@each("site", list(SITES))
def test_every_part_of_a_plan_with_a_role_is_a_use_of_it(tmp_path: Path, site: str) -> None:
    plan = compiled(tmp_path, site, "settings")
    assert plan is not None
    asked = {(role, part.settings) for part in parts_of(plan) for role in getattr(part, "roles", (part.role,))}
    assert asked == {(use.role, use.settings) for use in role_uses(plan)}


def parts_of(part: Part) -> Iterator[Ask | Speaker | Scorer]:
    """Yield every part inside of a part whose role is asked with settings."""
    if isinstance(part, Ask | Speaker | Scorer):
        yield part
    for value in vars(part).values():
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Part):
                yield from parts_of(inner)
