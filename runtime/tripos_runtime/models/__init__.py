"""Access to models: `open_model` turns a name into something that answers requests.

`mock/…` and `baseline/…` answer without a network, `local/…` runs a model on this machine, `reward/…`,
`vllm-pooling/…`, `vllm-score/…` and `tei/…` give numbers (`rewards.py`), and every other name is one that litellm
knows, such as `openai/gpt-4o`. A library is imported only when a model that needs it is opened, and litellm only for
those whose path (`routes.path_of`) is not the direct one.
"""
