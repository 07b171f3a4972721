"""Access to models: `open_model` returns the model of a name, which answers requests.

`mock/…` and `baseline/…` answer without a network, and `local/…` runs a model on this machine. `reward/…`,
`vllm-pooling/…`, `vllm-score/…` and `tei/…` return numbers (`rewards.py`). Every other name is that of a provider's
model, such as `openai/gpt-4o`. A library is imported only when a model that needs it is opened; litellm only for
models whose `catalog.path_of` is not `direct`."""
