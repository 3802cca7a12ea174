"""Policy and value updates: advantages, losses, batching, model, optimisation, worker.

Imports: torch, transformers, peft. Only `worker.py` imports Ray.
"""
