"""What the terminal shows when Gangline serves: where to open it and how to sign in."""

from gangline import __version__
from gangline.accounts.models import User
from gangline.accounts.services import make_sign_in_link
from gangline.clusters.models import Cluster
from gangline.config.env import env
from gangline.lib.program import program
from gangline.lib.sizes import bytes_in_words

_PEOPLE = ("administrator", "researcher")


def text() -> str:
    """The banner. Each start prints fresh sign-in links: once, 15 minutes."""
    origin = env().origin
    lines = [f"Gangline {__version__} on this machine{_machine()}", f"  Open          {origin}"]
    people = {user.username: user for user in User.objects.filter(username__in=_PEOPLE)}
    for position, name in enumerate(n for n in _PEOPLE if n in people):
        label = "Sign in as" if position == 0 else ""
        link = f"{origin}{make_sign_in_link(user=people[name])}"
        lines.append(f"  {label:<12}  {name:<14} {link}  (once, 15 minutes)")
    if not people:
        lines.append(f"  Sign in       {program()} sign-in-link USER prints a link")
    lines.append(
        f"  Data          {env().data_dir}{'':<6}Stop  Ctrl-C   (running workloads keep running)"
    )
    return "\n".join(lines) + "\n"


def _machine() -> str:
    cluster = Cluster.objects.filter(kind="local").first()
    if cluster is None or not cluster.capacity:
        return ""
    cpus, memory, gpus = (cluster.capacity[key] for key in ("cpus", "memory", "gpus"))
    declared = " declared" if cluster.capacity.get("gpus_declared") else ""
    gpu_words = f"{len(gpus)}{declared} GPU{'s' if len(gpus) != 1 else ''}" if gpus else "no GPU"
    return f" ({cpus:g} CPUs, {bytes_in_words(memory)}, {gpu_words})"
