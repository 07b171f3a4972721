from .near_copies import (
    HeldOutTexts as HeldOutTexts,
    NearCopies as NearCopies,
    learned_texts as learned_texts,
)
from .near_duplicates import (
    ALIKE as ALIKE,
    NearTexts as NearTexts,
    letters_and_digits as letters_and_digits,
    runs_of as runs_of,
)
