"""Bytes on disk: a file is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from tamis._tamis import CalibrationFileError


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file atomically: a reader sees the old file or the new one, complete.

    The text goes to a temporary file in the same folder, is flushed to the disk, and replaces the
    target by a rename. An error (no space, no permission) leaves the target as it was and no
    temporary file behind.

    Parameters
    ----------
    path : path
        The file. Where it is a symbolic link, the link's target is replaced.
    text : str
        Written as UTF-8.

    Raises
    ------
    OSError
        When the folder is missing or not writable, or the disk is full.
    """
    target = Path(os.path.realpath(os.fspath(path)))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, else those a new file would get."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        # The umask cannot be read without setting it, which another thread would see: /proc knows.
        try:
            with open("/proc/self/status", encoding="ascii", errors="replace") as status:
                line = next((line for line in status if line.startswith("Umask:")), "Umask: 022")
            return 0o666 & ~int(line.split()[1], 8)
        except OSError:
            return 0o644


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where folders can be opened (not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a calibration file's text.

    Raises
    ------
    OSError
        When the file cannot be read.
    CalibrationFileError
        When it is not UTF-8.
    """
    data = Path(os.fspath(path)).read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CalibrationFileError(
            f"calibration file: field `file`: {path} is not UTF-8 text (byte {error.start})"
        ) from None
