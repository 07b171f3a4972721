"""How a document is written: its layout, its shape and its colours."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types as lsp
from talking import Editor, applied, position

from tripos.lsp.symbols import LEGEND
from tripos_compiler.editing.formatter import format_text

OPTIONS = lsp.FormattingOptions(tab_size=2, insert_spaces=True)


def test_a_document_is_laid_out_in_the_one_way(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "measure overall = mean(rubric)", "measure   overall=mean( rubric )  # 😀"):
        params = lsp.DocumentFormattingParams(editor.document("quiz.tripos"), OPTIONS)
        edits = editor.wait(editor.client.connection.text_document_formatting_async(params))
        text = editor.text("quiz.tripos")
        assert edits is not None
        assert applied(text, list(edits)) == format_text(text, "quiz.tripos")


def test_a_document_that_is_laid_out_is_left_as_it_is(editor: Editor) -> None:
    params = lsp.DocumentFormattingParams(editor.document("shared.tripos"), OPTIONS)
    laid_out = format_text(editor.text("shared.tripos"), "shared.tripos")
    before = editor.text("shared.tripos")
    editor.client.replace("shared.tripos", laid_out)
    assert editor.wait(editor.client.connection.text_document_formatting_async(params)) == ()
    editor.client.replace("shared.tripos", before)


def test_a_document_with_a_mistake_of_syntax_is_not_laid_out(editor: Editor) -> None:
    with editor.edited("quiz.tripos", "mean(rubric)\nmeasure easy", "mean(rubric\nmeasure easy"):
        params = lsp.DocumentFormattingParams(editor.document("quiz.tripos"), OPTIONS)
        assert editor.wait(editor.client.connection.text_document_formatting_async(params)) is None


def test_what_a_document_declares_is_a_tree(editor: Editor) -> None:
    found = editor.request("document_symbol", "quiz.tripos") or ()
    tree = {
        each.name: [inner.name for inner in each.children or ()]
        for each in found
        if isinstance(each, lsp.DocumentSymbol)
    }
    assert tree == {
        "quiz": [],
        "item": ["language", "stage", "question", "answer"],
        "sums": ["reply", "long"],
        "shouts": ["reply"],
        "overall": [],
        "easy": [],
    }


def test_a_symbol_says_where_its_name_stands(editor: Editor) -> None:
    found = editor.request("document_symbol", "quiz.tripos") or ()
    sums = next(each for each in found if isinstance(each, lsp.DocumentSymbol) and each.name == "sums")
    text = editor.text("quiz.tripos")
    start = text.index("scenario sums")
    assert sums.selection_range.start == position(text, start + len("scenario "))
    assert sums.range == lsp.Range(position(text, start), position(text, text.index("}\n\nscenario shouts") + 1))
    assert sums.detail == "Sums 😀"


def test_the_symbols_of_all_files_are_found_by_some_of_their_letters(editor: Editor) -> None:
    found = editor.wait(editor.client.connection.workspace_symbol_async(lsp.WorkspaceSymbolParams("rbrc"))) or ()
    assert [(each.name, Path(each.location.uri).name) for each in found] == [("rubric", "shared.tripos")]


def test_blocks_strings_comments_and_tables_fold(editor: Editor) -> None:
    text = '# one\n# two\nuse "a"\nuse "b"\naxis x {\n  a,\n  b\n}\nscenario s {\n  ask a by b {\n    prompt """\n    x\n    """\n  }\n}\n'
    before = editor.text("shared.tripos")
    editor.client.replace("shared.tripos", text)
    found = editor.request("folding_range", "shared.tripos") or ()
    editor.client.replace("shared.tripos", before)
    assert [(each.start_line, each.end_line, each.kind) for each in found] == [
        (0, 1, lsp.FoldingRangeKind.Comment),
        (2, 3, lsp.FoldingRangeKind.Imports),
        (4, 6, None),
        (8, 13, None),
        (9, 12, None),
        (10, 12, None),
    ]


def coloured(editor: Editor, name: str) -> list[tuple[str, str, int]]:
    """Return the text, the type and the modifiers of every semantic token."""
    found = editor.request("semantic_tokens_full", name)
    assert found is not None
    lines = [line.encode("utf-16-le") for line in editor.text(name).split("\n")]
    line = column = 0
    tokens: list[tuple[str, str, int]] = []
    for index in range(0, len(found.data), 5):
        down, right, length, kind, modifiers = found.data[index : index + 5]
        line, column = line + down, right if down else column + right
        shown = lines[line][column * 2 : (column + length) * 2].decode("utf-16-le")
        tokens.append((shown, LEGEND.token_types[kind], modifiers))
    return tokens


def test_names_have_the_colour_of_what_they_are_declared_as(editor: Editor) -> None:
    tokens = coloured(editor, "quiz.tripos")
    for wanted in [
        ("scenario", "keyword", 0),
        ("candidate", "class", 0),
        ("stage", "enum", 0),
        ("easy", "enumMember", 0),
        ("sums", "namespace", 1),
        ("reply", "method", 1),
        ("rubric", "function", 0),
        ("words", "function", 2),
        ("question", "property", 1),
        ("task", "parameter", 0),
        ("text", "type", 0),
    ]:
        assert wanted in tokens, wanted


def test_tokens_after_an_emoji_are_in_place(editor: Editor) -> None:
    shown = [text for text, kind, _ in coloured(editor, "quiz.tripos") if kind != "string"]
    assert [text for text in shown if not text.strip() or text != text.strip()] == []
    assert shown[0] == "# A quiz in two files. 😀"
    assert '"Sums 😀"' in [text for text, kind, _ in coloured(editor, "quiz.tripos") if kind == "string"]


def test_tokens_follow_each_other_and_stay_on_their_lines(editor: Editor) -> None:
    found = editor.request("semantic_tokens_full", "shared.tripos")
    assert found is not None
    end = 0
    lines = editor.text("shared.tripos").split("\n")
    line = column = 0
    for index in range(0, len(found.data), 5):
        down, right, length = found.data[index : index + 3]
        line, column = line + down, right if down else column + right
        assert down or column >= end
        end = column + length
        assert end <= len(lines[line].encode("utf-16-le")) // 2


def test_what_a_scenario_asks_stands_above_it(editor: Editor) -> None:
    found = editor.request("code_lens", "quiz.tripos") or ()
    assert [each.command.title for each in found if each.command] == [
        "4 contexts · 2 items · candidate: 2 calls · judge: 0 to 2 calls",
        "4 contexts · 3 items · candidate: 3 calls · judge: 0 to 3 calls",
    ]
