"""The Python API: compile a spec, plan it, run it, release it. The command line uses the same functions.

| module | content |
| --- | --- |
| `spec` | `compile` and `Spec`; keywords of a run |
| `job`, `run` | a running job; `Run` for its results, `Progress` for a callback |
| `workers` | a run in several processes |
| `results`, `releases` | `Results` of a store; `release` and `verify` |
| `errors` | `TriposError` and its subclasses |

The package `tripos` exports the public names. Compilation, preparation and forecasts are in `tripos.runs`.
"""
