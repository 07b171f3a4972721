"""Finds the item that a row is about: by its id, by its place in the scenario, or by what its fields say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tripos.importing.records import FileRow, is_blank
from tripos.importing.row_errors import UnfitValue, whole
from tripos_compiler.diagnostics import nearest
from tripos_compiler.language import DoesNotFit, read_value
from tripos_compiler.plan import Axis, DataField, Plan, Scenario, canonical


@dataclass(frozen=True)
class PlannedItem:
    """An item of a scenario. `position` counts the items of the scenario from 1; 0 where that is not known."""

    scenario: str
    item_id: str
    context: Mapping[str, str]
    fields: Mapping[str, Any]
    position: int = 0


@dataclass
class ItemIndex:
    """The items of a plan."""

    plan: Plan
    items: Sequence[PlannedItem]
    own: Sequence[str] = ()
    """What rows say beside what an item is: the columns of these are not taken for fields of an item."""
    by_id: dict[str, list[PlannedItem]] = field(default_factory=dict)
    by_place: dict[tuple[str, int], PlannedItem] = field(default_factory=dict)
    _by_fields: dict[tuple[str, tuple[str, ...]], dict[bytes, list[PlannedItem]]] = field(default_factory=dict)
    _of: dict[str, list[PlannedItem]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.axes: dict[str, Axis] = {axis.name: axis for axis in self.plan.axes}
        for item in self.items:
            self.by_id.setdefault(item.item_id, []).append(item)
            self._of.setdefault(item.scenario, []).append(item)
            if item.position:
                self.by_place[item.scenario, item.position] = item

    @property
    def field_names(self) -> frozenset[str]:
        """Everything by which an item can be told: the fields of data sets, and the axes."""
        return frozenset({each.name for each in self._every_field} | self.axes.keys())

    @property
    def columns(self) -> frozenset[str]:
        """The columns that may tell an item: the names of its fields, and what they are called in the data."""
        return self.field_names | {column for each in self._every_field for column in each.columns}

    @property
    def _every_field(self) -> Iterator[DataField]:
        for fields in self._fields_of.values():
            yield from fields

    @property
    def _fields_of(self) -> dict[str, tuple[DataField, ...]]:
        """The fields of every data set, by its name."""
        read = {each.name: each.fields for each in self.plan.datasets}
        return read | {each.name: each.fields for each in self.plan.made}

    def scenario(self, record: FileRow) -> Scenario | None:
        """Return the scenario that a row names, by name or title; None where it names none. Raises `UnfitValue`."""
        said = record.text("scenario")
        if said is None:
            return None
        for each in self.plan.scenarios:
            titles = self.plan.titles.get("scenario", {}).get(each.name, {}).values()
            if said.casefold() in {text.casefold() for text in (each.name, each.title, *titles)}:
                return each
        known = [each.name for each in self.plan.scenarios]
        close = nearest(said, known)
        raise UnfitValue("scenario", said, f"no such scenario; {_meant(close, known)}")

    def find(self, record: FileRow) -> PlannedItem:
        """Return the one item that a row is about. Raises `UnfitValue` where there is none, or where it could be
        several."""
        found, field, value = self.candidates(record)
        return _only(found, field, value)

    def candidates(self, record: FileRow) -> tuple[list[PlannedItem], str, Any]:
        """Return the items that a row may be about, the field that says so and its value. Raises `UnfitValue` where
        there is none."""
        found, field, value = self._candidates(record)
        return found or [_only(found, field, value)], field, value

    def _candidates(self, record: FileRow) -> tuple[list[PlannedItem], str, Any]:
        scenario = self.scenario(record)
        within = [each.name for each in self.plan.scenarios if scenario is None or each is scenario]
        if (said := record.text("item")) is not None:
            known = [each for each in self.by_id.get(said, ()) if each.scenario in within]
            if not known:
                fields = dict.fromkeys(each.name for name in within for each in self._fields(self.plan_scenario(name)))
                told = f"; a column may say it by what it holds: {', '.join([*fields][:4])}" if fields else ""
                raise UnfitValue("item", said, f"no item of the benchmark has this id{told}")
            return known, "item", said
        if (place := whole(record.get("position"), "position")) is not None:
            if scenario is None:
                raise UnfitValue(
                    "position", place, "a position counts the items of a scenario, and no scenario is named"
                )
            found = self.by_place.get((scenario.name, place))
            return [] if found is None else [found], "position", place
        return self._by_what_it_says(record, within)

    def _by_what_it_says(self, record: FileRow, within: Iterable[str]) -> tuple[list[PlannedItem], str, Any]:
        found: list[PlannedItem] = []
        tried: dict[str, Any] = {}
        for name in within:
            said = self._said(record, self.plan_scenario(name))
            if said:
                tried |= said
                found += self._index(name, tuple(said)).get(_key(said), ())
        if not tried:
            raise UnfitValue(
                "item", None, "nothing says which item it is about: no item_id, position, or field of an item"
            )
        names = ", ".join(tried)
        return found, names, next(iter(tried.values())) if len(tried) == 1 else None

    def plan_scenario(self, name: str) -> Scenario:
        """Return the scenario of that name."""
        return next(each for each in self.plan.scenarios if each.name == name)

    def _said(self, record: FileRow, scenario: Scenario) -> dict[str, Any]:
        """Return what a row says of an item of a scenario, typed as the data set has it; what cannot be read so is left
        out, unless the mapping says that it is there."""
        said: dict[str, Any] = {}
        taken = {record.told.column(name, record.said) for name in self.own} | set(record.told.columns.values())
        for each in self._fields(scenario):
            if each.name in record.told.columns or each.name in record.told.set:
                value = record.get(each.name)
            else:
                free = (c for c in (each.name, *each.columns) if c not in taken)
                value = next((v for c in free if not is_blank(v := record.said.get(c))), None)
            if value is None:
                continue
            try:
                said[each.name] = read_value(each.type, value, self.axes)
            except DoesNotFit:
                if each.name in record.told.columns or each.name in record.told.set:
                    raise UnfitValue(each.name, value, f"no item of `{scenario.name}` can have this") from None
        named = {each for each in scenario.axes if each not in said}
        return said | {axis: value for axis in sorted(named) if (value := self._axis(record, axis)) is not None}

    def _fields(self, scenario: Scenario) -> tuple[DataField, ...]:
        rows = scenario.rows
        if rows is None:
            return ()
        return self._fields_of.get(rows.dataset, ())

    def _axis(self, record: FileRow, name: str) -> str | None:
        said = record.text(name)
        if said is None:
            return None
        for value in self.axes[name].values:
            if said.casefold() in {value.name.casefold(), *(text.casefold() for text in value.labels.values())}:
                return value.name
        raise UnfitValue(name, said, f"the axis `{name}` has no such value")

    def _index(self, scenario: str, names: tuple[str, ...]) -> dict[bytes, list[PlannedItem]]:
        if (scenario, names) not in self._by_fields:
            index: dict[bytes, list[PlannedItem]] = {}
            for item in self._of.get(scenario, ()):
                told = {**item.context, **item.fields}
                index.setdefault(_key({name: told.get(name) for name in names}), []).append(item)
            self._by_fields[scenario, names] = index
        return self._by_fields[scenario, names]


def _key(said: Mapping[str, Any]) -> bytes:
    return canonical(said)


def _only(found: Sequence[PlannedItem], field: str, value: Any) -> PlannedItem:
    """Return the one item that was found. Raises `UnfitValue` for none and for several."""
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnfitValue(field, value, "no item of the benchmark has this")
    scenarios = sorted({item.scenario for item in found})
    if len(scenarios) > 1:
        raise UnfitValue(
            field, value, f"items of {len(scenarios)} scenarios have this: {', '.join(scenarios)}; name one"
        )
    raise UnfitValue(field, value, f"{len(found)} items have this: say more of the one that is meant")


def _meant(close: str | None, known: Sequence[str]) -> str:
    return (
        f"did you mean `{close}`?" if close else f"there are {', '.join(known[:8])}" + ("…" if len(known) > 8 else "")
    )
