"""The public services' HTTP, spoken over local engines.

`eutils` answers as NCBI's E-utilities over any PubMed engine; `server` serves it, and API v2 of
ClinicalTrials.gov, on a loopback port; `faults` spoils answers on purpose, for tests of clients.
Only `app` and `server` import starlette and uvicorn; nothing here imports Ray.
"""
