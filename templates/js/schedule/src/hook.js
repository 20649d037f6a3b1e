// Says every five seconds how many Pods there are in each phase, and reports it as a metric.
//
// It never asks the API server: the operator knows the Pods.

import { hook, log, metrics } from "@boathook/sdk";

export default hook({
  // What wakes the hook. It needs no permission, as it calls nothing.
  config: {
    // Kept for the runs of the clock; a Pod that changes runs nothing.
    kubernetes: [
      {
        name: "pods",
        apiVersion: "v1",
        kind: "Pod",
        executeHookOnEvent: [],
        executeHookOnSynchronization: false,
        jqFilter: '.status.phase // "Unknown"',
        content: "none",
      },
    ],
    // Seconds, minutes, hours, days, months, weekdays. Five fields are those without seconds.
    schedule: [{ name: "clock", crontab: "*/5 * * * * *", includeSnapshotsFrom: ["pods"] }],
  },

  run(ctx) {
    const pods = ctx.snapshot("pods");
    const phases = new Map();
    for (const pod of pods) phases.set(pod.filterResult, (phases.get(pod.filterResult) ?? 0) + 1);
    // What this run does not report is no longer served.
    metrics.expire("pods");
    for (const [phase, count] of phases) metrics.set("pods_in_phase", count, { labels: { phase }, group: "pods" });
    log.info(`${pods.size} Pods: ${JSON.stringify(Object.fromEntries(phases))}`);
  },
});
