"""Tests that workers end with their parent, and that a cluster without workers is an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.files.special import at_most
from tests.runs.clusters import local_cluster
from tests.workspace import Workspace
from trtlint.runs import fleet, pools

REPOSITORY = Path(__file__).resolve().parents[2]
POOL = """
import os, sys, tempfile, time
from pathlib import Path
from trtlint.runs.pools import processes

def meet(folder):
    # Each of two workers gets a job only where neither is done before the other begins.
    Path(folder, str(os.getpid())).touch()
    Path(tempfile.mkdtemp(), "left.txt").touch()
    until = time.monotonic() + 60
    while len(list(Path(folder).iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    return os.getpid()

if __name__ == "__main__":
    with processes(2) as pool:
        jobs = [pool.executor.submit(meet, sys.argv[1]) for _ in range(2)]
        print(*{job.result() for job in jobs}, flush=True)
        time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_workers_end_with_their_parent_and_leave_no_files(name: str, tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    for folder in ("met", "temporary"):
        (tmp_path / folder).mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "met")],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    workers = [int(word) for word in process.stdout.readline().split()]
    assert len(workers) == 2
    process.send_signal(getattr(signal, name))
    try:
        process.wait(60)
        deadline = time.monotonic() + 60
        while any(map(alive, workers)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(alive, workers))
        assert not list((tmp_path / "temporary").iterdir())
    finally:
        process.kill()
        for pid in filter(alive, workers):
            os.kill(pid, signal.SIGKILL)
        process.stdout.close()


def test_workers_import_nothing_of_the_current_folder(tmp_path: Path) -> None:
    for folder in ("elsewhere", "met"):
        (tmp_path / folder).mkdir()
    script = tmp_path / "elsewhere" / "pool.py"
    script.write_text(POOL.replace("time.sleep(600)", ""))
    for planted in ("multiprocessing", "struct", "pickle", "sitecustomize", "trtlint"):
        (tmp_path / f"{planted}.py").write_text("open('owned', 'w').close()\n")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "met")],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        cwd=tmp_path,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert not (tmp_path / "owned").exists()
    assert done.stdout.split(), done.stderr


@pytest.mark.slow
def test_a_cluster_without_workers_is_not_waited_for(
    work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "_LOOK_EVERY", 0.1, raising=False)
    monkeypatch.setattr(fleet, "_PATIENCE", 0.3, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    with local_cluster(n_workers=1) as cluster, at_most():

        def dismiss(*_: object) -> None:
            cluster.scale(0)
            while cluster.scheduler.workers:
                time.sleep(0.05)

        monkeypatch.setattr(pools, "_require_same_version", dismiss)
        address = cluster.scheduler_address.replace("tcp://", pools.SCHEME)
        assert work.run("models", "--executor", address) == 3
    said = work.capsys.readouterr()
    assert (said.out + said.err).count("the executor has no workers left") == 2
