"""What can go wrong. Each message says what was found and what to do next."""
from .messages import ErrorCode


class TactusError(Exception):
    """Base of all errors of this package."""


class ConnectError(TactusError):
    """No connection could be made."""


class VersionMismatch(ConnectError):
    """Server and client speak different major versions of the wire."""


class AuthenticationError(ConnectError):
    """The server needs a token, or refused the one it was given."""


class TokenFileError(ConnectError):
    """The file given by token_file= holds no token, or others could have put one there."""


class ProtocolError(TactusError):
    """The peer sent something the specification forbids, for example a wrong mac."""


class LinkLost(TactusError):
    """The connection fell while something waited for it. The client reconnects by itself."""


class NotArmed(TactusError):
    """The world may have changed (reconnect, new scene): commands wait until user code calls arm()."""


class UsedAfterFork(LinkLost):
    """The client belongs to the process that made it: a forked child connects anew. The parent's goes on."""


class StoodStill(NotArmed):
    """This program stood still (suspended, at a breakpoint) for longer than its commands live: they are held back until arm()."""


class TimedOut(TactusError):
    """Nothing came within the time given."""


class RequestError(TactusError):
    """The server refused a request, which changed nothing. `code` is an ErrorCode, `text` the server's explanation."""

    def __init__(self, code: int, text: str, hint: str = ""):
        self.code = code
        self.text = text
        name = ErrorCode(code).name if code in ErrorCode._value2member_map_ else f"CODE_{code}"
        super().__init__(f"{name}: {text or 'the server gave no explanation'}" + (f" ({hint})" if hint else ""))


class NotFound(RequestError):
    pass


class BadValue(RequestError):
    pass


class NotLeased(RequestError):
    pass


class LeasedByOther(RequestError):
    pass


class StaleEpoch(RequestError):
    pass


class BadScene(RequestError):
    pass


class Full(RequestError):
    pass


class WrongState(RequestError):
    pass


class ReadOnly(RequestError):
    pass


class ServerFull(ConnectError, Full):
    """All places of the server are taken. A client that has been connected goes on trying."""


_CLASS_AND_HINT = {
    ErrorCode.NOT_FOUND: (NotFound, ""),
    ErrorCode.BAD_VALUE: (BadValue, ""),
    ErrorCode.NOT_LEASED: (NotLeased, "claim(...) the channel first"),
    ErrorCode.LEASED_BY_OTHER: (
        LeasedByOther,
        "leases() shows who holds what; wait for the release, or claim(..., take_over=True) with a control token",
    ),
    ErrorCode.STALE_EPOCH: (StaleEpoch, "the scene changed: look at it again, then arm()"),
    ErrorCode.BAD_SCENE: (BadScene, "the running scene stays"),
    ErrorCode.FULL: (Full, "a limit of the server is reached"),
    ErrorCode.WRONG_STATE: (WrongState, ""),
    ErrorCode.READ_ONLY: (ReadOnly, ""),
}


def request_error(error) -> RequestError:
    """The exception for an Error message of a Reply."""
    if error.code in (ErrorCode.WRONG_KEY, ErrorCode.NOT_AUTHENTICATED):
        return AuthenticationError(
            f"{ErrorCode(error.code).name}: {error.text or 'the server refused the token'}; "
            "pass token_file= with the file that tactusd was given by --token-file"
        )
    if error.code == ErrorCode.VERSION:
        return VersionMismatch(f"VERSION: {error.text}; install the client that belongs to the server")
    cls, hint = _CLASS_AND_HINT.get(error.code, (RequestError, ""))
    return cls(error.code, error.text, hint)


def handshake_error(error) -> ConnectError:
    """The exception for an Error that came in the place of a handshake's reply."""
    refused = request_error(error)
    if isinstance(refused, ConnectError):
        return refused
    if isinstance(refused, Full):
        return ServerFull(refused.code, refused.text)
    return ConnectError(f"the server does not let this client in: {refused}")
