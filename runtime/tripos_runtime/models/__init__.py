"""Access to models: `open_model` turns a name into something that answers requests.

`mock/…` and `baseline/…` answer without a network, and `local/…` runs a model on this machine. `reward/…`,
`vllm-pooling/…`, `vllm-score/…` and `tei/…` return numbers (`rewards.py`). Every other name is one that litellm knows,
such as `openai/gpt-4o`. A library is imported only when a model that needs it is opened, and litellm only for models
that `catalog.path_of` does not call `direct`."""
