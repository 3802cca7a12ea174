"""Text generation: the engine protocol, its vLLM and transformers engines, the worker.

Only `worker.py` imports Ray; the engines import their library when constructed.
"""
