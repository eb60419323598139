"""`gangline-manage project NAME --cluster CLUSTER`: a project, with its department and queue."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gangline.lib.problems import Refused
from gangline.supervisor.installation import DEPARTMENT, CannotBootstrap, add_project


class Command(BaseCommand):
    help = "Create a project on a cluster, with its department and its members."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of the project; on Kubernetes part of its namespace")
        parser.add_argument("--cluster", required=True, help="name of the cluster")
        parser.add_argument(
            "--department", default="", help=f"its department ({DEPARTMENT} or the only one)"
        )
        parser.add_argument(
            "--researcher", action="append", default=[], metavar="USER",
            help="a member; may be repeated",
        )  # fmt: skip
        parser.add_argument("--gpus", type=int, default=None, help="quota in GPUs")
        parser.add_argument(
            "--queue",
            default=None,
            help="queue of the cluster's scheduler in which its workloads wait (the default one);"
            " also for an existing project",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = add_project(
                options["name"],
                cluster_name=options["cluster"],
                department_name=options["department"],
                gpu_quota=options["gpus"],
                researchers=options["researcher"],
                queue=options["queue"],
            )
        except CannotBootstrap as refusal:
            raise CommandError(str(refusal)) from None
        except Refused as refusal:
            raise CommandError(" ".join(one.told for one in refusal.problems)) from None
        for line in made:
            self.stdout.write(line)
