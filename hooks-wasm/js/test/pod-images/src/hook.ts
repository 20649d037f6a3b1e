// Writes down the images of each Pod that comes in a ConfigMap: what a run costs in each language is measured with it.
//
// It never reads from the cluster.

import { hook, kube } from "@boathook/sdk";
import type { Pod } from "kubernetes-types/core/v1";

export default hook({
  config: {
    kubernetes: [{ name: "pods", apiVersion: "v1", kind: "Pod" }],
    permissions: { kubernetes: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["patch"] }] },
  },

  run(ctx) {
    for (const { object, target } of ctx.events<Pod>("pods")) {
      const images = (object.spec?.containers ?? []).map(({ image }) => image ?? "");
      kube.apply({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { namespace: target.namespace, name: target.name },
        data: { images: images.join(" ") },
      });
    }
  },
});
