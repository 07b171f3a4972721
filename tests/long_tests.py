"""The tests that `make test` leaves out as a whole: by path, the sources that each guards.

The short form has what finds a slip in an hour of ordinary work: properties, goldens, cases, one way through each verb.
A row here is a file, a folder, or a test of a file (`file::test`) whose kind of evidence takes longer than that: kills,
whole sites, browsers, statistics by simulation. `make test-all` runs it at its full size; `.ci/run` runs it at its small
size after a change of a source that it guards (`tests/touched.py`). Single cases of a test have the mark `long` instead,
and follow the areas of `tests/touched.py`.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]

COMPILER, RUNTIME, WAREHOUSE = "compiler/tripos_compiler/", "runtime/tripos_runtime/", "warehouse/tripos_warehouse/"
KEEPING = (f"{WAREHOUSE}ledger/", f"{WAREHOUSE}store/", f"{WAREHOUSE}upkeep/", f"{RUNTIME}drivers/", "tests/kills/")
WORKERS = ("tripos/api/workers/", f"{RUNTIME}drivers/", f"{WAREHOUSE}ledger/", f"{WAREHOUSE}store/")
BUCKETS = (f"{WAREHOUSE}store/bucket/", f"{WAREHOUSE}ledger/bucket_ledger.py", "tests/bucket/")
FIGURES = (f"{WAREHOUSE}measures/", f"{WAREHOUSE}statistics/", f"{WAREHOUSE}report/")
PEOPLE = ("tripos/annotation/", "tripos/importing/", f"{WAREHOUSE}exports/", f"{WAREHOUSE}report/")
SHOWN = ("tripos/ui/", "tripos/cli/", f"{WAREHOUSE}text_table.py")

LONG: dict[str, tuple[str, ...]] = {
    # Processes that are killed or stopped at instants drawn at random.
    "tests/faults/test_clocks.py::test_a_process_that_is_stopped_longer_than_its_timeout_loses_no_row": KEEPING,
    "tests/kills/test_interrupts.py": (*KEEPING, "tripos/cli/runs/", f"{RUNTIME}scheduling/"),
    "tests/kills/test_kills.py": KEEPING,
    "tests/kills/test_vector_kills.py": (*KEEPING, f"{RUNTIME}retrieval/"),
    "tests/kills/test_worker_kills.py": (*KEEPING, *WORKERS),
    # All states of a protocol, all orders of work, all shards, any history of a store.
    "tests/bucket/test_model.py": BUCKETS,
    "tests/command/test_history_independence.py": (f"{RUNTIME}program/", f"{RUNTIME}drivers/", f"{WAREHOUSE}store/"),
    "tests/command/test_shards.py::test_all_shards_together_leave_the_tables_of_one_run": (
        f"{RUNTIME}datasets/",
        f"{RUNTIME}drivers/",
        "tripos/api/",
    ),
    "tests/command/test_workers.py": WORKERS,
    # Pages in a browser, and what is built with npm or Zensical.
    "tests/annotation/test_page_in_chromium.py": ("tripos/annotation/",),
    "tests/docs/test_site.py": ("docs/", "tripos/cli/tools/docs.py"),
    "tests/view/test_built_page.py": ("tripos/view/",),
    "tests/view/test_view_page.py::test_every_page_draws_and_breaks_no_rule": ("tripos/view/",),
    "tests/view/test_view_page.py::test_a_folder_opens_from_disk": ("tripos/view/",),
    # Every query of the pages over several stores.
    "tests/docs/test_queries_mix_nothing.py": ("docs/", f"{WAREHOUSE}query/", f"{WAREHOUSE}views/"),
    # Every verb, export or picture, once for each way in which a text can hurt.
    "tests/annotation/test_exports_say_all.py": PEOPLE,
    "tests/command/test_shown_text.py::test_no_verb_prints_what_a_terminal_obeys": SHOWN,
    "tests/command/test_encodings.py::test_the_first_verbs_write_everything": SHOWN,
    # Figures against a second evaluation, or a truth that was planted, by simulation.
    "tests/test_oracle.py": (*FIGURES, "tests/oracle.py"),
    "tests/warehouse/test_lessons_known_truth.py": FIGURES,
    "tests/warehouse/test_measures_coverage.py": FIGURES,
    # Benchmarks at the size of their data.
    "tests/docs/test_gallery.py": ("docs/", "tripos/view/", "tripos/plots/"),
    "tests/test_edubench_tables.py": ("specs/", RUNTIME, WAREHOUSE),
    "tests/test_teachbench.py": ("specs/", RUNTIME, WAREHOUSE),
}


def is_long(node: str) -> bool:
    """Return true if a test, a file or a folder is long, by its path from the root."""
    return node in LONG or any(node.startswith((f"{each}/", f"{each}::", f"{each}[")) for each in LONG)
