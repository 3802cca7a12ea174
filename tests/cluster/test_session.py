"""Each test starts a Ray of its own, so each runs a script."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def script(name: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"}
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "scripts" / name), *arguments],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_sigterm_runs_the_clean_up_and_leaves_no_process(tmp_path):
    process = script("wait_for_sigterm.py", str(tmp_path))
    worker = int(process.stdout.readline())
    assert alive(worker)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    # Exceptions unwind, the fleet is shut down, handlers are back; the second SIGTERM is ignored.
    assert out.splitlines() == ["finally", "interrupted", "handler restored", "ray down"]
    assert err == ""
    deadline = time.monotonic() + 10
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(worker)


@pytest.mark.long
def test_a_cluster_of_two_nodes_is_joined_and_a_lost_node_survived():
    process = script("two_nodes.py")
    try:
        out, err = process.communicate(timeout=180)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, err
    said = [line.removeprefix("test: ") for line in out.splitlines() if line.startswith("test: ")]
    assert said == [
        "joined through RAY_ADDRESS: started=False nodes=2 cpus=2.0",
        "versions of 2 nodes, 0 problems",
        "a second session inside is the same Ray",
        "node lost: 30 results, worker replaced: True",
        "cluster still up: started=False",
        "cannot join: PreflightError",
    ]


def test_ray_is_used_and_left_running_if_it_was_there(ray_local):
    import ray

    from cluster.session import session

    before = signal.getsignal(signal.SIGTERM)
    with session("local") as joined:
        assert not joined.started
        assert signal.getsignal(signal.SIGTERM) is not before
    assert ray.is_initialized()
    assert signal.getsignal(signal.SIGTERM) is before


def test_sigterm_is_an_interrupt(ray_local):
    from cluster.failures import Interrupted
    from cluster.session import session

    with pytest.raises(Interrupted), session("local"):  # noqa: PT012
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    assert issubclass(Interrupted, KeyboardInterrupt)
