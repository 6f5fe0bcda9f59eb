"""Run the parser of one release on many cases, in separate processes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from trtlint.dry_build.wheels import Wheels
from trtlint.process.spawn import Limits, run

_TOGETHER = 100
"""Number of cases for one process."""
_LIMITS = Limits(120, 4 << 30)

Answers = dict[int, tuple[str, str]]
"""For each case, by number: the outcome, and the text that explains it."""


def ask(stems: Sequence[str], wheels: Wheels, jobs: int) -> Answers:
    """Compare cases with the networks of one release.

    Args:
        stems: the files of the cases, without suffix.
        wheels: the release.
        jobs: number of processes.
    """
    numbered = list(enumerate(stems))
    parts = [numbered[at : at + _TOGETHER] for at in range(0, len(numbered), _TOGETHER)]
    found: Answers = {}
    with ThreadPoolExecutor(jobs) as pool:
        for answers in pool.map(lambda part: _of_part(part, wheels), parts):
            found.update(answers)
    return found


def _of_part(part: Sequence[tuple[int, str]], wheels: Wheels) -> Answers:
    """Run some cases in one process. After a case that ends the process, continue with the next case."""
    found: Answers = {}
    left = list(part)
    while left:
        ended = run(
            "benchmarks.import_differences.worker",
            {"cases": left},
            _LIMITS,
            paths=(wheels.folder,),
            environment={"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        )
        begun = left[0][0]
        for number, outcome, text in ended.answers:
            if outcome == "begun":
                begun = number
            else:
                found[number] = outcome, text
        more = [each for each in left if each[0] not in found]
        late = ended.cause == "time" and len(more) < len(left)
        left = more
        if left and not late:  # a case that earlier cases left too little time gets a full time limit
            found.setdefault(begun, ("process ended", ended.words))
            left = [each for each in left if each[0] not in found]
    return found
