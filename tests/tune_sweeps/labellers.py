"""Labellers that Ray workers of tests import: a real one on tiny parts, and arithmetic ones."""

import os
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.corag.labels import Label, configuration_key
from pipelines.corag.types import Configuration
from pipelines.data.chunks import Chunk, Question
from tests.tiny import DISEASES, DRUGS


def arithmetic_questions(count: int) -> list[Question]:
    return [Question(f"q{number:02d}", f"Question {number}?", ("x",)) for number in range(count)]


@dataclass
class ArithmeticLabeller:
    """ROUGE-L falls with the distance of c from 2, with a little noise by question. Every label
    that it makes is a line in `journal` (question, configuration, process)."""

    journal: Path
    delay_s: float = 0.0
    dies_at: str = ""
    """Ends its process, once, before it answers that question (a file beside the journal)."""
    refuses: str = ""
    """Raises for that reranker."""

    def label(self, questions: Sequence[Question], configuration: Configuration) -> Iterator[Label]:
        if configuration.reranker == self.refuses:
            raise RuntimeError("the reranker's files are damaged")
        for question in questions:
            died = self.journal.with_suffix(".died")
            if question.id == self.dies_at and not died.exists():
                died.touch()
                os._exit(1)
            time.sleep(self.delay_s)
            noise = zlib.crc32(f"{question.id} {configuration}".encode()) % 1000 / 10_000
            with self.journal.open("a") as file:
                file.write(f"{question.id} {configuration_key(configuration)} {os.getpid()}\n")
            rouge_l = 0.9 - abs(configuration.settings.c - 2) / 4 - noise
            yield Label(question.id, question.text, configuration, rouge_l, noise)

    def __call__(self) -> "ArithmeticLabeller":
        """Makes itself."""
        return self


@dataclass
class TinyLabeller:
    """Makes a real labeller: BM25 and lexical scoring here, a two-layer model that answers."""

    model: Path
    cache: Path
    budget: int = 40

    def __call__(self):
        from actors.expansion.catalog import make_reranker
        from actors.rollout.hf_engine import TransformersEngine
        from pipelines.corag.answer import AnswerWriter
        from pipelines.corag.answer_cache import AnswerCache
        from pipelines.corag.labelling import SearchLabeller
        from pipelines.corag.local_scoring import LocalScoring

        engine = TransformersEngine(str(self.model), dtype="float32", max_model_len=512, threads=1)
        writer = AnswerWriter(
            self.model,
            engine,
            cache=AnswerCache(self.cache),
            max_new_tokens=4,
            max_model_len=512,
        )
        scoring = LocalScoring({"bm25": lambda: make_reranker("bm25")})
        candidates = {question.id: tiny_chunks() for question in tiny_questions()}
        return SearchLabeller(candidates, scoring, writer, self.budget)


def tiny_questions() -> list[Question]:
    return [
        Question(f"q{number}", f"What drug helps {disease}?", (f"{drug} helps {disease}",))
        for number, (disease, drug) in enumerate(zip(DISEASES[:4], DRUGS[:4], strict=True))
    ]


def tiny_chunks() -> tuple[Chunk, ...]:
    return tuple(
        Chunk(f"d{number}#0", f"{drug} helps {disease}.", 10 + number, f"d{number}")
        for number, (disease, drug) in enumerate(zip(DISEASES, DRUGS, strict=True))
    )
