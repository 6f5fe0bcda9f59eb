"""Facts: true statements about a model, a build, a build command or an experiment.

Each module of ``of_model/``, ``of_build/``, ``of_command/`` and ``of_trial/`` finds the facts of one kind.
It defines one frozen subclass of :class:`~trtlint.facts.base.Fact`, whose ``kind`` is the module's name.  Its
``find(facts)`` yields the facts in graph order.  Adding a kind of fact means adding a module; nothing is
registered anywhere else.  The folder names the source of the facts.  ``blocks/`` has code that kinds share.
"""
