// Taints nodes by their labels: `taint.boathook.dev/NAME: EFFECT` gives a taint with that key and effect, which
// leaves when the label does.
//
// It never touches a taint with another key.

import { type Context, KubeError, Retry, type Snapshot, hook, kube, log, withContext } from "@boathook/sdk";
import type { Node } from "kubernetes-types/core/v1";
import { type Seen, invalid, seen, wanted } from "./taints";

/** Writes of one node before a conflict becomes a failure of the run. */
const TRIES = 5;

export default hook({
  config: {
    kubernetes: [
      {
        name: "nodes",
        apiVersion: "v1",
        kind: "Node",
        executeHookOnEvent: ["Added", "Modified"],
        jqFilter: "{labels: .metadata.labels, taints: .spec.taints}",
        content: "none",
      },
    ],
    permissions: { kubernetes: [{ apiGroups: [""], resources: ["nodes"], verbs: ["get", "patch"] }] },
  },

  run(ctx) {
    const nodes = ctx.snapshot<never, Seen>("nodes");
    let failure: Error | undefined;
    for (const name of names(ctx, nodes)) {
      const node = nodes.get(undefined, name);
      // The node is gone by now: nothing to do.
      if (!node) continue;
      for (const [key, value] of invalid(node.filterResult)) {
        log.warn(`node ${name}: label ${key}=${value} names no taint effect, ignored`);
      }
      try {
        mend(name, node.filterResult, node.resourceVersion);
      } catch (error) {
        failure = withContext(`node ${name}`, error);
      }
    }
    if (failure) throw failure;
  },
});

/** The nodes to look at: all of them at the start, then those that changed. */
function names(ctx: Context, nodes: Snapshot): string[] {
  const names = new Set<string>();
  if (ctx.synchronized("nodes")) for (const node of nodes) names.add(node.name);
  for (const event of ctx.events("nodes")) names.add(event.target.name);
  return [...names].sort();
}

/**
 * Writes the taints that a node should have. The list is shared with others, so it is only written over the version
 * it was made from; after a conflict it is made anew.
 */
function mend(name: string, node: Seen, version: string): void {
  const target = { apiVersion: "v1", kind: "Node", name };
  for (let tries = 0; tries < TRIES; tries++) {
    const list = wanted(node);
    if (!list) return;
    const taints = list.length === 0 ? null : list;
    const patch = { metadata: { resourceVersion: version }, spec: { taints } };
    try {
      kube.write({ verb: "patch", type: "merge", target, patch, ignoreMissing: true });
      log.info(`node ${name}: taints are now ${JSON.stringify(taints)}`);
      return;
    } catch (error) {
      if (!(error instanceof KubeError && error.reason === "conflict")) throw error;
    }
    const fresh = kube.find<Node>(target);
    if (!fresh) return;
    version = fresh.metadata?.resourceVersion ?? "";
    node = seen(fresh);
  }
  throw new Retry(`others changed it ${TRIES} times meanwhile`);
}
