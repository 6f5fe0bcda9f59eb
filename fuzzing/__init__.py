"""A structure-aware fuzzer for models, logs, layers, configuration and rules.

``python -m fuzzing --cases 20000`` (or ``make fuzz``) changes real files field by field or line by line. For
each file, trtlint must print findings, or one line with the reason for the failure, within limits of time and
memory. A bug of trtlint is a failure. Each case has a number; the same number gives the same file.
"""
