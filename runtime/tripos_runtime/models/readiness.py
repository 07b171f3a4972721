"""Checks before the first call through litellm: packages, credentials and addresses, without a request to the
provider."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from tripos_runtime.models.base import ModelError
from tripos_runtime.models.catalog import (
    EXPORTED_ADDRESS,
    LITELLM,
    LitellmProvider,
    SignIn,
    provider_named,
    variable,
    variables_of,
)

DISTRIBUTIONS: Mapping[str, str] = {
    "google": "google-auth[requests]",
    "google.cloud.aiplatform": "google-cloud-aiplatform",
    "google.cloud": "google-cloud-aiplatform",
    "google.genai": "google-genai",
    "vertexai": "google-cloud-aiplatform",
    "botocore": "boto3",
    "azure": "azure-identity",
    "databricks": "databricks-sdk",
    "ibm_watsonx_ai": "ibm-watsonx-ai",
    "PIL": "pillow",
}
"""The distribution on PyPI of each module whose name differs."""
NO_MODULE = re.compile(r"No module named '([\w.]+)'")
PIP_INSTALL = re.compile(r"""pip install (?:-U |--upgrade )?['"`]?([\w.\[\],-]*[\w\]])""")
"""A command in a message that installs the missing package."""
LONGEST_CHAIN = 16
"""The largest number of causes of an error that are looked at."""


def missing_packages(provider: str) -> list[str]:
    """Return the modules that every call of a provider needs and that are not installed."""
    needs = LITELLM.get(provider)
    return [module for module in (needs.packages if needs is not None else ()) if not is_importable(module)]


def package_error(name: str, module: str, distribution: str | None = None) -> ModelError:
    """Return the error of a model whose calls need a Python package that is not installed.

    >>> error = package_error("vertex_ai/gemini-2.5-pro", "google.auth")
    >>> print(error.message)
    `vertex_ai/gemini-2.5-pro` needs the Python package `google-auth[requests]`, which is not installed
    >>> error.hint, error.retryable, error.fatal
    ("pip install 'google-auth[requests]'", False, True)
    """
    package = distribution or distribution_of(module)
    message = f"`{name}` needs the Python package `{package}`, which is not installed"
    quoted = f"'{package}'" if "[" in package else package
    return ModelError("R0105", message, f"pip install {quoted}", fatal=True)


def missing_import(error: BaseException, name: str, *, answered: bool) -> ModelError | None:
    """Return the error of a model whose call failed because a package is missing; None for other failures. If a server
    `answered`, the missing package is its own."""
    for each in chain_of(error):
        if not isinstance(each, ImportError) or not _is_about_module(each, str(error)):
            continue  # litellm went on after this error, so it is not the cause
        match = PIP_INSTALL.search(str(each))
        if each.name or match is not None:
            return package_error(name, each.name or "", None if each.name else match and match[1])
    if answered:
        return None
    if (module := NO_MODULE.search(str(error))) is not None:
        return package_error(name, module[1])
    match = PIP_INSTALL.search(str(error))
    return None if match is None else package_error(name, "", match[1])


def _is_about_module(missing: ImportError, message: str) -> bool:
    """Return true if an error message is about a missing module. The name of a package that is a common word, such as
    `requests`, does not count."""
    package = distribution_of(missing.name or "").split("[")[0]
    return str(missing) in message or ("-" in package and package in message)


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    waiting, count = [error], 0
    while waiting and count < LONGEST_CHAIN:
        each = waiting.pop(0)
        count += 1
        if each is not None:
            yield each
            waiting += [each.__cause__, each.__context__]


def distribution_of(module: str) -> str:
    """Return the distribution that installs a module.

    >>> distribution_of("google.auth.transport"), distribution_of("boto3.session")
    ('google-auth[requests]', 'boto3')
    """
    parts = module.split(".")
    known = (DISTRIBUTIONS.get(".".join(parts[:count])) for count in range(len(parts), 0, -1))
    return next((each for each in known if each is not None), parts[0])


def is_importable(module: str) -> bool:
    """Return true if a module can be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # its parent package is missing
        return False


OF_OPENAI = "text-completion-openai"
READ_BY_PACKAGES = ("AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS")
"""Variables of credentials that are incomplete alone: the clouds' packages read them with a second variable or a
file."""
OTHERWISE: Mapping[str, str] = {
    "aws": " with its AWS_SECRET_ACCESS_KEY, or run `aws configure`",
    "databricks": ", or install databricks-sdk and give it a profile",
    "google": ", or run `gcloud auth application-default login`",
}
"""Other ways to give credentials, as the ends of hints, by `LitellmProvider.credentials`."""


def needs_of(provider: str) -> LitellmProvider:
    """Return what litellm's calls of a provider need. A provider that is in no table needs a key in a variable of the
    usual name: without one, litellm would send it OpenAI's key.

    >>> needs_of("moonshot").keys, needs_of("groq").keys, needs_of("brand-new").keys
    (('MOONSHOT_API_KEY',), ('GROQ_API_KEY',), ('BRAND_NEW_API_KEY',))
    """
    if provider in LITELLM:
        return LITELLM[provider]
    own = provider_named("openai" if provider == OF_OPENAI else provider)
    if not own.keys:
        return LitellmProvider((f"{provider.upper().replace('-', '_')}_API_KEY",), untested="newer than the tables")
    address = own.base_urls if own.base_url is None else ()
    return LitellmProvider(own.keys, keyless=own.key_unset is not None, address=address)


def require_sign_in(name: str, provider: str) -> None:
    """Raise `ModelError` R0102 if a person must sign in first. litellm would prompt for it and wait."""
    needs = LITELLM.get(provider)
    if needs is None or needs.sign_in is None or _signed_in(needs.sign_in):
        return
    hint = f"sign in once with litellm, which leaves {needs.sign_in.folder}/{needs.sign_in.file}"
    raise ModelError("R0102", f"`{name}` is used by people who sign in, and nobody has", hint, fatal=True)


def require_chat(name: str, provider: str) -> None:
    """Raise `ModelError` R0103 if litellm has no chat models of a provider."""
    needs = LITELLM.get(provider)
    if needs is not None and not needs.chats:
        message = f"`{provider}` serves {needs.serves}, and no chat"
        raise ModelError("R0103", message, "give a model of another provider", fatal=True)


def require_ready(name: str, provider: str) -> str:
    """Return the variable with the key; empty if there is none. Raise `ModelError` R0105 if a package is missing, R0101
    if the address is unknown, and R0102 if the key or another part of the credentials is missing."""
    needs = needs_of(provider)
    if missing := missing_packages(provider):
        raise package_error(name, missing[0])
    if needs.endpoint_only:
        hint = f'write its address:\n[endpoints."{name}"]\nbase_url = "http://…"'
        raise ModelError("R0101", f"there is no address for `{name}`", hint, fatal=True)
    passed = variables_for_litellm(provider)
    if needs.address and not _first_set(needs.address, passed) and not _has_other_credentials(needs):
        raise ModelError("R0101", f"there is no address for `{name}`", _set_hint(needs.address), fatal=True)
    key = _first_set(needs.keys, passed)
    is_complete = key and key not in READ_BY_PACKAGES
    if needs.keys and not is_complete and not needs.keyless and not _has_other_credentials(needs):
        hint = _set_hint(needs.keys, OTHERWISE.get(needs.credentials or "", ""))
        raise ModelError("R0102", f"the key for `{name}` is missing", hint, fatal=True)
    for group in needs.more:
        if not _first_set(group, passed):
            message = f"a part of the credentials for `{name}` is missing"
            raise ModelError("R0102", message, _set_hint(group), fatal=True)
    return key


def variables_for_litellm(provider_name: str) -> dict[str, str]:
    """Return the variables of `.env` files that are passed to litellm as arguments, since it reads only the
    environment: keys and the address. Azure's address is not passed, since litellm may sign in there with more than the
    key."""
    provider = provider_named(provider_name)
    names = (*provider.keys, *(() if provider_name in EXPORTED_ADDRESS else provider.base_urls))
    variables = variables_of(provider)
    return {name: variables[name] for name in names if name in variables and not os.environ.get(name, "").strip()}


def _first_set(variables: Sequence[str], passed: Mapping[str, str]) -> str:
    """Return the first of the variables that is passed or in the environment; empty if none is."""
    return next((each for each in variables if each in passed or os.environ.get(each, "").strip()), "")


def _set_hint(variables: Sequence[str], otherwise: str = "") -> str:
    """Return a hint for variables that are not set, or are set only in a `.env` file that does not count for the
    provider."""
    if any(map(variable, variables)):
        return f"export {_either(variables)}{otherwise}: a file `.env` does not give it for this model"
    return f"set {_either(variables)}{otherwise}"


def _either(variables: Sequence[str]) -> str:
    """Return the names of variables as a choice.

    >>> _either(("A", "B", "C"))
    'A, B or C'
    """
    *first, last = variables
    return f"{', '.join(first)} or {last}" if first else last


def _signed_in(sign_in: SignIn) -> bool:
    folder = os.environ.get(sign_in.variable) or sign_in.folder
    return (Path(folder).expanduser() / sign_in.file).is_file()


def _has_other_credentials(needs: LitellmProvider) -> bool:
    """Return true if the provider's own package finds credentials: in variables, in a file, or on a machine of its
    cloud."""
    match needs.credentials:
        case "aws":
            botocore = importlib.import_module("botocore.session")
            profile = os.environ.get("AWS_PROFILE_NAME")  # litellm's variable; botocore reads AWS_PROFILE
            try:
                return botocore.Session(profile=profile).get_credentials() is not None
            except importlib.import_module("botocore.exceptions").BotoCoreError:
                return False
        case "google":
            google = importlib.import_module("google.auth")
            try:
                google.default()
            except google.exceptions.DefaultCredentialsError:
                return False
            return True
        case "databricks":
            return is_importable("databricks.sdk")
    return False
