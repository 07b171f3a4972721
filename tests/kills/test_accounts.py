"""The proof notices what it is there to notice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace

from tests.kills.accounts import MARGIN_S, Account, settle, wanted_of
from tests.kills.contents import differences
from tests.kills.counting_server import Asked, serving
from tests.kills.work import KEPT

KILL_S = 10.0
LONG_BEFORE_S = KILL_S - 2 * MARGIN_S
SHORTLY_BEFORE_S = KILL_S - MARGIN_S / 2
CLIENT = """
import json, socket, sys, time
port, reads = sys.argv[1:]
body = json.dumps({"model": "m", "messages": [], "seed": 3}).encode()
with socket.create_connection(("127.0.0.1", int(port))) as server:
    head = f"POST /store/client/chat/completions HTTP/1.1\\r\\ncontent-length: {len(body)}\\r\\n\\r\\n"
    server.sendall(head.encode() + body)
    if reads == "True":
        server.recv(65536)
    print(flush=True)
    time.sleep(60)
"""


def asked(process: str, arrived_s: float, handed_s: float | None, body: str = "body", status: int = 200) -> Asked:
    return Asked(f"/store/{process}", body, 1, arrived_s, status, handed_s)


def settled(*requests: Asked, needed: int = 1) -> Account:
    """Return the account of requests of `killed`, which was killed at 10 s, and of `other`, which was not."""
    return settle(requests, {"killed": KILL_S, "other": None}, Counter({"body": needed}))


def test_a_reply_that_came_long_before_the_kill_must_not_be_asked_for_again() -> None:
    account = settled(asked("killed", 9.0, LONG_BEFORE_S), asked("other", 11.0, 11.1))
    assert account.complaints[0] == "body was asked again by `other`"


def test_a_reply_under_way_at_the_kill_may_be_asked_for_again_and_only_once() -> None:
    once = settled(asked("killed", 9.0, None), asked("other", 11.0, 11.1))
    assert (once.complaints, once.lost, once.again, once.oldest_s) == ((), 1, 1, 0.0)
    twice = settled(asked("killed", 9.0, None), asked("other", 11.0, 11.1), asked("other", 12.0, 12.1))
    assert twice.complaints == (
        "body was asked again by `other`",
        "3 replies, where 1 were needed and 1 lost",
    )


def test_a_reply_that_came_shortly_before_the_kill_may_be_asked_for_again() -> None:
    account = settled(asked("killed", 9.0, SHORTLY_BEFORE_S), asked("other", 11.0, 11.1))
    assert account.complaints == ()
    assert round(account.oldest_s, 6) == round(KILL_S - SHORTLY_BEFORE_S, 6)


def test_a_reply_that_came_long_before_the_kill_and_was_never_read_may_be_asked_for_again() -> None:
    unread = replace(asked("killed", 5.0, 6.0), unread=True)
    assert settled(unread, asked("other", 11.0, 11.1)).complaints == ()
    assert settled(replace(unread, place="/store/other"), asked("other", 11.0, 11.1)).complaints != ()


def test_the_server_knows_which_reply_a_killed_process_had_not_read() -> None:
    with serving(latency_s=0.0) as server:
        for count, reads in enumerate((True, False), start=1):
            process = subprocess.Popen(
                [sys.executable, "-c", CLIENT, str(server.port), str(reads)], stdout=subprocess.PIPE
            )
            assert process.stdout is not None
            process.stdout.readline()  # the request is sent, and where it reads, the reply is read
            assert server.wait_for(lambda count=count: server.answered["store"] == count, 10)  # type: ignore[misc]
            process.kill()
            process.wait()
            process.stdout.close()
            assert server.wait_for(lambda: server.asked[-1].connection in server.closed_s, 10)
    assert [each.unread for each in server.asked] == [False, True]


def test_a_reply_that_came_shortly_before_the_kill_may_have_been_kept() -> None:
    assert settled(asked("killed", 9.0, SHORTLY_BEFORE_S)).complaints == ()


def test_two_processes_must_not_ask_the_same_at_once() -> None:
    account = settled(asked("other", 8.0, 12.0), asked("killed", 9.0, None))
    assert account.complaints[0] == "body was asked again by `killed`"


def test_a_process_must_not_ask_for_what_its_neighbour_waited_for_when_both_live() -> None:
    account = settled(asked("killed", 8.0, None), asked("other", 9.0, 9.5))
    assert account.complaints[0] == "body was asked again by `other`"


def test_what_is_needed_twice_may_be_asked_twice() -> None:
    assert settled(asked("other", 8.0, 9.0), asked("other", 8.5, 9.0), needed=2).complaints == ()


def test_what_was_never_answered_is_missed() -> None:
    assert settled(asked("other", 8.0, 9.0), needed=2).complaints == ("body was answered 1 times of 2",)


def test_what_nobody_needs_is_noticed() -> None:
    account = settled(asked("other", 8.0, 9.0), asked("other", 8.0, 9.0, body="else"))
    assert account.complaints[0] == "else was asked again by `other` though nobody needs it"


def test_a_refused_request_is_no_reply() -> None:
    account = settled(asked("other", 7.0, 7.1, status=429), asked("other", 8.0, 9.0))
    assert (account.complaints, account.refused, account.replies) == ((), 1, 1)
    assert wanted_of([asked("other", 7.0, 7.1, status=429)]) == Counter()


def test_tables_that_differ_in_one_row_are_noticed() -> None:
    same = {table: [b"1", b"2"] for table in KEPT}
    assert differences(same, same) == []
    [told] = differences(same | {"scores": [b"1", b"3"]}, same)
    assert "`scores` has 2 rows for 2, 1 others, 1 missing" in told
    [told] = differences(same | {"items": [b"1", b"2", b"2"]}, same)
    assert "`items` has 3 rows for 2" in told
