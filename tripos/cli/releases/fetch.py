"""`tripos fetch`: brings releases and data from elsewhere, so that no other command needs to."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from tripos.api import find_spec
from tripos.cli.inputs import show_diagnostics
from tripos.releases import RELEASES, keep_fetched, read_pins
from tripos.releases.fetching import DataFetcher, fetch_release, is_pinned, reach_of
from tripos.settings import check_given, load_config, trust_of
from tripos.ui import GOOD, USAGE, show_json, show_message


def main(options: Namespace) -> int:
    """Fetch a release, or every one that a spec extends and its data; exit code 2 where one of a spec is not to be
    had."""
    check_given(trust_of(options), fetch=True)
    reach = replace(reach_of(options), here=False)
    if "://" in options.path:
        into = Path(options.to or RELEASES)
        keep_fetched(fetch_release(options.path, reach, options.digest), options.path, into)
        return _tell(into, {options.path}, options)
    config = load_config(Path.cwd())
    spec = find_spec(options.path, options.data, config.data, (*options.releases, *config.releases), reach)
    into = Path(options.to) if options.to else spec.path.parent / RELEASES
    before = read_pins(into)
    data = DataFetcher(reach)
    folders = replace(spec.folders, bring=data.bring)
    compilation = replace(spec, folders=folders, releases=replace(spec.releases, into=into)).compile()
    failed = [each for each in compilation.diagnostics if each.code in ("E0912", "E0913", "E0914", "E0307")]
    show_diagnostics(failed)
    _tell(into, set(read_pins(into)) - set(before), options, data.brought)
    return USAGE if failed else GOOD


def _tell(into: Path, new: set[str], options: Namespace, data: Mapping[str, Path] = MappingProxyType({})) -> int:
    pins = read_pins(into)
    if options.json:
        found = {url: pins[url] for url in sorted(new)}
        loose = [source for source in sorted(data) if not is_pinned(source)]
        brought: dict[str, object] = (
            {"data": {source: data[source].as_posix() for source in sorted(data)}} if data else {}
        )
        brought |= {"unpinned": loose} if loose else {}
        show_json(json.dumps({"fetched": found, "into": into.as_posix(), **brought}, indent=2))
        return GOOD
    for source, path in sorted(data.items()):
        show_message(f"{source} is in {path.as_posix()}")
        if not is_pinned(source):
            show_message(f"  {source} names no commit, so its rows may change: write the commit after `@`", stderr=True)
    if data and not new:
        return GOOD
    if not new:
        show_message("nothing to fetch")
    else:
        for url in sorted(new):
            show_message(f"{url} is in {into.as_posix()}\n  sha256 {pins[url]}")
    return GOOD
