"""Search environments: what a query language means, and an index that answers it.

Imports: tantivy, numpy. Nothing here imports Ray: `worker.py` holds a plain class that callers make
an actor.
"""
