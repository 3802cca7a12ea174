"""How the app lives on Ray: session, preflight, fleets, run folder, checkpoints, tracking.

`cluster` knows no actor and no pipeline.
"""
