"""The checks before the first call through litellm: what lacks for it here, found without a request to the provider."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tripos_runtime.models.base import ModelError
from tripos_runtime.models.catalog.litellm_providers import LITELLM, LitellmProvider, SignIn
from tripos_runtime.models.catalog.packages import is_there, missing_packages, package_error
from tripos_runtime.models.catalog.providers import EXPORTED_ADDRESS, FOREIGN, PROVIDERS, provider_named
from tripos_runtime.models.catalog.variables import variable, variables_of

OF_OPENAI = "text-completion-openai"
READ_BY_PACKAGES = ("AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS")
"""Variables that the packages of their clouds read, with a second one, or a file."""
OTHERWISE: Mapping[str, str] = {
    "aws": " with its AWS_SECRET_ACCESS_KEY, or run `aws configure`",
    "databricks": ", or install databricks-sdk and give it a profile",
    "google": ", or run `gcloud auth application-default login`",
}
"""How else credentials are given."""


def needs_of(provider: str) -> LitellmProvider:
    """Return what litellm's calls of a provider need. For a provider that is newer than the tables it is a key in the
    usual variable: without one, litellm would send it OpenAI's.

    >>> needs_of("moonshot").keys, needs_of("groq").keys, needs_of("brand-new").keys
    (('MOONSHOT_API_KEY',), ('GROQ_API_KEY',), ('BRAND_NEW_API_KEY',))
    """
    if provider in LITELLM:
        return LITELLM[provider]
    ours = PROVIDERS.get("openai" if provider == OF_OPENAI else provider) or FOREIGN.get(provider)
    if ours is None:
        return LitellmProvider((f"{provider.upper().replace('-', '_')}_API_KEY",), untested="newer than the tables")
    address = ours.base_urls if ours.base_url is None else ()
    return LitellmProvider(ours.keys, keyless=ours.key_unset is not None, address=address)


def require_sign_in(name: str, provider: str) -> None:
    """Raise `ModelError` R0102 if a person must sign in first; litellm would ask for that itself, and wait."""
    needs = LITELLM.get(provider)
    if needs is None or needs.sign_in is None or _signed_in(needs.sign_in):
        return
    hint = f"sign in once with litellm, which leaves {needs.sign_in.folder}/{needs.sign_in.file}"
    raise ModelError("R0102", f"`{name}` is used by people who sign in, and nobody has", hint, fatal=True)


def require_chat(name: str, provider: str) -> None:
    """Raise `ModelError` R0103 if litellm does not reach models with a chat at a provider."""
    needs = LITELLM.get(provider)
    if needs is not None and not needs.chats:
        message = f"`{provider}` serves {needs.serves}, and no chat"
        raise ModelError("R0103", message, "give a model of another provider", fatal=True)


def require_ready(name: str, provider: str) -> str:
    """Return the variable of the key, empty if there is none. Raise `ModelError` R0105 if a package lacks,
    R0101 if nothing says where the provider is, and R0102 if its key or another part of its credentials lacks."""
    needs = needs_of(provider)
    if missing := missing_packages(provider):
        raise package_error(name, missing[0])
    if needs.endpoint_only:
        hint = f'write its address:\n[endpoints."{name}"]\nbase_url = "http://…"'
        raise ModelError("R0101", f"there is no address for `{name}`", hint, fatal=True)
    given = handed_over(provider)
    if needs.address and not _first_set(needs.address, given) and not _elsewhere(needs):
        raise ModelError("R0101", f"there is no address for `{name}`", _set_hint(needs.address), fatal=True)
    key = _first_set(needs.keys, given)
    told = key and key not in READ_BY_PACKAGES
    if needs.keys and not told and not needs.keyless and not _elsewhere(needs):
        hint = _set_hint(needs.keys, OTHERWISE.get(needs.credentials or "", ""))
        raise ModelError("R0102", f"the key for `{name}` is missing", hint, fatal=True)
    for group in needs.more:
        if not _first_set(group, given):
            message = f"a part of the credentials for `{name}` is missing"
            raise ModelError("R0102", message, _set_hint(group), fatal=True)
    return key


def handed_over(provider_name: str) -> dict[str, str]:
    """Return the variables of files `.env` that litellm is told of, since it reads the environment alone: keys and the
    address. Azure's address is not told: there litellm signs in with more than the key."""
    provider = provider_named(provider_name)
    names = (*provider.keys, *(() if provider_name in EXPORTED_ADDRESS else provider.base_urls))
    found = variables_of(provider)
    return {name: found[name] for name in names if name in found and not os.environ.get(name, "").strip()}


def _first_set(variables: Sequence[str], given: Mapping[str, str]) -> str:
    return next((each for each in variables if each in given or os.environ.get(each, "").strip()), "")


def _set_hint(variables: Sequence[str], otherwise: str = "") -> str:
    """Return how to mend variables that are not set, or only in a file `.env` that does not count for the provider."""
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


def _elsewhere(needs: LitellmProvider) -> bool:
    """Return true if the provider's own package finds credentials: in variables, in a file, or on a machine of its
    cloud."""
    match needs.credentials:
        case "aws":
            botocore = importlib.import_module("botocore.session")
            profile = os.environ.get("AWS_PROFILE_NAME")  # litellm's variable; botocore reads its own
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
            return is_there("databricks.sdk")
    return False
