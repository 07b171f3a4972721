"""What may stand next in a query: tables after `from` and `join`, columns and keywords elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

KEYWORDS = (
    *("and", "as", "asc", "avg(", "between", "case", "count(", "cross", "desc", "distinct", "else", "end", "exists"),
    *("from", "group by all", "having", "ilike", "in", "is", "join", "left join", "like", "limit", "max(", "median("),
    *("min(", "not", "null", "offset", "on", "or", "order by", "over", "partition by", "pivot", "qualify", "round("),
    *("select", "show all tables", "sum(", "then", "union all", "using", "when", "where", "with"),
)
_WORD = re.compile(r"[^\s,;()=<>+\-*/|]*$")
_TABLE_NEXT = re.compile(r"(?:\bfrom|\bjoin|\bdescribe|\bsummarize|^\s*\.schema)\s+[^\s,;()=<>+\-*/|]*$", re.IGNORECASE)
_TABLES = re.compile(r"\b(?:from|join)\s+([\w.\"]+)", re.IGNORECASE)
COMMANDS = (".help", ".schema", ".tables")


class Completer:
    """Completes the last word of a line. `names` are tables and macros with their columns (`names_of`)."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self.names = names

    def complete(self, line: str) -> list[str]:
        """The words that the last one may become, in order.

        >>> completer = Completer({"quiz.scores": ["model", "value"], "runs": ["run_id"], "quiz.worst()": ["n"]})
        >>> completer.complete("select mo"), completer.complete("select avg(value) from q")
        (['model'], ['quiz.scores', 'quiz.worst('])
        >>> completer.complete("from runs where run"), completer.complete("from runs g"), completer.complete(".t")
        (['run_id'], ['group by all'], ['.tables'])
        """
        found = _WORD.search(line)
        begun = found[0] if found is not None else ""
        if not line.strip() or (line.lstrip() == begun and begun.startswith(".")):
            return [each for each in COMMANDS if each.startswith(begun)] if begun else []
        if _TABLE_NEXT.search(line):
            return self._that_begin(begun, (name.replace("()", "(") for name in self.names))
        row, point, _ = begun.rpartition(".")
        columns = self._columns_of(line)
        if point:
            return self._that_begin(begun, (f"{row}.{column}" for column in columns))
        matching = self._that_begin(begun, columns)
        return matching + [word for word in self._that_begin(begun, KEYWORDS) if word not in matching]

    def _columns_of(self, line: str) -> list[str]:
        """The columns of the tables that the line names; of all, where it names none yet."""
        asked = [name for name in _TABLES.findall(line) if name in self.names or f"{name}()" in self.names]
        tables = asked or [name for name in self.names if not name.endswith("()")]
        parameters = [f"{each} := " for name in asked for each in self.names.get(f"{name}()", ())]
        return [*parameters, *(column for name in tables for column in self.names.get(name, ()))]

    @staticmethod
    def _that_begin(begun: str, words: Iterable[str]) -> list[str]:
        return sorted({word for word in words if word.casefold().startswith(begun.casefold())})
