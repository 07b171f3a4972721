"""The check of a file of grades: a fault in one row leaves nothing to keep of any."""

from __future__ import annotations

from tripos.annotation.batch import AssignedReply, Batch, EnteredGrade, RequestedGrade, ReturnedGrades, check_grades

MARK = RequestedGrade("CLEAR", "CLEAR", "score", 1, 5, True)


def reply(row: str) -> AssignedReply:
    names = {"scenario": "sums", "item_id": "i", "language": "en", "sample_id": f"sample {row}", "model": "m"}
    judged = {"scorer": "rubric", "judgement_id": f"judgement {row}", "judgement": "j", "fingerprint": "f"}
    return AssignedReply(row=row, binding="b", marks=(MARK,), **names, **judged)


def answers(**values: object) -> ReturnedGrades:
    entries = tuple(EnteredGrade(row, "CLEAR", value, f"Grades!{row}") for row, value in values.items())
    return ReturnedGrades("batch", {row: f"Grades!{row}" for row in values}, entries, {})


BATCH = Batch("batch", "r1", "quiz", "judge", "anna", 0, "2026-03-01T08:00:00+00:00", {}, (reply("a"), reply("b")), 1)


def test_a_file_without_a_fault_has_a_score_for_each_reply() -> None:
    taken = check_grades(BATCH, answers(a=4, b=5), partial=False)
    assert ([score.value for score in taken.scores], taken.faults, taken.unfinished) == ([4.0, 5.0], (), ())


def test_a_file_with_a_fault_has_no_score() -> None:
    taken = check_grades(BATCH, answers(a=4, b=9), partial=False)
    assert taken.scores == ()
    assert [fault.address for fault in taken.faults] == ["Grades!b"]
