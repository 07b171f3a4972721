"""Prices of calls from litellm's map of models, and the tokens that images, recordings and files cost.

Token counts follow the formulas that the providers publish:

- OpenAI: https://platform.openai.com/docs/guides/images-vision#calculating-costs (a base and tiles of 512 pixels, or
  patches of 32 pixels times a factor; with low detail only the base, or the patches of an image of 512 pixels);
  recordings: https://platform.openai.com/docs/guides/realtime-costs (a token for 100 ms).
- Anthropic: https://docs.claude.com/en/docs/build-with-claude/vision#calculate-image-costs (pixels / 750).
- Google: https://ai.google.dev/gemini-api/docs/tokens#multimodal-tokens (258 for a tile; 32 for a second).

For other servers, whose formulas are unknown, there is an estimate and no bound."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from tripos_compiler.library.media import Medium
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import Price
from tripos_runtime.models.catalog import entry_of, provider_named

ABOVE = re.compile(r"^(?:in|out)put_cost_per_token_above_(\d+)(k?)_tokens$")
"""The fields of an entry with the price of long prompts, and the threshold in them."""
CACHED_AT_HALF = ("fireworks_ai",)
"""Providers that charge half for a cached prompt token if the map has no price for it."""


@dataclass(frozen=True)
class Rates:
    """The rates, in USD per token, of calls whose prompt has more than `above` tokens, up to the next threshold."""

    above: int
    input_usd: float
    output_usd: float
    cached_usd: float
    reasoning_usd: float


@dataclass(frozen=True)
class Tariff(Price):
    """A price that may depend on the length of the prompt, which sets the rates of all tokens of a call.

    >>> dearer = Rates(200_000, 2e-6, 8e-6, 2e-6, 8e-6)
    >>> price = Tariff(1e-6, 4e-6, steps=(dearer,))
    >>> price.cost_usd(1000, 1000), price.cost_usd(300_000, 1000)
    (0.005, 0.608)
    """

    reasoning_usd: float | None = None
    """The price of a hidden output token; `None` if it costs the same as any other."""
    request_usd: float = 0.0
    """The price of a request in addition to its tokens."""
    steps: tuple[Rates, ...] = ()
    """The rates of long prompts, the longest first."""

    def cost_usd(self, tokens_in: int, tokens_out: int, cached: int = 0, reasoning: int = 0) -> float:
        """Return the cost of a call in USD; see `Price.cost_usd`."""
        rates = next((step for step in self.steps if tokens_in > step.above), None)
        if rates is None:
            cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
            hidden_usd = self.output_usd if self.reasoning_usd is None else self.reasoning_usd
            rates = Rates(0, self.input_usd, self.output_usd, cached_usd, hidden_usd)
        input_usd = (tokens_in - cached) * rates.input_usd + cached * rates.cached_usd
        output_usd = (tokens_out - reasoning) * rates.output_usd + reasoning * rates.reasoning_usd
        return input_usd + output_usd + self.request_usd


def price_of(provider: str, model: str) -> Price | None:
    """Return the price of a provider's model; `None` if the map has none.

    Off-peak rates, batch rates and service tiers are ignored: the standard rate counts.

    >>> price_of("openai", "gpt-4o").cost_usd(1_000_000, 100_000)
    3.5
    >>> price_of("openai", "no-such-model") is None
    True
    """
    entry = entry_of(provider, model)
    return None if entry is None else tariff(entry, provider)


def batch_price(provider: str, model: str, price: Price | None, *, price_is_users: bool = False) -> Price | None:
    """Return the price of a request in a batch, given that of a call: the map's batch price, or half. A price from the
    user's settings (`price_is_users`) is halved.

    >>> call = price_of("openai", "gpt-4o")
    >>> batch_price("openai", "gpt-4o", call).cost_usd(1_000_000, 100_000)
    1.75
    """
    if price is None:
        return None
    entry = None if price_is_users else entry_of(provider, model)
    batch_in, batch_out = (
        None if entry is None else _number(entry, f"{side}put_cost_per_token_batches") for side in ("in", "out")
    )
    half = _halved(price)
    if batch_in is None or batch_out is None or half.input_usd == batch_in:
        return half
    return replace(half, input_usd=batch_in, output_usd=batch_out, cached_usd=None)


def _halved(price: Price) -> Price:
    cached = None if price.cached_usd is None else price.cached_usd / 2
    half = replace(price, input_usd=price.input_usd / 2, output_usd=price.output_usd / 2, cached_usd=cached)
    if not isinstance(half, Tariff):
        return half
    steps = tuple(
        Rates(step.above, step.input_usd / 2, step.output_usd / 2, step.cached_usd / 2, step.reasoning_usd / 2)
        for step in half.steps
    )
    hidden = None if half.reasoning_usd is None else half.reasoning_usd / 2
    return replace(half, reasoning_usd=hidden, request_usd=half.request_usd / 2, steps=steps)


def tariff(entry: Mapping[str, Any], provider: str) -> Price | None:
    """Return the price in an entry of the map; `None` if the entry has no price per token."""
    most_out = entry.get("max_output_tokens")
    steps = _tiers(entry) or _thresholds(entry, int(provider_named(provider).dear_from_threshold))
    base = steps[-1] if steps and steps[-1].above < 0 else _rates(entry, "", -1, None)
    if base is None:
        return None
    hidden = _number(entry, "output_cost_per_reasoning_token")
    half = provider in CACHED_AT_HALF and "cache_read_input_token_cost" not in entry
    return Tariff(
        base.input_usd,
        base.output_usd,
        base.input_usd / 2 if half else base.cached_usd,
        most_out if isinstance(most_out, int) else None,
        base.reasoning_usd if base.above < 0 and entry.get("tiered_pricing") else hidden,
        _number(entry, "input_cost_per_request") or 0.0,
        tuple(step for step in steps if step.above >= 0),
    )


def _thresholds(entry: Mapping[str, Any], inclusive: int) -> tuple[Rates, ...]:
    """Return the steps of the thresholds in an entry, the longest prompts first. `inclusive` is 1 if the rates apply
    from the threshold itself, else 0."""
    thresholds = {match[1] + match[2] for match in map(ABOVE.match, entry) if match is not None}
    steps: list[Rates] = []
    rates = _rates(entry, "", -1, None)
    for threshold in sorted(thresholds, key=_tokens):
        rates = _rates(entry, f"_above_{threshold}_tokens", _tokens(threshold) - inclusive, rates)
        if rates is not None:
            steps.insert(0, rates)
    return tuple(steps)


def _rates(entry: Mapping[str, Any], suffix: str, above: int, shorter: Rates | None) -> Rates | None:
    """Return the rates in the fields with that suffix. Missing ones are those of shorter prompts, if there are any."""
    stated_in = _number(entry, f"input_cost_per_token{suffix}")
    stated_out = _number(entry, f"output_cost_per_token{suffix}")
    stated_cached = _number(entry, f"cache_read_input_token_cost{suffix}")
    if shorter is None:
        if stated_in is None and stated_out is None:
            return None
        input_usd, output_usd = stated_in or 0.0, stated_out or 0.0
        cached_usd = input_usd if stated_cached is None else stated_cached
    else:
        input_usd = shorter.input_usd if stated_in is None else stated_in
        output_usd = shorter.output_usd if stated_out is None else stated_out
        has_cached = "cache_read_input_token_cost" in entry
        cached_usd = stated_cached if stated_cached is not None else shorter.cached_usd if has_cached else input_usd
    reasoning_usd = _number(entry, "output_cost_per_reasoning_token")
    return Rates(above, input_usd, output_usd, cached_usd, output_usd if reasoning_usd is None else reasoning_usd)


def _tiers(entry: Mapping[str, Any]) -> tuple[Rates, ...]:
    """Return the steps of a table of tiers, the longest prompts first; the first tier has `above` -1."""
    tiers = entry.get("tiered_pricing")
    steps: list[Rates] = []
    for tier in tiers if isinstance(tiers, list) else ():
        input_usd = _number(tier, "input_cost_per_token")
        low = tier.get("range", (0,))[0]
        if input_usd is None:
            return ()
        output_usd = _number(tier, "output_cost_per_token")
        if output_usd is None:
            output_usd = _number(entry, "output_cost_per_token") or 0.0
        cached_usd = _number(tier, "cache_read_input_token_cost")
        reasoning_usd = _number(tier, "output_cost_per_reasoning_token")
        steps.insert(
            0,
            Rates(
                int(low) if low else -1,
                input_usd,
                output_usd,
                input_usd if cached_usd is None else cached_usd,
                output_usd if reasoning_usd is None else reasoning_usd,
            ),
        )
    return tuple(steps)


def _tokens(threshold: str) -> int:
    """Return the tokens of a threshold such as `128k` or `272000`."""
    return int(threshold[:-1]) * 1000 if threshold.endswith("k") else int(threshold)


def _number(entry: Mapping[str, Any], field: str) -> float | None:
    value = entry.get(field)
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


PATCHES = (
    (re.compile(r"gpt-(4\.1|5)-mini"), 1.62),
    (re.compile(r"gpt-(4\.1|5)-nano"), 2.46),
    (re.compile(r"o4-mini"), 1.72),
)
"""The names of models that count patches, and the factor of a patch."""
TILES = (
    (re.compile(r"gpt-4o-mini"), 2833, 5667),
    (re.compile(r"gpt-5"), 70, 140),
    (re.compile(r"o[13]\b"), 75, 150),
    (re.compile(r"gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-4-turbo"), 85, 170),
)
"""The names of models that count tiles, the base tokens of an image, and the tokens of each of its tiles. The first
entry that matches a name counts."""
USUAL = (85, 170)
"""The tokens of an image and of a tile for an estimate if a model's own are not published; mock models use them."""
PATCH, MOST_PATCHES = 32, 1536
"""The side of a patch in pixels, and the largest number of patches."""
LOW_SIDE = 512
"""The longer side of an image of low detail."""
TILE, LONGEST, SHORTEST = 512, 2048, 768
"""The side of a tile, and the longer and the shorter side to which an image is reduced before it is tiled, in
pixels."""
CLAUDE_PIXELS, CLAUDE_LONGEST, CLAUDE_USUAL = 750, 1568, 1600
"""The pixels of a token, the longer side to which an image is reduced, and the expected most tokens of an image."""
GEMINI_TILE, GEMINI_SMALL, GEMINI_UNIT = 258, 384, (256, 768)
"""The tokens of a tile, the longer side of an image that is one tile, and the smallest and the largest side of a
tile."""
GEMINI_MOST = 2240
"""The tokens of an image in the highest resolution of Gemini 3."""
SECOND, GEMINI_SECOND = 10, 32
"""The tokens of a second of a recording: in general, and for Gemini."""
NOUNS = {"image": "an image", "audio": "a recording", "file": "a file"}
FILE = 3000
"""An estimate for a file, whose pages are not counted."""


class MediaTokens(NamedTuple):
    """The expected and the largest number of tokens of a medium; the latter is infinite if it is not published."""

    expected: float
    high: float


def media_tokens(model: str, medium: Medium, detail: str | None = None) -> MediaTokens:
    """Return how many tokens a model uses for a medium; an image has the requested `detail`.

    >>> picture = Medium("image/png", "", 0, width=1024, height=1024)
    >>> media_tokens("openai/gpt-4o", picture), media_tokens("openai/gpt-5-mini", picture).expected
    (MediaTokens(expected=765, high=765), 1659)
    >>> round(media_tokens("anthropic/claude-sonnet-4-5", picture).expected), media_tokens("hosted_vllm/own",
    ... picture).high
    (1398, inf)
    >>> media_tokens("openai/gpt-4o", picture, "low").high, media_tokens("openai/gpt-5-mini", picture, "low")
    (85, MediaTokens(expected=415, high=1659))
    """
    provider, _, name = model.rpartition("/")
    if medium.kind == "file":
        return MediaTokens(FILE, FILE if provider == "mock" else math.inf)
    if medium.kind == "audio":
        return _audio(provider, name, medium)
    width, height = medium.width or 1, medium.height or 1
    if "claude" in name:
        return _claude(width, height)
    if "gemini" in name:
        return _gemini(width, height)
    for pattern, factor in PATCHES:
        if pattern.match(name):
            full, low = _patches(width, height), _patches(*_within(LOW_SIDE, width, height))
            return MediaTokens(math.ceil(factor * (low if detail == "low" else full)), math.ceil(factor * full))
    for pattern, base, tile in TILES:
        if pattern.match(name):
            return MediaTokens(base, base) if detail == "low" else _tiled(width, height, base, tile)
    estimate = MediaTokens(*USUAL[:1] * 2) if detail == "low" else _tiled(width, height, *USUAL)
    return estimate if provider == "mock" else MediaTokens(estimate.expected, math.inf)


def _within(side: int, width: int, height: int) -> tuple[int, int]:
    """Return the size of an image after its longer side is reduced to `side` if it is longer."""
    scale = min(1.0, side / max(width, height))
    return math.ceil(width * scale), math.ceil(height * scale)


def media_without_bound(model: str, media: Iterable[Medium]) -> list[str]:
    """Return, in words, the media for which the largest number of tokens of a model is not published.

    >>> media_without_bound("hosted_vllm/own", [Medium("image/png", "", 0, 1, 1)])
    ['the tokens that `hosted_vllm/own` takes for an image']
    """
    kinds = dict.fromkeys(medium.kind for medium in media if math.isinf(media_tokens(model, medium).high))
    return [f"the tokens that `{model}` takes for {NOUNS[kind]}" for kind in kinds]


def audio_factor(model: str) -> float:
    """Return the price of a recording's token divided by that of a text token; 1 if unknown.

    >>> audio_factor("openai/gpt-audio"), audio_factor("openai/gpt-4o")
    (12.8, 1.0)
    """
    provider, _, name = model.partition("/")
    entry = entry_of(provider, name) or {}
    audio_usd, text_usd = entry.get("input_cost_per_audio_token"), entry.get("input_cost_per_token")
    return round(audio_usd / text_usd, 6) if audio_usd and text_usd else 1.0


def audio_extra_usd(model: str, price: Price | None, media: Mapping[Medium, int]) -> tuple[float, float, float]:
    """Return the extra cost of recordings over the same number of text tokens: low, expected and high. Each medium
    comes with the number of times that it is shown."""
    recordings = {medium: times for medium, times in media.items() if medium.kind == "audio"}
    extra_usd = 0.0 if price is None or not recordings else price.input_usd * (audio_factor(model) - 1)
    counts = [(media_tokens(model, medium), times) for medium, times in recordings.items()] if extra_usd else []
    expected = sum(tokens.expected * times for tokens, times in counts) * extra_usd
    return expected, expected, sum(tokens.high * times for tokens, times in counts) * extra_usd


def _audio(provider: str, name: str, medium: Medium) -> MediaTokens:
    rate = GEMINI_SECOND if "gemini" in name else SECOND
    tokens = math.ceil((medium.seconds or 0.0) * rate)
    known = provider == "mock" or "gemini" in name or "audio" in name or "realtime" in name
    return MediaTokens(tokens, tokens + rate if known else math.inf)


def _tiled(width: int, height: int, base: int, tile: int) -> MediaTokens:
    """Return the tokens of tiles. The maximum is that of a model that enlarges small images to 768 pixels."""
    scale = min(1.0, LONGEST / max(width, height))
    reduced = scale * min(1.0, SHORTEST / (min(width, height) * scale))
    enlarged = min(SHORTEST / min(width, height), LONGEST / max(width, height))
    expected, high = (
        base + tile * math.ceil(width * by / TILE - 1e-9) * math.ceil(height * by / TILE - 1e-9)
        for by in (reduced, max(reduced, enlarged))
    )
    return MediaTokens(expected, max(expected, high))


def _patches(width: int, height: int) -> int:
    count = math.ceil(width / PATCH) * math.ceil(height / PATCH)
    return min(count, MOST_PATCHES)


def _claude(width: int, height: int) -> MediaTokens:
    scale = min(1.0, CLAUDE_LONGEST / max(width, height))
    expected = min(width * scale * height * scale / CLAUDE_PIXELS, CLAUDE_USUAL)
    return MediaTokens(expected, math.ceil(width * height / CLAUDE_PIXELS))


def _gemini(width: int, height: int) -> MediaTokens:
    if max(width, height) <= GEMINI_SMALL:
        return MediaTokens(GEMINI_TILE, GEMINI_MOST)
    least, most = GEMINI_UNIT
    unit = min(max(min(width, height) // 1.5, least), most)
    tiles = math.ceil(width / unit) * math.ceil(height / unit)
    return MediaTokens(GEMINI_TILE * tiles, max(GEMINI_TILE * tiles, GEMINI_MOST))
