"""Facts: true statements about a model, a build, a build command or an experiment.

A kind of facts is a module in ``of_model/``, ``of_build/``, ``of_command/`` or another ``of_...`` folder. The
name of the folder states the source of the facts.  The module defines one frozen subclass of
:class:`~trtlint.facts.base.Fact`. The ``kind`` of this subclass is the name of the module.  The function
``find(facts)`` of the module yields the facts in graph order. To add a kind of facts, add a module. The
module needs no registration. The folder ``blocks/`` contains code that several kinds use.
"""
