# Says every five seconds how many Pods there are in each phase, and reports it as a metric.
#
# It never asks the API server: the operator knows the Pods.

from collections import Counter

import boathook
from boathook import Tick, log, metrics, snapshots

# What wakes the hook. It needs no permission, as it calls nothing.
boathook.configure(
    {
        "kubernetes": [
            # Kept for the runs of the clock; a Pod that changes runs nothing.
            {
                "name": "pods",
                "apiVersion": "v1",
                "kind": "Pod",
                "executeHookOnEvent": [],
                "executeHookOnSynchronization": False,
                "jqFilter": '.status.phase // "Unknown"',
                "content": "none",
            }
        ],
        "schedule": [
            # Seconds, minutes, hours, days, months, weekdays. Five fields are those without seconds.
            {"name": "clock", "crontab": "*/5 * * * * *", "includeSnapshotsFrom": ["pods"]}
        ],
    }
)


@boathook.on_schedule("clock")
def count(tick: Tick) -> None:
    phases = Counter(pod.filter_result for pod in snapshots.open("pods"))
    # What this run does not report is no longer served.
    metrics.expire("pods")
    for phase, number in phases.items():
        metrics.set("pods_in_phase", number, {"phase": phase}, group="pods")
    log.info(f"{phases.total()} Pods: {dict(phases)}")
