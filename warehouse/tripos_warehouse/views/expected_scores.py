"""Scores that were expected of raters from outside a run and are not there, as rows of the view of scores.

Whoever graded any reply of a scorer in a round was to grade every reply that the scorer is given, on every metric that
is allocated to it. What is missing of that has no value and the status `not_given`, so that it is in the denominator of
coverage, and `missing: zero` and `missing: fail` see it, as they see what a judge of the run could not give.
"""

from __future__ import annotations

from tripos_compiler.language.figures import Range, ranges_of
from tripos_compiler.plan import Ask, Grade, Plan, Score, turns_before
from tripos_warehouse import sql
from tripos_warehouse.views.dimensions import last_turns


def range_columns(plan: Plan) -> dict[str, str]:
    """Return the columns `low` and `high` of the rows known as `score`, beside the `metric` that each is called like.

    The ends are those that the score's own step gives it, or else the metric's. What an expression comes to has none,
    unless it is true or false, or a field that has a scale.
    """
    fingerprints: dict[Range, set[str]] = {}
    ranges = ranges_of(plan)
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Score) or (isinstance(step, Grade) and not step.metrics):
                found = ranges.scale_of(scenario, step)
                if found is not None:
                    fingerprints.setdefault(found, set()).add(step.fingerprint)
    return {name: _column(name, place, fingerprints) for place, name in enumerate(("low", "high"))}


def _column(name: str, place: int, fingerprints: dict[Range, set[str]]) -> str:
    if not fingerprints:
        return f"metric.{name}"
    whens = " ".join(
        f"when score.fingerprint in ({', '.join(map(sql.text, sorted(found)))}) then {ends[place]:.0f}::bigint"
        for ends, found in sorted(fingerprints.items())
    )
    return f"case {whens} else metric.{name} end as {name}"


NOT_GIVEN = "not_given"
OF_REPLY = "^(sample_id|item_id|model|run_id|shown_run|created_at)$"
"""The columns that the row of a score takes over from its reply."""


def with_expected(plan: Plan, scores: str) -> str:
    """Return the query `scores`, and with it those that raters did not give. What is said of replies that are not
    shown, or of what another model made of one that is, makes nobody a rater here. It reads the benchmark's view of
    samples."""
    wanted = sorted(_wanted(plan))
    if not wanted:
        return scores
    schema = sql.name(plan.benchmark.name)
    rows = ", ".join(f"({', '.join(map(sql.text, row))})" for row in wanted)
    graded = ", ".join(sorted({sql.text(row[2]) for row in wanted}))
    given = f"""from ({scores}) as given
          where given.round is not null and given.fingerprint in ({graded})"""
    return f"""{scores}
        union all by name
        select reply.* exclude (asked), {sql.text(plan.benchmark.name)} as benchmark, wanted.scorer, wanted.metric,
          rater.evaluator, rater.round, NULL::double as value, {sql.text(NOT_GIVEN)} as status,
          wanted.fingerprint, concat_ws(' ', {sql.text(NOT_GIVEN)}, reply.sample_id, wanted.fingerprint, wanted.metric,
            rater.evaluator, rater.round) as score_id
        from (
          select distinct samples.scenario::varchar as scenario, samples.fingerprint as asked, columns('{OF_REPLY}')
          from {last_turns(plan)} as samples where samples.reply is not null
        ) as reply
        join (values {rows}) as wanted (scenario, asked, fingerprint, scorer, metric)
          on wanted.scenario = reply.scenario and wanted.asked = reply.asked
        join (
          select distinct given.evaluator, given.round, given.scorer, graded.shown_run
          from (select * {given}) as given join {schema}.samples as graded using (sample_id)
        ) as rater on rater.scorer = wanted.scorer and rater.shown_run is not distinct from reply.shown_run
        where not exists (
          select 1 {given} and given.sample_id = reply.sample_id and given.fingerprint = wanted.fingerprint
            and given.metric = wanted.metric and given.evaluator = rater.evaluator and given.round = rater.round
        ) and not exists (
          select 1 from ({scores}) as ruled_out where ruled_out.status = 'not_applicable'
            and ruled_out.sample_id = reply.sample_id and ruled_out.fingerprint = wanted.fingerprint
            and ruled_out.metric = wanted.metric
        )"""


def _wanted(plan: Plan) -> set[tuple[str, str, str, str, str]]:
    """Return the scenario, the step that replies, the step that grades, its scorer and a metric, of every score that a
    scorer gives to a reply."""
    found = set()
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            asks = {step.name: step for step in treatment.steps if isinstance(step, Ask)}
            for step in treatment.steps:
                if isinstance(step, Grade) and step.of in asks:
                    for asked in (asks[step.of], *turns_before(asks[step.of], asks)):
                        for metric in step.metrics or (step.name,):
                            found.add((scenario.name, asked.fingerprint, step.fingerprint, step.scorer, metric))
    return found
