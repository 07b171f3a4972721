"""Training on what was exported: the recipe, the data and its split, the device, and the report of what was done.

`sft` fine-tunes a model on chats. What is common to it and to any other kind of training stands in modules that know of
neither torch nor a trainer, so that a kind of its own needs its data, its loss and its figures only.
"""
