"""`tripos emit`: what a spec asks, in the forms of other tools, with a list of what they cannot say."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.conftest import Command
from tests.interchange.emitted import ROWS, SPEC, write_mini
from tests.interchange.tools import lm_eval_python, promptfoo_program


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_mini()


def sent(tripos: Command) -> dict[tuple[str, str, str], list[dict[str, str]]]:
    """Return the messages of each prompt of the compared role, as `plan --prompts` prints them."""
    done = tripos("plan", "mini.tripos", "--prompts", "9", "--json")
    return {
        (each["scenario"], each["step"], each["item_id"]): each["messages"]
        for each in done.data
        if each["role"] == "candidate"
    }


def lost(tripos: Command, form: str) -> dict[str, str]:
    """Write a form to `out`, and return what it loses by its place."""
    done = tripos("emit", form, "mini.tripos", "-o", "out", "--json")
    assert done.code == (1 if done.data["lost"] else 0), done.err
    return {each["place"]: each["why"] for each in done.data["lost"]}


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def test_schemas_take_the_rows_and_mark_secrets(tripos: Command) -> None:
    assert lost(tripos, "jsonschema") == {}
    schema = json.loads(Path("out/rows/item.schema.json").read_text())
    for row in ROWS:
        jsonschema.validate(row, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(ROWS[0] | {"right": "1"}, schema)
    assert [name for name, of in schema["properties"].items() if of.get("x-tripos-secret")] == ["answer", "right"]


def test_what_a_form_cannot_say_is_listed_with_its_place(tripos: Command) -> None:
    everywhere = {"sums.clear", "sums.long", "again.second", "best"}
    promptfoo = lost(tripos, "promptfoo")
    assert everywhere <= promptfoo.keys() and "chosen.reply" in promptfoo and "sums.has" not in promptfoo
    lm_eval = lost(tripos, "lm-eval")
    assert everywhere | {"sums.has"} <= lm_eval.keys() and "chosen.reply" not in lm_eval
    openai = lost(tripos, "openai-evals")
    assert "approximately" in openai["sums.same"] and "temperature" in openai["sums.reply"]
    shown = tripos("emit", "lm-eval", "mini.tripos", "-o", "out")
    assert shown.code == 1 and "sums.clear: a score by a judge" in shown.out


LANGUAGES = """\
benchmark two "1.0.0" { languages en, de }
role candidate compared
scenario sums {
  context language
  ask reply by candidate {
    prompt en "Question: 6 * 7?" de "Frage: 6 * 7?"
    stop   "END"
    stop   en "Question:" de "Frage:"
    max_tokens 50
  }
  score right = last_number(reply.text) == 42
}
"""


def test_a_setting_that_differs_from_row_to_row_is_lost_and_not_that_of_the_first(tripos: Command) -> None:
    Path("two.tripos").write_text(LANGUAGES, "utf-8")
    done = tripos("emit", "lm-eval", "two.tripos", "-o", "two", "--json")
    whys = [each["why"] for each in done.data["lost"] if each["place"] == "sums.reply"]
    assert "the setting `stop`, which differs from row to row" in whys
    tasks = [yaml.safe_load(path.read_text("utf-8")) for path in Path("two").rglob("*.yaml")]
    written = [task["generation_kwargs"] for task in tasks if "generation_kwargs" in task]
    assert written == [{"until": [], "max_gen_toks": 50}]


@pytest.mark.parametrize("form", ["lm-eval", "openai-evals", "promptfoo"])
def test_a_schema_that_is_not_sent_is_lost(form: str, tripos: Command) -> None:
    Path("mini.tripos").write_text(SPEC.replace("temperature 0 }", "returns { text text } }"), "utf-8")
    assert "the JSON Schema" in lost(tripos, form)["sums.reply"]


def test_prompts_of_promptfoo_are_those_of_the_spec_and_have_no_target(tripos: Command) -> None:
    assert lost(tripos, "promptfoo")
    wanted = sent(tripos)
    for test in lines("out/tests.jsonl"):
        about = test["metadata"]
        assert json.loads(test["vars"]["messages"]) == wanted[about["scenario"], about["step"], about["item_id"]]
        assert test["vars"].keys() == {"messages"}
        assert not re.search(r"{[{%#]|[#]}", test["vars"]["messages"] + str([each["value"] for each in test["assert"]]))
    assert "2024-01-31" not in json.dumps([test["vars"] for test in lines("out/tests.jsonl")])


def test_openai_evals_has_a_class_and_samples_for_each_score(tripos: Command) -> None:
    lost(tripos, "openai-evals")
    registry = yaml.safe_load(Path("out/registry/evals/mini.yaml").read_text("utf-8"))
    assert registry["mini.sums.has.v0"] == {
        "class": "evals.elsuite.basic.includes:Includes",
        "args": {"samples_jsonl": "mini/sums.has.jsonl", "ignore_case": True},
    }
    wanted = sent(tripos)
    for sample in lines("out/registry/data/mini/sums.has.jsonl"):
        assert sample["input"] == wanted["sums", "reply", sample["metadata"]["item_id"]]
    assert {sample["ideal"] for sample in lines("out/registry/data/mini/sums.same.jsonl")} == {
        each["answer"] for each in ROWS
    }


def test_a_spec_with_mistakes_and_an_unknown_form_are_told(tripos: Command) -> None:
    Path("mini.tripos").write_text("benchmark", "utf-8")
    done = tripos("emit", "promptfoo", "mini.tripos", "-o", "out")
    assert done.code == 2 and "S0821" in done.err and not Path("out").exists()
    assert tripos("emit", "helm", "mini.tripos", "-o", "out").code == 2


def test_targets_that_are_all_dates_are_no_task_of_lm_eval(tripos: Command) -> None:
    Path("rows.jsonl").write_text(json.dumps(ROWS[-1]) + "\n", "utf-8")
    assert "dates" in lost(tripos, "lm-eval")["sums.same"]
    assert not Path("out/mini_sums_same.yaml").exists()


LOAD = """
import json
from lm_eval.tasks import TaskManager
manager = TaskManager(include_path=".", include_defaults=False)
found = []
tasks = manager.load(["mini"])["tasks"]
for name, task in tasks.items():
    task.build_all_requests(limit=None, rank=0, world_size=1)
    for one in task.instances:
        found.append([name, one.doc["scenario"], one.doc["item_id"], list(map(str, one.args[:2])),
                      task.doc_to_target(one.doc)])
print(json.dumps(found))
"""


def test_lm_eval_sends_the_same_bytes(tripos: Command) -> None:
    lost(tripos, "lm-eval")
    done = subprocess.run(
        [lm_eval_python(), "-W", "ignore", "-c", LOAD],
        cwd="out",
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(Path("cache").absolute())},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    wanted = sent(tripos)
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name for name, *_ in found} == {
        *("mini_sums_same", "mini_sums_trimmed", "mini_chosen_right", "mini_again"),
    }
    for name, scenario, item, (context, rest), _ in found:
        step = "first" if scenario == "again" else "reply"
        messages = wanted[scenario, step, item]
        if name == "mini_chosen_right":
            text = "".join(each["content"] for each in messages if each["role"] != "option")
            assert context + rest in {text + each["content"] for each in messages if each["role"] == "option"}
        else:
            assert [context] == [each["content"] for each in messages]
    assert {target for name, *_, target in found if name == "mini_sums_same"} == {each["answer"] for each in ROWS}
    assert len([name for name, *_ in found if name == "mini_chosen_right"]) == 2 * len(ROWS)


PROVIDER = """
const replies = require('./replies.json');
module.exports = class {
  id() { return 'given'; }
  async callApi(prompt) { return { output: replies[prompt] }; }
};
"""


def test_promptfoo_validates_sends_and_scores_as_the_spec_does(tripos: Command) -> None:
    program = promptfoo_program()
    lost(tripos, "promptfoo")
    tests = lines("out/tests.jsonl")
    replies = ["2", " É \\ 2\n", "it is {{ HI }}.", "2024-01-31"]
    given = {test["vars"]["messages"]: replies[number % 4] for number, test in enumerate(tests)}
    Path("out/replies.json").write_text(json.dumps(given), "utf-8")
    Path("out/provider.cjs").write_text(PROVIDER, "utf-8")
    environment = {**os.environ, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
    environment["PROMPTFOO_CONFIG_DIR"] = str(Path("state").absolute())
    for arguments in (
        ["validate", "-c", "promptfooconfig.yaml"],
        ["eval", "-c", "promptfooconfig.yaml", "-o", "echo.json", "--no-cache", "--no-table"],
        ["eval", "-c", "promptfooconfig.yaml", "-r", "file://provider.cjs", "-o", "given.json", "--no-cache"],
    ):
        done = subprocess.run(
            [*program, *arguments], cwd="out", capture_output=True, text=True, check=False, timeout=200, env=environment
        )
        assert done.returncode in (0, 100), done.stdout + done.stderr
    echoed = json.loads(Path("out/echo.json").read_text("utf-8"))["results"]["results"]
    assert {each["response"]["output"] for each in echoed} == {each["vars"]["messages"] for each in tests}
    answers = {each["question"]: each["answer"] for each in ROWS}
    scored = json.loads(Path("out/given.json").read_text("utf-8"))["results"]["results"]
    assert len(scored) == len(tests)
    replied = set()
    for each in scored:
        sent_text = json.loads(each["prompt"]["raw"])[0]["content"]
        if each["namedScores"]:
            replied.add(each["response"]["output"])
            answer = answers[sent_text.removeprefix("Q: ").removesuffix("\nA:")]
            reply = each["response"]["output"]
            assert each["namedScores"] == {
                "sums.same": float(reply == answer),
                "sums.trimmed": float(reply.strip().lower() == answer.lower()),
                "sums.has": float(answer.lower() in reply.lower()),
            }
    assert replied == set(replies)
