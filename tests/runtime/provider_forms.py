"""The forms of the providers that litellm calls: how a model of each is named, what is set, and what each answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.runtime.provider_transport import Answered, Answering, SentHttp

SAID = "it is so"
TOKENS_IN, TOKENS_OUT = 1000, 60
USAGE = {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT}
HUB = "//huggingface.co/"
"""Where litellm looks for the template of a model that continues a text."""


def openai_chat(sent: SentHttp) -> Any:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": SAID}}
    return {
        "id": "1", "object": "chat.completion", "created": 1, "model": "served", "choices": [choice], "usage": USAGE,
    }  # fmt: skip


def openai_text(sent: SentHttp) -> Any:
    choice = {"index": 0, "finish_reason": "stop", "text": SAID}
    return {
        "id": "1", "object": "text_completion", "created": 1, "model": "served", "choices": [choice], "usage": USAGE,
    }  # fmt: skip


def cohere(sent: SentHttp) -> Any:
    message = {"role": "assistant", "content": [{"type": "text", "text": SAID}]}
    tokens = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT}
    return {"id": "1", "finish_reason": "COMPLETE", "message": message, "usage": {"tokens": tokens}}


def anthropic_text(sent: SentHttp) -> Any:
    return {"type": "completion", "id": "1", "completion": SAID, "stop_reason": "stop_sequence", "model": "served"}


def bytez(sent: SentHttp) -> Any:
    return {"error": None, "output": {"role": "assistant", "content": [{"type": "text", "text": SAID}]}}


def replicate(sent: SentHttp) -> Any:
    at = "https://api.replicate.com/v1/predictions/1"
    status = "starting" if sent.method == "POST" else "succeeded"
    return {"id": "1", "status": status, "output": [SAID], "logs": "", "urls": {"get": at}}


def nlp_cloud(sent: SentHttp) -> Any:
    return {"generated_text": SAID, "nb_input_tokens": TOKENS_IN, "nb_generated_tokens": TOKENS_OUT}


def text_generation(sent: SentHttp) -> Any:
    details = {"finish_reason": "eos_token", "generated_tokens": TOKENS_OUT, "tokens": [], "prefill": []}
    return [{"generated_text": SAID, "details": details}] if "sagemaker" in sent.url else {
        "generated_text": SAID, "details": details,
    }  # fmt: skip


def converse(sent: SentHttp) -> Any:
    usage = {"inputTokens": TOKENS_IN, "outputTokens": TOKENS_OUT, "totalTokens": TOKENS_IN + TOKENS_OUT}
    message = {"role": "assistant", "content": [{"text": SAID}]}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}


def gemini(sent: SentHttp) -> Any:
    candidate = {"content": {"role": "model", "parts": [{"text": SAID}]}, "finishReason": "STOP", "index": 0}
    usage = {
        "promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT, "totalTokenCount": TOKENS_IN + TOKENS_OUT,
    }  # fmt: skip
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "served"}


def oci(sent: SentHttp) -> Any:
    message = {"role": "ASSISTANT", "content": [{"type": "TEXT", "text": SAID}]}
    choice = {"index": 0, "message": message, "finishReason": "stop"}
    usage = {"promptTokens": TOKENS_IN, "completionTokens": TOKENS_OUT, "totalTokens": TOKENS_IN + TOKENS_OUT}
    chat = {"apiFormat": "GENERIC", "timeCreated": "2026-01-01T00:00:00.000Z", "choices": [choice], "usage": usage}
    return {"modelId": "served", "modelVersion": "1", "chatResponse": chat}


def triton(sent: SentHttp) -> Any:
    return {"model_name": "served", "model_version": "1", "text_output": SAID}


def gigachat(sent: SentHttp) -> Any:
    if sent.url.endswith("/oauth"):
        return {"access_token": "token-for-the-key", "expires_at": 4_102_444_800_000}
    return openai_chat(sent)


def watsonx(sent: SentHttp) -> Any:
    if "identity" in sent.url:
        return {"access_token": "token-for-the-key", "expires_in": 3600, "expiration": 4_102_444_800}
    return openai_chat(sent)


def hub(sent: SentHttp) -> Any:
    if HUB not in sent.url:
        return openai_chat(sent)
    mapping = {"together": {"status": "live", "providerId": "some-org/served", "task": "conversational"}}
    return {"id": "some-org/some-model", "inferenceProviderMapping": mapping}


def codestral_text(sent: SentHttp) -> Any:
    return openai_chat(sent)  # its completions have messages


Form = Callable[[SentHttp], Any]
KEY = "contract-secret"
"""The end of the key."""


@dataclass(frozen=True)
class Case:
    """How a provider is tried."""

    model: str = "some-model"
    form: Form = openai_chat
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables beside the key and the address."""
    keys: tuple[str, ...] | None = None
    """The variables of keys that are tried, if the others need a sign-in elsewhere."""
    key_sent: str = KEY
    """What a request says of the key; empty if litellm sends none to such an address."""
    settings: tuple[str, ...] = ("0.5", "77")
    """What stands in the body for the settings, as far as the provider takes them."""
    model_sent: str = ""
    """What stands in the request for the model, if not its name."""
    tokens: tuple[int | None, int | None] | None = (TOKENS_IN, TOKENS_OUT)
    """What the reply took; None if the provider does not tell, and litellm counts with a tokenizer of its own."""
    blank_is_text: bool = False
    """True if litellm reads an answer that has no text as an empty one."""
    base_url: str = "https://provider.test/v1"
    """The address, where one must be given."""


def pem() -> str:
    """Return a private key that signs."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    kinds = serialization
    return key.private_bytes(kinds.Encoding.PEM, kinds.PrivateFormat.PKCS8, kinds.NoEncryption()).decode()


AWS = {"AWS_REGION_NAME": "us-east-1", "AWS_SECRET_ACCESS_KEY": "aws-secret-access-key"}
VERTEX = Case("gemini-2.0-flash", gemini, {"VERTEXAI_PROJECT": "project", "VERTEXAI_LOCATION": "us-central1"})
SAGEMAKER = Case(env=AWS)
CASES: Mapping[str, Case] = {
    "anthropic_text": Case("claude-2.1", anthropic_text, tokens=None),
    "azure": Case(keys=("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")),
    "azure_ai": Case(keys=("AZURE_AI_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN")),
    "azure_text": Case(form=openai_text),
    "bedrock": Case(
        "anthropic.claude-3-haiku-20240307-v1:0", converse, AWS, model_sent="anthropic.claude-3-haiku-20240307-v1%3A0"
    ),
    "bedrock_mantle": Case(env=AWS),
    "bytez": Case("openai-community/gpt2", bytez, tokens=None),
    "clarifai": Case("openai.chat-completion.gpt-4o", model_sent="clarifai.com/openai/chat-completion/models/gpt-4o"),
    "cloudflare": Case(env={"CLOUDFLARE_ACCOUNT_ID": "account"}),
    "cohere": Case(form=cohere),
    "cohere_chat": Case(form=cohere),
    "databricks": Case(keys=("DATABRICKS_API_KEY",)),
    "gigachat": Case(form=gigachat),
    "huggingface": Case("together/some-org/some-model", hub, model_sent="some-org/served"),
    "morph": Case(settings=()),  # as litellm up to 1.106 has it
    "nlp_cloud": Case(form=nlp_cloud),
    "oci": Case("meta.llama-3.3-70b-instruct", oci, keys=("OCI_KEY",), key_sent="tenancy/user/fingerprint"),
    "oobabooga": Case(key_sent=""),
    "predibase": Case(form=text_generation, tokens=None),
    "ragflow": Case("chat/some-chat/some-model", model_sent="some-model"),
    "replicate": Case("some-owner/some-model", replicate, tokens=None),
    "sagemaker": Case(form=text_generation, env=AWS, tokens=None, blank_is_text=True),
    "sagemaker_chat": SAGEMAKER,
    "sagemaker_nova": SAGEMAKER,
    "text-completion-codestral": Case(form=codestral_text),
    "text-completion-inception": Case(form=openai_text, settings=("77",)),
    "triton": Case(
        form=triton,
        tokens=None,
        key_sent="",
        settings=("77",),
        base_url="https://provider.test/v2/models/some-model/generate",
    ),
    "v0": Case(settings=()),
    "vertex_ai": VERTEX,
    "vertex_ai_beta": VERTEX,
    "watsonx": Case(form=watsonx),
}
"""The providers that differ from OpenAI in more than their address and their key."""


def case_of(provider: str) -> Case:
    return CASES.get(provider, Case())


def answering(form: Form) -> Answering:
    """Return what answers in a form, and has no template for any model."""

    def answer(sent: SentHttp) -> Answered:
        if HUB in sent.url and "inferenceProviderMapping" not in sent.url:
            return Answered({"error": "not found"}, 404)
        return Answered(form(sent))

    return answer
