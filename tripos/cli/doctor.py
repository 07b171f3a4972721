"""`tripos doctor`: checks of everything that a run needs, each with a fix if it fails."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import os
import platform
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from tripos.cli.context import Context, Outcome, Styled
from tripos.exporting import EMITTERS
from tripos.exporting.exporters import EXPORTERS
from tripos.importing.logs.opening import IMPORTERS
from tripos.runs.records import REPLAY_PREFIX as RECORDED, open_recording
from tripos.runs.selection import parse_roles
from tripos.settings.config import SETTINGS_FILE, Config
from tripos.settings.env_file import UNKNOWN_VARIABLE, env_files, load_env, split_env
from tripos.settings.environment import set_variables
from tripos.settings.load import ChosenSettings, load_settings, with_options
from tripos.settings.option import listed_names
from tripos.settings.options import MODEL, RunParameters
from tripos.settings.runtime import endpoints_of, prices_of
from tripos.settings.secrets import key_values, without_keys
from tripos.terminal import escape_controls, is_colored, terminal_width
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.text_format import counted, display_width, duration, file_size, usd, wrap
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Settings
from tripos_compiler.source.entry_points import BrokenPlugin, entry_points_by_name, package_version
from tripos_runtime.asking.functions.protocol import NO_SANDBOX
from tripos_runtime.datasets.trust import Trust
from tripos_runtime.models.base import Message, Model, ModelError, Request
from tripos_runtime.models.baselines import ANSWERS, MAJORITY
from tripos_runtime.models.catalog import DIRECT, LOOPBACK, all_variables, entry_of, path_of
from tripos_runtime.models.families import open_model
from tripos_runtime.models.kinds import kind_of
from tripos_runtime.models.prices import price_of
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.compaction import BIG_BYTES, MANY_COMMITS
from tripos_warehouse.store.journal import segments
from tripos_warehouse.store.paths import address_of
from tripos_warehouse.store.store import Store

Status = Literal["ok", "warning", "problem"]
WIDTH = 80
MARGIN = " " * 11
NARROWEST = 20
"""The minimum width in columns for the text of a check."""


# Results of checks
@dataclass(frozen=True)
class CheckResult:
    """The result of a check. `subject` is what was checked, `told` the result, `mend` the fix. Line breaks of `mend`
    are kept."""

    subject: str
    name: str
    status: Status
    told: str
    mend: str = ""


def ok(subject: str, name: str, told: str) -> CheckResult:
    """Return a check without a problem."""
    return CheckResult(subject, name, "ok", told)


def warning(subject: str, name: str, told: str, mend: str) -> CheckResult:
    """Return a check that found a risk or a possible improvement."""
    return CheckResult(subject, name, "warning", told, mend)


def problem(subject: str, name: str, told: str, mend: str) -> CheckResult:
    """Return a check that found a reason why no run can succeed."""
    return CheckResult(subject, name, "problem", told, mend)


def lines_of(checks: Sequence[CheckResult], width: int = WIDTH) -> Iterator[tuple[Status | None, str]]:
    """Yield the lines of the checks, wrapped to `width` columns. The first line of each check has its status.

    >>> for _, line in lines_of([ok("store", "place", "results"), problem("store", "disk", "no space", "free some")]):
    ...     print(line)
    store
      ok       place: results
      problem  disk: no space
               → free some
    """
    subject = None
    for check in checks:
        if check.subject != subject:
            subject = check.subject
            yield None, localized(subject)
        status = localized(check.status)
        head = f"  {status}{' ' * (8 - display_width(status))} "
        text = f"{localized(check.name)}{localized(': ')}{localized(check.told)}"
        first, *more = _wrapped(head, text, MARGIN, width)
        yield check.status, first
        for line in more:
            yield None, line
        for index, line in enumerate(localized(check.mend).splitlines()):
            arrow = "→ " if index == 0 else "  "
            for each in _wrapped(f"{MARGIN}{arrow}", line, f"{MARGIN}  ", width):
                yield None, each


def verdict(checks: Sequence[CheckResult]) -> str:
    """Return the last line, which sums up the checks.

    >>> verdict([ok("a", "b", "c")]), verdict([problem("a", "b", "c", "d"), warning("a", "b", "c", "d")])
    ('everything is in order', '1 problem, 1 warning')
    """
    problems = sum(check.status == "problem" for check in checks)
    warnings = sum(check.status == "warning" for check in checks)
    parts = [counted(problems, "problem")] if problems else []
    parts += [counted(warnings, "warning")] if warnings else []
    return localized(", ").join(map(localized, parts)) or localized("everything is in order")


def _wrapped(head: str, text: str, margin: str, width: int) -> list[str]:
    first, *more = wrap(text, max(width - display_width(margin), NARROWEST))
    return [f"{head}{first}".rstrip(), *(f"{margin}{line}" for line in more)]


MOST = 80
"""The maximum width of a line in columns."""
COLOURS: dict[Status, str] = {"ok": "32", "warning": "33", "problem": "31"}


def main(context: Context) -> Outcome:
    """Return the checks. The exit code is 1 if there is a problem."""
    checks, secrets = _checks(context)
    # Answers of endpoints and contents of files may contain an API key, so everything printed passes through here.
    checks = [
        replace(check, told=without_keys(check.told, secrets), mend=without_keys(check.mend, secrets))
        for check in checks
    ]
    statuses = [check.status for check in checks]
    worst = next((status for status in ("problem", "warning") if status in statuses), "ok")
    return Outcome(
        lambda: {"status": worst, "checks": [asdict(check) for check in checks]},
        _lines(checks),
        exit_code=ExitCode.SOME_FAILED if worst == "problem" else ExitCode.SUCCESS,
    )


def _checks(context: Context) -> tuple[list[CheckResult], tuple[str, ...]]:
    """Return the checks, and the values that must not be shown."""
    options, folder = context.options, Path.cwd()
    roles = parse_roles(options.role)
    checks = list(machine_checks())
    of_machine = len(checks)
    readable = True
    try:
        environ = load_env(folder, context.trust)
        chosen = load_settings(folder, profile=options.profile, environ=environ, trust=context.trust)
        checks += project_checks(chosen, folder, environ)
    except TriposError as failure:
        environ = all_variables()
        chosen = ChosenSettings(Config(), secrets=key_values(environ))
        checks.append(failed_check(failure))
        readable = False
    config = with_options(chosen.config, options)
    checks[of_machine:of_machine] = [sandbox_check(config), *plugin_checks(context.trust)]
    table = role_table(config, listed_names(options.model), roles)
    if readable or table:  # unreadable settings may name models
        checks += model_checks(table, config, environ, ask=options.ask)
    checks += store_checks(config.store, folder)
    return checks, chosen.secrets


def _lines(checks: Sequence[CheckResult]) -> Iterator[str]:
    colored = is_colored(sys.stdout)
    for status, line in lines_of(checks, min(terminal_width(), MOST)):
        yield Styled(_colored(status, escape_controls(line))) if colored else line
    yield verdict(checks)


def _colored(status: Status | None, line: str) -> str:
    if status is not None:
        text = localized(status)
        return line.replace(text, f"\x1b[{COLOURS[status]}m{text}\x1b[0m", 1)
    return line if line.startswith(" ") else f"\x1b[1m{line}\x1b[0m"


SETTINGS = "settings"


# The project, its store and the disk
def project_checks(chosen: ChosenSettings, folder: Path, environ: Mapping[str, str]) -> Iterator[CheckResult]:
    """Check `tripos.toml`, its profile, `.env` and environment variables."""
    if chosen.path is None:
        yield ok(SETTINGS, SETTINGS_FILE, "none here or above; what is built in holds")
    else:
        above = "" if chosen.path.parent == folder.absolute() else ", in a folder above"
        yield ok(SETTINGS, SETTINGS_FILE, f"{chosen.path}{above}")
    if chosen.profile is not None:
        yield ok(SETTINGS, "profile", chosen.profile)
    elif chosen.config.profiles:
        yield ok(SETTINGS, "profile", f"none of {', '.join(sorted(chosen.config.profiles))}")
    for path in env_files(folder):
        yield from _env_checks(path, folder)
    if found := [name for name, _, _ in set_variables(environ)]:
        yield ok(SETTINGS, "environment", ", ".join(found))
    for message, hint in chosen.warnings:
        yield warning(SETTINGS, "environment", f"[{UNKNOWN_VARIABLE}] {message}", hint)
    for data in chosen.config.data:
        if not Path(data).is_dir():
            yield warning(SETTINGS, "data", f"there is no folder {data}", "make it, or fix `data`")
    if chosen.config.budget:
        yield from _budget_checks(chosen.config.budget)


def failed_check(failure: TriposError) -> CheckResult:
    """Return the check of unreadable settings."""
    return problem(SETTINGS, SETTINGS_FILE, f"[{failure.code}] {failure.message}", failure.hint)


def _env_checks(path: Path, folder: Path) -> Iterator[CheckResult]:
    names = sorted(split_env(path, folder)[0])
    yield ok(SETTINGS, ".env", f"{path} sets {', '.join(names) or 'nothing'}")
    if os.name == "posix" and path.stat().st_mode & 0o004:
        mend = f"chmod 600 {shlex.quote(str(path))}"
        yield warning(SETTINGS, ".env", "every user of this machine can read it", mend)


def _budget_checks(texts: tuple[str, ...]) -> Iterator[CheckResult]:
    from tripos_runtime.scheduling.budget import Budget, BudgetError

    try:
        Budget.parse(texts)
    except BudgetError as error:
        yield problem(SETTINGS, "budget", f"[{error.code}] {error.message}", error.hint)
    else:
        yield ok(SETTINGS, "budget", ", ".join(texts))


STORE = "store"
LOW_DISK_BYTES, FULL_DISK_BYTES = 2**30, 100 * 2**20
"""Free bytes of the disk below which a run gets a warning, and below which it will fail."""
MANY_PARTS = 4 * MANY_COMMITS


def _bucket_checks(address: str) -> Iterator[CheckResult]:
    try:
        commits = Store.open(address, create=False).commits()
    except StoreError as error:
        if error.code == "S0101":
            yield ok(STORE, "place", f"{address}; the first run makes it")
        else:
            yield problem(STORE, "place", f"[{error.code}] {error.message}", error.hint)
        return
    yield ok(STORE, "place", f"{address}: {counted(len(commits), 'commit')}")


def store_checks(place: str | Path, folder: Path) -> Iterator[CheckResult]:
    """Check the store at `place`, which may not exist; `folder` is the current one. Like every reader, first commit the
    results of a process that died."""
    if address_of(place):
        yield from _bucket_checks(str(place))
        return
    root = folder / Path(place).expanduser()
    path = root.relative_to(folder) if root.is_relative_to(folder) else root
    yield from _disk_checks(root)
    if not root.exists():
        yield ok(STORE, "place", f"{path}; the first run makes it")
        return
    yield from _write_checks(root)
    left = set(segments(root))
    try:
        store = Store.open(root, create=False)
        commits = store.commits()
        store.files()
    except StoreError as error:
        if error.code == "S0101":
            text = f"{path} is a folder without a store; the first run makes one in it"
            yield ok(STORE, "place", text)
        else:
            yield problem(STORE, "place", f"[{error.code}] {error.message}", error.hint)
        return
    parts = [part for commit in commits for part in commit.parts]
    size = sum(part.size for part in parts)
    text = f"{path}: {len(commits):,} commits, {len(parts):,} parts, {file_size(size)}"
    yield ok(STORE, "place", text)
    after = set(segments(root))
    if recovered := left - after:
        yield ok(STORE, "journal", f"what {counted(len(recovered), 'process')} left behind is committed now")
    if alive := left & after:
        others = "process works" if len(alive) == 1 else "processes work"
        yield ok(STORE, "journal", f"{len(alive)} other {others} on this store, or it cannot be written")
    small = [part for part in parts if part.size < BIG_BYTES]
    if len(commits) > MANY_COMMITS or len(small) > MANY_PARTS:
        yield warning(STORE, "parts", f"{len(small):,} small parts in {len(commits):,} commits", "tripos store compact")


def _disk_checks(root: Path) -> Iterator[CheckResult]:
    place = next(path for path in (root, *root.absolute().parents) if path.exists())
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        yield warning(STORE, "disk", f"cannot be asked: {error.strerror}", "check the disk")
        return
    text = f"{file_size(free)} free"
    if free < FULL_DISK_BYTES:
        yield problem(STORE, "disk", text, f"free some space, or choose another place with {RunParameters.store}")
    elif free < LOW_DISK_BYTES:
        yield warning(STORE, "disk", text, "free some space before a long run")
    else:
        yield ok(STORE, "disk", text)


def _write_checks(root: Path) -> Iterator[CheckResult]:
    try:
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        mend = f"give yourself write access to it, or choose another with {RunParameters.store}"
        yield problem(STORE, "writing", f"{root} cannot be written: {error.strerror}", mend)
    else:
        yield ok(STORE, "writing", "a file can be made there")


MACHINE = "machine"
ALWAYS_SHOWN = ("litellm", "aiohttp", "duckdb", "pyarrow", "pydantic", "obstore", "rich")
"""Packages whose version is always shown, for bug reports."""
OLDEST = (3, 11)
PACKAGE = re.compile(r"[A-Za-z0-9._-]+")


# Python and packages
def machine_checks() -> Iterator[CheckResult]:
    """Check Python, Tripos and its packages."""
    from tripos.version import __version__

    version = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info >= OLDEST:
        yield ok(MACHINE, "Python", version)
    else:
        oldest = ".".join(map(str, OLDEST))
        yield problem(MACHINE, "Python", version, f"Tripos needs Python {oldest} or newer")
    yield ok(MACHINE, "Tripos", __version__)
    wrong = list(_wrong_packages())
    for name, text in wrong:
        yield problem(MACHINE, name, text, f'install it again: pip install "{name}" with the version named here')
    if not wrong:
        yield ok(MACHINE, "packages", ", ".join(f"{name} {metadata.version(name)}" for name in ALWAYS_SHOWN))


def sandbox_check(config: Config) -> CheckResult:
    """Check the sandbox for code of models, which only runs of such programs need."""
    from tripos_runtime.asking.functions.code_runner import RUNNERS, no_sandbox_hint, sandbox_fault

    fault = sandbox_fault()
    if fault is None:
        return ok(MACHINE, "sandbox", "bubblewrap works")
    executing = {name.partition(" ")[0]: program for name, program in config.programs.items()}
    executing = {name: program_config for name, program_config in executing.items() if name in RUNNERS}
    if not executing:
        return ok(MACHINE, "sandbox", f"{fault}; only code that models write needs it")
    if all(program_config.unsandboxed for program_config in executing.values()):
        return warning(MACHINE, "sandbox", f"{fault}, and code runs without", "install bubblewrap")
    name = next(name for name, program_config in executing.items() if not program_config.unsandboxed)
    return problem(MACHINE, "sandbox", f"[{NO_SANDBOX}] {fault}", no_sandbox_hint(name))


def plugin_checks(trust: Trust) -> Iterator[CheckResult]:
    """List the plug-ins of installed packages, and load each if the benchmark is trusted."""
    for registry in (IMPORTERS, EXPORTERS, EMITTERS, DIRECT):
        for name, entries in entry_points_by_name(registry.group).items():
            subject = f"plug-in {name}"
            told = f"{registry.noun} of {' and '.join(map(package_version, entries))}"
            if name not in registry.plugins:
                taken = f"{told}; not used, since Tripos has one of that name"
                yield warning(MACHINE, subject, taken, "rename its entry point")
                continue
            try:
                if not trust.untrusted:
                    registry.get(name)
            except BrokenPlugin as error:
                yield problem(MACHINE, subject, f"[{error.code}] {error.message}", error.hint)
            else:
                yield ok(MACHINE, subject, told)


def _wrong_packages() -> Iterator[tuple[str, str]]:
    """Yield required packages that are missing or have an unsuitable version."""
    needed: list[str] = []
    with contextlib.suppress(metadata.PackageNotFoundError):
        needed = [require for require in metadata.requires("tripos") or () if "extra ==" not in require]
    for requirement in needed or ALWAYS_SHOWN:
        match = PACKAGE.match(requirement)
        name = match[0] if match else requirement
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, f"not installed; needed: {requirement}"
            continue
        if not _fits(requirement, version):
            yield name, f"{version}; needed: {requirement}"


def _fits(requirement: str, version: str) -> bool:
    """Return true if a requirement allows a version, or if that cannot be determined."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return True
    return Requirement(requirement).specifier.contains(version, prereleases=True)


LONGEST_S = 10.0
MOST_BYTES = 4 * 2**20


# Models
@dataclass(frozen=True)
class EndpointAnswer:
    """The answer of an endpoint: HTTP `status`, the names of its models, or an `error` in words."""

    status: int = 0
    models: tuple[str, ...] = ()
    error: str = ""


async def fetch_model_list(address: str, key: str | None, timeout_s: float = LONGEST_S) -> EndpointAnswer:
    """Request the list of models at an address, with the key if one is given. Redirects are not followed."""
    import aiohttp
    import orjson

    base = address.rstrip("/").removesuffix("/chat/completions")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    at_home = urlsplit(base).hostname in LOOPBACK
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    try:
        async with (
            aiohttp.ClientSession(trust_env=not at_home, timeout=timeout) as session,
            session.get(f"{base}/models", headers=headers, allow_redirects=False) as response,
        ):
            body = await response.content.read(MOST_BYTES) if response.status == 200 else b""
            status = response.status
    except TimeoutError:
        return EndpointAnswer(error=f"no answer in {timeout_s:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return EndpointAnswer(error=_reason(error))
    try:
        listed = orjson.loads(body)["data"]
        return EndpointAnswer(status, tuple(str(each["id"]) for each in listed))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return EndpointAnswer(status)


def _reason(error: BaseException) -> str:
    """Return the reason why an address cannot be reached, without the address.

    >>> _reason(ConnectionRefusedError(111, "Connection refused"))
    'connection refused'
    """
    inner = getattr(error, "os_error", None) or error
    strerror = getattr(inner, "strerror", None)
    return str(strerror or type(error).__name__).lower()


ASK_TIMEOUT_S = 60.0
QUESTION = "Reply with the one word: yes"
ASK_TOKENS = 64
PATHS = {
    "direct": "direct: sent by Tripos in OpenAI's form",
    "litellm": "litellm: in its words, which costs some milliseconds of CPU a call",
}


@dataclass(frozen=True)
class Opened:
    """An opened model, or the reason why it cannot be opened."""

    name: str
    roles: tuple[str, ...]
    model: Model | None
    error: TriposError | None = None

    @property
    def address(self) -> str | None:
        """The address of the model, if it is known."""
        address = self.model.endpoint.split(" ")[0] if self.model is not None else ""
        return address if address.startswith(("http://", "https://")) else None

    @property
    def variable(self) -> str:
        """The environment variable of its key; empty if it has none."""
        return self.model.endpoint.partition(" ")[2] if self.model is not None and self.address is not None else ""


def model_checks(
    roles: Mapping[str, Sequence[str]],
    config: Config,
    environ: Mapping[str, str],
    *,
    ask: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> list[CheckResult]:
    """Check the models of the roles. With `ask`, each is sent one short question, which may cost a little."""
    if not any(roles.values()):
        mend = f'give {MODEL} PROVIDER/MODEL, or write models = ["…"] into {SETTINGS_FILE}'
        return [warning("models", "roles", "no model is named", mend)]
    return asyncio.run(_check_models(roles, config, environ, ask, clock))


async def _check_models(
    roles: Mapping[str, Sequence[str]],
    config: Config,
    environ: Mapping[str, str],
    ask: bool,
    clock: Callable[[], float],
) -> list[CheckResult]:
    every = dict.fromkeys(name for models in roles.values() for name in models)
    names = [name for name in every if not name.startswith(RECORDED) and name not in (MAJORITY, ANSWERS)]
    opened = [_open(name, tuple(role for role in roles if name in roles[role]), config) for name in names]
    places = {each.model.endpoint: each for each in opened if each.model is not None and each.address is not None}
    answers = await asyncio.gather(
        *(
            fetch_model_list(
                place.address or "", environ.get(place.variable) if _has_model_list(place, config) else None
            )
            for place in places.values()
        )
    )
    reached = dict(zip(places, answers, strict=True))
    checks = [_recorded_check(name, config) for name in every if name.startswith(RECORDED)]
    if MAJORITY in every:
        checks.append(ok(MAJORITY, "model", "stands for the constants that are right most often"))
    if ANSWERS in every:
        checks.append(ok(ANSWERS, "model", "stands for the constants that are right at all, the most frequent first"))
    for each in opened:
        checks += _known_checks(each, config)
        if each.model is None:
            continue
        if (answer := reached.get(each.model.endpoint)) is not None:
            checks += _reached_checks(each, answer, config)
        if ask:
            checks.append(await _asked_check(each.model, clock))
        await each.model.close()
    return checks


def _open(name: str, roles: tuple[str, ...], config: Config) -> Opened:
    try:
        if kind_of(name).table:
            from tripos.runs.selection import open_reply_table

            return Opened(name, roles, open_reply_table(name))
        model = open_model(name, endpoints_of(config), prices=prices_of(config), timeout_s=ASK_TIMEOUT_S)
    except TriposError as error:
        return Opened(name, roles, None, error)
    return Opened(name, roles, model)


def _recorded_check(name: str, config: Config) -> CheckResult:
    """Check that the run exists which a name such as `replay/RUN` denotes."""
    try:
        cassette = open_recording(name, config.store)
    except TriposError as failure:
        return problem(name, "model", f"[{failure.code}] {failure.message}", failure.hint)
    assert cassette is not None
    return ok(name, "model", f"replays run {cassette.run.run_id}, with {', '.join(sorted(cassette.models))}")


def _has_model_list(opened: Opened, config: Config) -> bool:
    """Return true if the address lists its models in OpenAI's form, and may be sent the key."""
    return path_of(opened.name, endpoints_of(config)) == "direct"


def _known_checks(opened: Opened, config: Config) -> Iterator[CheckResult]:
    name, error = opened.name, opened.error
    text = f"fills {', '.join(opened.roles)}"
    if error is not None:
        yield problem(name, "model", f"{text}; [{error.code}] {error.message}", error.hint)
    else:
        yield ok(name, "model", text)
    if not kind_of(name).limited:
        return
    if opened.variable:
        yield ok(name, "key", f"in {opened.variable}")
    elif opened.address is not None:
        yield ok(name, "key", "none is sent")
    yield ok(name, "way", PATHS[path_of(name, endpoints_of(config))])
    yield from _price_checks(opened, config)
    provider, _, model = name.partition("/")
    entry = entry_of(provider, model) or {}
    known = [
        f"{entry[field]:,} tokens {words}"
        for field, words in (("max_input_tokens", "of context"), ("max_output_tokens", "in a reply"))
        if isinstance(entry.get(field), int)
    ]
    if known:
        yield ok(name, "most", ", ".join(known))


def _price_checks(opened: Opened, config: Config) -> Iterator[CheckResult]:
    name = opened.name
    provider, _, model = name.partition("/")
    price = opened.model.price if opened.model is not None else prices_of(config).get(name) or price_of(provider, model)
    if price is None:
        mend = (
            f'write it into {SETTINGS_FILE}, in USD for a million tokens:\n[prices."{name}"]\ninput = ...\noutput = ...'
        )
        yield warning(name, "price", "unknown: its cost is not counted, and a budget in USD refuses it", mend)
        return
    place = SETTINGS_FILE if name in config.prices else "litellm's list"
    million = f"{usd(price.input_usd * 1e6)} USD in, {usd(price.output_usd * 1e6)} out for a million tokens"
    yield ok(name, "price", f"{million} ({place})")


def _reached_checks(opened: Opened, answer: EndpointAnswer, config: Config) -> Iterator[CheckResult]:
    name = opened.name
    if answer.error:
        mend = "check the address, the network and the proxy"
        if opened.address and any(here in opened.address for here in ("127.0.0.1", "localhost", "[::1]")):
            mend = "start the server, or check its port"
        yield problem(name, "endpoint", f"{opened.address}: {answer.error}", mend)
    elif answer.status in (401, 403) and _has_model_list(opened, config):
        variable = opened.variable or "api_key_env"
        mend = (
            f"set {variable} to a key that is valid" if opened.variable else "name the variable of its key: api_key_env"
        )
        yield problem(name, "endpoint", f"{opened.address}: the key was refused (status {answer.status})", mend)
    elif answer.status >= 500:
        yield warning(name, "endpoint", f"{opened.address}: status {answer.status}", "try again later")
    else:
        yield ok(name, "endpoint", f"{opened.address} answers")
        asked = name.partition("/")[2]
        if answer.models and asked not in answer.models:
            close = difflib.get_close_matches(asked, answer.models, n=1, cutoff=0.5)
            few = ", ".join(answer.models[:5])
            mend = f"did you mean `{name.partition('/')[0]}/{close[0]}`?" if close else f"it lists {few}"
            yield warning(name, "endpoint", f"it does not list `{asked}`", mend)


async def _asked_check(model: Model, clock: Callable[[], float]) -> CheckResult:
    request = Request(model.name, (Message("user", QUESTION),), Settings(max_tokens=ASK_TOKENS))
    started = clock()
    try:
        reply = await model.ask(request)
    except ModelError as error:
        return problem(model.name, "asked", f"[{error.code}] {error.message}", error.hint)
    cost = "of unknown cost" if reply.cost_usd is None else f"{usd(reply.cost_usd)} USD"
    tokens = f"{reply.tokens_in or '?'} tokens in, {reply.tokens_out or '?'} out"
    return ok(
        model.name, "asked", f"answered in {duration(clock() - started)} as {reply.model_served}; {tokens}, {cost}"
    )


def role_table(config: Config, models: Sequence[str], roles: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the models to check by role. Those of the command line replace those of the settings.

    >>> role_table(Config(models=("a/b",)), [], {"judge": ["c/d"]})
    {'the compared role': ['a/b'], 'judge': ['c/d']}
    """
    table: dict[str, list[str]] = {}
    if chosen := (list(models) or list(config.models)):
        table["the compared role"] = chosen
    for role, names in {**config.roles, **roles}.items():
        table[role] = list(names)
    return table
