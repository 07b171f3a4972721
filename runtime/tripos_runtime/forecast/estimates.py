"""The estimated tokens and cost of calls, low, expected and high, and the basis of the figures.

- A prompt's tokens: its characters, by the tokens per character of kept prompts of the model, else 4 characters of an
  alphabet and 1.5 of Chinese per token. If it waits for a reply: the tokens of kept prompts of the step, else the
  reply's expected length is added.
- A reply's tokens: those of kept replies of the model to the step (10th percentile, mean), else of other models, else
  a guess: 12 tokens per field, 60 per text and 120 for any JSON, 400 without a schema; low is half of it.

High is a bound. A prompt has at most one token per 2 alphabetic characters and 2 per Chinese one, plus 8 per message; a
reply has what the settings or the model allow. High is infinite if nothing limits a reply, or if a function or a row
that is not generated yet fills a prompt; `unbounded` then says why.

Possible calls count with 0 for low, half for expected, and fully for high. Calls that are made unless an earlier reply
fails count fully for expected; calls that are made only if others fail count 0. If a reply is read into a schema, high
includes the one repair."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tripos_compiler.plan import Ask, Converse, JudgedStep, Settings
from tripos_runtime.asking.questions import Question
from tripos_runtime.forecast.reasons import History, Place, Usage
from tripos_runtime.forecast.sizes import CallCertainty, CallGroup, CountedPrompts, ReplySource, Size
from tripos_runtime.models.base import Price
from tripos_runtime.models.prices import audio_extra_usd, media_tokens, media_without_bound

NARROW, WIDE = 1 / 4, 1 / 1.5
"""The tokens of an alphabetic and of a Chinese character without kept prompts."""
MOST_NARROW, MOST_WIDE, MOST_MESSAGE = 1 / 2, 2.0, 8
"""The largest number of tokens of a character, and the tokens of a message."""
FIELD, TEXT, FREE_JSON, FREE_TEXT = 12, 60, 120, 400
CHOSEN = 64
"""The largest number of tokens that a server generates when asked for likelihoods: one for each option, unread."""
REPAIR = 64
"""The largest number of tokens of the message that asks for a repair."""
ITEMS = 3
"""The assumed number of elements of a list in a reply."""


class EstimateSpan(NamedTuple):
    """Low, expected and high values."""

    low: float
    expected: float
    high: float

    def plus(self, other: EstimateSpan) -> EstimateSpan:
        """Return the sum, component by component.

        >>> EstimateSpan(1, 2, 3).plus(EstimateSpan(1, 1, 1))
        EstimateSpan(low=2, expected=3, high=4)
        """
        return EstimateSpan(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def times(self, factor: EstimateSpan | float) -> EstimateSpan:
        """Return the product, component by component; zero times infinity is zero.

        >>> EstimateSpan(1, 2, math.inf).times(EstimateSpan(0, 0, 0))
        EstimateSpan(low=0, expected=0, high=0)
        """
        by = factor if isinstance(factor, EstimateSpan) else EstimateSpan(factor, factor, factor)
        return EstimateSpan(*(a * b if a and b else 0 for a, b in zip(self, by, strict=True)))

    def to_json(self, digits: int | None = None) -> dict[str, float | None]:
        """Return the values as JSON; null if there is no bound."""
        return {name: round(value, digits) if math.isfinite(value) else None for name, value in self._asdict().items()}


NOTHING = EstimateSpan(0, 0, 0)
SHARES = {
    CallCertainty.CERTAIN: EstimateSpan(1, 1, 1),
    CallCertainty.LIKELY: EstimateSpan(0, 1, 1),
    CallCertainty.PERHAPS: EstimateSpan(0, 0.5, 1),
    CallCertainty.SPARE: EstimateSpan(0, 0, 1),
}
"""The share of calls that counts, by certainty."""


class EstimateBasis(NamedTuple):
    """The basis of an estimate of reply tokens: `kept` replies of the model, those of `other` models, or a
    `guessed_tokens`."""

    kind: Literal["kept", "other", "guess"]
    place: Place
    model: str
    replies: int = 0


@dataclass(frozen=True)
class Estimate:
    """Calls, tokens and USD. `cost_usd` is `None` if a price is unknown; `known_usd` is the rest then."""

    calls: EstimateSpan = NOTHING
    tokens_in: EstimateSpan = NOTHING
    tokens_out: EstimateSpan = NOTHING
    cost_usd: EstimateSpan | None = NOTHING
    known_usd: EstimateSpan = NOTHING
    basis: tuple[EstimateBasis, ...] = ()
    unbounded: tuple[str, ...] = ()
    """The reasons why high is infinite, if it is."""

    @property
    def rests_on(self) -> str:
        """The basis of the reply tokens, in words; empty if there are no calls.

        >>> Estimate(basis=(EstimateBasis("kept", ("", "", ""), "m", 12), EstimateBasis("guess", ("", "", ""),
        ... "n"))).rests_on
        '12 kept replies, a guess for n'
        """
        texts = []
        for kind, of in (("kept", ""), ("other", " of other models")):
            count = sum(basis.replies for basis in self.basis if basis.kind == kind)
            if count:
                texts.append(f"{count:,} kept {'reply' if count == 1 else 'replies'}{of}")
        guessed = dict.fromkeys(basis.model for basis in self.basis if basis.kind == "guess")
        if guessed:
            texts.append(f"a guess for {', '.join(guessed)}" if texts else "a guess")
        return ", ".join(texts)

    @classmethod
    def of_all(cls, parts: Iterable[Estimate]) -> Estimate:
        """Return the sum.

        >>> part = Estimate(calls=EstimateSpan(1, 1, 1), cost_usd=None)
        >>> Estimate.of_all([part, part]).calls.low, Estimate.of_all([part]).cost_usd
        (2, None)
        """
        every = list(parts)
        costs = [part.cost_usd for part in every]
        return cls(
            _sum(part.calls for part in every),
            _sum(part.tokens_in for part in every),
            _sum(part.tokens_out for part in every),
            None if None in costs else _sum(cost for cost in costs if cost is not None),
            _sum(part.known_usd for part in every),
            tuple(dict.fromkeys(basis for part in every for basis in part.basis)),
            tuple(dict.fromkeys(each for part in every for each in part.unbounded)),
        )


@dataclass
class _Calls:
    """The calls of one step and model with the same settings. Fully known prompts are separate from those with pending
    parts."""

    fates: Counter[CallCertainty] = field(default_factory=Counter)
    known_prompts: dict[CallCertainty, CountedPrompts] = field(default_factory=dict)
    waiting: dict[CallCertainty, CountedPrompts] = field(default_factory=dict)


@dataclass
class CallLoad:
    """The input of the calls of one step and model, and the limits of their replies. `settings` are those of calls
    without their own, and the widest of all."""

    place: Place = ("", "", "")
    settings: Settings = field(default_factory=Settings)
    schema: Mapping[str, Any] | None = None
    stated: bool = False
    """True if the prompt states the form of the reply."""
    calls: Counter[CallCertainty] = field(default_factory=Counter)
    parts: dict[Settings, _Calls] = field(default_factory=dict)
    fixed: bool = False
    """True if nothing is written, so that settings limit nothing."""

    def open(self, step: Ask | JudgedStep, question: Question, scenario: str, writes: bool = True) -> None:
        """Set the step of the calls. A model that returns a number writes nothing."""
        table, title = ("samples", step.name) if isinstance(step, Ask) else ("judgements", step.scorer)
        self.place = (table, scenario, title)
        self.settings, self.schema = question.settings if writes else Settings(max_tokens=0), question.schema
        self.stated = question.stated is not None
        if question.chooses:
            self.settings = Settings(max_tokens=CHOSEN)
        self.fixed = question.chooses or not writes

    def open_turns(self, step: Converse, question: Question, scenario: str) -> None:
        """Set the role whose turns the calls are."""
        self.place, self.settings = ("turns", scenario, step.name), question.settings

    def add(
        self,
        fate: CallCertainty,
        size: Size,
        said_by: Mapping[str, ReplySource],
        times: int = 1,
        settings: Settings | None = None,
    ) -> None:
        """Add a call that is or may be made, and stands for `times` calls."""
        self.calls[fate] += times
        own = self.settings if settings is None or self.fixed else settings
        part = self.parts.setdefault(own, _Calls())
        part.fates[fate] += times
        kinds = part.known_prompts if size.is_known else part.waiting
        if fate not in kinds:
            kinds[fate] = CountedPrompts()
        kinds[fate].add(size, said_by, times)


class ReplyTokens(NamedTuple):
    """The tokens of one reply, and the basis of the figure."""

    tokens: EstimateSpan
    basis: EstimateBasis
    usage: Usage | None


Key = tuple[str, str, str]
"""Scenario, step and model: the key of similar replies."""


def estimates(
    loads: Mapping[CallGroup, CallLoad], prices: Mapping[str, Price | None], history: History
) -> dict[CallGroup, Estimate]:
    """Return the estimate for the calls of every step and model."""
    takings = {
        where: {
            part: reply_tokens(load.place, where.model, part, load.schema, prices, history)
            for part in load.parts or (load.settings,)
        }
        for where, load in loads.items()
    }
    taking: dict[Key, ReplyTokens] = {}
    for where, tokenses in takings.items():
        taking[_key(where)] = _any_of([*tokenses.values(), *([taking[_key(where)]] if _key(where) in taking else [])])
    return {
        where: Estimate.of_all(
            _estimate(_key(where), load, settings, takings[where][settings], taking, prices, history)
            for settings, part in load.parts.items()
            if part.fates.total()
        )
        for where, load in loads.items()
        if load.calls.total()
    }


def _any_of(found: Sequence[ReplyTokens]) -> ReplyTokens:
    """Return the tokens of a reply that is one of these."""
    lows, expected, highs = zip(*(tokens.tokens for tokens in found), strict=True)
    return found[0]._replace(tokens=EstimateSpan(min(lows), sum(expected) / len(expected), max(highs)))


def _key(where: CallGroup) -> Key:
    return where.scenario, where.step, where.model


def reply_tokens(
    place: Place,
    model: str,
    settings: Settings,
    schema: Mapping[str, Any] | None,
    prices: Mapping[str, Price | None],
    history: History,
) -> ReplyTokens:
    """Return the tokens of a reply."""
    usage, kind = history.usage_of(place, model)
    basis = EstimateBasis(kind, place, model, usage.replies if usage is not None else 0)
    price = prices.get(model)
    bounds = [each for each in (settings.max_tokens, price.most_out if price is not None else None) if each is not None]
    most = min(bounds, default=math.inf)
    if usage is not None:
        low, mean = min(usage.out_low, most), min(usage.out_mean, most)
        return ReplyTokens(EstimateSpan(min(low, mean), mean, most), basis, usage)
    guessed = min(guessed_tokens(schema) if schema is not None else FREE_TEXT, most)
    return ReplyTokens(EstimateSpan(guessed / 2, guessed, most), basis, None)


def guessed_tokens(schema: Mapping[str, Any]) -> int:
    """Return the guessed tokens of a reply that fits a JSON Schema.

    >>> guessed_tokens({"type": "object", "properties": {"why": {"type": "string"}, "score": {"type": "integer"}}})
    72
    """
    if not schema:
        return FREE_JSON
    match schema:
        case {"type": "object", "properties": fields}:
            return sum(guessed_tokens(each) for each in fields.values()) or FIELD
        case {"type": "array", "items": items}:
            return ITEMS * guessed_tokens(items)
        case {"anyOf": options}:
            return max(guessed_tokens(option) for option in options)
        case {"type": "string", **rest} if "enum" not in rest:
            return TEXT
    return FIELD


def _estimate(
    key: Key,
    load: CallLoad,
    settings: Settings,
    mine: ReplyTokens,
    taking: Mapping[Key, ReplyTokens],
    prices: Mapping[str, Price | None],
    history: History,
) -> Estimate:
    """Return the estimate for calls with the same settings; `mine` is the estimate for one of their replies."""
    part, price = load.parts[settings], prices.get(key[2])
    span = _sum(share.times(part.fates[fate]) for fate, share in SHARES.items())
    estimate_span, extra, unbounded = NOTHING, NOTHING, dict.fromkeys(_unbounded(key, {key: mine}))
    for fate, share in SHARES.items():
        for prompts in (part.known_prompts.get(fate), part.waiting.get(fate)):
            if prompts is not None:
                estimate_span = estimate_span.plus(
                    _prompt_tokens(key, prompts, mine, taking, history, settings).times(share)
                )
                extra = extra.plus(EstimateSpan(*audio_extra_usd(key[2], price, prompts.media)).times(share))
                unbounded |= dict.fromkeys((*prompts.unknown, *media_without_bound(key[2], prompts.media)))
                unbounded |= dict.fromkeys(
                    why for said in (*prompts.pending, *prompts.beyond) for why in _unbounded(said, taking)
                )
    got = mine.tokens.times(span)
    if load.schema is not None or load.stated:  # a repair sends the prompt and the reply, and gets another reply
        estimate_span = estimate_span._replace(high=2 * estimate_span.high + got.high + REPAIR * span.high)
        got = got._replace(high=2 * got.high)
        span = span._replace(high=2 * span.high)
        extra = extra._replace(high=2 * extra.high)
    cost = _cost(price, span, estimate_span, got)
    cost = None if cost is None else cost.plus(extra)
    return Estimate(span, estimate_span, got, cost, cost or NOTHING, (mine.basis,), tuple(unbounded))


def _unbounded(key: Key, taking: Mapping[Key, ReplyTokens]) -> list[str]:
    """Return the reasons why replies may have any length."""
    if key in taking and taking[key].tokens.high < math.inf:
        return []
    return [f"a reply of `{key[2]}` to `{key[1]}` without `max_tokens`"]


def _prompt_tokens(
    key: Key,
    prompts: CountedPrompts,
    mine: ReplyTokens,
    taking: Mapping[Key, ReplyTokens],
    history: History,
    settings: Settings,
) -> EstimateSpan:
    """Return the tokens of all these prompts."""
    density = history.density.get(key[2])
    if density is None:
        written = prompts.narrow * NARROW + prompts.wide * WIDE
    else:
        written = (prompts.narrow + prompts.wide) * density
    most = max(written, (prompts.narrow + prompts.most) * MOST_NARROW + prompts.wide * MOST_WIDE)
    span = EstimateSpan(written, written, most + prompts.messages * MOST_MESSAGE)
    for medium, times in prompts.media.items():
        tokens = media_tokens(key[2], medium, settings.image_detail)
        span = span.plus(EstimateSpan(tokens.expected, tokens.expected, tokens.high).times(times))
    for said, times in prompts.pending.items():
        span = span.plus(_of(said, taking).times(times))
    for said, times in prompts.beyond.items():
        span = span.plus(_of(said, taking).times(EstimateSpan(0, 0, times)))
    if prompts.unknown:
        span = span.plus(EstimateSpan(0, FREE_TEXT * prompts.unknown.total(), math.inf))
    told = mine.usage.tokens_in if mine.usage is not None else None
    if prompts.waits and told is not None:
        span = EstimateSpan(told * prompts.calls, told * prompts.calls, max(span.high, told * prompts.calls))
    return span


def _of(said: ReplySource, taking: Mapping[Key, ReplyTokens]) -> EstimateSpan:
    """Return the tokens of a reply inside a prompt."""
    return taking[said].tokens if said in taking else EstimateSpan(FREE_TEXT / 2, FREE_TEXT, math.inf)


def _cost(price: Price | None, calls: EstimateSpan, sent: EstimateSpan, got: EstimateSpan) -> EstimateSpan | None:
    """Return the cost of all calls. Prices may depend on the length of a prompt, so it is computed for the mean
    call."""
    if price is None:
        return None
    return EstimateSpan(
        *(
            number * _one(price, into / number, out / number) if number else 0.0
            for number, into, out in zip(calls, sent, got, strict=True)
        )
    )


def _one(price: Price, sent: float, got: float) -> float:
    """Return the cost of a mean call, whose tokens are not integers."""
    if math.inf in (sent, got):
        return math.inf if price.cost_usd(1, 1) else 0.0
    whole_in, whole_out = int(sent), int(got)
    base = price.cost_usd(whole_in, whole_out)
    more_in = price.cost_usd(whole_in + 1, whole_out) - base
    more_out = price.cost_usd(whole_in, whole_out + 1) - base
    return base + (sent - whole_in) * more_in + (got - whole_out) * more_out


def _sum(spans: Iterable[EstimateSpan]) -> EstimateSpan:
    total = NOTHING
    for span in spans:
        total = total.plus(span)
    return total
