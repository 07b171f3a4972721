"""The tables of faults: each fault with what is promised, and the test that shows it. `docs/explanation/failure-model.md` has them."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from tests.faults.network import FAULTS, WORDS


class Row(NamedTuple):
    """A fault, the promise, and the test that shows it, `FILE::TEST` below `tests/`."""

    fault: str
    promise: str
    test: str


STOPS = "stops after three attempts (R0101); exit 1; the next run goes on"
ADDRESSES = (
    Row("a port that refuses connections", STOPS, "faults/test_addresses.py::test_a_port_that_refuses_connections"),
    Row("a name that does not exist", STOPS, "faults/test_addresses.py::test_a_name_that_does_not_exist"),
    Row("a proxy that is down", STOPS, "faults/test_addresses.py::test_a_proxy_that_is_down"),
    Row("a server that speaks no TLS", STOPS, "faults/test_addresses.py::test_a_server_that_speaks_no_tls"),
    Row("a TLS handshake without an end", STOPS, "faults/test_addresses.py::test_a_server_that_is_silent_within_the_tls_handshake"),
    Row("a certificate that is not trusted", STOPS, "faults/test_addresses.py::test_a_certificate_that_nobody_signed"),
    Row("a kept connection that is gone at the next call", "asks again; exit 0", "faults/test_addresses.py::test_a_connection_that_is_gone_when_the_next_call_comes_is_opened_again"),
    Row("a server that goes away", "keeps what was answered; the next run asks the rest", "faults/test_addresses.py::test_a_server_that_goes_away_within_a_run_and_comes_back"),
    Row("an endpoint that is silent for minutes", "waits, and tests with one call at a time", "runtime/test_limits_circuit.py::test_no_call_is_lost_while_an_endpoint_is_away_for_minutes"),
    Row("large replies to many calls at once", "calls wait for room in memory", "runtime/test_reply_memory.py::test_many_calls_with_large_replies_hold_no_more_than_the_room_and_all_of_them_end"),
)  # fmt: skip
"""Faults of the way to a server, and of many calls."""

DISKS = (
    Row("full: journal", "the run stops (S0102); replies to calls under way go into reserved room", "warehouse/test_journal.py::test_a_disk_that_is_full_takes_what_is_under_way_into_the_room_that_was_reserved"),
    Row("full: journal and reserved room", "rows stay in memory and go with the next flush", "warehouse/test_journal.py::test_a_full_disk_under_keep_is_an_error_and_the_rows_go_with_a_later_flush"),
    Row("full: everything, until the run ends", "the run says how many results were not written; the next run asks for them again", "warehouse/test_journal.py::test_what_no_disk_takes_is_counted"),
    Row("full: new journal", "the run stops (S0102); rows stay in memory", "warehouse/test_journal.py::test_no_room_for_a_journal_keeps_rows_in_memory"),
    Row("full: half a line of the journal", "is taken back; the rows before it are kept", "warehouse/test_journal.py::test_half_a_line_does_not_swallow_the_next_one"),
    Row("full: a part", "earlier commits are kept; nothing half is left", "warehouse/test_store.py::test_a_disk_that_refuses_a_part_keeps_earlier_commits"),
    Row("full: a commit", "no part without a commit is left", "warehouse/test_store.py::test_a_disk_that_refuses_the_commit_leaves_no_part"),
    Row("full: the end of a run", "the summary is printed; the next run asks the rest", "command/test_run.py::test_a_run_that_the_disk_ends_still_sums_up_what_it_asked"),
    Row("full: compaction", "the store stays as it is", "command/test_run.py::test_a_store_that_has_no_room_to_be_compacted_is_reported_on_all_the_same"),
    Row("full: an answer or an export", "an error with the path; the old file stays", "warehouse/test_answers.py::test_an_answer_that_cannot_be_written_leaves_the_old_file"),
    Row("full: a file that a command writes", "`the disk is full: cannot write PATH`; nothing half is left", "faults/test_disks.py::test_a_file_without_room_is_named_and_nothing_half_is_left"),
    Row("full: the cache of `check`", "goes on without the cache", "faults/test_disks.py::test_check_does_without_its_cache_where_the_disk_is_full"),
    Row("full: anywhere else", "`the disk is full: PATH` (S0102); exit 2", "faults/test_disks.py::test_a_full_disk_anywhere_names_the_place"),
    Row("read-only, no permission, input or output error", "S0102 with the reason; exit 1", "faults/test_disks.py::test_a_store_that_cannot_be_written_says_why"),
    Row("`rename` fails", "the old file stays; nothing half is left", "faults/test_disks.py::test_a_file_that_cannot_take_the_place_of_the_old_one_leaves_it"),
    Row("`fsync` fails", "S0102; the rows go with the next flush", "faults/test_disks.py::test_a_journal_that_cannot_be_synced_is_an_error_and_nothing_is_lost"),
    Row("a commit that is written and reported as failed", "is not written twice", "warehouse/test_journal.py::test_a_commit_that_was_written_and_reported_as_failed_is_not_written_again"),
    Row("a part that is gone or cut short", "is named (S0103); the rest is read", "warehouse/test_store.py::test_a_part_that_is_gone_or_cut_short_is_named"),
    Row("a part of rubbish", "is named (S0103)", "warehouse/test_store.py::test_a_part_of_rubbish_is_named"),
    Row("a journal that is cut at any byte", "every whole line is kept; a line that breaks off is told (S0404)", "faults/test_disks.py::test_a_journal_that_is_cut_anywhere_gives_the_lines_that_are_whole"),
    Row("a row of the journal that is damaged or has changed", "is set aside (S0404); the rest is kept", "warehouse/test_damaged_stores.py::test_one_bad_row_of_a_journal_is_set_aside_and_the_rest_is_there"),
    Row("a bit that flips in a part, a commit, a journal or a record", "`store check` fails and names the file", "warehouse/test_changed_bytes.py::test_check_fails_or_all_contents_are_the_same"),
    Row("a bit that flips in what is kept for the next command", "it is made again", "warehouse/test_changed_bytes.py::test_every_bit_of_every_file_that_flips_is_told_or_has_no_effect"),
    Row("a part that changed is read by `report`, `sql` or another command", "is left out and named (S0103); exit 1", "warehouse/test_damaged_stores.py::test_an_answer_without_rows_that_were_committed_is_no_success"),
    Row("a part that changed is compacted, merged, mirrored, exported or uploaded", "is refused or left out (S0103)", "warehouse/test_changed_bytes.py::test_what_writes_rows_once_more_refuses_a_part_that_changed"),
    Row("a file that changed in the copy of a bucket", "is fetched again", "bucket/test_copies.py::test_a_copy_that_changed_is_mended_when_it_is_opened"),
    Row("the folder of the store behind a link", "is used", "warehouse/test_untrusted.py::test_the_folder_of_a_store_itself_may_lie_behind_a_link"),
    Row("a part that is a link or a pipe", "is not read", "warehouse/test_untrusted.py::test_a_part_that_is_a_link_is_not_read"),
    Row("no locks", "every claim is given; two runs at a time may ask twice", "warehouse/test_claims.py::test_where_there_are_no_locks_every_claim_is_had"),
    Row("no locks: the journal of another process", "is left alone for an hour", "warehouse/test_journal.py::test_without_locks_a_journal_is_left_for_an_hour"),
    Row("no hard links", "none is made", "faults/test_disks.py::test_a_run_makes_no_hard_link"),
    Row("names without upper and lower case", "no two names differ in case alone", "faults/test_disks.py::test_names_of_files_differ_in_more_than_case"),
)  # fmt: skip
"""Faults of disks and file systems."""

CLOCKS = (
    Row("the clock of the system jumps back and forth", "no result changes; nothing is asked again", "faults/test_clocks.py::test_a_clock_that_jumps_back_and_forth_changes_no_result"),
    Row("a machine's clock is days off, or goes back", "a later commit counts as later", "faults/test_clocks.py::test_what_is_committed_later_counts_whatever_the_clocks_say"),
    Row("the clock goes back between two runs", "the later run is still the latest", "faults/test_clocks.py::test_the_latest_run_is_the_one_that_began_last"),
    Row("times of files in the past or the future", "all is read; only old leftovers are removed", "faults/test_clocks.py::test_files_from_another_time_are_read_and_only_old_rubbish_goes"),
    Row("a process that is stopped longer than a timeout", "goes on; the next run asks for calls that timed out", "faults/test_clocks.py::test_a_process_that_is_stopped_longer_than_its_timeout_loses_no_row"),
    Row("a process that is stopped while another one waits", "keeps its claims; nothing is asked twice", "faults/test_clocks.py::test_a_process_that_is_stopped_keeps_its_claims_and_nothing_is_asked_twice"),
    Row("a process that is killed at any time", "no reply is asked for again; no table changes", "kills/test_kills.py::test_kills_at_any_instant_cost_no_reply_and_change_no_table"),
    Row("Ctrl-C in a run", "calls in flight are finished and kept; exit 130", "kills/test_interrupts.py::test_ctrl_c_finishes_what_is_under_way_and_the_same_command_asks_the_rest"),
    Row("Ctrl-C while the report is made", "exit 130; nothing is asked again", "faults/test_disks.py::test_an_interrupt_while_the_report_is_made_is_told_as_one"),
    Row("Ctrl-C in a query", "exit 130", "faults/test_disks.py::test_ctrl_c_ends_a_query"),
)  # fmt: skip
"""Faults of clocks and processes."""


def tables() -> dict[str, str]:
    """Return each table as Markdown, by the name of its place in the page."""
    network = [("fault of a call", "a run")]
    for (group, promise), faults in groupby(FAULTS, key=lambda fault: (fault.group, fault.promise)):
        some = list(faults)
        codes = sorted({fault.code for fault in some if fault.code is not None})
        told = f"{WORDS[promise]} ({', '.join(codes)})" if codes else WORDS[promise]
        network.append((f"{group}: {', '.join(fault.name for fault in some)}", told))
    found = {"network": network, "addresses": [("fault of the way to a server", "a run")]}
    found["addresses"] += [(row.fault, row.promise) for row in ADDRESSES]
    found["disks"] = [("fault of a disk", "Tripos"), *((row.fault, row.promise) for row in DISKS)]
    found["clocks"] = [("fault of a clock or a process", "Tripos"), *((row.fault, row.promise) for row in CLOCKS)]
    return {name: _markdown(rows) for name, rows in found.items()}


def _markdown(rows: list[tuple[str, str]]) -> str:
    head, *rest = [f"| {fault} | {promise} |" for fault, promise in rows]
    return "\n".join([head, "| --- | --- |", *rest])
