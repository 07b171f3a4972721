"""Every provider that litellm lists has an entry in the table of providers, and those it calls tested are asked here:
over a transport in place of the network, by the name that a user writes, with the key where the table says it is."""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.each import each
from tests.lengths import spread
from tests.runtime.provider_forms import CASES, KEY, SAID, answering, case_of, pem
from tests.runtime.provider_transport import Answered, SentHttp, StandIn
from tests.runtime.test_transport_contract import CARRIED, DIRECT, GROQ, OTHERS
from tripos_compiler.plan import Ending, Settings, ending_of
from tripos_runtime.models.base import Endpoint, Message, ModelError, Reply, Request
from tripos_runtime.models.catalog import LITELLM, NATIVE_PROVIDERS, PROVIDERS, WRITTEN_FOR
from tripos_runtime.models.errors import model_error
from tripos_runtime.models.families import check_name, ignored_settings_by_name, open_model
from tripos_runtime.models.readiness import OF_OPENAI, needs_of

PROMPT = "Why is the sky blue? 天空"
SETTINGS = Settings(temperature=0.5, max_tokens=77)
FAILED = {"error": {"message": "no to KEY", "type": "t", "code": "c"}, "message": "no to KEY"}


def _tested() -> list[str]:
    """Return the providers that litellm calls, and that are said to be tested."""
    return [name for name, needs in LITELLM.items() if not needs.untested]


TESTED = _tested()
KEYS = [
    (name, key)
    for name in TESTED
    for key in (case_of(name).keys if case_of(name).keys is not None else LITELLM[name].keys) or ("CONTRACT_KEY",)
]


@functools.cache
def listed() -> set[str]:
    """Return every provider whose name litellm takes before a slash."""
    from litellm.llms.openai_like.json_loader import JSONProviderRegistry

    from tripos_runtime.models.litellm_models import library

    names = {str(getattr(each, "value", each)) for each in library().provider_list}
    return names | set(JSONProviderRegistry.list_providers())


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    """A transport in an environment without any credentials."""
    from tripos_runtime.models.litellm_models import library

    library()
    kept = ("PATH", "LANG", "TMPDIR", "TRIPOS_LANG", "PYTEST_CURRENT_TEST")
    for name in list(os.environ):
        if name not in kept and not name.startswith(("LITELLM_", "TESTS_", "AIOHTTP_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    stand_in = StandIn(lambda sent: Answered({}, 404))
    stand_in.install(monkeypatch)
    yield stand_in


def ready(monkeypatch: pytest.MonkeyPatch, provider: str, key: str) -> dict[str, Endpoint]:
    """Set what the table says that a provider needs, with its key in that variable; return its endpoint, if any."""
    needs, case = LITELLM[provider], case_of(provider)
    if provider not in listed():
        pytest.skip(f"the litellm that is installed does not know {provider}")
    for module in needs.packages:
        pytest.importorskip(module, reason=f"litellm asks {provider} with {module}")
    if needs.address and not any(each in case.env for each in needs.address):
        monkeypatch.setenv(needs.address[0], case.base_url)
    for group in needs.more:
        monkeypatch.setenv(group[0], group[0].split("_")[1].lower())
    for variable, value in case.env.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv(key, pem() if provider == "oci" else f"{key}-{KEY}")
    if needs.credentials == "google":
        sign_in_to_google(monkeypatch, key, KEY)
    name = f"{provider}/{case.model}"
    return {name: Endpoint(case.base_url, key)} if needs.endpoint_only else {}


def sign_in_to_google(monkeypatch: pytest.MonkeyPatch, variable: str, token: str) -> None:
    """Have a file of credentials, and Google answer it with a token."""
    from google.oauth2.credentials import Credentials

    path = Path(os.environ["HOME"]) / "google.json"
    told = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    path.write_text(json.dumps(told), encoding="utf-8")
    monkeypatch.setenv(variable, str(path))
    monkeypatch.setattr(Credentials, "refresh", lambda self, _: setattr(self, "token", token))


def ask(provider: str, endpoints: Mapping[str, Endpoint]) -> Reply:
    name = f"{provider}/{case_of(provider).model}"

    async def go() -> Reply:
        model = open_model(name, endpoints, timeout_s=5.0)
        try:
            return await model.ask(Request(name, (Message("user", PROMPT),), SETTINGS))
        finally:
            await model.close()

    return asyncio.run(go())


def carrying(transport: StandIn) -> SentHttp:
    """Return the one request that carried the prompt: no call is paid twice."""
    carried = [sent for sent in transport.sent if "天空" in sent.text]
    assert len(carried) == 1, [(sent.method, sent.url, sent.text) for sent in transport.sent]
    return carried[0]


@pytest.mark.parametrize(("provider", "key"), spread(KEYS, 60))
def test_a_request_reaches_the_provider_and_its_reply_is_read(
    monkeypatch: pytest.MonkeyPatch, transport: StandIn, provider: str, key: str
) -> None:
    endpoints, case = ready(monkeypatch, provider, key), case_of(provider)
    transport.answer = answering(case.form)
    reply = ask(provider, endpoints)
    sent = carrying(transport)
    assert (case.model_sent or case.model) in sent.text + sent.url
    assert all(value in sent.text for value in case.settings), sent.text
    assert "max_retries" not in sent.text
    said = [value for each in transport.sent for value in (*each.headers.values(), each.body)]
    assert any(case.key_sent in value for value in said)
    assert (reply.text, ending_of(reply.finish_reason)) == (SAID, Ending.STOP)
    if case.tokens is not None:
        assert (reply.tokens_in, reply.tokens_out) == case.tokens


KINDS: Mapping[str, tuple[Answered, str, str]] = {
    "key": (Answered(FAILED, 401), "R0102", "fatal"),
    "pace": (Answered(FAILED, 429, {"retry-after": "7"}), "R0104", "retryable"),
    "server": (Answered(FAILED, 500), "R0111", "retryable"),
    "overload": (Answered(FAILED, 503), "R0111", "retryable"),
    "form": (Answered(b"<html>", 200, {"content-type": "text/html"}), "R0111", "retryable"),
    "empty": (Answered({}), "R0111", "retryable"),
}


@pytest.mark.parametrize("failure", KINDS)
@pytest.mark.parametrize("provider", spread(TESTED, 12))
def test_a_failure_of_the_provider_has_its_kind(
    monkeypatch: pytest.MonkeyPatch, transport: StandIn, provider: str, failure: str
) -> None:
    variable = next(key for name, key in KEYS if name == provider)
    endpoints = ready(monkeypatch, provider, variable)
    answer, code, kind = KINDS[failure]
    if answer.body == FAILED:  # some servers say the key that they refuse
        told = json.dumps(FAILED).replace("KEY", json.dumps(os.environ[variable])[1:-1])
        answer = replace(answer, body=json.loads(told))

    def failing(sent: SentHttp) -> Answered:
        fitting = answering(case_of(provider).form)(sent)
        return answer if "天空" in sent.text else fitting

    transport.answer = failing
    if failure == "empty" and case_of(provider).blank_is_text:
        assert ask(provider, endpoints).text == ""
        return
    with pytest.raises(ModelError) as caught:
        ask(provider, endpoints)
    error = caught.value
    kinds = [name for name, true in (("fatal", error.fatal), ("retryable", error.retryable)) if true]
    assert (error.code, kinds) == (code, [kind]) or (failure, error.code) == ("empty", "R0110"), error.message
    assert "Traceback" not in error.message and os.environ[variable] not in error.message
    carrying(transport)


def numbers_of(release: str) -> list[int]:
    """Return the first two numbers of a version."""
    return [*map(int, release.split(".")[:2])]


def test_every_provider_of_litellm_has_an_entry_and_no_other() -> None:
    """A provider that is new in litellm: write its entry in litellm_providers.py, and its form in provider_forms.py."""
    ours = {*PROVIDERS, *NATIVE_PROVIDERS, OF_OPENAI}
    names, installed, known = listed(), numbers_of(version("litellm")), numbers_of(WRITTEN_FOR)
    assert not set(CASES) - set(TESTED), "a form of a provider that is not asked"
    new = sorted(names - {*LITELLM, *ours})
    if new and installed > known:  # a release of litellm breaks nobody's tests: `needs_of` asks these for a key
        pytest.skip(f"litellm {version('litellm')} is newer than the table, which lacks {', '.join(new)}")
    assert not new, "new in litellm"
    if installed >= known:
        assert not {*LITELLM, *ours} - names, "gone from litellm"


def test_providers_that_tripos_sends_to_itself_are_held_to_litellm() -> None:
    asked = {name.partition("/")[0] for name in (*DIRECT, *OTHERS, *CARRIED, *GROQ)}
    assert asked == {*PROVIDERS, *NATIVE_PROVIDERS}


@each("provider", sorted({*LITELLM, *PROVIDERS, *NATIVE_PROVIDERS, OF_OPENAI}))
def test_nothing_is_sent_where_something_lacks(
    transport: StandIn, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    """Neither with the key of another provider, such as OpenAI's, which litellm would send anywhere."""
    needs = needs_of(provider)
    other = "ANTHROPIC_API_KEY" if "OPENAI_API_KEY" in needs.keys else "OPENAI_API_KEY"
    monkeypatch.setenv(other, "key-of-another")
    transport.sent.clear()
    needy = bool((needs.keys and not needs.keyless) or needs.address or needs.sign_in or needs.packages)
    try:
        model = open_model(f"{provider}/{case_of(provider).model}")
    except ModelError as error:
        wanted = {"R0101", "R0102", "R0105"} if needs.chats and provider in listed() else {"R0102", "R0103"}
        assert (error.code in wanted, error.fatal, error.retryable) == (True, True, False), error
        assert error.hint
    else:
        assert not needy and needs.chats, "it opens, and its first call would fail"
        asyncio.run(model.close())
        assert all("key-of-another" not in str(sent.headers) for sent in transport.sent)
        transport.sent.clear()  # a server of one's own may be asked what its model can do
    finally:
        monkeypatch.delenv(other)
    assert not transport.sent


@pytest.mark.parametrize(("provider", "file"), [("github_copilot", "access-token"), ("chatgpt", "auth.json")])
def test_a_person_is_never_waited_for(transport: StandIn, tmp_path: Path, provider: str, file: str) -> None:
    name = f"{provider}/some-model"
    with pytest.raises(ModelError, match="sign in"):
        check_name(name)
    assert ignored_settings_by_name(name)(SETTINGS) == ()
    with pytest.raises(ModelError) as caught:
        open_model(name)
    assert (caught.value.code, caught.value.fatal) == ("R0102", True)
    assert file in caught.value.hint
    assert not transport.sent


UNSENT = [
    ("Missing credentials. Please pass an `api_key`", "R0102"),
    ("Missing Anthropic API Key - A call is being made to anthropic but no key is set", "R0102"),
    ("FIREWORKS_API_KEY is not set", "R0102"),
    ("Unable to locate credentials", "R0102"),
    ("GradientAI API key not found", "R0102"),
    ("Missing Snowflake JWT key", "R0102"),
    ("Unable to load the vertex credentials file. LiteLLM's log names the path and the reason.", "R0102"),
    ("api_base is required for Azure AI Studio. Please set the api_base parameter.", "R0101"),
    ("API Base not set. Set one via completion(..,api_base='your-api-url')", "R0101"),
]


@each("words, code", UNSENT)
def test_what_litellm_says_of_a_call_that_it_did_not_send_ends_the_run(words: str, code: str) -> None:
    from tripos_runtime.models.litellm_models import library

    told = library().APIConnectionError(
        message=f"{words}\nTraceback (most recent call last):\n  File …", llm_provider="far", model="m"
    )
    error = model_error(told, "far/model", "https://far", "")
    assert (error.code, error.fatal, error.retryable) == (code, True, False)
    assert "Traceback" not in error.message
    answered: Any = library().InternalServerError(message=words, llm_provider="far", model="m")
    answered.litellm_response_headers = {"server": "far"}
    error = model_error(answered, "far/model", "https://far", "FAR_KEY")
    assert (error.code, error.retryable) == ("R0111", True), "a server says it of itself"
