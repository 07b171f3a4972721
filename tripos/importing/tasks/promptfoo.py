"""Translation of a promptfoo configuration to a spec: prompts become arms, tests rows, and assertions scores."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tripos.files import MOST_DATA_BYTES
from tripos.importing.spec_text import (
    Code,
    ImportedTask,
    Note,
    NotTranslatable,
    Pieces,
    benchmark_name,
    commented,
    name_of,
    template,
    title,
)
from tripos.importing.tasks.shapes import AS_LIST, CODE, as_list, kind, validate_shape
from tripos.settings.secrets import settings_without_keys
from tripos.source_files import SourceFile, SourceFolder, read_exact_json
from tripos_compiler.errors import TriposError

ROWS = "tests.jsonl"
HOLE = re.compile(r"{{\s*(\w+)\s*}}")
OTHER_JINJA = re.compile(r"{[{%#]")
RESERVED_NAMES = ("item", "language", "key", "prompt", "reply", "judge", "passed")
CHECKS = {
    "equals": "{reply} == {value}",
    "contains": "length(split({reply}, {value})) > 1",
    "icontains": "contains({reply}, {value})",
    "starts-with": "slice({reply}, 0, length({value})) == {value}",
    "regex": "matches({reply}, {value})",
}
"""Expressions for assertions with one value. `split` and `slice` are case-sensitive, as promptfoo is."""
SEVERAL_TEXTS = {"contains-all": ("contains", True), "icontains-all": ("icontains", True),
           "contains-any": ("contains", False), "icontains-any": ("icontains", False)}  # fmt: skip
"""Assertions with several texts: the assertion for each text, and whether all must hold."""
RUBRIC = "llm-rubric"
KINDS = frozenset({*CHECKS, *SEVERAL_TEXTS, RUBRIC})
"""The assertions that have a translation."""
OTHER_KINDS = frozenset(
    """
    answer-relevance bleu classifier contains-html contains-json contains-sql contains-xml context-faithfulness
    context-recall context-relevance conversation-relevance cost factuality finish-reason g-eval gleu guardrails is-html
    is-json is-refusal is-sql is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call is-xml
    javascript latency levenshtein meteor model-graded-closedqa model-graded-factuality moderation perplexity
    perplexity-score pi python rouge-n ruby search-rubric similar tool-call-f1 webhook word-count
    """.split()  # noqa: SIM905
)
"""The other assertions of promptfoo. In a table, a text that begins with none of these is the whole reply."""
OLD_KINDS = {"fn": "javascript", "eval": "javascript", "grade": RUBRIC}
EXPECTED = re.compile(r"(?s)(not-)?([a-z][a-z0-9-]*)(\([0-9.]+\))?(?::(.*))?")
"""An assertion in a cell: its kind, perhaps with a threshold, and its value."""
ALLOW_COMMENT = "  # allow W0320: no text that is looked for is empty, and patterns are those of the tests"


MOST_ROUNDS = 5
"""Maximum rounds in which variables are filled into each other, as in promptfoo."""
TEXT_SUFFIXES = frozenset({"", ".txt", ".md", ".json", ".csv", ".html", ".xml"})
"""Suffixes of files whose content is the value of a variable."""
EXPANSION = ("disableVarExpansion",)
"""The option of a test by which a list of texts is the value of a variable. Otherwise each of its entries is a test."""
MAX_TESTS = 1_000_000
"""Maximum tests after the lists of variables are expanded."""
MAX_CHARACTERS = 256 * 2**20
"""Maximum characters of all rows. Shared variables and assertions are repeated in each row."""
FILE = "file://"
PROMPT_SUFFIXES = (".txt", ".json", ".md")
PROMPT_DELIMITER = re.compile(r"(?m)^[^\S\n]*---[^\S\n]*$")
"""The line between the prompts of a text file."""

A_MAPPING = kind("a mapping", dict)
A_TEXT_OR_NULL = kind("a text", str, type(None))
TEXT_OR_MAPPING = kind("a text or a mapping", str, dict)


class PromptfooPart(BaseModel):
    """A part of a configuration. Unknown keys are allowed."""

    model_config = ConfigDict(extra="allow")


class PromptfooAssertion(PromptfooPart):
    """An assertion about a reply. A set of assertions has no `type`."""

    type: Annotated[str | None, A_TEXT_OR_NULL] = None
    value: Any = None
    weight: Any = 1

    @property
    def is_own(self) -> bool:
        """True if the assertion overrides how it is judged."""
        told = ("transform", "provider", "rubricPrompt", "threshold", "contextTransform")
        return any((self.model_extra or {}).get(each) for each in told)


class PromptfooTest(PromptfooPart):
    """A test, or the defaults of all tests."""

    vars: Annotated[dict[str, Any] | None, kind("a mapping", dict, type(None))] = None
    demands: Annotated[list[Annotated[PromptfooAssertion, A_MAPPING]], AS_LIST] = Field([], alias="assert")
    threshold: Any = None
    options: Annotated[dict[str, Any] | None, kind("a mapping", dict, type(None))] = None
    description: Any = None
    metadata: Any = None

    @property
    def lost(self) -> dict[str, Any]:
        """The parts without a translation, by name."""
        options = {f"option {name}": value for name, value in (self.options or {}).items() if name not in EXPANSION}
        parts = {"threshold": self.threshold, **(self.model_extra or {}), **options}
        return {f"{name} of a test": value for name, value in parts.items() if value not in (None, "", [], {})}


class PromptfooConfig(PromptfooPart):
    """A configuration."""

    description: Annotated[str | None, A_TEXT_OR_NULL] = None
    prompts: Annotated[list[Annotated[Any, TEXT_OR_MAPPING]], AS_LIST] = []
    tests: Annotated[list[Annotated[Any, TEXT_OR_MAPPING]], AS_LIST] = []
    shared: Annotated[Any, kind("a mapping or the name of a file", dict, str, type(None))] = Field(
        None, alias="defaultTest"
    )


@cache
def _form(of: type) -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[of, A_MAPPING])  # type: ignore[arg-type]


def is_promptfoo(path: Path, folder: SourceFolder | None = None) -> bool:
    """Return true if a YAML file is a configuration of promptfoo: it has prompts, and tests or providers. A file that
    cannot be read, or with another program's tags such as lm-eval's `!function`, is not."""
    folder = folder or SourceFolder.around(path)
    try:
        found = _document(folder.file(path))
    except TriposError:
        return False
    return isinstance(found, Mapping) and "prompts" in found and ("tests" in found or "providers" in found)


def promptfoo_spec(path: Path, language: str = "en", folder: SourceFolder | None = None) -> ImportedTask:
    """Return a configuration as a spec. The files that it names are read within `folder`. Raises `TriposError` R0246 if
    a file cannot be read or has another shape."""
    folder = folder or SourceFolder.around(path)
    document = _document(folder.file(path))
    config: PromptfooConfig = validate_shape(_form(PromptfooConfig), document, path)
    notes: list[Note] = []
    name = benchmark_name(path.stem if path.stem != "promptfooconfig" else path.resolve().parent.name)
    tests = _tests(config, path, folder)
    columns = _columns(tests)
    prompts = [text for prompt in config.prompts for text in _prompts(prompt, path, folder)]
    arms = [f"p{number}" for number in range(1, len(prompts) + 1)]
    steps = _steps(prompts, columns, notes)
    rows, kinds, holes = _rows(tests, columns, folder.file(path), notes)
    notes += _provider_notes(document.get("providers"))
    settings = {"providers", "description", "prompts", "tests", "defaultTest", "$schema"}
    for other in sorted(set(document) - settings):
        notes.append(Note(other, "not", "a setting of promptfoo"))
    scores = _scores(kinds)
    opening = [
        *commented(f"Imported by `tripos import task` from {path.name} of promptfoo."),
        f'benchmark {name} "1.0.0" {{',
        f"  title {title(config.description or name)}",
        f"  languages {language}",
        "}",
        "",
        "role candidate compared",
        *(["role judge", "", *_judge()] if RUBRIC in kinds else []),
        "",
        *(
            [f"arm prompt {{ {', '.join(f'p{number}' for number in range(1, len(prompts) + 1))} }}", ""]
            if len(prompts) > 1
            else []
        ),
        f'dataset item from "{ROWS}" {{',
        *(f"  {column} text" for column in columns.values()),
        *(f"  {_column(kind)} {_type(kind)} secret" for kind in kinds),
        "}",
        "",
        f"scenario {name} {{",
        "  over item",
        *(["  arms prompt"] if len(arms) > 1 else []),
        *steps,
        *(f"  {line}" for hole in holes for line in commented(hole, "HOLE: ")),
        *scores,
        "}",
        "",
        *(["measure pass_rate = mean(passed)"] if set(kinds) - {RUBRIC} else []),
        *(["measure rubrics = mean(rubric)"] if RUBRIC in kinds else []),
        *(["measure by_prompt = mean(passed) by prompt"] if len(arms) > 1 and set(kinds) - {RUBRIC} else []),
    ]
    notes.insert(0, Note("tests", "exactly", f"{len(rows):,} rows in {ROWS}"))
    files = {ROWS: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)}
    return ImportedTask(name, "\n".join(opening) + "\n", notes, files)


def _document(file: SourceFile) -> Any:
    try:
        return file.yaml()
    except (OSError, ValueError) as error:
        message = f"`{file.path}` cannot be read: {_reason(error)}"
        raise TriposError(CODE, message, "give a YAML file in UTF-8") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


# Tests


def _tests(config: PromptfooConfig, path: Path, folder: SourceFolder) -> list[PromptfooTest]:
    """Return the tests, with the defaults applied, and a test for each combination of the entries of variables that are
    lists."""
    shared = config.shared
    if isinstance(shared, str):
        shared = _document(folder.file(path).sibling(shared.removeprefix(FILE)))
    common: PromptfooTest = validate_shape(_form(PromptfooTest), shared or {}, path, ("defaultTest",))
    tests: list[PromptfooTest] = []
    for number, each in enumerate(config.tests or [{}]):
        file = Path(each.removeprefix(FILE)) if isinstance(each, str) else None
        for entry, said in enumerate([each] if file is None else _from_file(each, path, folder)):
            at = ("tests", number) if file is None else (entry,)
            test: PromptfooTest = validate_shape(_form(PromptfooTest), said, file or path, at)
            test = common.model_copy(
                update={
                    **{name: getattr(test, name) for name in test.model_fields_set},
                    "vars": {**(common.vars or {}), **(test.vars or {})},
                    "demands": [*common.demands, *test.demands],
                    "options": {**(common.options or {}), **(test.options or {})},
                }
            )
            tests += _expanded(test, MAX_TESTS - len(tests))
    return tests


def _expanded(test: PromptfooTest, most: int) -> list[PromptfooTest]:
    """Return a test for each combination of the entries of its lists of texts. Any other list is one value, as in
    promptfoo. Raises `TriposError` R0246 if there are more than `most`."""
    variables = test.vars or {}
    if any((test.options or {}).get(name) for name in EXPANSION):
        return [test]
    values = [value if _is_list_of_texts(value) else [value] for value in variables.values()]
    if math.prod(map(len, values)) > most:
        message = f"the lists of variables make more than {MAX_TESTS:,} tests"
        raise TriposError(CODE, message, "import fewer tests at a time")
    combinations = itertools.product(*values)
    return [test.model_copy(update={"vars": dict(zip(variables, each, strict=True))}) for each in combinations]


def _is_list_of_texts(value: Any) -> bool:
    """Return true if a list begins with a text, by which promptfoo knows lists of texts."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def _from_file(place: str, path: Path, folder: SourceFolder) -> list[Any]:
    """Return the tests of a file. A line of CSV is a test whose columns are variables; `__expected` is an assertion."""
    file = folder.file(path).sibling(place.removeprefix(FILE))
    try:
        match file.path.suffix:
            case ".jsonl":
                return [read_exact_json(line) for line in file.raw_lines() if line.strip()]
            case ".yaml" | ".yml" | ".json":
                whole = file.path.suffix == ".json"
                found = read_exact_json(file.content(MOST_DATA_BYTES)) if whole else file.yaml()
                return found if isinstance(found, list) else [] if found is None else [found]
            case ".csv":
                return [_from_line(line) for line in file.csv()]
    except (OSError, ValueError) as error:
        raise TriposError(CODE, f"the tests of `{place}` cannot be read: {_reason(error)}", "fix the file") from error
    raise TriposError(CODE, f"the tests of `{place}` are no table", "write them as CSV, JSON or YAML")


def _from_line(line: Mapping[str, str]) -> dict[str, Any]:
    own = {key.removeprefix("__"): value for key, value in line.items() if key and key.startswith("__") and value}
    test: dict[str, Any] = {"options": {name: own[name] for name in ("prefix", "suffix") if name in own}}
    for name, value in own.items():
        kind, _, key = name.partition(":")
        if kind == "config" or name in ("threshold", "providerOutput"):
            test[f"{kind} {key}".strip()] = value
    checks = [_from_cell(value) for name, value in own.items() if name.startswith("expected")]
    return {**test, "vars": {key: value for key, value in line.items() if key and key[:2] != "__"}, "assert": checks}


def _from_cell(text: str) -> dict[str, Any]:
    """Return the assertion in a cell of a table.

    >>> _from_cell("icontains: a"), _from_cell("not-contains-any: a, b")
    ({'type': 'icontains', 'value': 'a'}, {'type': 'not-contains-any', 'value': ['a', 'b']})
    >>> _from_cell("fn: output > 5")["type"], _from_cell("Note: a")
    ('javascript', {'type': 'equals', 'value': 'Note: a'})
    """
    match = EXPECTED.fullmatch(text)
    kind = "" if match is None else OLD_KINDS.get(match[2], match[2])
    if match is None or kind not in KINDS | OTHER_KINDS:
        return {"type": "equals", "value": text}
    value: Any = (match[4] or "").strip()
    if kind in SEVERAL_TEXTS:
        value = [part.strip() for part in value.split(",")]
    threshold = {} if match[3] is None else {"threshold": match[3].strip("()")}
    return {"type": f"{match[1] or ''}{kind}", "value": value, **threshold}


def _columns(tests: Sequence[PromptfooTest]) -> dict[str, str]:
    """Return the column name of each variable."""
    found: dict[str, str] = {}
    for test in tests:
        for variable in test.vars or {}:
            if variable not in found:
                found[variable] = name_of(variable, (*RESERVED_NAMES, *map(_column, CHECKS), *found.values()))
    return found


def _rows(
    tests: Sequence[PromptfooTest], columns: Mapping[str, str], config: SourceFile, notes: list[Note]
) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """Return the rows, the kinds of assertions, each of which is a column, and an example of each skipped part. Files
    of variables are next to `config`."""
    kinds: list[str] = []
    checked = []
    lost: dict[str, list[Any]] = {}
    filling = Filling()
    variables_of_tests = []
    for test in tests:
        told: dict[str, list[Any]] = {}
        variables, unread = _texts_of(test.vars or {}, config, filling)
        variables_of_tests.append(variables)
        for part, value in (*unread.items(), *test.lost.items()):
            lost.setdefault(part, []).append(value)
        for check in test.demands:
            try:
                name, value = _check(check, variables, filling)
            except NotTranslatable as error:
                lost.setdefault(str(error), []).append(check.model_dump(by_alias=True, exclude_unset=True))
                continue
            told.setdefault(name, []).append(value)
            kinds += [] if name in kinds else [name]
        checked.append(told)
    rows = []
    for variables, told in zip(variables_of_tests, checked, strict=True):
        row: dict[str, Any] = {name: variables.get(variable, "") for variable, name in columns.items()}
        rows.append(row | {_column(each): told.get(each, []) for each in kinds})
    if kinds:
        text = ", ".join(kinds)
        remarks = [_RUBRIC_NOTE] if RUBRIC in kinds else []
        remarks += [_REGEX_NOTE] if any(kind.endswith("regex") for kind in kinds) else []
        notes.append(Note("assertions", "approximately" if remarks else "exactly", "; ".join([text, *remarks])))
    notes += [Note(part, "not", f"{len(some):,} times in {len(tests):,} tests") for part, some in lost.items()]
    return rows, kinds, [f"{part}: {_text(settings_without_keys(some[0]))}" for part, some in lost.items()]


_RUBRIC_NOTE = "rubrics are judged with a prompt of Tripos, apart from what passes"
_REGEX_NOTE = "patterns are read without look-around"


class Filling:
    """Substitution of variables in texts, within the maximum size of all rows."""

    def __init__(self) -> None:
        self.left = MAX_CHARACTERS

    def text(self, value: Any) -> str:
        """Return a value as text. Raises `TriposError` R0246 if the rows become too large."""
        return self._counted(_text(value))

    def resolved(self, text: str, variables: Mapping[str, Any]) -> str:
        """Return the value of a variable, with other variables filled in. Raises `NotTranslatable` as `filled` does,
        and if the value still has holes after some rounds."""
        for _ in range(MOST_ROUNDS):
            if not OTHER_JINJA.search(text):
                return text
            text = self.filled(text, variables)
        raise NotTranslatable("a variable that is made of itself")

    def filled(self, text: str, variables: Mapping[str, Any]) -> str:
        """Return a text with its variables filled in. Raises `NotTranslatable` for a template with more than names."""
        if OTHER_JINJA.search(HOLE.sub("", text)):
            raise NotTranslatable("a template that is more than names of variables")
        pieces = []
        for place, part in enumerate(HOLE.split(text)):
            pieces.append(self._counted(_text(variables.get(part, "")) if place % 2 else part))
        return "".join(pieces)

    def _counted(self, text: str) -> str:
        self.left -= len(text)
        if self.left < 0:
            message = f"the tests have more than {MAX_CHARACTERS:,} characters with all that they share"
            raise TriposError(CODE, message, "import fewer tests at a time")
        return text


def _check(check: PromptfooAssertion, variables: Mapping[str, Any], filling: Filling) -> tuple[str, Any]:
    """Return the kind of an assertion, and its value for a test. Raises `NotTranslatable`."""
    if check.type is None:
        raise NotTranslatable("a set of assertions")
    plain = check.type.removeprefix("not-")
    if plain not in KINDS or check.type == f"not-{RUBRIC}":
        raise NotTranslatable(f"assertion {check.type}")
    if check.is_own:
        raise NotTranslatable(
            f"assertion {check.type} with a threshold, a transform, a provider or a prompt of its own"
        )
    if check.weight != 1:
        raise NotTranslatable(f"assertion {check.type} with a weight")
    value = check.value
    if plain in SEVERAL_TEXTS:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",")]
        texts = value if isinstance(value, list) else [] if value is None else [value]
        return check.type, [filling.filled(_text(each), variables) for each in texts]
    if isinstance(value, str) and value.startswith(FILE):
        raise NotTranslatable(f"assertion {check.type} with a value in a file")
    if not isinstance(value, str | int | float):
        raise NotTranslatable(f"assertion {check.type} with a value that is no text")
    text = filling.filled(_text(value), variables)
    if not text and plain != "equals":
        raise NotTranslatable(f"assertion {check.type} with an empty text")
    return check.type, text


def _texts_of(given: Mapping[str, Any], config: SourceFile, filling: Filling) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the variables of a test as texts, and those without a translation by the reason. Their text stands as it
    is written."""
    read: dict[str, str] = {}
    lost: dict[str, Any] = {}
    for name, value in given.items():
        read[name] = filling.text(value)
        try:
            if isinstance(value, list | dict):
                raise NotTranslatable("a variable that is a list or a mapping")
            if isinstance(value, str) and value.startswith(FILE):
                read[name] = filling.text(_content(config, value))
        except NotTranslatable as error:
            lost[str(error)] = value
    texts = dict(read)
    for name, text in read.items():
        try:
            texts[name] = filling.resolved(text, read)
        except NotTranslatable as error:
            lost[str(error)] = text
    return texts, lost


def _content(config: SourceFile, value: str) -> str:
    """Return the text of a file that a variable names. Raises `NotTranslatable` for a program, a medium or a pattern,
    and `TriposError` R0246 if the file cannot be read."""
    name = value.removeprefix(FILE)
    if Path(name).suffix.casefold() not in TEXT_SUFFIXES or any(mark in name for mark in "*?["):
        raise NotTranslatable("a variable in a file that is no text")
    try:
        return config.sibling(name).text().strip()
    except (OSError, ValueError) as error:
        message = f"the variable in `{value}` cannot be read: {_reason(error)}"
        raise TriposError(CODE, message, "give its folder with the configuration") from error


def _text(value: Any) -> str:
    """Return a value as promptfoo prints it in a template: a whole number has no decimals."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _provider_notes(providers: Any) -> list[Note]:
    """Return a note for each setting of providers, which a run sets for its models. Keys are hidden."""
    configured = [
        each for provider in as_list(providers) if isinstance(provider, Mapping) for each in _settings(provider)
    ]
    shown = settings_without_keys(dict(configured))
    return [Note(f"setting {name} of a provider", "not", json.dumps(value)) for name, value in shown.items()]


def _settings(provider: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the settings of a provider: an entry with an `id`, or the only value of a mapping by its id."""
    own: Any = provider if "id" in provider else next(iter(provider.values()), None)
    if not isinstance(own, Mapping):
        return []
    config = own.get("config")
    others = [(name, own[name]) for name in ("transform", "prompts", "delay") if own.get(name)]
    return [*(config.items() if isinstance(config, Mapping) else ()), *others]


# Prompts


def _prompts(given: Any, path: Path, folder: SourceFolder) -> list[str]:
    """Return the texts of a prompt: itself, or those of the file that it names, also without `file://`. Raises
    `TriposError` R0246 for a mapping without text, and for a file that cannot be read."""
    if isinstance(given, Mapping):
        given = given.get("raw") or given.get("id")
        if not isinstance(given, str):
            message = f"`{path}`: a prompt has no `raw` and no `id` that is a text"
            raise TriposError(CODE, message, "write the prompt as a text, or its file as `file://NAME.txt`")
    text: str = given
    name = text.removeprefix(FILE)
    file = folder.file(path).sibling(name)
    if name == text and ("\n" in text or not file.is_there):
        return [text]
    if file.path.suffix not in PROMPT_SUFFIXES:
        return [f"{FILE}{name}"]
    try:
        content = file.text()
    except (OSError, ValueError) as error:
        message = f"the prompt `{text}` cannot be read: {_reason(error)}"
        raise TriposError(CODE, message, "give its folder with the configuration") from error
    if file.path.suffix != ".txt":
        return [content]
    return [part for each in re.split(PROMPT_DELIMITER, content) if (part := each.strip())]


def _steps(prompts: Sequence[str], columns: Mapping[str, str], notes: list[Note]) -> list[str]:
    lines = ["  ask reply by candidate {"]
    for number, prompt in enumerate(prompts, 1):
        when = f" when prompt == p{number}" if len(prompts) > 1 else ""
        part = f"prompt {number}" if len(prompts) > 1 else "prompt"
        try:
            for role, text in _messages(prompt):
                lines.append(f"    {role} {template(_pieces(text, columns), 4)}{when}")
            notes.append(Note(part, "exactly"))
        except NotTranslatable as error:
            notes.append(Note(part, "not", str(error)))
            lines += [f"    {line}" for line in commented(prompt, "HOLE: a prompt: ")]
    return [*lines, "  }"]


def _messages(prompt: str) -> list[tuple[str, str]]:
    """Return the messages of a prompt: a chat if it is JSON, or else one message."""
    if prompt.startswith(("file://", "exec:", "python:")):
        raise NotTranslatable("a prompt that a program makes, or in a file that is not read")
    try:
        chat = read_exact_json(prompt.encode())
    except ValueError:
        return [("prompt", prompt)]
    if not isinstance(chat, list | dict):
        return [("prompt", prompt)]
    try:
        messages = CHAT.validate_python(chat, strict=True)
    except ValidationError as error:
        raise NotTranslatable("a chat other than texts of roles") from error
    if [message.role for message in messages] not in (["user"], ["system", "user"]):
        raise NotTranslatable("a chat other than a system message and a question")
    return [("system" if message.role == "system" else "prompt", message.content) for message in messages]


class ChatMessage(BaseModel):
    """A message of a chat prompt."""

    role: str
    content: str


CHAT = TypeAdapter(list[ChatMessage])


def _pieces(text: str, columns: Mapping[str, str]) -> Pieces:
    found: list[str | Code] = []
    for place, part in enumerate(HOLE.split(text)):
        if place % 2 and part not in columns:
            continue  # promptfoo prints an undefined variable as empty
        found.append(Code(f"item.{columns[part]}") if place % 2 else part)
    if any(isinstance(each, str) and OTHER_JINJA.search(each) for each in found):
        raise NotTranslatable("a template that is more than names of variables")
    return found


# Scores


def _column(kind: str) -> str:
    """Return the column with the values of a kind of assertion."""
    return f"to_{kind.replace('-', '_')}" if kind != RUBRIC else "rubrics"


def _type(kind: str) -> str:
    return "list<list<text>>" if kind.removeprefix("not-") in SEVERAL_TEXTS else "list<text>"


def _scores(kinds: Sequence[str]) -> list[str]:
    """Return the scores: whether all assertions hold, and a judge's verdict on the rubrics."""
    held = [_holds(kind) for kind in kinds if kind != RUBRIC]
    lines = [ALLOW_COMMENT, f"  score passed = {' and '.join(held)}"] if held else []
    if RUBRIC in kinds:
        lines.append('  score rubric = graded(reply.text, join(item.rubrics, "\\n")) when length(item.rubrics) > 0')
    return lines


def _holds(kind: str) -> str:
    """Return the condition that all assertions of a kind hold."""
    plain = kind.removeprefix("not-")
    if plain in SEVERAL_TEXTS:
        single, every = SEVERAL_TEXTS[plain]
        inner = CHECKS[single].format(reply="reply.text", value="value")
        text = f"{'all' if every else 'any'}({inner} each value in values)"
        text = f"not {text}" if kind != plain else text
        return f"all({text} each values in item.{_column(kind)})"
    text = CHECKS[plain].format(reply="reply.text", value="value")
    return f"all({f'not ({text})' if kind != plain else text} each value in item.{_column(kind)})"


def _judge() -> list[str]:
    return [
        "scorer graded(reply: text, rubrics: text) by judge {",
        '  prompt """',
        "    Does this reply meet every one of these demands?",
        "",
        "    Demands:",
        "    {{ rubrics }}",
        "",
        "    Reply:",
        "    {{ reply }}",
        '    """',
        "  gives bool",
        "}",
    ]
