from .near_copies import (
    KeptOut as KeptOut,
    NearCopies as NearCopies,
    learned_texts as learned_texts,
)
from .near_duplicates import (
    ALIKE as ALIKE,
    NearTexts as NearTexts,
    runs_of as runs_of,
    what_counts as what_counts,
)
