"""Order of declarations that build on each other."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from tripos_compiler.lowering.declarations import in_order

NAMES = st.sampled_from("abcdef")


@given(needs=st.dictionaries(NAMES, st.lists(NAMES, max_size=3), max_size=6))
def test_each_name_comes_once_and_after_what_it_needs(needs: dict[str, list[str]]) -> None:
    order, cycles = in_order(needs)
    assert sorted(order) == sorted(needs)
    circular = [name for cycle in cycles for name in cycle]
    assert len(circular) == len(set(circular)), "cycles have no name in common"
    for cycle in cycles:
        assert all(need in needs[name] for name, need in pairwise([*cycle, cycle[0]]))
        assert cycle[0] == min(cycle, key=list(needs).index)
    for name in needs.keys() - set(circular):
        known = [need for need in needs[name] if need in needs]
        assert all(order.index(need) < order.index(name) for need in known)
    if all(
        list(needs).index(need) < place for place, each in enumerate(needs) for need in needs[each] if need in needs
    ):
        assert order == list(needs), "what is in order stays as it is"


def test_a_long_chain_is_put_in_order() -> None:
    names = [str(number) for number in range(5000)]
    order, cycles = in_order({name: [after] for name, after in pairwise(names)} | {names[-1]: []})
    assert order == names[::-1] and cycles == []
