"""The catalogue of providers and models: addresses, key variables, entries of litellm's map, and the route to each
model.

litellm's map of models is read from its file, without importing litellm. `PROVIDERS` describes the providers that are
asked in OpenAI's form, and plug-ins may add others; tests/runtime/test_transport_contract.py compares it with litellm,
so that a model answers the same on every route. `LITELLM` describes what litellm's calls need;
tests/runtime/test_providers.py compares it with the installed litellm, and docs/reference/providers.md prints it.
`path_of` alone decides the route to a model.

Variables from `.env` files never become part of `os.environ`, so that no child process, cloud client or library sees
them. Code that reads keys and addresses asks `variable` and `variables_of`."""

from __future__ import annotations

import difflib
import functools
import importlib.util
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import orjson

from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.entry_points import Registry
from tripos_runtime.models.kinds import KINDS

if TYPE_CHECKING:
    from tripos_runtime.models.base import Endpoint

FILE = "model_prices_and_context_window_backup.json"
"""The file with litellm's map of models, in its package."""
LIKE = 0.85
"""The minimal similarity of a misspelt name to the suggested one."""
DATED = re.compile(r"[-@]\d{4}-?\d{2}-?\d{2}$")
"""The date of a release at the end of a name."""
TUNED = re.compile(r"^(ft:[^:]+).*$")
"""The name of a fine-tuned model, with the name of its base model."""


@functools.cache
def all_entries() -> Mapping[str, Mapping[str, Any]]:
    """Return all entries of litellm's map of models, by name; none if litellm is not installed.

    >>> all_entries()["gpt-4o"]["litellm_provider"]
    'openai'
    """
    spec = importlib.util.find_spec("litellm")
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        path = Path(folder) / FILE
        if path.is_file():
            return MappingProxyType(orjson.loads(path.read_bytes()))
    return MappingProxyType({})


def entry_of(provider: str, model: str) -> Mapping[str, Any] | None:
    """Return the entry of a provider's model, by its exact name, else by its name without date or fine-tuning.

    >>> entry_of("openai", "gpt-4o")["mode"], entry_of("openai", "no-such-model")
    ('chat', None)
    """
    entries = all_entries()
    shorter = TUNED.sub(r"\1", model) if model.startswith("ft:") else DATED.sub("", model)
    for name in (f"{provider}/{model}", model, f"{provider}/{shorter}", shorter):
        entry = entries.get(name)
        if entry is not None and entry.get("litellm_provider", provider) == provider:
            return entry
    return None


def similar_model(name: str) -> str | None:
    """Return a name with a provider that may be meant by a name: the name itself if only its provider is missing, else
    the most similar one of the same provider; None if there is none.

    >>> similar_model("openai/gpt-4o-min"), similar_model("gpt-4o-mini"), similar_model("hosted_vllm/my-own")
    ('openai/gpt-4o-mini', 'openai/gpt-4o-mini', None)
    """
    entries = all_entries()
    provider, slash, model = name.partition("/")
    if not slash:
        own = entries.get(name, {}).get("litellm_provider")
        return f"{own}/{name}" if own else None
    known = [
        entry.removeprefix(f"{provider}/")
        for entry, facts in sorted(entries.items())
        if facts.get("litellm_provider") == provider
    ]
    close = difflib.get_close_matches(model, known, n=1, cutoff=LIKE)
    return f"{provider}/{close[0]}" if close and close[0] != model else None


def has_capability(provider: str, model: str, what: str) -> bool | None:
    """Return whether a model has a capability, such as `supports_reasoning`; `None` if the map does not say.

    >>> has_capability("openai", "gpt-4o", "supports_response_schema"), has_capability("openai", "mine",
    ... "supports_response_schema")
    (True, None)
    """
    entry = entry_of(provider, model)
    value = entry.get(what) if entry is not None else None
    if value is None and entry is not None:
        value = all_entries().get(model, {}).get(what)
    return value if isinstance(value, bool) else None


WRITTEN_FOR = "1.110"
"""The version of litellm that `LITELLM` describes."""
OWN_CREDENTIALS = Literal["aws", "databricks", "google"]
"""Providers whose own package looks for credentials in more places than variables."""


@dataclass(frozen=True)
class SignIn:
    """The file that litellm writes after a sign-in in the browser: its folder, its name, and the variable that
    overrides the folder."""

    folder: str
    file: str
    variable: str


@dataclass(frozen=True)
class LitellmProvider:
    """The needs of litellm's calls of one provider, and whether tests ask it."""

    keys: tuple[str, ...] = ()
    """The environment variables that may hold the key; one of them must be set."""
    keyless: bool = False
    """True if no key is required."""
    address: tuple[str, ...] = ()
    """The environment variables of its address, if litellm does not know the address; one of them must be set."""
    more: tuple[tuple[str, ...], ...] = ()
    """Further variables, such as an account; one of each group must be set."""
    packages: tuple[str, ...] = ()
    """The modules that litellm imports for every call but does not install."""
    credentials: OWN_CREDENTIALS | None = None
    """Whose package looks for credentials if no key is set."""
    sign_in: SignIn | None = None
    """The file of its credentials, if a person must sign in."""
    endpoint_only: bool = False
    """True if it is only reached at an address under `[endpoints]`."""
    retries: Literal["parameter", "forced", "dropped"] = "parameter"
    """How litellm's own retries are turned off, since Tripos retries. `parameter`: by the parameter `max_retries`.
    `forced`: by that parameter, which litellm would drop for the provider if it were not forced to keep it. `dropped`:
    litellm never retries the provider but would send the parameter to it, so it is made to drop it."""
    serves: str = "chat"
    """The kinds of calls that litellm supports."""
    untested: str = ""
    """The reason why no test asks it; empty if one does."""

    @property
    def plain_keys(self) -> tuple[str, ...]:
        """The variables of keys that litellm takes as `api_key`; none if credentials also involve a sign-in, a cloud's
        own package or further parts."""
        if self.packages or self.credentials or self.sign_in or self.more:
            return ()
        return tuple(name for name in self.keys if name not in OTHER_CREDENTIALS)

    @property
    def chats(self) -> bool:
        """True if it has chat models."""
        return self.serves == "chat"


def _keyed(*keys: str) -> LitellmProvider:
    return LitellmProvider(keys)


def _keyed_with_retry_override(*keys: str) -> LitellmProvider:
    return LitellmProvider(keys, retries="forced")


def _serving(serves: str, *keys: str) -> LitellmProvider:
    return LitellmProvider(keys, serves=serves, untested="no chat")


AWS = ("AWS_ACCESS_KEY_ID",)
AZURE_KEYS = ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY")
AZURE_SIGN_IN = ("AZURE_CLIENT_SECRET", "AZURE_PASSWORD")
DATABRICKS = ("DATABRICKS_API_KEY", "DATABRICKS_CLIENT_SECRET")
GOOGLE_AUTH = ("google.auth", "requests")
GOOGLE = ("VERTEXAI_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS")
OTHER_CREDENTIALS = frozenset(
    (
        *AZURE_SIGN_IN, "AZURE_AD_TOKEN", "AZURE_OPENAI_AD_TOKEN", "AICORE_CLIENT_ID", "AICORE_SERVICE_KEY",
        "GIGACHAT_ACCESS_TOKEN", "GIGACHAT_CREDENTIALS", "HF_TOKEN", "VERCEL_OIDC_TOKEN",
    )
)  # fmt: skip
"""Variables of credentials that are not API keys, or that other programs read too."""
WATSONX = ("WATSONX_APIKEY", "WATSONX_API_KEY", "WX_API_KEY", "WATSONX_TOKEN", "WATSONX_ZENAPIKEY")
WATSONX_AT = ("WATSONX_API_BASE", "WATSONX_URL", "WX_URL", "WML_URL")
WATSONX_IN = (
    "WATSONX_PROJECT_ID", "WX_PROJECT_ID", "PROJECT_ID", "WATSONX_DEPLOYMENT_SPACE_ID", "WATSONX_SPACE_ID",
    "WX_SPACE_ID", "SPACE_ID",
)  # fmt: skip
SAGEMAKER = LitellmProvider(AWS, packages=("boto3",), credentials="aws")
VERTEX = LitellmProvider(GOOGLE, packages=GOOGLE_AUTH, credentials="google")

LITELLM: Mapping[str, LitellmProvider] = {
    "a2a": LitellmProvider(address=("A2A_API_BASE",), untested="an agent: it takes no settings and counts no tokens"),
    "a2a_agent": _serving("agents of litellm's proxy"),
    "abliteration": _keyed("ABLITERATION_API_KEY"),
    "ai21": LitellmProvider(endpoint_only=True, retries="forced"),
    "ai21_chat": _keyed_with_retry_override("AI21_API_KEY"),
    "aiand": _keyed("AIAND_API_KEY"),
    "aihubmix": _keyed("AIHUBMIX_API_KEY"),
    "aiml": _keyed("AIML_API_KEY"),
    "aiohttp_openai": LitellmProvider(endpoint_only=True, untested="its session is closed before the first call"),
    "amazon_nova": _keyed("AMAZON_NOVA_API_KEY"),
    "anthropic_text": _keyed("ANTHROPIC_API_KEY"),
    "apertis": _keyed("STIMA_API_KEY"),
    "assemblyai": _keyed("ASSEMBLYAI_API_KEY"),
    "auto_router": _serving("routing between models"),
    "aws_polly": _serving("speech"),
    "aws_textract": _serving("reading of scans"),
    "azure_ai": LitellmProvider(
        ("AZURE_AI_API_KEY", *AZURE_KEYS, "AZURE_AD_TOKEN", *AZURE_SIGN_IN), address=("AZURE_AI_API_BASE",)
    ),
    "azure": LitellmProvider((*AZURE_KEYS, "AZURE_OPENAI_AD_TOKEN", *AZURE_SIGN_IN), address=("AZURE_API_BASE",)),
    "azure_speech": _serving("speech"),
    "azure_text": LitellmProvider(AZURE_KEYS, address=("AZURE_API_BASE",)),
    "baseten": _keyed_with_retry_override("BASETEN_API_KEY"),
    "bedrock": LitellmProvider(("AWS_BEARER_TOKEN_BEDROCK", *AWS), packages=("boto3",), credentials="aws"),
    "bedrock_mantle": LitellmProvider(
        ("BEDROCK_MANTLE_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", *AWS), packages=("boto3",), credentials="aws"
    ),
    "bespoke": _serving("decisions"),
    "bigmodel": _keyed_with_retry_override("BIGMODEL_API_KEY"),
    "black_forest_labs": _serving("images"),
    "bytez": LitellmProvider(("BYTEZ_API_KEY",), retries="dropped"),
    "cerebras": _keyed("CEREBRAS_API_KEY"),
    "charity_engine": _keyed("CHARITY_ENGINE_API_KEY"),
    "chatgpt": LitellmProvider(
        sign_in=SignIn("~/.config/litellm/chatgpt", "auth.json", "CHATGPT_TOKEN_DIR"),
        untested="a person must sign in",
    ),
    "chutes": _keyed("CHUTES_API_KEY"),
    "clarifai": _keyed_with_retry_override("CLARIFAI_API_KEY"),
    "clf_ai_gateway": _keyed_with_retry_override("CLF_AI_GATEWAY_API_KEY"),
    "cloudflare": LitellmProvider(("CLOUDFLARE_API_KEY",), address=("CLOUDFLARE_API_BASE", "CLOUDFLARE_ACCOUNT_ID")),
    "codestral": _keyed_with_retry_override("CODESTRAL_API_KEY"),
    "cognition": _keyed("COGNITION_API_KEY"),
    "cohere": _keyed("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": _keyed("COHERE_API_KEY", "CO_API_KEY"),
    "cometapi": _keyed("COMETAPI_KEY"),
    "compactifai": _keyed("COMPACTIFAI_API_KEY"),
    "coralbricks": _keyed("CORALBRICKS_API_KEY"),
    "cortecs": _keyed("CORTECS_API_KEY"),
    "crusoe": _keyed("CRUSOE_API_KEY"),
    "cursor": _serving("agents that write code"),
    "custom": LitellmProvider(endpoint_only=True, untested="a form of litellm's own, without an error for a status"),
    "custom_openai": LitellmProvider(endpoint_only=True),
    "darkbloom": _keyed("DARKBLOOM_API_KEY"),
    "dashscope": _keyed("DASHSCOPE_API_KEY"),
    "databricks": LitellmProvider(DATABRICKS, address=("DATABRICKS_API_BASE",), credentials="databricks"),
    "databricks_agent": LitellmProvider(
        DATABRICKS,
        address=("DATABRICKS_API_BASE", "DATABRICKS_HOST"),
        credentials="databricks",
        untested="an agent: it takes no settings",
    ),
    "datarobot": _keyed("DATAROBOT_API_TOKEN"),
    "deepgram": _serving("transcripts"),
    "deepinfra": _keyed_with_retry_override("DEEPINFRA_API_KEY"),
    "docker_model_runner": LitellmProvider(("DOCKER_MODEL_RUNNER_API_KEY",), keyless=True),
    "dotprompt": _serving("prompts"),
    "edenai": _keyed("EDENAI_API_KEY"),
    "elevenlabs": _serving("speech"),
    "empiriolabs": _keyed("EMPIRIOLABS_API_KEY"),
    "empower": _keyed("EMPOWER_API_KEY"),
    "eu_jev": _serving("decisions"),
    "fal_ai": _serving("images", "FAL_AI_API_KEY"),
    "featherless_ai": _keyed_with_retry_override("FEATHERLESS_AI_API_KEY", "FEATHERLESS_API_KEY"),
    "fireworks_ai": _keyed("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    "friendliai": _keyed("FRIENDLIAI_API_KEY", "FRIENDLI_TOKEN"),
    "galadriel": _keyed("GALADRIEL_API_KEY"),
    "gdc": LitellmProvider(
        ("GDC_API_KEY",),
        address=("GDC_API_BASE",),
        packages=("google.auth", "requests"),
        untested="a project for each request",
    ),
    "gigachat": _keyed("GIGACHAT_API_KEY", "GIGACHAT_ACCESS_TOKEN", "GIGACHAT_CREDENTIALS"),
    "github": _keyed("GITHUB_API_KEY"),
    "github_copilot": LitellmProvider(
        sign_in=SignIn("~/.config/litellm/github_copilot", "access-token", "GITHUB_COPILOT_TOKEN_DIR"),
        untested="a person must sign in",
    ),
    "gmi": _keyed("GMI_API_KEY"),
    "gradient_ai": LitellmProvider(("GRADIENT_AI_API_KEY",), retries="dropped"),
    "helicone": _keyed("HELICONE_API_KEY"),
    "heroku": LitellmProvider(("HEROKU_API_KEY",), address=("HEROKU_API_BASE",)),
    "hostinger_router": _keyed("HOSTINGER_ROUTER_API_KEY"),
    "huggingface": _keyed("HF_TOKEN", "HUGGINGFACE_API_KEY"),
    "humanloop": _serving("prompts"),
    "hyperbolic": _keyed_with_retry_override("HYPERBOLIC_API_KEY"),
    "inception": _keyed_with_retry_override("INCEPTION_API_KEY"),
    "inferenceapis": _keyed("INFERENCEAPIS_API_KEY"),
    "infinity": _serving("embeddings", "INFINITY_API_KEY"),
    "jina_ai": _serving("embeddings", "JINA_AI_API_KEY", "JINA_API_KEY", "JINA_AI_TOKEN"),
    "kyma": _keyed("KYMA_API_KEY"),
    "lambda_ai": _keyed("LAMBDA_API_KEY"),
    "langflow": LitellmProvider(
        ("LANGFLOW_API_KEY",), keyless=True, untested="an agent: it takes no settings and counts no tokens"
    ),
    "langfuse": _serving("prompts"),
    "langgraph": LitellmProvider(
        ("LANGGRAPH_API_KEY",), keyless=True, untested="an agent: it takes no settings and counts no tokens"
    ),
    "laya": _serving("decisions"),
    "lemonade": LitellmProvider(("LEMONADE_API_KEY",), keyless=True),
    "libertai": _keyed("LIBERTAI_API_KEY"),
    "litellm_agent": _serving("agents of litellm's proxy"),
    "litellm_proxy": LitellmProvider(("LITELLM_PROXY_API_KEY",), address=("LITELLM_PROXY_API_BASE",)),
    "llamafile": LitellmProvider(("LLAMAFILE_API_KEY",), keyless=True),
    "llamagate": _keyed("LLAMAGATE_API_KEY"),
    "lm_studio": LitellmProvider(("LM_STUDIO_API_KEY",), keyless=True, address=("LM_STUDIO_API_BASE",)),
    "manus": _serving("agents", "MANUS_API_KEY"),
    "maritalk": _keyed("MARITALK_API_KEY"),
    "meta": _keyed("META_API_KEY"),
    "meta_llama": _keyed("LLAMA_API_KEY"),
    "microsoft_365_copilot": LitellmProvider(endpoint_only=True, untested="a person must sign in"),
    "milvus": _serving("search"),
    "minimax": _keyed("MINIMAX_API_KEY"),
    "modelscope": _keyed("MODELSCOPE_API_KEY"),
    "mongodb": _serving("search"),
    "moonshot": _keyed("MOONSHOT_API_KEY"),
    "morph": _keyed_with_retry_override("MORPH_API_KEY"),
    "nace": _serving("decisions"),
    "nadir": _keyed("NADIR_API_KEY"),
    "nano-gpt": _keyed("NANOGPT_API_KEY"),
    "nebius": _keyed("NEBIUS_API_KEY"),
    "neosantara": _keyed("NEOSANTARA_API_KEY"),
    "nlp_cloud": _keyed("NLP_CLOUD_API_KEY"),
    "novita": _keyed("NOVITA_API_KEY"),
    "nscale": _keyed_with_retry_override("NSCALE_API_KEY"),
    "nvidia_nim": _keyed_with_retry_override("NVIDIA_NIM_API_KEY"),
    "nvidia_riva": _serving("transcripts"),
    "oci": LitellmProvider(
        ("OCI_KEY", "OCI_KEY_FILE"),
        more=(("OCI_USER",), ("OCI_FINGERPRINT",), ("OCI_TENANCY",), ("OCI_COMPARTMENT_ID",)),
        packages=("cryptography",),
    ),
    "oobabooga": LitellmProvider(endpoint_only=True),
    "openai_like": _serving("embeddings"),
    "opencode_go": _keyed("OPENCODE_GO_API_KEY", "OPENCODE_API_KEY"),
    "openinfer": _keyed("OPENINFER_API_KEY"),
    "opensearch": _serving("search"),
    "ovhcloud": LitellmProvider(("OVHCLOUD_API_KEY",), keyless=True),
    "parallel_ai": _serving("search"),
    "parasail": _keyed("PARASAIL_API_KEY"),
    "perplexity": _keyed("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "petals": LitellmProvider(
        keyless=True, packages=("petals",), untested="its package runs a part of the model in this process"
    ),
    "pg_vector": _serving("search"),
    "pinstripes": _keyed("PINSTRIPES_API_KEY"),
    "poe": _keyed("POE_API_KEY"),
    "predibase": LitellmProvider(("PREDIBASE_API_KEY",), more=(("PREDIBASE_TENANT_ID",),)),
    "prism": _keyed("PRISM_API_KEY"),
    "publicai": _keyed("PUBLICAI_API_KEY"),
    "qwen_ai_platform": _keyed("QWEN_AI_PLATFORM_API_KEY", "DASHSCOPE_API_KEY"),
    "qwencloud": _keyed("QWENCLOUD_API_KEY", "DASHSCOPE_API_KEY"),
    "ragflow": LitellmProvider(("RAGFLOW_API_KEY",), address=("RAGFLOW_API_BASE",), retries="dropped"),
    "recraft": _serving("images"),
    "reducto": _serving("reading of scans"),
    "refuseless": _keyed("REFUSELESS_API_KEY"),
    "reka": _keyed("REKA_API_KEY"),
    "replicate": _keyed("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "runwayml": _serving("videos"),
    "s3_vectors": _serving("search"),
    "sagemaker": SAGEMAKER,
    "sagemaker_chat": SAGEMAKER,
    "sagemaker_nova": SAGEMAKER,
    "sail": _keyed("SAIL_API_KEY"),
    "sambanova": _keyed_with_retry_override("SAMBANOVA_API_KEY"),
    "sap": LitellmProvider(
        ("AICORE_SERVICE_KEY", "AICORE_CLIENT_ID"),
        keyless=True,
        untested="its sign-in and its deployments take calls of their own",
    ),
    "sarvam": _keyed("SARVAM_API_KEY"),
    "scaledown": _serving("decisions"),
    "scaleway": _keyed("SCW_SECRET_KEY"),
    "scx-ai": _keyed("SCX_API_KEY"),
    "snowflake": LitellmProvider(("SNOWFLAKE_JWT",), more=(("SNOWFLAKE_ACCOUNT_ID",),)),
    "soniox": _serving("transcripts"),
    "stability": _serving("images"),
    "strands_decider": _serving("decisions"),
    "streamlake": _keyed("STREAMLAKE_API_KEY"),
    "synthetic": _keyed("SYNTHETIC_API_KEY"),
    "tencent": _keyed("TENCENT_API_KEY"),
    "tensormesh": _keyed("TENSORMESH_INFERENCE_API_KEY"),
    "text-completion-codestral": _keyed("CODESTRAL_API_KEY"),
    "text-completion-inception": _keyed_with_retry_override("INCEPTION_API_KEY"),
    "topaz": _serving("images"),
    "transcribe": _serving("transcripts"),
    "triton": LitellmProvider(endpoint_only=True),
    "typesafe": _serving("decisions"),
    "v0": _keyed_with_retry_override("V0_API_KEY"),
    "valkey": _serving("search"),
    "veniceai": _keyed("VENICE_AI_API_KEY"),
    "vercel_ai_gateway": _keyed("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "vertex_ai": VERTEX,
    "vertex_ai_beta": VERTEX,
    "vllm": LitellmProvider(keyless=True, packages=("vllm",), untested="its package runs the model in this process"),
    "volcengine": _keyed("VOLCENGINE_API_KEY"),
    "voyage": _serving("embeddings", "VOYAGE_API_KEY"),
    "wally": _keyed("WALLY_API_KEY"),
    "wandb": _keyed("WANDB_API_KEY"),
    "watsonx": LitellmProvider(WATSONX, address=WATSONX_AT, more=(WATSONX_IN,)),
    "watsonx_text": _serving("continuations without a prompt"),
    "xiaomi_mimo": _keyed("XIAOMI_MIMO_API_KEY"),
    "xinference": LitellmProvider(endpoint_only=True),
    "zai": _keyed_with_retry_override("ZAI_API_KEY"),
    "zerogpu": _keyed("ZEROGPU_API_KEY"),
}
"""What litellm's calls need, by litellm's names of providers. Providers of `PROVIDERS` and `NATIVE_PROVIDERS` are not
among them."""


SAMPLES = 16
"""The largest number of replies per request. A request that fails loses all of its replies."""


@dataclass(frozen=True)
class Provider:
    """A provider in OpenAI's form.

    `base_url` is its address; `None` if it has no address of its own. `keys` are the environment variables that may
    hold its key; the first one that is set counts. `base_urls` are the variables that override the address."""

    base_url: str | None
    keys: tuple[str, ...]
    base_urls: tuple[str, ...] = ()
    key_unset: str | None = None
    """The key that is sent if none is set; `None` if a key is required."""
    ends_with: str = ""
    """The required end of its address, which is added if missing."""
    seed: str = "seed"
    """The name of the seed setting."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every request."""
    headers: tuple[tuple[str, str, str | None], ...] = ()
    """Further headers: the name, the environment variable of the value, and the default value."""
    lacks: frozenset[str] = frozenset()
    """The settings that none of its models accepts; a private server of the same form may accept them."""
    without: tuple[re.Pattern[str], frozenset[str]] | None = None
    """A pattern of model names, and the settings that models of such names never accept."""
    structured: bool = False
    """True if all of its models enforce a schema; else litellm's map says which do."""
    samples: int = 1
    """How many replies one request may ask for, if the prompt is billed once."""
    more: tuple[str, ...] = ()
    """Further variables that its calls use."""
    batches: Literal["", "file", "list"] = ""
    """How it takes batches: as a file of requests, as OpenAI does, or as a list; empty if it does not."""
    dear_from_threshold: bool = False
    """True if its higher rates apply to a prompt of exactly the threshold's length too; elsewhere it must be longer."""

    @property
    def other_variables(self) -> tuple[str, ...]:
        """The variables of a provider other than its keys: its address, and what is sent in addition to the key."""
        return (*self.base_urls, *(variable for _, variable, _ in self.headers), *self.more)


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        headers=(
            ("OpenAI-Organization", "OPENAI_ORGANIZATION", None),
            ("OpenAI-Organization", "OPENAI_ORG_ID", None),
            ("OpenAI-Project", "OPENAI_PROJECT_ID", None),
        ),
        lacks=frozenset({"top_k"}),
        samples=SAMPLES,
        batches="file",
    ),
    "hosted_vllm": Provider(
        None,
        ("HOSTED_VLLM_API_KEY",),
        ("HOSTED_VLLM_API_BASE",),
        key_unset="fake-api-key",
        structured=True,
        samples=SAMPLES,
        batches="file",
    ),
    "mistral": Provider(
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY", "MISTRAL_AZURE_API_KEY"),
        ("MISTRAL_AZURE_API_BASE",),
        ends_with="/v1",
        seed="random_seed",
        lacks=frozenset({"top_k", "top_logprobs"}),
        without=(re.compile(""), frozenset({"presence_penalty", "frequency_penalty"})),
    ),
    "deepseek": Provider(
        "https://api.deepseek.com/beta",
        ("DEEPSEEK_API_KEY",),
        ("DEEPSEEK_API_BASE",),
        lacks=frozenset({"top_k"}),
    ),
    "groq": Provider(
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        ("GROQ_API_BASE",),
        lacks=frozenset({"top_k"}),
        batches="file",
    ),
    "together_ai": Provider(
        "https://api.together.ai/v1",
        ("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"),
        ("TOGETHER_AI_API_BASE",),
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY", "OR_API_KEY"),
        ("OPENROUTER_API_BASE",),
        body={"usage": {"include": True}},
        headers=(("HTTP-Referer", "OR_SITE_URL", "https://litellm.ai"), ("X-Title", "OR_APP_NAME", "liteLLM")),
    ),
    "xai": Provider(
        "https://api.x.ai/v1",
        ("XAI_API_KEY",),
        ("XAI_API_BASE",),
        without=(re.compile(r"grok-3-mini|grok-4|grok-code-fast"), frozenset({"stop", "frequency_penalty"})),
        lacks=frozenset({"top_k"}),
        dear_from_threshold=True,
    ),
}

NATIVE_PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(
        "https://api.anthropic.com/v1/messages",
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
        batches="list",
    ),
    "azure": Provider(
        None,
        ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
        ("AZURE_API_BASE",),
        samples=SAMPLES,
        more=("AZURE_API_VERSION",),
    ),
    "gemini": Provider("https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "ollama": Provider("http://localhost:11434", ("OLLAMA_API_KEY",), ("OLLAMA_API_BASE",), key_unset=""),
    "ollama_chat": Provider("http://localhost:11434", ("OLLAMA_API_KEY",), ("OLLAMA_API_BASE",), key_unset=""),
}
"""Providers with an API form of their own, whose calls by litellm go over Tripos's own connections."""

EXPORTED_ADDRESS = frozenset({"azure"})
"""Providers whose address must be an exported variable: litellm may sign in there with more than the key."""
KEYED: Mapping[str, tuple[str, ...]] = {
    name: needs.plain_keys for name, needs in LITELLM.items() if needs.plain_keys and name not in NATIVE_PROVIDERS
}
"""The keys that a `.env` file may give to providers that only litellm reaches."""


RESERVED = frozenset((*LITELLM, *NATIVE_PROVIDERS, *(kind.prefix.partition("/")[0] for kind in KINDS)))
DIRECT = Registry("tripos.providers", "provider", Provider, declared=PROVIDERS, reserved=RESERVED)
"""The providers that are asked in OpenAI's form: those of `PROVIDERS`, and those of plug-ins, for names that are not
reserved."""


def plugin_of(model: str) -> str:
    """Return the package and version of the plug-in that has the provider of a model; empty if there is none.

    >>> plugin_of("openai/gpt-4o"), plugin_of("mock/careful")
    ('', '')
    """
    return DIRECT.package(model.partition("/")[0])


def provider_named(name: str) -> Provider:
    """Return a provider's description. For a provider that only litellm reaches, it has only the names of variables.

    >>> provider_named("deepinfra").keys, provider_named("deepinfra").base_urls
    (('DEEPINFRA_API_KEY',), ('DEEPINFRA_API_BASE', 'DEEPINFRA_BASE_URL'))
    """
    upper = name.upper()
    unlisted = Provider(None, KEYED.get(name, ()), (f"{upper}_API_BASE", f"{upper}_BASE_URL"))
    return NATIVE_PROVIDERS.get(name) or DIRECT.get(name) or unlisted


def key_names() -> frozenset[str]:
    """Return the names of the key variables of all providers."""
    return frozenset(key for name in (*PROVIDERS, *NATIVE_PROVIDERS, *KEYED) for key in provider_named(name).keys)


NOT_SECRET = frozenset((*GOOGLE, *AWS, "OCI_KEY_FILE", "AICORE_CLIENT_ID"))
"""Variables among the keys of `LITELLM` that hold a path or an id, which may be in messages."""


@functools.cache
def secret_variables() -> frozenset[str]:
    """Return the names of the variables with keys and other secrets of all providers.

    >>> {"OPENAI_API_KEY", "SNOWFLAKE_JWT"} <= secret_variables(), "OCI_KEY_FILE" in secret_variables()
    (True, False)
    """
    return (key_names() | {name for needs in LITELLM.values() for name in needs.keys}) - NOT_SECRET


REASONING_MODELS = re.compile(
    r"^(ft:)?o\d|gpt-([5-9]|\d\d)|audio|search|realtime|deep-research|computer-use|codex|(^|/)responses/"
)
"""Models of `openai/` that take other settings than the rest, wherever they are reached."""


_files: list[Mapping[str, str]] = []
"""The variables of each `.env` file, the first file first."""


def set_file_variables(files: Iterable[Mapping[str, str]]) -> None:
    """Replace the variables of `.env` files. A variable of an earlier file counts before one of a later file."""
    _files[:] = [dict(file) for file in files]


def file_variables() -> tuple[Mapping[str, str], ...]:
    """Return the variables of each `.env` file, the first file first."""
    return tuple(_files)


def all_variables() -> dict[str, str]:
    """Return the variables of the environment and of the files. A blank variable of the environment does not hide one
    of a file."""
    variables: dict[str, str] = {}
    for file in reversed(_files):
        variables |= file
    return variables | {name: text for name, text in os.environ.items() if text.strip() or name not in variables}


def variable(name: str) -> str:
    """Return a variable of the environment, else of the first file that has it; "" if it is not set."""
    places: tuple[Mapping[str, str], ...] = (os.environ, *_files)
    return next((text for place in places if (text := place.get(name, "").strip())), "")


def may_set_address(file: Mapping[str, str], provider: Provider) -> bool:
    """Return true if a file may set more than the key of a provider, such as its address: if the key is in the file too
    and not in the environment, or if no key is needed. So a key from elsewhere is never sent to an address from this
    file.

    >>> provider = Provider("https://a/v1", ("A_API_KEY",), ("A_API_BASE",))
    >>> may_set_address({"A_API_BASE": "http://b/v1"}, provider), may_set_address({"A_API_BASE": "http://b/v1",
    ... "A_API_KEY": "x"}, provider)
    (False, True)
    """
    if any(os.environ.get(name, "").strip() for name in provider.keys):
        return False
    return provider.key_unset is not None or any(file.get(name, "").strip() for name in provider.keys)


def variables_of(provider: Provider, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables of a provider that are set: in `environ`, or if it is None, in the environment and the
    `.env` files.

    If a file sets the address, the environment's variables are not used."""
    exported = _set_variables(provider, os.environ if environ is None else environ)
    for file in _files if environ is None else []:
        in_file = _set_variables(provider, file)
        if in_file and may_set_address(file, provider):
            return in_file if in_file.keys() & set(provider.base_urls) else {**in_file, **exported}
    return exported


def _set_variables(provider: Provider, place: Mapping[str, str]) -> dict[str, str]:
    names = (*provider.keys, *provider.other_variables)
    return {name: text for name in names if (text := place.get(name, "").strip())}


Route = Literal["direct", "litellm"]

COMPLETION = "text-completion-"
"""litellm's prefix of models that continue a text, as in `text-completion-openai/NAME`."""
OPENAI_COMPLETION = "text-completion-openai/"
"""The prefix of models that are asked in OpenAI's form."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORTS = {"http": 80, "https": 443}
"""The default port of each scheme."""


def path_of(name: str, endpoints: Mapping[str, Endpoint] = {}) -> Route:
    """Return the route to the model of that name: `direct` in OpenAI's form, without litellm, or `litellm`.

    >>> [path_of(name) for name in ("openai/gpt-4o", "openai/o3-mini", "anthropic/claude-sonnet-4-5")]
    ['direct', 'litellm', 'litellm']
    """
    if (completion_name(name) or "").startswith(OPENAI_COMPLETION):
        return "direct"
    provider, _, model = name.partition("/")
    if provider not in DIRECT or not _is_chat(provider, model):
        return "litellm"
    if provider != "openai":
        return "direct"
    entry = _chat_entry(provider, model)
    # litellm knows by name the rules of OpenAI's own models that are newer than the map.
    unknown = endpoint_of(name, endpoints) is None and (entry is None or entry.get("supports_reasoning"))
    return "litellm" if REASONING_MODELS.search(model) or unknown else "direct"


def is_carried(name: str, endpoints: Mapping[str, Endpoint] = {}) -> bool:
    """Return true if litellm's calls of a model go over Tripos's own connections.

    >>> [is_carried(name) for name in ("openai/o3-mini", "gemini/gemini-2.5-pro", "bedrock/anthropic.claude-v2")]
    [True, True, False]
    """
    provider, _, model = name.partition("/")
    if path_of(name, endpoints) == "direct" or not _is_chat(provider, model):
        return False
    if provider == "azure":
        return _is_plain_azure(model, endpoint_of(name, endpoints))
    return provider in PROVIDERS or provider in NATIVE_PROVIDERS


def _chat_entry(provider: str, model: str) -> Mapping[str, Any] | None:
    return entry_of(provider, model) or (all_entries().get(model) if provider == "openai" else None)


def _is_chat(provider: str, model: str) -> bool:
    """Return true unless the map says that a model is no chat model."""
    return bool((_chat_entry(provider, model) or {}).get("mode", "chat") == "chat")


def completion_name(name: str) -> str | None:
    """Return the name by which litellm asks a model to continue a text; `None` for a chat model.

    >>> completion_name("openai/gpt-3.5-turbo-instruct"), completion_name("openai/gpt-4o")
    ('text-completion-openai/gpt-3.5-turbo-instruct', None)
    >>> completion_name("text-completion-openai/ours")
    'text-completion-openai/ours'
    """
    provider, _, model = name.partition("/")
    if provider.startswith(COMPLETION) or provider == "azure_text":
        return name
    entry = entry_of(provider, model) or all_entries().get(model)
    if provider == "openai" and entry is not None and entry.get("mode") == "completion":
        return OPENAI_COMPLETION + model
    return None


def endpoint_of(name: str, endpoints: Mapping[str, Endpoint]) -> Endpoint | None:
    """Return the endpoint of a model: its own, or its provider's."""
    return endpoints.get(name) or endpoints.get(name.partition("/")[0])


def check_address(name: str, address: str) -> None:
    """Raise `ModelError` R0101 for an address with an impossible host or port. The message contains no user or key."""
    from tripos_runtime.models.base import ModelError  # which loads the plan

    try:
        parts = urlsplit(address)
        if parts.port is None or parts.port > 0:
            (parts.hostname or "").encode("idna")
            return
    except ValueError:  # includes encoding errors
        pass
    text = address.rpartition("@")[2].partition("?")[0]
    raise ModelError(
        "R0101", f"`{text}`, where `{name}` is to be reached, is no address", "check its host and its port", fatal=True
    )


def is_local_endpoint(endpoint: Endpoint | None) -> bool:
    """Return true if an endpoint is a server on this machine.

    >>> from tripos_runtime.models.base import Endpoint
    >>> is_local_endpoint(Endpoint("http://127.0.0.1:8000/v1"))
    True
    """
    return endpoint is not None and urlsplit(endpoint.base_url).hostname in LOOPBACK


def _is_plain_azure(model: str, endpoint: Endpoint | None) -> bool:
    """Return true if a deployment is reached with a key at a resource's address. litellm handles the other ways to sign
    in."""
    variables = variables_of(NATIVE_PROVIDERS["azure"])
    base_url = endpoint.base_url if endpoint is not None else variables.get("AZURE_API_BASE", "")
    has_key = endpoint is not None or "AZURE_API_KEY" in variables
    return has_key and bool(base_url) and "/openai" not in base_url and "/" not in model
