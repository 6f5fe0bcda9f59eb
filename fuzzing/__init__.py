"""A fuzzer that knows what it changes: models, logs, layers, configuration and rules.

``python -m fuzzing --cases 20000`` (or ``make fuzz``) takes real files, changes them field by field or
line by line, and demands of every one what the command promises: findings or one line that says why
there are none, within limits of time and memory, and never a bug of trtlint.  A case is a number: the
same number makes the same file again.
"""
