"""ReaLM-Retrieve: a reasoning model decides after every step whether to retrieve, with which query,
and how to take the evidence in.

Imports: `actors`, `cluster`, `pipelines.data`, `pipelines.corag` (packing), `configs`.
"""
