# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Identity of a process on control channels: TLS with certificates from a folder, and a token from a file.

The folder has the file names of Kubernetes TLS secrets: ``ca.crt``, and unless the process is a caller without a
certificate, ``tls.crt`` and ``tls.key``. LANESUM_TLS names it, LANESUM_TOKEN_FILE the file of the token. A unix socket
has permissions instead of TLS, and ``plaintext:HOST:PORT`` is the address of a service without it.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
import socket
import ssl
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lanesum import environment
from lanesum.errors import ConfigurationError, LanesumError, MissingToolError
from lanesum.rpc.caller import Caller, CallerRole
from lanesum.rpc.local_peer import foreign_user_at_port, foreign_user_at_socket

AUTHORITY, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"
PLAINTEXT, UNIX = "plaintext:", "unix:"
AUTHORIZATION, BEARER = "authorization", "Bearer "

_IDENTITY = re.compile(r"spiffe://lanesum/(operator|tenant|worker)/([A-Za-z0-9._-]+)")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,512}")
_PROBE_S = 2.0
_RETRY_S = 0.05
_CODES_OF_TIME = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED of OpenSSL
_NEXT_STEP = f"Check the folder that {environment.TLS} names, and the hosts of the service's certificate."


class AccessError(LanesumError):
    """The caller of a service has no right to the call, or cannot be identified."""


def import_grpc() -> Any:
    """Return the grpc package. Raises MissingToolError if it is not installed."""
    # Each fork of a process with an open stream, such as a data loader's, would write a line to the terminal.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        import grpc
    except ImportError as error:
        raise MissingToolError("The package grpcio is not installed.", "Run: pip install grpcio.") from error
    return grpc


def folder_for(address: str) -> Path | None:
    """Return the folder of certificates for calls to ``address``; None for calls without TLS."""
    folder = os.environ.get(environment.TLS)
    return Path(folder) if folder and not address.startswith((UNIX, PLAINTEXT)) else None


def channel(address: str, options: Any = None, *, asynchronous: bool = False) -> Any:
    """Return a channel to ``host:port``, ``unix:path`` or ``plaintext:host:port``, with the identity of this process.

    With ``asynchronous``, it is one of ``grpc.aio``.

    Raises ConfigurationError if the folder of LANESUM_TLS cannot be used.
    """
    grpc, folder = import_grpc(), folder_for(address)
    kind = grpc.aio if asynchronous else grpc
    if folder is None:
        return kind.insecure_channel(address.removeprefix(PLAINTEXT), options=options)
    authority, certificate, key = _read(folder)
    return kind.secure_channel(address, grpc.ssl_channel_credentials(authority, key, certificate), options=options)


def metadata(address: str) -> tuple[tuple[str, str], ...]:
    """Return the metadata of a call, which hold the token if there is one and a service listens at ``address``.

    Raises ConfigurationError if the token cannot be read, would travel through a network unencrypted, or could go to a
    process of another user; root is trusted.
    """
    path = os.environ.get(environment.TOKEN_FILE)
    if not path:
        return ()
    if folder_for(address) is None and not is_local(address):
        raise ConfigurationError(
            f"The token of {path} would travel to {address} unencrypted.",
            f"Set {environment.TLS} (lanesum certs init), or unset {environment.TOKEN_FILE}.",
        )
    try:
        token = Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read the token file {path}: {error.strerror}.", f"Correct {environment.TOKEN_FILE}."
        ) from error
    if not _TOKEN.fullmatch(token):
        raise ConfigurationError(f"The file {path} holds no token.", f"Correct {environment.TOKEN_FILE}.")
    if folder_for(address) is None:
        foreign = _foreign_user(address)
        if foreign is None:
            return ()
        if foreign:
            raise ConfigurationError(
                f"The token of {path} would go to {address}, and {foreign}.",
                f"Set {environment.TLS} (lanesum certs init), by which a service proves who it is, or let this user or "
                "root run the service.",
            )
    return ((AUTHORIZATION, BEARER + token),)


def _foreign_user(address: str) -> str | None:
    if address.startswith(UNIX):
        return foreign_user_at_socket(Path(address.removeprefix(UNIX)))
    return foreign_user_at_port(int(address.rpartition(":")[2]))


def needs_listener(address: str) -> bool:
    """Return True if the token of calls to ``address`` is sent only to a service that listens already."""
    return bool(os.environ.get(environment.TOKEN_FILE)) and folder_for(address) is None and is_local(address)


def problem(address: str) -> str:
    """Return why no TLS session with the service at ``address`` begins; empty if one does, or nothing answers.

    gRPC names no reason where the service refuses the certificate of this process, and repeats the attempt.
    """
    if address.startswith(UNIX):
        return ""
    folder = folder_for(address)
    host = address.removeprefix(PLAINTEXT).rpartition(":")[0].strip("[]")
    try:
        context = _context(folder, ssl.PROTOCOL_TLS_CLIENT)
        with _connection(address, _PROBE_S) as plain, context.wrap_socket(plain, server_hostname=host) as session:
            if folder is None:
                return f"it expects TLS. Set {environment.TLS} to a folder of lanesum certs."
            # With TLS 1.3 a service refuses the certificate of a client after the handshake, by closing the session.
            if session.recv(1):
                return ""
            if not (folder / CERTIFICATE).exists():
                return f"it asks for a certificate, and {folder} has none. Issue one (lanesum certs issue)."
            return (
                f"it refuses the certificate in {folder}, which has expired, or is of another authority, or is not for "
                "callers; its log says why. Issue a new one (lanesum certs issue)."
            )
    except ssl.SSLCertVerificationError as error:
        step = _NEXT_STEP
        if error.verify_code in _CODES_OF_TIME:
            now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
            step = (
                f"The clock of this host says {now}: correct it, or issue the certificate again (lanesum certs issue)."
            )
        return f"its certificate is not valid here: {error.verify_message.rstrip('.')}. {step}"
    except ssl.SSLError as error:
        if folder is None:
            return ""
        return f"it does not use TLS ({error.reason}). Start it with --tls, or call {PLAINTEXT}{address}."
    except (OSError, ValueError, OverflowError):
        return ""


def wait_until_listening(address: str, timeout_s: float) -> None:
    """Wait until a service accepts connections.

    Raises:
        OSError: of the last attempt, after ``timeout_s``.
        ConfigurationError: the address is malformed.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            _connection(address, max(0.1, deadline - time.monotonic())).close()
            return
        except (ValueError, OverflowError) as error:
            raise _malformed(address) from error
        except OSError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_RETRY_S)


def check_address(address: str) -> None:
    """Check the form of ``host:port`` or ``unix:path``. Raises ConfigurationError."""
    host, _, port = address.rpartition(":")
    if not host or not (address.startswith(UNIX) or port.isdecimal()):
        raise _malformed(address)


def _malformed(address: str) -> ConfigurationError:
    return ConfigurationError(f"{address!r} is no address.", "Give host:port or unix:path.")


def _connection(address: str, timeout_s: float) -> socket.socket:
    if not address.startswith(UNIX):
        host, _, port = address.removeprefix(PLAINTEXT).rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), timeout_s)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(address.removeprefix(UNIX))
    except OSError:
        connection.close()
        raise
    return connection


def server_credentials(folder: Path, *, mutual: bool = True) -> Any:
    """Return credentials of a service; files that change are read again, before the next handshake.

    A handshake costs no more than a look at the state of the files.

    ``mutual``: refuse callers without a certificate of the authority. Raises ConfigurationError.
    """
    grpc = import_grpc()

    def load() -> tuple[tuple[bytes | None, ...], Any]:
        authority, certificate, key = files = _read(folder)
        if certificate is None or (mutual and authority is None):
            lacking = CERTIFICATE if certificate is None else AUTHORITY
            raise ConfigurationError(f"There is no {lacking} in {folder}.", "Issue one (lanesum certs issue).")
        _context(folder, ssl.PROTOCOL_TLS_SERVER)
        return files, grpc.ssl_server_certificate_configuration([(key, certificate)], authority if mutual else None)

    seen = file_states(folder)
    held, first = load()
    refused = ""

    def reload() -> Any:
        nonlocal seen, held, refused
        if (now := file_states(folder)) == seen:
            return None
        seen = now
        try:
            files, configuration = load()
        except ConfigurationError as error:
            if str(error) != refused:
                print(f"lanesum: {error} The earlier certificate stays in use.", file=sys.stderr, flush=True)
            refused = str(error)
            return None
        if files == held:
            return None
        held = files
        return configuration

    return grpc.dynamic_ssl_server_credentials(first, reload, require_client_authentication=mutual)


def credentials_for(
    service: str, address: str, folder: Path | None, *, insecure: bool, mutual: bool = True, identified: bool = True
) -> Any:
    """Return the credentials of a service that this process runs; None for a unix socket, or without a folder.

    The process calls other services with the same folder.

    Args:
        insecure: the user accepts an address that others reach, without TLS or without identified callers; a warning on
            standard error says so.
        mutual: refuse callers without a certificate of the authority.
        identified: callers have certificates or tokens.

    Raises ConfigurationError: the address is not local, and the service would not be secure; or the folder cannot be
    used.
    """
    if folder is not None:
        os.environ[environment.TLS] = str(folder)
        # gRPC reports handshakes that fail at this level only. The level of the parent may be that of import_grpc.
        if os.environ.get("GRPC_VERBOSITY", "ERROR") == "ERROR":
            os.environ["GRPC_VERBOSITY"] = "INFO"
    if not is_local(address) and (folder is None or not identified):
        what = f"All hosts that reach {address} can use the {service}: it has no TLS, or does not identify callers."
        if not insecure:
            raise ConfigurationError(
                what,
                "Give --tls FOLDER (lanesum certs init), a loopback address (gRPC: unix:PATH), or accept --insecure.",
            )
        print(f"lanesum: warning: {what}", file=sys.stderr, flush=True)
    return None if folder is None or address.startswith(UNIX) else server_credentials(folder, mutual=mutual)


def identity_uri(role: CallerRole, name: str) -> str:
    """Return the URI in the certificate of a caller."""
    return f"spiffe://lanesum/{role}/{name}"


def caller_of(auth_context: Mapping[str, Sequence[bytes]]) -> Caller | None:
    """Return the caller that a verified certificate names; None without one."""
    uris = auth_context.get("peer_uri") or ()
    if len(uris) != 1:
        return None
    found = _IDENTITY.fullmatch(uris[0].decode(errors="replace"))
    if found is None or _is_cut(uris[0], auth_context):
        return None
    return Caller(found[2], CallerRole(found[1]))


def _is_cut(uri: bytes, auth_context: Mapping[str, Sequence[bytes]]) -> bool:
    """Return True if gRPC has cut a URI of the caller's certificate at a NUL, or does not hand on the certificate.

    In DER a tag or the certificate's next part follows a URI, and neither begins with NUL (X.690, section 8.1.2).
    """
    certificate = auth_context.get("x509_pem_cert") or ()
    return not certificate or uri + b"\0" in ssl.PEM_cert_to_DER_cert(certificate[0].decode())


def operators_only(_metadata: Any, auth_context: Mapping[str, Any]) -> Caller:
    """Return the caller, which a certificate names an operator. Raises AccessError for all others."""
    caller = caller_of(auth_context)
    if caller is None or caller.role is not CallerRole.OPERATOR:
        who = "The caller's certificate names no role" if caller is None else f"{caller.name} is a {caller.role}"
        raise AccessError(f"{who}; this service is for operators.", "Call it with a certificate of an operator.")
    return caller


def is_local(address: str) -> bool:
    """Return True if only processes of this machine reach ``address``."""
    host = address.removeprefix(PLAINTEXT).rpartition(":")[0].strip("[]")
    try:
        return address.startswith(UNIX) or host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read(folder: Path) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Return authority, certificate and key of a folder; None for missing files. Raises ConfigurationError."""
    try:
        if not folder.is_dir():
            raise FileNotFoundError(2, "there is no such folder")
        authority, certificate, key = (
            path.read_bytes() if (path := folder / name).exists() else None for name in (AUTHORITY, CERTIFICATE, KEY)
        )
        if key is not None:
            check_key_mode(folder / KEY)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read the certificates in {folder}: {error.strerror}.", "Make them (lanesum certs init)."
        ) from error
    if (certificate is None) != (key is None):
        raise ConfigurationError(f"{folder} has only one of {CERTIFICATE} and {KEY}.", "It needs both, or none.")
    return authority, certificate, key


def file_states(folder: Path) -> tuple[tuple[int, int, int, int] | None, ...]:
    """Return device, inode, length and time of change of the files in a folder; None for missing ones."""
    states: list[tuple[int, int, int, int] | None] = []
    for name in (AUTHORITY, CERTIFICATE, KEY):
        try:
            found = (folder / name).stat()
        except OSError:
            states.append(None)
        else:
            states.append((found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns))
    return tuple(states)


def check_key_mode(path: Path) -> None:
    """Check that only owner and group can access a private key. Raises ConfigurationError; OSError without the file."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IRWXO:
        raise ConfigurationError(
            f"All users of this host can access the private key {path}: its mode is {mode:04o}.",
            f"Run: chmod o-rwx {shlex.quote(str(path))}",
        )


def _context(folder: Path | None, protocol: Any) -> ssl.SSLContext:
    """Return the certificates of a folder for Python's TLS, which checks them. Raises ConfigurationError."""
    context = ssl.SSLContext(protocol)
    context.set_alpn_protocols(["h2"])
    if folder is None:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context
    try:
        if (folder / AUTHORITY).exists():
            context.load_verify_locations(folder / AUTHORITY)
        if (folder / CERTIFICATE).exists():
            context.load_cert_chain(folder / CERTIFICATE, folder / KEY, password="")
    except OSError as error:  # SSLError is one
        why = (getattr(error, "reason", None) or error.strerror or str(error)).replace("_", " ").lower()
        raise ConfigurationError(
            f"The certificates in {folder} cannot be used: {why}.", "Issue them again (lanesum certs issue)."
        ) from error
    return context
