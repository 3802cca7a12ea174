"""The command `seekray emulate`."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.plain_errors import errors, plain_errors
from pipelines.search.command import known


def emulate(
    service: Annotated[str, typer.Argument(help="pubmed or trials.")],
    index: Annotated[Path, typer.Option("--index", help="A folder of `seekray index build`.")],
    port: Annotated[int, typer.Option(help="0 = a free one.", min=0, max=65535)] = 8765,
    host: Annotated[str, typer.Option(help="Loopback unless told otherwise.")] = "127.0.0.1",
    rate_limit: Annotated[
        bool, typer.Option("--rate-limit", help="Answer 429 above 3 requests a second (10 by key).")
    ] = False,
    faults: Annotated[
        Path | None, typer.Option(help="YAML or JSON: which faults to inject, and how often.")
    ] = None,
    mesh: Annotated[
        Path | None, typer.Option(help="NLM's descriptors, for explosion (pubmed).")
    ] = None,
) -> None:
    """Serve an index over HTTP as the real service does: E-utilities, or ClinicalTrials.gov's API.

    Any client of the real service that can be given an address runs against it unchanged; Biopython
    names NCBI's itself, `actors.search.emulator.biopython.entrez_at` points it elsewhere.

    Examples:

      seekray emulate pubmed --index indexes/pubmed --port 8765

      curl 'http://127.0.0.1:8765/entrez/eutils/esearch.fcgi?db=pubmed&term=gout&retmode=json'

      seekray emulate trials --index indexes/trials --faults faults.yaml
    """
    with plain_errors(known):
        from actors.search.emulator.opening import emulate as run

        run(
            service,
            index,
            host=host,
            port=port,
            faults=faults,
            rate_limit=rate_limit,
            mesh=mesh,
            started=lambda url: errors.print(f"serving {service} at {url}", highlight=False),
        )
