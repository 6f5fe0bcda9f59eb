"""A local Dask cluster that waits for its workers on a busy machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_PATIENCE = "600s"


@contextmanager
def local_cluster(**options: Any) -> Iterator[Any]:
    """A cluster of worker processes; the test is skipped where Dask is not installed.

    Workers get half a minute to connect otherwise, in which a busy machine does not import what they need:
    https://docs.dask.org/en/stable/configuration.html#distributed-comm.
    """
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    names = ("distributed.comm.timeouts.connect", "distributed.comm.timeouts.tcp")
    given = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, **options}
    with dask.config.set(dict.fromkeys(names, _PATIENCE)), distributed.LocalCluster(**given) as cluster:
        yield cluster
