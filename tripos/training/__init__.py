"""Training on exports: recipes, data and splits, devices, and reports.

`sft` fine-tunes a model on chats; the `reward` modules train and audit reward models. The parts that they share import
neither torch nor a trainer.
"""
