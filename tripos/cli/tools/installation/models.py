"""The models of the roles: whether they are known, have a key and a price, and can be reached."""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from tripos.cli.tools.installation.checks import Finding, ok, problem, warning
from tripos.runs import PREFIX as RECORDED, open_recording
from tripos.settings import LOCAL_PREFIXES, SETTINGS_FILE, Config, endpoints_of, prices_of
from tripos.ui import Failure
from tripos_compiler.diagnostics import duration, usd
from tripos_compiler.plan import Settings
from tripos_runtime.models import Message, Model, ModelError, Request, open_model
from tripos_runtime.models.catalog import entry_of, path_of, price_of
from tripos_runtime.models.mocks import ANSWERS, MAJORITY

LONGEST_S = 10.0
MOST_BYTES = 4 * 2**20
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class EndpointAnswer:
    """The response: `status` of HTTP, the names that were listed, or an `error` in words."""

    status: int = 0
    models: tuple[str, ...] = ()
    error: str = ""


async def look_at(address: str, key: str | None, timeout_s: float = LONGEST_S) -> EndpointAnswer:
    """Ask an address for its list of models, with the key where one is given. Redirections are not followed."""
    import aiohttp
    import orjson

    base = address.rstrip("/").removesuffix("/chat/completions")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    at_home = urlsplit(base).hostname in LOOPBACK
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    try:
        async with (
            aiohttp.ClientSession(trust_env=not at_home, timeout=timeout) as session,
            session.get(f"{base}/models", headers=headers, allow_redirects=False) as response,
        ):
            body = await response.content.read(MOST_BYTES) if response.status == 200 else b""
            status = response.status
    except TimeoutError:
        return EndpointAnswer(error=f"no answer in {timeout_s:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return EndpointAnswer(error=_reason(error))
    try:
        listed = orjson.loads(body)["data"]
        return EndpointAnswer(status, tuple(str(each["id"]) for each in listed))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return EndpointAnswer(status)


def _reason(error: BaseException) -> str:
    """Return why an address cannot be reached, without the address.

    >>> _reason(ConnectionRefusedError(111, "Connection refused"))
    'connection refused'
    """
    inner = getattr(error, "os_error", None) or error
    strerror = getattr(inner, "strerror", None)
    return str(strerror or type(error).__name__).lower()


ASK_TIMEOUT_S = 60.0
QUESTION = "Reply with the one word: yes"
ASK_TOKENS = 64
PATHS = {
    "direct": "direct: sent by Tripos in OpenAI's form",
    "translated": "translated: in litellm's words, sent by Tripos",
    "litellm": "litellm: sent by litellm, which costs some milliseconds of CPU a call",
}


@dataclass(frozen=True)
class Opened:
    """A model that can be asked, or why it cannot."""

    name: str
    roles: tuple[str, ...]
    model: Model | None
    error: ModelError | None = None

    @property
    def address(self) -> str | None:
        """Return where it is reached, where that is known."""
        address = self.model.endpoint.split(" ")[0] if self.model is not None else ""
        return address if address.startswith(("http://", "https://")) else None

    @property
    def variable(self) -> str:
        """The environment variable of its key; empty where it has none."""
        return self.model.endpoint.partition(" ")[2] if self.model is not None and self.address is not None else ""


def model_checks(
    roles: Mapping[str, Sequence[str]],
    config: Config,
    environ: Mapping[str, str],
    *,
    ask: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> list[Finding]:
    """Look at the models of the roles; with `ask` each is asked one small question, which may cost a little."""
    if not any(roles.values()):
        mend = f'give --model PROVIDER/MODEL, or write models = ["…"] into {SETTINGS_FILE}'
        return [warning("models", "roles", "no model is named", mend)]
    return asyncio.run(_checks(roles, config, environ, ask, clock))


async def _checks(
    roles: Mapping[str, Sequence[str]],
    config: Config,
    environ: Mapping[str, str],
    ask: bool,
    clock: Callable[[], float],
) -> list[Finding]:
    every = dict.fromkeys(name for models in roles.values() for name in models)
    names = [name for name in every if not name.startswith(RECORDED) and name not in (MAJORITY, ANSWERS)]
    opened = [_open(name, tuple(role for role in roles if name in roles[role]), config) for name in names]
    places = {each.model.endpoint: each for each in opened if each.model is not None and each.address is not None}
    found = await asyncio.gather(
        *(
            look_at(each.address or "", environ.get(each.variable) if _lists(each, config) else None)
            for each in places.values()
        )
    )
    reached = dict(zip(places, found, strict=True))
    checks = [_recorded_check(name, config) for name in every if name.startswith(RECORDED)]
    if MAJORITY in every:
        checks.append(ok(MAJORITY, "model", "stands for the constants that are right most often"))
    if ANSWERS in every:
        checks.append(ok(ANSWERS, "model", "stands for the constants that are right at all, the most frequent first"))
    for each in opened:
        checks += _known_checks(each, config)
        if each.model is None:
            continue
        if (answer := reached.get(each.model.endpoint)) is not None:
            checks += _reached_checks(each, answer, config)
        if ask:
            checks.append(await _asked_check(each.model, clock))
        await each.model.close()
    return checks


def _open(name: str, roles: tuple[str, ...], config: Config) -> Opened:
    try:
        model = open_model(name, endpoints_of(config), prices=prices_of(config), timeout_s=ASK_TIMEOUT_S)
    except ModelError as error:
        return Opened(name, roles, None, error)
    return Opened(name, roles, model)


def _recorded_check(name: str, config: Config) -> Finding:
    """Return whether there is the run that a name such as `replay/RUN` stands for."""
    try:
        cassette = open_recording(name, config.store)
    except Failure as failure:
        return problem(name, "model", f"[{failure.code}] {failure.message}", failure.hint or "")
    assert cassette is not None
    return ok(name, "model", f"replays run {cassette.run.run_id}, with {', '.join(sorted(cassette.models))}")


def _lists(opened: Opened, config: Config) -> bool:
    """Return true if its address has a list of models in OpenAI's way, which may be asked for with the key."""
    return path_of(opened.name, endpoints_of(config)) == "direct"


def _known_checks(opened: Opened, config: Config) -> Iterator[Finding]:
    name, error = opened.name, opened.error
    told = f"fills {', '.join(opened.roles)}"
    if error is not None:
        yield problem(name, "model", f"{told}; [{error.code}] {error.message}", error.hint)
    else:
        yield ok(name, "model", told)
    if name.startswith(LOCAL_PREFIXES):
        return
    if opened.variable:
        yield ok(name, "key", f"in {opened.variable}")
    elif opened.address is not None:
        yield ok(name, "key", "none is sent")
    yield ok(name, "way", PATHS[path_of(name, endpoints_of(config))])
    yield from _price_checks(opened, config)
    provider, _, model = name.partition("/")
    entry = entry_of(provider, model) or {}
    known = [
        f"{entry[field]:,} tokens {words}"
        for field, words in (("max_input_tokens", "of context"), ("max_output_tokens", "in a reply"))
        if isinstance(entry.get(field), int)
    ]
    if known:
        yield ok(name, "most", ", ".join(known))


def _price_checks(opened: Opened, config: Config) -> Iterator[Finding]:
    name = opened.name
    provider, _, model = name.partition("/")
    price = opened.model.price if opened.model is not None else prices_of(config).get(name) or price_of(provider, model)
    if price is None:
        mend = (
            f'write it into {SETTINGS_FILE}, in USD for a million tokens:\n[prices."{name}"]\ninput = ...\noutput = ...'
        )
        yield warning(name, "price", "unknown: its cost is not counted, and a budget in USD refuses it", mend)
        return
    place = SETTINGS_FILE if name in config.prices else "litellm's list"
    million = f"{usd(price.input_usd * 1e6)} USD in, {usd(price.output_usd * 1e6)} out for a million tokens"
    yield ok(name, "price", f"{million} ({place})")


def _reached_checks(opened: Opened, answer: EndpointAnswer, config: Config) -> Iterator[Finding]:
    name = opened.name
    if answer.error:
        mend = "check the address, the network and the proxy"
        if opened.address and any(here in opened.address for here in ("127.0.0.1", "localhost", "[::1]")):
            mend = "start the server, or check its port"
        yield problem(name, "endpoint", f"{opened.address}: {answer.error}", mend)
    elif answer.status in (401, 403) and _lists(opened, config):
        variable = opened.variable or "api_key_env"
        mend = (
            f"set {variable} to a key that is valid" if opened.variable else "name the variable of its key: api_key_env"
        )
        yield problem(name, "endpoint", f"{opened.address}: the key was refused (status {answer.status})", mend)
    elif answer.status >= 500:
        yield warning(name, "endpoint", f"{opened.address}: status {answer.status}", "try again later")
    else:
        yield ok(name, "endpoint", f"{opened.address} answers")
        asked = name.partition("/")[2]
        if answer.models and asked not in answer.models:
            close = difflib.get_close_matches(asked, answer.models, n=1, cutoff=0.5)
            few = ", ".join(answer.models[:5])
            mend = f"did you mean `{name.partition('/')[0]}/{close[0]}`?" if close else f"it lists {few}"
            yield warning(name, "endpoint", f"it does not list `{asked}`", mend)


async def _asked_check(model: Model, clock: Callable[[], float]) -> Finding:
    request = Request(model.name, (Message("user", QUESTION),), Settings(max_tokens=ASK_TOKENS))
    started = clock()
    try:
        reply = await model.ask(request)
    except ModelError as error:
        return problem(model.name, "asked", f"[{error.code}] {error.message}", error.hint)
    cost = "of unknown cost" if reply.cost_usd is None else f"{usd(reply.cost_usd)} USD"
    tokens = f"{reply.tokens_in or '?'} tokens in, {reply.tokens_out or '?'} out"
    return ok(
        model.name, "asked", f"answered in {duration(clock() - started)} as {reply.model_served}; {tokens}, {cost}"
    )


def role_table(config: Config, models: Sequence[str], roles: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the models to look at by role; those of the command line in place of those of the settings.

    >>> role_table(Config(models=("a/b",)), [], {"judge": ["c/d"]})
    {'the compared role': ['a/b'], 'judge': ['c/d']}
    """
    table: dict[str, list[str]] = {}
    if chosen := (list(models) or list(config.models)):
        table["the compared role"] = chosen
    for role, names in {**config.roles, **roles}.items():
        table[role] = list(names)
    return table
