"""A file `.env`, also one of a stranger: it sets keys and listed settings, and nothing of it reaches any other program."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.json_server import Posted, json_server
from tests.lengths import ALL
from tripos.settings.env_file import env_files, load_env, split_env
from tripos.settings.environment import ENV_FILE_VARIABLES, ROLE
from tripos.settings.options import VARIABLES
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Settings
from tripos_runtime.datasets.trust import UNTRUSTED
from tripos_runtime.models import readiness
from tripos_runtime.models.base import Endpoint, Message, ModelError, Request
from tripos_runtime.models.catalog import (
    KEYED,
    LITELLM,
    NATIVE_PROVIDERS,
    PROVIDERS,
    Provider,
    all_variables,
    key_names,
    set_file_variables,
    variable,
)
from tripos_runtime.models.chat_completions import base_url_of, key_of, openai_headers
from tripos_runtime.models.embeddings import open_embedding
from tripos_runtime.models.families import open_model
from tripos_runtime.models.litellm_models import file_arguments

READ_BY_PROGRAMS = """
LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH LOCPATH MALLOC_CONF GLIBC_TUNABLES TMPDIR HOME PATH
OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES SSL_CERT_FILE SSL_CERT_DIR SSLKEYLOGFILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONINSPECT PYTHONWARNINGS PYTHONBREAKPOINT PYTHONPYCACHEPREFIX PYTHONUSERBASE
GIT_SSH GIT_SSH_COMMAND GIT_CONFIG GIT_CONFIG_GLOBAL GIT_EXEC_PATH GIT_DIR GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PAGER PAGER
EDITOR VISUAL BROWSER SHELL IFS ENV BASH_ENV PROMPT_COMMAND PS4 NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS JAVA_TOOL_OPTIONS
PERL5OPT RUBYOPT HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy HTTPS_PROXY_API_KEY
AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_PROFILE AWS_CONFIG_FILE AWS_ROLE_ARN
AWS_SHARED_CREDENTIALS_FILE AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_ENDPOINT_URL_STS AWS_WEB_IDENTITY_TOKEN_FILE
AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE AWS_CA_BUNDLE AWS_BEARER_TOKEN_BEDROCK
AZURE_STORAGE_ACCOUNT_NAME AZURE_STORAGE_ACCOUNT_KEY AZURE_STORAGE_AUTHORITY_HOST AZURE_AUTHORITY_HOST AZURE_TENANT_ID
AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_FEDERATED_TOKEN_FILE AZURE_AD_TOKEN IDENTITY_ENDPOINT MSI_ENDPOINT
GOOGLE_APPLICATION_CREDENTIALS GOOGLE_SERVICE_ACCOUNT CLOUDSDK_CONFIG GCE_METADATA_HOST VERTEXAI_CREDENTIALS
HF_TOKEN HF_HOME HF_ENDPOINT HF_HUB_CACHE HUGGING_FACE_HUB_TOKEN TRANSFORMERS_CACHE TORCH_HOME TOKENIZERS_PARALLELISM
DUCKDB_EXTENSION_DIRECTORY ARROW_DEFAULT_MEMORY_POOL OMP_NUM_THREADS RUST_BACKTRACE RUST_LOG SOURCE_DATE_EPOCH
XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME LOCALAPPDATA USERPROFILE SYSTEMROOT COMSPEC PATHEXT SSH_ASKPASS SSH_AUTH_SOCK
LITELLM_MODE LITELLM_MASTER_KEY LITELLM_LOG AIOHTTP_NO_EXTENSIONS KUBECONFIG SBATCH_ACCOUNT SLURM_CONF RAY_ADDRESS CI
GITHUB_TOKEN GITHUB_WORKSPACE LANG LC_ALL TERM COLUMNS NO_COLOR FORCE_COLOR TRIPOS_STORE TRIPOS_REUSE TRIPOS_DATA
TRIPOS_UNTRUSTED TRIPOS_DEBUG TRIPOS_KEY_PASSWORD TRIPOS_LANG TRIPOS_NICENESS TRIPOS_UPDATE_GOLDEN TRIPOS_ROLE_ tripos_model
OPENAI_API_KEY_FILE OPENAI_BASE_URL OPENAI_ORGANIZATION AZURE_API_BASE ANTHROPIC_BASE_URL PYTHON_DOTENV_DISABLED
"""
PACKAGES = ("openai", "huggingface_hub", "httpx", "requests", "aiohttp", "dotenv", "anyio", "fsspec")
READ = re.compile(
    rb"""(?:environ(?:\.get|\.pop|\.setdefault)?|getenv|get_secret(?:_str|_bool)?)\s*[\[(]\s*["']([A-Za-z_]\w*)["']"""
)
CANARY = "canary-7f3a"
COMMANDS = (
    ("check", "quiz.tripos"),
    ("plan", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair"),
    ("list",),
    ("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair"),
    ("report",),
    ("sql", "select 1 as one"),
    ("view", "--to", "page"),
    ("doctor", "--model", "mock/careful"),
    ("fetch", "https://127.0.0.1:1/x-1.0.0"),
    ("release", "quiz.tripos", "-o", "made"),
)


@pytest.fixture(autouse=True)
def _nothing_given() -> Iterator[None]:
    yield
    set_file_variables(())


@pytest.fixture(scope="module")
def names() -> list[str]:
    """The variables that the installed packages read, and programs besides."""
    root = Path(sysconfig.get_paths()["purelib"])
    found = set(READ_BY_PROGRAMS.split())
    for folder in [root] if ALL else [root / name for name in PACKAGES]:
        for path in folder.rglob("*.py"):
            found.update(name.decode() for name in READ.findall(path.read_bytes()))
    return sorted(found)


def may(name: str) -> bool:
    """Return true if the page says that a file may set a variable, whatever else is in it."""
    return name in key_names() or name in ENV_FILE_VARIABLES or (name.startswith(ROLE) and name != ROLE)


def written(folder: Path, variables: Mapping[str, str]) -> Path:
    """Write a file `.env`."""
    path = folder / ".env"
    path.write_text("".join(f"{name}={text}\n" for name, text in variables.items()), "utf-8")
    return path


def test_each_variable_alone_is_taken_only_if_it_is_listed(
    names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(names) > 200
    for name in names:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    for name in names:
        written(tmp_path, {name: CANARY})
        found = load_env(tmp_path)
        alone = [each for each in (*PROVIDERS.values(), *NATIVE_PROVIDERS.values()) if name in each.other_variables]
        taken = may(name) or any(each.key_unset is not None for each in alone)
        assert (found.get(name) == CANARY) is taken, name
        assert dict(os.environ) == before, name
        assert (f"`{name}`" in capsys.readouterr().err) is not taken, name


def test_no_command_has_what_is_not_listed_in_its_environment_or_that_of_a_child(
    names: list[str], quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {name: CANARY for name in names if not may(name)}
    path = written(quiz, said | {"OPENAI_API_KEY": CANARY, "MISTRAL_API_KEY": "sk-of-the-file"})
    children: list[Mapping[str, str]] = []
    start = subprocess.Popen.__init__

    def noted(self: Any, *words: Any, **more: Any) -> None:
        children.append(dict(more.get("env") or os.environ))
        start(self, *words, **more)

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    workers = (*COMMANDS[3], "--scenario", "sums", "--limit", "2", "--workers", "2")
    for words in (*COMMANDS, workers) if ALL else COMMANDS[1:3]:
        done = tripos(*words)
        assert done.code in (0, 1, 2) and "Traceback" not in done.err, (words, done.err)
        assert CANARY not in "".join(os.environ.values()) + done.out + done.err, words
        if words[0] in ("list", "run", "plan"):
            assert f"warning[W1208]: {path} sets variables that a file `.env` may not set, and they are ig" in done.err
            assert len(set(re.findall(".*W1208.*", done.err))) == done.err.count("W1208]")
    assert len(children) >= 2 or not ALL
    assert not [child for child in children if CANARY in "".join(child.values()) or "MISTRAL_API_KEY" in child]


@pytest.mark.long
def test_workers_have_the_keys_of_the_file(quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUIZ_KEY", raising=False)
    table = '[endpoints."openai/x"]\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "QUIZ_KEY"\n'
    (quiz / "tripos.toml").write_text(f"{table}[limits]\npatience_s = 0\nmax_retries = 0\n")
    run = ("run", "quiz.tripos", "--model", "openai/x", "--role", "judge=mock/fair", "--workers", "2")
    assert "R0102" in tripos(*run).err
    written(quiz, {"QUIZ_KEY": "sk-of-the-file"})
    done = tripos(*run)
    assert "R0101" in done.err and "R0102" not in done.err, done.err


@pytest.mark.parametrize(
    "more",
    [
        {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:9/", "TRIPOS_STORE": "s3://bucket/results"},
        {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_FEDERATED_TOKEN_FILE": "/x", "TRIPOS_STORE": "az://c/results"},
        {"TRIPOS_STORE": "../victim/results"},
    ],
    ids=["s3", "az", "a folder"],
)
def test_a_file_names_no_store(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, more: dict[str, str]
) -> None:
    monkeypatch.delenv("TRIPOS_STORE", raising=False)
    written(quiz, more)
    done = tripos("list")
    assert f"error[S0101]: no store at `{quiz / 'results'}`" in done.err
    assert "and they are ignored: `TRIPOS_STORE`\n  = help: export `TRIPOS_STORE`, or write `store` into" in done.err


def test_each_kind_of_variable_that_is_passed_over_has_its_own_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    ours = ("TRIPOS_STORE", "TRIPOS_DATA", "TRIPOS_STOER", "TRIPOS_MODEL")
    names = (*ours[:3], "OPENAI_BASE_URL", "FOO", "BAR", ours[3], "GROQ_API_KEY")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    written(tmp_path, dict.fromkeys(names, "x") | {"TRIPOS_MODEL": "local/x.gguf", "GROQ_API_KEY": "os.environ/HOME"})
    load_env(tmp_path)
    told = capsys.readouterr().err.replace(f"{tmp_path}/", "").split("warning[W1208]: ")[1:]
    message = ".env sets variables that a file `.env` may not set, and they are ignored:"
    expected = [
        (".env sets `TRIPOS_STOER`, and no setting is called so", "did you mean `TRIPOS_STORE`?"),
        (f"{message} `TRIPOS_STORE`", "export `TRIPOS_STORE`, or write `store` into tripos.toml"),
        (f"{message} `TRIPOS_DATA`", "export `TRIPOS_DATA`, or write `data` into tripos.toml"),
        (f"{message} `OPENAI_BASE_URL`", "it counts beside the key of its provider: write that key into the file and "
         "export neither, or export both"),
        (f"{message} `FOO`, `BAR`", "export those that you need; what a file `.env` may set is listed in docs/reference/settings.md"),
        (f"{message} `TRIPOS_MODEL`, `GROQ_API_KEY`", "a file may set it, but not to the name of a file or of another "
         "variable: export it"),
    ]  # fmt: skip
    assert [tuple(each.strip().split("\n  = help: ")) for each in told] == expected


@pytest.mark.parametrize("text", ["replay/../other", "local/weights.gguf", "mock/careful, reward/x", " local/x"])
@pytest.mark.parametrize("name", ["TRIPOS_MODEL", "TRIPOS_ROLE_JUDGE"])
def test_a_file_names_no_model_that_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.delenv(name, raising=False)
    written(tmp_path, {name: text})
    assert name not in load_env(tmp_path)
    written(tmp_path, {name: "mock/careful"})
    assert load_env(tmp_path)[name] == "mock/careful"


def test_nothing_of_a_value_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    for form in ("${AWS_SECRET_ACCESS_KEY}", "$AWS_SECRET_ACCESS_KEY", '"${AWS_SECRET_ACCESS_KEY}"', "${X:-$HOME}"):
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        written(tmp_path, {"OPENAI_API_KEY": form})
        assert load_env(tmp_path)["OPENAI_API_KEY"] == form.strip('"')


def test_a_key_is_no_reference_to_a_file_or_another_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATSONX_API_KEY", raising=False)
    for text in ("oidc/file//root/.ssh/id_rsa", "oidc/env/AWS_SECRET_ACCESS_KEY", "os.environ/AWS_SECRET_ACCESS_KEY"):
        written(tmp_path, {"WATSONX_API_KEY": f"' {text}'"})
        assert "WATSONX_API_KEY" not in load_env(tmp_path)


def test_a_key_of_an_endpoint_goes_to_that_endpoint_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LD_PRELOAD", "OPENAI_BASE_URL", "MY_KEY", "OTHER_KEY"):
        monkeypatch.delenv(name, raising=False)
    tables = [f'[endpoints."openai/{n}"]\nbase_url = "http://127.0.0.1:9"\napi_key_env = "{name}"\n'
              for n, name in enumerate(("LD_PRELOAD", "OPENAI_BASE_URL", "TRIPOS_STORE", "MY_KEY"))]  # fmt: skip
    (tmp_path / "tripos.toml").write_text("".join(tables) + '[profiles.a.endpoints.x]\nbase_url = "http://a"\n')
    names = ("LD_PRELOAD", "OPENAI_BASE_URL", "TRIPOS_STORE", "MY_KEY", "OTHER_KEY")
    written(tmp_path, dict.fromkeys(names, CANARY))
    before = dict(os.environ)
    found = load_env(tmp_path)
    assert dict(os.environ) == before
    assert found["MY_KEY"] == variable("LD_PRELOAD") == CANARY
    assert not {"TRIPOS_STORE", "OTHER_KEY"} & found.keys()
    assert base_url_of("openai/a", PROVIDERS["openai"], None) == "https://api.openai.com/v1"
    assert key_of("openai/a", PROVIDERS["openai"], Endpoint("http://a", "MY_KEY")) == ("MY_KEY", CANARY)


def test_a_provider_is_ready_only_if_what_the_file_says_reaches_litellm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key of each provider, with its address and the rest in the file, and with these exported."""
    ready = 0
    monkeypatch.setattr(readiness, "missing_packages", lambda provider: ())
    monkeypatch.setattr(readiness, "_has_other_credentials", lambda needs: False)
    for provider in {**LITELLM, **PROVIDERS, **NATIVE_PROVIDERS}:
        needs = readiness.needs_of(provider)
        for each in {*needs.keys, *needs.address, *(name for group in needs.more for name in group)}:
            monkeypatch.delenv(each, raising=False)
        beside = {group[0]: "http://127.0.0.1:9" for group in (needs.address, *needs.more) if group}
        for key, exported in itertools.product(needs.keys, (False, True)):
            path = written(tmp_path, {key: CANARY} | ({} if exported else beside))
            set_file_variables([split_env(path, tmp_path)[0]])
            with monkeypatch.context() as patched:
                for name, text in beside.items() if exported else ():
                    patched.setenv(name, text)
                place = file_arguments(provider)
                try:
                    found = readiness.require_ready(f"{provider}/x", provider)
                except ModelError as error:
                    assert error.code in ("R0101", "R0102"), (provider, key)
                    continue
            ready += found == key
            assert (place.get("api_key") == CANARY) is (found == key), (provider, key, place)
            assert exported or not needs.address or not found or "api_base" in place, (provider, key, place)
    assert ready > 200


def test_what_stands_in_a_file_in_vain_is_to_be_exported() -> None:
    set_file_variables([{"AZURE_API_KEY": CANARY, "AZURE_API_BASE": "http://127.0.0.1:9"}])
    for name in ("azure_text/x", "azure/o1/x"):
        with pytest.raises(ModelError) as caught:
            readiness.require_ready(name, name.partition("/")[0])
        assert (caught.value.code, caught.value.hint.partition(":")[0]) == ("R0101", "export AZURE_API_BASE")


MODELS_OF = {
    "openai": ("gpt-4o", "o3-mini", "gpt-3.5-turbo-instruct", "openai/text-embedding-3-small"),
    "azure": ("x", "o1/x"),
}
KINDS = ("", "key", "address", "key address")


@pytest.mark.parametrize("name", [*PROVIDERS, *NATIVE_PROVIDERS])
def test_a_key_goes_to_no_address_of_another_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment and two files set a key, an address, a header, or not: 64 cases of each provider."""
    provider = {**PROVIDERS, **NATIVE_PROVIDERS}[name]
    for variable_ in (*provider.keys, *provider.other_variables):
        monkeypatch.delenv(variable_, raising=False)
    for kinds in itertools.product(KINDS, repeat=3):
        with monkeypatch.context() as patched:
            places = [_variables(provider, place, kind) for place, kind in zip("sab", kinds, strict=True)]
            for variable_, text in places[0].items():
                patched.setenv(variable_, text)
            set_file_variables(places[1:])
            _check_place(name, provider, kinds)


def _variables(provider: Provider, place: str, kind: str) -> dict[str, str]:
    found = dict.fromkeys((each for _, each, _ in provider.headers), f"header-{place}") if kind else {}
    found |= {provider.keys[0]: f"key-of-{place}"} if "key" in kind else {}
    return found | (dict.fromkeys(provider.base_urls, f"http://{place}.example/v1") if "address" in kind else {})


def _check_place(name: str, provider: Provider, kinds: tuple[str, ...]) -> None:
    try:
        address, (_, key) = base_url_of(f"{name}/x", provider, None), key_of(f"{name}/x", provider, None)
    except ModelError as error:
        assert error.code in ("R0101", "R0102")
        return
    at = next((place for place in "sab" if f"{place}.example" in address), "")
    whose = key.removeprefix("key-of-") if key.startswith("key-of-") else ""
    assert at in ("", "s") or whose in ("", at), (kinds, address, key)
    assert "key" not in kinds[0] or (whose == "s" and at in ("", "s")), (kinds, address, key)
    headers = {text for text in openai_headers(provider, key).values() if text.startswith("header-")}
    assert at in ("", "s") or headers <= {f"header-{at}"}


@pytest.mark.long
@pytest.mark.parametrize("name", [*PROVIDERS, *NATIVE_PROVIDERS])
@pytest.mark.filterwarnings("ignore:Items? .* on TypedDict:UserWarning")
def test_no_secret_of_the_environment_is_sent_to_an_address_of_the_file(
    names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)  # `SSLKEYLOGFILE` makes a file
    provider, got = {**PROVIDERS, **NATIVE_PROVIDERS}[name], list[str]()

    def refuse(posted: Posted) -> tuple[int, bytes]:
        got.append(f"{posted.path} {posted.headers} {posted.body!r}")
        return 400, b""

    for each in {*names, "ANTHROPIC_AUTH_TOKEN", *key_names(), *PROVIDERS["openai"].other_variables} - set(
        provider.keys
    ):
        if re.search("KEY|TOKEN|SECRET|PASS|AUTH|CRED|_ORG|_PROJECT", each) and each not in os.environ:
            monkeypatch.setenv(each, f"{CANARY}-{each}")
    for each in provider.keys:
        monkeypatch.delenv(each, raising=False)
    with json_server(refuse) as address:
        set_file_variables([{provider.keys[0]: "of-the-file", **dict.fromkeys(provider.base_urls, address)}])
        for model in MODELS_OF.get(name, ("some-model",)):
            with contextlib.suppress(ModelError):
                opened = open_embedding(model) if "embedding" in model else open_model(f"{name}/{model}")
                asyncio.run(opened.ask(Request("", (Message("user", "hi"),), Settings())))
    assert got or not provider.base_urls
    assert all("of-the-file" in each and CANARY not in each for each in got)


def test_a_file_that_is_a_link_elsewhere_or_no_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "victim").mkdir()
    written(tmp_path / "victim", {"OPENAI_API_KEY": CANARY})
    folder = tmp_path / "stranger"
    folder.mkdir()
    (folder / ".env").symlink_to(tmp_path / "victim" / ".env")
    assert "OPENAI_API_KEY" not in load_env(folder) and env_files(folder) == []
    assert "is a link to a file of another folder" in " ".join(capsys.readouterr().err.split())
    (folder / ".env").unlink()
    os.mkfifo(folder / ".env")
    assert "OPENAI_API_KEY" not in load_env(folder)
    (folder / ".env").unlink()
    (folder / "keys").write_text(f"OPENAI_API_KEY={CANARY}\n")
    (folder / ".env").symlink_to("keys")
    assert load_env(folder)["OPENAI_API_KEY"] == CANARY
    assert "OPENAI_API_KEY" not in load_env(folder, UNTRUSTED) and "OPENAI_API_KEY" not in all_variables()


@pytest.mark.parametrize("raw", [b"A=\xff\n", b"A=" + b"x" * 2**20], ids=["no UTF-8", "too large"])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / ".env").write_bytes(raw)
    with pytest.raises(TriposError, match=r"cannot read .*\.env"):
        load_env(tmp_path)


@pytest.mark.parametrize(
    "line", ["OPENAI_API_KEY: sk-1234567", 'OPENAI_API_KEY="sk-1234567', "set OPENAI_API_KEY=sk-1234567"]
)
def test_a_line_that_cannot_be_read_is_told_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / ".env").write_text(f"# ours\n{line}\nGROQ_API_KEY=gsk-1234567\n")
    for _ in range(2):
        found = load_env(tmp_path)
    assert found["GROQ_API_KEY"] == "gsk-1234567" and "OPENAI_API_KEY" not in found
    told = capsys.readouterr().err
    assert told.count("W1208") == 1 and ".env:2: the line cannot be read, and is ignored" in told and "sk-1" not in told


def test_odd_files_set_nothing_odd(tmp_path: Path) -> None:
    before = dict(os.environ)
    odd = (b"", b"=x\n", b"\0=\0\n", b"export\n", b"A\n", b"'a b'=c\n", b"A='\n", b"\xef\xbb\xbfA=b\n", b"A" * 9999)
    for raw in odd:
        (tmp_path / ".env").write_bytes(raw)
        assert load_env(tmp_path) == before


@pytest.mark.long
@pytest.mark.parametrize("untrusted", [False, True])
def test_litellm_reads_no_file_itself(tmp_path: Path, untrusted: bool) -> None:
    """It would, in an interpreter without a script, of this folder, and elsewhere of the folders above its package."""
    written(tmp_path, {"OPENSSL_CONF": CANARY, "PERPLEXITYAI_API_KEY": "sk-of-the-file"})
    code = f"""
import os, sys
from pathlib import Path
from tripos.settings.env_file import load_env
from tripos_runtime.datasets.trust import TRUSTED, UNTRUSTED
from tripos_runtime.models.base import ModelError
from tripos_runtime.models.families import open_model
load_env(Path.cwd(), UNTRUSTED if {untrusted} else TRUSTED)
try:
    model = open_model("perplexity/sonar")
except ModelError as error:
    print(error.code)
else:
    print(model._target_arguments)
print([name for name in ("OPENSSL_CONF", "OPENAI_CUSTOM_HEADERS", "PERPLEXITYAI_API_KEY") if name in os.environ])
"""
    environ = {name: text for name, text in os.environ.items() if not name.endswith("_API_KEY")}
    environ["OPENAI_CUSTOM_HEADERS"] = f"X-Auth: {CANARY}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    told = "R0102" if untrusted else "{'api_key': 'sk-of-the-file'}"
    assert done.stdout.splitlines() == [told, "[]"], done.stderr


PAGE = Path(__file__).parents[2] / "docs" / "reference/settings.md"
TITLE = "### The file `.env`\n"
HEAD = "| provider | keys | beside a key of the same file |\n| --- | --- | --- |\n"


def table() -> str:
    """Return the table of the page: what a file may set of each provider."""

    def row(name: str, *names: tuple[str, ...]) -> str:
        return f"| `{name}` | " + " | ".join(", ".join(f"`{each}`" for each in some) for some in names) + " |\n"

    rows = {
        name: row(name, each.keys, each.other_variables) for name, each in {**PROVIDERS, **NATIVE_PROVIDERS}.items()
    }
    rows |= {name: row(name, keys, ()) for name, keys in KEYED.items()}
    return HEAD + "".join(rows[name] for name in sorted(rows)).replace("|  |", "| |")


def test_the_page_on_settings_lists_what_a_file_may_set() -> None:
    """`TRIPOS_UPDATE_GOLDEN=1` writes the table anew."""
    page = PAGE.read_text("utf-8")
    before, title, rest = page.partition(TITLE)
    section, end, after = rest.partition("\n## ")
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        section = section.partition(HEAD)[0] + table()
        PAGE.write_text(before + title + section + end + after, "utf-8")
    assert section.endswith(f"\n\n{table()}")
    refused = {"TRIPOS_STORE", "TRIPOS_REUSE", "TRIPOS_DATA"}
    named = set(re.findall(r"`(TRIPOS_\w+[A-Z])`", section))
    assert named == {*ENV_FILE_VARIABLES, f"{ROLE}NAME", *refused}
    assert refused == {name for name, option in VARIABLES.items() if option.setting} - set(ENV_FILE_VARIABLES)
