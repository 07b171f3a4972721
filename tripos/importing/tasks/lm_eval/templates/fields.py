"""The fields of a task that depend on a row: the question, the options, the target, the description.

lm-eval takes each as the name of a column, as a template, as a constant, or as a Python function. A function has no
translation; where the rows were written by lm-eval itself, they have a column with what it gave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos.importing.tasks.lm_eval.forms import PythonName
from tripos.importing.tasks.lm_eval.templates.columns import ColumnShape, TaskColumns, is_digits
from tripos.importing.tasks.lm_eval.templates.jinja import Translator, parsed
from tripos.importing.tasks.lm_eval.templates.values import TemplateValue, constant
from tripos.importing.tasks.spec_text import Code, Pieces, Untranslated, listed, quoted

_COLUMN = re.compile(r"[^\W\d]\w*(?: \w+)?")
"""A text that is taken for the name of a column where nobody knows the columns."""


DIGITS = listed([quoted(str(each)) for each in range(10)])
"""The numbers that a target may print."""


@dataclass
class TaskFields:
    """Translates the fields of a task for the rows of one data set."""

    config: Mapping[str, Any]
    columns: TaskColumns
    row: str
    written: bool = False
    """lm-eval wrote the rows, and beside them what each of its functions gave."""
    assumed: dict[str, None] = field(default_factory=dict)

    def translator(self, shows: bool) -> Translator:
        """Return a translator for this row."""
        return Translator(self.columns, self.row, shows, self.assumed)

    def text(self, key: str, given: Any, shows: bool = True, literal: bool = False) -> Pieces:
        """Return a field that is a text; `literal` says that it is a template also where it could be a column."""
        is_template = isinstance(given, str) and not isinstance(given, PythonName)
        if is_template and not (self._is_known_column(given) if literal else self._is_column(given, key)):
            try:
                return self.translator(shows).template(given)
            except Untranslated:
                if not self.written:
                    raise
        found = self.value(key, given, shows)
        found.shape.want("text")
        if isinstance(found.constant, str):
            return [found.constant]
        return [found.hole()]

    def value(self, key: str, given: Any, shows: bool = True) -> TemplateValue:
        """Return a field as a value of whatever type: where it has no translation, the column that lm-eval wrote."""
        try:
            return self._value(key, given, shows)
        except Untranslated:
            if not self.written or isinstance(given, PythonName):
                raise
            return self.translator(shows).column(f"_{key}")

    def _value(self, key: str, given: Any, shows: bool) -> TemplateValue:
        if isinstance(given, PythonName):
            return self.made(key, given, shows)
        if isinstance(given, str):
            if self._is_column(given, key):
                return self.translator(shows).column(given)
            single = self.translator(shows).single(given)
            if single is not None:
                return single
            pieces = self.translator(shows).template(given)
            if all(isinstance(each, str) for each in pieces):
                return constant("".join(each for each in pieces if isinstance(each, str)))
            from tripos.importing.tasks.spec_text import joined

            return TemplateValue(joined(pieces), ColumnShape("text"))
        if isinstance(given, list | tuple):
            return listing([constant(each) for each in given])
        if isinstance(given, dict):
            return listing([constant(each) for each in given.values()])
        return constant(given)

    def made(self, key: str, given: PythonName, shows: bool) -> TemplateValue:
        """Return the column with what a Python function gave. Raises `Untranslated` where nobody has run it."""
        if not self.written:
            raise Untranslated(f"`{key}` is a function in Python, `{given}`: --run-python writes what it gives")
        return self.translator(shows).column(f"_{key}")

    def options(self, given: Any = None) -> TemplateValue:
        """Return the options of a question; `given` are those of worked examples, where a task says others for them."""
        found = self.value("doc_to_choice", self.config.get("doc_to_choice") if given is None else given)
        found.shape.items().want("text")
        if found.kind != "list" or found.shape.items().kind != "text":
            raise Untranslated("options that are no list of texts")
        return found

    def place(self, key: str, given: Any, options: TemplateValue) -> TemplateValue:
        """Return the position of the right option, or a list of positions: what the target says, or where its text
        stands among the options."""
        found = self.target(key, given)
        match found.kind:
            case "integer":
                return found
            case "bool":
                return TemplateValue(f"choose({found.code}, 1, 0)", ColumnShape("integer", least=0))
            case "list" if found.shape.items().kind in ("integer", ""):
                found.shape.items().want("integer")
                return found
            case "text":
                return self._among(found, given, options)
        raise Untranslated(f"a target that is a {found.kind}")

    def _among(self, found: TemplateValue, given: Any, options: TemplateValue) -> TemplateValue:
        """Return where a text stands among the options, −1 where it is none; a number that a template prints is a
        position."""
        code = f"default(rank({found.code}, {options.code}), -1)"
        if found.constant is None and isinstance(given, str) and "{" in given and found.shape.digits:
            if self.columns.closed:
                code = f"default(rank({found.code}, {DIGITS}), {code})"
            else:
                self.assumed[f"the target `{given}` prints no number"] = None
        return TemplateValue(code, ColumnShape("integer"), sought=True)

    def target(self, key: str, given: Any) -> TemplateValue:
        """Return a target where there are options: a text, a position, or positions. One that a condition chooses among
        numbers is a number, and so is a text that is one."""
        found = self._chosen_number(given) or self.value(key, given, shows=False)
        if not found.shape.kind:
            self.assumed[f"the target `{given}` is a position, not a text"] = None
            found.shape.want("integer")
        if isinstance(found.constant, str) and is_digits(found.constant) and len(found.constant) < 10:
            return constant(int(found.constant))
        return found

    def _chosen_number(self, given: Any) -> TemplateValue | None:
        if isinstance(given, str) and not isinstance(given, PythonName) and "{%" in given:
            body = parsed(given).body
            if len(body) == 1 and type(body[0]).__name__ == "If" and not body[0].elif_:
                texts = [_text_of(each) for each in (body[0].body, body[0].else_)]
                if all(is_digits(each) for each in texts):
                    condition = self.translator(False).condition(body[0].test)
                    return TemplateValue(
                        f"choose({condition}, {texts[0]}, {texts[1]})", ColumnShape("integer", least=0)
                    )
        return None

    def _is_known_column(self, given: str) -> bool:
        return self.columns.closed and given in self.columns

    def _is_column(self, given: str, key: str) -> bool:
        if self.columns.closed:
            return given in self.columns
        if not _COLUMN.fullmatch(given):
            return False
        self.assumed[f"`{given}`, the whole of `{key}`, is a column"] = None
        return True


def listing(values: list[TemplateValue]) -> TemplateValue:
    """Return a list that is written in a task."""
    if not values:
        raise Untranslated("an empty list of options")
    if {each.kind for each in values} != {"text"}:
        raise Untranslated("options that are no texts")
    return TemplateValue(
        listed([each.code for each in values]), ColumnShape("list", item=ColumnShape("text")), members=tuple(values)
    )


def _text_of(body: Any) -> str:
    if len(body) == 1 and type(body[0]).__name__ == "Output":
        return "".join(getattr(each, "data", "?") for each in body[0].nodes)
    return "?"


def edge(pieces: Pieces, last: bool) -> str | None:
    """Return the first or last character of a template; an empty text where it is empty, None where a row says it."""
    held = [each for each in pieces if each != ""]
    if not held:
        return ""
    part = held[-1 if last else 0]
    return None if isinstance(part, Code) else part[-1 if last else 0]
