"""Declarative Ray Tune sweeps; no training logic lives here."""
