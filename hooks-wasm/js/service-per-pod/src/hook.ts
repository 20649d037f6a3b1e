// Each Pod of a StatefulSet gets a Service of its own, if the StatefulSet asks for that with an annotation.

import { type Parent, Permanent, hook } from "@boathook/sdk";
import type { StatefulSetSpec } from "kubernetes-types/apps/v1";

/** The port of the Services, and of the Pods. */
const PORT = "service-per-pod.boathook.dev/port";
/** The number of Services, as a label of the StatefulSet. */
const SERVICES = "service-per-pod.boathook.dev/services";

/** The ordinals of the Pods begin with 0, unless the StatefulSet names another one. */
interface Spec extends StatefulSetSpec {
  ordinals?: { start?: number };
}

export default hook({
  config: {
    reconcile: [
      {
        name: "sets",
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        decorates: true,
        annotationSelector: { matchExpressions: [{ key: PORT, operator: "Exists" }] },
        owns: [{ apiVersion: "v1", kind: "Service" }],
        prune: { maxShare: "100%", maxObjects: 100 },
      },
    ],
  },

  reconcile(set: Parent<Spec>) {
    const text = set.object.metadata?.annotations?.[PORT] ?? "";
    const port = Number(text);
    if (!/^\d+$/.test(text) || port < 1 || port > 65535) {
      throw new Permanent(`the annotation ${PORT} of ${set.name} is ${JSON.stringify(text)}: write a port`);
    }
    const { replicas = 1, ordinals } = set.spec;
    const first = ordinals?.start ?? 0;
    const services = Array.from({ length: replicas }, (_, index) => {
      const pod = `${set.name}-${first + index}`;
      const selector = { "statefulset.kubernetes.io/pod-name": pod };
      const spec = { selector, ports: [{ port, targetPort: port }] };
      return { apiVersion: "v1", kind: "Service", metadata: { name: pod }, spec };
    });
    const labels = { [SERVICES]: String(replicas) };
    const counted = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: set.name, labels } };
    return { children: [...services, counted], noneWanted: replicas === 0 };
  },
});
