"""What processes hold is read from /proc: their memory, CPU time, children and connections."""

import os
import socket
import subprocess
import sys

import pytest

from benchmarks.support.processes import children, family, listens_at, peer_ports

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_a_family_is_a_process_and_all_below_it() -> None:
    program = (
        "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'input()']).pid, flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None and parent.stdin is not None
        grandchild = int(parent.stdout.readline())
        assert parent.pid in children(os.getpid())
        assert family(parent.pid) == [parent.pid, grandchild]
        parent.stdin.write(b"\n\n")


def test_the_ports_of_clients_are_those_of_the_connections_that_a_process_holds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert listens_at(os.getpid(), port)
        assert not listens_at(os.getppid(), port)
        with socket.create_connection(("127.0.0.1", port)) as client:
            taken, (_, client_port) = listening.accept()
            with taken:
                assert peer_ports(os.getpid(), port) == {client_port}
                assert peer_ports(os.getppid(), port) == set()
            assert client.getsockname()[1] == client_port
        assert peer_ports(os.getpid(), port) == set()
