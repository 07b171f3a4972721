"""Opening of models by name, and facts about a model that are known from its name.

Such facts need no key and no request: whether a model exists, the identity in the names of its replies, the settings
that it ignores, the media that it accepts, and whether it returns likelihoods, returns token probabilities, has a chat
template or calls tools.

The identity of a served model is its name and its address, since another server may have other weights under that name;
at the provider's own address it is the name alone. The identity of a model file is the digest of its weights, and that
of `mock/replies:FILE` the digest of its file."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode, urlsplit

from tripos_compiler.library.media import MediumKind
from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Endpoint, Model, ModelError, Price, check_alone
from tripos_runtime.models.catalog import (
    OPENAI_COMPLETION,
    PORTS,
    PROVIDERS,
    check_address,
    completion_name,
    endpoint_of,
    entry_of,
    has_capability,
    is_carried,
    path_of,
    provider_named,
    variables_of,
)
from tripos_runtime.models.embeddings import embeds
from tripos_runtime.models.kinds import kind_of
from tripos_runtime.models.local import find_weights, template_of, weights_digest
from tripos_runtime.models.reply_table import file_of, table_identity
from tripos_runtime.models.rewards import BatchedReward, RewardModel, is_reward
from tripos_runtime.models.trained_rewards import PINNED, pinned_name


def open_model(
    name: str,
    endpoints: Mapping[str, Endpoint] = {},
    *,
    prices: Mapping[str, Price] = {},
    slots: int = 4,
    timeout_s: float = 300.0,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Model:
    """Return the model of that name, ready to be asked.

    `endpoints` overrides addresses, by name of a model (`openai/gpt-4o`) or of a provider (`openai`). `prices`
    overrides litellm's prices, by name. `slots` is how many requests a local model answers at a time; only 1 repeats
    exactly. `timeout_s` is for one call. Raises `ModelError` if the name is unknown or something that the model needs
    is missing.

    >>> open_model("mock/careful").name
    'mock/careful'
    >>> open_model("mock/carefull")
    Traceback (most recent call last):
    tripos_runtime.models.base.ModelError: R0103: there is no model `mock/carefull`
      help: did you mean `mock/careful`?
    """
    if name != name.strip() or not name or name.endswith("/"):
        raise ModelError("R0103", f"`{name}` is not the name of a model", "write `provider/model`", fatal=True)
    if is_reward(name):
        return BatchedReward(_open_reward(name, endpoints, prices, timeout_s), sleep)
    match name.split("/", 1):
        case ["mock", character]:
            from tripos_runtime.models.mocks import open_mock

            return open_mock(character, sleep)
        case ["baseline", _]:
            from tripos_runtime.models.baselines import open_baseline

            return open_baseline(name)
        case ["human", _]:
            hint = "people hold conversations with `tripos teach SPEC --name NAME`, and grade with `tripos annotate`"
            raise ModelError("R0251", f"`{name}` is a person, and no model", hint, fatal=True)
        case ["local", which]:
            from tripos_runtime.models.local import LocalModel

            return LocalModel(which, slots=slots, timeout_s=timeout_s)
    from tripos_runtime.models.prices import price_of

    endpoint = endpoint_of(name, endpoints)
    own_price = prices.get(name)
    asked_as = completion_name(name)
    provider, _, model = (asked_as or name).partition("/")
    price = own_price or price_of(provider, model)
    path = path_of(name, endpoints)
    if path != "direct":
        check_alone(name, endpoint)
    match path:
        case "direct":
            from tripos_runtime.models.chat_completions import DirectModel, ReplicatedModel
            from tripos_runtime.models.completions import ContinuingModel

            kind, sent_as = DirectModel, None
            if asked_as is not None:
                kind, sent_as = ContinuingModel, asked_as.removeprefix(OPENAI_COMPLETION)
            servers = [endpoint] if endpoint is None else [replace(endpoint, base_url=url) for url in urls_of(endpoint)]
            is_own = own_price is not None
            replicas = [
                kind(name, server, price=price, own_price=is_own, sent_as=sent_as, timeout_s=timeout_s)
                for server in servers
            ]
            if endpoint is None or (len(replicas) == 1 and not endpoint.warm_up_s):
                return replicas[0]
            return ReplicatedModel(replicas, endpoint.warm_up_s, sleep=sleep)
        case "litellm" if is_carried(name, endpoints):
            from tripos_runtime.models.litellm_transport import CarriedModel

            return CarriedModel(name, endpoint, price=price, own_price=own_price is not None, timeout_s=timeout_s)
        case "litellm":
            from tripos_runtime.models.litellm_models import LitellmModel

            return LitellmModel(name, endpoint, price=own_price, timeout_s=timeout_s)


def urls_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Return every distinct address of an endpoint.

    >>> urls_of(Endpoint("http://a/v1", replicas=("http://b/v1", "http://a/v1")))
    ('http://a/v1', 'http://b/v1')
    """
    return tuple(dict.fromkeys((endpoint.base_url, *endpoint.replicas)))


def _open_reward(
    name: str, endpoints: Mapping[str, Endpoint], prices: Mapping[str, Price], timeout_s: float
) -> RewardModel:
    kind, _, rest = name.partition("/")
    match kind:
        case "mock":
            from tripos_runtime.models.rewards import open_mock_reward

            return open_mock_reward(name)
        case "reward":
            from tripos_runtime.models.trained_rewards import open_reward

            return open_reward(rest)
    from tripos_runtime.models.rewards import ServedReward

    check_alone(name, endpoint_of(name, endpoints))
    return ServedReward(name, endpoint_of(name, endpoints), price=prices.get(name), timeout_s=timeout_s)


SHOWN = 16
"""The number of digits of a weights digest in the name of a model."""
PATHS = ("/chat/completions", "/completions", "/v1/messages")
"""The ends of base URLs that make no difference: they are added where they are missing."""
SECRET = re.compile(r"key|token|secret|sig|pass|auth|credential|code", re.IGNORECASE)
"""Parameters of an address with these names hold a secret."""


def identity_of(name: str, endpoints: Mapping[str, Endpoint] = {}, environ: Mapping[str, str] | None = None) -> str:
    """Return the identity of a model in the names of its replies: its name, with the address or the endpoint's name if
    the model's name does not determine who answers. If `environ` is None, the variables of the providers are read from
    the environment and the `.env` files.

    >>> identity_of("openai/gpt-4o", environ={})
    'openai/gpt-4o'
    >>> identity_of("openai/ours", {"openai": Endpoint("http://GPU-1:8000/v1/")}, {})
    'openai/ours @ http://gpu-1:8000/v1'
    >>> identity_of("openai/ours", {"openai": Endpoint("http://gpu-2:8000/v1", name="lab-a100")}, {})
    'openai/ours @ lab-a100'
    """
    provider_name = name.partition("/")[0]
    if kind_of(name).named or embeds(name):
        return name
    if kind_of(name).table:
        table = file_of(name)
        return table_identity(table) if table.is_file() else name
    if provider_name == "reward":
        digest = pinned_name(name).rpartition("@")[2]
        return f"reward @ {digest}" if PINNED.fullmatch(digest) else name
    if provider_name == "local":
        path = find_weights(name.partition("/")[2])
        return name if path is None else f"local @ sha256:{weights_digest(path)[:SHOWN]}"
    endpoint = endpoint_of(name, endpoints)
    if endpoint is not None and endpoint.name is not None:
        return f"{name} @ {endpoint.name}"
    provider = provider_named(provider_name)
    in_variables = map(variables_of(provider, environ).get, provider.base_urls)
    address = endpoint.base_url if endpoint is not None else next(filter(None, in_variables), None)
    if address is None:
        return name
    check_address(name, address)
    place = public_address(address, provider.ends_with)
    own = None if provider.base_url is None else public_address(provider.base_url, provider.ends_with)
    return name if place == own else f"{name} @ {place}"


def public_address(url: str, ends_with: str = "") -> str:
    """Return an address in a canonical form without user, password or key. Other parameters are replaced by a digest,
    since any of them may be a secret.

    >>> public_address("https://ann:pass@API.example.org:443/v1/chat/completions?key=abc")
    'https://api.example.org/v1'
    >>> public_address("http://127.0.0.1:8000/v1?deployment=a") != public_address("http://127.0.0.1:8000/v1?deployment=b")
    True
    """
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, PORTS.get(scheme)) else f":{parts.port}"
    path = parts.path.rstrip("/")
    for ending in PATHS:
        path = path.removesuffix(ending)
    path = path.rstrip("/")
    path = path if path.endswith(ends_with) else path + ends_with
    parameters = sorted((key, value) for key, value in parse_qsl(parts.query) if not SECRET.search(key))
    query = f"?{hashlib.sha256(urlencode(parameters).encode()).hexdigest()[:SHOWN]}" if parameters else ""
    return f"{scheme}://{host}{port}{path}{query}"


IgnoredSettingsOf = Callable[[Settings], tuple[str, ...]]
"""Returns the names of the given settings that a model is known to ignore."""


def ignores_nothing(_: Settings) -> tuple[str, ...]:
    """Return no setting: none is known to be ignored."""
    return ()


def ignored_settings_by_name(name: str, endpoints: Mapping[str, Endpoint] = {}) -> IgnoredSettingsOf:
    """Return the function that names the settings that a model of that name ignores, as the opened model does. If the
    address is unknown, it names none.

    >>> from tripos_compiler.plan import Settings
    >>> (ignored_settings_by_name("openai/gpt-4o")(Settings(temperature=0.5, top_k=5)),
    ... ignored_settings_by_name("mock/careful")(Settings(top_k=5)))
    (('top_k',), ())
    """
    if embeds(name) or is_reward(name):
        return ignores_nothing
    match name.partition("/")[0]:
        case "mock" | "baseline" | "human":
            return ignores_nothing
        case "local":
            from tripos_runtime.models.local import ignored_local_settings

            return ignored_local_settings
    try:
        return _ignored_by_provider(name, endpoints)
    except ModelError:
        return ignores_nothing


def _ignored_by_provider(name: str, endpoints: Mapping[str, Endpoint]) -> IgnoredSettingsOf:
    from tripos_runtime.models.chat_completions import base_url_of, ignored_settings_at
    from tripos_runtime.models.readiness import require_sign_in

    endpoint, completes = endpoint_of(name, endpoints), completion_name(name)
    provider_name, _, model = name.partition("/")
    direct = path_of(name, endpoints) == "direct"
    unknown: frozenset[str] = frozenset()
    if direct or is_carried(name, endpoints):
        if completes is not None:
            provider, model = PROVIDERS["openai"], completes.removeprefix(OPENAI_COMPLETION)
        else:
            provider = provider_named(provider_name)
        unknown = ignored_settings_at(provider_name, provider, model, base_url_of(name, provider, endpoint))
    if direct:
        return lambda settings: tuple(each for each in settings.given if each in unknown)
    require_sign_in(name, provider_name)
    from tripos_runtime.models.litellm_models import dropped_settings

    return lambda settings: dropped_settings(completes or name, settings, unknown)


def gives_likelihoods(name: str) -> bool:
    """Return true if a model of that name can be asked for likelihoods of texts. Chat models cannot: they return
    nothing about the text of a request.

    >>> names = ("mock/careful", "local/smollm2-135m", "text-completion-openai/ours", "openai/gpt-4o", "baseline/A")
    >>> [gives_likelihoods(name) for name in names]
    [True, True, True, False, False]
    """
    return kind_of(name).likelihoods or (completion_name(name) or "").startswith(OPENAI_COMPLETION)


def gives_token_probabilities(name: str) -> bool:
    """Return true if a model of that name can be asked for the probabilities of its reply's tokens, as far as is known.

    >>> names = ("mock/careful", "openai/gpt-4o", "openai/o3-mini", "anthropic/claude-sonnet-4-5", "local/mine")
    >>> [gives_token_probabilities(name) for name in names]
    [True, True, False, False, False]
    """
    if kind_of(name).token_probabilities is False or completion_name(name) is not None:
        return False
    return not ignored_settings_by_name(name)(Settings(top_logprobs=1))


def has_template(name: str) -> bool:
    """Return true if a model of that name can use the chat template in its own file. A missing file is reported when
    the model is opened.

    >>> [has_template(name) for name in ("mock/careful", "openai/gpt-4o", "text-completion-openai/ours")]
    [True, False, False]
    """
    known = kind_of(name).template
    if known is not None:
        return known
    path = find_weights(name.partition("/")[2])
    return path is None or template_of(path) is not None


def check_name(name: str, endpoints: Mapping[str, Endpoint] = {}) -> None:
    """Raise `ModelError` R0103 if `open_model` would because of the name: no mock or baseline has it, or the provider
    is unknown. Raise R0234 for a folder without a reward model. litellm is imported only for a provider that is in no
    table and has no price.

    >>> check_name("openai/gpt-4o")
    >>> check_name("mock/carefull")
    Traceback (most recent call last):
    tripos_runtime.models.base.ModelError: R0103: there is no model `mock/carefull`
      help: did you mean `mock/careful`?
    """
    provider, _, model = name.partition("/")
    if name != name.strip() or not name or name.endswith("/"):
        raise ModelError("R0103", f"`{name}` is not the name of a model", "write `provider/model`", fatal=True)
    if embeds(name):
        return
    if is_reward(name):
        _check_reward(name)
    elif provider == "baseline":
        from tripos_runtime.models.baselines import open_baseline

        open_baseline(name)
    elif provider == "mock" and model and not kind_of(name).table:  # which was read when roles were bound
        from tripos_runtime.models.mocks import open_mock

        open_mock(model, asyncio.sleep)
    elif (
        (provider not in ("local", "human") or not model)
        and path_of(name, endpoints) == "litellm"
        and not entry_of(provider, model)
        and not endpoint_of(name, endpoints)
    ):
        from tripos_runtime.models.litellm_models import provider_of

        provider_of(name)


def _check_reward(name: str) -> None:
    """Raise `ModelError` if no mock reward model has this name, or its folder has no reward model."""
    if name.startswith("mock/"):
        from tripos_runtime.models.rewards import open_mock_reward

        open_mock_reward(name)
    elif name.startswith("reward/"):
        from tripos_runtime.models.trained_rewards import check_reward

        check_reward(name.removeprefix("reward/"))


ABILITIES: Mapping[MediumKind, str] = {
    "image": "supports_vision",
    "audio": "supports_audio_input",
    "file": "supports_pdf_input",
}
"""The keys of litellm's map for the media that a model accepts."""


def accepts_media(name: str, kind: MediumKind, endpoints: Mapping[str, Endpoint] = {}) -> bool | None:
    """Return whether a model of that name accepts a kind of medium; None if unknown. The declaration of its endpoint in
    tripos.toml counts before litellm's map.

    >>> [accepts_media(name, "image") for name in ("openai/gpt-4o", "openai/gpt-3.5-turbo", "openai/ours", "mock/fair")]
    [True, False, None, True]
    >>> [accepts_media(name, "image") for name in ("baseline/constant:B", "baseline/echo:last-line")]
    [True, False]
    """
    known = kind_of(name).media
    if known:
        return True
    endpoint = endpoint_of(name, endpoints)
    if endpoint is not None and endpoint.media is not None:
        return kind in endpoint.media
    if known is False or completion_name(name) is not None:
        return False
    provider, _, model = name.partition("/")
    entry = entry_of(provider, model)
    return None if entry is None else bool(entry.get(ABILITIES[kind]))


def accepts_tools(name: str) -> bool:
    """Return true if a model of that name can be offered tools, as far as is known.

    >>> names = ("mock/careful", "openai/gpt-4o", "local/smollm2-135m", "text-completion-openai/mine")
    >>> [accepts_tools(name) for name in names]
    [True, True, False, False]
    """
    provider, _, model = name.partition("/")
    return (
        kind_of(name).tools
        and completion_name(name) is None
        and has_capability(provider, model, "supports_function_calling") is not False
    )
