import asyncio
import threading

import pytest

from actors.rollout.types import Completion
from pipelines.deepretrieval.language import LANGUAGES
from pipelines.deepretrieval.prompt import PromptTooLongError
from pipelines.realm.rewriting import RewriteError, Rewriter, language_of, open_rewriter


class Prompts:
    """One token a character; needs of over 60 characters are too long."""

    open_think = True

    def ids(self, need, name=""):
        if len(need) > 60:
            raise PromptTooLongError("the prompt has 99 tokens, over 60")
        return tuple(map(ord, need))


class Writer:
    """Writes each need in capitals, in the trained format; `spoilt` needs in none."""

    policy_version = 0

    def __init__(self, spoilt=(), hold=None):
        self.batches, self.spoilt, self.hold = [], spoilt, hold

    def generate(self, requests, sampling):
        if self.hold is not None:
            self.hold.wait(20)
        needs = ["".join(map(chr, request.prompt_ids)) for request in requests]
        self.batches.append(needs)
        for request, need in zip(reversed(requests), reversed(needs), strict=True):
            query = f'<answer>{{"query": "{need.upper()}"}}</answer>'
            text = "no format" if need in self.spoilt else f"plan</think>{query}"
            yield request.key, Completion((1, 2, 3), (0.0,) * 3, text, "stop", 0)


def test_needs_that_come_together_are_written_in_few_batches():
    engine = Writer()
    rewriter = Rewriter(engine, Prompts())

    async def run():
        return await asyncio.gather(*(rewriter.rewrite(f"need {i % 8}") for i in range(12)))

    assert asyncio.run(run()) == [f"NEED {i % 8}" for i in range(12)]
    assert len(engine.batches) <= 2
    assert (rewriter.counts.asked, rewriter.counts.written) == (12, 12)


def test_malformed_and_too_long_ones_fail_alone():
    rewriter = Rewriter(Writer(spoilt=("bad",)), Prompts())

    async def run():
        needs = ("good", "bad", "x" * 61, "fine")
        return await asyncio.gather(*map(rewriter.rewrite, needs), return_exceptions=True)

    good, bad, long, fine = asyncio.run(run())
    assert (good, fine) == ("GOOD", "FINE")
    assert isinstance(bad, RewriteError)
    assert "malformed" in str(bad)
    assert "99 tokens" in str(long)
    assert rewriter.counts.malformed == 2
    assert rewriter.counts.tokens == 9


def test_a_slow_engine_is_not_waited_for():
    hold = threading.Event()
    rewriter = Rewriter(Writer(hold=hold), Prompts(), timeout_s=0.05)

    async def run():
        with pytest.raises(RewriteError, match=r"no query after 0\.05 s"):
            await rewriter.rewrite("need")
        hold.set()
        rewriter._timeout_s = 20
        return await rewriter.rewrite("later")

    assert asyncio.run(run()) == "LATER"
    assert (rewriter.counts.late, rewriter.counts.written) == (1, 1)


def test_a_failing_engine_is_a_rewrite_error():
    class Broken(Writer):
        def generate(self, requests, sampling):
            raise RuntimeError("out of memory")
            yield

    rewriter = Rewriter(Broken(), Prompts())
    with pytest.raises(RewriteError, match="out of memory"):
        asyncio.run(rewriter.rewrite("need"))
    assert rewriter.counts.failed == 1


def test_a_real_model_is_opened_and_asked(tmp_path):
    from tests.tiny import write_model

    rewriter = open_rewriter(
        write_model(tmp_path / "model"), max_new_tokens=4, max_prompt_tokens=400
    )
    with pytest.raises(RewriteError, match="malformed"):  # untrained: it does not know the format
        asyncio.run(rewriter.rewrite("Who directed Angela?"))
    assert 1 <= rewriter.counts.tokens <= 4


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="timeout_s is 0"):
        Rewriter(Writer(), Prompts(), timeout_s=0)
    with pytest.raises(ValueError, match="no query language 'sql'"):
        language_of("sql")
    assert language_of("bm25") is LANGUAGES["bm25"]
