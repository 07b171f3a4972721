"""The program of a conversation: turn by turn, each answered before the next is needed.

A turn is named by its conversation and its number, and a conversation by what determines it: so one that was cut short
goes on after its last turn, and one that several treatments or models have in common is held once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tripos_compiler.language import Unavailable, count_left_out, opening_text, render, seen_by
from tripos_compiler.language.library import Dialogue, Turn, transcript
from tripos_compiler.plan import Converse
from tripos_compiler.source import dataclass
from tripos_runtime.asking import CONTEXT_EXCEEDED, OK, PENDING, Answer, PreparedQuestion, PromptPlaceholders
from tripos_runtime.datasets import Case
from tripos_runtime.models import Message
from tripos_runtime.program.calls import LIMIT, SAID, Conversation, calls_of, ends
from tripos_runtime.program.needs import Program, ReplyNeed, Result, Sent, Talked, is_pending, pending
from tripos_runtime.program.prompts import World


@dataclass(slots=True)
class Systems:
    """The system messages of a conversation's speakers, made once."""

    world: World
    step: Converse
    case: Case
    names: Mapping[str, Any]
    _made: dict[str, str] | None = None

    def __call__(self) -> dict[str, str]:
        """The system message of each role that is told something. Raises `Unavailable` where one needs what an earlier
        step did not yield."""
        if self._made is None:
            self._made = self._rendered("", None)
        return self._made

    def question(self, role: str) -> PreparedQuestion:
        """Return what a role is asked with each of its turns."""
        return self.world.questions.turn(self.step, role, self.case.language, self.names)

    def told(self, role: str, placeholders: PromptPlaceholders | None) -> dict[str, str]:
        """As called, for a turn of `role`: `placeholders` stand for what is pending."""
        try:
            return self()
        except Unavailable:
            if placeholders is None:
                raise
            return self._rendered(role, placeholders)

    def _rendered(self, role: str, placeholders: PromptPlaceholders | None) -> dict[str, str]:
        found = {}
        for speaker in self.step.speakers:
            own = placeholders if placeholders is None or speaker.role == role else placeholders.aside()
            self.question(speaker.role).settle(own)
            if speaker.system is not None:
                template, language = speaker.system[self.case.language], self.case.language
                text = render(template, self.names, language, self.world.sources.axes, placeholders=own)
                if text:
                    found[speaker.role] = text
        return found


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """The prompt of turn `number` of a conversation, of which `turns` are there and the others pending."""

    talk: Conversation
    number: int
    turns: Dialogue
    systems: Systems
    left_out: int = 0

    @property
    def role(self) -> str:
        """The role that says the turn."""
        return self.talk.speaker(self.number)

    def messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        """Return the messages. Raises `Unavailable` where a system message has no value, or a turn is pending that no
        placeholder stands for."""
        step, turns = self.talk.step, self.turns
        later = range(len(turns) + 1, self.number)
        if later and placeholders is None:
            raise Unavailable(step.name, PENDING)
        if placeholders is not None:
            said_by = self.talk.speaker
            turns = [*turns, *(Turn(speaker=said_by(each), text=placeholders.turn(step, each)) for each in later)]
        return self._seen(turns, self.left_out, placeholders)

    def shorter(self, left_out: int) -> tuple[int, Sent] | None:
        """As `Prompt.shorter`."""
        more = count_left_out(len(self.turns), left_out)
        return None if more is None else (more, self._seen(self.turns, more))

    def _seen(self, turns: Dialogue, left_out: int, placeholders: PromptPlaceholders | None = None) -> Sent:
        role = self.role
        told = self.systems.told(role, placeholders)
        begun = opening_text(self.systems.case.language) if role == self.talk.step.opens else None
        system = [Message("system", told[role])] if role in told else []
        return (*system, *(Message(*each) for each in seen_by(role, turns, begun, left_out)))


def talk_program(world: World, talk: Conversation, told: Systems, certain: bool, out: list[Result]) -> Program:
    """Hold a conversation: its result is the `Answer` whose value are the turns, or why there is none."""
    step = talk.step
    turns: Dialogue = []
    taken: list[Mapping[str, Any]] = []
    left_out: dict[str, int] = {}
    status, ended, error, waits = OK, LIMIT, None, False
    for number, call in enumerate(calls_of(talk), 1):
        left = left_out.get(call.role, 0)
        prompt = TurnPrompt(talk, number, turns, told, left)
        got = yield ReplyNeed(call, prompt, told.question(call.role), talk.number, certain and not waits, talk)
        if isinstance(got, Unavailable):
            if not is_pending(got):
                return got
            waits = True
            continue
        taken.append(got.columns)
        left_out[call.role] = got.columns["left_out"]
        if got.text is None:
            passed = str(got.columns["error"]).startswith(CONTEXT_EXCEEDED)
            status, error = got.status, got.columns["error"]
            ended = "context_exceeded" if passed else status
            break
        turns.append({"speaker": call.role, "text": got.text})
        if ends(step, call.role, got.text):
            ended = SAID
            break
    if waits:
        return pending(step.name)
    out.append(Talked(talk, told, turns, taken, status, ended, error))
    return Answer(status, transcript(turns) if turns else None, turns, "", {})
