"""A plug-in of Tripos: an importer of answer sheets, an exporter of scores by item, and a provider of models."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tripos.exporting import Exporter, OpenRun, Written
from tripos.importing.logs.log import Importer, Log, LoggedItem, LoggedSample, LoggedScore, LogHeader, Skipped
from tripos.settings.options import ExportParameters
from tripos.source_files import SourceFile
from tripos_runtime.models.catalog import Provider

COLUMNS = "item,question,model,reply,right"


def is_sheet(file: SourceFile) -> bool:
    """Return true if the first line of a CSV file has the columns of an answer sheet."""
    return file.path.suffix == ".csv" and next(file.raw_lines(), b"").strip() == COLUMNS.encode()


def read_sheet(file: SourceFile, _: Any) -> list[Log]:
    """Return the log of an answer sheet. `file` is the only way to its content: it checks access and sizes."""

    def samples(skipped: Skipped) -> Iterator[LoggedSample]:
        for number, row in enumerate(file.csv(), 2):
            place = f"line {number}"
            if row["right"] not in ("0", "1"):
                skipped.note("row without a mark", place)
                continue
            score = LoggedScore("right", "acme/teacher", float(row["right"]))
            item = LoggedItem(row["item"], row["question"])
            yield LoggedSample(place, name, row["model"], item, None, {"reply": row["reply"]}, [score])

    name = file.path.stem
    return [Log(str(file.path), LogHeader("acme", name, f"acme:{name}", {}), samples)]


def write_scores(run: OpenRun, options: Namespace) -> Written:
    """Write the mean of every score by item as CSV."""
    query = f"""select item_id, model, metric, avg(value) as mean
    from {run.plan.benchmark.name}.scores where value is not null group by all order by all"""
    answer = run.connection.execute(query)
    names, rows = [column[0] for column in answer.description], answer.fetchall()
    path = Path(options.output)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return Written({"path": str(path), "rows": len(rows)}, (f"{len(rows)} rows in {path}",))


SHEET = Importer("Acme", read_sheet, has_name=is_sheet, suffixes=(".csv",))
SCORES = Exporter("means of scores by item, for Acme", write_scores, (ExportParameters.output,))
ACME = Provider("https://models.acme.example/v1", keys=("ACME_API_KEY",), base_urls=("ACME_BASE_URL",))
