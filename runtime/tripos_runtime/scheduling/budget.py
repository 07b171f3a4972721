"""A budget: what a run may spend at most, taken before each call at its highest cost and put right by what it used."""

from __future__ import annotations

import asyncio
import math
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tripos_runtime.models.base import Model, Price, Reply, Request
from tripos_runtime.scheduling.stopped import Stopped

PICO = 10**12
"""Money is counted in whole parts of a USD so small that no price of a token falls between them."""
AMOUNT = re.compile(r"(\$)?\s*(\d+(?:\.\d+)?|\.\d+)\s*([kM])?\s*(usd|\$|tokens?|calls?)?", re.I | re.ASCII)


class BudgetError(Exception):
    """A budget that cannot be kept to. R0401 what was given is no amount, R0404 a model's price is not known."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


def read_amounts(texts: Iterable[str]) -> dict[str, Decimal]:
    """Return the amounts of `USD`, `tokens` and `calls` that are given, each once at most. Raises `BudgetError`
    (R0401).

    >>> read_amounts(["$0.50", "2M tokens"])
    {'USD': Decimal('0.50'), 'tokens': Decimal('2000000')}
    """
    found: dict[str, Decimal] = {}
    for text in texts:
        unit, amount = _amount(text)
        if unit in found:
            raise BudgetError("R0401", f"the budget has two amounts of {unit}", "give each unit once")
        found[unit] = amount
    return found


def _amount(text: str) -> tuple[str, Decimal]:
    """Return the unit, `USD`, `tokens` or `calls`, and how many."""
    wrong = BudgetError(
        "R0401", f"`{text}` is not a budget", "write it as `5usd`, `200000tokens`, `2Mtokens` or `1000calls`"
    )
    match = AMOUNT.fullmatch(text.strip())
    if match is None:
        raise wrong
    dollar, number, thousands, unit = match[1], match[2], (match[3] or "").lower(), (match[4] or "").lower()
    if bool(dollar) == bool(unit) and not (dollar and unit == "usd"):
        raise wrong
    amount = Decimal(number) * {"": 1, "k": 1000, "m": 1_000_000}[thousands]
    if dollar or unit in {"usd", "$"}:
        kind, whole = "USD", not thousands
    else:
        kind, whole = ("tokens" if unit.startswith("token") else "calls"), amount == amount.to_integral_value()
    if not whole or amount <= 0 or amount > PICO:
        raise wrong
    return kind, amount


__all__ = ["Budget", "BudgetError", "Cost", "OutOfBudget", "check_prices"]

AROUND_MESSAGE = 16
"""Tokens that a message may cost beside its text."""


class OutOfBudget(Stopped):
    """The next call could cost more than is left."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The most that a call can cost: millionths of millionths of a USD, tokens in and out, replies; and how many tokens
    the prompt and each reply were taken to have at most."""

    pico_usd: int
    tokens: int
    calls: int
    sent: int = 0
    received: int = 0


class Budget:
    """The bound of a budget, and the amount spent. `None` sets no bound, and what is spent is counted all the same.

    Before each call, also one that is made again, its highest cost is debited: every byte of its messages and of its
    schema counts as a token, and 16 a message; the reply is as long as `max_tokens` allows or else as the model can.
    When the reply is there, what it used stands in place of that; where it does not say, the debit stands. A reply that
    used more (a provider may put texts of its own into prompts, and not count reasoning as output) can go beyond the
    budget; from then on the calls of that model are debited so much more. A call that failed or was cancelled gives its
    debit back: a provider may bill a reply that never arrived, and nobody here would know how much.

    >>> budget = Budget.parse(["5usd", "2Mtokens"])
    >>> budget.usd, budget.tokens, budget.calls
    (5.0, 2000000, None)
    """

    def __init__(self, usd: float | None = None, tokens: int | None = None, calls: int | None = None) -> None:
        self.usd = usd
        self.tokens = tokens
        self.calls = calls
        self._limits = (None if usd is None else int(Decimal(str(usd)) * PICO), tokens, calls)
        self._spent = [0, 0, 0]
        self._debited = [0, 0, 0]
        self._under_way = 0
        self._waiting: deque[tuple[asyncio.Future[None], Cost, str]] = deque()
        self._schemas: dict[int, tuple[Mapping[str, Any], int]] = {}
        self._beyond: dict[str, tuple[int, int]] = {}
        """By how much prompts and replies of a model were longer than thought possible."""

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Budget:
        """Return the budget of texts such as `5usd`, `0.5 USD`, `$5`, `200000tokens`, `2Mtokens`, `1000calls`, one at
        most for each unit. Raises `BudgetError` (R0401).

        >>> Budget.parse(["$0.50", "1000 calls"]).usd
        0.5
        >>> Budget.parse(["five"])
        Traceback (most recent call last):
        tripos_runtime.scheduling.budget.BudgetError: `five` is not a budget
        """
        amounts = read_amounts(texts)
        usd, tokens, calls = (amounts.get(unit) for unit in ("USD", "tokens", "calls"))
        return cls(
            usd=None if usd is None else float(usd),
            tokens=None if tokens is None else int(tokens),
            calls=None if calls is None else int(calls),
        )

    @property
    def spent_usd(self) -> float:
        """Return what calls cost so far, as far as prices are known."""
        return self._spent[0] / PICO

    @property
    def spent_tokens(self) -> int:
        """Tokens sent and received so far."""
        return self._spent[1]

    @property
    def spent_calls(self) -> int:
        """Replies so far."""
        return self._spent[2]

    def highest(self, request: Request, model: Model) -> Cost:
        """Return the most that a request can cost. Raises `Stopped`: R0403 where nothing bounds the reply, R0404 where
        the price is not known and there is a budget in USD."""
        if self.usd is None and self.tokens is None:
            return Cost(0, 0, request.samples)
        price = model.price
        if price is None and self.usd is not None:
            error = _unpriced([model.name])
            raise Stopped(error.code, error.message, error.hint)
        sent = sum(_bytes(message.content) + AROUND_MESSAGE for message in request.messages)
        if request.schema is not None:
            sent += self._schema_bytes(request.schema)
        longest = request.settings.max_tokens
        most_out = longest if longest is not None else price.most_out if price else None
        if most_out is None:
            if self.tokens is not None or (
                price is not None and _dearest_usd(price, sent, 1) > price.cost_usd(sent, 0)
            ):
                message = f"there is no bound on the length of a reply of `{model.name}`, so a budget cannot hold"
                raise Stopped(
                    "R0403",
                    message,
                    "give the step `max_tokens` or the model `max_output` under [prices], or set the budget in calls",
                )
            most_out = 0
        more_in, more_out = self._beyond.get(model.name, (0, 0))
        sent, most_out = sent + more_in, most_out + more_out
        pico_usd = 0
        if self.usd is not None and price is not None:
            pico_usd = math.ceil(_dearest_usd(price, sent, most_out) * PICO)
        times = request.samples
        return Cost(pico_usd * times, (sent + most_out) * times, times, sent - more_in, most_out - more_out)

    async def debit(self, cost: Cost, name: str) -> None:
        """Take the highest cost of a call of the model `name`. Where it does not fit, waits for the calls under way:
        they may give back what makes it fit. Raises `OutOfBudget` where nothing more can come back."""
        if not self._waiting and self._fits(cost):
            self._take(cost)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, cost, name))
        self._let_in()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.give_back(cost)
            else:
                self._let_in()
            raise

    def settle(self, cost: Cost, reply: Reply, model: Model) -> None:
        """Put what a reply used in place of what was debited for it."""
        used = _used(reply, model.price)
        self._untake(cost)
        if self.usd is not None or self.tokens is not None:
            more_in, more_out = self._beyond.get(model.name, (0, 0))
            more_in = max(more_in, (reply.tokens_in or 0) - cost.sent)
            self._beyond[model.name] = (more_in, max(more_out, (reply.tokens_out or 0) - cost.received))
        self._spent[0] += cost.pico_usd if used[0] is None else used[0]
        self._spent[1] += cost.tokens if used[1] is None else used[1]
        self._spent[2] += cost.calls
        self._let_in()

    def give_back(self, cost: Cost) -> None:
        """Take back the debit of a call that gave no reply."""
        self._untake(cost)
        self._let_in()

    def _fits(self, cost: Cost) -> bool:
        return all(
            limit is None or spent + debited + more <= limit
            for limit, spent, debited, more in zip(
                self._limits, self._spent, self._debited, (cost.pico_usd, cost.tokens, cost.calls), strict=True
            )
        )

    def _take(self, cost: Cost) -> None:
        self._under_way += 1
        self._debited[0] += cost.pico_usd
        self._debited[1] += cost.tokens
        self._debited[2] += cost.calls

    def _untake(self, cost: Cost) -> None:
        self._under_way -= 1
        self._debited[0] -= cost.pico_usd
        self._debited[1] -= cost.tokens
        self._debited[2] -= cost.calls

    def _let_in(self) -> None:
        """First come, first served: a dear call is not passed by cheap ones for ever."""
        while self._waiting:
            future, cost, name = self._waiting[0]
            if not future.done():
                if self._fits(cost):
                    self._take(cost)
                    future.set_result(None)
                elif self._under_way:
                    return
                else:
                    future.set_exception(self._refusal(cost, name))
            self._waiting.popleft()

    def _refusal(self, cost: Cost, name: str) -> OutOfBudget:
        figures = (
            (self._limits[0], self._spent[0], cost.pico_usd, _usd),
            (self._limits[1], self._spent[1], cost.tokens, _tokens),
            (self._limits[2], self._spent[2], cost.calls, _calls),
        )
        parts = [
            f"{show(limit)} allowed, {show(spent)} spent, and the next call of `{name}` may take {show(more)}"
            for limit, spent, more, show in figures
            if limit is not None and spent + more > limit
        ]
        hint = "run again with a larger `--budget`: kept replies cost nothing"
        return OutOfBudget("R0402", f"the budget does not go further: {'; '.join(parts)}", hint)

    def _schema_bytes(self, schema: Mapping[str, Any]) -> int:
        """Schemas are few and each goes out with many requests. The entry keeps its schema, so no other gets its id."""
        known = self._schemas.get(id(schema))
        if known is None:
            import orjson

            known = self._schemas[id(schema)] = (schema, len(orjson.dumps(schema)))
        return known[1]


def check_prices(models: Iterable[Model], budget: Budget | None) -> None:
    """Raise `BudgetError` (R0404) where there is a budget in USD and the price of a model is not known."""
    if budget is None or budget.usd is None:
        return
    names = [model.name for model in models if model.price is None]
    if names:
        raise _unpriced(names)


def _unpriced(names: Sequence[str]) -> BudgetError:
    listed = ", ".join(f"`{name}`" for name in names)
    lines = "\n".join(f'[prices."{name}"]\ninput = ...\noutput = ...' for name in names)
    hint = f"write into tripos.toml, in USD for a million tokens (0 where calls cost nothing):\n{lines}"
    return BudgetError("R0404", f"a budget in USD needs prices, and there is none for {listed}", hint)


def _dearest_usd(price: Price, sent: int, received: int) -> float:
    """Return what so many tokens cost at most: from the cache or not, seen or not."""
    return max(price.cost_usd(sent, received, cached, hidden) for cached in (0, sent) for hidden in (0, received))


def _used(reply: Reply, price: Price | None) -> tuple[int | None, int | None]:
    """Money and tokens that a reply and its further ones used, as far as they say."""
    replies = (reply, *reply.others)
    tokens_in = [each.tokens_in for each in replies]
    tokens_out = [each.tokens_out for each in replies]
    tokens: int | None = None
    pico_usd: int | None = None
    if None not in tokens_in and None not in tokens_out:
        sent, received = (max(0, sum(each or 0 for each in side)) for side in (tokens_in, tokens_out))
        tokens = sent + received
        if price is not None:
            pico_usd = round(price.cost_usd(sent, received) * PICO)
    costs = [each.cost_usd for each in replies]
    if all(cost is not None and math.isfinite(cost) for cost in costs):
        pico_usd = max(0, round(sum(cost or 0.0 for cost in costs) * PICO))
    return pico_usd, tokens


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _usd(pico: int) -> str:
    usd = pico / PICO
    return f"{usd:.2f} USD" if usd >= 0.1 or not usd else f"{usd:.2g} USD"


def _tokens(count: int) -> str:
    return f"{count:,} tokens"


def _calls(count: int) -> str:
    return f"{count:,} {'call' if count == 1 else 'calls'}"
