"""Makes the rows of data sets that are made: slots, attempts at them, and what becomes of each.

The invariant: given the replies, the rows are the same in every run. Attempts go on side by side; what is decided of
them is decided in the order of the slots, one attempt after another.
"""
