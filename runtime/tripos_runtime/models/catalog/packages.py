"""Python packages that litellm needs for some providers and does not install: which lack here, and what mends it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from tripos_runtime.models.base import ModelError
from tripos_runtime.models.catalog.litellm_providers import LITELLM

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
"""What a module is installed as, where that is another word."""
NO_MODULE = re.compile(r"No module named '([\w.]+)'")
MENDED_BY = re.compile(r"""pip install (?:-U |--upgrade )?['"`]?([\w.\[\],-]*[\w\]])""")
LONGEST_CHAIN = 16


def missing_packages(provider: str) -> list[str]:
    """Return the modules that every call of a provider needs and that are not installed here."""
    needs = LITELLM.get(provider)
    return [module for module in (needs.packages if needs is not None else ()) if not is_there(module)]


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
    """Return the error of a model whose call failed since a package is missing; None of any other failure. If a server
    `answered`, its words are about a package of its own."""
    for each in chain_of(error):
        if not isinstance(each, ImportError) or not _tells_of(each, str(error)):
            continue  # one that litellm went on after is not why the call failed
        told = MENDED_BY.search(str(each))
        if each.name or told is not None:
            return package_error(name, each.name or "", None if each.name else told and told[1])
    if answered:
        return None
    if (words := NO_MODULE.search(str(error))) is not None:
        return package_error(name, words[1])
    told = MENDED_BY.search(str(error))
    return None if told is None else package_error(name, "", told[1])


def _tells_of(missing: ImportError, words: str) -> bool:
    """Return true if an error's words are about a module that is missing; a plain word, such as `requests`, does not
    say so."""
    package = distribution_of(missing.name or "").split("[")[0]
    return str(missing) in words or ("-" in package and package in words)


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that it came of."""
    waiting, seen = [error], 0
    while waiting and seen < LONGEST_CHAIN:
        each = waiting.pop(0)
        seen += 1
        if each is not None:
            yield each
            waiting += [each.__cause__, each.__context__]


def distribution_of(module: str) -> str:
    """Return what a module is installed as.

    >>> distribution_of("google.auth.transport"), distribution_of("boto3.session")
    ('google-auth[requests]', 'boto3')
    """
    parts = module.split(".")
    found = (DISTRIBUTIONS.get(".".join(parts[:count])) for count in range(len(parts), 0, -1))
    return next((each for each in found if each is not None), parts[0])


def is_there(module: str) -> bool:
    """Return true if a module can be imported; it is not imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # the package that it is in is not there
        return False
