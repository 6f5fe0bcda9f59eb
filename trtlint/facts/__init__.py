"""Facts: true statements about a model, a build, a build command or an experiment.

Each module of ``of_model/``, ``of_build/``, ``of_command/`` and ``of_trial/`` states the facts of one kind:
it defines one frozen subclass of :class:`~trtlint.facts.base.Fact` with ``kind`` equal to its name, and
``find(facts)`` that yields them in graph order.  Adding a kind of fact means adding a module; nothing is
registered anywhere else.  The folder names the source of the facts.  ``blocks/`` has code that kinds share.
"""
