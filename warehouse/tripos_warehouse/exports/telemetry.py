"""OpenTelemetry traces of a run: a span for each call, and an event `gen_ai.evaluation.result` for each score.

A unit is a trace: a span for the whole, and child spans for the calls of the compared model and of its judges. A score
is an event of the span whose reply it is about. Names follow the semantic conventions for generative AI (the repository
semantic-conventions-genai, at commit 03870916), which are in development. Texts are sent only if requested.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.units import ChatMessage, RunUnit, UnitScore, chat_of, left_out, read_units
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.runs import RunRecord, tool_version

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.trace import ReadableSpan


EVENT = "gen_ai.evaluation.result"
AT_ONCE = 500
"""Spans or events in one request."""
PATIENCE = 20.0
"""Seconds that an endpoint may take for one request, retries included."""
NAMES = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Providers whose names differ in the conventions."""


@dataclass(frozen=True)
class SentTelemetry:
    """The numbers of traces, spans and events that an endpoint accepted."""

    traces: int
    spans: int
    events: int
    left_out: Mapping[str, int]


def send_telemetry(
    connection: Connection, plan: Plan, run: RunRecord, endpoint: str, content: bool, secrets: bool
) -> SentTelemetry:
    """Send the calls and the scores of a run to an OTLP endpoint over HTTP, with the paths `/v1/traces` and `/v1/logs`.
    With `content` the messages and replies of the compared role are included, and with `secrets` also the reasons of
    judges.

    The same run has the same identifiers, so an endpoint can recognise a repetition. Raises `StoreError`: S0202 for an
    invalid address, S0603 if there is no reply, S0606 without the libraries, S0607 if the endpoint accepts nothing.
    """
    if not endpoint.startswith(("http://", "https://")):
        raise StoreError("S0202", f"`{endpoint}` is no address", "write --to http://HOST:4318")
    tool = tool_version(connection, run.run_id)
    sender = _Sender(endpoint, tool, run)
    traces = 0
    for model in run.models:
        for unit in read_units(connection, plan, run, model, content and secrets):
            sender.add(_Trace(unit, model, run, content))
            traces += 1
    if not traces:
        raise StoreError("S0603", "nothing to export: the run has no replies", "`tripos report` says why")
    sender.flush()
    return SentTelemetry(traces, sender.spans, sender.events, left_out(connection, plan, run))


class _Sender:
    """The two exporters of an endpoint, with their queues."""

    def __init__(self, endpoint: str, tool: str, run: RunRecord) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        except ImportError as error:
            raise StoreError("S0606", "telemetry needs `opentelemetry`", "pip install 'tripos[otel]'") from error
        base = endpoint.rstrip("/").removesuffix("/v1/traces").removesuffix("/v1/logs")
        self.endpoint = base
        self.resource = Resource({"service.name": "tripos", "service.version": tool, "tripos.run_id": run.run_id})
        self.scope = InstrumentationScope("tripos", tool)
        self._of_spans = OTLPSpanExporter(f"{base}/v1/traces", timeout=PATIENCE)
        self._of_events = OTLPLogExporter(f"{base}/v1/logs", timeout=PATIENCE)
        self._spans: list[ReadableSpan] = []
        self._events: list[ReadableLogRecord] = []
        self.spans = self.events = 0

    def add(self, trace: _Trace) -> None:
        """Queue a trace, and send the queues if they are long enough."""
        self._spans += trace.spans(self)
        self._events += trace.events(self)
        if max(len(self._spans), len(self._events)) >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Send the queues. Raises `StoreError` S0607 if the endpoint does not accept them."""
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # the error below reports it
        taken = not self._spans or self._of_spans.export(self._spans).name == "SUCCESS"
        taken = taken and (not self._events or self._of_events.export(self._events).name == "SUCCESS")
        if not taken:
            text = f", which took {self.spans:,} spans and {self.events:,} events before" if self.spans else ""
            raise StoreError(
                "S0607",
                f"`{self.endpoint}` takes no telemetry{text}",
                "name an endpoint of OTLP over HTTP; its keys are in OTEL_EXPORTER_OTLP_HEADERS",
            )
        self.spans += len(self._spans)
        self.events += len(self._events)
        self._spans, self._events = [], []


@dataclass(frozen=True)
class _Trace:
    """A unit as a trace."""

    unit: RunUnit
    model: str
    run: RunRecord
    content: bool

    def spans(self, sender: _Sender) -> Iterator[ReadableSpan]:
        """Yield the span of the unit, and one for each call."""
        unit = self.unit
        if not unit.replies:
            return
        begun = min(_begun(reply["created_at"], reply["latency_s"]) for reply in unit.replies)
        judged = [unit_score.judged_at for unit_score in unit.scores if unit_score.judged_at is not None]
        ended = max([reply["created_at"] for reply in unit.replies] + judged)
        yield self._span(sender, f"evaluate {unit.scenario}", self._root, None, (begun, ended), self._place(), None)
        for reply in unit.replies:
            times = (_begun(reply["created_at"], reply["latency_s"]), reply["created_at"])
            failed = reply["status"] if reply["status"] in FAILED else None
            number = _span_id(reply["sample_id"])
            name = f"chat {self.model}"
            yield self._span(sender, name, number, self._root, times, self._called(reply), failed)
        for score in {
            unit_score.judgement_id: unit_score for unit_score in unit.scores if unit_score.judged_at is not None
        }.values():
            if score.judgement_id is not None and score.judged_at is not None:
                times = (_begun(score.judged_at, score.judged_s), score.judged_at)
                about = self._judged(score)
                number = _span_id(score.judgement_id)
                yield self._span(sender, f"chat {score.evaluator}", number, self._root, times, about, None)

    def events(self, sender: _Sender) -> Iterator[ReadableLogRecord]:
        """Yield the event of each score."""
        from opentelemetry._logs import LogRecord
        from opentelemetry.sdk._logs import ReadableLogRecord
        from opentelemetry.trace import TraceFlags

        times = {reply["sample_id"]: reply["created_at"] for reply in self.unit.replies}
        for score in self.unit.scores:
            at = score.judged_at or times.get(score.sample_id) or self.run.started_at
            record = LogRecord(
                timestamp=_nanoseconds(at),
                observed_timestamp=_nanoseconds(at),
                trace_id=self._trace_id,
                span_id=_span_id(score.sample_id) if score.sample_id in times else self._root,
                trace_flags=TraceFlags(TraceFlags.SAMPLED),
                event_name=EVENT,
                attributes=self._evaluated(score),
            )
            yield ReadableLogRecord(record, sender.resource, sender.scope)

    @property
    def _key(self) -> str:
        unit = self.unit
        return "\n".join(
            [self.run.run_id, self.model, unit.scenario, unit.item_id, str(unit.number), *unit.arms.values()]
        )

    @property
    def _trace_id(self) -> int:
        return int.from_bytes(hashlib.blake2b(self._key.encode(), digest_size=16).digest()) or 1

    @property
    def _root(self) -> int:
        return _span_id(f"{self._key}\nroot")

    def _span(
        self,
        sender: _Sender,
        name: str,
        number: int,
        parent: int | None,
        times: tuple[datetime, datetime],
        attributes: Mapping[str, Any],
        failed: str | None,
    ) -> ReadableSpan:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

        def context(of: int) -> SpanContext:
            return SpanContext(self._trace_id, of, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

        more = {} if failed is None else {"error.type": failed}
        return ReadableSpan(
            name,
            context(number),
            None if parent is None else context(parent),
            sender.resource,
            {**attributes, **more},
            kind=SpanKind.INTERNAL if parent is None else SpanKind.CLIENT,
            status=Status(StatusCode.UNSET if failed is None else StatusCode.ERROR),
            start_time=_nanoseconds(times[0]),
            end_time=_nanoseconds(times[1]),
            instrumentation_scope=sender.scope,
        )

    def _place(self) -> dict[str, Any]:
        unit = self.unit
        attributes = {
            "tripos.benchmark": self.run.benchmark,
            "tripos.version": self.run.version,
            "tripos.plan": self.run.plan_digest,
            "tripos.scenario": unit.scenario,
            "tripos.item_id": unit.item_id,
            "tripos.sample_number": unit.number,
            **{f"tripos.axis.{name}": value for name, value in unit.axes.items()},
            **{f"tripos.arm.{name}": value for name, value in unit.arms.items()},
        }
        return attributes if unit.language is None else {**attributes, "tripos.language": unit.language}

    def _called(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        attributes = _call(self.model, reply["tokens_in"], reply["tokens_out"], reply["cost_usd"])
        attributes |= {
            "tripos.step": reply["step"],
            "tripos.sample_id": reply["sample_id"],
            "tripos.status": reply["status"],
        }
        attributes["tripos.role"] = self.run.compared_role
        if reply["model_served"] is not None:
            attributes["gen_ai.response.model"] = reply["model_served"]
        if reply["tokens_reasoning"] is not None:
            attributes["gen_ai.usage.reasoning.output_tokens"] = reply["tokens_reasoning"]
        if reply["finish_reason"] is not None:
            attributes["gen_ai.response.finish_reasons"] = [reply["finish_reason"]]
        if self.content:
            chat = chat_of(reply)
            attributes["gen_ai.input.messages"] = json.dumps(
                [_message(message) for message in chat.messages], ensure_ascii=False
            )
            if chat.tools:
                tools = [{"type": "function", **tool} for tool in chat.tools]
                attributes["gen_ai.tool.definitions"] = json.dumps(tools, ensure_ascii=False)
            if chat.reply is not None:
                got = _message(chat.reply) | {"finish_reason": reply["finish_reason"] or "unknown"}
                attributes["gen_ai.output.messages"] = json.dumps([got], ensure_ascii=False)
        return attributes

    def _judged(self, score: UnitScore) -> dict[str, Any]:
        attributes = _call(score.evaluator or "", score.tokens_in, score.tokens_out, score.cost_usd)
        return attributes | {"tripos.scorer": score.scorer, "tripos.judgement_id": score.judgement_id or ""}

    def _evaluated(self, score: UnitScore) -> dict[str, Any]:
        attributes: dict[str, Any] = {
            "gen_ai.evaluation.name": score.metric,
            "tripos.status": score.status,
            "tripos.scorer": score.scorer,
            "tripos.score_id": score.score_id,
            "tripos.sample_id": score.sample_id,
            "gen_ai.request.model": self.model,
            **self._place(),
        }
        more = {
            "gen_ai.evaluation.score.value": score.value,
            "gen_ai.evaluation.score.label": score.choice,
            "gen_ai.evaluation.explanation": (score.reason or score.error) if self.content else None,
            "tripos.evaluator": score.evaluator,
            "tripos.round": score.round,
            "tripos.element": score.element_place,
            "error.type": score.status if score.value is None and score.status != "not_applicable" else None,
        }
        return attributes | {name: value for name, value in more.items() if value is not None}


FAILED = ("provider_error", "refused", "parse_failure", "truncated")
"""The statuses of a call that ended in an error."""


def _call(model: str, sent: int | None, got: int | None, cost: float | None) -> dict[str, Any]:
    platform, _, name = model.partition("/")
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": NAMES.get(platform, platform),
        "gen_ai.request.model": name or platform,
    }
    more = {"gen_ai.usage.input_tokens": sent, "gen_ai.usage.output_tokens": got, "tripos.cost_usd": cost}
    return attributes | {name: value for name, value in more.items() if value is not None}


def _message(kept: ChatMessage) -> dict[str, Any]:
    if kept.answers is not None:
        answer = {"type": "tool_call_response", "id": kept.answers.id, "response": kept.content}
        return {"role": kept.role, "parts": [answer]}
    parts: list[dict[str, Any]] = [{"type": "text", "content": kept.content}] if kept.content or not kept.calls else []
    for call in kept.calls:
        parts.append({"type": "tool_call", "id": call.id, "name": call.call.name, "arguments": call.call.arguments})
    return {"role": kept.role, "parts": parts}


def _span_id(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) or 1


def _begun(at: datetime, seconds: float | None) -> datetime:
    return at - timedelta(seconds=seconds or 0)


def _nanoseconds(at: datetime) -> int:
    return int((at.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1)) * 1000
