"""Opening of models that reply from a table of the user, `mock/replies:FILE`."""

from __future__ import annotations

from tripos.source_files import SourceFolder
from tripos_compiler.errors import TriposError
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.trust import TRUSTED, Trust
from tripos_runtime.models.scripted import PREFIX, ScriptedModel, file_of, read_replies


def open_scripted(name: str, trust: Trust = TRUSTED) -> ScriptedModel:
    """Return the model `mock/replies:FILE` of that name. The file is JSON Lines, CSV or another table of
    the forms that data sets have. It is read within the limits of the command's trust.

    Raises `TriposError` R0106 if there is no such file, and R0114 if it is no table of replies.

    >>> open_scripted("mock/replies:none.jsonl")
    Traceback (most recent call last):
    tripos_compiler.errors.TriposError: R0106: there is no file `none.jsonl` of replies
      help: check the path after `mock/replies:`; it is relative to the working directory
    """
    path, shown = file_of(name), name.removeprefix(PREFIX)
    if not path.is_file():
        hint = f"check the path after `{PREFIX}`; it is relative to the working directory"
        raise TriposError("R0106", f"there is no file `{shown}` of replies", hint)
    try:
        rows = list(SourceFolder.around(path, trust).file(path).rows())
    except DataError as error:
        raise TriposError("R0114", error.message, error.hint) from error
    except OSError as error:
        raise TriposError("R0114", f"cannot read `{shown}`: {error.strerror}", "check the path") from error
    return ScriptedModel(name, read_replies(rows, path.name), path.name)
