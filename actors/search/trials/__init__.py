"""A local ClinicalTrials.gov: study records, the Essie language, ranking, and API v2 answers.

Pure modules over the column index; no Ray, no network. May be imported by pipelines and by other
search packages.
"""
