"""Facts from experiments that trtlint runs: dry builds, comparisons and measurements."""
