"""Why a process ended, in words. These sentences are what people read on the row."""

SIGNALS = {
    1: "SIGHUP, terminal closed",
    2: "SIGINT, interrupted",
    3: "SIGQUIT",
    4: "SIGILL, illegal instruction",
    5: "SIGTRAP",
    6: "SIGABRT, aborted itself",
    7: "SIGBUS, bad memory access",
    8: "SIGFPE, arithmetic error",
    9: "SIGKILL, killed",
    11: "SIGSEGV, segmentation fault",
    13: "SIGPIPE, wrote to a closed pipe",
    14: "SIGALRM, alarm",
    15: "SIGTERM, terminated",
    24: "SIGXCPU, CPU time limit",
    25: "SIGXFSZ, file too large",
    31: "SIGSYS, bad system call",
}
AFTER_SIGNAL, LAST_SIGNAL = 128, 64
"""Shells and the sandbox end with 128 + n after signal n; a program may choose such a code too."""
DISAPPEARED = "The process disappeared (killed or out of memory)."
RESTARTED = "The machine was restarted."
NO_LONGER_NEEDED = "No longer needed: the workers are done."
PLAN_DAMAGED = "The plan of this attempt is damaged, so it cannot continue. Run it again."
OUT_OF_MEMORY = "Killed by the kernel because the machine ran out of memory."


def other_plan(version: object, known: int) -> str:
    return (
        f"The plan of this attempt has version {version}, and this Gangline follows version "
        f"{known}. Run it again."
    )


def exited(code: int) -> str:
    number = code - AFTER_SIGNAL
    if not 0 < number <= LAST_SIGNAL:
        return f"Exited with code {code}."
    known = SIGNALS.get(number)
    return f"Exited with code {code} (as after signal {number}{f', {known}' if known else ''})."


def signalled(number: int) -> str:
    known = SIGNALS.get(number)
    return f"Ended by signal {number} ({known})." if known else f"Ended by signal {number}."


def over_memory(used: int, limit: int) -> str:
    if limit % 1_000_000 and not limit % 2**20:
        units = (("GiB", 2**30), ("MiB", 2**20))
    else:
        units = (("GB", 10**9), ("MB", 10**6))
    unit, size = units[0] if limit >= units[0][1] else units[1]
    shown = f"{used / size:.1f}"
    if used > limit and float(shown) <= limit / size:
        shown = f"more than {limit / size:g}"
    return f"Used {shown} {unit} of {limit / size:g} {unit} of memory."


def not_found(command: str, runtime: str) -> str:
    if "/" in command:
        return f"The command '{command}' does not exist."
    return f"The command '{command}' was not found in the runtime {runtime}."


def hidden(command: str, folder: str) -> str:
    return f"The command '{command}' lies in {folder}, which workloads cannot see."


def not_started(command: str, problem: str) -> str:
    return f"The command '{command}' could not be started: {problem}."
