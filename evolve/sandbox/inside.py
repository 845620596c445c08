"""Runs inside a box, beside the agent: the one way out, and an orderly end.

It needs nothing but the standard library, since it is run as a file by a bare interpreter. It listens on a loopback
port, copies each connection to the gateway's unix socket, starts the agent with its prompt on standard input, and
passes its exit code on. A byte on its own standard input, or the end of it, ends the agent: SIGTERM, a grace, SIGKILL.
"""

import contextlib
import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import threading

BLOCK = 65536
LARGEST_FILE = 1024**3


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes one way until the source ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(BLOCK):
            target.sendall(data)
    for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            end.shutdown(how)


def connect(client: socket.socket, path: str) -> None:
    """Join a connection with the gateway."""
    upstream = socket.socket(socket.AF_UNIX)
    with client, upstream:
        try:
            upstream.connect(path)
        except OSError:
            return
        back = threading.Thread(target=pump, args=(upstream, client), daemon=True)
        back.start()
        pump(client, upstream)
        back.join()


def serve(listener: socket.socket, path: str) -> None:
    """Join every connection with the gateway, each in a thread."""
    while True:
        client, _ = listener.accept()
        threading.Thread(target=connect, args=(client, path), daemon=True).start()


def end_when_told(agent: "subprocess.Popen[bytes]", grace_s: float) -> None:
    """Wait for a word from outside, then end the agent."""
    os.read(0, 1)
    agent.terminate()
    try:
        agent.wait(grace_s)
    except subprocess.TimeoutExpired:
        agent.kill()


def join_new_keyring() -> None:
    """Leave the kernel keyring of whoever runs evolve: it would be shared with the host and between cells."""
    number = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine)
    if number is not None:
        ctypes.CDLL(None).syscall(number, 1, None)


def adopt_orphans() -> None:
    """Become the parent of whatever the agent leaves behind, so that it can be ended."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def end_children() -> None:
    """Kill every process below this one, round after round, until there is none."""
    for _ in range(100):
        children = [int(name) for name in os.listdir("/proc") if name.isdigit() and parent_of(name) == os.getpid()]
        if not children:
            return
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(child, 0)


def parent_of(process: str) -> int:
    """Return the parent of a process; 0 when it is gone."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def main() -> int:
    """Run ``PORT SOCKET PROMPT GRACE_S -- ARGV...`` and return the agent's exit code; a signal counts from 128."""
    port, path, prompt, grace_s, _, *argv = sys.argv[1:]
    join_new_keyring()
    adopt_orphans()
    folder, name = os.path.split(path)  # a socket's path has 107 bytes, and a folder may lie deep
    path = f"/proc/self/fd/{os.open(folder, os.O_RDONLY | os.O_DIRECTORY)}/{name}"
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    threading.Thread(target=serve, args=(listener, path), daemon=True).start()
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(prompt, "rb") as stdin:
        agent = subprocess.Popen(argv, stdin=stdin)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: agent.send_signal(number))
    threading.Thread(target=end_when_told, args=(agent, float(grace_s)), daemon=True).start()
    code = agent.wait()
    end_children()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
