"""What the benchmark of chunk-order search runs on: questions with candidates, and rerankers."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from actors.expansion.catalog import make_reranker
from actors.expansion.lexical import LexicalReranker, WordStatistics
from actors.expansion.types import QueryOrders, Reranker
from pipelines.corag.types import Order
from pipelines.data.chunks import Chunk

Make = Callable[[bool], Reranker]
"""Loads the reranker; False: it keeps no outputs between calls."""


@dataclass(frozen=True)
class Case:
    """A question and its candidates, best first."""

    question: str
    chunks: tuple[Chunk, ...]

    def first(self, count: int) -> "Case":
        """With its first candidates only."""
        return Case(self.question, self.chunks[:count])

    @property
    def costs(self) -> list[int]:
        """Tokens of each candidate."""
        return [chunk.tokens for chunk in self.chunks]

    def asked(self, orders: Sequence[Order]) -> QueryOrders:
        """Orders of positions as a reranker is given them."""
        texts = {chunk.id: chunk.text for chunk in self.chunks}
        ids = tuple(tuple(self.chunks[i].id for i in order) for order in orders)
        return QueryOrders(self.question, texts, ids)


def fresh(make: Make, remember: bool = True) -> Reranker:
    """A reranker that knows nothing yet, warmed up. Without `remember` it keeps no outputs."""
    reranker = make(remember)
    words = "some words to begin with"
    reranker.score([QueryOrders(words, {"x": words}, (("x",),))])
    return reranker


def reranker_maker(name: str, model: str, dtype: str, cases: Sequence[Case]) -> Make:
    """Makes the reranker as a run would."""
    from configs.load import load_corag
    from pipelines.corag.setup import reranker_options
    from pipelines.progress import SilentReporter

    if name == "bm25":
        texts = {chunk.id: chunk.text for case in cases for chunk in case.chunks}
        statistics_ = WordStatistics.of(texts.values())
        return lambda remember: LexicalReranker(statistics=statistics_)
    config = load_corag(
        None, [f"reranker.name={name}", f"reranker.path={model}", f"reranker.dtype={dtype}"]
    )
    options = reranker_options(config, name, None, SilentReporter())
    return lambda remember: make_reranker(name, **options, **({} if remember else {"keep": 0}))


def make_cases(args: argparse.Namespace) -> list[Case]:
    """Questions with candidates: the chunks that BM25 puts first."""
    from pipelines.data.chunking import chunk_documents
    from pipelines.data.chunks import Document
    from pipelines.data.tokens import TokenCounter

    if args.questions:
        from pipelines.data.qa_sets import load_qa_set

        qa = load_qa_set(args.questions)
        documents = list(qa.documents)
        questions = [question.text for question in qa.of_split("test")]
    else:
        from configs.schema import DataConfig
        from pipelines.data.load import load_records

        records = load_records(DataConfig(corpus="pubmed-sample"))[: args.documents]
        documents = [Document(r.id, (r.abstract,), r.title) for r in records if r.abstract]
        questions = [r.title for r in records[:: max(1, len(records) // args.cases)]]
    counter = TokenCounter.of(args.tokenizer)
    chunks = chunk_documents(documents, counter, size=args.chunk_tokens)
    words = LexicalReranker(statistics=WordStatistics.of(c.text for c in chunks))
    texts = {chunk.id: chunk.text for chunk in chunks}
    cases = []
    for question in questions[: args.cases]:
        singles = tuple((chunk.id,) for chunk in chunks)
        (scores,) = words.score([QueryOrders(question, texts, singles)])
        places = sorted(range(len(chunks)), key=lambda i: -scores[i].value)[: args.candidates]
        cases.append(Case(question, tuple(chunks[i] for i in places)))
    return cases
