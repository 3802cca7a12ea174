"""Scoring ordered chunk lists: rerankers, and the worker that expands policy-tree nodes with them.

Only `worker.py` imports Ray; rerankers import their model library when constructed.
"""
