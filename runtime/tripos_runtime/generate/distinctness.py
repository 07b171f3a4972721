"""Finds rows that come too near to texts which nobody who makes them is shown: `distinct VALUE from OTHERS`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.language import evaluate, without_reveal
from tripos_compiler.language.contamination import NearTexts
from tripos_compiler.plan import Data, Distinct, Made
from tripos_runtime.datasets import Rejection, Sources


@dataclass
class Others:
    """The texts that rows of a data set must be distinct from, read when they are first compared with."""

    made: Made
    sources: Sources
    _texts: dict[int, NearTexts[int]] = field(default_factory=dict)

    def rejection(self, number: int, names: Mapping[str, Any]) -> Rejection | None:
        """Return why a row is rejected by the `distinct` of that number, counted from 1, if it is. `names` is what
        expressions see of it. Raises `Unavailable` where there is nothing to compare."""
        distinct = self.made.distinct[number - 1]
        near = self._near(number).find(evaluate(distinct.value, names))
        if near is None:
            return None
        place, similarity = near
        told = {"number": number, **self._named(distinct, place), "similarity": round(similarity, 3)}
        return Rejection("too_near", told)

    def _near(self, number: int) -> NearTexts[int]:
        if number not in self._texts:
            distinct = self.made.distinct[number - 1]
            texts = self._texts[number] = NearTexts(distinct.above)
            for place, text in enumerate(evaluate(distinct.others, self.sources.names)):
                if isinstance(text, str):
                    texts.add(place, text)
        return self._texts[number]

    def _named(self, distinct: Distinct, place: int) -> Mapping[str, Any]:
        """Return the item that a text is of, where it is a column's."""
        others = without_reveal(distinct.others)
        return {"of": self.sources.rows[others.dataset][place].item_id} if isinstance(others, Data) else {}
