# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Private certificate authority of a lab: one folder with the authority, and one for each part and person.

A folder of a part has the file names of Kubernetes TLS secrets, as ``lanesum.rpc.tls`` reads them. The identity of a
caller is a URI in the subject alternative names, as in SPIFFE: ``spiffe://lanesum/ROLE/NAME``.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lanesum._internal.output_file import make_folder, write_file
from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import CallerRole
from lanesum.rpc.tls import AUTHORITY, CERTIFICATE, KEY, check_key_mode, identity_uri

AUTHORITY_FOLDER = "ca"
AUTHORITY_DAYS = 3650
DEFAULT_DAYS = 365
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
#: Folders that a new authority has besides its own, and their roles as callers. Servers and switches are not callers.
PARTS: dict[str, CallerRole | None] = {
    "controller": CallerRole.OPERATOR,
    "server": None,
    "switch": None,
    "operator": CallerRole.OPERATOR,
    "worker": CallerRole.WORKER,
}
SERVICES = ("controller", "server", "switch")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_CLOCK_SKEW = datetime.timedelta(minutes=5)


class Authority:
    """Certificate authority in ``folder/ca``. ``create`` makes a new one.

    Raises ConfigurationError if there is none in the folder, or it cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        own = folder / AUTHORITY_FOLDER
        try:
            self._text = (own / AUTHORITY).read_bytes()
            self._certificate = x509.load_pem_x509_certificate(self._text)
            key = serialization.load_pem_private_key((own / "ca.key").read_bytes(), None)
            check_key_mode(own / "ca.key")
        except OSError as error:
            raise ConfigurationError(
                f"There is no certificate authority in {folder}: {error.strerror}: {error.filename}.",
                "Make one (lanesum certs init).",
            ) from error
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise ConfigurationError(f"The certificate authority in {own} cannot be read: {error}.") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ConfigurationError(f"{own / 'ca.key'} is no key on an elliptic curve.", "lanesum certs makes one.")
        self._key = key

    @classmethod
    def create(cls, folder: Path, days: int = AUTHORITY_DAYS) -> Authority:
        """Make an authority. Raises ConfigurationError if the folder has one, or cannot be written."""
        own = folder / AUTHORITY_FOLDER
        if (own / "ca.key").exists():
            raise ConfigurationError(
                f"{own} has a certificate authority already.",
                "Issue more certificates with it (lanesum certs issue), or choose another folder.",
            )
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lanesum lab authority")])
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
            decipher_only=False,
        )  # fmt: skip
        certificate = (
            _builder(name, name, key.public_key(), days)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        make_folder(folder, private=True)
        make_folder(own, private=True)
        write_file(own / "ca.key", _key_text(key), private=True)
        write_file(own / AUTHORITY, certificate.public_bytes(serialization.Encoding.PEM), private=True)
        return cls(folder)

    def issue(
        self,
        name: str,
        role: CallerRole | None = None,
        *,
        hosts: Iterable[str] = (),
        days: float = DEFAULT_DAYS,
    ) -> Path:
        """Write key and certificate to the folder ``name``, in place of earlier ones, and return the folder.

        Args:
            name: name of the caller, or of the part.
            role: rights as a caller; None for none.
            hosts: host names and addresses of a service; a certificate without any is for callers alone.

        Raises ConfigurationError: an invalid name or host, or the folder cannot be written.
        """
        if not _NAME.fullmatch(name) or name == AUTHORITY_FOLDER:
            raise ConfigurationError(
                f"{name!r} is no name for a certificate.",
                f"Use letters, digits, '.', '_' and '-', at most 63 characters, and not {AUTHORITY_FOLDER!r}.",
            )
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [_host_name(host) for host in dict.fromkeys(hosts)]
        usages = [ExtendedKeyUsageOID.SERVER_AUTH] if names else []
        if role is not None:
            names.append(x509.UniformResourceIdentifier(identity_uri(role, name)))
            usages.append(ExtendedKeyUsageOID.CLIENT_AUTH)
        if not names:
            raise ConfigurationError(f"A certificate for {name} needs a role or a host.", "Give --role or --host.")
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            _builder(subject, self._certificate.subject, key.public_key(), days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        folder = self._folder / name
        make_folder(folder, private=True)
        write_file(folder / AUTHORITY, self._text, private=True)
        write_file(folder / KEY, _key_text(key), private=True)
        write_file(folder / CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM), private=True)
        return folder


def init(
    folder: Path, hosts: Mapping[str, Sequence[str]] = MappingProxyType({}), days: float = DEFAULT_DAYS
) -> list[Path]:
    """Make an authority, and a folder for each of ``PARTS``; return the folders.

    Args:
        folder: folder of the authority, which is created.
        hosts: host names and addresses of each of ``SERVICES``. A certificate has only those of its own service, so a
            server cannot answer in the controller's name. A service without any has ``LOCAL_HOSTS``.
        days: validity of the certificates.

    Raises ConfigurationError as ``Authority.create`` and ``issue`` do.
    """
    authority = Authority.create(folder)
    return [
        authority.issue(name, role, hosts=hosts.get(name) or LOCAL_HOSTS if name in SERVICES else (), days=days)
        for name, role in PARTS.items()
    ]


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: float
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    end = now + datetime.timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, end) - _CLOCK_SKEW)
        .not_valid_after(end)
    )


def _key_text(key: ec.EllipticCurvePrivateKey) -> bytes:
    pem: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return pem


def _host_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        if not host or any(one.isspace() for one in host):
            raise ValueError("it is empty, or has spaces")
        return x509.DNSName(host)
    except ValueError as error:
        raise ConfigurationError(f"{host!r} is no host name and no address: {error}.") from error
