"""CORAG: which chunks, in which order, under a token budget; and the answer written from them.

Pure logic (tree, baselines, agent, prompts) apart from what runs it on Ray (`scoring.py`).
Source: CORAG, arXiv 2411.00744 (CARROT, ICDE 2026).
"""
