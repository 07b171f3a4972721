"""The providers that litellm lists: what a call of each needs, and how far Tripos has tried it.

`tests/runtime/test_providers.py` holds the table to the litellm that is installed: a provider that is new there needs
an entry here, and every provider without `untested` is asked over a transport that stands in for the network. The page
docs/providers.md prints the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tripos_compiler.source import dataclass

WRITTEN_FOR = "1.110"
"""The version of litellm whose list this is."""
OWN_CREDENTIALS = Literal["aws", "databricks", "google"]
"""Whose own package looks for credentials, in more places than variables."""


@dataclass(frozen=True)
class SignIn:
    """A file that a sign-in in the browser leaves behind: its name, its folder, and the variable of another folder."""

    folder: str
    file: str
    variable: str


@dataclass(frozen=True)
class LitellmProvider:
    """The needs of one provider, and whether it is tested."""

    keys: tuple[str, ...] = ()
    """The environment variables that may hold the key: one of them must be set."""
    keyless: bool = False
    """True if it is called without a key where none is set."""
    address: tuple[str, ...] = ()
    """The environment variables that say where it is, if litellm does not know: one of them must be set."""
    more: tuple[tuple[str, ...], ...] = ()
    """Further variables, such as an account: of each group one must be set."""
    packages: tuple[str, ...] = ()
    """The modules that litellm imports for every call and does not install."""
    credentials: OWN_CREDENTIALS | None = None
    """Where credentials may be if no key is set."""
    sign_in: SignIn | None = None
    """Where its credentials are, if a person must sign in."""
    endpoint_only: bool = False
    """True if it is reached at an address under `[endpoints]` alone."""
    retries: Literal["told", "insisted", "untold"] = "told"
    """How litellm's client is kept from trying again by itself, which is Tripos's to do: it is told; it is told, and
    the translation that leaves that out is overruled; or it never does, and the translation would send that along."""
    serves: str = "chat"
    """What litellm asks it for."""
    untested: str = ""
    """Why no test asks it; empty if one does."""

    @property
    def plain_keys(self) -> tuple[str, ...]:
        """The variables of keys that litellm takes as `api_key`; none where a sign-in, a cloud's own package or a
        further part of the credentials takes part."""
        if self.packages or self.credentials or self.sign_in or self.more:
            return ()
        return tuple(name for name in self.keys if name not in OTHER_CREDENTIALS)

    @property
    def chats(self) -> bool:
        """True if it has models that answer a conversation."""
        return self.serves == "chat"


def _keyed(*keys: str) -> LitellmProvider:
    return LitellmProvider(keys)


def _insisting(*keys: str) -> LitellmProvider:
    return LitellmProvider(keys, retries="insisted")


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
"""Variables of credentials that are no API key, or that other programs read too."""
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
    "ai21": LitellmProvider(endpoint_only=True, retries="insisted"),
    "ai21_chat": _insisting("AI21_API_KEY"),
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
    "baseten": _insisting("BASETEN_API_KEY"),
    "bedrock": LitellmProvider(("AWS_BEARER_TOKEN_BEDROCK", *AWS), packages=("boto3",), credentials="aws"),
    "bedrock_mantle": LitellmProvider(
        ("BEDROCK_MANTLE_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", *AWS), packages=("boto3",), credentials="aws"
    ),
    "bespoke": _serving("decisions"),
    "bigmodel": _insisting("BIGMODEL_API_KEY"),
    "black_forest_labs": _serving("images"),
    "bytez": LitellmProvider(("BYTEZ_API_KEY",), retries="untold"),
    "cerebras": _keyed("CEREBRAS_API_KEY"),
    "charity_engine": _keyed("CHARITY_ENGINE_API_KEY"),
    "chatgpt": LitellmProvider(
        sign_in=SignIn("~/.config/litellm/chatgpt", "auth.json", "CHATGPT_TOKEN_DIR"),
        untested="a person must sign in",
    ),
    "chutes": _keyed("CHUTES_API_KEY"),
    "clarifai": _insisting("CLARIFAI_API_KEY"),
    "clf_ai_gateway": _insisting("CLF_AI_GATEWAY_API_KEY"),
    "cloudflare": LitellmProvider(("CLOUDFLARE_API_KEY",), address=("CLOUDFLARE_API_BASE", "CLOUDFLARE_ACCOUNT_ID")),
    "codestral": _insisting("CODESTRAL_API_KEY"),
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
    "deepinfra": _insisting("DEEPINFRA_API_KEY"),
    "docker_model_runner": LitellmProvider(("DOCKER_MODEL_RUNNER_API_KEY",), keyless=True),
    "dotprompt": _serving("prompts"),
    "edenai": _keyed("EDENAI_API_KEY"),
    "elevenlabs": _serving("speech"),
    "empiriolabs": _keyed("EMPIRIOLABS_API_KEY"),
    "empower": _keyed("EMPOWER_API_KEY"),
    "eu_jev": _serving("decisions"),
    "fal_ai": _serving("images", "FAL_AI_API_KEY"),
    "featherless_ai": _insisting("FEATHERLESS_AI_API_KEY", "FEATHERLESS_API_KEY"),
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
    "gradient_ai": LitellmProvider(("GRADIENT_AI_API_KEY",), retries="untold"),
    "helicone": _keyed("HELICONE_API_KEY"),
    "heroku": LitellmProvider(("HEROKU_API_KEY",), address=("HEROKU_API_BASE",)),
    "hostinger_router": _keyed("HOSTINGER_ROUTER_API_KEY"),
    "huggingface": _keyed("HF_TOKEN", "HUGGINGFACE_API_KEY"),
    "humanloop": _serving("prompts"),
    "hyperbolic": _insisting("HYPERBOLIC_API_KEY"),
    "inception": _insisting("INCEPTION_API_KEY"),
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
    "morph": _insisting("MORPH_API_KEY"),
    "nace": _serving("decisions"),
    "nadir": _keyed("NADIR_API_KEY"),
    "nano-gpt": _keyed("NANOGPT_API_KEY"),
    "nebius": _keyed("NEBIUS_API_KEY"),
    "neosantara": _keyed("NEOSANTARA_API_KEY"),
    "nlp_cloud": _keyed("NLP_CLOUD_API_KEY"),
    "novita": _keyed("NOVITA_API_KEY"),
    "nscale": _insisting("NSCALE_API_KEY"),
    "nvidia_nim": _insisting("NVIDIA_NIM_API_KEY"),
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
    "ragflow": LitellmProvider(("RAGFLOW_API_KEY",), address=("RAGFLOW_API_BASE",), retries="untold"),
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
    "sambanova": _insisting("SAMBANOVA_API_KEY"),
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
    "text-completion-inception": _insisting("INCEPTION_API_KEY"),
    "topaz": _serving("images"),
    "transcribe": _serving("transcripts"),
    "triton": LitellmProvider(endpoint_only=True),
    "typesafe": _serving("decisions"),
    "v0": _insisting("V0_API_KEY"),
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
    "zai": _insisting("ZAI_API_KEY"),
    "zerogpu": _keyed("ZEROGPU_API_KEY"),
}
"""What litellm's calls need, by its names of providers, without those that Tripos sends to itself alone."""
