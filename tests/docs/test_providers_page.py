"""The page on providers lists every provider of litellm, as the tables of the runtime have it.

`TRIPOS_UPDATE_GOLDEN=1` writes the generated part anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from tests.docs.test_docs import DOCS
from tests.runtime.provider_forms import CASES
from tests.runtime.test_providers import KEYS, TESTED
from tripos_runtime.models.catalog import LITELLM, NATIVE_PROVIDERS, PROVIDERS, LitellmProvider
from tripos_runtime.models.readiness import OF_OPENAI, OTHERWISE, needs_of, package_error

PAGE = DOCS / "reference/providers.md"
BEGIN, END = "<!-- providers -->\n", "<!-- end of providers -->\n"


def listed(names: Iterable[str], last: str = "or") -> str:
    """Return names as a choice."""
    *first, final = [f"`{name}`" for name in names]
    return f"{', '.join(first)} {last} {final}" if first else final


def key_of(needs: LitellmProvider) -> str:
    if needs.sign_in is not None:
        return f"the file `{needs.sign_in.folder}/{needs.sign_in.file}`"
    if needs.endpoint_only:
        return "that of its endpoint"
    if not needs.keys:
        return "none"
    more = OTHERWISE.get(needs.credentials or "", "")
    return listed(needs.keys) + more + (", or none" if needs.keyless else "")


def more_of(needs: LitellmProvider) -> str:
    found = [listed(group) for group in (*([needs.address] if needs.address else []), *needs.more)]
    if needs.endpoint_only:
        found.append("an address under `[endpoints]`")
    found += [f"`{package_error('', module).hint}`" for module in needs.packages[:1]]
    return "; ".join(found)


def way_of(name: str) -> str:
    if name == "openai":
        return "direct, litellm"
    return "direct" if name in PROVIDERS or name == OF_OPENAI else "litellm"


def part() -> str:
    """Return what the page says of each provider."""
    every = {name: needs_of(name) for name in sorted({*LITELLM, *PROVIDERS, *NATIVE_PROVIDERS, OF_OPENAI})}
    chats = {name: needs for name, needs in every.items() if needs.chats}
    tried = {name: needs for name, needs in chats.items() if not needs.untested}
    untried = {name: needs for name, needs in chats.items() if needs.untested}
    others: dict[str, list[str]] = {}
    for name, needs in every.items():
        if not needs.chats:
            others.setdefault(needs.serves, []).append(name)
    counted = [name for name, case in CASES.items() if case.tokens is None]
    unset = sorted({key for name in TESTED for key in LITELLM[name].keys} - {key for _, key in KEYS})
    lines = [
        f"## Tested: {len(tried)}\n", "| provider | way | key | needs besides |", "| --- | --- | --- | --- |",
        *(f"| `{name}` | {way_of(name)} | {key_of(needs)} | {more_of(needs)} |" for name, needs in tried.items()),
        "\nThe tests set each of these variables in turn, but for those that belong to a sign-in of several parts:",
        f"{listed(unset, 'and')}.\n",
        "These providers do not say how many tokens a call took, and litellm counts them with a tokenizer that may be",
        f"another model's: {listed(counted, 'and')}.\n",
        f"## Not tested: {len(untried)}\n", "| provider | why | key | needs besides |", "| --- | --- | --- | --- |",
        *(f"| `{name}` | {needs.untested} | {key_of(needs)} | {more_of(needs)} |" for name, needs in untried.items()),
        f"\n## Without a chat: {sum(map(len, others.values()))}\n",
        "Tripos refuses them as models that answer (R0103).\n",
        "| they serve | providers |", "| --- | --- |",
        *(f"| {serves} | {', '.join(f'`{name}`' for name in names)} |" for serves, names in sorted(others.items())),
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def test_every_provider_is_on_the_page_as_the_tables_have_it() -> None:
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    shown, _, tail = rest.partition(END)
    wanted = part()
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        PAGE.write_text(f"{head}{BEGIN}{wanted}{END}{tail}", "utf-8")
        shown = wanted
    assert shown == wanted
