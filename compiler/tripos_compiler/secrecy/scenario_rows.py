"""The rows that a scenario runs over, and the secrets of them that the compared role may not be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from tripos_compiler.plan import Expr, Ref, Scenario
from tripos_compiler.secrecy.generation import TableSecrets
from tripos_compiler.secrecy.labels import PUBLIC, About, Flow, Secret, Secrets, TaintTrail, called
from tripos_compiler.secrecy.regions import OWN, Condition, are_disjoint, conditions
from tripos_compiler.secrecy.tables import BoundRows, DatasetSecrets
from tripos_compiler.source import dataclass


@dataclass
class RowsAtHand:
    """The rows of a scenario, and what is guarded of them and of what else its steps look up."""

    tables: DatasetSecrets
    scenario: Scenario
    about: Mapping[str, list[About]] = field(default_factory=dict)
    """What the rows are about, by the data set that it is of: the compared role may not be told it."""
    guarded: dict[str, set[About]] = field(default_factory=dict)
    """What else it may not be told."""

    @property
    def alias(self) -> str:
        """Return what the rows are known as."""
        return self.scenario.rows.alias if self.scenario.rows is not None else ""

    @property
    def table(self) -> TableSecrets | None:
        """The rows that it runs over."""
        return self.tables.of(self.scenario.rows.dataset) if self.scenario.rows is not None else None

    def bind(self) -> dict[str, Flow]:
        """Return what the names of the rows at hand tell, and guard what these rows are about."""
        if self.scenario.name not in self.tables.at_hand:
            self.tables.at_hand[self.scenario.name] = self._bound()
        bound = self.tables.at_hand[self.scenario.name]
        self.about = bound.about
        return dict(bound.names)

    def guard(self, about: About) -> None:
        """Keep these rows from the compared role."""
        self.guarded.setdefault(about.dataset, set()).add(about)

    def _bound(self) -> BoundRows:
        names = dict.fromkeys((*self.scenario.axes, *self.scenario.arms, "language", "metrics"), PUBLIC)
        rows, table = self.scenario.rows, self.table
        if rows is None or table is None:
            return BoundRows(names)
        fields = {name: flow.mapped(self._own(name)) for name, flow in table.rows.element.fields.items()}
        names[rows.alias] = Flow(fields=fields)
        names |= {axis: fields[axis] for axis in self.scenario.axes if axis in fields}
        where = self.conditions(rows.where, {rows.alias: table})
        about: dict[str, list[About]] = {}
        for each in table.about:
            about.setdefault(each.dataset, []).append(replace(each, conditions=each.conditions | where))
        return BoundRows(names, about)

    def _own(self, column: str) -> Callable[[Secrets], Secrets]:
        """Return secrets of the row at hand, called as the rows are called here. That the row is there is no secret of
        it."""
        rows, table = self.scenario.rows, self.table
        assert rows is not None and table is not None

        def own(secrets: Secrets) -> Secrets:
            found: dict[Secret, tuple[TaintTrail, ...]] = {}
            for secret, ways in secrets.items():
                here = secret.dataset == rows.dataset
                named = called({secret: ways}, f"{self.alias}.{column}")[secret] if here else ways
                its = not secret.rows.other and table.is_about(secret)
                own = Secret(secret.dataset, secret.column, OWN if its else secret.rows.elsewhere)
                found[own] = tuple(dict.fromkeys((*found.get(own, ()), *named)))
            return found

        return own

    def conditions(self, where: Expr | None, tables: Mapping[str, TableSecrets]) -> frozenset[Condition]:
        """Return what a condition says of public columns of the rows that these names stand for, also beside the row at
        hand."""
        if where is None:
            return frozenset()
        table = self.table
        own = {self.alias: table} if table is not None and self.alias not in tables else {}

        def column(expr: Expr) -> tuple[str, bool] | None:
            if not isinstance(expr, Ref) or len(expr.path) != 2:
                return None
            name, inner = expr.path
            of = tables.get(name) or own.get(name)
            known = of.columns.get(inner) if of is not None else None
            return (known, name in own) if known is not None else None

        return conditions(where, column)

    def guards(self, secret: Secret) -> bool:
        """Return true if the compared role may not be told a secret."""
        if secret.rows.own:
            return True
        return any(
            each.has(secret) and not are_disjoint(secret.rows.conditions, each.conditions, each.at_hand)
            for each in (*self.about.get(secret.dataset, ()), *self.guarded.get(secret.dataset, ()))
        )
