// Which taints a node should have. Pure: it makes no calls.

import type { Node, Taint } from "kubernetes-types/core/v1";

/** Labels with this prefix are taints, and taints with it come from labels. */
const PREFIX = "taint.boathook.dev/";
const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** A node, as far as it matters. */
export interface Seen {
  labels: Record<string, string> | null;
  /** As they are: what others put into theirs stays. */
  taints: Taint[] | null;
}

/** Out of a whole node. */
export function seen(node: Node): Seen {
  return { labels: (node.metadata?.labels as Seen["labels"]) ?? null, taints: node.spec?.taints ?? null };
}

/** Labels with our prefix whose value is no effect. */
export function invalid(node: Seen): [string, string][] {
  return ours(node).filter(([, effect]) => !EFFECTS.includes(effect));
}

/** The taints that a node should have, unless it has them. */
export function wanted(node: Seen): Taint[] | undefined {
  let missing = ours(node).filter(([, effect]) => EFFECTS.includes(effect));
  const had = node.taints ?? [];
  const taints = had.filter((taint) => {
    const asked = missing.find(([key, effect]) => key === taint.key && effect === taint.effect);
    // It stays as it is, with the time it was added.
    if (asked && !taint.value) {
      missing = missing.filter((other) => other !== asked);
      return true;
    }
    return !taint.key.startsWith(PREFIX);
  });
  if (missing.length === 0 && taints.length === had.length) return undefined;
  return [...taints, ...missing.map(([key, effect]) => ({ key, effect }))];
}

function ours(node: Seen): [string, string][] {
  return Object.entries(node.labels ?? {}).filter(([key]) => key.startsWith(PREFIX)).sort();
}
