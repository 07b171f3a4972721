"""Files to a program: reads those that a spec uses, and the releases that it extends, and finds what is declared
where."""

from __future__ import annotations

from tripos_compiler.diagnostics import Label
from tripos_compiler.resolve.files import SpecFiles, extend
from tripos_compiler.resolve.memory import Memory
from tripos_compiler.resolve.program import KINDS, Program, ReadText
from tripos_compiler.source import Name, Source, Span


def resolve(program: Program, path: str, read: ReadText, memory: Memory | None = None) -> None:
    """Fill the program's statements and declared names from the file at `path` and those it uses. Raises `OSError` or
    `UnicodeDecodeError` where the file at `path` itself cannot be read."""
    source = Source(path, read(path))
    program.read_text = read
    files = SpecFiles(program, read, memory)
    statements, uses = files.load(source)
    program.state(statements)
    extend(program, files, uses)
    if memory is not None:
        memory.keep_only(program.statements)
    for statement in program.of("benchmark"):
        program.index.define("benchmark", statement.name().text, statement.name().span)
    for kind, constructs in KINDS.items():
        names = program.declared.setdefault(kind, {})
        for statement in program.of(*constructs):
            called = "call" in statement.values
            name = scorer_name(statement.syntax("call")) if called else statement.name("name")
            if name is not None:
                program.index.define(kind, name.text, name.span)
                if kind in ("scenario", "dimension"):  # what can be named as a value; no axis is called so
                    program.value_spans.setdefault((kind, name.text), name.span)
                _declare(program, kind, names, name)
                if kind in ("scenario", "dataset") and (release := program.release_of(name.span)) is not None:
                    program.homes.setdefault((kind, name.text), release.name)
    _one_benchmark(program, source)


def scorer_name(call: object) -> Name | None:
    """Return the name in `NAME(params)`, or of a scorer whose parameters were forgotten; None where there is none."""
    function = call if isinstance(call, Name) else getattr(call, "function", None)
    return function if isinstance(function, Name) else None


def _declare(program: Program, kind: str, names: dict[str, Name], name: Name) -> None:
    earlier = names.get(name.text)
    if earlier is None:
        names[name.text] = name
        return
    if program.release_of(name.span) is not None or program.release_of(earlier.span) is not None:
        _declare_again(program, kind, earlier, name)
        return
    label = Label(earlier.span, "first declared here")
    program.diagnostics.error("E0202", f"{kind} `{name.text}` is declared twice", name.span, label, help="rename one")


def _declare_again(program: Program, kind: str, earlier: Name, name: Name) -> None:
    """Report a name that a release declares too, at the place of the spec's own where it has one."""
    first, second = program.release_of(earlier.span), program.release_of(name.span)
    if first is not None and second is not None:
        message = f"{kind} `{name.text}` is declared in {first.title} and in {second.title}"
        help_ = "take of one of them only what you need: `{ take … }`"
        program.diagnostics.error("E0917", message, name.span, Label(earlier.span, "the first"), help=help_)
        return
    own, theirs, release = (earlier, name, second) if first is None else (name, earlier, first)
    assert release is not None
    message = f"{kind} `{name.text}` is declared here and in {release.title}"
    label = Label(theirs.span, f"in {release.title}")
    help_ = "rename yours, or take of the release only what you need: `{ take … }`"
    program.diagnostics.error("E0917", message, own.span, label, help=help_)


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
