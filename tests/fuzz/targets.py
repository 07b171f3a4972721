"""The table of targets. To add one, write a function that takes bytes and its seeds, and an entry here."""

from __future__ import annotations

from tests.fuzz import data_files as data, people, released, replies, specs, stores, texts
from tests.fuzz.mutators import mutated, mutated_json, mutated_lines, mutated_text, mutated_zip
from tests.fuzz.trying import Target

TARGETS: dict[str, Target] = {
    "spec": Target(specs.compile_any, specs.spec_seeds, specs.mutated_spec, specs.new_spec, share=6, quick=25),
    "format": Target(specs.format_any, specs.spec_seeds, specs.mutated_spec, specs.new_spec, share=3, quick=25),
    "server": Target(specs.serve_any, specs.spec_seeds, specs.mutated_spec, specs.new_spec, share=4, quick=15),
    "reply": Target(
        replies.read_any, replies.reply_seeds, replies.mutated_reply, replies.new_reply, share=4, quick=100
    ),
    "csv": Target(data.rows_of(".csv"), data.delimited(","), mutated_text, share=2),
    "tsv": Target(data.rows_of(".tsv"), data.delimited("\t"), mutated_text),
    "json": Target(data.rows_of(".json"), data.json_rows, mutated_json, share=2),
    "jsonl": Target(data.rows_of(".jsonl"), data.json_lines, mutated_lines, share=2),
    "parquet": Target(data.rows_of(".parquet"), data.columns, mutated, share=2, quick=100),
    "arrow": Target(data.rows_of(".arrow"), data.arrows, mutated, share=2, quick=100),
    "xlsx": Target(data.rows_of(".xlsx"), data.workbooks, mutated_zip, share=2, quick=50),
    "gz": Target(data.packed_of(".jsonl.gz"), data.packed(".gz"), mutated),
    "zst": Target(data.packed_of(".jsonl.zst"), data.packed(".zst"), mutated),
    "json_document": Target(data.document_of(".json"), data.json_documents, mutated_json),
    "yaml_document": Target(data.document_of(".yaml"), data.yaml_documents, mutated_text, share=2),
    "typed_rows": Target(data.typed_of(".jsonl"), data.json_lines, mutated_lines, share=2, quick=30),
    "typed_csv": Target(data.typed_of(".csv"), data.delimited(","), mutated_text, quick=30),
    "settings": Target(texts.read_settings, texts.settings_seeds, mutated_text, share=2),
    "release_toml": Target(texts.read_terms, texts.release_seeds, mutated_text, quick=20),
    "mapping": Target(texts.read_columns, texts.mapping_seeds, mutated_text),
    "lock": Target(texts.hold_lock, texts.lock_seeds, mutated_json),
    "outline": Target(texts.read_points, texts.outline_seeds, mutated_text, share=2),
    "tree": Target(texts.read_branches, texts.tree_seeds, mutated_text, share=2, quick=100),
    "answer": Target(texts.read_answer, texts.answer_seeds, texts.mutated_answer, share=3),
    "commit": Target(stores.read_any_commit, stores.commit_seeds, mutated_json, share=2),
    "journal": Target(stores.read_journal, stores.journal_seeds, mutated_lines, share=2),
    "store": Target(stores.open_store, stores.store_seeds, stores.mutated_file, share=4, quick=2),
    "plan": Target(stores.keep_plan, stores.plan_seeds, mutated_json, share=3, quick=12),
    "recording": Target(stores.replay, stores.recording_seeds, mutated_json, share=2, quick=3),
    "manifest": Target(released.open_manifest, released.manifest_seeds, mutated_json, share=2, quick=6),
    "frozen_plan": Target(released.open_plan, released.plan_seeds, mutated_json, share=2, quick=6),
    "release_zip": Target(released.open_zip, released.zip_seeds, mutated_zip, share=2, quick=30),
    "sheet": Target(people.take_sheet, people.sheet_seeds, mutated_zip, share=2, quick=30),
    "grades": Target(people.take_grades, people.grades_seeds, mutated_lines, share=2),
    "page": Target(people.ask_page, people.request_seeds, people.mutated_request, share=2, quick=20),
    "import_scores": Target(people.take_scores, people.score_seeds, mutated_text, share=2, quick=4),
    "import_samples": Target(people.take_samples, people.sample_seeds, mutated_lines, share=2, quick=5),
}
