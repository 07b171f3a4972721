"""The Croissant description of a release (MLCommons, version 1.1), made and validated by its own library."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tripos.releases.manifest import ReleasedFile, ReleasedItems
from tripos_compiler.plan import Plan

CROISSANT = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
PARQUET = "application/vnd.apache.parquet"
_TYPES = {"int64": "INTEGER", "double": "FLOAT", "bool": "BOOL"}


def croissant_of(
    plan: Plan,
    license_: str,
    items: Sequence[ReleasedItems],
    files: Sequence[ReleasedFile],
    folder: Path,
    day: date | None,
    measures: str,
    limits: Sequence[str],
) -> bytes:
    """The file's bytes, for items that lie below `folder`. Raises `ValueError` where the library finds an error."""
    import mlcroissant as mlc

    known = {each.path: each for each in files}
    distribution, records = [], []
    for each in items:
        if each.path is None:
            continue
        distribution.append(
            mlc.FileObject(
                id=each.path,
                name=each.path,
                content_url=each.path,
                content_size=f"{known[each.path].bytes} B",
                encoding_formats=[PARQUET],
                sha256=known[each.path].sha256,
            )
        )
        fields = [
            mlc.Field(
                id=f"{each.scenario}/{column.name}",
                name=column.name,
                data_types=[getattr(mlc.DataType, _TYPES.get(str(column.type), "TEXT"))],
                source=mlc.Source(file_object=each.path, extract=mlc.Extract(column=column.name)),
            )
            for column in pq.read_schema(folder / each.path)
        ]
        records.append(mlc.RecordSet(id=each.scenario, name=each.scenario, fields=fields))
    with _quiet():
        metadata = mlc.Metadata(
            name=plan.benchmark.name,
            description=measures,
            version=plan.benchmark.version,
            license=[license_],
            in_language=list(plan.benchmark.languages),
            cite_as="; ".join(plan.benchmark.cites) or None,
            date_published=None if day is None else datetime(day.year, day.month, day.day),
            data_limitations=list(limits) or None,
            distribution=distribution,
            record_sets=records,
        )
        made: Any = metadata.to_json() | {"conformsTo": CONFORMS_TO}
    return (json.dumps(made, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


def croissant_faults(path: Path) -> list[str]:
    """What the library says is wrong with a Croissant file; empty where it accepts it."""
    import mlcroissant as mlc

    with _quiet():
        try:
            mlc.Dataset(jsonld=path)
        except Exception as error:  # it raises many kinds for a file that somebody changed
            return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return []


class _quiet:  # noqa: N801
    """Without the library's warnings about what is recommended and not needed."""

    def __enter__(self) -> None:
        self._level = logging.getLogger("absl").level
        logging.getLogger("absl").setLevel(logging.CRITICAL)
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error: object) -> None:
        self._warnings.__exit__(None, None, None)
        logging.getLogger("absl").setLevel(self._level)
