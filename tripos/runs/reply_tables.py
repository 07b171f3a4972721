"""Opening of models that reply from a table of the user, `mock/replies:FILE`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tripos.source_files import SourceFolder
from tripos_compiler.errors import TriposError
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.formats import check_size, rows_in
from tripos_runtime.datasets.trust import TRUSTED, Trust
from tripos_runtime.models.kinds import REPLIES, kind_of
from tripos_runtime.models.reply_table import ReplyTableModel, file_of, read_replies, table_identity


def open_reply_tables(names: Iterable[str], trust: Trust = TRUSTED) -> dict[str, ReplyTableModel]:
    """Return the models among `names` that reply from a table, by name. Raises as `open_reply_table` does."""
    return {name: open_reply_table(name, trust) for name in names if kind_of(name).table}


def open_reply_table(name: str, trust: Trust = TRUSTED) -> ReplyTableModel:
    """Return the model `mock/replies:FILE` of that name. The file is JSON Lines, CSV or another table of the formats
    that data sets have. It is read within the limits of the command's trust, and once: identity and replies are those
    of a copy.

    Raises `TriposError` R0106 if there is no such file, and R0114 if it is no table of replies.

    >>> open_reply_table("mock/replies:none.jsonl")
    Traceback (most recent call last):
    tripos_compiler.errors.TriposError: R0106: there is no file `none.jsonl` of replies
      help: check the path after `mock/replies:`; it is relative to the working directory
    """
    path, shown = file_of(name), name.removeprefix(REPLIES.prefix)
    if not path.is_file():
        hint = f"check the path after `{REPLIES.prefix}`; it is relative to the working directory"
        raise TriposError("R0106", f"there is no file `{shown}` of replies", hint)
    try:
        check_size(path, path.name, trust.limits)
        with TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            SourceFolder.around(path, trust).file(path).copy(copy)
            rows = list(rows_in(copy, path.name, trust.limits))
            identity = table_identity(copy)
    except DataError as error:
        raise TriposError("R0114", error.message, error.hint) from error
    except OSError as error:
        raise TriposError("R0114", f"cannot read `{shown}`: {error.strerror}", "check the path") from error
    return ReplyTableModel(name, read_replies(rows, path.name), path.name, identity)
