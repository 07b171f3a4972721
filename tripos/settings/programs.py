"""The programs that a run may start: those of `[programs]` in `tripos.toml`, and of `--allow-program`."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from tripos.settings.config import Config, ProgramConfig
from tripos.ui import Failure
from tripos_runtime.asking.functions import AllowedPrograms, ProgramLimits


def with_programs(config: Config, allowed: Iterable[str], unsandboxed: Iterable[str] = ()) -> Config:
    """Return the settings with programs that the user allows, each as `NAME` or `NAME=URL`, and those that may execute
    what models write without a sandbox. Raises `Failure` R0202.

    >>> found = with_programs(Config(), ["run_tests.py", "unit-tests 1.4=http://127.0.0.1:8000"]).programs
    >>> list(found), found["unit-tests 1.4"].url
    (['run_tests.py', 'unit-tests 1.4'], 'http://127.0.0.1:8000')
    """
    programs = dict(config.programs)
    for text in allowed:
        name, equals, url = (part.strip() for part in text.partition("="))
        try:
            given = {"url": url} if equals else {}
            programs[name] = ProgramConfig.model_validate({**programs.get(name, ProgramConfig()).model_dump(), **given})
        except ValidationError as error:
            message = f"`--allow-program {text}` names no address of a service"
            raise Failure("R0202", message, "write NAME, or NAME=http://127.0.0.1:8000") from error
    for name in unsandboxed:
        programs[name] = programs.get(name, ProgramConfig()).model_copy(update={"unsandboxed": True})
    return config.model_copy(update={"programs": programs})


def programs_of(config: Config) -> AllowedPrograms:
    """Return the programs that may be started, as the runtime takes them."""
    return AllowedPrograms({name: ProgramLimits(**each.model_dump()) for name, each in config.programs.items()})
