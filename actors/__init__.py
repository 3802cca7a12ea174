"""Workers, one folder per kind: pure logic beside a thin Ray shell (`worker.py`).

Actors know no pipeline, nothing of `cluster`, and not each other.
"""
