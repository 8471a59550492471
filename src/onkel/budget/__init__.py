"""Budget: what the model may keep.

A strategy is a NamedTuple of its parameters. Its type selects the compiled code that
`absorb` runs when a row has proposed an update, and that code speaks to the model
through the primitives of `onkel.model.expansion` only.
"""
