"""The Python API: compile a spec, plan it, run it, release it; the command line uses the same functions.

| module | holds |
| --- | --- |
| `spec` | `compile` and `Spec`, with `plan`, `run` and `run_async` |
| `run_plan` | `RunPlan`: items, calls, tokens and cost before a run |
| `run`, `progress` | `Run`: status, report, measures; `Progress`, for a callback |
| `releasing`, `verifying` | `release` and `verify` |
| `errors`, `paths` | `TriposError` and its kinds; folders that a caller names |
| `preparation` | settings, models, recordings and releases, wired into a `PreparedRun` of the runtime |
| `compiled` | a compiled spec with the folders of its data |
| `choices` | models and cases of a run, checked |
| `denials`, `lockcheck`, `run_warnings` | warnings that are errors, the lock, warnings about models |
| `forecasts`, `run_history` | the forecast of a prepared run from the store and the prices |

The public names are those of `tripos`, which imports them when they are first used.
"""
