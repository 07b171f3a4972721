"""Writes the verdicts of scikit-learn 1.9.1 on the annotations of the test: macro F1 and accuracy, exact and lenient.

    python -m tests.gallery.originals.mrbench > tests/gallery/verdicts/mrbench.jsonl

The organisers of the BEA 2025 shared task have not published their scorer. Their overview (arXiv:2507.10579) names
accuracy and macro F1 over `Yes`, `To some extent` and `No`, and the same with the first two taken for one.
"""

from __future__ import annotations

import json

from sklearn.metrics import accuracy_score, f1_score

from tests.gallery.mrbench_rows import LABELS, annotations


def main() -> None:
    """Print a line for each ability. Replies in which no label can be read are left out."""
    for ability, steps in LABELS.items():
        read = [(steps.index(true) + 1, said) for each, _, true, said, _ in annotations() if each == ability and said]
        gold, said = [list(each) for each in zip(*read, strict=True)]
        some_gold, some_said = [each < 3 for each in gold], [each < 3 for each in said]
        verdict = {
            "ability": ability,
            "n": len(read),
            "exact_f1": f1_score(gold, said, average="macro"),
            "exact_accuracy": accuracy_score(gold, said),
            "lenient_f1": f1_score(some_gold, some_said, average="macro"),
            "lenient_accuracy": accuracy_score(some_gold, some_said),
        }
        print(json.dumps(verdict))


if __name__ == "__main__":
    main()
