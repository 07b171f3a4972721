"""The Python API: compile a spec, plan it, run it, release it. The command line uses the same functions.

| module | content |
| --- | --- |
| `spec` | `compile` and `Spec`; keywords of a run |
| `run` | `Run`, which makes the calls and has the results; `Progress` for a callback |
| `workers` | a run in several processes |
| `results`, `releases` | `Results` of a store; `release` and `verify` |
| `errors` | `SpecError`, `RunError` and `ReleaseError` |

The package `tripos` exports the public names. Compilation, preparation, the calls of a run and forecasts are in
`tripos.runs`.
"""
