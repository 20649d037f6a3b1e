// Lets only Pods in whose images come from where the namespace's policy allows.
//
// It never changes a Pod, and never asks the API server for anything: policies come from a snapshot.

import { type Review, allow, deny, hook, openSnapshot } from "@boathook/sdk";
import type { Pod } from "kubernetes-types/core/v1";
import { isAllowed } from "./image";

/** The name of every policy, a ConfigMap. */
const NAME = "image-policy";
/** The namespace whose policy is for all namespaces that have none. */
const FALLBACK = "default";
/** On a policy, with `warn`: nothing is denied. */
const MODE_LABEL = "image-policy.boathook.dev/mode";

interface Policy {
  registries: string | null;
  mode: string | null;
}

export default hook({
  config: {
    kubernetes: [
      {
        name: "policies",
        apiVersion: "v1",
        kind: "ConfigMap",
        nameSelector: { matchNames: [NAME] },
        executeHookOnEvent: [],
        executeHookOnSynchronization: false,
        jqFilter: `{registries: .data.registries, mode: .metadata.labels["${MODE_LABEL}"]}`,
        content: "none",
      },
    ],
    kubernetesValidating: [
      {
        name: "image-policy.boathook.dev",
        rules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE", "UPDATE"],
            resources: ["pods", "pods/ephemeralcontainers"],
          },
        ],
        includeSnapshotsFrom: ["policies"],
        timeoutSeconds: 5,
      },
    ],
  },

  validate(review) {
    const { namespace = "", object, oldObject } = review as Review<Pod>;
    const found = policy(namespace);
    if (!found) return allow();
    // A Pod that is there may be labelled and finish, whatever the policy has become.
    const known = new Set(oldObject ? images(oldObject) : []);
    const places = found.policy.registries ?? "";
    const refused = images(object).filter((image) => !known.has(image) && !isAllowed(image, places));
    const texts = refused.map(
      (image) =>
        `image ${image} is not from a place that the ConfigMap ${found.place}/${NAME} allows in namespace ${namespace}`,
    );
    if (texts.length === 0) return allow();
    return found.policy.mode === "warn" ? allow(...texts) : deny(texts.join("; "));
  },
});

/** Each image of a Pod once, in order. */
function images(pod: Pod): string[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const all = [...initContainers, ...containers, ...ephemeralContainers].map(({ image }) => image ?? "");
  return [...new Set(all)].filter((image) => image !== "").sort();
}

/** The namespace's own policy, or the one for all, with where it is from. */
function policy(namespace: string): { place: string; policy: Policy } | undefined {
  const policies = openSnapshot<never, Policy>("policies");
  for (const place of [namespace, FALLBACK]) {
    const item = policies.get(place, NAME);
    if (item) return { place, policy: item.filterResult };
  }
  return undefined;
}
