"""Explanations: what the weights of a record are worth.

`effects` measures what changes of attention do to a prediction. `patterns` names heads by what they attend to.
`across_layers` attributes a prediction to the items of the input.
"""
