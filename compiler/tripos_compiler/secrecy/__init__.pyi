from .proof import (
    check_marks as check_marks,
    prove as prove,
)
