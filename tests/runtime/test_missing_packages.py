"""A provider whose Python package is not installed is a clear error before the first call, and is never tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tripos_compiler.plan import Settings
from tripos_runtime.models import readiness
from tripos_runtime.models.base import Message, ModelError, Request
from tripos_runtime.models.errors import model_error
from tripos_runtime.models.families import open_model
from tripos_runtime.models.litellm_models import LitellmModel, library

MODULES = sorted({*readiness.DISTRIBUTIONS, "boto3", "anything.of.theirs", "sagemaker"})


def module_error(module: str) -> ImportError:
    return ModuleNotFoundError(f"No module named '{module}'", name=module)


def words_error(module: str) -> ImportError:
    return ImportError(f"Missing a package to call this. Run 'pip install {module}'.")


def raised(make: Callable[[], BaseException], wrap: Callable[[str], Exception], depth: int) -> Exception:
    """Return an error as litellm raises it: the first one inside of others, each with the words of the one before."""
    try:
        raise make()
    except BaseException as error:
        found: BaseException = error
    for _ in range(depth):
        try:
            try:
                raise found
            except BaseException as inner:
                raise wrap(f"litellm.APIConnectionError: {inner}\nTraceback …") from None
        except Exception as outer:
            found = outer
    assert isinstance(found, Exception)
    return found


def connection_error(words: str) -> Exception:
    return library().APIConnectionError(message=words, llm_provider="vertex_ai", model="m")


def server_error(words: str) -> Exception:
    error = RuntimeError(words)
    error.status_code = 500  # type: ignore[attr-defined]
    return error


@given(
    module=st.sampled_from(MODULES),
    make=st.sampled_from((module_error, words_error)),
    wrap=st.sampled_from((connection_error, server_error, RuntimeError)),
    depth=st.integers(0, 3),
)
def test_a_missing_package_is_never_an_error_that_passes(
    module: str, make: Callable[[str], ImportError], wrap: Callable[[str], Exception], depth: int
) -> None:
    error = model_error(raised(lambda: make(module), wrap, depth), "far/model", "https://far", "FAR_KEY")
    assert (error.code, error.retryable, error.fatal) == ("R0105", False, True)
    wanted = readiness.distribution_of(module) if make is module_error else module
    assert error.hint.replace("'", "") == f"pip install {wanted}"
    assert f"`{wanted}`" in error.message


@pytest.mark.parametrize(
    ("words", "module", "package"),
    [
        (
            "vertexai import failed please run `pip install google-cloud-aiplatform`. This is required",
            "vertexai",
            "google-cloud-aiplatform",
        ),
        ('Upgrade vertex ai. Run `pip install "google-cloud-aiplatform>=1.38"`', None, "google-cloud-aiplatform"),
        ("the databricks-sdk Python library must be installed.", "databricks.sdk", "databricks-sdk"),
    ],
)
def test_words_of_litellm_that_name_a_package_and_not_its_module(words: str, module: str | None, package: str) -> None:
    try:
        try:
            if module is not None:
                raise module_error(module)
        finally:
            raise server_error(words)
    except Exception as error:
        found = model_error(error, "far/model", "https://far", "FAR_KEY")
    assert (found.code, found.fatal, found.hint) == ("R0105", True, f"pip install {package}")


@pytest.mark.parametrize("status", [500, 503])
def test_a_servers_words_are_about_its_own_packages(status: int) -> None:
    told: Any = server_error("No module named 'vllm'")
    told.status_code = status
    told.litellm_response_headers = {"server": "uvicorn"}
    error = model_error(told, "far/model", "https://far", "FAR_KEY")
    assert (error.code, error.retryable) == ("R0111", True)


@pytest.mark.parametrize(("module", "words"), [("orjson", "too slow"), ("requests", "too many requests")])
def test_an_import_that_litellm_went_on_without_is_not_why_a_call_failed(module: str, words: str) -> None:
    try:
        try:
            raise module_error(module)
        except ImportError:
            raise TimeoutError(words)  # noqa: B904 - as their code does it
    except TimeoutError as error:
        assert model_error(error, "far/model", "https://far", "FAR_KEY").code == "R0109"


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("vertex_ai/gemini-2.5-pro", "'google-auth[requests]'"),
        ("vertex_ai/claude-sonnet-4@20250514", "'google-auth[requests]'"),
        ("bedrock/anthropic.claude-3-haiku-20240307-v1:0", "boto3"),
        ("sagemaker/my-endpoint", "boto3"),
    ],
)
def test_a_model_is_not_opened_without_the_packages_of_its_provider(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    monkeypatch.setattr(readiness, "is_importable", lambda module: False)
    with pytest.raises(ModelError) as caught:
        open_model(name)
    assert (caught.value.code, caught.value.fatal, caught.value.hint) == ("R0105", True, f"pip install {package}")


def test_a_package_that_no_table_has_ends_the_run_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lacking(**_: Any) -> None:
        raise connection_error("No module named 'theirs'") from module_error("theirs")

    async def asked() -> None:
        model = LitellmModel("groq/any-model")
        try:
            await model.ask(Request(model.name, (Message("user", "hi"),), Settings()))
        finally:
            await model.close()

    monkeypatch.setenv("GROQ_API_KEY", "key")
    monkeypatch.setattr(library(), "acompletion", lacking)
    with pytest.raises(ModelError) as caught:
        asyncio.run(asked())
    assert (caught.value.code, caught.value.retryable, caught.value.hint) == ("R0105", False, "pip install theirs")
