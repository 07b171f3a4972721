"""The tests that `make test` leaves out: by path, the sources that each guards.

The short form has what finds a slip in an hour of ordinary work: properties, goldens, cases, one way through each verb.
A row here is a file, a folder, or a test of a file (`file::test`) whose kind of evidence takes longer than that: kills,
whole sites, browsers, statistics by simulation, runs upon runs. `KEPT` has the tests that the short form keeps of such
files. `make test-all` runs a row at its full size; `.ci/run` runs it at its small size after a change of a source that
it guards (`tests/touched.py`). Single cases of a test have the mark `long` instead, and follow the areas there.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]

COMPILER, RUNTIME, WAREHOUSE = "compiler/tripos_compiler/", "runtime/tripos_runtime/", "warehouse/tripos_warehouse/"
PRODUCT = (COMPILER, RUNTIME, WAREHOUSE, "tripos/")
KEEPING = (f"{WAREHOUSE}ledger/", f"{WAREHOUSE}store/", f"{WAREHOUSE}upkeep/", f"{RUNTIME}drivers/", "tests/kills/")
WORKERS = ("tripos/api/workers/", f"{RUNTIME}drivers/", f"{WAREHOUSE}ledger/", f"{WAREHOUSE}store/")
BUCKETS = (f"{WAREHOUSE}store/bucket/", f"{WAREHOUSE}ledger/bucket_ledger.py", "tests/bucket/")
FIGURES = (f"{WAREHOUSE}measures/", f"{WAREHOUSE}statistics/", f"{WAREHOUSE}report/")
RELEASES = ("tripos/releases/", "tripos/cli/releases/", COMPILER, f"{RUNTIME}datasets/", f"{RUNTIME}generate/")
SHOWN = ("tripos/ui/", "tripos/cli/", f"{WAREHOUSE}text_table.py")
BENCHMARKS = ("specs/", RUNTIME, WAREHOUSE)
PAPERS = ("docs/", "specs/", COMPILER, RUNTIME)

KEPT: dict[str, tuple[str, ...]] = {
    "tests/annotation/test_exports_say_all.py": ("a_coverage_of_several_values_has_both_ends",),
    "tests/annotation/test_people_apart.py": ("whether_people_count_is_a_question_of_the_spec_and_needs_no_call",),
    "tests/annotation/test_taking.py": (
        "a_bad_cell_is_listed_with_its_address_and_nothing_is_kept",
        "a_persons_scores_stand_beside_the_judges_of_the_same_replies",
        "taking_twice_changes_nothing",
    ),
    "tests/command/test_compare.py": (
        "two_models_differ_by_what_their_means_differ_by",
        "what_changed_in_the_spec_stands_above",
        "a_formula_differs_by_what_it_comes_to_on_either_side",
        "models_that_are_not_clear_are_asked_for",
        "another_scale_is_refused_even_so",
    ),
    "tests/command/test_comparing_replies.py": (
        "a_run_counts_its_comparisons",
        "why_shows_both_replies_and_what_the_judge_said",
    ),
    "tests/command/test_endpoints.py": (
        "a_model_at_another_address_is_asked_all_again",
        "no_key_of_an_address_is_kept",
        "the_forecast_knows_that_another_address_is_somebody_else",
    ),
    "tests/command/test_expectations.py": (
        "a_run_whose_expectations_hold_is_good",
        "one_that_does_not_hold_ends_with_100_and_says_by_how_much",
        "failed_calls_come_before_expectations",
    ),
    "tests/command/test_expected_scores.py": ("what_a_rater_left_out_is_taken_as_the_measure_says",),
    "tests/command/test_export_held_out.py": (
        "an_item_of_a_subset_is_in_no_line_of_any_scenario",
        "a_line_says_its_item_its_model_and_the_value_that_it_won_by",
        "what_cannot_be_held_out_is_said",
    ),
    "tests/command/test_export_replies_of.py": ("every_reply_of_a_model_that_is_best_on_any_metric_is_taken",),
    "tests/command/test_hostile_rows.py": (
        "every_row_reaches_the_model_as_it_is",
        "a_secret_is_not_asked_for_by_a_row",
    ),
    "tests/command/test_import_made.py": (
        "replies_to_rows_that_a_run_made_are_taken_and_scored",
        "rows_that_no_model_writes_need_no_run",
    ),
    "tests/command/test_import_scores.py": (
        "a_file_with_a_row_a_score_is_imported",
        "importing_a_file_twice_writes_nothing_the_second_time",
        "rows_that_do_not_fit_are_named_and_then_nothing_is_imported",
        "a_score_that_changed_is_refused_until_it_is_said_what_becomes_of_the_old_one",
        "a_mapping_that_fits_nothing_is_an_error",
        "a_mapping_says_what_columns_and_words_mean",
    ),
    "tests/command/test_interrupted_reports.py": (
        "an_interrupt_after_the_last_call_says_what_is_kept_and_how_to_go_on",
    ),
    "tests/command/test_judged_inside.py": ("a_computed_score_says_who_judged_inside_it",),
    "tests/command/test_leaderboard.py": (
        "models_that_the_items_do_not_tell_apart_share_a_rank",
        "a_formula_is_ranked_by_its_own_difference",
        "a_model_is_not_ranked_beside_those_of_another_major_version",
        "the_lowest_is_ahead_where_lower_is_better",
        "a_measure_that_goes_by_something_is_refused",
    ),
    "tests/command/test_making.py": (
        "the_summary_says_what_was_made_and_why_rows_were_rejected",
        "a_forecast_counts_what_is_yet_to_be_written",
        "secret_fields_are_kept_from_the_models_that_are_compared",
    ),
    "tests/command/test_next_commands.py": (
        "of_three_models_the_first_two_are_compared",
        "the_sql_of_the_headline_is_shown_on_demand",
    ),
    "tests/command/test_only.py": (
        "a_plan_counts_the_treatments_that_are_selected",
        "a_run_asks_what_is_selected_and_says_so",
        "a_selection_that_is_not_there_is_refused",
    ),
    "tests/command/test_replay.py": (
        "a_replay_finds_out_what_the_recorded_run_did",
        "a_changed_prompt_lacks_its_replies_and_nothing_else_does",
        "a_wrong_recording_says_how_to_mend_it",
        "opening_a_recording_reads_no_reply",
    ),
    "tests/command/test_rows_of_a_run.py": (
        "the_latest_run_of_each_model_shows_and_says_so",
        "a_corrected_answer_takes_the_place_of_the_wrong_one",
    ),
    "tests/command/test_scores_from_outside.py": ("no_grade_is_scored_where_the_plan_at_hand_asks_for_none",),
    "tests/command/test_several.py": (
        "each_benchmark_is_a_run_of_its_own",
        "a_role_that_none_of_them_has_stops_before_anything_is_run",
        "a_file_that_each_run_would_write_anew_is_refused",
    ),
    "tests/command/test_shards.py": ("a_plan_of_a_shard_counts_its_items_only", "a_shard_that_is_none_is_refused"),
    "tests/command/test_subset.py": (
        "a_run_asks_about_the_items_of_the_subset_alone",
        "a_plan_counts_the_items_of_the_subset",
        "a_subset_that_is_not_declared_is_named_with_the_nearest",
    ),
    "tests/command/test_treatments.py": (
        "as_many_calls_are_made_as_were_planned",
        "arms_are_columns_and_what_they_share_is_a_row_in_each",
        "every_arm_has_its_rows_for_every_model",
        "measures_go_by_arms_in_the_order_of_the_plan_with_their_labels",
    ),
    "tests/command/test_why.py": (
        "a_score_is_followed_to_its_judge_its_reply_and_its_item",
        "a_sample_shows_what_was_made_from_it",
        "what_is_not_there_is_an_error_with_a_hint",
        "hostile_text_is_shown_harmlessly",
        "folding_loses_no_character",
        "joiners_of_scripts_that_need_them_stay",
    ),
    "tests/command/test_workers.py": (
        "a_limit_that_leaves_nothing_for_a_worker_is_refused",
        "parts_of_limits_add_up_to_the_whole",
    ),
    "tests/releases/test_extending.py": ("a_release_holds_those_that_it_extends_and_is_verified_and_run_alone",),
    "tests/releases/test_frozen_items.py": ("a_run_of_a_release_makes_no_items_and_takes_those_that_were_frozen",),
    "tests/reuse/test_reuse.py": ("after_an_edit_what_was_never_sent_is_asked_and_nothing_else[a new measure]",),
    "tests/faults/test_network.py": ("a_run_does_what_the_table_promises[faults that fail a call]",),
    "tests/command/test_init.py": (
        "a_template_is_well_formed_and_its_mocks_give_figures_that_differ[judge]",
        "the_commands_of_the_workflow_succeed[judge]",
    ),
}
"""The tests of files in the table that the short form has: one way through what the file is about."""

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
    "tests/command/test_shards.py": (f"{RUNTIME}datasets/", f"{RUNTIME}drivers/", "tripos/api/"),
    "tests/command/test_workers.py": WORKERS,
    "tests/reuse/test_adoption.py::test_edits_one_after_the_other_ask_for_what_is_new_only": (COMPILER, RUNTIME),
    # Pages in a browser, pictures, and what is built with npm or Zensical.
    "tests/annotation/test_page_in_chromium.py": ("tripos/annotation/",),
    "tests/docs/test_gallery.py": ("docs/", "tripos/view/", "tripos/plots/"),
    "tests/docs/test_site.py": ("docs/", "tripos/cli/tools/docs.py"),
    "tests/view/test_built_page.py": ("tripos/view/",),
    "tests/view/test_view_page.py::test_every_page_draws_and_breaks_no_rule": ("tripos/view/",),
    "tests/view/test_view_page.py::test_a_folder_opens_from_disk": ("tripos/view/",),
    "tests/plots": ("tripos/plots/", "tripos/cli/reports/plot.py", f"{WAREHOUSE}report/", f"{WAREHOUSE}query/"),
    # Every query of the pages over several stores.
    "tests/docs/test_queries_mix_nothing.py": ("docs/", f"{WAREHOUSE}query/", f"{WAREHOUSE}views/"),
    "tests/docs/test_docs.py::test_a_query_has_an_answer": ("docs/", f"{WAREHOUSE}query/", f"{WAREHOUSE}views/"),
    # Every verb, export or picture, once for each way in which a text can hurt.
    "tests/command/test_encodings.py::test_the_first_verbs_write_everything": SHOWN,
    "tests/command/test_encodings.py::test_the_script_itself_runs_under_a_locale_of_few_characters": SHOWN,
    "tests/command/test_shown_text.py::test_no_verb_prints_what_a_terminal_obeys": SHOWN,
    "tests/docs/test_prose.py::test_docstrings_have_no_more_banned_openings": PRODUCT,
    "tests/languages/test_translations.py::test_every_translation_is_of_a_message_that_the_sources_have": PRODUCT,
    "tests/languages/test_translations.py::test_every_message_is_translated_as_its_own_template_says": (
        f"{COMPILER}diagnostics/",
    ),
    # Inputs that are made by chance or by slips, and every edit, name or spec there is.
    "tests/fuzz/test_fuzz.py::test_inputs_of_a_seed_are_taken_or_refused": (*PRODUCT, "tests/fuzz/"),
    "tests/reuse/test_reuse.py": (COMPILER, RUNTIME),
    "tests/compiler/test_formatting.py::test_every_spec_can_be_formatted": (COMPILER, "specs/", "docs/examples/"),
    "tests/compiler/test_near_copies.py": (COMPILER,),
    "tests/compiler/test_properties.py::test_every_slip_of_the_hand_changes_a_text_and_follows_from_its_seed": (
        COMPILER,
        "tests/compiler/",
    ),
    "tests/compiler/test_secret_cases_tried.py::test_leaks_are_seen_in_worlds": (COMPILER, RUNTIME),
    "tests/language_server/test_renaming_everything.py": (COMPILER, "tripos/lsp/"),
    # Every fault of a network or a disk that the page promises something for.
    "tests/faults/test_addresses.py": (RUNTIME,),
    "tests/faults/test_network.py": (RUNTIME, "tests/faults/"),
    "tests/faults/test_disks.py::test_a_full_disk_anywhere_names_the_place": PRODUCT,
    "tests/faults/test_disks.py::test_a_store_that_cannot_be_written_says_why": PRODUCT,
    # Work that must not grow faster than a text, measured.
    "tests/compiler/test_many_diagnostics.py::test_work_grows_with_the_text": (COMPILER,),
    # Figures against a second evaluation, or a truth that was planted, by simulation.
    "tests/test_oracle.py": (*FIGURES, "tests/oracle.py"),
    "tests/warehouse/test_lessons_known_truth.py": FIGURES,
    "tests/warehouse/test_measures_coverage.py": FIGURES,
    # Benchmarks at the size of their data.
    "tests/docs/test_cookbook.py": ("docs/", *BENCHMARKS),
    "tests/docs/test_paper_cjeval.py::test_the_counts_of_the_tables_are_those_of_the_plan": PAPERS,
    "tests/docs/test_paper_edubench.py::test_the_calls_are_those_of_the_plan": PAPERS,
    "tests/docs/test_paper_mathtutorbench.py::test_the_calls_of_the_page_are_those_of_the_plan": PAPERS,
    "tests/test_edubench_tables.py": BENCHMARKS,
    "tests/test_teachbench.py": BENCHMARKS,
    # Releases from end to end: each makes, verifies and runs several.
    **{
        f"tests/releases/test_{name}.py": RELEASES
        for name in ("extended_artefacts", "extending", "frozen_items", "majors", "public_runs", "same_run")
    },
    "tests/releases/test_artefacts.py::test_a_run_of_a_release_takes_its_reward_model": RELEASES,
    "tests/releases/test_releases.py::test_every_row_of_a_run_bears_the_digest": RELEASES,
    "tests/releases/test_releases.py::test_a_run_of_a_working_tree_bears_the_commit_and_whether_the_spec_differs": RELEASES,
    # Verbs over one run after another.
    **{
        f"tests/annotation/test_{name}.py": PRODUCT
        for name in ("exports_say_all", "outdated_grades", "people_apart", "taking")
    },
    **{
        f"tests/command/test_{name}.py": PRODUCT
        for name in (
            "compare",
            "comparing_replies",
            "endpoints",
            "expectations",
            "expected_scores",
            "export_held_out",
            "export_replies_of",
            "hostile_rows",
            "import_made",
            "import_scores",
            "interrupted_reports",
            "judged_inside",
            "leaderboard",
            "looked_into",
            "making",
            "next_commands",
            "only",
            "outside_of_a_scale",
            "replay",
            "rows_of_a_run",
            "scores_from_outside",
            "several",
            "subset",
            "treatments",
            "why",
        )
    },
    **{
        f"tests/command/test_{name}": PRODUCT
        for name in (
            "formats.py::test_every_format_has_the_same_rows",
            "widths.py::test_no_line_is_wider_than_the_terminal_but_commands_and_queries",
            "widths.py::test_a_pipe_gets_every_row_of_an_answer_and_every_column",
            "terminals.py::test_no_line_is_wider_than_a_narrow_terminal",
            "forecast_bounds.py::test_results_are_read_and_forecast_from_where_an_event_loop_runs",
            "forecast_bounds.py::test_the_table_of_a_plan_says_what_the_forecast_beneath_it_says",
            "doctor.py::test_the_table_fits_80_columns",
            "first_hour.py::test_a_provider_in_capitals_is_known",
            "secrets.py::test_a_key_that_is_repeated_in_the_headers_of_a_reply_is_kept_nowhere",
            "show.py::test_scores_of_an_outdated_rubric_are_not_counted_and_are_told_last",
            "show.py::test_the_store_is_whole_after_compacting_and_nothing_is_asked_again",
            "sql_shell.py::test_the_quick_answer_is_the_same_as_the_other",
            "api.py::test_a_progress_callback_can_stop_a_run",
            "api.py::test_a_notebook_awaits_a_run_or_calls_it",
            "api.py::test_runs_go_on_side_by_side",
            "api.py::test_a_cancelled_run_is_recorded_and_goes_on_later",
            "api.py::test_a_release_is_made_run_and_verified",
            "run.py::test_a_list_of_items_that_was_taken_away_is_made_again_and_nothing_is_asked",
            "run.py::test_a_limit_is_by_scenario_and_a_seed_draws",
            "run.py::test_a_run_whose_words_nobody_reads_ends_as_any_other",
            "run.py::test_a_run_that_the_disk_ends_still_sums_up_what_it_asked",
            "run.py::test_a_measure_that_the_database_refuses_is_told_in_its_place_and_the_run_ends_with_1",
            "results.py::test_a_score_added_beside_another_of_the_same_judgement_costs_what_is_drawn_anew",
            "results.py::test_another_helper_makes_what_builds_on_it_anew",
            "results.py::test_a_renamed_benchmark_shows_its_results",
            "import_samples.py::test_scores_of_imported_replies_can_be_imported",
            "import_samples.py::test_what_is_imported_is_marked_as_in_its_subsets",
            "import_samples.py::test_replies_to_steps_that_build_on_each_other_are_kept_under_their_arms",
            "export_data.py::test_a_long_reply_of_a_run_is_whole_in_the_workbook",
            "export_data.py::test_the_same_run_gives_the_same_files_of_every_eval_ever",
            "export_data.py::test_arms_are_results_of_their_own",
            "export_training.py::test_replies_that_failed_or_were_cut_off_are_never_exported",
            "verbs.py::test_a_terminal_shows_counts_and_time_left",
            "init.py::test_a_template_is_well_formed_and_its_mocks_give_figures_that_differ",
            "init.py::test_the_commands_of_the_workflow_succeed",
            "completion.py::test_zsh_completes",
            "sql_shell.py::test_a_mistake_is_told_and_the_shell_goes_on",
            "published_figures.py::test_a_figure_is_marked_has_no_rank_and_changes_none",
        )
    },
}


def is_long(node: str) -> bool:
    """Return true if a test, or a file or folder as a whole, is long, by its path from the root."""
    path, _, test = node.partition("::")
    name, _, case = test.partition("[")
    if path in KEPT and (not test or not {name[5:], f"{name[5:]}[{case}"}.isdisjoint(KEPT[path])):
        return False
    parts = path.split("/")
    return f"{path}::{name}" in LONG or any("/".join(parts[:end]) in LONG for end in range(2, len(parts) + 1))
