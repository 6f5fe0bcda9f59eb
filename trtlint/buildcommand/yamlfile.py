"""Read commands in YAML files, such as workflows, Compose files and Kubernetes manifests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml
from msgspec.structs import replace

from trtlint.buildcommand.command import BuildCommand, Search, command, tool_of
from trtlint.buildcommand.dialects import PROGRAM

_DEEPEST = 60
_CONTAINERS = (("command", "args"), ("entrypoint", "command"))
"""The keys for the program and the arguments of a container, in Kubernetes and in Compose:

https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/
https://docs.docker.com/reference/compose-file/services/#entrypoint
"""


def commands_in_yaml(text: str, source: str, search: Search) -> tuple[BuildCommand, ...] | None:
    """Return the commands in a YAML file, such as a workflow or a Compose file.

    A command is a scalar, or a list whose first entry is a program. The result is None if the text is not
    YAML.
    """
    if PROGRAM.search(text) is None:
        return ()
    try:
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    reader = _Yaml(source, search)
    found = [each for document in documents for each in reader.commands(document, 0)]
    return tuple(sorted(found, key=lambda each: each.line))


class _Yaml:
    """Finds the commands in the nodes of YAML documents.

    Each node is read once: an alias refers to the same node as its anchor.
    """

    def __init__(self, source: str, search: Search) -> None:
        self._source = source
        self._search = search
        self._seen: set[int] = set()

    def commands(self, node: yaml.Node | None, depth: int) -> Iterator[BuildCommand]:
        """Yield the commands in a node."""
        if depth > _DEEPEST or id(node) in self._seen:
            return
        self._seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            # The text of a block (`|` or `>`) begins in the next line.
            first = node.start_mark.line + (2 if node.style in ("|", ">") else 1)
            for found in self._search(node.value, self._source):
                yield replace(found, line=first + found.line - 1)
        elif isinstance(node, yaml.SequenceNode):
            whole = self._of_list(node.value)
            if whole is not None:
                yield whole
                return
            for each in node.value:
                yield from self.commands(each, depth + 1)
        elif isinstance(node, yaml.MappingNode):
            yield from self._of_container(node)
            for _, value in node.value:
                yield from self.commands(value, depth + 1)

    def _of_container(self, node: yaml.MappingNode) -> Iterator[BuildCommand]:
        """Yield the command of a container that has its program and its arguments in two lists."""
        values = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        for program, arguments in _CONTAINERS:
            first, second = values.get(program), values.get(arguments)
            if isinstance(first, yaml.SequenceNode) and isinstance(second, yaml.SequenceNode):
                whole = self._of_list([*first.value, *second.value])
                if whole is not None:
                    self._seen.update((id(first), id(second)))
                    yield whole

    def _of_list(self, nodes: Sequence[yaml.Node]) -> BuildCommand | None:
        """Return the command whose words are the nodes of a list, or None if the list is no command."""
        words = [each.value if isinstance(each, yaml.ScalarNode) else "" for each in nodes]
        tool = tool_of(words[0]) if words else None
        if tool is None or len(words) < 2:
            return None
        return command(words[1:], tool, source=self._source, line=nodes[0].start_mark.line + 1)
