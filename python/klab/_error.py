"""The one exception of the package."""

from __future__ import annotations


class Error(ValueError):
    """Bad input. The message is one line that names the file or argument, the field and the remedy.

    file: the file or folder that was read, or "".
    field: the column, key or argument that is wrong, or "".
    remedy: what to do instead, or "" where the message has it.
    """

    def __init__(self, message: str, file: str = "", field: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.file = file
        self.field = field
        self.remedy = remedy

