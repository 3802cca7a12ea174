"""Holds a fleet until SIGTERM, then says what was cleaned up."""

import os
import signal
import sys
import time

import ray

from cluster.failures import Interrupted
from cluster.fleet import Fleet
from cluster.session import session
from tests.cluster.toys import Toy

before = signal.getsignal(signal.SIGTERM)
try:
    with session("local", "test", num_cpus=1), Fleet("toy", lambda _: Toy.remote(), 1) as fleet:
        try:
            print(fleet.pids()[0], flush=True)
            fleet.submit("hang_once", f"{sys.argv[1]}/hang", 1).result()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)
            print("finally")
except Interrupted:
    print("interrupted")
if signal.getsignal(signal.SIGTERM) == before:
    print("handler restored")
if not ray.is_initialized():
    print("ray down")
