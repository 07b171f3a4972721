"""Licences of a release, as SPDX expressions."""

from __future__ import annotations

from tripos.failure import Failure

OWN = "LicenseRef-"
"""What the name of a licence begins with that is not of SPDX' list."""

HUB = frozenset(
    """
    afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 cc-by-2.0
    cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0
    cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc0-1.0 cdla-permissive-1.0
    cdla-permissive-2.0 cdla-sharing-1.0 ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 isc lppl-1.3c mit mpl-2.0
    ms-pl ncsa ofl-1.1 osl-3.0 postgresql unlicense wtfpl zlib
    """.split()  # noqa: SIM905
)
"""The licences of which the Hugging Face Hub's name is that of SPDX in small letters; it takes no other."""


def check_license(expression: str | None, what: str) -> str:
    """The expression as SPDX writes it. Raises `Failure` W0852 where there is none, or SPDX knows no such licence.

    >>> check_license("Apache-2.0 or mit", "the benchmark")
    'Apache-2.0 OR MIT'
    """
    if not expression:
        raise Failure("W0852", f"{what} has no licence", 'say it in the spec, such as `license "CC-BY-4.0"`')
    from license_expression import get_spdx_licensing

    spdx = get_spdx_licensing()
    try:
        found = spdx.validate(expression)
        unknown = [each for each in found.invalid_symbols if not each.startswith(OWN)]
        bad = bool(unknown) or (bool(found.errors) and not found.invalid_symbols)
    except AttributeError:  # the library fails so at an expression that stops short
        unknown, bad = [], True
    if bad:
        named = ", ".join(f"`{each}`" for each in unknown) or f"`{expression}`"
        hint = "use the names of spdx.org/licenses, joined with AND, OR and WITH; LicenseRef-NAME for one of your own"
        raise Failure("W0852", f"the licence of {what} is no SPDX expression: {named}", hint)
    return str(spdx.parse(expression).render())
