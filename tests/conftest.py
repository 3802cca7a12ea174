"""Fixtures that all tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from hypothesis import settings

from tests.tiny import write_model

ROOT = Path(__file__).parents[1]

# The same examples every time; `make test-long` draws new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("new", derandomize=False)
settings.load_profile("same")


@pytest.fixture(scope="session")
def ray_local() -> Iterator[None]:
    """One small Ray for the whole test session; workers can import the repository."""
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=200 * 2**20,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}},
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder that every engine loads in no time."""
    return write_model(tmp_path_factory.mktemp("model") / "tiny")
