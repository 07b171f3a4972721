"""`tripos export otel`: an endpoint gets a span for each call and an event for each score, and no text unless asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.conftest import Command
from tests.interchange.logged import run_exam, scores_of_store
from tests.json_server import Posted, json_server


@dataclass
class Receiver:
    """An endpoint of OTLP over HTTP on this machine, with all that it got."""

    status: int = 200
    address: str = ""
    bodies: list[bytes] = field(default_factory=list)
    spans: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)

    @contextmanager
    def open(self) -> Iterator[str]:
        def answer(posted: Posted) -> tuple[int, bytes]:
            self.take(posted.path, posted.body)
            return self.status, b""

        with json_server(answer) as address:
            yield address.removesuffix("/v1")

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path == "/v1/traces":
            for spans in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.spans += [span for scope in spans.scope_spans for span in scope.spans]
        elif path == "/v1/logs":
            for logs in ExportLogsServiceRequest.FromString(body).resource_logs:
                self.events += [record for scope in logs.scope_logs for record in scope.log_records]


@pytest.fixture(autouse=True)
def ran(quiz: Path, once: Command) -> None:
    run_exam(once)


def attributes(of: Any) -> dict[str, Any]:
    """Return the attributes of a span or an event, each as what it is."""
    found = {}
    for each in of.attributes:
        kind = each.value.WhichOneof("value")
        found[each.key] = getattr(each.value, kind)
    return found


def sent(tripos: Command, *more: str) -> Receiver:
    receiver = Receiver()
    with receiver.open() as address:
        done = tripos("export", "otel", "--to", address, *more)
    assert done.code == 0, done.err
    return receiver


def test_every_score_is_an_event_of_the_call_that_it_is_about(tripos: Command) -> None:
    receiver = sent(tripos)
    spans = {(each.trace_id, each.span_id): attributes(each) for each in receiver.spans}
    found = []
    for event in receiver.events:
        told = attributes(event)
        assert event.event_name == "gen_ai.evaluation.result"
        assert spans[event.trace_id, event.span_id]["tripos.sample_id"] == told["tripos.sample_id"]
        value = told.get("gen_ai.evaluation.score.value")
        assert ("error.type" in told) == (value is None)
        names = ("tripos.scenario", "tripos.item_id", "gen_ai.evaluation.name", "tripos.evaluator", "tripos.arm.hint")
        place = [told.get(name) for name in (*names, "tripos.sample_id", "tripos.status")]
        found.append((told["gen_ai.request.model"], *place, value))
    assert sorted(found, key=repr) == scores_of_store(tripos) and len(found) == 198


def test_every_call_is_a_span_under_that_of_its_unit(tripos: Command) -> None:
    receiver = sent(tripos)
    roots = [each for each in receiver.spans if not each.parent_span_id]
    calls = [each for each in receiver.spans if each.parent_span_id]
    assert {(each.trace_id, each.span_id) for each in roots} == {(each.trace_id, each.parent_span_id) for each in calls}
    query = """select count(*) as n from exam.samples union all
    select count(*) from (select distinct judgement_id, hint from exam.judgements)"""
    assert tripos("sql", query, "-o", "n.json").code == 0
    assert len(calls) == sum(row["n"] for row in json.loads(Path("n.json").read_text()))
    told = attributes(next(each for each in calls if each.name == "chat mock/careful"))
    assert (told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == ("chat", "mock")
    assert told["gen_ai.request.model"] == "careful" and told["gen_ai.usage.input_tokens"] > 0
    failed = [each for each in calls if attributes(each).get("error.type") == "refused"]
    assert failed and all(each.status.code == 2 for each in failed)
    assert all(each.end_time_unix_nano >= each.start_time_unix_nano > 10**18 for each in receiver.spans)


def test_no_text_is_sent_unless_it_is_asked_for(tripos: Command) -> None:
    texts = [text.encode() for text in ("half of 9", "Say it in words", "unable to assist", "Be kind")]
    secret = "two ⟨2⟩".encode()
    silent = b"".join(sent(tripos).bodies)
    assert not any(text in silent for text in (*texts, secret))
    told = b"".join(sent(tripos, "--content").bodies)
    assert all(text in told for text in texts) and secret not in told
    message = json.loads(
        next(
            found
            for each in sent(tripos, "--content").spans
            if (found := attributes(each).get("gen_ai.input.messages"))
        )
    )
    assert message[0]["role"] in ("user", "system") and message[0]["parts"][0]["type"] == "text"


def test_the_same_run_has_the_same_identifiers(tripos: Command) -> None:
    one, two = sent(tripos), sent(tripos)
    assert [each.span_id for each in one.spans] == [each.span_id for each in two.spans]
    assert len({(each.trace_id, each.span_id) for each in one.spans}) == len(one.spans)


def test_an_endpoint_that_takes_nothing_is_told(tripos: Command) -> None:
    receiver = Receiver(status=404)
    with receiver.open() as address:
        done = tripos("export", "otel", "--to", address)
    assert done.code == 2 and "S0607" in done.err and address in done.err and "Traceback" not in done.err
    assert tripos("export", "otel", "--to", "localhost:4318").code == 2
    assert "R0202" in tripos("export", "otel").err and "R0202" in tripos("export", "csv").err
