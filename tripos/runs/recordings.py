"""Which recording `--model replay/…` means, and its replies as models: any run of a store can be replayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import orjson

from tripos.runs.asked_with import AskedWith
from tripos.ui import Failure
from tripos_compiler.plan import Ask, Compare, Converse, DeclaredSettings, Grade, Plan, Settings, Verdict
from tripos_compiler.source import dataclass
from tripos_runtime.asking import Questions, shown_again
from tripos_runtime.models import Model, ModelError, Reply
from tripos_runtime.models.mocks import ASSISTANT, ReplayModel, request_key
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports import (
    VECTORS,
    Recorded,
    RecordedCall,
    RecordedReply,
    RecordingFile,
    recorded_calls,
    settings_key,
)
from tripos_warehouse.store import MARKER, Store, address_of
from tripos_warehouse.views import RunRecord, connect, find_run, get_plan

PREFIX = "replay/"


@dataclass
class Recording:
    """A recorded run of a store. Nothing is read of its replies before the first is asked for."""

    store: Store
    run: RunRecord

    @property
    def binding_models(self) -> Mapping[str, tuple[str, ...]]:
        """The models of every role of the recorded run."""
        return self.run.roles

    @property
    def models(self) -> frozenset[str]:
        """Every model that the recording has replies of."""
        return frozenset(name for names in self.run.roles.values() for name in names)

    def open(self, model_name: str) -> Model:
        """Return the model of that name, answering from the recording; one that has no part in it lacks every
        request."""
        return ReplayModel(model_name, self, self.run.run_id)

    def find(self, key: bytes) -> Reply | ModelError | None:
        """Return what was recorded for a request. Raises `StoreError` where the store cannot be read."""
        body = self._file.find(key)
        return None if body is None else _answer(body)

    def close(self) -> None:
        """Let go of the replies."""
        if "_file" in self.__dict__:
            self._file.close()
            del self._file

    @cached_property
    def _file(self) -> RecordingFile:
        connection = connect(self.store)
        try:
            asked = _asked(get_plan(connection, self.run))
            calls = recorded_calls(connection, self.run)
            return RecordingFile(
                each
                for call in calls
                for settings in asked[call.fingerprint].any_of(
                    call.messages, call.identity or call.model, call.number, call.request
                )
                for each in _recorded(call, settings)
            )
        finally:
            connection.close()


def open_recording(model_name: str, store_root: str | Path) -> Recording | None:
    """Return the recording that a model's name stands for, or `None` where it is the name of any other model.

    `replay/RUN` is a run of the store at `store_root`, or the beginning of its name; `replay/DIR` the last run of the
    store in that folder, and `replay/DIR:RUN` another run of it. Raises `Failure` where there is no such store or run.

    >>> open_recording("openai/gpt-4o", "results") is None
    True
    >>> open_recording("replay/", "results")
    Traceback (most recent call last):
    tripos.ui.failure.Failure: `replay/` names no run
    """
    if not model_name.startswith(PREFIX):
        return None
    which = model_name.removeprefix(PREFIX)
    if not which.strip():
        raise Failure("R0202", f"`{model_name}` names no run", "write replay/RUN; `tripos list` shows the runs")
    root, run = _place(which, Path(store_root))
    if run == which and not address_of(root) and not (root / MARKER).is_file():
        message = f"`{model_name}` is no folder with a store, and there is no store at `{root}` with a run of that name"
        raise Failure("S0101", message, "name the folder of the recording, or with --store the store of the run")
    try:
        store = Store.open(root, create=False)
        connection = connect(store)
        try:
            return Recording(store, find_run(connection, run))
        finally:
            connection.close()
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error


def find_recording(
    compared: Sequence[str], others: Mapping[str, Sequence[str]], store_root: str | Path
) -> Recording | None:
    """Return the recording that the models given for the compared role stand for; `None` where they are other models.
    `others` are the models given to other roles. Raises `Failure` where a recording stands beside a model or in another
    role.

    >>> find_recording(["openai/gpt-4o"], {}, "results") is None
    True
    >>> find_recording(["openai/gpt-4o", "replay/2026"], {}, "results")
    Traceback (most recent call last):
    tripos.ui.failure.Failure: `replay/2026` is a whole run and cannot stand beside `openai/gpt-4o`
    """
    for role, names in others.items():
        for name in names:
            if name.startswith(PREFIX):
                hint = f"give it with --model {name}: the recorded models then fill every role"
                raise Failure("R0202", f"`{name}` is a whole run and cannot fill the role `{role}`", hint)
    recordings = [name for name in compared if name.startswith(PREFIX)]
    if recordings and len(compared) > 1:
        beside = next(name for name in compared if name != recordings[0])
        hint = f"replay it alone, with --model {recordings[0]}, and run the other into the same store"
        raise Failure("R0202", f"`{recordings[0]}` is a whole run and cannot stand beside `{beside}`", hint)
    return open_recording(recordings[0], store_root) if recordings else None


def _place(which: str, store_root: Path) -> tuple[Path, str | None]:
    """Return the store and the run that a name means; a folder is told from a run by the file that marks a store."""
    if (Path(which).expanduser() / MARKER).is_file():
        return Path(which), None
    folder, colon, run = which.rpartition(":")
    if colon and folder and run and not run.startswith(("/", "\\")):
        return Path(folder), run
    if "/" in which or "\\" in which:
        return Path(which), None
    return store_root, which


def _asked(plan: Plan) -> dict[str, AskedWith]:
    """Return what was sent with the requests of every step, by the fingerprint of its replies."""
    found = {VECTORS: AskedWith(DeclaredSettings(max_tokens=0))}
    questions, language = Questions(plan, plan.axes), plan.benchmark.languages[0]
    for scenario in plan.scenarios:
        for step in (step for treatment in scenario.treatments for step in treatment.steps):
            match step:
                case Ask():
                    found[step.fingerprint] = AskedWith(step.settings, questions.at_most(step, language))
                case Converse():
                    for speaker in step.speakers:
                        question = questions.longest_turn(step, speaker.role)
                        key = settings_key(step.fingerprint, speaker.role)
                        found[key] = AskedWith(speaker.settings, question)
                case Grade() | Compare() | Verdict():
                    settings = plan.scorer(step.scorer).settings
                    found[step.judgement] = AskedWith(settings, questions.at_most(step, language))
    return found


def _recorded(call: RecordedCall, settings: Settings) -> Iterator[Recorded]:
    """Yield the requests of a call with their answers: two where the first reply could not be read."""
    said = [(each["role"], each["content"]) for each in orjson.loads(call.messages)]

    def key(said: Sequence[tuple[str, str]]) -> bytes:
        return request_key(call.model, said, call.number, settings.of_sample(call.number))

    first, second = (call.reply, None) if call.draft is None else (call.draft, call.reply)
    if first is None:
        if call.error is not None:
            yield Recorded(key(said), call.made_at, orjson.dumps({"error": call.error}))
        return
    yield Recorded(key(said), call.made_at, _body(first))
    if second is not None:
        # Where the first reply stayed the better one the second is not kept: the first says the same once more.
        own = replace(second, usage=second.usage.without(first.usage))
        yield Recorded(key([*said, (ASSISTANT, shown_again(first.text))]), call.made_at, _body(own))


def _body(reply: RecordedReply) -> bytes:
    usage = reply.usage
    counts = [usage.tokens_in, usage.tokens_out, usage.tokens_reasoning]
    return orjson.dumps([reply.text, reply.model_served, reply.finish_reason, *counts, reply.logprobs, reply.thinking])


def _answer(body: bytes) -> Reply | ModelError:
    found = orjson.loads(body)
    if isinstance(found, dict):
        code, _, message = found["error"].partition(" ")
        return ModelError(code, message, "the provider refused this when it was recorded", status="refused")
    text, served, finish_reason, tokens_in, tokens_out, tokens_reasoning, logprobs, thinking = found
    return Reply(text, served or "", finish_reason, tokens_in, tokens_out, 0.0, tokens_reasoning, logprobs, thinking)
