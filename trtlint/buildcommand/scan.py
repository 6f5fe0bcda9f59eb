"""Search for build commands in text, such as a shell script, and choose the commands for a model.

The text is read line by line.  Lines that end in a backslash are joined, and words are split as in a POSIX
shell (https://docs.python.org/3/library/shlex.html).  Scripts of Windows, YAML files and Python scripts have
further rules.  Nothing is expanded or run.
"""

from __future__ import annotations

import re
import shlex
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from trtlint.buildcommand.command import (
    COMPUTED,
    BuildCommand,
    CommandError,
    Tool,
    command,
    file_name,
    tool_of,
)
from trtlint.buildcommand.dialects import (
    DOCUMENTS,
    PROGRAM,
    SOURCES,
    array_words,
    as_shell,
    continued,
    is_windows,
)
from trtlint.buildcommand.pasted import is_call
from trtlint.buildcommand.providers import of_json, of_python
from trtlint.buildcommand.python import commands_in_python
from trtlint.buildcommand.triton import config_beside, is_config, parse_config, read_config
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.regular import read_bytes

_MAX_BYTES = 4 * 1024 * 1024
_MAX_JOINED = 400
"""Maximum number of lines that are joined to one command.

With this limit, an open quote in a comment cannot join the rest of the file.
"""
_SHOWING = frozenset({"--help", "--version"})
"""Options with which a program only prints a text."""
_OPERATORS = frozenset("();<>|&")
_PARENTHESES = re.compile(r"\$\((\w+)\)")
"""Pattern of a make variable such as ``$(NAME)``, which a shell would read as a command substitution."""
_AUTOMATIC = re.compile(r"\$[<^@?*+|]")
"""Pattern of an automatic make variable such as ``$<``; a shell would read some of them as operators."""
_COMMAND_SUBSTITUTION = re.compile(r"\$\([^()]*\)|`[^`]*`|\$?\{\{[^{}]*\}\}")
"""Pattern of a command substitution, or of an expression in a template such as ``${{ inputs.model }}``."""
_SUBSTITUTION = re.compile(r"\$\(|`")
"""Pattern of the start of a command substitution."""
_SCRIPT = re.compile(r"-(?!exec)[a-z]*c")
"""Pattern of a shell option whose next word is a script."""
_FILE_PROGRAMS = frozenset(
    {
        "cd", "chmod", "chown", "cmake", "cp", "echo", "file", "find", "git", "install", "ldd", "ln", "ls",
        "make", "mkdir", "mv", "ninja", "patchelf", "pushd", "rm", "strip", "tar", "test", "type", "which",
    }
)  # fmt: skip
"""Programs that can get a file or folder called ``trtexec`` as an argument, but do not run it."""
_BUILDER = re.compile(r"create_?builder_?config|BuilderFlag", re.IGNORECASE)
"""Pattern of a program that builds an engine with the API of TensorRT."""
_DEEPSTREAM = re.compile(r"^\s*(?:network-mode|model-engine-file)\s*[=:]", re.MULTILINE)
"""Pattern of a configuration of nvinfer.

https://docs.nvidia.com/metropolis/deepstream/dev-guide/text/DS_plugin_gst-nvinfer.html
"""
_POLYGRAPHY = re.compile(r"\bpolygraphy\s+(?:convert|run)\b")
"""Pattern of a command of Polygraphy that can build an engine."""
_ADVICE = "give the settings of the build as options, such as --fp16"
_ASSIGNED = re.compile(r"\w+=(?=(\S+)\s)")
"""Pattern of the assignment of a command to a variable.  The group is the first word of the command."""
_RECIPE = re.compile(r"^(?:\s*(?:(?:RUN|CMD|ENTRYPOINT)(?![\w=])|-|\+|@|\$ |> )\s*)+")
"""Pattern of the text before a command in Dockerfiles, make recipes and quoted prompts."""


def read_commands(text: str | None) -> tuple[BuildCommand, ...]:
    """Return the build commands in ``text``, the value of the option ``--build``.

    The value is a command, a file with commands, or a ``config.pbtxt``.  Without a value, there are no
    commands.

    Raises:
        CommandError: there is no command, or the file cannot be read.
    """
    if text is None:
        return ()
    path = Path(text)
    try:
        with limit_work(path):
            return _commands(path, text)
    except LimitError as error:
        source = text if _exists(path) else "the build command"
        raise CommandError(f"{source}: {error.message}") from None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the text is too long for a file name, or has a NUL
        return False


def _commands(path: Path, text: str) -> tuple[BuildCommand, ...]:
    there = _exists(path)
    if there and path.suffix == ".pbtxt":
        return (read_config(path),)
    if there:
        content = _content(path)
        found = of_json(content, text) if path.suffix == ".json" else _in_file(content, text, path.suffix)
        if not found and path.suffix in (".py", ""):
            found = of_python(content, text)
        if not found:
            raise CommandError(f"{text}: {_reason(content)}")
        return found
    if text.lstrip()[:1] in ("{", "[") and "ExecutionProvider" in text:
        return of_json(text)
    found = tuple(find_commands(text))
    if not found and text.lstrip().startswith("-"):
        found = tuple(find_commands(f"trtexec {text}"))
    if not found and is_config(text):
        found = (parse_config(text),)
    if not found:
        raise CommandError(f"the build command {text!r}: {_reason_of_text(text)}")
    return found


def _reason_of_text(text: str) -> str:
    """Return the reason why a text, which names no file, has no build command."""
    if is_call(text):
        return "a Torch-TensorRT call; to check the call, run trtlint lint with --torch-tensorrt 2.13"
    if _POLYGRAPHY.search(text):
        return _reason(text)
    return "no such file" if _looks_like_a_path(text) else "neither a file nor a trtexec command"


def _reason(content: str) -> str:
    """Return the reason why a file has no build command, and advice for files of other tools."""
    if _BUILDER.search(content):
        return f"uses the builder API of TensorRT, whose settings trtlint does not read; {_ADVICE}"
    if _DEEPSTREAM.search(content):
        return f"configures DeepStream's nvinfer, whose settings trtlint does not read; {_ADVICE}"
    if _POLYGRAPHY.search(content):
        return f"builds with Polygraphy, whose options trtlint does not read; {_ADVICE}"
    return "contains no trtexec or tensorrt_rtx command and no TensorRT provider"


def _in_file(content: str, source: str, suffix: str) -> tuple[BuildCommand, ...]:
    """Return the commands in the text of a file.  The suffix determines the language of the file."""
    found: tuple[BuildCommand, ...] | None = None
    if suffix.casefold() in DOCUMENTS:
        from trtlint.buildcommand.documents import commands_in_document

        return commands_in_document(content, source, suffix.casefold(), _in_part)
    if suffix.casefold() in SOURCES:
        from trtlint.buildcommand.csource import commands_in_source

        return commands_in_source(content, source, find_commands)
    if suffix == ".py":
        found = commands_in_python(content, source, find_commands)
    elif suffix in (".yml", ".yaml"):
        from trtlint.buildcommand.yamlfile import commands_in_yaml

        found = commands_in_yaml(content, source, find_commands)
    if found is None:
        found = tuple(find_commands(content, source))
    if not found and not suffix:
        found = commands_in_python(content, source, find_commands) or ()
    return found


def _in_part(content: str, source: str, suffix: str) -> tuple[BuildCommand, ...]:
    """Return the commands in a part of a document.

    Python code without commands is searched for provider options.
    """
    found = _in_file(content, source, suffix)
    return found or (of_python(content, source) if suffix == ".py" else ())


def find_commands(text: str, source: str = "") -> Iterator[BuildCommand]:
    """Yield the build commands in a text, in order.

    Args:
        text: a command line, or a script.
        source: the name of the file, for reports.
    """
    if is_windows(text, source):
        text = as_shell(text, source)
    docker = "dockerfile" in file_name(source).casefold()
    for number, words in _logical_lines(text, docker=docker):
        for tool, arguments in _invocations(words):
            found = command(arguments, tool, source=source, line=number)
            given = any(len(each.name) > 2 and each.name not in _SHOWING for each in found.options)
            if given or not (found.complete or found.words):
                yield found


def _content(path: Path) -> str:
    try:
        content = read_bytes(path, _MAX_BYTES)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from None
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # PowerShell writes UTF-16
        return content.decode("utf-16", "replace")
    if b"\0" in content:
        raise CommandError(f"{path}: a binary file; give a command, or a text file with commands")
    return content.decode("utf-8-sig", "replace")


def _looks_like_a_path(text: str) -> bool:
    return not any(char.isspace() for char in text.strip())


def _logical_lines(text: str, *, docker: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line.

    A line that ends in a backslash or inside a quote is joined with the next line.  A comment ends a command.
    In a Dockerfile, a line with only a comment does not end the command.  In other files, such a line does
    not end the command if the comment ends in a backslash.
    https://docs.docker.com/reference/dockerfile/#format
    """
    lines = text.splitlines()
    position = 0
    while position < len(lines):
        start = position
        joined = quote = ""
        while position < len(lines):
            line = lines[position] if quote else _without_comment(lines[position])
            position += 1
            if joined and not quote and not line.strip() and (docker or lines[position - 1].endswith("\\")):
                continue  # a comment between the lines of a command
            line = continued(line)
            joined += line
            quote = _open_quote(line.removesuffix("\\"), quote)
            if joined.endswith("\\"):
                joined = joined[:-1] + " "
                continue
            # While a quote is open, the text is not split: a split after each line would take quadratic time.
            # A text with a command substitution is split anyway, because its quotes can look unpaired.
            words = None if quote and not _SUBSTITUTION.search(joined) else _split(joined)
            if words is not None:
                yield start + 1, words
                break
            if position - start > _MAX_JOINED:
                position = start + 1  # an apostrophe, not a quote: continue after the first joined line
                break
            joined += "\n"
        else:
            words = _split(joined.rstrip("\\"))
            if words is not None:
                yield start + 1, words
            elif position - start > 1:
                position = start + 1


def _open_quote(line: str, quote: str) -> str:
    """Return the quotation mark that is still open at the end of a line, or an empty string.

    ``quote`` is the mark that is open before the line.
    """
    escaped = False
    for char in line:
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
    return quote


def _without_comment(line: str) -> str:
    quote = ""
    for position, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#" and (position == 0 or line[position - 1].isspace()):
            return line[:position]
    return line


def _split(line: str) -> list[str] | None:
    """Split a line into words and operators such as ``&&``. Return None if the line ends inside a quote."""
    line = _RECIPE.sub("", line)
    words = array_words(line.strip())
    if words is not None:
        return words
    line = _PARENTHESES.sub(r"${\1}", line)
    line = _AUTOMATIC.sub(COMPUTED, line)
    line = _COMMAND_SUBSTITUTION.sub(COMPUTED, line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars="".join(sorted(_OPERATORS)))
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # no closing quotation
        return None


def _invocations(words: Iterable[str]) -> Iterator[tuple[Tool, list[str]]]:
    """Yield each call of a known program: the program, and its arguments up to the next shell operator.

    The word after ``-c`` can be a script, as in ``bash -c "trtexec --fp16"``.  A variable can contain a
    command, as in ``cmd="trtexec --fp16"``.
    """
    previous = ""
    tool: Tool | None = None
    arguments: list[str] = []
    handles_files = False
    for word in words:
        if not previous or set(previous) <= _OPERATORS:
            handles_files = file_name(word) in _FILE_PROGRAMS
        elif previous == "-exec":  # find . -exec trtexec --onnx={} ;
            handles_files = False
        if word and set(word) <= _OPERATORS:
            if tool is not None:
                # The 2 of `2>&1` is not an argument.
                yield tool, arguments[:-1] if arguments[-1:] == ["2"] and ">" in word else arguments
            tool, arguments = None, []
        elif tool is not None:
            arguments.append(word)
        elif _SCRIPT.fullmatch(previous):
            for _, inner in _logical_lines(word):
                yield from _invocations(inner)
        elif (assigned := _ASSIGNED.match(word)) and PROGRAM.search(assigned.group(1)):
            for _, inner in _logical_lines(word[assigned.end() :]):
                # The script can add options to the variable before it runs the command.
                yield from ((each, [*given, COMPUTED]) for each, given in _invocations(inner))
        elif not handles_files:
            tool = tool_of(word)
        previous = word
    if tool is not None:
        yield tool, arguments


def choose_command(
    model: Path, commands: Sequence[BuildCommand], notify: Callable[[str], None]
) -> BuildCommand | None:
    """Return the command that builds a model, or None if no command matches.

    If ``commands`` is empty and the model is in a Triton model repository, the command comes from the
    ``config.pbtxt`` of the repository.

    Args:
        model: the path of the model.
        commands: the build commands that the user gives.
        notify: function that shows a warning to the user. It is called if no command or several commands
            match.

    Raises:
        CommandError: the ``config.pbtxt`` cannot be read.
    """
    if not commands:
        config = config_beside(model)
        return None if config is None else read_config(config)
    found = commands_for(model, commands)
    if not found:
        notify(f"warning: no build command in the given file has --onnx={model.name}")
    if len(found) > 1:
        others = ", ".join(str(command.line) for command in found[1:])
        also = f"lines {others} also match" if len(found) > 2 else f"line {others} also matches"
        notify(f"warning: using {found[0].place or 'the first command'} for {model.name}; {also}")
    return found[0] if found else None


def commands_for(model: Path, commands: Sequence[BuildCommand]) -> tuple[BuildCommand, ...]:
    """Return the commands that build a model, in order.

    The result is the first of these lists that is not empty:

    - the commands whose ``--onnx`` has the same file name as the model,
    - the commands whose ``--onnx`` is a shell variable,
    - the only command of the script, whatever file it names. The model may have another file name on the
      build machine.
    """
    builds = [command for command in commands if command.builds]
    named = [command for command in builds if file_name(command.model or "") == model.name]
    open_ = [command for command in builds if command.model is None]
    if named or open_:
        return tuple(named or open_)
    return tuple(commands) if len(commands) == 1 else ()
