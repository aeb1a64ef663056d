# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Files of certificates and tokens that a client cannot use are refused before a call."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from lanesum import environment
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.rpc import tls


def test_folder_of_certificates_that_is_incomplete_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.TLS, str(tmp_path / "absent"))
    with pytest.raises(ConfigurationError, match=r"Cannot read the certificates in .*absent: there is no such folder"):
        tls.channel("10.0.0.9:19551")
    with pytest.raises(ConfigurationError, match=r"There is no tls.crt in .*\. Issue one \(lanesum certs issue\)"):
        tls.server_credentials(tmp_path)
    monkeypatch.setenv(environment.TLS, str(tmp_path))
    message = f"{tmp_path} has only one of {tls.CERTIFICATE} and {tls.KEY}. It needs both, or none."
    for name in (tls.CERTIFICATE, tls.KEY):
        (tmp_path / name).touch(mode=0o600)
        with pytest.raises(ConfigurationError, match=re.escape(message)):
            tls.channel("10.0.0.9:19551")
        (tmp_path / name).unlink()


def test_call_without_grpcio_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(MissingToolError, match=r"The package grpcio is not installed\. Run: pip install grpcio"):
        tls.import_grpc()


def test_token_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.TOKEN_FILE, str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"Cannot read the token file .*: Is a directory\. Correct LANESUM"):
        tls.metadata("127.0.0.1:19551")
