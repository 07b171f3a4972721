"""Trees of topics as JSON or YAML files: read, drafted from outlines by models, and approved by a person.

An outline has a heading or point a line. Its level follows from indentation, a bullet, a number or a Markdown
heading. Among lines with the same indentation, the kind of mark decides, in the order in which the kinds first occur:
`（一）` is below `一、`, and `1.` below `（一）`. A line with more indentation is always below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from tripos.settings.options import ONLY, REPLACE
from tripos.source_files import SourceFolder
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.files import write_atomically
from tripos_compiler.library.functions.trees import DEEPEST, ParsedTree, TreeFault, TreeRead, read_tree
from tripos_compiler.lowering.declarations import APPROVED, DRAFT
from tripos_compiler.source.inputs import DataError, LocatedText
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

SUFFIXES = (".yaml", ".yml", ".json")
SHOWN = 5


def format_tree(tree: ParsedTree, suffix: str, said: str = "") -> str:
    """Return a tree as the text of a file with this suffix. `said` becomes a comment at the top, if the format has
    comments.

    >>> print(format_tree(read_tree({"Algebra": ["Sets", "Groups"], "Logic": None}).tree, ".yaml", "own"), end="")
    # own
    Algebra:
    - Sets
    - Groups
    Logic: null
    """
    document = _document(tree.branches)
    if suffix == ".json":
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    import yaml

    head = "".join(f"# {line}\n" for line in said.splitlines())
    return head + str(yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=10_000))


def _document(branches: Mapping[str, Any]) -> Any:
    """Return branches as a list of names if all are leaves, and otherwise as a mapping. If a branch is called `name`, a
    mapping would be read as one node, so they become a list of nodes."""
    if not any(branches.values()):
        return [str(name) for name in branches]
    if "name" in branches:
        each = ((str(name), _document(below) if below else None) for name, below in branches.items())
        return [{"name": name, "children": below} for name, below in each]
    return {str(name): _document(below) if below else None for name, below in branches.items()}


def check_suffix(path: Path) -> str:
    """Return the suffix of a tree file. Raises `TriposError` S0836 for any other file."""
    if path.suffix.casefold() not in SUFFIXES:
        raise TriposError(
            "S0836", f"`{path}` is no file of a tree", f"call it {', '.join(f'`NAME{s}`' for s in SUFFIXES)}"
        )
    return path.suffix.casefold()


def read_tree_file(path: Path) -> ParsedTree:
    """Return the tree of a file. Raises `TriposError` S0836 if it cannot be read or contains something other than
    branches.
    """
    check_suffix(path)
    file = SourceFolder.around(path).file(path)
    if not file.is_there:
        draft = path.with_name(f"{path.stem}{DRAFT}{path.suffix}")
        hint = f"the draft is `{draft}`" if draft.is_file() else "name the draft that you have read"
        raise TriposError("S0836", f"there is no file `{path}`", hint)
    try:
        tree_read = read_tree(file.placed())
    except DataError as error:
        raise TriposError("S0836", error.message, error.hint) from error
    except OSError as error:
        raise TriposError("S0836", f"cannot read `{path}`: {error.strerror}", "check the path") from error
    return check_tree(tree_read, str(path), "S0836")


def check_tree(read: TreeRead, shown: str, code: str) -> ParsedTree:
    """Return the tree, or raise `TriposError` with its faults."""
    if not read.faults:
        return read.tree
    lines = [_fault_text(fault, shown) for fault in read.faults[:SHOWN]]
    if len(read.faults) > SHOWN:
        lines.append(f"and {len(read.faults) - SHOWN} more")
    raise TriposError(code, "\n".join(lines), read.faults[0].help)


def _fault_text(fault: TreeFault, shown: str) -> str:
    where = shown if fault.line is None else f"{shown}, line {fault.line}"
    return f"{where}: {fault.message}"


@dataclass(frozen=True)
class Approval:
    """A person's approval of a tree: the file, the SHA-256 of its bytes, and its content."""

    path: Path
    sha256: str
    tree: ParsedTree
    by: str
    at: datetime


def approve(path: Path, by: str, at: datetime, *, replace: bool = False) -> Approval:
    """Write the approval of a tree by `by` next to it. A draft is renamed without `.draft`.

    Raises `TriposError` S0836 if the file is not a valid tree, and S0837 if a different tree already has that name and
    `replace` is false.
    """
    tree = read_tree_file(path)
    content = _content(path)
    draft = path.stem.endswith(DRAFT)
    target = path.with_name(path.stem.removesuffix(DRAFT) + path.suffix)
    if draft and target.exists() and _content(target) != content and not replace:
        hint = f"compare the two; `{REPLACE}` puts the draft in the place of `{target.name}`"
        raise TriposError("S0837", f"there is a tree `{target}` already, and it is another", hint)
    approval = Approval(target, sha256(content).hexdigest(), tree, by, at)
    said = {"tree": target.name, "sha256": approval.sha256, "approved_by": by, "approved_at": at.isoformat()}
    # Write the approval first: alone it has no effect, but a tree without it would look like the author's own.
    beside = target.with_name(f"{target.stem}{APPROVED}.json")
    write_atomically(beside, (json.dumps(said, ensure_ascii=False, indent=2) + "\n").encode())
    if draft:
        path.replace(target)
    return approval


def _content(path: Path) -> bytes:
    return SourceFolder.around(path).file(path).content()


# Drafts from the replies of a run
DRAFT_ERROR = "S0838"
QUERY = """
select samples.model, samples.status, samples.reply, any_value(items.fields) as fields, samples.sample_id
from {schema}.samples as samples
left join {schema}.items as items on samples.item_id = items.item_id and samples.scenario = items.scenario
where samples.step = ? and samples.sample_number = 0
group by all
"""
STEPS = "select distinct step from {schema}.samples order by 1"


@dataclass(frozen=True)
class DraftedTree:
    """A tree, and a sentence on its origin."""

    tree: ParsedTree
    origin: str


def read_draft(store: Store, run: str | None, step: str, only: Sequence[str]) -> DraftedTree:
    """Return the tree of the outlines that a step of a run replied to its items, in the order of each item's first
    number. Branches with the same name are merged. `only` are conditions `FIELD=VALUE` on the items.

    Raises `StoreError` if there is no such run; `TriposError` S0838 if the step has no replies, failed ones, or replies
    of several models; and S0835 if a reply is not an outline.
    """
    wanted = _conditions(only)
    connection, record = connect_run(store, run)
    with connection:
        schema = '"' + record.benchmark.replace('"', '""') + '"'
        rows = connection.execute(QUERY.format(schema=schema), [step]).fetchall()
        steps = [name for (name,) in connection.execute(STEPS.format(schema=schema)).fetchall()]
    replies = []
    for model, status, reply, text, _ in rows:
        fields = orjson.loads(text or "{}")
        if wanted.items() <= {name: str(value) for name, value in fields.items()}.items():
            replies.append((_sort_key(fields), model, status, reply))
    replies.sort(key=lambda each: each[:2])
    if not replies:
        raise _no_replies(record.run_id, step, steps, len(rows), only)
    models = sorted({model for _, model, _, _ in replies})
    if len(models) > 1:
        hint = "run the spec with one model in each role: a draft is by one"
        raise TriposError(DRAFT_ERROR, f"`{step}` was replied by {len(models)} models: {', '.join(models)}", hint)
    bad = [status for _, _, status, reply in replies if status != "ok" or not reply]
    if bad:
        message = f"{len(bad)} of {len(replies)} replies of `{step}` cannot be used: {', '.join(sorted(set(bad)))}"
        raise TriposError(DRAFT_ERROR, message, "run the spec again; existing replies are reused", ExitCode.SOME_FAILED)
    branches: dict[str, Any] = {}
    for number, (_, model, _, reply) in enumerate(replies, 1):
        _merge(branches, check_tree(read_outline(reply), f"reply {number} of {model}", "S0835").branches)
    said = f"Drafted by run {record.run_id}, step {step} by {models[0]}."
    return DraftedTree(ParsedTree(branches), said)


def _no_replies(run_id: str, step: str, steps: Sequence[str], replies: int, only: Sequence[str]) -> TriposError:
    """Return the failure for a draft without replies: an unknown step, or conditions that match no item."""
    if replies:
        message = f"none of the {replies} replies of `{step}` in run {run_id} has {' and '.join(only)}"
        return TriposError(
            DRAFT_ERROR, message, f"`{ONLY} FIELD=VALUE` names a field of the items, as it is in the data"
        )
    if steps:
        there = f"its steps are {', '.join(steps)}; `tripos list` shows other runs"
        return TriposError(DRAFT_ERROR, f"run {run_id} has no step `{step}`", suggest(step, steps, there))
    hint = "`tripos run specs/teachbench/drafting.tripos` makes one; `tripos list` shows the runs"
    return TriposError(DRAFT_ERROR, f"run {run_id} has no replies", hint)


def _conditions(only: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in only:
        field, parted, value = each.partition("=")
        if not parted:
            raise TriposError("R0202", f"`{ONLY} {each}` says no value", f"write it as `{ONLY} subject=mathematics`")
        found[field.strip()] = value.strip()
    return found


def _sort_key(fields: Mapping[str, Any]) -> tuple[float, str]:
    """Return the sort key of an item: its first field that is a number, then all of its fields."""
    number = next((value for value in fields.values() if isinstance(value, int | float)), 0)
    return float(number), orjson.dumps(fields).decode()


def _merge(into: dict[str, Any], branches: Mapping[str, Any]) -> None:
    for name, below in branches.items():
        _merge(into.setdefault(name, {}), below)


# Outlines
TAB = 4
"""Width of a tab stop."""
WIDE = "\u3000"
"""The ideographic space of Chinese text, two columns wide."""
_HAN = "[零〇一二三四五六七八九十百]+"
MARKS = (
    ("heading", re.compile(r"(?P<level>#{1,6})\s+")),
    ("bullet", re.compile(r"[-*+•·‣▪○●◦■□◆–—]\s+")),
    ("unit", re.compile(rf"第\s*(?:{_HAN}|\d+)\s*(?P<level>编|部分|单元|章|节|课|讲|专题|册)\s*[：:、.．]?\s*")),
    ("chapter", re.compile(r"(?P<level>part|unit|chapter|section|lesson)\s+(?:\d+|[ivxlc]+)\s*[：:.)\-–—]?\s+", re.I)),
    ("han", re.compile(rf"{_HAN}\s*[、.．]\s*")),
    ("han in brackets", re.compile(rf"[(（]\s*{_HAN}\s*[)）]\s*[、.．]?\s*")),
    ("decimal", re.compile(r"\d{1,3}(?P<level>(?:[.．]\d{1,3})+)[.．、)）]?\s+")),
    ("number in brackets", re.compile(r"[(（]\s*\d{1,3}\s*[)）]\s*[、.．]?\s*")),
    ("number", re.compile(r"\d{1,3}\s*(?P<level>[、.．)）])(?!\d)\s*")),
    ("circled", re.compile(r"[①-⑳㈠-㈩⑴-⒇]\s*")),
    ("roman", re.compile(r"[IVXⅠ-Ⅻ]+[.、)．]\s+")),
    ("small roman", re.compile(r"[ivx]+[.)]\s+")),
    ("letter", re.compile(r"[A-Z][.)、．]\s+")),
    ("small letter", re.compile(r"[a-z][.)]\s+")),
)
"""The marks before a name, by kind. `level` separates kinds that look alike, such as `第一章` and `第一节`."""
FENCE = re.compile(r"\s*(```|~~~)")
LEADER = re.compile(r"(?:(?<![.．·])[.．·]{3,}+|(?<!…)…++)\s*+\d*+$")
"""The dots and the page number after a name in a table of contents. The quantifiers are possessive, since a model that
is stuck in a loop writes dots without end."""
BOLD = re.compile(r"(\*\*|__)(.+?)\1")

Kind = tuple[str, str]


@dataclass
class _Point:
    """A line of an outline, with the lines below it."""

    width: int
    kind: Kind
    name: LocatedText
    below: list[_Point] = field(default_factory=list)


def read_outline(text: str) -> TreeRead:
    """Return the tree that an outline describes, with its faults by line.

    Blank lines and code fences are skipped. The mark before a name, a colon after it and Markdown emphasis are removed.

    >>> read_outline("一、代数\\n（一）集合\\n1. 交集\\n2. 并集\\n二、几何").tree.leaves()
    ('代数 / 集合 / 交集', '代数 / 集合 / 并集', '几何')
    >>> read_outline("Algebra\\n  - Sets\\n  - Groups\\nLogic").tree.leaves()
    ('Algebra / Sets', 'Algebra / Groups', 'Logic')
    """
    points, faults = _points(text)
    tree_read = read_tree([_node(point) for point in points])
    tree_faults = [*faults, *tree_read.faults] if points or not faults else faults
    return TreeRead(tree_read.tree, tuple(sorted(tree_faults, key=lambda fault: fault.line or 0)))


def _points(text: str) -> tuple[list[_Point], list[TreeFault]]:
    tops: list[_Point] = []
    above: list[_Point] = []
    faults: list[TreeFault] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not line.strip() or FENCE.match(line):
            continue
        point = _point(line, number)
        if point is None:
            faults.append(TreeFault(f"there is a mark and no name: `{line.strip()}`", "name it, or remove it", number))
            continue
        while above and above[-1].width > point.width:
            above.pop()
        if above and above[-1].width < point.width and _has_no_level(tops, above, point):
            message = f"`{point.name}` is indented less than the lines before it, but more than their parent"
            faults.append(TreeFault(message, "indent the lines of one level alike", number))
            continue
        above = _parents(above, point)
        (above[-1].below if above else tops).append(point)
        above.append(point)
    return tops, faults


def _parents(above: list[_Point], point: _Point) -> list[_Point]:
    """Return the ancestors of a line: all lines with less indentation, and those with the same indentation before the
    first of its own kind."""
    for place, other in enumerate(above):
        if other.width == point.width and (other.kind == point.kind or _higher(point.kind, other.kind)):
            return above[:place]
    return above


def _higher(kind: Kind, other: Kind) -> bool:
    """Return true if the first of two Markdown headings has the higher level."""
    return kind[0] == other[0] == "heading" and len(kind[1]) < len(other[1])


def _has_no_level(tops: list[_Point], above: list[_Point], point: _Point) -> bool:
    """Return true if a line has less indentation than its predecessors but more than their parent, so that it has no
    level."""
    siblings = above[-1].below if above else tops
    return bool(siblings) and siblings[-1].width > point.width


def _point(line: str, number: int) -> _Point | None:
    """Parse a line. Return None if it has a mark but no name."""
    width, start = _indent(line)
    rest, kind = line[start:].rstrip(), ("", "")
    for name, pattern in MARKS:
        match = pattern.match(rest + " ")
        if match:
            kind, rest = (name, (match.groupdict().get("level") or "").casefold()), rest[match.end() :]
            break
    if kind[0] == "decimal":  # the level is the number of parts
        kind = ("decimal", "." * (kind[1].count(".") + kind[1].count("．")))
    elif kind[0] == "number" and kind[1] not in ")）":
        kind = ("number", ".")
    text = BOLD.sub(r"\2", LEADER.sub("", rest)).strip().rstrip(":：").strip()
    return _Point(width, kind, LocatedText(" ".join(text.split()), number)) if text else None


def _indent(line: str) -> tuple[int, int]:
    """Return the indentation of a line in columns and in characters."""
    width = 0
    for place, character in enumerate(line):
        match character:
            case "\t":
                width += TAB - width % TAB
            case _ if character == WIDE:
                width += 2
            case " " | "\u00a0":
                width += 1
            case _:
                return width, place
    return width, len(line)


def _node(point: _Point, level: int = 1) -> dict[str, Any]:
    """Return a line and its descendants as a node of a document, down to one level more than a tree may have."""
    below = [_node(each, level + 1) for each in point.below] if level <= DEEPEST else []
    return {"name": point.name, "children": below}
