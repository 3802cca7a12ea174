"""`seekray evaluate ir`: classic retrieval collections on BM25, dense and hybrid engines."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pipelines.plain_errors import plain_errors

if TYPE_CHECKING:
    from pipelines.ir.engines import EngineMaker
    from pipelines.progress import Bar, Reporter

app = typer.Typer(help="Evaluate engines on judged collections.")
console = Console()


def _known() -> tuple[type[BaseException], ...]:
    from actors.search.dense.embed import EmbedderError
    from actors.search.dense.failures import DenseError
    from actors.search.index import IndexMismatchError
    from actors.search.ranking.analysis import AnalysisError
    from actors.search.ranking.failures import PassagesError
    from pipelines.data.cache import FetchError
    from pipelines.data.failures import CorpusError
    from pipelines.ir.failures import IREvaluationError, RunFileError

    return (
        AnalysisError, CorpusError, DenseError, EmbedderError, FetchError, IndexMismatchError,
        IREvaluationError, OSError, PassagesError, RunFileError,
    )  # fmt: skip


@app.command("ir")
def evaluate_ir(
    sets: Annotated[
        list[Path], typer.Option("--set", help="A collection's folder (BEIR layout); repeatable.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Where runs and values go.")],
    engines: Annotated[
        list[str] | None,
        typer.Option("--engine", help="bm25, dense or hybrid; repeatable. Default: all three."),
    ] = None,
    split: Annotated[str, typer.Option(help="Only the queries of this split.")] = "",
    k: Annotated[int, typer.Option("-k", help="Hits a query.", min=1)] = 1000,
    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", help="As ir-measures names it, e.g. nDCG@10; repeatable."),
    ] = None,
    k1: Annotated[float, typer.Option(help="BM25: saturation.")] = 1.2,
    b: Annotated[float, typer.Option(help="BM25: length normalisation, 0 to 1.")] = 0.75,
    stemmer: Annotated[str, typer.Option(help="A Snowball stemmer, '' for none.")] = "english",
    stop_words: Annotated[bool, typer.Option(help="Leave out English stop words.")] = True,
    embedder: Annotated[
        str, typer.Option(help="minilm, a sentence-transformers folder, or a hub id.")
    ] = "minilm",
    index: Annotated[str, typer.Option(help="Dense index: flat, ivfpq or hnsw.")] = "flat",
    device: Annotated[str | None, typer.Option(help="Where to embed: cpu, cuda, ...")] = None,
    gpu: Annotated[int | None, typer.Option(help="GPU that holds the dense index.")] = None,
) -> None:
    """Measure engines on judged collections; write TREC runs and the values of each query."""
    from pipelines.progress import RichReporter

    with plain_errors(_known):
        from actors.search.dense.factory import IndexSpec
        from actors.search.ranking.analysis import Analysis
        from actors.search.ranking.bm25 import Bm25
        from pipelines.ir.engines import EngineMaker, EngineOptions, check_engines
        from pipelines.ir.evaluate import measures_within
        from pipelines.ir.failures import IREvaluationError
        from pipelines.ir.report import check_names

        try:
            parameters = Bm25(k1, b)
        except ValueError as error:
            raise IREvaluationError(str(error)) from error
        options = EngineOptions(
            analysis=Analysis(stemmer, stop_words),
            bm25=parameters,
            embedder=embedder,
            device=device,
            dense=IndexSpec(index),
            gpu=gpu,
        )
        kinds = engines or ["bm25", "dense", "hybrid"]
        check_engines(kinds)
        check_names(sets)
        asked = measures or measures_within(k)
        reporter = RichReporter(console)
        maker = EngineMaker(options, reporter=reporter)
        _run(sets, kinds, maker, reporter, asked, k, split, out)


def _telling(bar: "Bar") -> Callable[[int, int], None]:
    return lambda done, _: bar.update(done)


def _run(
    sets: list[Path],
    kinds: list[str],
    maker: "EngineMaker",
    reporter: "Reporter",
    measures: list[str],
    k: int,
    split: str,
    out: Path,
) -> None:
    from pipelines.data.ir_sets import load_ir_set
    from pipelines.ir.evaluate import evaluate_engine
    from pipelines.ir.report import comparisons, summary, table, write_evaluation, write_summary

    evaluations = []
    for folder in sets:
        ir_set = load_ir_set(folder, split)
        for kind in kinds:
            engine = maker.engine(ir_set, kind)
            with reporter.bar(f"{ir_set.name} {kind}", len(ir_set.judged)) as bar:
                one = evaluate_engine(
                    engine, ir_set, k, measures, name=kind, progress=_telling(bar)
                )
            write_evaluation(one, out)
            evaluations.append(one)
            if one.query_errors:
                reporter.say(f"{len(one.query_errors)} queries could not be run and count as 0")
        if one.absent:
            reporter.say(f"{ir_set.name}: {one.absent} relevant documents are not in the corpus")
    rows = summary(evaluations)
    path = write_summary(rows, out)
    console.print(table(rows, measures))
    for line in comparisons(rows):
        reporter.say(line)
    reporter.say(f"runs, values and summary.json are in {path.parent}")


if __name__ == "__main__":
    app()
