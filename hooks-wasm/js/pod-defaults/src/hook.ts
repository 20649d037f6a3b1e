// Gives Pods what they do not say themselves: labels of their namespace, requests, a security context.
//
// It never overrides what a Pod says, and never denies one.

import { type Review, hook, openSnapshot } from "@boathook/sdk";
import type { Pod } from "kubernetes-types/core/v1";
import { fill } from "./defaults";

/** Labels of a namespace that its Pods inherit. */
const LABELS = ["team", "cost-center"];
/** On a Pod or its namespace, with `true`: it stays as it is. */
const SKIP_LABEL = "pod-defaults.boathook.dev/skip";

interface Namespace {
  labels: Record<string, string> | null;
}

export default hook({
  config: {
    kubernetes: [
      {
        name: "namespaces",
        apiVersion: "v1",
        kind: "Namespace",
        executeHookOnEvent: [],
        executeHookOnSynchronization: false,
        jqFilter: "{labels: .metadata.labels}",
        content: "none",
      },
    ],
    kubernetesMutating: [
      {
        name: "pod-defaults.boathook.dev",
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
        includeSnapshotsFrom: ["namespaces"],
        // Containers that another webhook adds later get their defaults, too.
        reinvocationPolicy: "IfNeeded",
        timeoutSeconds: 5,
      },
    ],
  },

  mutate(review) {
    const { namespace = "", object: pod } = review as Review<Pod>;
    const found = openSnapshot<never, Namespace>("namespaces").get(undefined, namespace);
    const labels = found?.filterResult.labels ?? {};
    if (pod.metadata?.labels?.[SKIP_LABEL] === "true" || labels[SKIP_LABEL] === "true") return {};
    const inherited = Object.entries(labels).filter(([key]) => LABELS.includes(key));
    fill(pod, inherited);
    return { object: pod };
  },
});
