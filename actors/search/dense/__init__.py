"""Dense retrieval: texts to vectors, vectors to a FAISS index, an index to an engine.

Imports faiss, numpy and, where texts are embedded, sentence-transformers. Nothing here imports Ray.
"""
