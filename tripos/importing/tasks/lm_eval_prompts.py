"""The prompt of a task of lm-eval as an `ask`: description, worked examples, question, options, and settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos.importing.spec_text import Code, Note, NotTranslatable, Pieces, joined, quoted, template
from tripos.importing.tasks.lm_eval_templates import DIGITS, TaskFields, TemplateValue, edge, item_at
from tripos.importing.tasks.shapes import as_list

SEED = 1234
"""lm-eval's default seed of worked examples."""
MOST_TOKENS = 256
"""Default length of a reply, as in lm-eval's models."""
_IGNORED = frozenset(
    ("until", "do_sample", "temperature", "max_gen_toks", "max_new_tokens", "max_tokens", "top_p", "top_k")
)


@dataclass
class PromptTranslation:
    """The steps that ask, and what scoring needs from them."""

    lines: list[str]
    notes: list[Note] = field(default_factory=list)
    options: TemplateValue | None = None
    place: TemplateValue | None = None
    """The position of the right option."""
    several: int = 0
    """The number of contexts if the options are part of the question: one `ask` each."""


@dataclass
class WorkedExamples:
    """The worked examples of a task: how many, from which data set, and how they are sampled."""

    count: int
    dataset: str
    sampler: str
    fields: TaskFields
    config: Mapping[str, Any]
    """The content of `fewshot_config`."""


def translate_prompt(config: Mapping[str, Any], fields: TaskFields, shots: WorkedExamples | None) -> PromptTranslation:
    """Return the steps that ask a task's question. Raises `NotTranslatable`."""
    kind = config.get("output_type") or "generate_until"
    if config.get("doc_to_image") or config.get("doc_to_audio"):
        raise NotTranslatable("images or recordings")
    if kind == "loglikelihood_rolling":
        return _rolling(config, fields)
    made = {"multiple_choice": _choosing, "loglikelihood": _continuing, "generate_until": _generating}.get(kind)
    if made is None:
        raise NotTranslatable(f"output_type {kind}")
    return made(config, fields, shots)


def _choosing(config: Mapping[str, Any], fields: TaskFields, shots: WorkedExamples | None) -> PromptTranslation:
    if config.get("doc_to_choice") is None:
        raise NotTranslatable("multiple_choice without doc_to_choice")
    options = fields.options()
    asked = config.get("doc_to_text")
    if _is_place(fields, asked):
        return _each_context(config, fields, shots, options)
    place = fields.place("doc_to_target", config.get("doc_to_target"), options)
    link = str(config.get("target_delimiter", " "))
    context = _context(config, fields, shots, link)
    lines = [*context.lines("said", link), f"    likelihood of {options.code}", "  }"]
    return PromptTranslation(lines, context.notes, options, place)


def _is_place(fields: TaskFields, asked: Any) -> bool:
    """Return true if the question is the position of an option, so that the options are contexts."""
    if isinstance(asked, int):
        return True
    try:
        template_value = fields.value("doc_to_text", asked)
    except NotTranslatable:
        return False
    return template_value.shape.kind == "integer"


def _each_context(
    config: Mapping[str, Any], fields: TaskFields, shots: WorkedExamples | None, options: TemplateValue
) -> PromptTranslation:
    if options.members is None or shots is not None or config.get("gen_prefix") is not None:
        raise NotTranslatable("options as contexts whose number a row says, or with worked examples")
    described = _description(config, fields)
    place = fields.place("doc_to_text", config.get("doc_to_text"), options)
    target = fields.text("doc_to_target", config.get("doc_to_target"))
    link = str(config.get("target_delimiter", " "))
    lines = []
    for number, member in enumerate(options.members):
        prompt = template([*described, *member.pieces()])
        lines += [f"  ask said_{number} by candidate {{", f"    plain answers after {quoted(link)}"]
        lines += [f"    prompt {prompt}", f"    likelihood of {joined(target)}", "  }"]
    return PromptTranslation(lines, [], options, place, several=len(options.members))


def _continuing(config: Mapping[str, Any], fields: TaskFields, shots: WorkedExamples | None) -> PromptTranslation:
    target = fields.text("doc_to_target", config.get("doc_to_target"))
    context = _context(config, fields, shots, "")
    lines = [*context.lines("said", ""), f"    likelihood of {joined(target)}", "  }"]
    return PromptTranslation(lines, context.notes)


def _rolling(config: Mapping[str, Any], fields: TaskFields) -> PromptTranslation:
    target = fields.text("doc_to_target", config.get("doc_to_target"))
    why = "a text that is longer than the context of a model is not cut into windows"
    notes = [Note("output_type", "approximately", why)]
    lines = ["  ask said by candidate {", '    plain answers after ""', '    prompt ""']
    lines += [f"    likelihood of {joined(target)}", "  }", f"  let text = {joined(target)}"]
    return PromptTranslation(lines, notes)


def _generating(config: Mapping[str, Any], fields: TaskFields, shots: WorkedExamples | None) -> PromptTranslation:
    context = _context(config, fields, shots, str(config.get("target_delimiter", " ")), free=True)
    lines, notes = settings(config)
    return PromptTranslation([*context.lines("reply", context.link), *lines, "  }"], [*context.notes, *notes])


def settings(config: Mapping[str, Any]) -> tuple[list[str], list[Note]]:
    """Return the settings of a reply, and notes on parts of `generation_kwargs` that are lost."""
    given = dict(config.get("generation_kwargs") or {})
    until = given.get("until", [config.get("fewshot_delimiter", "\n\n")])
    notes: list[Note] = []
    longest = next((given[key] for key in ("max_gen_toks", "max_new_tokens", "max_tokens") if key in given), None)
    if longest is None:
        notes.append(Note("max_gen_toks", "exactly", f"{MOST_TOKENS}, the default of lm-eval's models"))
    drawn = given.get("do_sample", False) in (True, "true", "True")
    temperature = 0.0
    if drawn or "do_sample" not in given:
        said = given.get("temperature")
        temperature = _finite((1.0 if drawn else 0.0) if said is None else said, "temperature")
    lines = [f"    temperature {temperature:g}", f"    max_tokens {int(longest or MOST_TOKENS)}"]
    if drawn:
        told = {key: given[key] for key in ("top_p", "top_k") if given.get(key) is not None}
        lines += [f"    {key} {value}" for key, value in told.items() if _finite(value, key) is not None]
    stops = [str(each) for each in as_list(until) if each is not None]
    lines += [f"    stop {quoted(fromkey)}" for fromkey in dict.fromkeys(stops) if fromkey]
    rest = sorted(set(given) - _IGNORED)
    if rest:
        notes.append(Note("generation_kwargs", "approximately", f"not said: {', '.join(rest)}"))
    return lines, notes


def _finite(value: float, name: str) -> float:
    """Return a setting as a number. Raises `NotTranslatable` if it is too large or not a number."""
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise NotTranslatable(f"a {name} that is no number")
    return found


@dataclass
class _Context:
    """The text before an answer."""

    system: Pieces
    prompt: Pieces
    separator: str
    link: str
    shot_lines: list[str]
    notes: list[Note]

    def lines(self, step: str, link: str) -> list[str]:
        """Return the lines of an `ask` up to its prompt."""
        words = ["plain"]
        words += [f"parted by {quoted(self.separator)}"] if self.separator != "\n\n" else []
        words += [f"answers after {quoted(link)}"] if link != " " else []
        lines = [f"  ask {step} by candidate {{", f"    {' '.join(words)}"]
        lines += [f"    system {template(self.system, 6)}"] if self.system else []
        return [*lines, *self.shot_lines, f"    prompt {template(self.prompt, 6)}"]


def _description(config: Mapping[str, Any], fields: TaskFields) -> Pieces:
    given = config.get("description")
    if not given:
        return []
    return [each for each in fields.text("description", given, literal=True) if each != ""]


def _context(
    config: Mapping[str, Any], fields: TaskFields, shots: WorkedExamples | None, link: str, free: bool = False
) -> _Context:
    """Return the text before an answer. `link` comes before the answer of the question; with `free`, only before the
    answers of worked examples."""
    notes: list[Note] = []
    parted = str(config.get("fewshot_delimiter", "\n\n"))
    described = list(_description(config, fields))
    delimiter = str(config.get("target_delimiter", " "))
    question = _prefixed(fields, config.get("doc_to_text"), config.get("gen_prefix"), delimiter)
    if shots is None:
        return _Context([], [*described, *question], "\n\n", " " if free else link, [], notes)
    system = described
    if described and isinstance(described[-1], str) and described[-1].endswith(parted) and parted:
        system = [*described[:-1], described[-1].removesuffix(parted)]
        system = [each for each in system if each != ""]
    elif described:
        parted = ""
    lines, between = _shot_lines(config, shots, parted, link, free, notes)
    return _Context(system, question, parted, between, lines, notes)


def _prefixed(fields: TaskFields, asked: Any, prefix: Any, delimiter: str) -> Pieces:
    """Return a question, followed by the given beginning of its answer, if any."""
    question = list(fields.text("doc_to_text", asked))
    if not prefix:
        return question
    begun = fields.text("gen_prefix", prefix)
    return [*question, *_between(question, begun, delimiter), *begun]


def _between(before: Pieces, behind: Pieces, delimiter: str) -> Pieces:
    """Return the delimiter between two texts: empty if one of them is empty, or if a space already separates them."""
    end, start = edge(before, last=True), edge(behind, last=False)
    if "" in (end, start) or (end or "x").isspace() or (start or "x").isspace() or not delimiter:
        return []
    conditions = [f'matches({joined(before)}, "\\\\S$")'] if end is None else []
    conditions += [f'matches({joined(behind)}, "^\\\\S")'] if start is None else []
    if not conditions:
        return [delimiter]
    return [Code(f'choose({" and ".join(conditions)}, {quoted(delimiter)}, "")')]


def _shot_lines(
    config: Mapping[str, Any], shots: WorkedExamples, parted: str, link: str, free: bool, notes: list[Note]
) -> tuple[list[str], str]:
    """Return the block of worked examples, and the link before their answers."""
    own, fields = shots.config, shots.fields
    said = {**config, **{key: each for key, each in own.items() if each is not None}}
    between = str(said.get("fewshot_delimiter", "\n\n"))
    delimiter = str(said.get("target_delimiter", " "))
    prefix = said.get("gen_prefix")
    prompt = list(_prefixed(fields, said.get("doc_to_text"), prefix, delimiter))
    reply = list(_answer(said, fields))
    alone = not prefix and all(isinstance(each, Code) for each in reply)
    if alone and (blank := fields.columns.blank_in(joined(reply), "shot")):
        why = f"an answer is empty where `{blank}` is, and the Harness puts no delimiters around it then"
        notes.append(Note("worked examples", "approximately", why))
    if prefix and not free:
        raise NotTranslatable("worked examples with `gen_prefix` before options")
    if prefix:
        reply = [*_between(fields.text("gen_prefix", prefix), reply, " "), *reply]
        delimiter = ""
    chosen = delimiter if free else link
    prompt += [delimiter] if chosen != delimiter and not chosen else []
    if chosen not in ("", delimiter):
        raise NotTranslatable("worked examples whose answers stand behind another text than the options")
    reply += [between] if parted != between else []
    if parted not in ("", between):
        raise NotTranslatable("a separator of worked examples that changes")
    drawn = ""
    if shots.sampler != "first_n":
        drawn = f' drawn by join(("seed {SEED}", {joined(list(_sampling_key(config, fields)))}), " ")'
        why = "drawn by the text of the question, and not by lm-eval's seed and the order of questions: other examples"
        notes.append(Note("worked examples", "approximately", why))
    head = f"    shots {shots.count} from {shots.dataset} as shot{drawn} {{"
    return [head, f"      prompt {template(prompt, 8)}", f"      reply {template(reply, 8)}", "    }"], chosen


def _sampling_key(config: Mapping[str, Any], fields: TaskFields) -> Pieces:
    row = TaskFields(config, fields.columns, "doc", fields.explicit)
    return row.text("doc_to_text", config.get("doc_to_text"))


def _answer(said: Mapping[str, Any], fields: TaskFields) -> Pieces:
    """Return the answer of a worked example, from the part of a task that applies to these."""
    given = said.get("doc_to_target")
    if said.get("doc_to_choice") is None:
        template_value = fields.value("doc_to_target", given, shows=False)
        if template_value.kind == "list":
            return [TemplateValue(f"first({template_value.code})", template_value.shape.items()).hole()]
        return fields.text("doc_to_target", given, shows=False)
    options = fields.options(said.get("doc_to_choice"))
    template_value = fields.target("doc_to_target", given)
    if template_value.kind == "list":
        template_value = TemplateValue(f"first({template_value.code})", template_value.shape.items())
    if template_value.shape.kind == "text":
        return _text_or_option(template_value, given, options, fields)
    place = fields.place("doc_to_target", given, options) if template_value.kind == "bool" else template_value
    return [TemplateValue(item_at(options, place, fields.columns.closed), options.shape.items()).hole()]


def _text_or_option(found: TemplateValue, given: Any, options: TemplateValue, fields: TaskFields) -> Pieces:
    """Return a text as the answer, or the option at the position that it prints. The Harness uses any other text
    unchanged, even if it is no option."""
    if not (found.shape.digits and fields.columns.closed and "{" in str(given)):
        return found.pieces()
    chosen = f"nth({options.code}, rank({found.code}, {DIGITS}))"
    return [Code(f"default({chosen}, {found.code})")]
