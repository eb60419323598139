"""Inside a new network namespace: bring loopback up, hand out a listener, become the program.

Usage: `enter_namespace.py <descriptor of a Unix socket> <port> <command …>`. Standard library only.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_PR_SET_PDEATHSIG = 1


def main(descriptor: int, port: int, command: list[str]) -> None:
    """Never returns."""
    # Entering a namespace took it away: the program must not outlive who started it.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    with socket.socket() as probe:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(probe, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
    with socket.socket() as listener, socket.socket(fileno=descriptor) as channel:
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        socket.send_fds(channel, [b"1"], [listener.fileno()])
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
