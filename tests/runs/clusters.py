"""A local Dask cluster that waits for its workers on a busy machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_PATIENCE = "600s"


@contextmanager
def local_cluster(**options: Any) -> Iterator[Any]:
    """Yield a cluster of worker processes, or skip the test without Dask.

    The default connection timeout of half a minute is too short for imports on a busy machine:
    https://docs.dask.org/en/stable/configuration.html#distributed-comm.
    """
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    names = ("distributed.comm.timeouts.connect", "distributed.comm.timeouts.tcp")
    given = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, **options}
    with dask.config.set(dict.fromkeys(names, _PATIENCE)), distributed.LocalCluster(**given) as cluster:
        yield cluster
