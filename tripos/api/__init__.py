"""The Python API: compile a spec, plan it, run it, release it. The command line uses the same functions.

| module | content |
| --- | --- |
| `spec`, `compilation` | `compile` and `Spec`; a compiled spec with the folders of its data |
| `run_plan`, `forecast`, `forecast_rows` | `RunPlan`: items, calls, tokens and cost before a run |
| `selection`, `preparation` | models and cases of a run, and all else that a `PreparedRun` of the runtime needs |
| `job`, `run`, `progress` | a run under way, `Run` for what it left, `Progress` for a callback |
| `results`, `releases` | `Results` of a store; `release` and `verify` |
| `errors` | `TriposError` and its kinds |

`tripos` shows the names that users need.
"""
