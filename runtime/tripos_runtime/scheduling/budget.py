"""The budget of a run: a call's highest cost is reserved before it is made, and replaced by its real cost afterwards.

`ObservedCosts` records how much calls of a model really cost. `Stopped`, `Halted` and `OutOfBudget` are the errors that
end a run or its remaining calls."""

from __future__ import annotations

import asyncio
import math
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Self

from tripos_compiler.diagnostics.text_format import usd
from tripos_compiler.errors import TriposError
from tripos_compiler.library.media import Medium, media_in
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import Model, Price, Reply, Request
from tripos_runtime.models.prices import audio_factor, media_tokens

PICO = 10**12
"""Money is counted in integers of this fraction of a USD, small enough for the price of any token."""
UNKNOWN = 100
"""The multiple of its estimated highest cost that is reserved for the first call of a model."""
CAUTION = 16
CAUTIOUS = 4
"""After n calls of a model, `CAUTION / n` times the highest of their costs is reserved for each further call, but at
least `CAUTIOUS` times."""
Amounts = tuple[int, int, int]
"""Money in units of 1 / `PICO` USD, tokens, and calls."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The estimated highest cost of a call: money, tokens in and out together, and replies; the assumed largest numbers
    of tokens of the prompt (`sent`) and of each reply (`received`); and the price, if the budget limits money."""

    pico_usd: int
    tokens: int
    calls: int
    sent: int = 0
    received: int = 0
    price: Price | None = None


@dataclass(eq=False, slots=True)
class Debit:
    """The part of a budget that a call of the model `name` takes while it is in flight: its highest cost, and the
    reserved amount."""

    cost: Cost
    name: str
    highest: Amounts
    reserved: Amounts = (0, 0, 0)
    fixed: bool = False
    """True if the reserved amount does not change with the cost of other calls."""


class ObservedCosts:
    """The observed costs of a model's calls. `count` is their number.

    >>> observed = ObservedCosts()
    >>> cost = observed.highest(sent=100, received=50, samples=1, price=None)
    >>> observed.amounts(cost)
    ((0, 150, 1), (0, 15000, 1))
    >>> reply = Reply("4", "m", "stop", 100, 950, None)
    >>> observed.learn(cost, reply, used_by(reply, None)), observed.amounts(cost)
    (True, ((0, 1050, 1), (0, 16800, 1)))
    """

    __slots__ = ("_dearest", "_more_in", "_more_out", "count")

    def __init__(self) -> None:
        self.count = 0
        self._more_in = self._more_out = 0
        """The largest numbers of tokens by which a prompt and a reply exceeded the assumed maximum."""
        self._dearest = (0, 0)
        """The highest money and the highest number of tokens of a reply."""

    def highest(self, sent: int, received: int, samples: int, price: Price | None) -> Cost:
        """Return the highest cost of a call whose prompt and replies have at most `sent` and `received` tokens."""
        most_in, most_out = sent + self._more_in, received + self._more_out
        pico_usd = 0 if price is None else math.ceil(highest_usd(price, most_in, most_out) * PICO)
        return Cost(pico_usd * samples, (most_in + most_out) * samples, samples, sent, received, price)

    def amounts(self, cost: Cost) -> tuple[Amounts, Amounts]:
        """Return the highest cost of a call by all calls so far, and the amount to reserve for it while others are in
        flight."""
        current = self.highest(cost.sent, cost.received, cost.calls, cost.price)
        highest = (current.pico_usd, current.tokens, current.calls)
        if not self.count:
            return highest, (current.pico_usd * UNKNOWN, current.tokens * UNKNOWN, current.calls)
        times = max(CAUTIOUS, CAUTION / self.count) * cost.calls
        pico_usd, tokens = (math.ceil(each * times) for each in self._dearest)
        return highest, (max(current.pico_usd, pico_usd), max(current.tokens, tokens), current.calls)

    def learn(self, cost: Cost, reply: Reply, used: tuple[int | None, int | None]) -> bool:
        """Record the usage of a call. Return true if this changes the reservations of others."""
        before = (self._more_in, self._more_out, self._dearest, max(CAUTIOUS, CAUTION / max(self.count, 1)))
        first = not self.count
        self.count += 1
        self._more_in = max(self._more_in, (reply.tokens_in or 0) - cost.sent)
        received = sum(max(0, each.tokens_out or 0) for each in (reply, *reply.further_choices))
        replies = reply_count(cost, reply)
        self._more_out = max(self._more_out, math.ceil(received / replies) - cost.received)
        each_used = [math.ceil((amount or 0) / replies) for amount in used]
        self._dearest = (max(self._dearest[0], each_used[0]), max(self._dearest[1], each_used[1]))
        return first or before != (self._more_in, self._more_out, self._dearest, max(CAUTIOUS, CAUTION / self.count))


def reply_count(cost: Cost, reply: Reply) -> int:
    """Return how many replies of a call count: those that arrived, but at most the requested number. A server that
    ignores `n` sends fewer."""
    return min(cost.calls, 1 + len(reply.further_choices))


def highest_usd(price: Price, sent: int, received: int) -> float:
    """Return the highest cost of these tokens in USD, whether or not any of them are cached or hidden."""
    return max(price.cost_usd(sent, received, cached, hidden) for cached in (0, sent) for hidden in (0, received))


def used_by(reply: Reply, price: Price | None) -> tuple[int | None, int | None]:
    """Return the money and the tokens that a reply and its further replies used, if known."""
    replies = (reply, *reply.further_choices)
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


class Stopped(TriposError):
    """The run cannot continue: a model is unavailable, or the budget is spent. Earlier replies are kept."""

    @classmethod
    def because(cls, error: TriposError) -> Self:
        """Return an error that ends the run, with the code, the message and the hint of an error that would end only
        one call."""
        return cls(error.code, error.message, error.hint)


class Halted(Exception):
    """The run is ending, and this call was not made."""


AMOUNT = re.compile(r"(\$)?\s*(\d+(?:\.\d+)?|\.\d+)\s*([kM])?\s*(usd|\$|tokens?|calls?)?", re.I | re.ASCII)


class BudgetError(TriposError):
    """A budget that cannot be enforced. R0401: the text is not an amount; R0403: the length of replies is unlimited;
    R0404: the price of a model is unknown."""


def read_amounts(texts: Iterable[str]) -> dict[str, Decimal]:
    """Return the amounts of `USD`, `tokens` and `calls`, each given at most once. Raises `BudgetError` (R0401).

    >>> read_amounts(["$0.50", "2M tokens"])
    {'USD': Decimal('0.50'), 'tokens': Decimal('2000000')}
    """
    amounts: dict[str, Decimal] = {}
    for text in texts:
        unit, amount = _amount(text)
        if unit in amounts:
            raise BudgetError("R0401", f"the budget has two amounts of {unit}", "give each unit once")
        amounts[unit] = amount
    return amounts


def _amount(text: str) -> tuple[str, Decimal]:
    """Return the unit (`USD`, `tokens` or `calls`) and the number."""
    error = BudgetError(
        "R0401", f"`{text}` is not a budget", "write it as `5usd`, `200000tokens`, `2Mtokens` or `1000calls`"
    )
    match = AMOUNT.fullmatch(text.strip())
    if match is None:
        raise error
    dollar, number, thousands, unit = match[1], match[2], (match[3] or "").lower(), (match[4] or "").lower()
    if bool(dollar) == bool(unit) and not (dollar and unit == "usd"):
        raise error
    amount = Decimal(number) * {"": 1, "k": 1000, "m": 1_000_000}[thousands]
    if dollar or unit in {"usd", "$"}:
        kind, valid = "USD", not thousands
    else:
        kind, valid = ("tokens" if unit.startswith("token") else "calls"), amount == amount.to_integral_value()
    if not valid or amount <= 0 or amount > PICO:
        raise error
    return kind, amount


AROUND_MESSAGE = 16
"""The largest number of tokens that a message costs in addition to its text."""
LEAST_MEDIUM, PIXELS = 4096, 196
"""The assumed tokens of every image or file, and the pixels per further token, if no formula is published."""


class OutOfBudget(Stopped):
    """The next call could cost more than is left."""


class Budget:
    """The limits of a budget and the amount spent. `None` means no limit; spending is counted in any case.

    Before each attempt its highest cost is reserved: every byte of the messages and of the schema counts as a token,
    plus 16 tokens per message; the reply has the length that `max_tokens` or the model allows. Afterwards the real
    usage replaces the reservation; if it is unknown, the highest cost counts as spent. A failed call costs what its
    provider reports. Without a report it costs nothing, and so does a cancelled call, although a provider may bill a
    reply that never arrived.

    A call may use more than its estimate: a provider may add texts to prompts, and not count reasoning as output. So
    the first call of a model goes alone, and later calls reserve by what calls of their model really cost
    (`ObservedCosts`). A call that is alone in flight needs room only for its highest cost. So a budget is exceeded by
    one call at most.

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
        self._reserved = [0, 0, 0]
        self._in_flight: dict[str, set[Debit]] = {}
        """The reservations of the calls in flight, by model."""
        self._waiting: deque[tuple[asyncio.Future[Debit], Cost, str]] = deque()
        """The calls that wait for room, in the order of arrival: their future reservation, their cost and model."""
        self._schemas: dict[int, tuple[Mapping[str, Any], int]] = {}
        """The sizes of schemas by the `id` of the schema, which is kept so that the id stays unique."""
        self._observed: dict[str, ObservedCosts] = {}

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Budget:
        """Return the budget of texts such as `5usd`, `0.5 USD`, `$5`, `200000tokens`, `2Mtokens`, `1000calls`, at most
        one for each unit. Raises `BudgetError` (R0401).

        >>> Budget.parse(["$0.50", "1000 calls"]).usd
        0.5
        >>> Budget.parse(["five"])
        Traceback (most recent call last):
        tripos_runtime.scheduling.budget.BudgetError: R0401: `five` is not a budget
          help: write it as `5usd`, `200000tokens`, `2Mtokens` or `1000calls`
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
        """The cost of the calls so far whose price is known."""
        return self._spent[0] / PICO

    @property
    def spent_tokens(self) -> int:
        """The tokens sent and received so far."""
        return self._spent[1]

    @property
    def spent_calls(self) -> int:
        """The number of replies so far."""
        return self._spent[2]

    def highest(self, request: Request, model: Model) -> Cost:
        """Return the highest cost of a request. Raises `Stopped`: R0403 if the length of the reply is unlimited, R0404
        if the price is unknown and the budget is in USD."""
        if not self._bounds_usage:
            return Cost(0, 0, request.samples)
        price = model.price
        if price is None and self.usd is not None:
            error = _unpriced([model.name])
            raise Stopped.because(error)
        sent = sum(_bytes(text) + AROUND_MESSAGE for text in request.texts)
        detail = request.settings.image_detail
        sent += sum(
            _highest_media_tokens(medium, model.name, detail) for text in request.texts for medium in media_in(text)
        )
        if request.schema is not None:
            sent += self._schema_bytes(request.schema)
        longest = len(request.options) + 1 if request.options else request.settings.max_tokens
        most_out = self.most_out(model, longest, sent)
        if most_out is None:
            error = _unbounded([model.name])
            raise Stopped.because(error)
        return self._observed_of(model.name).highest(
            sent, most_out, request.samples, None if self.usd is None else price
        )

    def most_out(self, model: Model, max_tokens: int | None, sent: int = 1) -> int | None:
        """Return the largest number of reply tokens to reserve; `None` if it is unlimited."""
        price = model.price
        if not self._bounds_usage or max_tokens is not None:
            return max_tokens or 0
        if price is not None and price.most_out is not None:
            return price.most_out
        costs = price is not None and highest_usd(price, sent, 1) > price.cost_usd(sent, 0)
        return None if costs or self.tokens is not None else 0

    async def debit(self, cost: Cost, name: str) -> Debit:
        """Reserve the cost of a call of the model `name`, and return the reservation. If it does not fit, wait for the
        calls in flight, which may release enough. Raises `OutOfBudget` if nothing more can be released."""
        if not self._waiting and (debit := self._try_debit(cost, name)) is not None:
            return debit
        future: asyncio.Future[Debit] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, cost, name))
        self._admit()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.give_back(future.result())
            else:
                self._admit()
            raise

    def hold(self, cost: Cost, name: str, *, anyway: bool = False) -> Debit | None:
        """Reserve the highest cost of a request in a batch, and return the reservation; `None` if it does not fit. With
        `anyway`, it is reserved in any case, since the request was submitted already."""
        highest, _ = self._observed_of(name).amounts(cost)
        if not anyway and not self._fits(highest):
            return None
        debit = Debit(cost, name, highest, highest, fixed=True)
        self._in_flight.setdefault(name, set()).add(debit)
        for place, amount in enumerate(highest):
            self._reserved[place] += amount
        return debit

    def settle(self, debit: Debit, reply: Reply, price: Price | None) -> None:
        """Replace a reservation by the usage of the reply at that price."""
        used = used_by(reply, price)
        self._release(debit)
        for place, amount in enumerate(used):
            self._spent[place] += debit.highest[place] if amount is None else amount
        self._spent[2] += reply_count(debit.cost, reply)
        observed = self._observed_of(debit.name)
        if self._bounds_usage and observed.learn(debit.cost, reply, used):
            for other in self._in_flight.get(debit.name, ()):
                if not other.fixed:
                    self._reserve(other, observed)
        self._admit()

    def end(self, debit: Debit, usage: Reply | None, price: Price | None) -> None:
        """Replace the reservation of a call without a reply by its reported usage, or by nothing."""
        if usage is None:
            self.give_back(debit)
        else:
            self.settle(debit, usage, price)

    def give_back(self, debit: Debit) -> None:
        """Release the reservation of a call that cost nothing."""
        self._release(debit)
        self._admit()

    @property
    def has_reservations(self) -> bool:
        """True while a reservation may be partly released."""
        return bool(self._in_flight)

    @property
    def _bounds_usage(self) -> bool:
        return self.usd is not None or self.tokens is not None

    def _observed_of(self, name: str) -> ObservedCosts:
        return self._observed.setdefault(name, ObservedCosts())

    def _must_wait_for_first(self, cost: Cost, name: str) -> bool:
        """Return true while no cost of a model's calls has been observed and a call of it is in flight."""
        is_estimate = cost.pico_usd > 0 or (self.tokens is not None and cost.tokens > 0)
        return is_estimate and not self._observed_of(name).count and name in self._in_flight

    def _try_debit(self, cost: Cost, name: str) -> Debit | None:
        """Return the reservation of a call that may go now; None if it has to wait."""
        if self._must_wait_for_first(cost, name):
            return None
        observed = self._observed_of(name)
        highest, reserved = observed.amounts(cost)
        if not self._fits(reserved) and (self._in_flight or not self._fits(highest)):
            return None
        debit = Debit(cost, name, highest)
        self._in_flight.setdefault(name, set()).add(debit)
        self._reserve(debit, observed)
        return debit

    def _fits(self, more: Amounts) -> bool:
        return all(
            limit is None or spent + reserved + each <= limit
            for limit, spent, reserved, each in zip(self._limits, self._spent, self._reserved, more, strict=True)
        )

    def _reserve(self, debit: Debit, observed: ObservedCosts) -> None:
        """Set the reservation of a call in flight by the costs observed so far."""
        _, amounts = observed.amounts(debit.cost)
        for place, amount in enumerate(amounts):
            self._reserved[place] += amount - debit.reserved[place]
        debit.reserved = amounts

    def _release(self, debit: Debit) -> None:
        calls = self._in_flight[debit.name]
        calls.remove(debit)
        if not calls:
            del self._in_flight[debit.name]
        for place, amount in enumerate(debit.reserved):
            self._reserved[place] -= amount

    def _admit(self) -> None:
        """Admit waiting calls in the order of arrival, so that cheap calls do not starve an expensive one. Only a call
        that waits for the first call of its model is overtaken by later calls."""
        later: deque[tuple[asyncio.Future[Debit], Cost, str]] = deque()
        while self._waiting:
            future, cost, name = self._waiting[0]
            if not future.done():
                if self._must_wait_for_first(cost, name):
                    later.append(self._waiting.popleft())
                    continue
                debit = self._try_debit(cost, name)
                if debit is not None:
                    future.set_result(debit)
                elif self._in_flight:
                    break
                else:
                    future.set_exception(self.refusal(cost, name))
            self._waiting.popleft()
        self._waiting.extendleft(reversed(later))

    def refusal(self, cost: Cost, name: str) -> OutOfBudget:
        """Return the error of a call that does not fit into the budget."""
        figures = (
            (limit, spent, more, show)
            for limit, spent, more, show in zip(
                self._limits,
                self._spent,
                self._observed_of(name).amounts(cost)[0],
                (_usd, _tokens, _calls),
                strict=True,
            )
        )
        parts = [
            f"{show(limit)} allowed, {show(spent)} spent, and the next call of `{name}` may take {show(more)}"
            for limit, spent, more, show in figures
            if limit is not None and spent + more > limit
        ]
        hint = "run again with a larger `--budget`: kept replies cost nothing"
        return OutOfBudget("R0402", f"the budget does not go further: {'; '.join(parts)}", hint)

    def _schema_bytes(self, schema: Mapping[str, Any]) -> int:
        """Return the size of a schema in bytes. Schemas are few, and each is part of many requests."""
        known = self._schemas.get(id(schema))
        if known is None:
            import orjson

            known = self._schemas[id(schema)] = (schema, len(orjson.dumps(schema)))
        return known[1]


def check_prices(models: Iterable[Model], budget: Budget | None) -> None:
    """Raise `BudgetError` (R0404) if the budget is in USD and the price of a model is unknown."""
    if budget is None or budget.usd is None:
        return
    names = [model.name for model in models if model.price is None]
    if names:
        raise _unpriced(names)


def check_bounds(replies: Iterable[tuple[str, Model, int | None]], budget: Budget | None) -> None:
    """Raise `BudgetError` (R0403) if the budget is in USD or tokens and the length of some replies is unlimited.
    `replies` are the steps and scorers, each with its model and its `max_tokens`."""
    if budget is None:
        return
    open_ended = [(where, model.name) for where, model, most in replies if budget.most_out(model, most) is None]
    if open_ended:
        names, places = (
            [*dict.fromkeys(each)] for each in zip(*((name, where) for where, name in open_ended), strict=True)
        )
        raise _unbounded(names, places)


def _unbounded(names: Sequence[str], places: Sequence[str] = ()) -> BudgetError:
    listed = ", ".join(f"`{name}`" for name in names)
    at = f" in {', '.join(f'`{place}`' for place in places)}" if places else ""
    message = f"there is no bound on the length of a reply of {listed}{at}, so a budget cannot hold"
    hint = "give the step `max_tokens` or the model `max_output` under [prices], or set the budget in calls"
    return BudgetError("R0403", message, hint)


def _unpriced(names: Sequence[str]) -> BudgetError:
    listed = ", ".join(f"`{name}`" for name in names)
    lines = "\n".join(f'[prices."{name}"]\ninput = ...\noutput = ...' for name in names)
    hint = f"write into tripos.toml, in USD for a million tokens (0 where calls cost nothing):\n{lines}"
    return BudgetError("R0404", f"a budget in USD needs prices, and there is none for {listed}", hint)


def _highest_media_tokens(medium: Medium, model: str, detail: str | None) -> int:
    """Return the largest number of tokens that an image or another file costs, in tokens of text. If no formula is
    published, assume more than any known model uses."""
    most = media_tokens(model, medium, detail).high
    if not math.isfinite(most):
        most = LEAST_MEDIUM + medium.size + (medium.width or 0) * (medium.height or 0) // PIXELS
    return math.ceil(most * (audio_factor(model) if medium.kind == "audio" else 1))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _usd(pico: int) -> str:
    return f"{usd(pico / PICO)} USD"


def _tokens(count: int) -> str:
    return f"{count:,} tokens"


def _calls(count: int) -> str:
    return f"{count:,} {'call' if count == 1 else 'calls'}"
