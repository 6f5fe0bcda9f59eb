r"""Escaping of text from model files for terminals and logs.

Names in an ONNX file are arbitrary UTF-8: a node name may be ``\\x1b[2J`` or contain a right-to-left
override. All printed text passes through :func:`clean`.
"""

from __future__ import annotations

import re
import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of characters that move the cursor, reorder text or show nothing."""
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible letters and marks, which make two names look alike. These code points have the property
Default_Ignorable_Code_Point, and belong to none of the categories in ``_UNSAFE``:
https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt
"""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def clean(text: str) -> str:
    r"""Escape control, format, bidirectional and unassigned characters.

    >>> clean("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) for char in text)


def clean_block(text: str) -> str:
    """Escape a text as :func:`clean` does, but keep line ends."""
    return "\n".join(clean(line) for line in text.splitlines())


def _escape(char: str) -> str:
    if unicodedata.category(char) not in _UNSAFE and not _HIDDEN.match(char):
        return char
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
