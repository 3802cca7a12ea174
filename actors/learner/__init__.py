"""Policy and value updates: advantages, losses, batching, model, optimisation, worker.

Imports: torch, transformers, peft; no Ray (`worker.py` is the class that Ray makes an actor of).
"""
