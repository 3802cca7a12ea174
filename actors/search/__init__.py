"""Search environments: what a query language means, and an index that answers it.

Imports: tantivy. Only `worker.py` imports Ray.
"""
