"""Files to a program: follows `use`, reads every file once, and finds what is declared where."""

from __future__ import annotations

from tripos_compiler.diagnostics import Label
from tripos_compiler.memory import Memory
from tripos_compiler.program import KINDS, Program, ReadText, beside
from tripos_compiler.source import Source, Span
from tripos_compiler.statements import read_statements
from tripos_compiler.syntax.parse import parse
from tripos_compiler.syntax.tree import Name


def resolve(program: Program, path: str, read: ReadText, memory: Memory | None = None) -> None:
    """Fills the program's statements and declared names from the file at `path` and those it uses. Raises `OSError`
    or `UnicodeDecodeError` where the file at `path` itself cannot be read."""
    source = Source(path, read(path))
    program.read_text = read
    _load(program, source, read, (path,), set(), memory)
    if memory is not None:
        memory.keep_only(program.statements)
    for statement in program.of("benchmark"):
        program.index.define("benchmark", statement.name().text, statement.name().span)
    for kind, constructs in KINDS.items():
        names = program.declared.setdefault(kind, {})
        for statement in program.of(*constructs):
            name = statement.name("name") if kind != "scorer" else scorer_name(statement.syntax("call"))
            if name is not None:
                program.index.define(kind, name.text, name.span)
                if kind in ("scenario", "dimension"):  # what can be named as a value; no axis is called so
                    program.value_spans.setdefault((kind, name.text), name.span)
                _declare(program, kind, names, name)
    _one_benchmark(program, source)


def scorer_name(call: object) -> Name | None:
    """The name in `NAME(params)`, or of a scorer whose parameters were forgotten; None where there is none."""
    function = call if isinstance(call, Name) else getattr(call, "function", None)
    return function if isinstance(function, Name) else None


def _load(
    program: Program,
    source: Source,
    read: ReadText,
    chain: tuple[str, ...],
    loaded: set[str],
    memory: Memory | None,
) -> None:
    loaded.add(source.path)
    program.sources.append(source)
    block = parse(source, program.diagnostics, memory.parses if memory is not None else None)
    known = memory.statements if memory is not None else None
    statements = read_statements(block, program.diagnostics, known=known)
    program.statements.extend(statements)
    for statement in statements:
        if statement.construct != "use":
            continue
        text = statement.text("path")
        path = beside(source.path, text.value)
        if path in chain:
            circle = " → ".join([*chain[chain.index(path) :], path])
            message = f"`use` goes in a circle: {circle}"
            program.diagnostics.error("E0203", message, text.span, help="remove one of these `use` lines")
            continue
        if path in loaded:
            continue
        try:
            used = Source(path, read(path))
        except (OSError, ValueError) as error:  # a name with a null character is a `ValueError`
            program.diagnostics.lost_files = True
            reason = "there is no such file" if isinstance(error, FileNotFoundError) else _reason(error)
            message = f"cannot use `{text.value}`: {reason}"
            program.diagnostics.error("E0108", message, text.span, help=f"looked for `{path}`")
            continue
        _load(program, used, read, (*chain, path), loaded, memory)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "that is no name of a file"


def _declare(program: Program, kind: str, names: dict[str, Name], name: Name) -> None:
    earlier = names.get(name.text)
    if earlier is None:
        names[name.text] = name
        return
    label = Label(earlier.span, "first declared here")
    program.diagnostics.error("E0202", f"{kind} `{name.text}` is declared twice", name.span, label, help="rename one")


def _one_benchmark(program: Program, source: Source) -> None:
    found = program.of("benchmark")
    if not found:
        where = Span(source, 0, 0)
        help_ = 'write `benchmark NAME "1.0.0" { languages en }` at the top, or name the file that uses this one'
        program.diagnostics.error("E0206", "this spec declares no benchmark", where, help=help_, lacking=program.lost)
    for extra in found[1:]:
        label = Label(found[0].head, "the first")
        help_ = "a compiled spec has exactly one"
        program.diagnostics.error("E0202", "a second benchmark is declared", extra.head, label, help=help_)
