"""Names that fields of JSON have in replies."""

from __future__ import annotations

REASON_KEYS = frozenset(
    {
        "reason",
        "reasoning",
        "comment",
        "comments",
        "rationale",
        "explanation",
        "justification",
        "feedback",
        "理由",
        "原因",
        "评语",
        "说明",
        "解释",
        "评价",
        "依据",
    }
)
"""Fields that give the reasons of a value."""
