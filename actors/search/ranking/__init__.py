"""Ranked retrieval over passages: BM25, dense vectors, and the fusion of both.

Imports numpy and `actors.search`; embedding models load only where dense search is asked for.
Nothing here imports Ray.
"""
