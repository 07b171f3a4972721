"""The part that all programs inside a sandbox share: limits on the process, messages, and values as plain data.

Its text is put before that of `candidate.py`, `program.py` and `tester.py`. It imports nothing of Tripos, which is not
in the sandbox.
"""

import collections
import ctypes
import decimal
import fractions
import json
import os
import resource
import stat
import struct
import sys
from collections.abc import Callable
from typing import Any

LONGEST = 2**24
"""The longest message, in bytes."""
MOST_ITEMS = 100_000
"""The largest number of items of the code's objects that tests can iterate over."""
# fmt: off
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # start a program
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    # open a connection, or memory that other processes can attach
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "shmget": (29, 194), "shmat": (30, 196),
    "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    # reach into another process
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "process_madvise": (440, 440), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "move_pages": (279, 239), "migrate_pages": (256, 238), "setpgid": (109, 154), "setsid": (112, 157),
    # change a file that the process does not open
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "truncate": (76, 45), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
    # make namespaces, and mount file systems
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    # reach keys of the kernel, and its internals
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "perf_event_open": (298, 241),
    "bpf": (321, 280), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
}
# fmt: on
"""The system calls that are refused, with their numbers on x86-64 and on ARM64. Threads are allowed."""
OWN_PROCESS = {
    "kill": (62, 129),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
"""The system calls that are refused unless their first argument is the process itself, or zero."""
CLONE, CLONE3, SOCKETPAIR, FCNTL, IOCTL = (56, 220), (435, 435), (53, 199), (72, 25), (16, 29)
SIGNALLING = {FCNTL: (8, 15), IOCTL: (0x8901, 0x8902, 0x5412)}
"""The commands that send signals to another process, or input to a terminal: F_SETOWN, F_SETOWN_EX, FIOSETOWN,
SIOCSPGRP, TIOCSTI."""
READ_FROM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache"),
    *("/nix/store", "/gnu/store"),
)
"""The places that code may read."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""The devices that code may read and write."""


def connect() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Return functions that receive and send a message. The standard descriptors become `/dev/null`, so that `print`
    does not reach the connection."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)

    def receive() -> Any:
        line = incoming.readline(LONGEST + 1)
        if not line:
            os._exit(0)
        return json.loads(line)

    def send(message: Any) -> None:
        outgoing.write(json.dumps(message).encode() + b"\n")
        outgoing.flush()

    return receive, send


def confine(seconds: int, memory: int) -> bool:
    """Limit the CPU time (in seconds) and the memory (in bytes) of this process, and keep it from starting or reaching
    other processes and from opening files other than Python's. Return false if the kernel cannot enforce this.

    Without Landlock in the kernel, only the mounts of the sandbox and the rights of the user limit the files. So root
    is refused there unless it runs a sandbox, inside of which its user id is another."""
    if sys.platform != "linux":
        return False
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    libc = ctypes.CDLL(None, use_errno=True)
    set_death_signal, set_dumpable, set_no_new_privileges, zero = 1, 4, 38, ctypes.c_ulong(0)
    libc.prctl(set_death_signal, ctypes.c_ulong(9), zero, zero, zero)
    # Other processes of the user cannot read the memory of a process that is not dumpable, or open its files.
    libc.prctl(set_dumpable, zero, zero, zero, zero)
    no_capabilities = libc.capset(struct.pack("=Ii", 0x20080522, 0), bytes(24)) == 0
    if libc.prctl(set_no_new_privileges, ctypes.c_ulong(1), zero, zero, zero) != 0:
        return False
    return (without_files(libc) or os.getuid() != 0) and no_capabilities and without_processes(libc)


def without_files(libc: ctypes.CDLL) -> bool:
    """Let Landlock refuse to write files, to read files other than Python's, and to reach processes outside. Return
    false if the kernel has no Landlock."""
    create, add, restrict = 444, 445, 446
    version = libc.syscall(create, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    write, read, read_folder, cut, control = 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
    known = (1 << 13) - 1 | (version >= 2) << 13 | (version >= 3) << 14 | (version >= 5) << 15
    network, scopes = 0b11 * (version >= 4), 0b11 * (version >= 6)
    rules = struct.pack("=QQQ", known, network, scopes)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = libc.syscall(create, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return False
    places = dict.fromkeys((*READ_FROM, os.path.realpath(sys.base_prefix), *sys.path), read)
    places |= dict.fromkeys(DEVICES, (read | write | cut | control) & known)
    failed = 0
    for place, allowed in places.items():
        try:
            at = os.open(place, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # this machine has no such place
        rights = allowed | read_folder if stat.S_ISDIR(os.fstat(at).st_mode) else allowed
        failed |= libc.syscall(add, ruleset, 1, struct.pack("=Qi", rights, at), 0)
        os.close(at)
    failed |= libc.syscall(restrict, ruleset, 0)
    os.close(ruleset)
    return bool(failed == 0)


def without_processes(libc: ctypes.CDLL) -> bool:
    """Let the kernel refuse fork, exec and other system calls, by a filter (seccomp). Return false if it cannot."""
    machine = os.uname().machine
    machines = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
    if machine not in machines or sys.maxsize < 2**32:
        return False
    arch, column = machines[machine]
    load, equal, at_least, bits, give, masked = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
    allow, refuse, unknown = (give, 0, 0, 0x7FFF0000), (give, 0, 0, 0x00050001), (give, 0, 0, 0x00050026)

    def argument(number: int) -> tuple[int, int, int, int]:
        return (load, 0, 0, 16 + 8 * number)  # the lower 32 bits, which hold the whole value of these arguments

    # An instruction is (operation, jump if true, jump if false, operand). Jumps count from the next instruction.
    code = [(load, 0, 0, 4), (equal, 1, 0, arch), refuse, (load, 0, 0, 0), (at_least, 0, 1, 0x40000000), refuse]
    for numbers in REFUSED.values():
        number = numbers[column]
        if number is not None:
            code += [(equal, 0, 1, number), refuse]
    code += [(equal, 0, 1, CLONE3[column]), unknown]
    for numbers in OWN_PROCESS.values():
        code += [
            (equal, 0, 5, numbers[column]),
            argument(0),
            (equal, 2, 0, 0),
            (equal, 1, 0, os.getpid()),
            refuse,
            allow,
        ]
    for calls, commands in SIGNALLING.items():
        tests = [each for command in commands for each in ((equal, 0, 1, command), refuse)]
        code += [(equal, 0, len(tests) + 2, calls[column]), argument(1), *tests, allow]
    code += [(equal, 0, 5, SOCKETPAIR[column]), argument(1), (masked, 0, 0, 0xF), (equal, 1, 0, 1), refuse, allow]
    code += [(equal, 0, 3, CLONE[column]), argument(0), (bits, 1, 0, 0x10000), refuse, allow]
    table = b"".join(struct.pack("=HBBI", *each) for each in code)
    buffer = ctypes.create_string_buffer(table, len(table))  # must exist until the call has returned
    program = struct.pack("@HP", len(code), ctypes.addressof(buffer))
    set_filter, zero = 22, ctypes.c_ulong(0)
    return bool(libc.prctl(set_filter, ctypes.c_ulong(2), program, zero, zero) == 0)


def encoded(value: Any, number_of: Callable[[Any], Any]) -> Any:
    """Return a value as JSON with a tag for its type. An object without such a form is represented by its number, which
    `number_of` returns."""

    def each(values: Any) -> list[Any]:
        return [encoded(one, number_of) for one in values]

    if value is None or isinstance(value, bool):
        return ["k", value]
    if isinstance(value, int):
        return ["i", format(int(value), "x")]
    if isinstance(value, float):
        return ["f", float.hex(float(value))]
    if isinstance(value, complex):
        return ["c", [float.hex(value.real), float.hex(value.imag)]]
    if isinstance(value, str):
        return ["s", str.__str__(value)]
    if isinstance(value, bytes | bytearray):
        return ["y" if isinstance(value, bytes) else "Y", bytes(value).hex()]
    for tag, kind in (("l", list), ("t", tuple), ("e", set), ("z", frozenset), ("q", collections.deque)):
        if isinstance(value, kind):
            return [tag, each(value)]
    if isinstance(value, dict):
        return ["d", [each(pair) for pair in value.items()]]
    if isinstance(value, range):
        return ["r", each((value.start, value.stop, value.step))]
    if isinstance(value, decimal.Decimal):
        return ["D", str(value)]
    if isinstance(value, fractions.Fraction):
        return ["F", each((value.numerator, value.denominator))]
    return ["h", number_of(value)]


def decoded(data: Any, object_of: Callable[[Any], Any]) -> Any:
    """Return the value that `encoded` represented. `object_of` returns the object of a number."""
    tag, content = data
    if tag == "k" and (content is None or content is True or content is False):
        return content
    if tag in ("i", "f", "s", "y", "Y", "D") and type(content) is str:
        parsers: dict[str, Callable[[str], Any]] = {
            "i": lambda text: int(text, 16),
            "f": float.fromhex,
            "s": str,
            "y": bytes.fromhex,
            "Y": bytearray.fromhex,
            "D": decimal.Decimal,
        }
        return parsers[tag](content)
    if tag == "c":
        return complex(*map(float.fromhex, content))
    collection_types = {"l": list, "t": tuple, "e": set, "z": frozenset, "q": collections.deque}
    if tag in collection_types:
        return collection_types[tag](decoded(one, object_of) for one in content)
    if tag == "d":
        return {decoded(key, object_of): decoded(one, object_of) for key, one in content}
    if tag == "r":
        return range(*(decoded(one, object_of) for one in content))
    if tag == "F":
        return fractions.Fraction(*(decoded(one, object_of) for one in content))
    if tag == "h":
        return object_of(content)
    raise ValueError("no such type")
