"""Memory of a process that opens an index and runs queries: `python -m bench.search_memory DIR`.

Prints resident memory, and the part of it that is the process's own (not pages of the index files,
which the system may drop at any time).
"""

import json
import sys
import time
from pathlib import Path

from actors.search.engine import PubMedEngine
from actors.search.index import open_index
from actors.search.types import SearchRequest


def status() -> dict[str, float]:
    """MiB of resident memory by kind."""
    fields = {}
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "RssAnon", "RssFile"):
            fields[name] = int(value.split()[0]) / 1024
    return fields


def main() -> None:
    """Open, run, print."""
    folder = Path(sys.argv[1])
    before = status()["VmRSS"]
    start = time.perf_counter()
    engine = PubMedEngine(open_index(folder))
    opened = time.perf_counter() - start
    queries = [("cancer AND therapy", "pubmed")]
    if len(sys.argv) > 2:
        lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
        queries = [(d["query"], "ovid" if "ovid" in d.get("syntax", "") else "pubmed")
                   for d in map(json.loads, lines)]  # fmt: skip
    for query, syntax in queries:
        engine.search(SearchRequest(query, 100, syntax=syntax))
    after = status()
    print(
        f"memory after {len(queries)} queries: {after['VmRSS']:,.0f} MiB resident, of which "
        f"{after['RssAnon']:,.0f} MiB own and {after['RssFile']:,.0f} MiB pages of files "
        f"({before:,.0f} MiB before the index was opened); opened in {opened:.2f} s"
    )


if __name__ == "__main__":
    main()
