# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The certificate authority of a lab: files, permissions and refusals."""

from __future__ import annotations

import datetime
import importlib
import stat
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import CallerRole
from tests.command_line import invoke


@pytest.fixture
def certs() -> ModuleType:
    """The module, which needs the package cryptography."""
    return importlib.import_module("lanesum_control.security.certs")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def hosts_of(folder: Path) -> set[str]:
    """Return the host names and addresses of a certificate."""
    certificate = x509.load_pem_x509_certificate((folder / "tls.crt").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = names.get_values_for_type(x509.IPAddress)
    return {*names.get_values_for_type(x509.DNSName), *(str(address) for address in addresses)}


@pytest.mark.parametrize(("part", "host"), [("controller", "10.1.0.1"), ("server", "10.1.0.2"), ("switch", "10.1.0.3")])
def test_init_certificate_names_hosts_of_its_service_alone(
    certs: ModuleType, tmp_path: Path, part: str, host: str
) -> None:
    certs.init(tmp_path, {"controller": ["10.1.0.1"], "server": ["10.1.0.2"], "switch": ["10.1.0.3"]})
    assert hosts_of(tmp_path / part) == {host}


def test_init_writes_folders_that_only_the_owner_reads(certs: ModuleType, tmp_path: Path) -> None:
    made = certs.init(tmp_path / "certs", {"server": ["10.19.0.100", "sums.lab"]})
    assert {folder.name for folder in made} == set(certs.PARTS)
    for folder in (*made, tmp_path / "certs", tmp_path / "certs" / "ca"):
        assert mode(folder) == 0o700
        assert all(mode(file) == 0o600 for file in folder.iterdir() if file.is_file())
    assert {file.name for file in made[0].iterdir()} == {"ca.crt", "tls.crt", "tls.key"}


@pytest.mark.parametrize(
    ("part", "purpose", "valid"),
    [
        ("controller", "sslserver", True),
        ("controller", "sslclient", True),
        ("server", "sslserver", True),
        ("server", "sslclient", False),
        ("operator", "sslclient", True),
        ("operator", "sslserver", False),
        ("worker", "sslclient", True),
        ("worker", "sslserver", False),
    ],
)
def test_certificate_is_valid_for_its_purpose_alone(
    certs: ModuleType, tmp_path: Path, part: str, purpose: str, valid: bool
) -> None:
    """Of OpenSSL, the other implementation: a worker's certificate must not pass for a controller's."""
    certs.init(tmp_path)
    command = ["openssl", "verify", "-purpose", purpose, "-x509_strict", "-CAfile", tmp_path / "ca" / "ca.crt"]
    done = subprocess.run([*command, tmp_path / part / "tls.crt"], capture_output=True, text=True)
    assert (done.returncode == 0) is valid, done.stderr


def test_second_authority_in_a_folder_is_refused(certs: ModuleType, tmp_path: Path) -> None:
    certs.init(tmp_path)
    before = (tmp_path / "ca" / "ca.key").read_bytes()
    with pytest.raises(ConfigurationError, match=r"has a certificate authority already.*lanesum certs issue"):
        certs.init(tmp_path)
    assert (tmp_path / "ca" / "ca.key").read_bytes() == before


def test_authority_key_of_all_users_is_refused(certs: ModuleType, tmp_path: Path) -> None:
    certs.init(tmp_path)
    (tmp_path / "ca" / "ca.key").chmod(0o644)
    with pytest.raises(ConfigurationError, match=r"All users of this host .*ca\.key: its mode is 0644\. Run: chmod"):
        certs.Authority(tmp_path)


@pytest.mark.parametrize("name", ["", "ca", "../x", "a/b", "a b", ".x", "a" * 64, "é"])
def test_issue_with_invalid_name_is_refused(certs: ModuleType, tmp_path: Path, name: str) -> None:
    authority = certs.Authority.create(tmp_path)
    with pytest.raises(ConfigurationError, match="is no name for a certificate"):
        authority.issue(name, CallerRole.WORKER)
    assert [one.name for one in tmp_path.iterdir()] == ["ca"]


@pytest.mark.parametrize("host", ["", "a b", "hé", "\n"])
def test_issue_with_invalid_host_is_refused(certs: ModuleType, tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigurationError, match="no host name and no address"):
        certs.Authority.create(tmp_path).issue("server", hosts=[host])


def test_certificate_for_nothing_is_refused(certs: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="needs a role or a host"):
        certs.Authority.create(tmp_path).issue("empty")


def test_absent_authority_and_foreign_key_type_are_refused(certs: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"There is no certificate authority in .*\. Make one \(lanesum certs init"
    ):
        certs.Authority(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"Cannot create the folder .*file/certs: Not a directory"):
        certs.init(tmp_path / "file" / "certs")
    certs.init(tmp_path)
    other = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "ca" / "ca.key").write_bytes(other)
    with pytest.raises(ConfigurationError, match=r"ca.key is no key on an elliptic curve"):
        certs.Authority(tmp_path)


@pytest.mark.parametrize("text", [b"", b"no key", b"\xff\x00"])
def test_broken_authority_says_so(certs: ModuleType, tmp_path: Path, text: bytes) -> None:
    certs.init(tmp_path)
    (tmp_path / "ca" / "ca.key").write_bytes(text)
    with pytest.raises(ConfigurationError, match=r"The certificate authority in .* cannot be read: "):
        certs.Authority(tmp_path)


def test_commands_make_an_authority_and_issue(tmp_path: Path) -> None:
    folder = str(tmp_path / "certs")
    assert invoke(["certs", "init", folder, "--server-host", "10.19.0.100", "--server-host", "sums.lab"]).exit_code == 0
    assert hosts_of(tmp_path / "certs" / "server") == {"10.19.0.100", "sums.lab"}
    assert hosts_of(tmp_path / "certs" / "controller") == {"localhost", "127.0.0.1", "::1"}
    issued = invoke(["certs", "issue", folder, "alice", "--role", "tenant"])
    assert issued.exit_code == 0 and issued.output.strip() == f"{folder}/alice"
    refused = invoke(["certs", "issue", str(tmp_path), "alice", "--role", "tenant"])
    assert refused.exit_code == 2 and "Make one (lanesum certs init)" in refused.output


def test_certificate_is_valid_where_a_clock_is_behind(certs: ModuleType, tmp_path: Path) -> None:
    folder = certs.Authority.create(tmp_path).issue("operator", CallerRole.OPERATOR)
    certificate = x509.load_pem_x509_certificate((folder / "tls.crt").read_bytes())
    assert certificate.not_valid_before_utc < datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=4)
