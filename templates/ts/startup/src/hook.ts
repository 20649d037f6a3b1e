// Makes sure, whenever the operator starts, that there is a namespace `shared`.
//
// It never alters one that is there.

import { hook, kube, log } from "@boathook/sdk";
import type { Namespace } from "kubernetes-types/core/v1";

export default hook({
  // What wakes the hook, and what it may do. The number orders the hooks of one operator.
  config: {
    onStartup: 10,
    permissions: { kubernetes: [{ apiGroups: [""], resources: ["namespaces"], verbs: ["create"] }] },
  },

  run() {
    const namespace: Namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shared" } };
    const created = kube.create(namespace, { ifExists: "keep" });
    log.info(created ? "namespace shared created" : "namespace shared is there");
  },
});
