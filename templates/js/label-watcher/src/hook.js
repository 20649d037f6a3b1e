// Every namespace with the label `team` has a ConfigMap `team`, from which the programs in it learn
// whose they are.
//
// It never touches an object with another name. A label that goes while the operator is down is not
// noticed: nothing remembers it.

import { KubeError, hook, kube, log, withContext } from "@boathook/sdk";

/** The label, and the name of the ConfigMap. */
const TEAM = "team";

export default hook({
  // What wakes the hook, and what it may do.
  config: {
    kubernetes: [
      {
        name: "namespaces",
        apiVersion: "v1",
        kind: "Namespace",
        labelSelector: { matchExpressions: [{ key: TEAM, operator: "Exists" }] },
        // Run when this changes, and at no other change of a namespace.
        jqFilter: ".metadata.labels.team",
        content: "none",
      },
    ],
    permissions: {
      kubernetes: [
        { apiGroups: [""], resources: ["configmaps"], verbs: ["create", "patch", "delete"], resourceNames: [TEAM] },
      ],
    },
  },

  // Looks at each namespace that this run is about, and makes its ConfigMap as it should be.
  run(ctx) {
    const namespaces = ctx.snapshot("namespaces");
    const names = new Set(ctx.events("namespaces").map((event) => event.target.name));
    if (ctx.synchronized("namespaces")) for (const namespace of namespaces) names.add(namespace.name);
    for (const name of names) mend(name, namespaces);
  },
});

/**
 * @param {string} name
 * @param {import("@boathook/sdk").Snapshot} namespaces
 */
function mend(name, namespaces) {
  // Nothing when it is gone, or its label is.
  const namespace = namespaces.get(undefined, name);
  try {
    if (namespace) kube.apply(configMap(name, namespace.filterResult));
    else kube.remove({ apiVersion: "v1", kind: "ConfigMap", namespace: name, name: TEAM });
    log.info(`namespace ${name}: done`);
  } catch (error) {
    // It goes away, and everything in it.
    if (error instanceof KubeError && (error.reason === "not-found" || error.namespaceTerminating)) return;
    // The run fails, and is repeated after a while.
    throw withContext(`namespace ${name}`, error);
  }
}

/**
 * @param {string} namespace
 * @param {unknown} team
 */
function configMap(namespace, team) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name: TEAM }, data: { team } };
}
