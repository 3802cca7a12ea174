"""Sessions on a transformers model: each keeps the keys and values of its text."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from actors.rollout.sessions.drawing import draw, uniform
from actors.rollout.sessions.jobs import Ended, Failed, Job, Started
from actors.rollout.sessions.kept_cache import KeptCache
from actors.rollout.sessions.thread_sessions import SIDE_ROOM, ThreadSessions

PREFILL_TOKENS = 256


class TransformersSessions(ThreadSessions):
    """See `SessionEngine`. One thread gives every session its turn: a token each, or
    `PREFILL_TOKENS` of a prompt.

    A text is computed once: `cut` crops the cache, what is appended is fed alone, and a question
    starts from the cache of the text. Draws depend on the session's seed and the place in the text
    only. A session whose reader is `run_ahead` tokens behind waits. `max_model_len` 0 is the
    model's own. Raises what transformers raises for a model that it cannot load.
    """

    def __init__(
        self,
        model: str,
        *,
        dtype: str = "float32",
        max_model_len: int = 0,
        threads: int | None = None,
        device: str | None = None,
        side_room: int = SIDE_ROOM,
        run_ahead: int = 64,
    ) -> None:
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(model).get_text_config()
        most = int(getattr(config, "max_position_embeddings", 0) or max_model_len)
        super().__init__(
            model,
            lambda ends: _Worker(model, ends, dtype, threads, device, run_ahead),
            name="the transformers engine",
            context=min(max_model_len or most, most),
            side_room=side_room,
            run_ahead=run_ahead,
        )


@dataclass(eq=False, slots=True)
class _Task:
    """A job being computed. `rows` are the copies that still write, in the order of the batch."""

    job: Job
    rows: list[int]
    kept: KeptCache | None = None  # until its first turn
    cached: int = 0
    feed: list[int] = field(default_factory=list)  # of the prompt, not computed yet
    drawn: list[int] = field(default_factory=list)  # the last token of each row, not computed yet
    written: int = 0

    @property
    def reading(self) -> bool:
        """The prompt is not computed yet."""
        return self.kept is None or bool(self.feed)


class _Worker:
    """See `Worker`."""

    def __init__(
        self,
        model: str,
        ends: frozenset[int],
        dtype: str,
        threads: int | None,
        device: str | None,
        run_ahead: int,
    ) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        if threads:
            torch.set_num_threads(threads)
        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._model: Any = AutoModelForCausalLM.from_pretrained(
            model, dtype=getattr(torch, dtype)
        ).to(self._device)
        self._model.eval()
        self._ends = ends
        self._run_ahead = run_ahead
        self._kept: dict[int, KeptCache] = {}
        self._tasks: deque[_Task] = deque()

    def busy(self) -> bool:
        return any(map(self._may_run, self._tasks))

    def step(self) -> None:
        """One turn of the next task that may have one."""
        for _ in range(len(self._tasks)):
            task = self._tasks[0]
            self._tasks.rotate(-1)
            if self._may_run(task):
                try:
                    with self._torch.inference_mode():
                        self._advance(task)
                except Exception as error:
                    self._drop(task)
                    reason = f"transformers could not go on: {type(error).__name__}: {error}"
                    task.job.inbox.put(0, Failed(reason))
                return

    def start(self, job: Job) -> None:
        self._tasks.append(_Task(job, list(range(job.copies))))

    def stop(self, job: Job, copies: tuple[int, ...]) -> None:
        for task in [task for task in self._tasks if task.job is job]:
            self._leave(task, [row for row in task.rows if row not in copies])

    def forget(self, session: int) -> None:
        self._kept.pop(session, None)
        self._tasks = deque(task for task in self._tasks if task.job.session != session)

    def fail(self, reason: str) -> None:
        for task in self._tasks:
            task.job.inbox.put(0, Failed(reason))

    def end(self) -> None:
        self._tasks.clear()
        self._kept.clear()
        self._model = None

    def _may_run(self, task: _Task) -> bool:
        """Questions wait for the text that they are about: it is not computed twice."""
        if not task.job.side:
            return len(task.job.inbox) < self._run_ahead
        if task.kept is not None or not task.job.keep_prefix:
            return True
        session = task.job.session
        return not any(
            t.job.session == session and not t.job.side and t.reading for t in self._tasks
        )

    def _advance(self, task: _Task) -> None:
        job = task.job
        kept = task.kept or self._resume(task)
        if task.feed:
            part, task.feed = task.feed[:PREFILL_TOKENS], task.feed[PREFILL_TOKENS:]
            logits = self._forward(kept, [part])
            if task.feed:
                return
            job.inbox.put(0, Started(len(job.ids), task.cached))
            if len(task.rows) > 1:
                kept.cache.batch_repeat_interleave(len(task.rows))
                logits = logits.repeat_interleave(len(task.rows), dim=0)
        else:
            logits = self._forward(kept, [[token] for token in task.drawn])
        self._draw(task, logits)

    def _resume(self, task: _Task) -> KeptCache:
        job = task.job
        kept = self._kept.get(job.session) or KeptCache([])
        if not job.keep_prefix:
            kept = KeptCache([])
        elif job.side:
            kept = kept.fork()
        task.cached = kept.reuse(job.ids)
        task.feed = job.ids[task.cached :]
        task.kept = kept
        if not job.side:
            self._kept[job.session] = kept
        return kept

    def _draw(self, task: _Task, logits: Any) -> None:
        job = task.job
        place = len(job.ids) + task.written
        tokens = draw(logits, job.sampling, [uniform(job.seed, row, place) for row in task.rows])
        task.written += 1
        task.drawn = [token.id for token in tokens]
        going: list[int] = []
        for row, token in zip(task.rows, tokens, strict=True):
            if token.id in self._ends:
                job.inbox.put(row, Ended("stop"))
                continue
            job.inbox.put(row, token)
            if task.written >= job.sampling.max_new_tokens:
                job.inbox.put(row, Ended("length"))
            else:
                going.append(row)
        self._leave(task, going)

    def _leave(self, task: _Task, rows: list[int]) -> None:
        """Goes on with these rows alone."""
        if not rows:
            if task in self._tasks:
                self._tasks.remove(task)
        elif len(rows) < len(task.rows):
            places = [task.rows.index(row) for row in rows]
            if task.drawn and task.kept is not None:
                task.kept.cache.batch_select_indices(self._torch.tensor(places))
                task.drawn = [task.drawn[place] for place in places]
        task.rows = rows

    def _drop(self, task: _Task) -> None:
        self._leave(task, [])
        if not task.job.side:
            self._kept.pop(task.job.session, None)

    def _forward(self, kept: KeptCache, rows: list[list[int]]) -> Any:
        """Logits after the last token of each row, (B, V)."""
        output = self._model(
            input_ids=self._torch.tensor(rows, device=self._device),
            past_key_values=kept.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        kept.cache = output.past_key_values
        kept.ids += rows[0]
        return output.logits[:, -1]
