"""Facts: true statements about a model, a build, a build command or an experiment.

Each module of ``of_model/``, ``of_build/``, ``of_command/`` and ``of_trial/`` finds the facts of one kind.
The module defines one frozen subclass of :class:`~trtlint.facts.base.Fact`, whose ``kind`` is the module's
name. The function ``find(facts)`` of the module yields the facts in graph order. To add a kind of fact, add
a module; nothing else needs a registration.  The folder names the source of the facts.  ``blocks/`` has
code that several kinds use.
"""
