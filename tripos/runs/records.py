"""Records of runs in a store, besides results: their rows, recordings, request settings, media and batches.

A store has the digest of a request but not its settings. They are reconstructed from the plan: of the settings that the
request may have had, those are taken with which it has that digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from tripos.settings.options import MODEL, STORE
from tripos.version import __version__
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Ask, Compare, Converse, DeclaredSettings, Grade, Plan, Scenario, Settings, Verdict
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import NOTHING_KEPT, OtherReplies
from tripos_runtime.asking.plan_questions import Questions, settings_sent
from tripos_runtime.asking.questions import Question
from tripos_runtime.asking.replies import shown_again
from tripos_runtime.datasets.media import MediaStore
from tripos_runtime.drivers.lookup import result_bindings
from tripos_runtime.models.base import Message, Model, ModelError, Reply
from tripos_runtime.models.replay import ASSISTANT, ReplayModel, request_key
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.scheduling.batch_records import DROPPED, EXPIRY, BatchBook, BatchRecord, OpenBatch
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.recordings import (
    Recorded,
    RecordedCall,
    RecordedReply,
    RecordingFile,
    recorded_calls,
    settings_key,
)
from tripos_warehouse.ledger.ledger import StoredBatches
from tripos_warehouse.ledger.replies import VECTORS, OtherStores
from tripos_warehouse.maintenance.media import MediaKeeper
from tripos_warehouse.statistics.user_functions import admit_python
from tripos_warehouse.store.parts import Row
from tripos_warehouse.store.paths import MARKER, address_of
from tripos_warehouse.store.schemas import REQUEST
from tripos_warehouse.store.store import DamageListener, Store
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.runs import RunRecord, find_run, get_plan


# Rows of a run
def run_row(
    plan: Plan,
    binding: RoleBinding,
    run_id: str,
    items_of: str,
    scenarios: Sequence[str],
    options: Mapping[str, Any],
    started_at: datetime,
) -> dict[str, Any]:
    """Return the row of `runs` for a run of a plan."""
    return {
        "run_id": run_id,
        "items_of": items_of,
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "plan_digest": plan.digest,
        "plan": plan.to_json(),
        "fingerprints": sorted(plan.fingerprints),
        "roles": json.dumps({role: list(models) for role, models in binding.models.items()}, sort_keys=True),
        "identities": json.dumps(dict(binding.identities), sort_keys=True) if binding.identities else None,
        "compared_role": binding.compared,
        "models": list(binding.of(binding.compared)),
        "scenarios": list(scenarios),
        "options": json.dumps(options, sort_keys=True),
        "tool_version": __version__,
        "started_at": started_at,
    }


def step_rows(plan: Plan, binding: RoleBinding, run_id: str, scenarios: Iterable[Scenario]) -> list[dict[str, Any]]:
    """Return the rows of `run_steps` for some scenarios of a plan."""
    return [
        {"run_id": run_id, **result_binding._asdict()} for result_binding in result_bindings(plan, binding, scenarios)
    ]


def find_store(path: str | Path) -> Store | None:
    """Return the store at a path, or None if there is none. Raises `StoreError` if it cannot be read."""
    try:
        return Store.open(path, create=False)
    except StoreError as error:
        if error.code == "S0101":
            return None
        raise


def open_others(places: Sequence[str], own: str | Path, tell: DamageListener) -> OtherReplies:
    """Return the replies of other stores, for reuse by a run whose `own` store is elsewhere. `tell` receives their
    damage. Raises `StoreError` if one cannot be opened."""
    return OtherStores(places, own, tell) if places else NOTHING_KEPT


# Settings of a request
@dataclass(frozen=True)
class RequestSettings:
    """The possible settings of the requests of a step, and its question."""

    settings: DeclaredSettings
    question: Question | None = None

    def of(self, messages: str, identity: str, number: int, request: str | None) -> Settings | None:
        """Return the settings of one request, given by its messages as JSON, the identity of the model, the number of
        the sample, and the digest `request`.

        Return None if no settings lead to that digest, since the first request had other messages, or since no model
        was asked.
        """
        if not self.settings.cases or self.question is None:
            return self.settings.otherwise
        try:
            sent = [Message(load["role"], load["content"]) for load in orjson.loads(messages)]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return None
        return settings_sent(self.settings, self.question, identity, sent, number, request or "")

    def any_of(self, messages: str, identity: str, number: int, request: str | None) -> Iterable[Settings]:
        """Return the settings of one request; if the store does not determine them, all possible ones."""
        settings = self.of(messages, identity, number, request)
        return self.settings.possible if settings is None else (settings,)


def reply_settings(
    plan: Plan | None, row: Row, step: Ask | Grade | Verdict | None, declared: DeclaredSettings | None, number: int
) -> Mapping[str, Any] | None:
    """Return the request settings of a row's reply, for JSON. If the store does not determine them, return all that
    the step declares, with their conditions; if it is unknown what it declares, None."""
    if declared is None:
        return None
    settings: Settings | None = None
    if declared.cases and plan is not None and step is not None:
        question = Questions(plan, plan.axes).widest(step, plan.benchmark.languages[0])
        by = row["identity"] or row["model" if isinstance(step, Ask) else "evaluator"]
        settings = RequestSettings(declared, question).of(row["messages"], by, number, row[REQUEST])
    return declared.given if settings is None else settings.given


REPLAY_PREFIX = "replay/"
"""The prefix of the names of models that reply from a recorded run."""


# Replay of a recorded run
@dataclass
class Recording:
    """A recorded run of a store. Its replies are read when the first one is needed."""

    store: Store
    run: RunRecord

    @property
    def binding_models(self) -> Mapping[str, tuple[str, ...]]:
        """The models of every role of the recorded run."""
        return self.run.roles

    @property
    def models(self) -> frozenset[str]:
        """The models that the recording has replies of."""
        return frozenset(name for names in self.run.roles.values() for name in names)

    def open(self, model_name: str) -> Model:
        """Return a model that replies from the recording. A model without recorded replies refuses every request."""
        return ReplayModel(model_name, self, self.run.run_id)

    def find(self, key: bytes) -> Reply | ModelError | None:
        """Return the recorded reply to a request, or None. Raises `StoreError` if the store cannot be read."""
        body = self._file.find(key)
        return None if body is None else _decode_answer(body)

    def close(self) -> None:
        """Release the replies."""
        if "_file" in self.__dict__:
            self._file.close()
            del self._file

    @cached_property
    def _file(self) -> RecordingFile:
        connection = connect(self.store)
        try:
            settings_by_step = _settings_by_step(get_plan(connection, self.run))
            calls = recorded_calls(connection, self.run)
            return RecordingFile(
                recorded_request
                for call in calls
                for settings in settings_by_step[call.fingerprint].any_of(
                    call.messages, call.identity or call.model, call.number, call.request
                )
                for recorded_request in _recorded_requests(call, settings)
            )
        finally:
            connection.close()


def open_recording(model_name: str, store_root: str | Path) -> Recording | None:
    """Return the recording that a model name denotes, or None for any other model.

    `replay/RUN` is a run of the store at `store_root`, or the beginning of its id. `replay/DIR` is the last run of the
    store in that folder, and `replay/DIR:RUN` another run of it. Raises `TriposError` if there is no such store or run.

    >>> open_recording("openai/gpt-4o", "results") is None
    True
    >>> open_recording("replay/", "results")
    Traceback (most recent call last):
    tripos_compiler.errors.TriposError: R0202: `replay/` names no run
      help: write replay/RUN; `tripos list` shows the runs
    """
    if not model_name.startswith(REPLAY_PREFIX):
        return None
    which = model_name.removeprefix(REPLAY_PREFIX)
    if not which.strip():
        raise TriposError("R0202", f"`{model_name}` names no run", "write replay/RUN; `tripos list` shows the runs")
    root, run = _place(which, Path(store_root))
    if run == which and not address_of(root) and not (root / MARKER).is_file():
        message = f"`{model_name}` is no folder with a store, and there is no store at `{root}` with a run of that name"
        raise TriposError("S0101", message, f"name the folder of the recording, or with {STORE} the store of the run")
    store = Store.open(root, create=False)
    connection = connect(store)
    try:
        return Recording(store, find_run(connection, run))
    finally:
        connection.close()


def find_recording(
    compared: Sequence[str], others: Mapping[str, Sequence[str]], store_root: str | Path
) -> Recording | None:
    """Return the recording that the models of the compared role denote, or None for other models. `others` are the
    models of other roles. Raises `TriposError` if a recording is combined with a model, or given for another role.

    >>> find_recording(["openai/gpt-4o"], {}, "results") is None
    True
    >>> find_recording(["openai/gpt-4o", "replay/2026"], {}, "results")
    Traceback (most recent call last):
    tripos_compiler.errors.TriposError: R0202: `replay/2026` is a whole run and cannot stand beside `openai/gpt-4o`
      help: replay it alone, with --model replay/2026, and run the other into the same store
    """
    for role, names in others.items():
        for name in names:
            if name.startswith(REPLAY_PREFIX):
                hint = f"give it with {MODEL} {name}: the recorded models then fill every role"
                raise TriposError("R0202", f"`{name}` is a whole run and cannot fill the role `{role}`", hint)
    recordings = [name for name in compared if name.startswith(REPLAY_PREFIX)]
    if recordings and len(compared) > 1:
        beside = next(name for name in compared if name != recordings[0])
        hint = f"replay it alone, with {MODEL} {recordings[0]}, and run the other into the same store"
        raise TriposError("R0202", f"`{recordings[0]}` is a whole run and cannot stand beside `{beside}`", hint)
    return open_recording(recordings[0], store_root) if recordings else None


def _place(which: str, store_root: Path) -> tuple[Path, str | None]:
    """Return the store and the run that a name denotes. A path is a folder of a store if it has the file that marks
    one."""
    if ((path := Path(which).expanduser()) / MARKER).is_file():
        return path, None
    folder, colon, run = which.rpartition(":")
    if colon and folder and run and not run.startswith(("/", "\\")):
        return Path(folder), run
    if "/" in which or "\\" in which:
        return Path(which), None
    return store_root, which


def _settings_by_step(plan: Plan) -> dict[str, RequestSettings]:
    """Return the possible settings of every step, by the fingerprint of its replies."""
    by_step = {VECTORS: RequestSettings(DeclaredSettings(max_tokens=0))}
    questions, language = Questions(plan, plan.axes), plan.benchmark.languages[0]
    for scenario in plan.scenarios:
        for step in (step for treatment in scenario.treatments for step in treatment.steps):
            match step:
                case Ask():
                    by_step[step.fingerprint] = RequestSettings(step.settings, questions.widest(step, language))
                case Converse():
                    for speaker in step.speakers:
                        question = questions.longest_turn(step, speaker.role)
                        key = settings_key(step.fingerprint, speaker.role)
                        by_step[key] = RequestSettings(speaker.settings, question)
                case Grade() | Compare() | Verdict():
                    settings = plan.scorer(step.scorer).settings
                    by_step[step.judgement] = RequestSettings(settings, questions.widest(step, language))
    return by_step


def _recorded_requests(call: RecordedCall, settings: Settings) -> Iterator[Recorded]:
    """Yield the requests of a call with their answers; two requests if the first reply could not be parsed."""
    messages = [(load["role"], load["content"]) for load in orjson.loads(call.messages)]

    def key(sent: Sequence[tuple[str, str]]) -> bytes:
        return request_key(call.model, sent, call.number, settings.of_sample(call.number))

    first, second = (call.reply, None) if call.draft is None else (call.draft, call.reply)
    if first is None:
        if call.error is not None:
            yield Recorded(key(messages), call.made_at, orjson.dumps({"error": call.error}))
        return
    yield Recorded(key(messages), call.made_at, _encode_reply(first))
    if second is not None:
        # If the first reply was better, the store has it instead of the second one, and it is replayed for both.
        reply = replace(second, usage=second.usage.without(first.usage))
        yield Recorded(key([*messages, (ASSISTANT, shown_again(first.text))]), call.made_at, _encode_reply(reply))


def _encode_reply(reply: RecordedReply) -> bytes:
    usage = reply.usage
    counts = [usage.tokens_in, usage.tokens_out, usage.tokens_reasoning]
    return orjson.dumps([reply.text, reply.model_served, reply.finish_reason, *counts, reply.logprobs, reply.thinking])


def _decode_answer(body: bytes) -> Reply | ModelError:
    answer = orjson.loads(body)
    if isinstance(answer, dict):
        code, _, message = answer["error"].partition(" ")
        return ModelError(code, message, "the provider refused this when it was recorded", status="refused")
    text, served, finish_reason, tokens_in, tokens_out, tokens_reasoning, logprobs, thinking = answer
    return Reply(text, served or "", finish_reason, tokens_in, tokens_out, 0.0, tokens_reasoning, logprobs, thinking)


# Media
def media_store(store: Store) -> MediaStore:
    """Return the media folder of a store. Close it after the rows that refer to new media are written."""
    keeper = MediaKeeper(store)
    return MediaStore(keeper.keep, keeper.read, keeper.close)


# User-defined aggregates
def allow_user_aggregates(plan: Plan, folder: Path, releases: Mapping[str, str]) -> None:
    """Allow measures to execute the Python aggregates of a plan. `folder` has the main file of its spec, and `releases`
    the folders of extended releases by `NAME-VERSION`.

    A file that is missing or differs from the compiled one is skipped; figures that need it then report that it is
    missing.
    """
    for plugin in plan.plugins:
        if plugin.aggregate and plugin.path is not None:
            path = folder if plugin.release is None else Path(releases.get(plugin.release, folder))
            try:
                text = (path / plugin.path).read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if sha256(text.encode()).hexdigest() == plugin.version:
                admit_python(text, plugin.function)


# Batches
class RecordedBatches:
    """The log of batches of one run, in a store that other processes may write to."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._stored = StoredBatches(store)
        self._run_id = run_id
        self._records: list[BatchRecord] = []
        self._ticks = -1

    def peek(self) -> Sequence[BatchRecord]:
        """Return all records as `load` does, but read only if the store has changed. Raises `StoreError`."""
        ticks = self._stored.ticks()
        if ticks != self._ticks:
            self._ticks = ticks
            self.load()
        return self._records

    def load(self) -> Sequence[BatchRecord]:
        """Return all records so far, in a stable order with new ones last. Raises `StoreError`."""
        for row in self._stored.new_rows():
            columns = {name: value for name, value in row.items() if name != "run_id"}
            self._records.append(BatchRecord(**{**columns, "requests": tuple(columns["requests"])}))
        return self._records

    def note(self, record: BatchRecord) -> None:
        """Commit a record. Raises `StoreError`."""
        self._stored.add({**vars(record), "requests": list(record.requests), "run_id": self._run_id})


@dataclass(frozen=True)
class BatchUnderWay:
    """A batch that was not collected: its name at the provider, or its marker before it has one."""

    batch: str
    model: str
    endpoint: str
    requests: int
    """The number of its requests. No other batch and no live call makes them."""
    made_at: datetime
    expires_at: datetime
    """The time at which it has certainly ended."""


class BatchesUnderWay:
    """The batches of a store that were not collected."""

    def __init__(self, store: Store) -> None:
        log = RecordedBatches(store, "")
        places = dict.fromkeys((record.model, record.endpoint) for record in log.load())
        self._books = {place: BatchBook(log, *place) for place in places}
        for book in self._books.values():
            book.refresh(datetime.now(UTC))

    def __iter__(self) -> Iterator[BatchUnderWay]:
        """Yield the batches, oldest first."""
        batches = [
            BatchUnderWay(
                _name(batch), model, endpoint, book.request_count(batch), batch.created_at, batch.created_at + EXPIRY
            )
            for (model, endpoint), book in self._books.items()
            for batch in book.open
        ]
        return iter(sorted(batches, key=lambda batch: (batch.made_at, batch.batch)))

    def give_up(self, batch: BatchUnderWay) -> None:
        """Record that a batch is lost, which releases its requests. Raises `StoreError`."""
        book = self._books[batch.model, batch.endpoint]
        open_batch = next(each for each in book.open if _name(each) == batch.batch)
        book.close(open_batch, DROPPED, datetime.now(UTC), "it was given up")


def _name(batch: OpenBatch) -> str:
    return batch.batch_id or batch.marker
