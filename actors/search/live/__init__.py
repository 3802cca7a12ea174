"""Clients of the real services: NCBI E-utilities and ClinicalTrials.gov API v2.

Request starts are paced, failures retried, good answers kept on disk. May import `actors.search`
types and httpx; only `worker.py` knows Ray. One named actor holds the client of a service, so that
a whole cluster shares one pacer.
"""
