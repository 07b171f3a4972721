"""The account of a run is what its server billed: requests, tokens and money, whatever the server does."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.json_server import json_server

SPEC = """\
benchmark bill "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text }
scenario s {
  over item
  ask reply by candidate {
    prompt "{{ item.question }}"
    samples 3
    max_tokens 50
  }
  ask grade by judge {
    prompt "Grade: {{ reply.text }}"
    returns { score 1..5 }
    max_tokens 50
  }
  score quality = grade.score
}
measure q = mean(quality)
"""
SETTINGS = """\
[endpoints."hosted_vllm"]
base_url = "{address}"
[prices."hosted_vllm/candidate"]
input = 1.0
output = 10.0
[prices."hosted_vllm/judge"]
input = 2.0
output = 20.0
"""
PRICES = {"candidate": (1e-6, 1e-5), "judge": (2e-6, 2e-5)}


class Billing:
    """A server that hides tokens, sends too many choices or none, replies what cannot be read, and writes a bill."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.requests: dict[str, int] = {}
        self.tokens_in = self.tokens_out = 0
        self.usd = 0.0

    def answer(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self.lock:
            model, draw = request["model"], self.random
            self.requests[model] = self.requests.get(model, 0) + 1
            if draw.random() < 0.15:
                return 500, {"error": {"message": "try later"}}
            sent, shown, hidden = draw.randint(1, 200), draw.randint(0, 50), draw.choice((0, 0, draw.randint(1, 900)))
            usage = {"prompt_tokens": sent, "completion_tokens": shown, "total_tokens": sent + shown + hidden}
            if draw.random() < 0.3:
                usage["completion_tokens_details"] = {"reasoning_tokens": hidden}
            self.tokens_in += sent
            self.tokens_out += shown + hidden
            price_in, price_out = PRICES[model]
            self.usd += sent * price_in + (shown + hidden) * price_out
            content = "yes"
            if model == "judge":
                content = draw.choice(('{"score": 4}', '{"score": 2}', "I would rather not say."))
            choice = {"message": {"content": content}, "finish_reason": "stop"}
            wanted = request.get("n", 1) + draw.choice((0, 0, 0, 2))
            choices = [] if draw.random() < 0.1 else [choice] * wanted
            return 200, {"model": model, "choices": choices, "usage": usage}


@pytest.mark.parametrize("seed", range(4))
def test_a_store_has_the_requests_tokens_and_money_of_the_bill(
    seed: int, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "key")
    Path("bill.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text("".join(f'{{"question": "What is {n}?"}}\n' for n in range(8)), "utf-8")
    bill = Billing(seed)
    with json_server(lambda posted: bill.answer(posted.data)) as address:
        Path("tripos.toml").write_text(SETTINGS.format(address=address), "utf-8")
        models = ("--model", "hosted_vllm/candidate", "--role", "judge=hosted_vllm/judge")
        budget = ("--budget", "100usd", "--budget", "10Mtokens")
        done = tripos("run", "bill.tripos", *models, *budget, "--max-retries", "1", "--json")
    assert done.code in (0, 1), done.err
    query = "select sum(attempts) as n, sum(tokens_in) as i, sum(tokens_out) as o, sum(cost_usd) as usd from"
    rows = "(select attempts, tokens_in, tokens_out, cost_usd from {} where attempts is not null)"
    tables = " union all ".join(rows.format(f"main.{table}")[1:-1] for table in ("samples", "judgements"))
    assert tripos("sql", f"{query} ({tables})", "-o", "sums.json").code == 0
    [sums] = json.loads(Path("sums.json").read_text("utf-8"))
    assert sums["n"] == sum(bill.requests.values())
    assert (sums["i"], sums["o"]) == (bill.tokens_in, bill.tokens_out)
    assert sums["usd"] == pytest.approx(bill.usd)
    spent = done.data["budget"]
    assert (done.data["tokens_in"], done.data["tokens_out"]) == (bill.tokens_in, bill.tokens_out)
    assert done.data["cost_usd"] == pytest.approx(bill.usd, abs=1e-6)
    assert spent["tokens"]["spent"] == bill.tokens_in + bill.tokens_out
