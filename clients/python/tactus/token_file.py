"""Reads a token file as tactusd does: what others can write is refused, what others can read is warned of."""
import errno
import os
import pathlib
import stat
import warnings

from .errors import TokenFileError

BYTES_LEAST, BYTES_MOST = 16, 4096


def read_token_file(path) -> bytes:
    """The file's contents without trailing white space. Raises TokenFileError."""
    path = pathlib.Path(path)
    said = f"the token file {path}: "
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            token = file.read(BYTES_MOST + 1).rstrip(b" \t\r\n\v\f")
    except IsADirectoryError:
        raise TokenFileError(f"{said}found a folder, expected a file") from None
    except OSError as error:
        hint = "; is it the file that tactusd was given by --token-file?" if error.errno == errno.ENOENT else ""
        raise TokenFileError(f"{said}{error.strerror}{hint}") from error
    if os.name == "posix" and stat.S_ISREG(status.st_mode):
        _check_rights(said, path, status)
    if not BYTES_LEAST <= len(token) <= BYTES_MOST:
        found = "it is empty" if not token else f"found a token of {len(token)} bytes" if len(token) < BYTES_LEAST else "found more"
        raise TokenFileError(f"{said}{found}, expected one line of {BYTES_LEAST} to {BYTES_MOST} bytes, as tactusd was given by --token-file")
    return token


def _check_rights(said, path, status):
    mode = f"mode {status.st_mode & 0o777:03o}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise TokenFileError(f"{said}others than its owner can write it ({mode}), and so set a token of their own: chmod go-w {path}")
    folder = path.resolve().parent
    rights = os.stat(folder)
    writers = rights.st_mode & (stat.S_IWOTH | (0 if _is_own_group(rights) else stat.S_IWGRP))
    if writers and not rights.st_mode & stat.S_ISVTX:
        raise TokenFileError(
            f"{said}others can put another file in its place, since they may write the folder {folder} "
            f"(mode {rights.st_mode & 0o777:03o}): chmod go-w {folder}, or keep the file elsewhere"
        )
    if status.st_mode & stat.S_IROTH:
        warnings.warn(f"{said}every user of this machine can read it ({mode}): chmod o-r {path}", stacklevel=5)  # of connect()


def _is_own_group(status):
    """Of a user alone: each has one where files are made writable by groups."""
    import grp
    import pwd

    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return owner.pw_gid == status.st_gid and not set(group.gr_mem) - {owner.pw_name}
