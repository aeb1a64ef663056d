# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""TLS on the ports of controller, server and switch: identities, refusals with their reasons, renewal, exposure."""

from __future__ import annotations

import datetime
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from lanesum import environment
from lanesum.errors import ConfigurationError
from lanesum.joining import join
from lanesum.keep_alive import KeepAlive
from lanesum.rpc import controller as rpc
from lanesum.rpc import tls
from lanesum.rpc.caller import CallerRole
from lanesum.server.service import serve
from lanesum_control.controller.service import ControllerService
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.security import tokens
from lanesum_control.security.access import Access
from lanesum_control.servers.remote_server import RemoteServer, ServerError
from lanesum_control.switches.client import SwitchConnection
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site
from tests.control_plane.protocols import PROTOCOLS, Protocol
from tests.free_ports import free_ports
from tests.waiting import wait_until

BMV2 = "simple_switch_grpc"

#: Starts a service with the certificates of a folder; returns its address.
Start = Callable[[Path], str]
ActAs = Callable[[Path | None], None]

LONG_S = 3600.0  # a mistake is told long before the limit of the call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of an authority; ``foreign`` is one of another, ``old`` has expired, ``early`` is of tomorrow."""
    from lanesum_control.security import certs

    path = tmp_path_factory.mktemp("certs")
    certs.init(path)
    authority = certs.Authority(path)
    authority.issue("old", CallerRole.OPERATOR, hosts=certs.LOCAL_HOSTS, days=-1)
    authority.issue("elsewhere", hosts=["10.9.9.9"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certs, "_CLOCK_SKEW", -datetime.timedelta(days=1))
        authority.issue("early", hosts=certs.LOCAL_HOSTS)
    certs.Authority.create(path / "other").issue("foreign", CallerRole.OPERATOR, hosts=certs.LOCAL_HOSTS)
    (path / "other" / "foreign").rename(path / "foreign")
    (path / "nothing").mkdir()
    shutil.copy(path / "worker" / "ca.crt", path / "nothing")
    return path


@pytest.fixture
def act_as(monkeypatch: pytest.MonkeyPatch) -> ActAs:
    def become(identity: Path | None) -> None:
        if identity is None:
            monkeypatch.delenv(environment.TLS, raising=False)
        else:
            monkeypatch.setenv(environment.TLS, str(identity))

    return become


@pytest.fixture
def controller_at(act_as: ActAs) -> Iterator[Start]:
    services = []

    def start(identity: Path) -> str:
        controller = Site().start()
        service = ControllerService(
            controller,
            "127.0.0.1:0",
            access=Access(controller.present, closed=True),
            credentials=tls.server_credentials(identity),
        )
        service.start()
        services.append(service)
        return f"127.0.0.1:{service.port}"

    yield start
    for service in services:
        service.close()


@pytest.mark.parametrize(
    ("caller", "service", "words"),
    [
        ("old", "controller", "it refuses the certificate in .*/old, which has expired, or is of another authority"),
        ("server", "controller", "it refuses the certificate in .*/server"),
        ("nothing", "controller", "it asks for a certificate, and .*/nothing has none"),
        ("foreign", "controller", "its certificate is not valid here: unable to get local issuer certificate"),
        ("operator", "foreign", "its certificate is not valid here: unable to get local issuer certificate"),
        (
            "operator",
            "old",
            "its certificate is not valid here: certificate has expired. The clock of this host says 20",
        ),
        (
            "operator",
            "early",
            "its certificate is not valid here: certificate is not yet valid. The clock of this host says 20",
        ),
        ("operator", "elsewhere", "its certificate is not valid here: IP address mismatch"),
    ],
)
def test_wrong_certificate_is_refused_with_its_reason(
    folder: Path, controller_at: Start, act_as: ActAs, caller: str, service: str, words: str
) -> None:
    address = controller_at(folder / service)
    act_as(folder / caller)
    with pytest.raises(rpc.ControllerError, match=f"The controller at {address}: No TLS session begins: {words}"):
        rpc.call(address, rpc.JOBS, {}, LONG_S)


def test_plain_text_towards_tls_and_back_say_so(folder: Path, controller_at: Start, act_as: ActAs) -> None:
    address = controller_at(folder / "controller")
    with pytest.raises(rpc.ControllerError, match=f"it expects TLS. Set {environment.TLS}"):
        rpc.call(address, rpc.JOBS, {}, LONG_S)
    with pytest.raises(rpc.ControllerError, match="it expects TLS"):
        rpc.call(f"127.0.0.1:1,{address}", rpc.JOBS, {}, LONG_S)
    with ControllerService(Site().start(), "127.0.0.1:0") as plain:
        act_as(folder / "operator")
        with pytest.raises(rpc.ControllerError, match=f"it does not use TLS .* call plaintext:127.0.0.1:{plain.port}"):
            rpc.call(f"127.0.0.1:{plain.port}", rpc.JOBS, {}, LONG_S)
        assert rpc.call(f"plaintext:127.0.0.1:{plain.port}", rpc.JOBS, {})["jobs"] == []


def test_certificate_and_token_of_a_job_join_it(
    folder: Path, controller_at: Start, act_as: ActAs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, token = controller_at(folder / "controller"), tokens.new_token()
    act_as(folder / "operator")
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"], "worker_token": tokens.token_hash(token)})
    act_as(folder / "worker")
    with pytest.raises(rpc.ControllerError, match=r"A caller without a token, .* has no job 'a'"):
        join(controller=address, job="a", worker=0)
    tokens.write_token(tmp_path / "token", token)
    monkeypatch.setenv(environment.TOKEN_FILE, str(tmp_path / "token"))
    with KeepAlive(join(controller=address, job="a", worker=0, wait=True), address) as member:
        assert member.check() == "ready"
        act_as(folder / "operator")
        monkeypatch.delenv(environment.TOKEN_FILE)
        rpc.call(address, rpc.REMOVE, {"job": "a"})
        wait_until(lambda: member.superseded)  # the stream has the identity of the worker


@pytest.mark.parametrize("after", ["", ".worker"])
def test_identity_cut_at_nul_is_refused(
    folder: Path, controller_at: Start, act_as: ActAs, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """gRPC hands on the part before the NUL, so the certificate of another name was that of an operator."""
    from lanesum_control.security import certs

    monkeypatch.setattr(certs, "identity_uri", lambda role, name: f"spiffe://lanesum/{role}/{name}\0{after}")
    address = controller_at(folder / "controller")
    act_as(certs.Authority(folder).issue("root", CallerRole.OPERATOR))
    with pytest.raises(rpc.ControllerError, match="A caller without a token"):
        rpc.call(address, rpc.COUNTERS, {})


def test_renewed_certificate_is_used_from_next_connection(
    folder: Path, controller_at: Start, act_as: ActAs, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "old", tmp_path / "service")
    address = controller_at(tmp_path / "service")
    act_as(folder / "operator")
    with pytest.raises(rpc.ControllerError, match="certificate has expired"):
        rpc.call(address, rpc.JOBS, {}, 60.0)
    shutil.copy(folder / "controller" / "tls.crt", tmp_path / "service")  # half of the change
    with pytest.raises(rpc.ControllerError, match="certificate has expired"):
        rpc.call(address, rpc.JOBS, {}, 60.0)
    assert "key values mismatch. Issue them again (lanesum certs issue). The earlier" in capfd.readouterr().err
    shutil.copy(folder / "controller" / "tls.key", tmp_path / "service")
    assert rpc.call(address, rpc.JOBS, {})["jobs"] == []


def test_open_stream_survives_a_renewal(folder: Path, controller_at: Start, act_as: ActAs, tmp_path: Path) -> None:
    from lanesum_control.security import certs

    shutil.copytree(folder, tmp_path / "certs")
    address = controller_at(tmp_path / "certs" / "controller")
    act_as(folder / "operator")
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"]})
    with KeepAlive(join(controller=address, job="a", worker=0, wait=True), address) as member:
        certs.Authority(tmp_path / "certs").issue("controller", CallerRole.OPERATOR, hosts=certs.LOCAL_HOSTS)
        assert member.check() == "ready" and not member.superseded


def test_server_takes_orders_of_operators_alone(folder: Path, act_as: ActAs) -> None:
    credentials = tls.server_credentials(folder / "server")
    with serve(("127.0.0.1", 0), "127.0.0.1:0", credentials=credentials) as (_, service):
        remote = RemoteServer(f"127.0.0.1:{service.port}")
        act_as(folder / "controller")
        assert remote.status().jobs == {}
        act_as(folder / "worker")
        with pytest.raises(ServerError, match="worker is a worker; this service is for operators"):
            remote.status()
        act_as(folder / "old")
        with pytest.raises(ServerError, match="it refuses the certificate in"):
            remote.status()


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_switch_takes_orders_of_operators_alone(protocol: Protocol, folder: Path, act_as: ActAs) -> None:
    with protocol.server(
        protocol.switch(),
        "127.0.0.1:0",
        credentials=tls.server_credentials(folder / "switch"),
        authenticate=tls.operators_only,
    ) as server:
        act_as(folder / "controller")
        with protocol.connection(server.address) as connection:
            connection.check_primary()
        act_as(folder / "worker")
        with pytest.raises(SwitchUnreachableError, match="refused a session: worker is a worker; this service is"):
            protocol.connection(server.address)
        act_as(folder / "foreign")
        message = r"No TLS session with the switch at .* begins: .*unable to get local issuer certificate"
        with pytest.raises(SwitchUnreachableError, match=message):
            protocol.connection(server.address)


@pytest.mark.skipif(shutil.which(BMV2) is None, reason=f"{BMV2} is not on PATH")
def test_bmv2_with_tls_is_controlled(folder: Path, act_as: ActAs) -> None:
    address = f"127.0.0.1:{free_ports(1, socket.SOCK_STREAM)[0]}"
    own = folder / "switch"
    files = ["--grpc-server-cacert", own / "ca.crt", "--grpc-server-cert", own / "tls.crt"]
    files += ["--grpc-server-key", own / "tls.key", "--grpc-server-ssl", "--grpc-server-with-client-auth"]
    command = [BMV2, "--no-p4", "--device-id", "1", "--", "--grpc-server-addr", address, *files]
    switch = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        act_as(folder / "controller")
        with SwitchConnection(address, timeout_s=120.0) as connection:
            connection.check_primary()
        act_as(folder / "old")
        with pytest.raises(SwitchUnreachableError, match="it refuses the certificate in"):
            SwitchConnection(address)
    finally:
        switch.kill()
        switch.wait()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.19.0.1:1", "[::1]:1", "localhost:1", "unix:/run/x.sock"])
def test_local_address_needs_no_tls(address: str) -> None:
    assert tls.credentials_for("controller", address, None, insecure=False) is None


@pytest.mark.parametrize("address", ["0.0.0.0:1", "[::]:1", "10.19.0.1:1", "example.org:1", "128.0.0.1:1", ":1"])
def test_exposed_address_needs_tls_or_consent(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigurationError, match=rf"All hosts that reach {re.escape(address)} .* accept --insecure"):
        tls.credentials_for("controller", address, None, insecure=False)
    assert tls.credentials_for("controller", address, None, insecure=True) is None
    assert "warning: All hosts that reach" in capfd.readouterr().err


def test_exposed_address_with_tls_needs_identified_callers(folder: Path, act_as: ActAs) -> None:
    act_as(folder / "operator")  # the command replaces it
    with pytest.raises(ConfigurationError, match="does not identify callers"):
        tls.credentials_for(
            "controller", "10.0.0.1:1", folder / "controller", insecure=False, mutual=False, identified=False
        )


@pytest.mark.parametrize(
    "command",
    [
        ["controller", "--listen", "0.0.0.0:0"],
        ["server", "--listen", "127.0.0.1:0", "--control", "0.0.0.0:0"],
        ["switch", "--loopback", "--p4runtime", "0.0.0.0:0"],
        ["controller", "--listen", "0.0.0.0:0", "--no-client-certs"],
    ],
)
def test_command_refuses_an_exposed_address(command: list[str]) -> None:
    refused = invoke(command)
    assert refused.exit_code == 2 and "All hosts that reach 0.0.0.0:0 can use the" in refused.output


@pytest.mark.parametrize("lacking", ["ca.crt", "tls.crt", "tls.key"])
def test_folder_without_a_file_is_refused(folder: Path, tmp_path: Path, lacking: str) -> None:
    shutil.copytree(folder / "controller", tmp_path / "own")
    (tmp_path / "own" / lacking).unlink()
    with pytest.raises(ConfigurationError, match=re.escape(lacking)):
        tls.server_credentials(tmp_path / "own")


@pytest.mark.parametrize("lacking", ["ca.crt", "tls.crt", "tls.key"])
def test_folder_with_a_broken_file_is_refused(folder: Path, tmp_path: Path, lacking: str) -> None:
    shutil.copytree(folder / "controller", tmp_path / "own")
    (tmp_path / "own" / lacking).write_bytes(b"\xff\x00 no certificate")
    with pytest.raises(ConfigurationError, match=f"The certificates in {tmp_path}/own cannot be used: "):
        tls.server_credentials(tmp_path / "own")


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o606, 0o601])
def test_private_key_of_all_users_is_refused(
    folder: Path, tmp_path: Path, controller_at: Start, act_as: ActAs, mode: int
) -> None:
    own = tmp_path / "my keys"
    shutil.copytree(folder / "operator", own)
    (own / "tls.key").chmod(mode)
    address = controller_at(folder / "controller")
    act_as(own)
    command = ["job", "list", "--controller", address]
    refused = invoke(command)
    said = " ".join(refused.output.split())
    assert refused.exit_code == 2
    assert f"All users of this host can access the private key {own}/tls.key: its mode is {mode:04o}." in said
    subprocess.run(said.partition("Run: ")[2], shell=True, check=True)
    assert invoke(command).exit_code == 0
    (own / "tls.key").chmod(0o640)
    assert invoke(command).exit_code == 0
    with pytest.raises(ConfigurationError, match="can access the private key"):
        (own / "tls.key").chmod(mode)
        tls.server_credentials(own)


def test_token_never_leaves_the_host_unencrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tokens.new_token()
    tokens.write_token(tmp_path / "token", token)
    monkeypatch.setenv(environment.TOKEN_FILE, str(tmp_path / "token"))
    for address in ("10.0.0.9:1", "plaintext:10.0.0.9:1", "controller:1"):
        with pytest.raises(ConfigurationError, match=r"would travel to .* unencrypted") as caught:
            rpc.call(address, rpc.JOBS, {})
        assert token not in str(caught.value)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        local = f"127.0.0.1:{listening.getsockname()[1]}"
        for address in (local, f"plaintext:{local}"):
            assert tls.metadata(address) == (("authorization", f"Bearer {token}"),)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "plaintext:127.0.0.1:1", "unix:/absent"])
def test_token_for_a_service_that_is_down_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Otherwise the next process that takes the free address gets it."""
    tokens.write_token(tmp_path / "token", tokens.new_token())
    monkeypatch.setenv(environment.TOKEN_FILE, str(tmp_path / "token"))
    assert tls.metadata(address) == ()
    with pytest.raises(rpc.ControllerError, match="No controller answers at"):
        rpc.call(address, rpc.JOBS, {}, 0.2)


def test_token_for_a_foreign_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket in a folder that others may write got an operator's token."""
    token = tokens.new_token()
    tokens.write_token(tmp_path / "token", token)
    monkeypatch.setenv(environment.TOKEN_FILE, str(tmp_path / "token"))
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(shared / "controller.sock"))
        listening.listen()
        listening.setblocking(False)
        with pytest.raises(
            ConfigurationError, match=r"would go to unix:.*, and other users may replace files"
        ) as caught:
            tls.metadata(f"unix:{shared}/controller.sock")
        assert token not in str(caught.value)
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.parametrize("text", ["", "\n", "two words", "a\nb", "é", "x" * 1000])
def test_file_without_token_is_refused_without_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "token").write_text(text)
    monkeypatch.setenv(environment.TOKEN_FILE, str(tmp_path / "token"))
    with pytest.raises(ConfigurationError) as caught:
        tls.metadata("127.0.0.1:1")
    assert str(caught.value) == f"The file {tmp_path}/token holds no token. Correct {environment.TOKEN_FILE}."


def test_unix_sockets_are_for_their_owner(tmp_path: Path) -> None:
    """On one host the permissions of a socket say who may call."""
    control, listen = tmp_path / "server.sock", tmp_path / "controller.sock"
    with serve(("127.0.0.1", 0), f"unix:{control}") as _, ControllerService(Site().start(), f"unix:{listen}"):
        assert RemoteServer(f"unix:{control}").status().jobs == {}
        rpc.call(f"unix:{listen}", rpc.ADMIT, {"name": "a", "workers": ["w1"]})
        with KeepAlive(join(controller=f"unix:{listen}", job="a", worker=0, wait=True), f"unix:{listen}") as member:
            assert member.check() == "ready"
        for path in (control, listen):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.fixture
def parts(folder: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Server and controller as processes with mutual TLS; address of the controller, and its log."""
    control, listen = (f"127.0.0.1:{port}" for port in free_ports(2, socket.SOCK_STREAM))
    lanesum = [sys.executable, "-m", "lanesum.cli"]
    server = ["server", "--listen", "127.0.0.1:0", "--control", control, "--tls", folder / "server"]
    controller = ["controller", "--loopback", "--server", control, "--listen", listen, "--tls", folder / "controller"]
    log = tmp_path / "controller.log"
    with log.open("wb") as output:
        running = [
            subprocess.Popen([*lanesum, *server]),
            subprocess.Popen([*lanesum, *controller], stdout=output, stderr=subprocess.STDOUT),
        ]
        try:
            yield listen, log
        finally:
            for one in running:
                one.send_signal(signal.SIGTERM)
            for one in running:
                one.wait(120)


def test_commands_with_tls_interoperate_and_log_refused_callers(
    parts: tuple[str, Path], folder: Path, act_as: ActAs
) -> None:
    address, log = parts
    act_as(folder / "operator")
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"]}, 60.0)
    assert "w1" in invoke(["job", "list", "--controller", address]).output
    for caller, reason in (
        ("old", "certificate has expired"),
        ("nothing", "PEER_DID_NOT_RETURN_A_CERTIFICATE"),
        ("server", "unsupported certificate purpose"),
    ):
        act_as(folder / caller)
        with pytest.raises(rpc.ControllerError, match="No TLS session begins"):
            rpc.call(address, rpc.JOBS, {}, 60.0)
        wait_until(lambda reason=reason: reason in log.read_text())  # type: ignore[misc]
    foreign = grpc.ssl_channel_credentials(
        (folder / "operator" / "ca.crt").read_bytes(),
        (folder / "foreign" / "tls.key").read_bytes(),
        (folder / "foreign" / "tls.crt").read_bytes(),
    )
    with grpc.secure_channel(address, foreign) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary(f"/{rpc.SERVICE}/{rpc.JOBS}")(b"{}", timeout=120)
    wait_until(lambda: "unable to get local issuer certificate" in log.read_text())
