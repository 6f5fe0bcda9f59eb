"""Facts: what is true of a model, a build, a build command or a trial, in the words of the field.

Each module of ``of_model/``, ``of_build/``, ``of_command/`` and ``of_trial/`` states the facts of one kind:
it defines one frozen subclass of :class:`~trtlint.facts.base.Fact` with ``kind`` equal to its name, and
``find(facts)`` that yields them in graph order.  Adding a kind of fact means adding a module; nothing is
registered anywhere else; the folder says what the facts are found in.  ``blocks/`` holds what kinds share.
"""
