// Lays down the NetworkPolicy `allow-internet` in a namespace exactly while the namespace carries the label
// `internet-access.boathook.dev/allow: "true"`.
//
// It never touches a NetworkPolicy that is not labelled as its own.

import { type Context, type KubeError, type Operation, type Snapshot, hook, kube, log } from "@boathook/sdk";
import { MANAGED_LABEL, NAME, policy, reference, same, spec } from "./policy";

/** On a namespace, with `true`: its Pods may reach the internet. */
const ALLOW_LABEL = "internet-access.boathook.dev/allow";
/** Writes in one call to the host. */
const BATCH = 250;

export default hook({
  config: {
    kubernetes: [
      {
        name: "namespaces",
        apiVersion: "v1",
        kind: "Namespace",
        labelSelector: { matchLabels: { [ALLOW_LABEL]: "true" } },
        jqFilter: ".status.phase",
        content: "none",
        includeSnapshotsFrom: ["policies"],
      },
      // Only `namespaces` runs at the start: that run looks at everything.
      {
        name: "policies",
        apiVersion: "networking.k8s.io/v1",
        kind: "NetworkPolicy",
        nameSelector: { matchNames: [NAME] },
        labelSelector: { matchLabels: { [MANAGED_LABEL]: "true" } },
        executeHookOnSynchronization: false,
        jqFilter: ".spec",
        content: "none",
        includeSnapshotsFrom: ["namespaces"],
      },
    ],
    permissions: {
      kubernetes: [
        {
          apiGroups: ["networking.k8s.io"],
          resources: ["networkpolicies"],
          verbs: ["get", "create", "update", "delete"],
          resourceNames: [NAME],
        },
      ],
    },
  },

  run(ctx) {
    const namespaces = ctx.snapshot<never, string | null>("namespaces");
    const policies = ctx.snapshot<never, unknown>("policies");
    const names = ctx.synchronized("namespaces") ? all(namespaces, policies) : touched(ctx);
    const writes = [...names].sort().flatMap((name) => {
      const operation = mend(name, namespaces, policies);
      return operation ? [{ name, operation }] : [];
    });
    write(writes);
  },
});

/** Every namespace that has a policy or should have one. */
function all(namespaces: Snapshot, policies: Snapshot): Set<string> {
  const names = new Set<string>();
  for (const namespace of namespaces) names.add(namespace.name);
  for (const policy of policies) if (policy.namespace) names.add(policy.namespace);
  return names;
}

/** The namespaces that the events are about. */
function touched(ctx: Context): Set<string> {
  const names = new Set<string>();
  for (const event of ctx.events("namespaces")) names.add(event.target.name);
  for (const event of ctx.events("policies")) if (event.target.namespace) names.add(event.target.namespace);
  return names;
}

/** The write that a namespace needs. */
function mend(name: string, namespaces: Snapshot<never, string | null>, policies: Snapshot): Operation | undefined {
  const found = policies.get(name, NAME);
  const namespace = namespaces.get(undefined, name);
  if (!namespace) {
    return found && { verb: "delete", target: reference(name), ignoreMissing: true, uid: found.uid };
  }
  // Nothing can be created there, and what is there goes by itself.
  if (namespace.filterResult === "Terminating") return undefined;
  // `create`, not `apply`: it cannot take over a policy that somebody else put there.
  if (!found) return { verb: "create", object: policy(name) };
  if (same(found.filterResult, spec)) return undefined;
  return { verb: "update", object: policy(name, found.resourceVersion) };
}

function write(writes: { name: string; operation: Operation }[]): void {
  let failure: Error | undefined;
  for (let at = 0; at < writes.length; at += BATCH) {
    const batch = writes.slice(at, at + BATCH);
    kube.batch(batch.map(({ operation }) => operation)).forEach(({ error }, index) => {
      if (error && !failure) failure = judge(batch[index]?.name ?? "", error);
    });
  }
  if (failure) throw failure;
}

/** What of a failed write is a failure of the run. */
function judge(namespace: string, error: KubeError): Error | undefined {
  // The namespace goes or is gone: nothing is missing there.
  if (error.reason === "not-found" || error.namespaceTerminating) return undefined;
  if (error.reason !== "already-exists") return error;
  // If it is ours, the snapshot was a moment behind, and its event will bring us here again.
  try {
    const found = kube.find(reference(namespace));
    if (found && found.metadata?.labels?.[MANAGED_LABEL] !== "true") {
      log.warn(`NetworkPolicy ${namespace}/${NAME} is not managed by this hook: left alone`);
    }
    return undefined;
  } catch (failure) {
    return failure as Error;
  }
}
